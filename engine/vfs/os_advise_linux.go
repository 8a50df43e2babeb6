package vfs

import "golang.org/x/sys/unix"

func (f *osFile) AdviseRandom() {
	// Advice: without it reads are as right as with it.
	_ = control(f.f, func(fd uintptr) error { return unix.Fadvise(int(fd), 0, 0, unix.FADV_RANDOM) })
}
