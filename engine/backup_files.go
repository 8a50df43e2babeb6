package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// copier copies sealed objects and holds every one against its digest. What an
// earlier run has copied is kept when it has that digest, too.
type copier struct {
	ctx         context.Context
	from, to    vfs.FS
	progress    func(done, total int64)
	done, total int64

	// leave is told of an index segment that cannot be read, which is then not copied:
	// rows are read without it. Without leave it is an error, as any other file is.
	leave func(o *catalog.CopiedObject, err error)
	left  []int64 // objects that were not copied
}

// objects brings the objects to the place, and removes what else is there of
// objects. When it returns, all of them are synced, with their directories.
func (c *copier) objects(list []catalog.CopiedObject) error {
	wanted := make(map[string]bool, len(list))
	for i := range list {
		wanted[list[i].Path] = true
		c.total += list[i].ByteExtent
	}
	if err := c.clear(wanted); err != nil {
		return err
	}
	c.tell(0)
	dirs := map[string]bool{}
	for i := range list {
		if err := c.object(&list[i], dirs); err != nil {
			return err
		}
	}
	return c.syncDirs(dirs)
}

func (c *copier) tell(n int64) {
	c.done += n
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
}

// clear removes the objects of an earlier run that this one has no need of.
func (c *copier) clear(wanted map[string]bool) error {
	found, err := objectFiles(c.to)
	if err != nil {
		return err
	}
	for _, name := range found {
		if wanted[name] {
			continue
		}
		if err := c.to.Remove(name); err != nil {
			return fmt.Errorf("engine: removing %s: %w", name, err)
		}
	}
	return nil
}

// object copies one object, unless it is there already.
func (c *copier) object(o *catalog.CopiedObject, dirs map[string]bool) error {
	if want := catalog.ObjectPath(o.ID, o.Kind); want != o.Path {
		return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf("object %d has path %q, must be %q", o.ID, o.Path, want)}
	}
	dir := path.Dir(o.Path)
	for d := dir; d != "."; d = path.Dir(d) {
		dirs[d] = true
	}
	there, err := c.verified(o)
	if err != nil || there {
		return err
	}
	for _, d := range []string{path.Dir(path.Dir(dir)), path.Dir(dir), dir} {
		if err := c.to.Mkdir(d); err != nil {
			return fmt.Errorf("engine: directory of %s: %w", o.Path, err)
		}
	}
	before := c.done
	bad, err := c.copy(o)
	if err != nil || bad == nil {
		return err
	}
	if o.Kind != catalog.KindIndex || c.leave == nil || context.Cause(c.ctx) != nil {
		return bad
	}
	if bad = unreadable(o.Path, bad); !errors.As(bad, new(*CorruptError)) {
		return bad
	}
	if err := c.to.Remove(o.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine: removing %s: %w", o.Path, err)
	}
	c.leave(o, bad)
	c.left = append(c.left, o.ID)
	c.tell(max(0, o.ByteExtent-(c.done-before)))
	return nil
}

