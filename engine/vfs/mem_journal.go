package vfs

import "slices"

// A journal is the list of operations of a Mem, cut into segments. Each starts
// with a clone of the state before it, so rebuilding the state after operation
// n replays one segment and not everything.
//
// It is bounded: once it holds more than limit bytes its oldest segments are
// forgotten.
type journal struct {
	limit    int64
	bytes    int64
	last     int // number of the newest operation
	segments []segment
}

type segment struct {
	before int    // operations before this segment
	base   *state // the state then
	ops    []Op
	bytes  int64
}

const (
	defaultJournalLimit = 256 << 20
	// segmentOps is small because a replay of it is what a crash image costs,
	// and not smaller because a clone of all nodes is what a segment costs.
	segmentOps = 64
	// opBytes is what an operation counts beside its data.
	opBytes = 256
)

// prepare starts a segment when one is due. s is the state before the next
// operation.
func (j *journal) prepare(s *state) {
	if n := len(j.segments); n > 0 && len(j.segments[n-1].ops) < segmentOps {
		return
	}
	base, ids := s.clone()
	cost := int64(len(ids)) * opBytes
	j.segments = append(j.segments, segment{before: j.last, base: base, bytes: cost})
	j.bytes += cost
	for j.bytes > j.limit && len(j.segments) > 1 {
		j.bytes -= j.segments[0].bytes
		j.segments = slices.Delete(j.segments, 0, 1)
	}
}

func (j *journal) append(op Op) {
	s := &j.segments[len(j.segments)-1]
	s.ops = append(s.ops, op)
	cost := opBytes + int64(len(op.Data))
	s.bytes += cost
	j.bytes += cost
	j.last = op.N
}

// first is the smallest n whose state can be rebuilt.
func (j *journal) first() int {
	if len(j.segments) == 0 {
		return j.last
	}
	return j.segments[0].before
}

// at rebuilds the state after operation n, or returns nil.
func (j *journal) at(n int) *state {
	for i := len(j.segments) - 1; i >= 0; i-- {
		g := &j.segments[i]
		if g.before > n {
			continue
		}
		if n > g.before+len(g.ops) {
			return nil
		}
		s, ids := g.base.clone()
		for k := range g.ops[:n-g.before] {
			op := g.ops[k]
			s.replay(&op, ids)
		}
		return s
	}
	return nil
}

// replay applies op and keeps ids complete. A file that no name reaches is not
// in ids: nothing it does can be seen after a crash.
func (s *state) replay(op *Op, ids map[uint64]*node) {
	const onFile = OpWrite | OpTruncate | OpPreallocate | OpSyncData | OpSync
	n := ids[op.node]
	if op.Kind&onFile != 0 && n == nil {
		return
	}
	s.apply(op, n)
	if op.Kind&(OpCreate|OpMkdir) != 0 {
		ids[op.node] = s.lookup(op.Name)
	}
}

// op returns operation n; the caller has checked that it is kept.
func (j *journal) op(n int) Op {
	for i := len(j.segments) - 1; i >= 0; i-- {
		if g := &j.segments[i]; n > g.before {
			return g.ops[n-g.before-1]
		}
	}
	return Op{}
}

// Ops returns how many mutating operations there were.
func (m *Mem) Ops() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.log.last
}

// FirstOp returns the smallest n that At and CrashImages accept: 0 until the
// journal reached its limit.
func (m *Mem) FirstOp() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.log.first()
}

// Journal returns the operations from FirstOp()+1 to Ops().
func (m *Mem) Journal() []Op {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var ops []Op
	for _, g := range m.log.segments {
		ops = append(ops, g.ops...)
	}
	return ops
}

// SetJournalLimit bounds the memory of the journal, in bytes (256 MiB at
// first); the newest operations are always kept. Zero suits a benchmark.
func (m *Mem) SetJournalLimit(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log.limit = bytes
}

// OnOp sets a function that sees each mutating operation right after it was
// done, in order. It is called with the file system locked, so that nothing
// happens between the operation and the call: it must not use m.
func (m *Mem) OnOp(f func(Op)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = f
}

// At returns the file system as programs saw it after operation n, with what
// was durable then and what was not; nothing in it is open or locked, and its
// own operations count on from n. It is nil for n outside FirstOp()…Ops().
func (m *Mem) At(n int) *Mem {
	s := m.stateAt(n)
	if s == nil {
		return nil
	}
	at := memOf(s)
	at.log.last = n
	return at
}

func (m *Mem) stateAt(n int) *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n == m.log.last {
		s, _ := m.st.clone()
		return s
	}
	return m.log.at(n)
}
