package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A store that is open read-only reads beside the process that writes it, or when
// there is none.
//
// A state is read from exactly the files that the catalog named in the transaction
// that pinned them, up to the commit that the writer says is durable in LOCK. LOCK
// is read first: what is durable lies in files that were named before it was. When
// no process writes, or none has written the timeline yet, the log ends where
// recovery would cut it; what is found so is held against another look at LOCK, and
// read again when a writer came between.
//
// States only go forward, and each keeps its files as long as somebody has it.
// Volatile tables are empty: their rows are in the writer's memory alone.
type reader struct {
	session   int64 // 0: nobody can write the directory, and nothing is registered
	immutable bool

	turn turns // held by whoever looks for a newer state

	// Guarded by turn.
	view     *view         // of the newest state
	old      []*view       // before it, that somebody may still read through
	pins     []catalog.Pin // that nothing is read by, and that could not be released yet
	seen     lockLook
	lock     vfs.File  // LOCK, for quick looks; nil until there is one
	buf      []byte    // of quick looks
	looked   time.Time // when seen was more than a quick look
	acquired time.Time // when the catalog was looked at

	idle sync.WaitGroup // the loop that lets go of old views
}

const (
	// lookEvery is how long LOCK unchanged is taken for nothing new: it does not tell
	// when its holder ends.
	lookEvery = time.Second
	// repinEvery is how long a pin is kept although the head has moved on.
	repinEvery = 5 * time.Second
	// stepTries is how often a state is read anew because a writer came between,
	// stepPause how long is waited before.
	stepTries = 50
	stepPause = 2 * time.Millisecond
)

