package driver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// longestBelow is room for the longest name below a store's directory,
// "/objects/xx/yy/<16 digits>.index" and SQLite's "/catalog.db-journal".
const longestBelow = 64

// pathMax is the longest path that every supported system opens.
const pathMax = 4096

// resolvePath returns the one name of the store's directory: absolute, symbolic
// links followed. It refuses what cannot be a store and makes nothing.
func resolvePath(cfg Config) (string, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return "", openError(cfg.Path, "%w", err)
	}
	if len(path)+longestBelow > pathMax {
		return "", openError(cfg.Path, "the path is too long: %d bytes, and a store needs %d below it", len(path), longestBelow)
	}
	parent := filepath.Dir(path)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", openError(cfg.Path, "%w", err)
		}
		return real, nil
	case err == nil:
		e := openError(cfg.Path, "it is %s, not a directory", fileKind(info.Mode()))
		if info.Mode().IsRegular() {
			e.Hint = "a store is a directory; a SQLite file can be attached to a connection of a store"
		}
		return "", e
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "", openError(cfg.Path, "the path is too long: %w", err)
	case !errors.Is(err, fs.ErrNotExist):
		return "", openError(cfg.Path, "%w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return "", openError(cfg.Path, "it is a symbolic link to nothing")
	}
	info, err = os.Stat(parent)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := openError(cfg.Path, "its parent directory %s does not exist", parent)
		e.Hint = "make it first: a store makes its own directory and no other"
		return "", e
	case err != nil:
		return "", openError(cfg.Path, "%w", err)
	case !info.IsDir():
		return "", openError(cfg.Path, "its parent %s is not a directory", parent)
	case cfg.withDefaults().Mode != "rwc":
		e := openError(cfg.Path, "there is no store, in %s", parent)
		e.Hint = "mode=rwc creates one"
		return "", e
	}
	real, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return "", openError(cfg.Path, "%w", err)
	}
	return filepath.Join(real, filepath.Base(path)), nil
}

// openError is SQLite's "unable to open" with the path and why.
func openError(path, format string, args ...any) *Error {
	return newError("open", ErrCantOpen, "unable to open database file %s: "+format, append([]any{path}, args...)...)
}

// fileKind names what stands in the way of a directory.
func fileKind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a fifo"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a file"
}
