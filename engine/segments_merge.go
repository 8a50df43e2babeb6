package engine

import (
	"math"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
)

// segmentSource gives the entries of a segment, or of a run, that stand for rows of the
// base.
type segmentSource struct {
	w      *indexWriter
	object int64 // 0: a run
	path   string
	r      *segment.Reader
	done   func() error // ends the reading
	cost   float64      // bytes of an entry, on average
	number []int64      // by position in the header: the fragment in the plan, -1 for one that is gone
	one    *segment.PrimaryIter
	two    *segment.SecondaryIter
	e      indexEntry
}

// segmentSource opens a segment that is merged.
func (w *indexWriter) segmentSource(g *catalog.Segment) (*segmentSource, error) {
	r, err := w.s.openSegment(g)
	if err != nil {
		return nil, w.s.spoilRead(g.ObjectID, err)
	}
	s := &segmentSource{w: w, object: g.ObjectID, path: g.Path, r: r.Reader, done: r.close}
	for _, id := range r.Header().Fragments {
		n, ok := w.plan.number[int64(id)]
		if !ok || !g.Fragments.Contains(id) {
			n = -1
		}
		s.number = append(s.number, int64(n))
	}
	s.begin()
	return s, nil
}

// runSource opens a run.
func (w *indexWriter) runSource(f *segmentFile) (*segmentSource, error) {
	r, err := segment.Open(f.file, f.extent, f.header)
	if err != nil {
		return nil, segmentDamage(f.Path, err)
	}
	s := &segmentSource{w: w, path: f.Path, r: r, done: func() error { return nil }}
	for _, n := range f.fragments {
		s.number = append(s.number, int64(n))
	}
	s.begin()
	return s, nil
}

func (s *segmentSource) begin() {
	s.cost = float64(s.r.Extent()) / float64(max(1, s.r.Entries()))
	if s.r.Header().Kind == segment.Primary {
		s.one = s.r.Primary(math.MinInt64)
	} else {
		s.two = s.r.Secondary()
	}
}

func (s *segmentSource) close() error { return s.done() }

func (s *segmentSource) next() (*indexEntry, error) {
	for {
		var at segment.Place
		switch {
		case s.one != nil && s.one.Next():
			e := s.one.Entry()
			at = e.Place
			s.e = indexEntry{head: rowidHead(e.Rowid), off: e.Offset, size: e.Size}
		case s.two != nil && s.two.Next():
			e := s.two.Entry()
			at = e.Place
			key := append(s.e.key[:0], e.Key...)
			s.e = indexEntry{head: keyHead(key), key: key, null: e.Null}
		default:
			return nil, s.err()
		}
		s.w.moved += s.cost
		n := s.number[at.Fragment]
		if n < 0 {
			continue
		}
		x := s.w.plan.fragments[n]
		if int64(at.Ordinal) >= x.rows {
			return nil, s.spoiled(&CorruptError{File: s.path, Reason: "an entry of a row that its fragment does not have"})
		}
		if x.isDeleted(at.Ordinal) {
			continue
		}
		s.e.frag, s.e.ord = uint32(n), at.Ordinal
		return &s.e, nil
	}
}

func (s *segmentSource) err() error {
	var err error
	if s.one != nil {
		err = s.one.Err()
	} else {
		err = s.two.Err()
	}
	return s.spoiled(segmentDamage(s.path, err))
}

// spoiled notes that the segment is damaged, if that is what an error says.
func (s *segmentSource) spoiled(err error) error {
	if err == nil || s.object == 0 {
		return err
	}
	return s.w.s.spoilRead(s.object, err)
}
