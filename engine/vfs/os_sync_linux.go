package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// control runs f on the descriptor and repeats it while a signal interrupts it.
func control(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := conn.Control(func(fd uintptr) {
		for {
			if ferr = f(int(fd)); !errors.Is(ferr, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	return ferr
}

func syncData(f *os.File) error { return control(f, unix.Fdatasync) }

// allocate reserves the whole file, holes included.
func allocate(f *os.File, old, size int64) error {
	err := control(f, func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeZeros(f, old, size)
	}
	return err
}
