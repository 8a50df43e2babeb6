package engine

import (
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// When the log is compacted follows from numbers that are kept exactly: used, the
// bytes of all row records in the base and the log; live, the bytes of one whole
// record per row; and garbage, the difference. Some garbage is in files that a
// compaction keeps (compact_plan.go), about as much as what is live there at most. So
// what counts beside the whole is the garbage that was made since. All of these are
// known after an open as well, since the replay counts them anew.
//
// A compaction writes about what the log has, and a third of the live rows may be
// superseded before the next one. So a log in which the same rows are changed over
// and over takes a part of what the live rows take, with a base that takes twice as
// much at most; one that only grows has no garbage, and is never rewritten. What comes
// to the log while a compaction runs is bounded, too: see compact_brake.go.

// Limits of a compaction, unless Options say otherwise.
const (
	defaultCompactFloor   = 4 << 20 // or a generation, if that is less,
	leastCompactFloor     = 1 << 20 // down to this
	defaultCompactRatio   = 3
	defaultCompactGarbage = 64 << 20
)

// compactLimits say when a log is worth a compaction.
type compactLimits struct {
	floor   int64   // a log that uses less is left alone
	ratio   float64 // of used to the size of a compaction's output; 0: never
	garbage int64   // more of it in the log is too much, whatever the ratio
}

// compactionDue decides. last is the size of the live rows, 0 when that is not known,
// and garbage is that of the log.
func compactionDue(used, last, garbage int64, l compactLimits) bool {
	switch {
	case l.ratio == 0 || used < l.floor:
		return false
	case last == 0:
		return true
	}
	return float64(used) > l.ratio*float64(last) || garbage > l.garbage
}

// liveSize is what a compaction writes of a row, but for the length of the version of
// its definition, which may make up to 8 bytes more: a row has to count for as much
// when it goes as when it came, whatever became of the definition meanwhile.
func liveSize(def *TableDef, rowid int64, rec row.Record) int64 {
	return liveBytes(def, rowid, len(rec))
}

// liveBytes is liveSize for a record of n bytes.
func liveBytes(def *TableDef, rowid int64, n int) int64 {
	return wal.PutSizeOf(uint64(def.ID), 1, rowid, n)
}

// LogUse says what the log holds, in bytes of row records.
type LogUse struct {
	Used int64 // all of them
	Live int64 // that a compaction would write: one whole record per row, see liveSize
}

// Garbage is what a compaction would free.
func (u LogUse) Garbage() int64 { return max(0, u.Used-u.Live) }

// LogUse returns what the log holds. Commits that are not durable yet are counted.
func (s *Store) LogUse() LogUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logUse()
}

func (s *Store) logUse() LogUse { return LogUse{Used: s.rowBytes, Live: s.head.Load().live} }

// Bounds of what may be superseded since the last compaction, as shares of the live
// rows. Below the first one, the rows that a compaction looks for in the base would
// cost more than it frees, and above the second one the log takes too much.
const (
	leastGarbage = 16
	mostGarbage  = 3
)

// of are the limits of a store with so many live bytes.
func (l compactLimits) of(live int64) compactLimits {
	l.garbage = max(l.floor, min(max(l.garbage, live/leastGarbage), live/mostGarbage))
	return l
}

// logGarbage is what was superseded since the last compaction, in the log and in the
// base. The caller holds mu.
func (s *Store) logGarbage(use LogUse) int64 {
	return max(0, use.Garbage()-s.compactor.idle)
}

// compactIfDue wakes the compactor when the log is worth it. The caller holds mu.
func (s *Store) compactIfDue() {
	c := &s.compactor
	if !c.auto || c.asked || s.rowBytes < c.again || s.head.Load().lsn == c.since {
		return
	}
	use := s.logUse()
	if compactionDue(use.Used, use.Live, s.logGarbage(use), c.limits.of(use.Live)) {
		c.asked = true
		s.setBrake(use)
		c.signal()
	}
}

// noteBase notes what the base is when a state is opened that was not compacted here.
// The caller holds mu.
func (s *Store) noteBase(live int64) {
	base := int64(0)
	for _, f := range s.base {
		all, _ := f.sizes()
		base += all
	}
	s.compactor.idle = max(0, base-live)
	s.compactor.base, s.compactor.live = base, live
}
