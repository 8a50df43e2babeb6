package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// After a compaction is the head, rows of keys tables are read from the base: in
// slices, each a moment under the write lock, the locators of the present state are
// exchanged. A locator that is not what the compaction read, belongs to a row that
// was changed since, and stays. A slice is a state of its own with the commit of
// the one before it, published as the commit of a transaction on volatile tables
// is; readers of earlier states go on with the files these name.

const (
	repointSlice = 100 * time.Microsecond // how long a slice may take, about
	repointCheck = 16                     // locators between two looks at the clock
	repointRows  = 8192                   // most locators of a slice
)

// move is a row and where it was and is.
type move struct {
	rowid    int64
	from, to row.Record
}

// mover reads the moves of a table, in the order of row ids: the files that its rows
// were written to beside the state that was compacted. Rows that are in kept files are
// read from there as before.
type mover struct {
	s     *Store
	table *Table // as it was compacted
	files []*baseFile
	at    int // position in files of the one that is read
	sc    *wal.Scanner
	read  func() error // ends the reading of the file at hand
	loc   [maxLocator]byte
}

// next fills moves with the next ones, none at the end.
func (m *mover) next(moves []move) (n int, err error) {
	for ; n < len(moves); n++ {
		fr, ok, err := m.frame()
		if err != nil || !ok {
			return n, err
		}
		ids, _, err := wal.CutPut(fr)
		if err != nil {
			return n, corruptIn(m.files[m.at].path, fr.Offset, err)
		}
		from, ok := m.table.rows.Get(ids.Rowid)
		if !ok || ids.Table != uint64(m.table.def.ID) {
			return n, &CorruptError{File: m.files[m.at].path, Offset: fr.Offset, Reason: fmt.Sprintf(
				"row %d of table %d, which was not written to the rows of table %d", ids.Rowid, ids.Table, m.table.def.ID)}
		}
		to := rowPlace{kind: filed, slot: m.files[m.at].slot, off: fr.Offset, size: uint32(fr.End() - fr.Offset)}
		moves[n] = move{ids.Rowid, from, row.Record(appendLocator(m.loc[:0], to))}
	}
	return n, nil
}

// frame returns the next row frame of the table, false when there is none.
func (m *mover) frame() (wal.Frame, bool, error) {
	id := m.table.def.ID
	for m.at < len(m.files) {
		f := m.files[m.at]
		if m.sc == nil {
			if !f.has(id) {
				m.at++
				continue
			}
			if err := m.open(f); err != nil {
				return wal.Frame{}, false, err
			}
		}
		if fr, ok := m.sc.Next(); ok {
			return fr, true, nil
		}
		if stop := m.sc.Stop(); !stop.Clean() {
			return wal.Frame{}, false, corruptOrRead(f.path, stop)
		}
		if err := m.close(); err != nil {
			return wal.Frame{}, false, err
		}
		m.at++
	}
	return wal.Frame{}, false, nil
}

// has reports whether a file has rows of a table.
func (f *baseFile) has(id TableID) bool {
	return slices.ContainsFunc(f.fragments, func(x fragment) bool { return x.table == id && x.rows > 0 })
}

func (m *mover) open(f *baseFile) error {
	file, err := m.s.fs.OpenRead(f.path)
	if err != nil {
		return fmt.Errorf("engine: opening %s: %w", f.path, err)
	}
	i := slices.IndexFunc(f.fragments, func(x fragment) bool { return x.table == m.table.def.ID })
	x := f.fragments[i]
	m.sc, m.read = wal.NewScanner(file, x.start, x.start+x.bytes, f.salt), file.Close
	return nil
}

func (m *mover) close() error {
	if m.sc == nil {
		return nil
	}
	m.sc = nil
	if err := m.read(); err != nil {
		return fmt.Errorf("engine: closing a file of the base: %w", err)
	}
	return nil
}

// repoint lets the present state of all keys tables that were compacted be read
// from the base, and gives all keys tables the next lease: the end of the ones
// before frees the files that were replaced.
func (s *Store) repoint(ctx context.Context, c *cut, files []*baseFile) error {
	for _, t := range c.state.tables {
		if t.src == nil || t.Len() == 0 {
			continue
		}
		m := &mover{s: s, table: t, files: files}
		err := s.repointTable(ctx, m)
		if cerr := m.close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	before, err := s.renewLease(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.replaced {
		if s.replaced[i].lease == noLease {
			s.replaced[i].lease = before
		}
	}
	return nil
}

func (s *Store) repointTable(ctx context.Context, m *mover) error {
	moves := make([]move, min(m.table.Len(), repointRows))
	for {
		n, err := m.next(moves)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		for rest := moves[:n]; len(rest) > 0; {
			done, err := s.slice(ctx, m.table.def.ID, rest)
			if err != nil {
				return err
			}
			rest = rest[done:]
		}
	}
}

// slice makes some moves and returns how many.
func (s *Store) slice(ctx context.Context, id TableID, moves []move) (done int, err error) {
	err = s.between(ctx, func(head *root) *root {
		t := head.table(id)
		if t == nil || t.src == nil { // it was dropped
			done = len(moves)
			return nil
		}
		start := time.Now()
		n := *t
		n.rows = t.rows.IsoCopy()
		for done < len(moves) {
			m := &moves[done]
			if now, ok := n.rows.Get(m.rowid); ok && now == m.from {
				n.rows.Set(m.rowid, m.to)
			}
			if done++; done%repointCheck == 0 && time.Since(start) > repointSlice {
				break
			}
		}
		return head.with([]*Table{&n})
	})
	return done, err
}

// renewLease gives the present state of all keys tables the next lease.
func (s *Store) renewLease(ctx context.Context) (before uint64, err error) {
	err = s.between(ctx, func(head *root) *root {
		var now *lease
		before, now = s.objects.lease.next()
		var tables []*Table
		for _, t := range head.tables {
			if t.src == nil {
				continue
			}
			n := *t
			n.src = &source{objects: s.objects, lease: now}
			tables = append(tables, &n)
		}
		return head.with(tables)
	})
	return before, err
}

// between lets a state of the same rows follow the head, under the write lock and
// between two transactions. behind returns nil when there is none.
func (s *Store) between(ctx context.Context, behind func(head *root) *root) error {
	ok, err := s.wl.acquire(ctx, s.poisoned, s.closing)
	if err != nil {
		return err
	}
	if !ok {
		return s.refusal()
	}
	defer s.wl.release()
	if err := s.refusal(); err != nil {
		return err
	}
	start := time.Now()
	head := s.head.Load()
	next := behind(head)
	if next == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipe.cause != nil {
		return s.pipe.cause
	}
	var written []*Table
	for i, t := range next.tables {
		if t != head.tables[i] {
			written = append(written, t)
		}
	}
	visible := s.durable.Load()
	pending := head.schema != visible.schema || slices.ContainsFunc(written, func(t *Table) bool { return head.table(t.def.ID) != visible.table(t.def.ID) })
	s.follow(head, next, written, pending)
	s.stats.CompactPause = max(s.stats.CompactPause, time.Since(start))
	return nil
}
