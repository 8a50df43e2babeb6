package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
)

// timelines checks the other timelines of the store, one after another. One that is
// open is checked by means of its own Store, any other one at rest. Its own locks are
// taken for each; none is held by who waits for a timeline.
func (c *checker) timelines() error {
	done, err := c.s.keepOpen()
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := c.s.jobContext(c.ctx)
	defer cancel()
	list, err := c.s.cat.Timelines(ctx)
	if err != nil {
		return closedCause(ctx, c.catalogFound(err))
	}
	for _, l := range list {
		if l.Name == c.s.opts.Timeline {
			continue
		}
		if err := c.timeline(ctx, l.Name); err != nil {
			return closedCause(ctx, err)
		}
	}
	if c.progress != nil {
		c.progress(c.total, c.total)
	}
	return nil
}

// maxToldTwice is how many findings of a timeline are kept.
const maxToldTwice = 1 << 10

// timeline checks another timeline. When that is closed meanwhile, it begins anew.
func (c *checker) timeline(ctx context.Context, name string) error {
	told := map[Finding]bool{} // some of them, not to tell them twice when it begins anew
	report := func(f Finding) {
		f.Text = fmt.Sprintf("timeline %q: %s", name, f.Text)
		if !told[f] {
			if len(told) < maxToldTwice {
				told[f] = true
			}
			c.report(f)
		}
	}
	for {
		t, wait := c.s.home.shared(name)
		switch {
		case t != nil:
			err := c.opened(ctx, t, report)
			if err != nil && t.closed() != nil && ctx.Err() == nil {
				continue
			}
			return err
		case wait != nil:
			select {
			case <-wait:
			case <-ctx.Done():
				return fmt.Errorf("engine: waiting for timeline %q: %w", name, ctx.Err())
			}
		default:
			if err := c.atRest(ctx, name, report); !errors.Is(err, ErrTimelineOpen) {
				return err
			}
		}
	}
}

// of returns a checker of another timeline, which goes on counting where c is.
func (c *checker) of(ctx context.Context, t *Store, report func(Finding)) *checker {
	d := newChecker(ctx, t, report, c.progress)
	d.read, d.seen, d.done, d.total = c.read, c.seen, c.done, c.total
	return d
}

// opened checks a timeline that is open in this process.
func (c *checker) opened(ctx context.Context, t *Store, report func(Finding)) error {
	done, err := t.keepOpen()
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := t.jobContext(ctx)
	defer cancel()
	t.checks.RLock()
	defer t.checks.RUnlock()
	t.sealing.RLock()
	defer t.sealing.RUnlock()
	d := c.of(ctx, t, report)
	defer func() { c.done, c.total = d.done, d.total }()
	state, ok, err := d.state(d.damage)
	if err != nil || !ok {
		return err
	}
	if err := d.files(&state); err != nil {
		return err
	}
	if err := d.projection(); err != nil {
		return err
	}
	if d.damage > 0 {
		return nil // rows in damaged files cannot be held against indexes
	}
	return d.tables()
}

// atRest checks a timeline that is not open, and cannot be opened, restored or dropped
// meanwhile. Its log may end in an unsynced tail, as after a crash. One that is gone is
// no finding.
func (c *checker) atRest(ctx context.Context, name string, report func(Finding)) error {
	h := c.s.home
	t := newStore(Options{Dir: c.s.opts.Dir, FS: c.s.opts.FS, Timeline: name, NoCompaction: true}.withDefaults(), h)
	defer t.endWork()
	if err := h.claim(ctx, t, true); err != nil {
		return err
	}
	defer func() {
		_ = t.objects.close() // they were only read
		h.book.Lock()
		defer h.book.Unlock()
		h.unclaim(t)
	}()
	t.checks.RLock()
	defer t.checks.RUnlock()
	t.sealing.RLock()
	defer t.sealing.RUnlock()
	d := c.of(ctx, t, report)
	d.target, d.offline = everything(t), true
	defer func() { c.done, c.total = d.done, d.total }()
	state, err := t.cat.StateOf(ctx, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return d.catalogFound(err)
	}
	if c.seen[state.Timeline.RepresentationID] && unwritten(&state) {
		return nil // there is nothing else of it
	}
	return d.files(&state)
}

// unwritten reports that a timeline was never opened: it has no file but those of its head.
func unwritten(state *catalog.State) bool {
	for _, sh := range state.Shards {
		if sh.WriterEpoch != 0 {
			return false
		}
	}
	return true
}

// cover notes what was read and replayed of a timeline.
func (c *checker) cover(state *catalog.State) {
	c.seen[state.Timeline.RepresentationID] = true
	for _, b := range state.Base {
		c.read[b.ObjectID] = true
	}
	for _, list := range [][]catalog.Generation{state.Inherited, state.Generations} {
		for _, g := range list {
			if g.InHead {
				c.read[g.ObjectID] = true
			}
		}
	}
}

// covered reports that a file was read before, all of it: by the check of another
// timeline or of a branch point that has it, too. What it gives here the replay finds.
func (c *checker) covered(g *generation) bool {
	return g.info.State == catalog.GenerationSealed && c.read[int64(g.object)]
}
