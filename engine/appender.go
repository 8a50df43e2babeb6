package engine

import (
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// keepBuffer is the largest encoding buffer that is kept for the next
// transaction.
const keepBuffer = 1 << 20

// closeMarkSize is the room every preallocation leaves, so that a clean close
// needs no space.
var closeMarkSize = wal.FrameSize(24)

// appender is the write end of the log. It is guarded by the write lock, under
// which LSN and file offset of a transaction are known before it is encoded.
type appender struct {
	gen     *generation // the active one
	limit   int64       // size at which the next transaction goes to another file
	asked   bool        // for the file of the next generation
	builder wal.Builder // keeps its memory from one transaction to the next
}

// full reports whether the next transaction belongs into the next generation.
func (a *appender) full() bool { return a.gen.tail >= a.limit }

// prepare encodes a transaction for the present tail and makes room for it.
// Nothing of it is in the file yet.
func (a *appender) prepare(t *txState, c *wal.Commit, shard uint64) ([]byte, error) {
	b := &a.builder
	b.Reset(a.gen.salt, a.gen.tail, b.Bytes())
	var err error
	c.Records, c.Contributions, err = t.encode(b)
	if err != nil {
		return nil, fmt.Errorf("engine: encoding a transaction: %w", err)
	}
	// The end lies behind the commit frame, whose size does not depend on it.
	c.Participants = []wal.Participant{{Shard: shard}}
	c.Participants[0].End = uint64(b.Offset() + wal.CommitSize(c))
	if err := b.Commit(c); err != nil {
		return nil, fmt.Errorf("engine: encoding a commit: %w", err)
	}
	if err := a.gen.reserve(int64(b.Len()), a.limit); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// done ends the use of what prepare returned.
func (a *appender) done() {
	if cap(a.builder.Bytes()) > keepBuffer {
		a.builder = wal.Builder{}
	}
}

// append writes what prepare returned.
func (a *appender) append(frames []byte) error {
	if _, err := a.gen.file.WriteAt(frames, a.gen.tail); err != nil {
		return fmt.Errorf("engine: append to %s at %d: %w", a.gen.path, a.gen.tail, err)
	}
	a.gen.tail += int64(len(frames))
	a.gen.marked = false
	return nil
}
