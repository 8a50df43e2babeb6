package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// osFS is the operating system's file system below one directory.
//
// Every operation on names goes through an os.Root opened for that operation:
// no component below the root can leave it, by ".." or by a symbolic link, and
// an FS, which nobody closes, holds no descriptor.
type osFS struct {
	root string
}

// OS returns the operating system's files below the directory root. The
// directory need not exist yet: Mkdir(".") makes it (its parent must exist;
// making that entry durable is the caller's business, since the parent lies
// outside of the file system).
func OS(root string) FS {
	// A later chdir must not move the store.
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	return &osFS{root: root}
}

// in runs f with the root opened and the name in the system's spelling.
func (o *osFS) in(op, name string, f func(r *os.Root, local string) error) error {
	if err := checkName(op, name); err != nil {
		return err
	}
	// Localize also refuses names that mean something else to the system:
	// backslashes, drive letters and device names on Windows.
	local, err := filepath.Localize(name)
	if err != nil {
		return pathError(op, name, fs.ErrInvalid)
	}
	r, err := os.OpenRoot(o.root)
	if err != nil {
		return err
	}
	defer r.Close()
	return f(r, local)
}

func (o *osFS) open(op, name string, flag int) (File, error) {
	if err := checkEntry(op, name); err != nil {
		return nil, err
	}
	var file *osFile
	err := o.in(op, name, func(r *os.Root, local string) error {
		f, err := r.OpenFile(local, flag, 0o644)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = pathError(op, name, errNotFile)
		}
		if err != nil {
			f.Close()
			return err
		}
		file = &osFile{f: f, name: name, path: filepath.Join(o.root, local)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (o *osFS) Create(name string) (File, error) {
	return o.open("create", name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func (o *osFS) Open(name string) (File, error) { return o.open("open", name, os.O_RDWR) }

func (o *osFS) OpenRead(name string) (File, error) { return o.open("open", name, os.O_RDONLY) }

// in2 is in for the two names of a rename or link.
func (o *osFS) in2(op, from, to string, f func(r *os.Root, from, to string) error) error {
	if err := checkEntry(op, from); err != nil {
		return err
	}
	if err := checkEntry(op, to); err != nil {
		return err
	}
	localTo, err := filepath.Localize(to)
	if err != nil {
		return pathError(op, to, fs.ErrInvalid)
	}
	return o.in(op, from, func(r *os.Root, local string) error { return f(r, local, localTo) })
}

func (o *osFS) Rename(from, to string) error {
	return o.in2("rename", from, to, (*os.Root).Rename)
}

func (o *osFS) Link(from, to string) error {
	return o.in2("link", from, to, func(r *os.Root, from, to string) error {
		// Some systems link directories, or a symbolic link itself.
		if info, err := r.Lstat(from); err != nil {
			return err
		} else if !info.Mode().IsRegular() {
			return pathError("link", from, errNotFile)
		}
		return r.Link(from, to)
	})
}

func (o *osFS) Remove(name string) error {
	if err := checkEntry("remove", name); err != nil {
		return err
	}
	return o.in("remove", name, (*os.Root).Remove)
}

func (o *osFS) List(dir string) ([]string, error) {
	var names []string
	err := o.in("list", dir, func(r *os.Root, local string) error {
		f, err := r.Open(local)
		if err != nil {
			return err
		}
		defer f.Close()
		names, err = f.Readdirnames(-1)
		return err
	})
	slices.Sort(names)
	return names, err
}

func (o *osFS) Mkdir(name string) error {
	if name == "." {
		if err := os.Mkdir(o.root, 0o755); err == nil {
			return nil
		}
	}
	return o.in("mkdir", name, func(r *os.Root, local string) error {
		err := fs.ErrExist
		if name != "." {
			err = r.Mkdir(local, 0o755)
		}
		if err != nil {
			if info, serr := r.Stat(local); serr == nil && info.IsDir() {
				return nil
			}
		}
		return err
	})
}

func (o *osFS) Stat(name string) (Info, error) {
	var info Info
	err := o.in("stat", name, func(r *os.Root, local string) error {
		fi, err := r.Stat(local)
		if err != nil {
			return err
		}
		_, base := splitName(name)
		info = Info{Name: base, Dir: fi.IsDir()}
		if !info.Dir {
			info.Size = fi.Size()
		}
		return nil
	})
	return info, err
}

func (o *osFS) SyncDir(name string) error {
	return o.in("syncdir", name, func(r *os.Root, local string) error {
		d, err := r.Open(local)
		if err != nil {
			return err
		}
		info, err := d.Stat()
		if err == nil && !info.IsDir() {
			err = pathError("syncdir", name, errNotDir)
		}
		if err == nil {
			err = syncDir(d)
		}
		if cerr := d.Close(); err == nil {
			err = cerr
		}
		return err
	})
}

// Writable reports whether this process may write a file, or make names in a
// directory, as far as the system tells. A name that is not there may be made.
func (o *osFS) Writable(name string) bool {
	if checkName("writable", name) != nil {
		return false
	}
	if _, err := o.Stat(name); err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	local, err := filepath.Localize(name)
	return err == nil && mayWrite(filepath.Join(o.root, local))
}

// String names the root, for messages.
func (o *osFS) String() string { return fmt.Sprintf("os(%s)", o.root) }
