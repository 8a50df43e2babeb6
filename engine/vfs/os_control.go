package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// control runs f on the descriptor, which stays open meanwhile, and repeats it
// while a signal interrupts it.
func control(file *os.File, f func(fd uintptr) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := conn.Control(func(fd uintptr) {
		for {
			if ferr = f(fd); !errors.Is(ferr, syscall.EINTR) {
				return
			}
		}
	}); err != nil {
		// Control fails for closed files only, with an error of an internal
		// package that does not match.
		return fmt.Errorf("%w (%w)", fs.ErrClosed, err)
	}
	return ferr
}
