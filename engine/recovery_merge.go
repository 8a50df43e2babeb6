package engine

import (
	"encoding/binary"
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
	cat    catalog.Shard
	files  []*logFile // to be replayed, in log order
	unborn []*logFile
	cut    LSN // last commit in a generation that is not replayed

	at   int          // position of the file that is read
	sc   *wal.Scanner // nil before its first frame
	pos  positions    // of the rows in that file
	tx   []wal.Frame  // records whose commit was not seen yet, or is the head
	head wal.Frame    // commit or close mark that waits for its turn
	kind wal.Kind     // of the head, 0 when there is none
	lsn  LSN          // of the head
	next wal.Commit   // the head, decoded
}

func (l *shardLog) lastPath() string {
	switch n := len(l.files); {
	case l.at < n:
		return l.files[l.at].path
	case n > 0:
		return l.files[n-1].path
	}
	return ""
}

// merge replays the commits of all shards in the order of their LSNs, up to
// the first one that is not whole.
func (r *recovery) merge() error {
	for _, l := range r.shards {
		if err := r.pull(l); err != nil {
			return err
		}
	}
	for r.limit == 0 || r.last < r.limit {
		whole, err := r.gather()
		if err != nil {
			return err
		}
		if !whole {
			break
		}
		if err := r.apply(); err != nil {
			return err
		}
	}
	for _, l := range r.shards {
		if l.at < len(l.files) && l.sc != nil {
			r.read += l.sc.Offset()
		}
		// What was not read to its end stops, in peace, where the replay did.
		for _, f := range l.files {
			if !f.scanned {
				f.stop = wal.Stop{Offset: f.end, Reason: wal.End}
			}
		}
	}
	return nil
}

// gather finds the shards that take part in the next commit and reports
// whether it is whole: intact in all of them, with one list of participants.
func (r *recovery) gather() (whole bool, err error) {
	n := r.last + 1
	var lead *shardLog
	holders := 0
	for _, l := range r.shards {
		if l.kind != wal.KindCommit || l.lsn > n {
			continue
		}
		if l.lsn < n {
			return false, l.damaged("commit %d lies behind commit %d", l.lsn, r.last)
		}
		holders++
		if lead == nil {
			lead = l
		}
	}
	if lead == nil {
		return false, nil
	}
	r.parts = r.parts[:0]
	for _, p := range lead.next.Participants {
		l := r.log(p.Shard)
		if l.kind != wal.KindCommit || l.lsn != n {
			r.lacks = l
			return false, nil
		}
		if !slices.Equal(l.next.Participants, lead.next.Participants) {
			return false, l.damaged("commit %d names participants %v, in shard %d %v", n, l.next.Participants, lead.id, lead.next.Participants)
		}
		r.parts = append(r.parts, l)
	}
	if holders != len(r.parts) {
		return false, lead.damaged("commit %d names participants %v, %d shards have it", n, lead.next.Participants, holders)
	}
	return true, nil
}

// damaged is about the head.
func (l *shardLog) damaged(format string, args ...any) error {
	return &CorruptError{File: l.files[l.at].path, Offset: l.head.Offset, Reason: fmt.Sprintf(format, args...)}
}

// apply replays the commit whose participants were gathered, shard by shard.
func (r *recovery) apply() error {
	for _, l := range r.parts {
		f := l.files[l.at]
		r.replay.pos = &l.pos
		for _, t := range l.tx {
			if err := r.frame(t); err != nil {
				return corruptIn(f.path, t.Offset, err)
			}
			r.sizes.frame(t.Kind, []byte(t.Payload[:min(len(t.Payload), binary.MaxVarintLen64)]), t.End()-t.Offset)
		}
		if err := r.replay.part(l.next, l.head.Offset); err != nil {
			return corruptIn(f.path, l.head.Offset, err)
		}
		f.end, f.marked = l.head.End(), false
		f.info.committed(l.lsn, l.next.Records, f.end)
		r.ends = append(r.ends, commitEnd{l.lsn, f, f.end})
	}
	r.last++
	r.replay.end(r.last)
	for _, l := range r.parts {
		r.claim(LSN(l.next.SyncedLSN))
		if err := r.pull(l); err != nil {
			return err
		}
	}
	return r.passMarks()
}

func (r *recovery) frame(fr wal.Frame) error {
	switch fr.Kind {
	case wal.KindSchema:
		s, err := wal.DecodeSchema(fr)
		if err != nil {
			return err
		}
		return r.replay.schema(s, fr.Offset)
	case wal.KindPut:
		p, err := wal.DecodePut(fr)
		if err != nil {
			return err
		}
		return r.replay.put(p, fr.Offset)
	case wal.KindDelta:
		d, err := wal.DecodeDelta(fr)
		if err != nil {
			return err
		}
		return r.replay.delta(d, fr.Offset)
	case wal.KindTombstone:
		t, err := wal.DecodeTombstone(fr)
		if err != nil {
			return err
		}
		return r.replay.tombstone(t, fr.Offset)
	}
	return damaged(fr.Offset, "a %s inside a transaction", fr.Kind)
}

// pull reads on to the next commit or close mark of a log. All that was its
// head before is replayed, so a file whose end is reached is replayed whole.
func (r *recovery) pull(l *shardLog) error {
	l.kind, l.tx, l.next = 0, l.tx[:0], wal.Commit{}
	for ; l.at < len(l.files); l.at++ {
		f := l.files[l.at]
		if l.sc == nil {
			l.sc, l.pos = wal.NewScanner(f.file, f.start, f.allocated, f.salt), positions{}
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
	own, before := false, -1
	for _, p := range c.Participants {
		o := r.log(p.Shard)
		if o == nil || o.ordinal <= before {
			return false
		}
		before = o.ordinal
		if o == l {
			own = p.End == end
		}
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

// claim notes that every commit up to lsn was synced. Where older commits end
// is of no interest any more.
func (r *recovery) claim(lsn LSN) {
	if lsn <= r.synced {
		return
	}
	r.synced = lsn
	drop := 0
	for drop < len(r.ends) && r.ends[drop].lsn <= lsn {
		r.ends[drop].file.synced = r.ends[drop].end
		drop++
	}
	r.ends = r.ends[drop:]
}
