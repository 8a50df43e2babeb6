package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
)

// outFile is a file that appears under its name only when it is whole.
type outFile struct {
	*os.File
	name   string
	force  bool // replace a file that exists
	sqlite bool // it is a SQLite file
}

// createOut makes the temporary file beside its final place. A link is followed:
// what it names is replaced, not the link.
func createOut(ctx context.Context, name string, force, sqlite bool) (*outFile, error) {
	info, err := os.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, misuse("export: %s is a directory: name a file", name)
	case err == nil && !force:
		return nil, misuse("export: %s exists: use -force to replace it, or another name", name)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, misuse("export: %v: use another name", err)
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		real, linkErr := filepath.EvalSymlinks(name)
		if linkErr != nil {
			return nil, misuse("export: %s is a link to nothing: remove it, or use another name", name)
		}
		name = real
		info, err = os.Stat(name)
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, misuse("export: %s is no regular file and is not replaced: use another name", name)
	}
	if sqlite {
		release, err := clearSQLite(ctx, name, force, false)
		if err != nil {
			return nil, err
		}
		release()
	}
	// Not os.CreateTemp, whose files are for their owner only: the umask decides.
	temporary := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s-%016x", filepath.Base(name), rand.Uint64()))
	f, openErr := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if openErr != nil {
		return nil, misuse("export: %v: use a folder that exists and can be written", openErr)
	}
	out := &outFile{f, name, force, sqlite}
	if err == nil { // what it replaces keeps its mode
		if err := f.Chmod(info.Mode().Perm()); err != nil {
			out.discard()
			return nil, fmt.Errorf("export: %w", err)
		}
	}
	return out, nil
}

// discard removes the temporary file; after publish there is none.
func (f *outFile) discard() {
	_ = f.Close()           // may be closed already
	_ = os.Remove(f.Name()) // may have its final name
}

// publish syncs the file and gives it its name; both survive a crash.
func (f *outFile) publish(ctx context.Context) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if f.sqlite {
		release, err := clearSQLite(ctx, f.name, f.force, true)
		if err != nil {
			return err
		}
		defer release()
		if runtime.GOOS == "windows" {
			release() // an open file cannot be replaced there
		}
	}
	if !f.force {
		// A link never replaces a file that came up meanwhile. Where there are
		// no links the name was free when the work began.
		err := os.Link(f.Name(), f.name)
		if errors.Is(err, fs.ErrExist) {
			return misuse("export: %s exists by now: use -force to replace it, or another name", f.name)
		}
		if err == nil {
			_ = os.Remove(f.Name()) // the second name of a file that is published
			return syncDir(filepath.Dir(f.name))
		}
	}
	if err := os.Rename(f.Name(), f.name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.name))
}

// openStream opens a pipe or a device to write to, and returns nil for what is
// none: a file to be made or replaced.
func openStream(ctx context.Context, name, format string) (io.WriteCloser, error) {
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return nil, nil
	}
	if info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
		return nil, misuse("export: %s is neither a file nor a pipe: use another name, or - for standard output", name)
	}
	if format == "db" {
		return nil, misuse("export: a SQLite file cannot be written to %s, which is no regular file: name another, or use -format=sql", name)
	}
	// Opening a pipe waits for its reader.
	return await(ctx, func() (io.WriteCloser, error) { return os.OpenFile(name, os.O_WRONLY, 0) })
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it does so by itself, and cannot open a folder
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("sync of %s: %w", dir, err)
	}
	return nil
}
