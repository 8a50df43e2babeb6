package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// deed is one commit of a timeline: a row that was set, or a restore.
type deed struct {
	lsn   LSN
	rowid int64
	value string
	from  *point // of a restore
}

// point is a state of a timeline.
type point struct {
	line *story
	lsn  LSN
}

// story is what was done on a timeline, in no order, on top of where it began.
type story struct {
	name  string
	began *point
	mu    sync.Mutex
	deeds []deed
}

func (s *story) add(d deed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deeds = append(s.deeds, d)
}

// rows is the content at a point: the newest restore before it, or where the timeline
// began, and what was written since.
func (p *point) rows() map[int64]string {
	if p == nil {
		return map[int64]string{}
	}
	s := p.line
	s.mu.Lock()
	deeds := slices.Clone(s.deeds)
	s.mu.Unlock()
	slices.SortFunc(deeds, func(a, b deed) int { return cmp.Compare(a.lsn, b.lsn) })
	rows := s.began.rows()
	for _, d := range deeds {
		switch {
		case d.lsn > p.lsn:
			return rows
		case d.from != nil:
			rows = d.from.rows()
		default:
			rows[d.rowid] = d.value
		}
	}
	return rows
}

// contentRows reads the two tables, which must be equal.
func contentRows(t testing.TB, s *Snapshot) map[int64]string {
	t.Helper()
	read := func(name string) map[int64]string {
		rows := map[int64]string{}
		o := s.Schema().Lookup(name)
		if o == nil {
			t.Errorf("no table %s", name)
			return rows
		}
		must(t, s.Table(o.Table.ID).each(func(rowid int64, rec row.Record) { rows[rowid] = string(rec) }))
		return rows
	}
	a, k := read("a"), read("k")
	if fmt.Sprint(a) != fmt.Sprint(k) {
		t.Errorf("commit %d: the tables differ:\n%v\n%v", s.LSN(), a, k)
	}
	return a
}