// verified reports whether a whole object is at the place. It is synced again: an
// earlier run may have ended before it was.
func (c *copier) verified(o *catalog.CopiedObject) (bool, error) {
	f, err := c.to.Open(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("engine: opening %s: %w", o.Path, err)
	}
	err = c.verify(f, o)
	var bad *CorruptError
	if errors.As(err, &bad) {
		// A part of it, or another's: it is copied anew, into a file that is.
		if err := errors.Join(f.Close(), c.to.Remove(o.Path)); err != nil {
			return false, fmt.Errorf("engine: removing %s: %w", o.Path, err)
		}
		return false, nil
	}
	if err == nil {
		if err = f.Sync(); err != nil {
			err = &syncError{o.Path, err}
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	c.tell(o.ByteExtent)
	return true, nil
}

// verify reads a file and holds it against what the catalog says of the object.
func (c *copier) verify(f vfs.File, o *catalog.CopiedObject) error {
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("engine: size of %s: %w", o.Path, err)
	}
	if size != o.ByteExtent {
		return &CorruptError{File: o.Path, Offset: min(size, o.ByteExtent), Reason: fmt.Sprintf("it has %d bytes, sealed were %d", size, o.ByteExtent)}
	}
	return c.digest(&stopReader{f, c.ctx}, o)
}

// digest reads an object and compares its digest.
func (c *copier) digest(r io.ReaderAt, o *catalog.CopiedObject) error {
	content, err := contentIDOf(o.Kind, r, o.ByteExtent)
	if cause := context.Cause(c.ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", o.Path, err)
	}
	if content != o.ContentID {
		return &CorruptError{File: o.Path, Reason: fmt.Sprintf("its digest is %x, it was sealed with %x", content, o.ContentID)}
	}
	return nil
}

// copy copies one object. The bytes that the digest is of are the ones written. bad is
// what is wrong with the file that is copied, err whatever else fails.
func (c *copier) copy(o *catalog.CopiedObject) (bad, err error) {
	from, err := c.from.OpenRead(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return &CorruptError{File: o.Path, Reason: "the file is missing", Err: err}, nil
	}
	if err != nil {
		return fmt.Errorf("engine: opening %s: %w", o.Path, err), nil
	}
	defer from.Close()
	size, err := from.Size()
	if err != nil {
		return fmt.Errorf("engine: size of %s: %w", o.Path, err), nil
	}
	if size != o.ByteExtent {
		return &CorruptError{File: o.Path, Offset: min(size, o.ByteExtent), Reason: fmt.Sprintf("it has %d bytes, sealed were %d", size, o.ByteExtent)}, nil
	}
	to, err := c.to.Create(o.Path)
	if err != nil {
		return nil, withFull(fmt.Errorf("engine: creating %s: %w", o.Path, err))
	}
	to = trickle(to)
	defer func() { err = withFull(errors.Join(err, to.Close())) }()
	r := &copyReader{stopReader: stopReader{from, c.ctx}, to: to, tell: c.tell}
	if err := c.digest(r, o); r.failed != nil {
		return nil, err
	} else if err != nil {
		return err, nil
	}
	if err := to.Sync(); err != nil {
		return nil, &syncError{o.Path, err}
	}
	return nil, nil
}

// syncDirs syncs directories, the deepest first, and the root.
func (c *copier) syncDirs(dirs map[string]bool) error {
	var list []string
	for d := range dirs {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	for _, d := range append(list, ".") {
		if err := c.to.SyncDir(d); err != nil {
			return &syncError{d, err}
		}
	}
	return nil
}

// stopReader reads until a context ends.
type stopReader struct {
	io.ReaderAt
	ctx context.Context
}

func (r *stopReader) ReadAt(b []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(b, off)
}

// copyReader writes what is read from it, which is in order.
type copyReader struct {
	stopReader
	to     vfs.File
	tell   func(n int64)
	failed error // of writing
}

func (r *copyReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.stopReader.ReadAt(b, off)
	if n > 0 {
		if _, err := r.to.WriteAt(b[:n], off); err != nil {
			r.failed = fmt.Errorf("writing the copy: %w", err)
			return 0, r.failed
		}
		r.tell(int64(n))
	}
	return n, err
}

// copyCatalog copies a catalog that is not in use, in blocks, and syncs it. It
// returns the digest of what it wrote.
func copyCatalog(ctx context.Context, from vfs.FS, name string, to vfs.FS, as string) (sum [32]byte, size int64, err error) {
	in, err := from.OpenRead(name)
	if err != nil {
		return sum, 0, fmt.Errorf("engine: opening %s: %w", name, err)
	}
	defer in.Close()
	if size, err = in.Size(); err != nil {
		return sum, 0, fmt.Errorf("engine: size of %s: %w", name, err)
	}
	var r io.ReaderAt = &stopReader{in, ctx}
	if to != nil {
		out, err := to.Create(as)
		if err != nil {
			return sum, 0, withFull(fmt.Errorf("engine: creating %s: %w", as, err))
		}
		defer func() {
			if err == nil {
				err = out.Sync()
			}
			err = withFull(errors.Join(err, out.Close()))
		}()
		r = &copyReader{stopReader: stopReader{in, ctx}, to: out, tell: func(int64) {}}
	}
	if sum, err = digestOf(r, size); err != nil {
		return sum, 0, fmt.Errorf("engine: reading %s: %w", name, err)
	}
	return sum, size, nil
}
