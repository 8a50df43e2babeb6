package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// lockName is the file whose lock makes a process the store's only writer.
const lockName = "LOCK"

// Store is an open timeline of a store. All methods may be called by any goroutine.
type Store struct {
	opts Options
	*home
	shards []*shard // by ordinal

	// durable is what readers see, head what the next transaction starts from.
	// Both only move forward, except that a poison takes head back to durable.
	// synced is what no stop of the system takes away. With SyncFull it is where
	// durable is; otherwise durable is where head is, and synced follows.
	durable atomic.Pointer[root]
	head    atomic.Pointer[root]
	synced  atomic.Pointer[mark]

	wl   writeLock
	log  appender    // guarded by wl
	inTx atomic.Bool // a transaction has wl; set and cleared under it
	ids  idBlocks

	noticed     bool             // EventEphemeral was sent; guarded by wl
	outOfMemory map[TableID]bool // EventMemoryFull was sent; guarded by wl

	objects *objects // the log's files, as rows of keys tables are read from them

	// mu guards what follows. It is held for moments only, never across I/O.
	mu     sync.Mutex
	pipe   pipeline
	chores chores
	pub    publisher
	jobs   jobs
	gens   []*generation // all, those of a shard in log order
	stats  Metrics
	told   LSN // what LOCK says
	// logBytes counts the row frames of each table, dropped ones included.
	logBytes  map[TableID]int64
	rowBytes  int64       // sum of logBytes
	brakes    brakes      // of writers
	base      []*baseFile // the files that the head begins with, see base.go
	replaced  []replaced  // files that only old states may be read from
	compactor compactor
	spoiled   map[int64]bool // segments that were found damaged, by object

	reader *reader // of a store that is open read-only, else nil

	restoring map[uint64]bool // files of the state that is being restored, if one is

	histories histories // states of branch points that are read

	publishing turns // held by whoever changes the head in the catalog; taken before mu

	ddls     atomic.Int64 // commits in chores.awaiting
	poisoned chan struct{}
	closing  chan struct{}
	// untilClose ends when closing is closed, by endWork.
	untilClose context.Context
	endWork    context.CancelFunc
	syncing    sync.WaitGroup // the syncer
	loops      sync.WaitGroup // housekeeper, sealer and compactor
}

// Open opens the store in o.Dir for reading and writing, creates it if there
// is none and o.Create is set, and recovers what a crash left. It refuses with
// ErrLocked while another process has it open, and with a *CorruptError when
// bytes are not what was once acknowledged.
func Open(ctx context.Context, o Options) (_ *Store, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Memory {
		return openMemory(o.withDefaults()), nil
	}
	o = o.withDefaults()
	if o.ReadOnly {
		return openReader(ctx, o)
	}
	s := newStore(o, newHome(o.FS))
	defer func() {
		if err != nil {
			err = errors.Join(err, s.abandon(ctx))
		}
	}()
	if err := s.takeLock(); err != nil {
		return nil, err
	}
	state, err := s.openCatalog(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.refuseMetadata(&state); err != nil {
		return nil, err
	}
	if err := s.start(ctx, &state); err != nil {
		return nil, err
	}
	return s, nil
}

// OpenTimeline opens another timeline of the store, in the same process and beside
// this one: what one does, the other does not see. Dir, FS, Create and Shards of o are
// this store's. ErrTimelineOpen refuses one that is open already; one that is open only
// for a piece of work is waited for, as long as ctx lasts.
func (s *Store) OpenTimeline(ctx context.Context, name string, o Options) (*Store, error) {
	return s.openTimeline(ctx, name, o, false)
}

func (s *Store) openTimeline(ctx context.Context, name string, o Options, brief bool) (_ *Store, err error) {
	if err := s.refusal(); err != nil {
		return nil, err
	}
	if s.opts.Memory {
		return nil, ErrInMemory
	}
	o.Dir, o.FS, o.Create, o.Shards, o.Timeline, o.CatalogSeam = s.opts.Dir, s.opts.FS, false, 0, name, s.opts.CatalogSeam
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t := newStore(o.withDefaults(), s.home)
	if err := s.home.claim(ctx, t, brief); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.abandon(ctx))
		}
	}()
	if _, err := s.cat.ResolveTimeline(ctx, name); err != nil { // it may have been closed beside this one
		return nil, fmt.Errorf("engine: %w", err)
	}
	state, err := s.cat.StateOf(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if err := t.start(ctx, &state); err != nil {
		return nil, err
	}
	return t, nil
}

