package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A segment is written as a base file is: its object is reserved under the job, then
// come the file, the sync of it and of its directories, and the receipt in the catalog.
// One that fails on the way is quarantined.

// segmentFile is a file of the format of segments that this job writes: a segment, or a
// run, which is not sealed and goes with the job.
type segmentFile struct {
	catalog.Reservation
	file      vfs.File // nil once closed
	header    segment.Header
	fragments []uint32 // numbers in the plan, as in the header
	extent    int64
	level     int // of a run, see fold
}

// indexWriter writes segments of one job. After a failure nothing of them is of any use,
// and nobody but the catalog knows them.
type indexWriter struct {
	s    *Store
	ctx  context.Context
	job  int64
	plan *indexPlan

	named *catalog.Reservation // the last one
	lost  error                // what went wrong with its file, nil while it is sound
	files []*segmentFile       // all that were made
	held  int                  // bytes of entries in memory
	rate  *byteRate            // of what is read and written; nil: no bound
	moved float64              // bytes that were since it was charged

	segments, merged int   // written, and that they stand for
	bytes            int64 // of them
}

// unsound notes that the file of the object reserved last is of no use.
func (w *indexWriter) unsound(err error) error {
	if w.lost == nil {
		w.lost = err
	}
	return err
}

// write makes a file of entries of an index: of the fragments whose numbers are given,
// in the order of their ids.
func (w *indexWriter) write(x *indexWork, fragments []uint32, from func() (*indexEntry, error)) (*segmentFile, segment.Summary, error) {
	var none segment.Summary
	f, err := w.create(x, fragments)
	if err != nil {
		return nil, none, err
	}
	place := make(map[uint32]uint32, len(fragments)) // by number
	for i, n := range fragments {
		place[n] = uint32(i)
	}
	out, err := segment.NewWriter(countedFile{f.file, &w.moved}, f.header)
	if err != nil {
		return nil, none, w.unsound(fmt.Errorf("engine: writing %s: %w", f.Path, err))
	}
	for n := 0; ; n++ {
		if n%baseFlush == 0 {
			if err := w.charge(); err != nil {
				return nil, none, err
			}
		}
		e, err := from()
		if err != nil {
			return nil, none, err
		}
		if e == nil {
			break
		}
		at := segment.Place{Fragment: place[e.frag], Ordinal: e.ord}
		if x.ix == nil {
			err = out.AddPrimary(segment.PrimaryEntry{Rowid: headRowid(e.head), Place: at, Offset: e.off, Size: e.size})
		} else {
			err = out.AddSecondary(e.key, at, e.null)
		}
		if err != nil {
			return nil, none, w.unsound(fmt.Errorf("engine: writing %s: %w", f.Path, err))
		}
	}
	sum, err := out.Finish()
	if err != nil {
		return nil, none, w.unsound(fmt.Errorf("engine: writing %s: %w", f.Path, err))
	}
	f.extent = sum.Extent
	return f, sum, w.charge()
}

// charge waits until more may be read and written.
func (w *indexWriter) charge() error {
	if err := w.ended(); err != nil {
		return err
	}
	n := int64(w.moved)
	w.moved -= float64(n)
	return w.rate.charge(w.ctx, n)
}

// countedFile counts what is written.
type countedFile struct {
	segment.Appender
	n *float64
}

func (f countedFile) WriteAt(b []byte, off int64) (int, error) {
	*f.n += float64(len(b))
	return f.Appender.WriteAt(b, off)
}

func (w *indexWriter) ended() error {
	breathe()
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.s.refusal()
}

