package engine

import (
	"errors"
	"fmt"
)

// A segment that is damaged, or gone, is as if there were none: who opens a state scans
// the fragments that it covered, and the next index job that comes across it writes it
// anew. Nothing is lost with it, but a check tells of it.

// spoil notes that a segment of a head is damaged: rows are read in another way, and the
// next index job writes it anew. err is told once.
func (s *Store) spoil(object int64, err error) {
	if s.spoiledNow(object) {
		s.event(Event{Kind: EventSegmentDamaged, Err: err})
	}
}

// spoiledNow notes it without telling, and reports whether it is news.
func (s *Store) spoiledNow(object int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spoiled[object] {
		return false
	}
	if s.spoiled == nil {
		s.spoiled = map[int64]bool{}
	}
	s.spoiled[object] = true
	return true
}

func (s *Store) isSpoiled(object int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spoiled[object]
}

// errSpoiled: a segment turned out damaged while it was read.
var errSpoiled = errors.New("engine: an index segment is damaged")

// spoilRead notes that a segment is damaged, if that is what an error says, and returns
// what whoever read it is told.
func (s *Store) spoilRead(object int64, err error) error {
	var bad *CorruptError
	if !errors.As(err, &bad) {
		return err
	}
	s.spoil(object, err)
	return fmt.Errorf("%w: %w", errSpoiled, err)
}
