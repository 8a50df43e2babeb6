package engine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// merge replays the commits of all shards in the order of their LSNs, up to
// the first one that is not whole.
func (r *recovery) merge() error {
	if err := r.loadBase(); err != nil {
		return err
	}
	return r.goOn()
}

// goOn is merge behind what was replayed.
func (r *recovery) goOn() error {
	for _, l := range r.shards {
		if err := r.pull(l); err != nil {
			return err
		}
	}
	for r.last < r.limit {
		if r.ended != nil {
			if err := r.ended(); err != nil {
				return err
			}
		}
		whole, err := r.gather()
		if err != nil {
			return err
		}
		if !whole {
			if skipped, err := r.skipUndone(); err != nil {
				return err
			} else if skipped {
				continue
			}
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
	at := 0 // both lists are in the order of ordinals
	for _, p := range lead.next.Participants {
		for !r.shards[at].is(p.Shard) {
			at++
		}
		l := r.shards[at]
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
		r.replay.pos, r.replay.slot = &l.pos, f.slot
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
	if lost := r.replay.end(r.last); lost != (row.Sum{}) {
		l := r.parts[0] // a schema change is in the first shard
		l.files[l.at].lost = l.files[l.at].lost.Add(lost)
	}
	if err := r.compareHead(); err != nil {
		return err
	}
	for _, l := range r.parts {
		r.claim(LSN(l.next.SyncedLSN))
		if err := r.pull(l); err != nil {
			return err
		}
	}
	return r.passMarks()
}

func (r *recovery) frame(fr wal.Frame) error {
	r.replay.size = uint32(fr.End() - fr.Offset)
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