// create makes the file, whose name is committed to the catalog before.
func (w *indexWriter) create(x *indexWork, fragments []uint32) (*segmentFile, error) {
	r, err := w.s.cat.ReserveSegment(w.ctx, w.job)
	if err != nil {
		return nil, fmt.Errorf("engine: reserving a file: %w", err)
	}
	w.named = &r
	kind := segment.Secondary
	if x.ix == nil {
		kind = segment.Primary
	}
	f := &segmentFile{Reservation: r, fragments: fragments, header: segment.Header{
		Store: w.s.id, Object: uint64(r.ObjectID), Kind: kind, Table: uint64(x.TableID), Index: uint64(x.IndexID),
	}}
	for _, n := range fragments {
		f.header.Fragments = append(f.header.Fragments, uint64(w.plan.fragments[n].id))
	}
	if f.file, err = w.s.createFile(r.Path); err != nil {
		return nil, w.unsound(err)
	}
	f.file = trickle(f.file)
	w.files = append(w.files, f)
	return f, nil
}

// createFile makes a file that nobody names yet, in the place of what an interrupted
// attempt left, and syncs the directories above it.
func (s *Store) createFile(name string) (vfs.File, error) {
	s.entries.take()
	defer s.entries.give()
	if err := s.mkdirs(path.Dir(name)); err != nil {
		return nil, fmt.Errorf("engine: directory of %s: %w", name, err)
	}
	f, err := s.fs.Create(name)
	if errors.Is(err, fs.ErrExist) {
		if err := s.fs.Remove(name); err != nil {
			return nil, fmt.Errorf("engine: creating %s: %w", name, err)
		}
		f, err = s.fs.Create(name)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: creating %s: %w", name, err)
	}
	if err := s.syncDirs(path.Dir(name)); err != nil {
		_ = f.Close() // the first cause counts
		return nil, err
	}
	return f, nil
}

// seal ends a file that becomes a segment.
func (w *indexWriter) seal(x *indexWork, f *segmentFile, sum segment.Summary) (catalog.SegmentRef, error) {
	ref := catalog.SegmentRef{ObjectID: f.ObjectID, Fragments: roaring64.New()}
	ref.Fragments.AddMany(f.header.Fragments)
	if err := f.file.Sync(); err != nil {
		return ref, w.unsound(&syncError{f.Path, err})
	}
	if err := w.s.syncEntries(path.Dir(f.Path)); err != nil {
		return ref, w.unsound(err)
	}
	content, err := contentIDOf(catalog.KindIndex, w.rate.reader(w.ctx, f.file), sum.Extent)
	if ended := w.ctx.Err(); ended != nil && err != nil {
		return ref, ended
	}
	if err != nil {
		return ref, w.unsound(fmt.Errorf("engine: reading %s: %w", f.Path, err))
	}
	seal := catalog.SegmentSeal{
		ObjectID: f.ObjectID, ContentID: content, Digest: sum.Digest, Extent: sum.Extent,
		IndexRef: x.IndexRef, Fragments: ref.Fragments, Entries: sum.Entries,
	}
	if err := w.s.cat.SealSegment(w.ctx, seal); err != nil {
		return ref, fmt.Errorf("engine: recording the seal of %s: %w", f.Path, err)
	}
	file := f.file
	f.file = nil
	w.segments++
	w.bytes += sum.Extent
	if err := file.Close(); err != nil {
		return ref, fmt.Errorf("engine: closing %s: %w", f.Path, err)
	}
	return ref, nil
}

// discard lets go of runs whose entries are in a segment: their room is given back at
// once, their names go with the job.
func (w *indexWriter) discard(files []*segmentFile) error {
	var errs []error
	for _, f := range files {
		if f.file == nil {
			continue
		}
		_ = f.file.Truncate(0) // nobody reads it
		errs = append(errs, f.file.Close())
		f.file = nil
	}
	return errors.Join(errs...)
}

// abandon lets go of files that no head is going to name, as that of a base does.
func (w *indexWriter) abandon(cause error) error {
	if w.lost != nil {
		defer w.s.quarantine(w.ctx, w.job, *w.named, w.lost)
	}
	cause = errors.Join(cause, w.discard(w.files))
	for _, f := range w.files {
		if file, err := w.s.fs.Open(f.Path); err == nil {
			_ = file.Truncate(0)
			cause = errors.Join(cause, file.Close())
		}
	}
	return cause
}