// openReader opens a store read-only. It refuses with an error of the catalog what only
// a writer can bring into order: a store that needs a migration or whose creation was
// interrupted, and with ErrUnwritable a directory that it can neither write nor take
// for unchanging.
func openReader(ctx context.Context, o Options) (_ *Store, err error) {
	s := newStore(o, newHome(o.FS))
	rd := &reader{turn: newTurns()}
	s.reader = rd
	defer func() {
		if err != nil {
			err = errors.Join(err, s.endReader(context.WithoutCancel(ctx)))
		}
	}()
	if err := refuseBackup(o.Dir); err != nil {
		return nil, err
	}
	if err := s.findCatalog(); err != nil {
		return nil, err
	}
	if err := s.home.claim(ctx, s, false); err != nil {
		return nil, err
	}
	if rd.immutable, err = s.immutable(); err != nil {
		return nil, err
	}
	s.cat, err = catalog.Open(ctx, catalog.Options{
		Dir: o.Dir, ReadOnly: true, Pins: !rd.immutable, Immutable: rd.immutable, Now: o.Now, Fault: o.CatalogSeam,
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if s.lineage, err = s.cat.Lineage(ctx); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	s.id = s.cat.Info().Identity
	empty := emptyRoot(s.objects)
	s.durable.Store(empty)
	s.head.Store(empty)
	s.synced.Store(empty.mark())
	if err := s.step(ctx); err != nil {
		if state, serr := s.cat.StateOf(ctx, o.Timeline); serr == nil {
			if alone := s.refuseMetadata(&state); alone != nil {
				return nil, alone // a copy of the catalog, which explains err
			}
		}
		return nil, err
	}
	if _, err := s.settleCatchup(ctx, &rd.view.state); err != nil {
		return nil, err
	}
	s.settings = settingsOf(&rd.view.state)
	if n := len(rd.view.state.Shards); o.Shards != 0 && o.Shards != n {
		return nil, fmt.Errorf("%w: shards is %d, the store was made with %d", ErrShards, o.Shards, n)
	}
	rd.idle.Add(1)
	go s.letGoLoop()
	s.home.opened(s)
	return s, nil
}

// Refresh makes Durable and Head of a store that is open read-only the newest state
// that the writer has told to be durable. It costs one look at LOCK when there is none.
// Of any other store it does nothing.
func (s *Store) Refresh(ctx context.Context) error {
	rd := s.reader
	if rd == nil {
		return nil
	}
	select {
	case rd.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing: // who closes keeps the turn
		return ErrClosed
	}
	defer rd.turn.give()
	if err := s.closed(); err != nil {
		return err
	}
	if rd.unchanged(s.fs, s.opts.Now()) {
		return nil
	}
	return s.step(ctx)
}

// unchanged reports that a quick look at LOCK shows what the last look did, not long
// ago.
func (rd *reader) unchanged(fs vfs.FS, now time.Time) bool {
	if age := now.Sub(rd.looked); age < 0 || age >= lookEvery || !rd.seen.whole {
		return false
	}
	if rd.lock == nil {
		f, err := fs.OpenRead(lockName)
		if err != nil {
			return false
		}
		rd.lock = f
	}
	if n := len(rd.seen.contents) + 1; len(rd.buf) < n {
		rd.buf = make([]byte, 2*n)
	}
	n, _ := rd.lock.ReadAt(rd.buf, 0) // an error is one of the next look, too
	return string(rd.buf[:n]) == rd.seen.contents
}

// letGo closes old views that nobody reads through any more and releases their pins.
// What fails is tried again: the pin stays until then. The caller has the turn.
func (s *Store) letGo(ctx context.Context) {
	rd := s.reader
	rd.old = slices.DeleteFunc(rd.old, func(v *view) bool {
		if !v.over() {
			return false
		}
		_ = v.close() // its files were only read
		rd.pins = append(rd.pins, v.pin)
		return true
	})
	rd.pins = slices.DeleteFunc(rd.pins, func(pin catalog.Pin) bool {
		err := s.unpin(ctx, pin)
		if err != nil {
			s.event(Event{Kind: EventBackgroundFailed, Err: err})
		}
		return err == nil || errors.Is(err, catalog.ErrNotFound)
	})
	s.histories.reap()
}

// letGoLoop lets go of what nobody reads while nothing is looked for.
func (s *Store) letGoLoop() {
	rd := s.reader
	defer rd.idle.Done()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
		select {
		case rd.turn <- struct{}{}:
			s.letGo(s.untilClose)
			rd.turn.give()
		default: // whoever has it does so
		}
	}
}

// closeReader ends the reading and with it the session and its pins.
func (s *Store) closeReader() error {
	s.mu.Lock()
	if s.closed() != nil {
		s.mu.Unlock()
		return nil
	}
	close(s.closing)
	s.mu.Unlock()
	s.endWork()
	s.jobs.running.Wait()
	s.reader.idle.Wait()
	return s.endReader(context.Background())
}

// endReader closes whatever is open.
func (s *Store) endReader(ctx context.Context) error {
	rd := s.reader
	rd.turn.take() // for ever
	rd.drop()
	var errs []error
	for _, v := range rd.old {
		errs = append(errs, v.close())
	}
	rd.old = nil
	errs = append(errs, s.histories.close())
	if rd.lock != nil {
		errs = append(errs, rd.lock.Close())
	}
	if rd.session != 0 {
		if err := s.cat.CloseSession(ctx, rd.session); err != nil {
			errs = append(errs, fmt.Errorf("engine: closing the session: %w", err))
		}
	}
	return errors.Join(append(errs, s.abandon(ctx))...)
}

// Immutable reports whether the store is open read-only in a directory that cannot be
// written, so that nothing there changes.
func (s *Store) Immutable() bool { return s.reader != nil && s.reader.immutable }

// ErrUnwritable: a directory that cannot be written can be read only while nobody
// writes it, and all its catalog is in one file.
var ErrUnwritable = errors.New("engine: the directory cannot be written, and its store is not at rest")

// writable is what a file system knows of the rights on its files. One that does not
// say lets them be written.
type writable interface{ Writable(name string) bool }

// immutable reports whether the directory cannot be written. Then nothing can be
// registered there: the files must not change, and SQLite would not see what is in its
// write-ahead log.
func (s *Store) immutable() (bool, error) {
	w, asks := s.fs.(writable)
	if !asks || w.Writable(".") && w.Writable(catalog.FileName) {
		return false, nil
	}
	look, err := s.lookAtLock()
	if err != nil {
		return false, err
	}
	if look.held {
		return false, fmt.Errorf("%w: a process has it open for writing: give this one the right to write the directory, or close the other", ErrUnwritable)
	}
	log := catalog.FileName + "-wal"
	switch info, err := vfs.OS(s.opts.Dir).Stat(log); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, fmt.Errorf("engine: %w", err)
	case info.Size > 0:
		return false, fmt.Errorf("%w: %s holds what its last process left: open the store once where it can be written, and close it", ErrUnwritable, log)
	}
	return true, nil
}
