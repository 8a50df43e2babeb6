package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tidemarkdb/tidemark/catalog"
)

// chores are what is done off the write lock: by the housekeeper, one at a
// time, what somebody may be waiting for (the file of the next generation, the
// projection of the schema into the catalog, blocks of ids); by the sealer what
// nobody waits for. Guarded by Store.mu.
type chores struct {
	work  sync.Cond // the housekeeper waits on it; its lock is Store.mu
	seals sync.Cond // the sealer waits on it; its lock is Store.mu
	stop  bool

	want    *readiness    // next generations are wanted
	sealing []*generation // rotated away from, in order
	stuck   error         // why sealing the first of them failed; a checkpoint or the next open tries again
	sealed  chan struct{} // closed, and made anew, after each attempt and by a poison
	refill  bool          // the id allocator runs low

	projected *Schema // what the catalog was last told
	// awaiting holds, per commit of a schema change, what its committer waits
	// for: the attempt to project it.
	awaiting map[LSN]*awaited
}

// readiness is how a writer waits for the next generations' files.
type readiness struct {
	done chan struct{}
	err  error
}

// prepareAhead asks for the next generations' files when an active one is half
// full. The caller holds the write lock and has just appended.
func (s *Store) prepareAhead() {
	a := &s.log
	if a.asked {
		return
	}
	for _, sh := range a.parts {
		if sh.gen.tail < a.limit/2 {
			continue
		}
		a.asked = true
		s.mu.Lock()
		if len(s.unready()) > 0 {
			s.chores.wantNext()
		}
		s.mu.Unlock()
		return
	}
}

func (c *chores) wantNext() *readiness {
	if c.want == nil {
		c.want = &readiness{done: make(chan struct{})}
		c.work.Signal()
	}
	return c.want
}

// used reports whether a shard has to go to another file when all of them do:
// an active generation without a commit stays. The caller holds mu.
func (sh *shard) used() bool { return sh.gen.info.LastLSN != 0 }

// unready lists the shards that could not rotate now: their active generation
// is used and no other file is ready. The caller holds mu.
func (s *Store) unready() (list []*shard) {
	for _, sh := range s.shards {
		if sh.used() && len(sh.ready) == 0 {
			list = append(list, sh)
		}
	}
	return list
}

// rotate lets all shards go on in their next generations, or returns what to
// wait for. The caller holds the write lock and no transaction is open: the
// commits up to now and the ones to come are divided between the files of all
// shards alike, and none is ever split.
func (s *Store) rotate() *readiness {
	s.mu.Lock()
	c := &s.chores
	if len(s.unready()) > 0 {
		defer s.mu.Unlock()
		return c.wantNext()
	}
	s.takeCut()
	var begun []*generation
	for _, sh := range s.shards {
		if !sh.used() {
			continue
		}
		c.sealing = append(c.sealing, sh.gen)
		s.pub.waiting = append(s.pub.waiting, sh.gen)
		sh.gen, sh.ready = sh.ready[0], sh.ready[1:]
		begun = append(begun, sh.gen)
	}
	s.pipe.hurry()   // nothing is sealed before it is synced
	c.seals.Signal() // the old ones may be synced already
	s.stats.Rotations++
	s.mu.Unlock()
	s.log.asked = false
	for _, g := range begun {
		s.event(Event{Kind: EventRotated, Generation: g.number, File: g.path, LSN: s.head.Load().lsn + 1})
	}
	return nil
}

// published wakes who has something to do now that the log is synced up to r.
func (c *chores) published(r *mark) {
	if c.projected != r.schema {
		c.work.Signal()
	}
	if c.sealable(r.lsn) != nil {
		c.seals.Signal()
	}
}

// abandon lets go of everybody who waits: after a poison nothing more is done.
func (c *chores) abandon(cause error) {
	if c.want != nil {
		c.want.err = cause
		close(c.want.done)
		c.want = nil
	}
	c.attempted()
}

// attempted wakes who waits for seals.
func (c *chores) attempted() {
	close(c.sealed)
	c.sealed = make(chan struct{})
}

