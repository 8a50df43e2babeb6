package engine

import (
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
)

// branches checks that every branch point can be read: its files are, byte for byte,
// what was sealed, and the state that they give is the world that the catalog has of
// it. What head and log are made of has been looked at before.
func (c *checker) branches() error {
	list, err := c.s.cat.BranchPoints(c.ctx)
	if err != nil {
		return c.catalogFound(err)
	}
	for _, b := range list {
		if c.seen[b.RepresentationID] {
			continue
		}
		c.seen[b.RepresentationID] = true
		known, err := c.s.cat.HistoryOf(c.ctx, b.RepresentationID)
		if errors.Is(err, catalog.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			if err = c.catalogFound(err); err != nil {
				return err
			}
			continue
		}
		if err := c.branch(b.Name, &known); err != nil {
			return err
		}
	}
	return nil
}

// branch checks one branch point.
func (c *checker) branch(name string, known *catalog.History) error {
	about := func(err error) error {
		var bad *CorruptError
		if errors.As(err, &bad) {
			err = &CorruptError{File: bad.File, Offset: bad.Offset, Reason: fmt.Sprintf("branch point %q: %s", name, bad.Reason)}
		}
		return c.found(err)
	}
	before := c.damage
	for _, f := range known.Base {
		if err := about(c.sealedBytes(f.ObjectID, f.Path, f.ByteExtent, f.ContentID)); err != nil {
			return err
		}
	}
	for _, g := range known.Generations {
		if err := about(c.sealedBytes(g.ObjectID, g.Path, g.ByteExtent, g.ContentID)); err != nil {
			return err
		}
	}
	if c.damage > before {
		return nil // a replay would only fail there
	}
	o := c.s.historyObjects()
	defer func() { _ = o.close() }() // it was only read
	state, err := c.s.readHistory(c.ctx, o, known, 0)
	if err != nil {
		return about(err)
	}
	return c.segments(name, known.Base, &known.IndexState, known.Retained, state.schema)
}

// sealedBytes compares a sealed file with its content id, unless that was done.
func (c *checker) sealedBytes(object int64, path string, extent int64, content [32]byte) error {
	return c.sealedBytesOf(catalog.KindKV, object, path, extent, content)
}

func (c *checker) sealedBytesOf(kind string, object int64, path string, extent int64, content [32]byte) error {
	if c.read[object] {
		return nil
	}
	c.read[object] = true
	f, err := opened(path, c.s.fs.OpenRead)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	c.total += extent
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("engine: size of %s: %w", path, err)
	}
	if size != extent {
		return &CorruptError{File: path, Offset: min(size, extent), Reason: fmt.Sprintf("%d bytes, sealed as %d", size, extent)}
	}
	id, err := contentIDOf(kind, f, extent)
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", path, err)
	}
	if id != content {
		return &CorruptError{File: path, Reason: fmt.Sprintf("content id of the file: %x, in %s: %x", id, catalog.FileName, content)}
	}
	return c.tick(extent)
}