// start recovers the timeline and lets it be written.
func (s *Store) start(ctx context.Context, state *catalog.State) error {
	if err := s.recover(ctx, state); err != nil {
		return err
	}
	first, err := s.cat.ReserveIDs(ctx, idBlock)
	if err != nil {
		return fmt.Errorf("engine: reserving ids: %w", err)
	}
	s.ids = idBlocks{cat: s.cat, low: s.lowOnIDs, next: uint64(first), end: uint64(first) + idBlock, refillable: true}
	if err := s.project(ctx, s.synced.Load()); err != nil {
		// The log is what counts; the next open tries again.
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
	s.publishAtOpen(ctx)
	s.sweepAtOpen(ctx)
	s.writeLock(s.synced.Load().lsn)
	s.syncing.Add(1)
	s.loops.Add(3)
	go s.syncLoop()
	go s.housekeep()
	go s.sealLoop()
	go s.compactLoop()
	s.mu.Lock()
	s.compactIfDue()
	s.behindAtOpen(state)
	s.mu.Unlock()
	s.home.opened(s)
	return nil
}

// newStore is a store with nothing open.
func newStore(o Options, h *home) *Store {
	s := &Store{
		opts: o, home: h, wl: newWriteLock(),
		poisoned: make(chan struct{}), closing: make(chan struct{}), logBytes: map[TableID]int64{},
	}
	s.objects = newObjects(o.FS)
	s.objects.poisoned = s.Poisoned
	s.log.limit = o.GenerationSize
	s.pipe.work.L, s.chores.work.L, s.chores.seals.L = &s.mu, &s.mu, &s.mu
	s.pipe.gathering = newBatch()
	s.chores.awaiting = map[LSN]*awaited{}
	s.chores.sealed = make(chan struct{})
	s.publishing, s.histories.loading = newTurns(), newTurns()
	s.untilClose, s.endWork = context.WithCancel(context.Background())
	s.compactor = compactor{
		auto: !o.NoCompaction && !o.Memory, limits: compactLimits{o.CompactFloor, o.CompactRatio, o.CompactGarbage},
		wake: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		retry: indexRetry{first: sweepEvery, most: sweepMost},
	}
	return s
}

// takeLock makes the directory when it may, and becomes its only writer.
func (s *Store) takeLock() error {
	if err := refuseBackup(s.opts.Dir); err != nil {
		return err
	}
	if s.opts.Create {
		if err := makeDir(s.opts.Dir); err != nil {
			return err
		}
	} else if err := s.findCatalog(); err != nil {
		return err
	}
	lock, err := s.fs.Lock(lockName)
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	if err != nil {
		return fmt.Errorf("engine: locking: %w", err)
	}
	s.lock = lock
	return s.home.claim(context.Background(), s, false) // the only one yet
}

// findCatalog refuses a directory without a catalog before anything is made in
// it: with ErrNotStore, or, when files of a log are there, as damage.
func (s *Store) findCatalog() error {
	_, err := vfs.OS(s.opts.Dir).Stat(catalog.FileName)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: %w", ErrNotStore, s.opts.Dir, err)
	}
	if err := catalog.RefuseLost(s.opts.Dir); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return fmt.Errorf("%w: %s has no %s", ErrNotStore, s.opts.Dir, catalog.FileName)
}

// makeDir makes the store's directory, whose parent must exist, durably.
func makeDir(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if err := vfs.OS(abs).Mkdir("."); err != nil {
		return fmt.Errorf("engine: making the directory %s, whose parent must exist: %w", dir, err)
	}
	if parent := filepath.Dir(abs); parent != abs {
		// Not every parent may be opened; then its entry is as durable as the
		// system makes it by itself.
		if err := vfs.OS(parent).SyncDir("."); err != nil && !errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("engine: %w", &syncError{parent, err})
		}
	}
	return nil
}

func (s *Store) openCatalog(ctx context.Context) (catalog.State, error) {
	cat, err := catalog.Open(ctx, catalog.Options{
		Dir: s.opts.Dir, Create: s.opts.Create, Now: s.opts.Now, Fault: s.opts.CatalogSeam,
	})
	if err != nil {
		return catalog.State{}, fmt.Errorf("engine: %w", err)
	}
	s.cat = cat
	var state catalog.State
	if _, err := cat.ResolvePublications(ctx); err != nil {
		return catalog.State{}, fmt.Errorf("engine: %w", err)
	}
	if _, err := cat.AbandonJobs(ctx); err != nil {
		return catalog.State{}, fmt.Errorf("engine: %w", err)
	}
	if s.opts.Create {
		state, err = cat.Initialize(ctx, catalog.Creation{Shards: s.opts.Shards, GenerationSize: s.opts.GenerationSize, IndexCatchup: s.opts.IndexCatchup})
	}
	if err == nil && (!s.opts.Create || s.opts.Timeline != catalog.MainTimeline) {
		state, err = cat.StateOf(ctx, s.opts.Timeline)
	}
	if err != nil {
		return catalog.State{}, fmt.Errorf("engine: %w", err)
	}
	if state, err = s.settleCatchup(ctx, &state); err != nil {
		return catalog.State{}, err
	}
	if n := len(state.Shards); s.opts.Shards != 0 && s.opts.Shards != n {
		return catalog.State{}, fmt.Errorf("%w: shards is %d, the store was made with %d", ErrShards, s.opts.Shards, n)
	}
	if s.lineage, err = cat.Lineage(ctx); err != nil {
		return catalog.State{}, fmt.Errorf("engine: %w", err)
	}
	s.id, s.settings = cat.Info().Identity, settingsOf(&state)
	return state, nil
}

