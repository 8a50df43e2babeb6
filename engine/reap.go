package engine

import (
	"context"
	"fmt"
	"slices"
)

// reapReaders ends the sessions of read-only processes that are proven gone, and lets
// files be looked for when a reader has released some. It reports whether there are
// pins, so that one has to look again: nobody tells when they go.
func (s *Store) reapReaders(ctx context.Context) (some bool, err error) {
	if _, err := s.cat.Reap(ctx, nil); err != nil {
		return false, fmt.Errorf("engine: looking for readers that are gone: %w", err)
	}
	list, err := s.cat.Pins(ctx)
	if err != nil {
		return false, fmt.Errorf("engine: looking for readers: %w", err)
	}
	var now []int64
	for i := range list {
		now = append(now, list[i].OwnerID)
	}
	c := &s.compactor
	if slices.ContainsFunc(c.pins, func(owner int64) bool { return !slices.Contains(now, owner) }) {
		s.mu.Lock()
		c.failed = true
		s.mu.Unlock()
	}
	c.pins = now
	return len(now) > 0, nil
}
