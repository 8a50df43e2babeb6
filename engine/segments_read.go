package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// segmentReader reads a segment of a head.
type segmentReader struct {
	*segment.Reader
	file vfs.File
	path string
}

// openSegment opens a segment that the catalog names, and holds it against what it has of
// it. A missing file is damage, too.
func (s *Store) openSegment(g *catalog.Segment) (_ *segmentReader, err error) {
	f, err := opened(g.Path, s.fs.OpenRead)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it was only read
		}
	}()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("engine: size of %s: %w", g.Path, err)
	}
	if size != g.Extent {
		return nil, &CorruptError{File: g.Path, Offset: min(size, g.Extent), Reason: fmt.Sprintf("%d bytes, sealed as %d", size, g.Extent)}
	}
	want := segment.Header{Store: s.id, Object: uint64(g.ObjectID), Kind: segment.Secondary, Table: uint64(g.TableID), Index: uint64(g.IndexID)}
	if g.IndexID == g.TableID {
		want.Kind = segment.Primary
	}
	r, err := segment.Open(f, g.Extent, want)
	for _, id := range s.lineage { // its bytes may be older than the store, and have come with a backup
		if err == nil {
			break
		}
		want.Store = id
		if old, again := segment.Open(f, g.Extent, want); again == nil {
			r, err = old, nil
		}
	}
	if err != nil {
		return nil, segmentDamage(g.Path, err)
	}
	if r.Digest() != g.Digest {
		return nil, &CorruptError{File: g.Path, Offset: g.Extent, Reason: fmt.Sprintf("digest %x, sealed %x", r.Digest(), g.Digest)}
	}
	for it, has := g.Fragments.Iterator(), asSet(r.Header().Fragments); it.HasNext(); {
		if id := it.Next(); !has[id] {
			return nil, &CorruptError{File: g.Path, Reason: fmt.Sprintf("it does not cover fragment %d, the catalog says it does", id)}
		}
	}
	return &segmentReader{r, f, g.Path}, nil
}

func asSet(list []uint64) map[uint64]bool {
	set := make(map[uint64]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}

func (r *segmentReader) close() error {
	if r.file == nil {
		return nil
	}
	file := r.file
	r.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("engine: closing %s: %w", r.path, err)
	}
	return nil
}

// verifySegment reads a segment to its end.
func (s *Store) verifySegment(ctx context.Context, g *catalog.Segment) error {
	r, err := s.openSegment(g)
	if err != nil {
		return err
	}
	defer func() { _ = r.close() }() // it was only read
	return segmentDamage(g.Path, r.Verify(ctx))
}

// each calls one of two functions with every entry of a segment.
func (r *segmentReader) each(primary func(*segment.PrimaryEntry) error, secondary func(*segment.SecondaryEntry) error) error {
	if r.Header().Kind == segment.Primary {
		it := r.Primary(math.MinInt64)
		for it.Next() {
			e := it.Entry()
			if err := primary(&e); err != nil {
				return err
			}
		}
		return segmentDamage(r.path, it.Err())
	}
	it := r.Secondary()
	for it.Next() {
		e := it.Entry()
		if err := secondary(&e); err != nil {
			return err
		}
	}
	return segmentDamage(r.path, it.Err())
}

// segmentDamage is an error of a segment's bytes as a *CorruptError of its file.
func segmentDamage(path string, err error) error {
	var bad *segment.CorruptError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return &CorruptError{File: path, Offset: bad.Offset, Reason: bad.Reason, Err: err}
	case errors.Is(err, segment.ErrNewer):
		return fmt.Errorf("%w: %s: %w", ErrNewer, path, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("engine: reading %s: %w", path, err)
}
