package engine

import (
	"errors"
	"slices"
)

// A store in memory (Options.Memory) has no directory: no lock, no catalog, no
// log, no syncer. All its tables are kept as volatile ones are, whatever their
// definitions say, and a commit is an exchange of the root. Each has an LSN of
// its own, since schema versions are LSNs.

// ErrInMemory refuses work on the log of a store that has none.
var ErrInMemory = errors.New("engine: the store is in memory and has no log")

// openMemory opens an empty store.
func openMemory(o Options) *Store {
	s := newStore(o, newHome(nil))
	r := emptyRoot(nil)
	s.durable.Store(r)
	s.head.Store(r)
	s.synced.Store(r.mark())
	s.ids.next, s.ids.end = 1, 1<<62 // one block for as long as the store lives
	return s
}

// InMemory reports whether the store has neither directory nor log.
func (s *Store) InMemory() bool { return s.opts.Memory }

// commitMemory ends a transaction of a store in memory, which is visible and
// acknowledged with that. The caller holds the write lock.
func (t *Tx) commitMemory() LSN {
	s := t.store
	altered := t.schema != t.base.schema
	next := t.finish()
	s.mu.Lock()
	s.head.Store(next)
	s.durable.Store(next)
	s.synced.Store(next.mark())
	s.stats.VolatileCommits++
	s.stats.RowsDropped += t.dropped
	s.mu.Unlock()
	if altered && !s.noticed && slices.ContainsFunc(next.schema.tables, func(d *TableDef) bool { return d.Durable }) {
		s.noticed = true
		s.event(Event{Kind: EventEphemeral, LSN: next.lsn})
	}
	return next.lsn
}
