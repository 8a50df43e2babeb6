package engine

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// recovery is the replay of the log at open, in four steps:
//
//  1. read: generations are scanned in order. Frames reach the replay only when
//     the commit behind them is intact.
//  2. cut: at the first commit that is not whole, n, the log ends, unless
//     anything intact behind the hole claims that n was synced. Then the file is
//     damaged, and nothing is changed.
//  3. repair: each file is truncated to the cut, what lies behind the last LSN
//     known to be synced is written again, files and directories are synced.
//  4. finish: files that were reserved and not made are made, generations that
//     were left behind are sealed.
//
// Nothing is appended before step 3 is complete, and a failure of any step
// refuses the open. Steps 3 and 4 may be interrupted anywhere: they are done
// again by the next open, and no commit that step 1 would find is taken away.
type recovery struct {
	s      *Store
	replay *replay
	files  []*logFile // to be replayed, in log order
	unborn []*logFile
	last   LSN // last commit replayed
	synced LSN // highest LSN that anything intact says was synced
	limit  LSN // last commit to replay, 0 for all there are
	ends   []commitEnd
	read   int64
	sizes  tableBytes
}

// logFile is a generation during recovery.
type logFile struct {
	*generation
	cat     catalog.Generation
	end     int64     // behind the last frame that stays
	stop    wal.Stop  // where and why the scan ended
	dropped int64     // where what is dropped ends, 0 when nothing was looked for
	seal    *wal.Seal // its footer
	synced  int64     // everything before was synced when a later frame was written
}

func (f *logFile) sealed() bool { return f.cat.State == catalog.GenerationSealed }

// commitEnd is where a commit ends.
type commitEnd struct {
	lsn  LSN
	file *logFile
	end  int64
}

// recover brings the store to the state its files hold.
func (s *Store) recover(ctx context.Context, state *catalog.State) error {
	r, err := s.scan(state)
	if err != nil {
		return err
	}
	root, err := r.replay.root()
	if err != nil {
		return corruptIn(r.lastPath(), 0, err)
	}
	s.durable.Store(root)
	s.head.Store(root)
	s.stats.RecoveredBytes = r.read
	r.sizes.addTo(s.logBytes)
	if err := s.removeStrays(); err != nil {
		return err
	}
	if err := r.repair(); err != nil {
		return err
	}
	if err := r.finish(ctx, state.Shards[0].CurrentGeneration); err != nil {
		return err
	}
	s.event(Event{Kind: EventRecovered, LSN: root.lsn, Bytes: r.read})
	return nil
}

// scan replays the log and changes nothing.
func (s *Store) scan(state *catalog.State) (*recovery, error) {
	shard := state.Shards[0]
	s.shard, s.epoch = uint64(shard.ID), uint64(shard.WriterEpoch)+1
	r := &recovery{s: s, replay: newReplay(emptyRoot())}
	for _, c := range state.Generations {
		g := newGeneration(c)
		s.gens = append(s.gens, g)
		f := &logFile{generation: g, cat: c}
		switch {
		case c.State == catalog.GenerationCollected, c.Generation < shard.ReplayFrom:
			g.info = sealedInfo(g.info, &c)
		case c.Generation > shard.CurrentGeneration || shard.WriterEpoch == 0:
			// The catalog names a generation current only after its file is
			// synced, and no open has ended before the first epoch.
			r.unborn = append(r.unborn, f)
		default:
			r.files = append(r.files, f)
		}
	}
	return r, r.scan(uint64(shard.WriterEpoch))
}

func (r *recovery) lastPath() string {
	if n := len(r.files); n > 0 {
		return r.files[n-1].path
	}
	return ""
}

// scan opens and replays the files up to the cut.
func (r *recovery) scan(epoch uint64) error {
	before := uint64(0)
	for _, f := range r.files {
		if err := r.s.open(f.generation, r.s.fs.Open); err != nil {
			return err
		}
		f.end = f.start
		switch {
		case f.epoch > epoch:
			return &CorruptError{File: f.path, Reason: fmt.Sprintf("written at epoch %d, the catalog knows %d: the catalog is older than the log", f.epoch, epoch)}
		case f.epoch < before:
			return &CorruptError{File: f.path, Reason: fmt.Sprintf("writer epoch %d follows epoch %d", f.epoch, before)}
		}
		before = f.epoch
	}
	for i, f := range r.files {
		r.replay.startGeneration()
		if err := r.file(f); err != nil {
			return err
		}
		cut, err := r.cutAt(i)
		if err != nil || cut {
			return err
		}
	}
	return nil
}