// housekeep is the housekeeper's loop. It leaves when it is told to stop and
// nothing is left that has to be done.
func (s *Store) housekeep() {
	defer s.loops.Done()
	ctx := context.Background()
	for {
		chore := s.nextChore()
		if chore == nil {
			return
		}
		if err := chore(ctx); err != nil {
			s.choreFailed(err)
		}
	}
}

// choreFailed poisons the engine after a failed sync and tells of any other
// failure, which the next attempt or the next open makes good.
func (s *Store) choreFailed(err error) {
	var lost *syncError
	if errors.As(err, &lost) {
		s.poison(err)
		return
	}
	s.event(Event{Kind: EventBackgroundFailed, Err: err})
}

// nextChore waits for the most urgent thing to do: what somebody waits for
// comes first. nil means stop.
func (s *Store) nextChore() func(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.chores
	for {
		if s.pipe.cause != nil {
			if c.stop {
				return nil
			}
			c.work.Wait()
			continue
		}
		synced := s.synced.Load()
		switch {
		case c.want != nil && !c.stop:
			return s.makeNext
		case c.projected != synced.schema:
			return func(ctx context.Context) error { return s.project(ctx, synced) }
		case c.refill && !c.stop:
			c.refill = false
			return s.ids.refill
		}
		if c.stop {
			return nil
		}
		c.work.Wait()
	}
}

// makeNext makes the files of the next generations and tells the catalog, in
// the order that recovery relies on: reserved → file and header synced → named
// current → appended to.
func (s *Store) makeNext(ctx context.Context) error {
	s.mu.Lock()
	shards := s.unready()
	s.mu.Unlock()
	gens, err := s.born(ctx, shards)
	if errors.Is(err, catalog.ErrPoisoned) || errors.Is(err, catalog.ErrOutcomeUnknown) {
		// The catalog takes no more writes in this process, so the log can
		// never go on in another file: only a reopen helps.
		s.poison(err)
	} else if err != nil {
		s.choreFailed(err)
	}
	s.mu.Lock()
	c := &s.chores
	for i, g := range gens {
		shards[i].ready = append(shards[i].ready, g)
	}
	if c.want != nil { // not abandoned by a poison
		c.want.err = err
		close(c.want.done)
		c.want = nil
	}
	s.mu.Unlock()
	for _, g := range gens {
		s.event(Event{Kind: EventGenerationReady, Generation: g.number, File: g.path})
	}
	return nil
}

// born reserves the next generations of some shards, makes their files and
// names them current, all or none.
func (s *Store) born(ctx context.Context, shards []*shard) (gens []*generation, err error) {
	if len(shards) == 0 {
		return nil, nil
	}
	names := make([]catalog.ShardGeneration, len(shards))
	s.mu.Lock()
	for i, sh := range shards {
		names[i] = catalog.ShardGeneration{ShardID: int64(sh.id), Generation: int64(sh.newest + 1)}
	}
	s.mu.Unlock()
	defer func() {
		if err == nil {
			return
		}
		for _, g := range gens {
			_ = g.file.Close() // the first cause counts
		}
		gens = nil
	}()
	reserved, err := s.cat.ReserveGenerations(ctx, names...)
	if err != nil {
		return nil, withFull(fmt.Errorf("engine: reserving generation %d: %w", names[0].Generation, err))
	}
	for i, c := range reserved {
		g := newGeneration(c)
		if err := s.make(g, shards[i].epoch, s.synced.Load().lsn+1); err != nil {
			return gens, withFull(err)
		}
		gens = append(gens, g)
	}
	if err := s.cat.SetCurrentGenerations(ctx, names...); err != nil {
		return gens, withFull(fmt.Errorf("engine: naming generation %d current: %w", names[0].Generation, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gens = append(s.gens, gens...)
	for _, g := range gens {
		s.objects.add(g)
	}
	for i, sh := range shards {
		sh.newest = gens[i].number
	}
	return gens, nil
}
