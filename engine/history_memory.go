package engine

import (
	"cmp"
	"runtime"
	"slices"
	"time"
	"weak"
)

// What tables of histories take counts against the memory budget as long as it is in
// memory. When that is short, those that were used longest ago are let go of first.
// What a scan has is in memory until it ends, all the same: then only the collector
// of garbage finds out, and until then it counts.

// heldTable is the memory of a table of a history. It keeps neither.
type heldTable struct {
	of    weak.Pointer[pastTable]
	table weak.Pointer[Table]
	bytes int64
}

// loaded notes a table that was loaded.
func (h *histories) loaded(p *pastTable, t *Table) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tables = append(h.tables, heldTable{weak.Make(p), weak.Make(t), t.ResidentBytes()})
	h.loads++
	h.unfinished.Store(0)
	h.sum()
	p.loaded.Store(t)
}

// revive returns a table that was let go of and is still in memory.
func (h *histories) revive(p *pastTable) *Table {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.tables {
		if held.of.Value() == p {
			if t := held.table.Value(); t != nil {
				p.loaded.Store(t)
				return t
			}
		}
	}
	return nil
}

// sum adds up what is in memory. The caller holds mu.
func (h *histories) sum() {
	h.tables = slices.DeleteFunc(h.tables, func(t heldTable) bool { return t.table.Value() == nil })
	n := int64(0)
	for _, t := range h.tables {
		n += t.bytes
	}
	h.bytes.Store(n)
}

// held is what tables of histories take, and the one that is being loaded.
func (h *histories) held() int64 { return h.bytes.Load() + h.unfinished.Load() }

// sweepPause is for how long nothing is swept for a row after a sweep that found
// nothing to let go of: a scan may go on, and a sweep takes milliseconds.
const sweepPause = time.Second

// makeRoom lets go of tables, those first that were used longest ago, until so many
// bytes are free or there are no more, and finds out what is in memory then: of what was
// let go of before, too, if it is for a load.
func (h *histories) makeRoom(need int64, load bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.bytes.Load()
	h.sum()
	if need -= before - h.bytes.Load(); need <= 0 || len(h.tables) == 0 {
		return
	}
	type idle struct {
		*pastTable
		bytes int64
	}
	var list []idle
	for _, t := range h.tables {
		if p := t.of.Value(); p != nil && p.loaded.Load() != nil {
			list = append(list, idle{p, t.bytes})
		}
	}
	slices.SortFunc(list, func(a, b idle) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	sweep := load || time.Since(h.swept) > sweepPause
	for _, p := range list {
		if need <= 0 {
			break
		}
		p.loaded.Store(nil)
		need -= p.bytes
		h.drops++
		sweep = true
	}
	clear(list) // which keeps histories else
	if sweep {
		h.swept = time.Now()
		runtime.GC() // takes what nobody uses
		h.sum()
	}
}

// measure adds the counters.
func (h *histories) measure(m *Metrics) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sum()
	m.PastLoads, m.PastDrops, m.PastMemory = h.loads, h.drops, h.held()
}