// file replays one file until its first frame that is not intact.
func (r *recovery) file(f *logFile) error {
	sc := wal.NewScanner(f.file, f.start, f.allocated, f.salt)
	var tx []wal.Frame // frames whose commit was not seen yet
	for {
		fr, ok := sc.Next()
		if !ok {
			break
		}
		var err error
		if r.limit != 0 && r.last == r.limit && fr.Kind != wal.KindSeal && fr.Kind != wal.KindCloseMark {
			break
		}
		switch fr.Kind {
		case wal.KindCommit:
			err = r.commit(f, tx, fr)
			tx = tx[:0]
		case wal.KindCloseMark:
			err = r.closeMark(f, len(tx), fr)
		case wal.KindSeal:
			err = r.seal(f, len(tx), fr)
		case wal.KindHeader:
			err = damaged(fr.Offset, "a second header")
		default:
			tx = append(tx, fr)
		}
		if err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		if f.seal != nil {
			break
		}
	}
	f.stop = sc.Stop()
	if f.seal != nil {
		f.stop = wal.Stop{Offset: f.end, Reason: wal.End}
	}
	f.dropped = f.stop.Offset
	if f.stop.Reason == wal.ReadFailed {
		return fmt.Errorf("engine: reading %s at %d: %w", f.path, f.stop.Offset, f.stop.Err)
	}
	r.read += f.stop.Offset
	if f.sealed() {
		return f.checkSealed()
	}
	return nil
}

func (r *recovery) commit(f *logFile, tx []wal.Frame, fr wal.Frame) error {
	c, err := wal.DecodeCommit(fr, f.salt)
	if err != nil {
		return err
	}
	if len(c.Participants) != 1 || c.Participants[0].Shard != r.s.shard || c.Participants[0].End != uint64(fr.End()) {
		return damaged(fr.Offset, "commit %d names participants %v, its frame ends at %d of shard %d", c.LSN, c.Participants, fr.End(), r.s.shard)
	}
	if LSN(c.LSN) < f.least {
		return damaged(fr.Offset, "commit %d in a file that begins with %d", c.LSN, f.least)
	}
	for _, t := range tx {
		if err := r.apply(t); err != nil {
			return err
		}
		r.sizes.frame(t.Kind, []byte(t.Payload[:min(len(t.Payload), binary.MaxVarintLen64)]), t.End()-t.Offset)
	}
	if err := r.replay.commit(c, fr.Offset); err != nil {
		return err
	}
	r.last, f.end, f.marked = LSN(c.LSN), fr.End(), false
	f.info.committed(r.last, c.Records, f.end)
	r.claim(LSN(c.SyncedLSN))
	r.ends = append(r.ends, commitEnd{r.last, f, f.end})
	return nil
}

func (r *recovery) apply(fr wal.Frame) error {
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

func (r *recovery) closeMark(f *logFile, open int, fr wal.Frame) error {
	m, err := wal.DecodeCloseMark(fr, f.salt)
	if err != nil {
		return err
	}
	if open > 0 || LSN(m.LSN) != r.last {
		return damaged(fr.Offset, "close mark of LSN %d behind commit %d and %d open records", m.LSN, r.last, open)
	}
	r.claim(LSN(m.LSN))
	f.end, f.marked = fr.End(), true
	return nil
}

func (r *recovery) seal(f *logFile, open int, fr wal.Frame) error {
	m, err := wal.DecodeSeal(fr)
	if err != nil {
		return err
	}
	if open > 0 || LSN(m.LastLSN) != r.last || f.info.LastLSN == 0 {
		return damaged(fr.Offset, "footer of LSN %d behind commit %d and %d open records", m.LastLSN, r.last, open)
	}
	r.claim(LSN(m.LastLSN))
	f.seal, f.end = &m, fr.End()
	f.info.Bytes = f.end
	return nil
}

// checkSealed holds a file against what the catalog recorded when it was
// sealed. Such a file was synced as a whole: any bad frame is damage.
func (f *logFile) checkSealed() error {
	if f.seal == nil {
		reason := "no footer in a sealed file"
		if err := f.stop.Error(); err != nil {
			return corruptIn(f.path, f.stop.Offset, err)
		}
		return &CorruptError{File: f.path, Offset: f.stop.Offset, Reason: reason}
	}
	want := sealedInfo(f.info, &f.cat)
	if f.info.State = catalog.GenerationSealed; f.info != want || f.allocated != f.cat.ByteExtent || f.seal.Digest != f.cat.IntegrityDigest {
		return &CorruptError{File: f.path, Offset: f.end, Reason: fmt.Sprintf(
			"sealed as %d bytes with %d records in LSN %d to %d, the file has %d bytes with %d in %d to %d (digest %x, sealed %x)",
			want.Bytes, want.Records, want.FirstLSN, want.LastLSN, f.allocated, f.info.Records, f.info.FirstLSN, f.info.LastLSN,
			f.seal.Digest, f.cat.IntegrityDigest)}
	}
	return nil
}
