package engine

import (
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// When the log is compacted follows from three numbers that are kept exactly:
// used, the bytes of all row records in the log; live, the bytes that a
// compaction would write (one whole record per row); and garbage, what it would
// free: the difference. All three are known after an open as well, since the
// replay counts them anew.

// Limits of a compaction, unless Options say otherwise.
const (
	defaultCompactFloor   = 4 << 20
	defaultCompactRatio   = 3
	defaultCompactGarbage = 64 << 20
)

// compactLimits say when a log is worth a compaction.
type compactLimits struct {
	floor   int64   // a log that uses less is left alone
	ratio   float64 // of used to the size of a compaction's output; 0: never
	garbage int64   // more of it is too much, whatever the ratio
}

// compactionDue decides. last is the size of what a compaction writes, 0 when that
// is not known.
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
	return wal.PutSize(uint64(def.ID), 1, rowid, rec)
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

// compactIfDue wakes the compactor when the log is worth it. The output of a
// compaction would be the live rows, so that is what used is compared with, and a
// log that only grows is never rewritten. The bound on garbage does not count for
// a store that is larger: rewriting all of it for a small part would cost more
// than it frees. The caller holds mu.
func (s *Store) compactIfDue() {
	c := &s.compactor
	if !c.auto || c.asked || s.rowBytes < c.again || s.head.Load().lsn == c.since {
		return
	}
	use := s.logUse()
	limits := c.limits
	limits.garbage = max(limits.garbage, use.Live)
	if compactionDue(use.Used, use.Live, use.Garbage(), limits) {
		c.asked = true
		c.signal()
	}
}
