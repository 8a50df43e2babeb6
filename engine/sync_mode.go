package engine

import (
	"fmt"
	"time"
)

// SyncMode says what a commit has to wait for.
//
// In every mode a process that is killed loses nothing: what was written is the
// system's. When the system stops, or a sync fails, SyncNormal and SyncOff may
// lose commits that were acknowledged: the newest ones, from some LSN on, never
// one before another that stays. What is never lost in any mode is what was
// committed before a sync that succeeded: that of a checkpoint, of a rotation,
// of a schema change, or of Close.
//
// A failed write or sync poisons the engine in every mode. Acknowledged commits
// stay visible in the poisoned process; which of them the next open finds is
// decided by what reached the disk.
type SyncMode int

const (
	// SyncFull acknowledges and shows a commit when it is synced.
	SyncFull SyncMode = iota
	// SyncNormal acknowledges and shows a commit when it is written; it is
	// synced within 100 ms.
	SyncNormal
	// SyncOff acknowledges and shows a commit when it is written. It is synced
	// when its generation ends, by a checkpoint, by a schema change or by Close.
	SyncOff
)

// syncDelay is how long SyncNormal lets commits gather: the rest of the 100 ms
// is for the sync itself.
const syncDelay = 50 * time.Millisecond

// String is the mode's name in a DSN.
func (m SyncMode) String() string {
	switch m {
	case SyncFull:
		return "full"
	case SyncNormal:
		return "normal"
	case SyncOff:
		return "off"
	}
	return fmt.Sprintf("sync(%d)", int(m))
}

// mark is a place in the history of the store: the newest commit of it and the
// schema it left.
type mark struct {
	lsn    LSN
	schema *Schema
}

func (r *root) mark() *mark { return &mark{r.lsn, r.schema} }

// hurry lets the syncer take what gathered at once. The caller holds mu.
func (p *pipeline) hurry() {
	if p.gathering.commits > 0 {
		p.urgent = true
		p.work.Signal()
	}
}

// due reports whether what gathered is to be synced now. The caller holds mu.
func (p *pipeline) due(mode SyncMode) bool {
	return p.gathering.commits > 0 && p.cause == nil && (mode == SyncFull || p.urgent || p.stop)
}

// startDelay begins the time that the first commit of a batch may wait. The
// caller holds mu.
func (s *Store) startDelay() {
	p := &s.pipe
	if p.delay != nil {
		p.delay.Reset(syncDelay)
		return
	}
	p.delay = time.AfterFunc(syncDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.hurry()
	})
}
