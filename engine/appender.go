package engine

import (
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// keepBuffer is how much memory of encoding buffers is kept for the next
// transaction, of all shards together, and leastBuffer what any may keep.
const (
	keepBuffer  = 1 << 20
	leastBuffer = 64 << 10
)

// closeMarkSize is the room every preallocation leaves, so that a clean close
// needs no space.
var closeMarkSize = wal.FrameSize(24)

// appender is the write end of the logs. It is guarded by the write lock, under
// which LSN and file offsets of a transaction are known before it is encoded.
type appender struct {
	shards []*shard // all, by ordinal
	limit  int64    // size at which the next transaction goes to other files
	asked  bool     // for the files of the next generations

	// Of the transaction that was prepared last.
	parts        []*shard // the shards it touches, by ordinal
	participants []wal.Participant
	before       []allocation // of the parts' files
	tallies      []tally
}

// allocation is the state of a file's preallocation.
type allocation struct{ size, step int64 }

// full reports whether the next transaction belongs into the next generations:
// when one shard's file is full, all of them end at the same LSN.
func (a *appender) full() bool {
	for _, sh := range a.shards {
		if sh.gen.tail >= a.limit {
			return true
		}
	}
	return false
}

// part returns a shard that the transaction being prepared touches, ready to
// be encoded to.
func (a *appender) part(ordinal int) *shard {
	sh := a.shards[ordinal]
	if !sh.touched {
		sh.touched = true
		sh.commit.Records, sh.commit.Contributions = 0, nil
		sh.builder.Reset(sh.gen.salt, sh.gen.tail, sh.builder.Bytes())
	}
	return sh
}

// forget takes back what was prepared.
func (a *appender) forget() {
	for _, sh := range a.shards {
		sh.touched = false
	}
	a.parts = a.parts[:0]
}

// prepare encodes a transaction for the present tails and makes room for it in
// all of its shards, or in none. Nothing of it is in a file yet. Of c, LSN,
// clock and claim are given.
func (a *appender) prepare(t *txState, c wal.Commit) error {
	a.forget()
	if err := t.encodeTo(a); err != nil {
		return fmt.Errorf("engine: encoding a transaction: %w", err)
	}
	a.participants = a.participants[:0]
	for _, sh := range a.shards {
		if sh.touched {
			a.parts = append(a.parts, sh)
			a.participants = append(a.participants, wal.Participant{Shard: sh.id})
		}
	}
	for i, sh := range a.parts {
		c.Records, c.Contributions, c.Participants = sh.commit.Records, sh.commit.Contributions, a.participants
		sh.commit = c
		// The end lies behind the commit frame, whose size does not depend on it.
		a.participants[i].End = uint64(sh.builder.Offset() + wal.CommitSize(&sh.commit))
	}
	for _, sh := range a.parts {
		if err := sh.builder.Commit(&sh.commit); err != nil {
			return fmt.Errorf("engine: encoding a commit: %w", err)
		}
	}
	return a.reserve()
}

// reserve makes room in every file the transaction goes to. When one has none
// the others get back their sizes, so that a refusal leaves every log as it
// was.
func (a *appender) reserve() error {
	a.before = a.before[:0]
	for i, sh := range a.parts {
		g := sh.gen
		a.before = append(a.before, allocation{g.allocated, g.step})
		err := g.reserve(int64(sh.builder.Len()), a.limit)
		if err == nil {
			continue
		}
		for k, was := range a.before[:i] {
			g := a.parts[k].gen
			if g.allocated == was.size {
				continue
			}
			if g.file.Truncate(was.size) == nil {
				g.allocated, g.step = was.size, was.step
			} // else it is only larger than it need be
		}
		return err
	}
	return nil
}

// done ends the use of what was prepared.
func (a *appender) done() {
	keep := max(keepBuffer/max(1, len(a.shards)), leastBuffer)
	for _, sh := range a.parts {
		if cap(sh.builder.Bytes()) > keep {
			sh.builder = wal.Builder{}
		}
		sh.commit.Contributions = nil
	}
	a.forget()
}

// append writes what was prepared, shard by shard.
func (a *appender) append() error {
	for _, sh := range a.parts {
		if err := sh.gen.append(sh.builder.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// append writes frames at the tail.
func (g *generation) append(frames []byte) error {
	if _, err := g.file.WriteAt(frames, g.tail); err != nil {
		return fmt.Errorf("engine: append to %s at %d: %w", g.path, g.tail, err)
	}
	g.tail += int64(len(frames))
	g.marked = false
	return nil
}
