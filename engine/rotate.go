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

	want    *readiness    // a next generation is wanted
	ready   []*generation // made, not yet in use, in order
	sealing []*generation // rotated away from, in order
	stuck   bool          // the first of sealing failed; the next open seals it
	refill  bool          // the id allocator runs low

	projected *Schema // what the catalog was last told
	// awaiting holds, per commit of a schema change, what its committer waits
	// for: the attempt to project it.
	awaiting map[LSN]chan struct{}
}

// readiness is how a writer waits for the next generation's file.
type readiness struct {
	done chan struct{}
	err  error
}

// prepareAhead asks for the next generation's file when the active one is half
// full. The caller holds the write lock.
func (s *Store) prepareAhead() {
	if a := &s.log; !a.asked && a.gen.tail >= a.limit/2 {
		a.asked = true
		s.mu.Lock()
		if len(s.chores.ready) == 0 {
			s.chores.wantNext()
		}
		s.mu.Unlock()
	}
}

func (c *chores) wantNext() *readiness {
	if c.want == nil {
		c.want = &readiness{done: make(chan struct{})}
		c.work.Signal()
	}
	return c.want
}

// rotate makes the next generation the active one, or returns what to wait
// for. The caller holds the write lock and is about to start a transaction:
// none is ever split between two generations.
func (s *Store) rotate() *readiness {
	s.mu.Lock()
	c := &s.chores
	if len(c.ready) == 0 {
		defer s.mu.Unlock()
		return c.wantNext()
	}
	next := c.ready[0]
	c.ready = c.ready[1:]
	c.sealing = append(c.sealing, s.log.gen)
	c.seals.Signal() // the old one may be durable already
	s.stats.Rotations++
	s.mu.Unlock()
	s.log.gen, s.log.asked = next, false
	s.event(Event{Kind: EventRotated, Generation: next.number, File: next.path, LSN: s.head.Load().lsn + 1})
	return nil
}

// published wakes who has something to do now that r is durable.
func (c *chores) published(r *root) {
	if c.projected != r.schema {
		c.work.Signal()
	}
	if c.sealable(r.lsn) != nil {
		c.seals.Signal()
	}
}

// sealable returns the oldest generation that nothing is appended to any more,
// if its last commit is durable.
func (c *chores) sealable(durable LSN) *generation {
	if c.stuck || len(c.sealing) == 0 || c.sealing[0].info.LastLSN > durable {
		return nil
	}
	return c.sealing[0]
}

// abandon lets go of everybody who waits: after a poison nothing more is done.
func (c *chores) abandon(cause error) {
	if c.want != nil {
		c.want.err = cause
		close(c.want.done)
		c.want = nil
	}
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
		durable := s.durable.Load()
		switch {
		case c.want != nil && !c.stop:
			return s.makeNext
		case c.projected != durable.schema:
			return func(ctx context.Context) error { return s.project(ctx, durable) }
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

// makeNext makes the file of the next generation and tells the catalog, in the
// order that recovery relies on: reserved → file and header synced → named
// current → appended to.
func (s *Store) makeNext(ctx context.Context) error {
	g, err := s.born(ctx, s.lastGeneration()+1)
	if errors.Is(err, catalog.ErrPoisoned) || errors.Is(err, catalog.ErrOutcomeUnknown) {
		// The catalog takes no more writes in this process, so the log can
		// never go on in another file: only a reopen helps.
		s.poison(err)
	} else if err != nil {
		s.choreFailed(err)
	}
	s.mu.Lock()
	c := &s.chores
	if err == nil {
		c.ready = append(c.ready, g)
		s.gens = append(s.gens, g)
	}
	if c.want != nil { // not abandoned by a poison
		c.want.err = err
		close(c.want.done)
		c.want = nil
	}
	s.mu.Unlock()
	if err == nil {
		s.event(Event{Kind: EventGenerationReady, Generation: g.number, File: g.path})
	}
	return nil
}

// born reserves a generation, makes its file and names it current.
func (s *Store) born(ctx context.Context, number uint64) (*generation, error) {
	c, err := s.cat.ReserveGeneration(ctx, int64(s.shard), int64(number))
	if err != nil {
		return nil, fmt.Errorf("engine: reserving generation %d: %w", number, err)
	}
	g := newGeneration(c)
	if err := s.make(g, s.durable.Load().lsn+1); err != nil {
		if isFull(err) {
			err = fmt.Errorf("%w: generation %d: %w", ErrFull, number, err)
		}
		return nil, err
	}
	if err := s.cat.SetCurrentGeneration(ctx, int64(s.shard), int64(number)); err != nil {
		_ = g.file.Close()
		return nil, fmt.Errorf("engine: naming generation %d current: %w", number, err)
	}
	return g, nil
}

func (s *Store) lastGeneration() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gens[len(s.gens)-1].number
}

// sealLoop seals the generations that were rotated away from, oldest first. A
// failure costs nothing but the seal, which the next open makes.
func (s *Store) sealLoop() {
	defer s.loops.Done()
	ctx := context.Background()
	for {
		g := s.nextSeal()
		if g == nil {
			return
		}
		s.sealing.Lock() // waits for a running Check
		err := s.seal(ctx, g)
		s.sealing.Unlock()
		s.mu.Lock()
		if err != nil {
			s.chores.stuck = true
		} else {
			s.chores.sealing = s.chores.sealing[1:]
		}
		s.mu.Unlock()
		if err != nil {
			s.choreFailed(err)
		}
	}
}

// nextSeal waits for a generation that can be sealed; nil means stop.
func (s *Store) nextSeal() *generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.chores
	for {
		if s.pipe.cause == nil {
			if g := c.sealable(s.durable.Load().lsn); g != nil {
				return g
			}
		}
		if c.stop {
			return nil
		}
		c.seals.Wait()
	}
}
