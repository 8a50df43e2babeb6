package engine

import "slices"

// Volatile tables have no record in the log: a transaction that wrote only such
// tables has no LSN of its own and takes that of the state it builds on. It is
// visible and acknowledged at once, unless it read or wrote a table that a
// commit on its way to the disk has changed: then it shares that commit's fate,
// since it may have been made of rows that nobody is going to see.

// volatileOnly reports whether all the transaction changed is rows of volatile
// tables.
func (t *txState) volatileOnly() bool {
	if !slices.ContainsFunc(t.tables, func(h *TxTable) bool { return !h.def.Durable }) {
		return false
	}
	for i := range t.ops.len() {
		if o := t.ops.at(i); o.kind == opSchema || t.tables[o.table].def.Durable {
			return false
		}
	}
	return t.changed()
}

// commitVolatile ends a transaction of which nothing goes to the log, and returns
// the commit to wait for. The caller holds the write lock.
func (t *Tx) commitVolatile() LSN {
	s, base := t.store, t.base
	var written []*Table
	var touched []TableID // of written tables and of those that were read
	for i := range t.slots {
		slot := &t.slots[i]
		if slot.read || slot.h != nil {
			touched = append(touched, t.schema.tables[i].ID)
		}
	}
	t.lsn = base.lsn
	next := t.finish()
	for i, table := range next.tables {
		if table != base.tables[i] {
			written = append(written, table)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.pipe
	if p.cause != nil {
		return base.lsn + 1 // never appended: WaitDurable tells why
	}
	s.stats.VolatileCommits++
	s.stats.RowsDropped += t.dropped
	visible := s.durable.Load()
	pending := t.earlier || base.schema != visible.schema || slices.ContainsFunc(touched, func(id TableID) bool { return base.table(id) != visible.table(id) })
	return s.follow(base, next, written, pending)
}

// follow makes next, which is in no log, the head behind base, and returns the
// commit to wait for. Of base it has all tables but the written ones. It is visible
// at once unless it is pending: made of what is not durable yet. The caller holds
// the write lock and mu, and the engine is not poisoned.
func (s *Store) follow(base, next *root, written []*Table, pending bool) LSN {
	p := &s.pipe
	s.head.Store(next)
	visible := s.durable.Load()
	newest := p.newest()
	if s.opts.Sync != SyncFull || newest == nil {
		s.durable.Store(next)
		return next.lsn
	}
	newest.root = next
	if pending {
		return newest.last.lsn
	}
	// What is under way has the written tables as the visible state has them.
	under, seen := p.inflight, visible.with(written)
	if under == newest {
		under = nil
	}
	if under != nil {
		under.root = under.root.with(written)
	}
	if next.content != base.content { // other rows than before, and than the head's
		seen.content = new(content)
		if under != nil {
			under.root.content = new(content)
		}
	}
	s.durable.Store(seen)
	return visible.lsn
}

// newest returns the batch with the newest commit that is not durable, or nil.
// The caller holds mu.
func (p *pipeline) newest() *batch {
	if p.gathering.commits > 0 {
		return p.gathering
	}
	return p.inflight
}

// with returns the state with other contents of some of its tables.
func (r *root) with(tables []*Table) *root {
	n := *r
	n.tables = slices.Clone(r.tables)
	for _, t := range tables {
		if slot, ok := r.schema.slot(t.def.ID); ok {
			n.memory += t.ResidentBytes() - n.tables[slot].ResidentBytes()
			n.tables[slot] = t
		}
	}
	return &n
}
