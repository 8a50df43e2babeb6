package engine

import (
	"context"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// recovery is the replay of the logs at open, in four steps:
//
//  1. read: the logs of all shards are read side by side. Commit n reaches the
//     replay only when it is intact in every shard that takes part in it.
//  2. cut: before the first commit that is not, all logs end, unless anything
//     intact in any of them claims that it was synced. Then a file is damaged,
//     and nothing is changed.
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
	base   []*baseLog        // the files the head begins with
	loads  *segmentLoads     // index segments that it is loaded with, nil for none
	from   LSN               // the commit they are the state of
	shards []*shardLog       // by ordinal
	last   LSN               // last commit replayed
	synced LSN               // highest LSN that anything intact says was synced
	limit  LSN               // last commit to replay
	head   *catalog.Timeline // the state the replay has to pass
	sealed LSN               // of that state, or of a history: what is in sealed files
	schema LSN               // of its schema
	ended  func() error      // asked before each commit, unless nil
	marks  int               // logs whose head is a close mark
	parts  []*shardLog       // that take part in the commit at hand
	lacks  *shardLog         // where the first commit that is not whole is missing, if that is known
	ends   []commitEnd
	tails  bool // the logs are read again behind what was read, see view.go
	read   int64
	sizes  tableBytes
}

// logFile is a generation during recovery.
type logFile struct {
	*generation
	cat     catalog.Generation
	end     int64      // behind the last frame that stays
	scanned bool       // up to the stop
	stop    wal.Stop   // where and why the scan ended
	behind  evidence   // intact behind end
	dropped int64      // where what is dropped ends
	seal    *wal.Seal  // its footer
	pos     *positions // of the rows in it, while another file is read behind a tail
	synced  int64      // everything before was synced when a later frame was written
}

func (f *logFile) sealed() bool { return f.cat.State == catalog.GenerationSealed }

// commitEnd is where a commit ends in one of its shards.
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
		return notMade(r.shards[0].lastPath(), err)
	}
	if err := root.checkLimits(); err != nil {
		return err
	}
	if err := s.checkBudget(root); err != nil {
		return err
	}
	s.durable.Store(root)
	s.synced.Store(root.mark())
	s.pub.head, s.compactor.since = state.Timeline, LSN(state.BaseLSN)
	s.head.Store(root)
	s.stats.RecoveredBytes = r.read
	s.rowBytes = r.sizes.addTo(s.logBytes)
	s.noteBase(root.live)
	if err := s.removeStrays(ctx); err != nil {
		return err
	}
	if err := r.repair(); err != nil {
		return err
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	r.collectUnpublished()
	s.event(Event{Kind: EventRecovered, LSN: root.lsn, Bytes: r.read})
	return nil
}

// scan replays the logs and changes nothing.
func (s *Store) scan(state *catalog.State) (*recovery, error) {
	r, err := s.openLog(state)
	if err != nil {
		return nil, err
	}
	if err := r.merge(); err != nil {
		return nil, err
	}
	return r, r.judge()
}

// openLog opens the files that hold a state of the catalog and the log behind it.
func (s *Store) openLog(state *catalog.State) (*recovery, error) {
	r := newRecovery(s, s.objects, len(state.Shards))
	for i, c := range state.Shards {
		sh := &shard{id: uint64(c.ID), ordinal: i, epoch: uint64(c.WriterEpoch) + 1}
		s.shards = append(s.shards, sh)
		r.shards[i].shard, r.shards[i].cat = sh, c
	}
	s.log.shards = s.shards
	if err := r.inherit(state.Inherited, state.ShardOrdinal); err != nil {
		return nil, err
	}
	for _, l := range r.shards {
		for _, f := range l.files {
			s.gens = append(s.gens, f.generation)
		}
	}
	for _, c := range state.Generations {
		l := r.log(uint64(c.ShardID))
		g := newGeneration(c)
		s.gens = append(s.gens, g)
		l.newest = g.number
		f := &logFile{generation: g, cat: c}
		g.native = sumOf(c.Fingerprint)
		switch {
		case c.State == catalog.GenerationCollected, c.Generation < l.cat.ReplayFrom && !c.InHead:
			g.info, g.gone = sealedInfo(g.info, &c), true
			g.info.State = c.State
			l.cut = max(l.cut, g.info.LastLSN)
		case c.Generation > l.cat.CurrentGeneration || l.cat.WriterEpoch == 0:
			// The catalog names a generation current only after its file is
			// synced, and no open has ended before the first epoch.
			l.unborn = append(l.unborn, f)
		default:
			l.files = append(l.files, f)
		}
	}
	for _, l := range r.shards {
		l.order()
		if err := l.open(s); err != nil {
			return nil, err
		}
	}
	if err := r.openBase(state); err != nil {
		return nil, err
	}
	r.useSegments(state.IndexState.Segments)
	r.passes(&state.Timeline)
	r.replay.budget, r.replay.source = s.opts.MemoryBudget, s.opts.BudgetSource
	return r, nil
}

func newRecovery(s *Store, o *objects, shards int) *recovery {
	r := &recovery{s: s, replay: newReplay(emptyRoot(o)), shards: make([]*shardLog, shards), limit: ^LSN(0)}
	for i := range r.shards {
		r.shards[i] = new(shardLog)
	}
	r.replay.places = func(table uint64, rowid int64) (*positions, string) {
		l := r.shards[shardOf(TableID(table), rowid, len(r.shards))]
		return &l.pos, l.lastPath()
	}
	return r
}

// log returns the log of a shard by the shard's id, nil when there is none.
func (r *recovery) log(id uint64) *shardLog {
	for _, l := range r.shards {
		if l.is(id) {
			return l
		}
	}
	return nil
}

// open opens the files of a shard and checks their headers.
func (l *shardLog) open(s *Store) error {
	before := uint64(0)
	for _, f := range l.files {
		how := s.fs.Open
		if f.sealed() || s.opts.ReadOnly {
			how = s.fs.OpenRead
		}
		if err := s.open(f.generation, how); err != nil {
			return err
		}
		s.objects.add(f.generation)
		if f.sealed() {
			s.objects.sealed(f.generation) // it is closed when the open ends
		}
		f.end = f.start
		if f.info.Shard != l.id {
			continue // of a shard with epochs of its own
		}
		switch {
		case f.epoch > uint64(l.cat.WriterEpoch):
			return &CorruptError{File: f.path, Reason: fmt.Sprintf("written at epoch %d, the catalog knows %d: the catalog is older than the log", f.epoch, l.cat.WriterEpoch)}
		case f.epoch < before:
			return &CorruptError{File: f.path, Reason: fmt.Sprintf("writer epoch %d follows epoch %d", f.epoch, before)}
		}
		before = f.epoch
	}
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
