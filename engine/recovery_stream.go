package engine

import (
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// shardLog is the log of one shard during recovery. Its files are read one
// after the other, as a stream of transactions: what is held of it is one
// block of a file and the records of one transaction, the head.
type shardLog struct {
	*shard
	also   []uint64 // ids of shards that began the log, or all of a history's
	cat    catalog.Shard
	files  []*logFile // to be replayed, in log order
	unborn []*logFile
	cut    LSN // last commit in a generation that is not replayed

	at   int          // position of the file that is read
	sc   *wal.Scanner // nil before its first frame
	pos  positions    // of the rows in that file
	of   *logFile     // that file
	tx   []wal.Frame  // records whose commit was not seen yet, or is the head
	head wal.Frame    // commit or close mark that waits for its turn
	kind wal.Kind     // of the head, 0 when there is none
	lsn  LSN          // of the head
	next wal.Commit   // the head, decoded
}

// is reports whether an id is that of the shard, or of one that began its log.
func (l *shardLog) is(id uint64) bool { return l.id == id || slices.Contains(l.also, id) }

func (l *shardLog) lastPath() string {
	switch n := len(l.files); {
	case l.at < n:
		return l.files[l.at].path
	case n > 0:
		return l.files[n-1].path
	}
	return ""
}

// pull reads on to the next commit or close mark of a log. All that was its
// head before is replayed, so a file whose end is reached is replayed whole.
func (r *recovery) pull(l *shardLog) error {
	l.kind, l.tx, l.next = 0, l.tx[:0], wal.Commit{}
	for ; l.at < len(l.files); l.at++ {
		f := l.files[l.at]
		if l.sc == nil {
			l.enter(f, r.tails)
		}
		for l.kind == 0 && f.seal == nil {
			fr, ok := l.sc.Next()
			if !ok {
				break
			}
			if err := r.take(l, f, fr); err != nil {
				return corruptIn(f.path, fr.Offset, err)
			}
		}
		if l.kind != 0 {
			return nil
		}
		if err := r.scanned(l, f); err != nil {
			return err
		}
		l.sc, l.tx = nil, l.tx[:0]
	}
	return nil
}

// enter begins to read a file, or goes on in one that was read as far as it went.
func (l *shardLog) enter(f *logFile, tails bool) {
	if !tails {
		l.sc, l.pos, l.of = wal.NewScanner(f.file, f.start, f.allocated, f.salt), positions{}, f
		return
	}
	if l.of != f {
		if l.of != nil && l.of.seal == nil {
			was := l.pos
			l.of.pos = &was
		}
		l.pos, l.of = positions{}, f
		if f.pos != nil {
			l.pos, f.pos = *f.pos, nil
		}
	}
	l.sc = wal.NewScanner(growing{f.file}, f.end, f.allocated, f.salt)
}

// take puts a frame where it belongs.
func (r *recovery) take(l *shardLog, f *logFile, fr wal.Frame) error {
	switch fr.Kind {
	case wal.KindCommit:
		return r.takeCommit(l, f, fr)
	case wal.KindCloseMark:
		return r.takeMark(l, f, fr)
	case wal.KindSeal:
		return r.takeSeal(l, f, fr)
	case wal.KindHeader:
		return damaged(fr.Offset, "a second header")
	}
	l.tx = append(l.tx, fr)
	return nil
}

func (r *recovery) takeCommit(l *shardLog, f *logFile, fr wal.Frame) error {
	c, err := wal.DecodeCommit(fr, f.salt)
	if err != nil {
		return err
	}
	if !r.participates(l, &c, uint64(fr.End())) {
		return damaged(fr.Offset, "commit %d names participants %v, its frame ends at %d of shard %d", c.LSN, c.Participants, fr.End(), l.id)
	}
	if LSN(c.LSN) < f.least {
		return damaged(fr.Offset, "commit %d in a file that begins with %d", c.LSN, f.least)
	}
	l.head, l.kind, l.lsn, l.next = fr, wal.KindCommit, LSN(c.LSN), c
	return nil
}

// participates checks a commit's list of participants: shards of the store in
// their order, this one with the frame's end among them.
func (r *recovery) participates(l *shardLog, c *wal.Commit, end uint64) bool {
	own, at := false, 0
	for _, p := range c.Participants {
		for at < len(r.shards) && !r.shards[at].is(p.Shard) {
			at++
		}
		if at == len(r.shards) {
			return false
		}
		if r.shards[at] == l {
			own = p.End == end
		}
		at++
	}
	return own
}

// takeMark passes a close mark whose LSN is reached and keeps one that is ahead
// of the replay: other shards may have the commits before it.
func (r *recovery) takeMark(l *shardLog, f *logFile, fr wal.Frame) error {
	m, err := wal.DecodeCloseMark(fr, f.salt)
	if err != nil {
		return err
	}
	if len(l.tx) > 0 || LSN(m.LSN) < r.last || len(r.shards) == 1 && LSN(m.LSN) != r.last {
		return damaged(fr.Offset, "close mark of LSN %d behind commit %d and %d open records", m.LSN, r.last, len(l.tx))
	}
	l.head, l.lsn = fr, LSN(m.LSN)
	if l.lsn > r.last {
		l.kind = wal.KindCloseMark
		r.marks++
		return nil
	}
	r.passMark(l, f)
	return nil
}

func (r *recovery) passMark(l *shardLog, f *logFile) {
	r.claim(l.lsn)
	f.end, f.marked = l.head.End(), true
}

// passMarks passes the close marks that the replay has come to.
func (r *recovery) passMarks() error {
	if r.marks == 0 {
		return nil
	}
	for _, l := range r.shards {
		if l.kind == wal.KindCloseMark && l.lsn == r.last {
			r.marks--
			r.passMark(l, l.files[l.at])
			if err := r.pull(l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recovery) takeSeal(l *shardLog, f *logFile, fr wal.Frame) error {
	m, err := wal.DecodeSeal(fr)
	if err != nil {
		return err
	}
	if len(l.tx) > 0 || LSN(m.LastLSN) != f.info.LastLSN || f.info.LastLSN == 0 {
		return damaged(fr.Offset, "footer of LSN %d behind commit %d and %d open records", m.LastLSN, f.info.LastLSN, len(l.tx))
	}
	r.claim(LSN(m.LastLSN))
	f.seal, f.end = &m, fr.End()
	f.info.Bytes = f.end
	return nil
}

// scanned ends the scan of a file.
func (r *recovery) scanned(l *shardLog, f *logFile) error {
	f.scanned, f.stop = true, l.sc.Stop()
	if f.seal != nil {
		f.stop = wal.Stop{Offset: f.end, Reason: wal.End}
	}
	if f.stop.Reason == wal.ReadFailed {
		return fmt.Errorf("engine: reading %s at %d: %w", f.path, f.stop.Offset, f.stop.Err)
	}
	r.read += f.stop.Offset
	if f.sealed() {
		return f.checkSealed()
	}
	return nil
}
