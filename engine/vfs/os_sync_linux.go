package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func syncData(f *os.File) error {
	return control(f, func(fd uintptr) error { return unix.Fdatasync(int(fd)) })
}

// allocate reserves the blocks, holes included, before it writes zeros to the
// new ones. The reservation alone would do for space, and would leave extents
// marked "unwritten": the first data sync behind each write into them commits
// the file system's journal, which doubles what a commit waits for (ext4). The
// zeros alone would find out late that there is no room.
func allocate(f *os.File, old, size int64) error {
	err := control(f, func(fd uintptr) error { return unix.Fallocate(int(fd), 0, 0, size) })
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	return writeZeros(f, old, size)
}