// Durable returns the newest state that readers see: with SyncFull the newest
// synced one, otherwise the newest one written. It never waits.
func (s *Store) Durable() *Snapshot { return s.durable.Load().snapshot() }

// Head returns the newest appended state, which a crash may take back as long
// as it is not durable.
func (s *Store) Head() *Snapshot { return s.head.Load().snapshot() }

// closed returns ErrClosed after Close has begun.
func (s *Store) closed() error {
	select {
	case <-s.closing:
		return ErrClosed
	default:
		return nil
	}
}

// refusal is why no transaction can start, or nil.
func (s *Store) refusal() error {
	if err := s.closed(); err != nil {
		return err
	}
	if s.reader != nil {
		return ErrReadOnly
	}
	return s.Poisoned()
}

// closePoll is how often Close looks for the write lock while no transaction has
// it.
const closePoll = 100 * time.Microsecond

// Close waits for what was appended to be durable, leaves close marks and
// releases everything. It refuses with ErrBusy while a transaction is open, and
// ends a running Check.
// Closing a poisoned store writes nothing and returns the poison. Snapshots
// stay readable after Close, but for rows of resident=keys tables, which it waits
// for and then refuses with ErrClosed. A second Close does nothing.
func (s *Store) Close() error {
	if s.reader != nil {
		return s.closeReader()
	}
	for !s.wl.tryAcquire() {
		select {
		case <-s.closing:
			return nil
		default:
		}
		if s.inTx.Load() {
			return ErrBusy
		}
		// A checkpoint has it, or a Begin or another Close that has not come to
		// its end: for moments.
		time.Sleep(closePoll)
	}
	// The write lock is kept for ever: no transaction starts after this.
	s.endWork()
	s.mu.Lock()
	close(s.closing)
	s.mu.Unlock()
	s.jobs.running.Wait()
	s.stopLoops()
	err := s.Poisoned()
	if err == nil {
		err = s.writeCloseMarks()
	}
	if err == nil {
		s.sweepAtClose(context.Background())
	}
	return errors.Join(err, s.abandon(context.Background()))
}

// stopLoops lets the goroutines finish: every commit that was appended is
// durable afterwards, or the engine is poisoned. The syncer ends first: what its
// last batch published is the others' to see, and a schema change waits for its
// projection.
func (s *Store) stopLoops() {
	s.mu.Lock()
	s.pipe.stop = true
	if s.pipe.delay != nil {
		s.pipe.delay.Stop()
	}
	s.pipe.work.Signal()
	s.mu.Unlock()
	s.syncing.Wait()
	s.mu.Lock()
	s.chores.stop = true
	s.chores.work.Signal()
	s.chores.seals.Signal()
	s.mu.Unlock()
	s.loops.Wait()
}

// writeCloseMarks lets the next open know that every commit was synced. A log
// without room for a mark, or with one at its end already, gets none.
func (s *Store) writeCloseMarks() error {
	lsn := s.head.Load().lsn
	var marked []*generation
	for _, sh := range s.shards {
		g := sh.gen
		if g.marked || g.info.LastLSN == 0 {
			continue
		}
		b := &sh.builder
		b.Reset(g.salt, g.tail, b.Bytes())
		if err := b.CloseMark(wal.CloseMark{LSN: uint64(lsn), WallNanos: s.opts.Now().UnixNano()}); err != nil {
			return err
		}
		if err := g.reserve(int64(b.Len()), s.log.limit); err != nil {
			s.event(Event{Kind: EventBackgroundFailed, File: g.path, LSN: lsn, Err: err})
			continue
		}
		if err := g.append(b.Bytes()); err != nil {
			return err
		}
		marked = append(marked, g)
	}
	if len(marked) == 0 {
		return nil
	}
	return syncFiles(marked)
}

// abandon closes whatever is open and writes nothing to the log.
func (s *Store) abandon(ctx context.Context) error {
	s.endWork()
	errs := []error{s.histories.close(), s.objects.close()}
	for _, list := range [][]*generation{s.gens, generationsOf(s.base)} {
		for _, g := range list {
			if g.file != nil {
				errs = append(errs, g.file.Close())
				g.file = nil
			}
		}
	}
	return errors.Join(append(errs, s.home.leave(ctx, s))...)
}
