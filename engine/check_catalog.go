package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// catalog checks the catalog on its own (its file, its schema, the rows that
// recovery relies on) and returns the state it holds; ok is false when that
// cannot be read, which is reported.
func (c *checker) catalog() (state catalog.State, ok bool, err error) {
	before := c.damage
	err = c.s.cat.Check(c.ctx, func(text string) { c.report(Finding{Damage, catalog.FileName, 0, text}) })
	if err = c.catalogFound(err); err != nil {
		return state, false, err
	}
	return c.state(before)
}

// state returns the state of the checker's timeline. before is how much damage there
// was before the catalog was looked at.
func (c *checker) state(before int) (state catalog.State, ok bool, err error) {
	if !c.offline {
		// Nobody restores between the two.
		if err := c.s.publishing.takeWithin(c.ctx); err != nil {
			return state, false, err
		}
		c.target = c.s.durable.Load()
	}
	state, err = c.s.cat.StateOf(c.ctx, c.s.opts.Timeline)
	if !c.offline {
		c.s.publishing.give()
	}
	if err == nil {
		return state, true, nil
	}
	if errors.Is(err, catalog.ErrCorrupt) && c.damage > before {
		return state, false, nil // a finding already
	}
	return state, false, c.catalogFound(err)
}

// catalogFound reports an error that tells of a damaged catalog and returns any
// other.
func (c *checker) catalogFound(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, catalog.ErrCorrupt):
		c.report(Finding{Damage, catalog.FileName, 0, err.Error()})
		return nil
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	}
	return fmt.Errorf("engine: %w", err)
}

// projection compares what the catalog shows of the schema with the schema in
// force. The catalog is told of a schema change after its sync: while one is on
// its way nothing can be said, and the check waits for a while. A difference is
// a warning: nothing in the engine reads these tables, and every open writes
// them anew.
func (c *checker) projection() error {
	const attempts, pause = 100, 5 * time.Millisecond
	for range attempts {
		told, settled := c.s.projected()
		var found []string
		err := c.s.cat.CheckProjection(c.ctx, c.s.projection(told), func(text string) { found = append(found, text) })
		if err != nil {
			return c.catalogFound(err)
		}
		if again, still := c.s.projected(); len(found) == 0 || settled && still && again == told {
			for _, text := range found {
				c.report(Finding{Warning, catalog.FileName, 0, text})
			}
			return nil
		}
		if err := c.pause(pause); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, or ends with the check.
func (c *checker) pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-c.s.closing:
		return ErrClosed
	}
}

// projected returns the schema that the catalog was told of last, and whether it is
// the one in force.
func (s *Store) projected() (schema *Schema, settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chores.projected, s.chores.projected == s.synced.Load().schema
}
