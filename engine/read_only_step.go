package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// step looks for a newer state. The caller has the turn.
func (s *Store) step(ctx context.Context) error {
	rd := s.reader
	defer s.letGo(ctx)
	for try := 0; ; try++ {
		look, err := s.lookAtLock()
		if err != nil {
			return err
		}
		if look.held && !look.whole {
			err = fmt.Errorf("%w: %s is being written", ErrBusy, lockName)
		} else if err = s.stepTo(ctx, look); err == nil {
			rd.seen, rd.looked = look, s.opts.Now()
			return nil
		}
		again, lerr := s.lookAtLock()
		if lerr != nil {
			return errors.Join(err, lerr)
		}
		if try >= patienceWith(err, look == again && !look.held, look == again) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(stepPause):
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return ErrClosed
		}
	}
}

// patienceWith is how often a state is read anew after an error, because a writer may
// have come between. An error of files that nobody writes is no other the next time.
func patienceWith(err error, nobody, same bool) int {
	switch {
	case errors.Is(err, ErrNoMemory), errors.Is(err, ErrUnwritable), errors.Is(err, catalog.ErrNotFound):
		return 0
	case errors.Is(err, catalog.ErrBusy): // each time it was waited for
		return 2
	case errors.Is(err, ErrBusy), errors.Is(err, catalog.ErrNotAcquirable):
		return stepTries
	case nobody:
		return 0
	case errors.Is(err, errBehind):
		return stepTries / 5
	case same:
		return 1
	}
	return stepTries
}

// stepTo goes to the state that a look at LOCK tells of. After an error the next look
// may tell why, see patienceWith; the present state stays.
func (s *Store) stepTo(ctx context.Context, look lockLook) error {
	rd := s.reader
	if rd.immutable && rd.view != nil {
		if look.held || look.contents != rd.seen.contents {
			return fmt.Errorf("%w: a process has begun to write the store, open it again", ErrUnwritable)
		}
		return nil
	}
	cut := !look.held || !look.known
	stale := s.opts.Now().Sub(rd.acquired) >= repinEvery
	ended := s.ended(ctx)
	have := s.durable.Load().lsn
	switch {
	case rd.view == nil:
	case cut, rd.view.cut:
		// A writer that is about to begin has told nothing yet. When it has, what
		// was read is read anew: only it knows where the log ends.
		if rd.view.cut && look.contents == rd.seen.contents {
			return nil
		}
		if have = 0; !cut {
			rd.drop()
		}
	case look.told > have:
		r, err := rd.view.advance(look.told, ended)
		switch {
		case err == nil:
			s.show(r)
			have = r.lsn
			if !stale {
				return nil
			}
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return err // between two commits: the view can go on
		case !errors.Is(err, errBehind):
			rd.drop()
		}
	case !stale:
		return nil
	}
	known, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	if !cut && rd.view != nil {
		if done, err := s.goOnWith(ctx, known, max(look.told, have), ended); done {
			return err
		}
	}
	return s.beginWith(ctx, known, look, max(look.told, have), cut)
}

// goOnWith lets the view take what is new in a reading. It reports false when it
// cannot; then there is no view.
func (s *Store) goOnWith(ctx context.Context, known *catalog.Reading, to LSN, ended func() error) (done bool, err error) {
	rd := s.reader
	v := rd.view
	ok, err := v.extend(known)
	if err == nil && ok {
		if to = max(to, LSN(known.State.Timeline.LSN)); to > v.r.last {
			var r *root
			if r, err = v.advance(to, ended); err == nil {
				s.show(r)
			}
		}
	}
	if err != nil || !ok {
		rd.drop()
		return false, nil // whoever reads it all finds the same, if it is there
	}
	rd.pins = append(rd.pins, v.pin)
	v.pin = known.Pin
	s.show(s.durable.Load())
	return true, nil
}

// beginWith makes a view of a reading the newest.
func (s *Store) beginWith(ctx context.Context, known *catalog.Reading, look lockLook, to LSN, cut bool) error {
	rd := s.reader
	v, r, err := s.openView(known, to, cut, s.ended(ctx))
	if err != nil {
		rd.pins = append(rd.pins, known.Pin)
		return err
	}
	if cut {
		err = s.stillCut(v, r.lsn)
	}
	if err == nil && r.lsn < s.durable.Load().lsn { // a look at a log that was being brought into order
		err = fmt.Errorf("%w: the log is being recovered", ErrBusy)
	}
	if err != nil {
		rd.pins = append(rd.pins, known.Pin)
		return errors.Join(err, v.close())
	}
	rd.drop()
	rd.view = v
	s.show(r)
	return nil
}

// stillCut refuses a state that was read as of a log that nobody writes, when somebody
// did meanwhile: it may have commits that are not durable.
func (s *Store) stillCut(v *view, lsn LSN) error {
	now, err := s.lookAtLock()
	switch {
	case err != nil:
		return err
	case now.held && !now.whole, now.held && now.known && lsn > max(now.told, LSN(v.state.Timeline.LSN)):
		return fmt.Errorf("%w: a process has begun to write the log", ErrBusy)
	}
	return nil
}

// ended tells a long reading that nobody waits for it.
func (s *Store) ended(ctx context.Context) func() error {
	return func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.closed()
	}
}

// acquire pins the present state of the catalog, where it can.
func (s *Store) acquire(ctx context.Context) (*catalog.Reading, error) {
	rd := s.reader
	var known catalog.Reading
	var err error
	switch {
	case rd.immutable:
		known.State, err = s.cat.StateOf(ctx, s.opts.Timeline)
	case rd.session == 0:
		var self catalog.Process
		if self, err = catalog.ThisProcess(); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		known, err = s.cat.Acquire(ctx, 0, self, s.opts.Timeline)
	default:
		known, err = s.cat.Acquire(ctx, rd.session, catalog.Process{}, s.opts.Timeline)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	rd.acquired = s.opts.Now()
	if !rd.immutable && rd.session == 0 { // else it is read without the turn
		rd.session = known.Session.ID
	}
	return &known, nil
}

// unpin lets files go that nothing is read from any more.
func (s *Store) unpin(ctx context.Context, pin catalog.Pin) error {
	if pin.OwnerID == 0 {
		return nil
	}
	if err := s.cat.Unpin(context.WithoutCancel(ctx), pin.OwnerID); err != nil {
		return fmt.Errorf("engine: releasing a pin: %w", err)
	}
	return nil
}

// show makes a state of the view the newest.
func (s *Store) show(r *root) {
	v := s.reader.view
	s.synced.Store(r.mark())
	s.head.Store(r)
	s.durable.Store(r)
	infos, bytes := v.infos(), map[TableID]int64{}
	sum := v.r.sizes.addTo(bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gens, s.logBytes, s.rowBytes, s.stats.RecoveredBytes = infos, bytes, sum, v.r.read
}

// drop lets go of the view, but for the states that somebody has.
func (rd *reader) drop() {
	if rd.view != nil {
		rd.old = append(rd.old, rd.view)
		rd.view.end()
		rd.view = nil
	}
}

// pinPast pins what a branch point is read from, where another process collects.
func (s *Store) pinPast(ctx context.Context, p *past, b catalog.BranchPoint) error {
	if s.reader == nil || s.reader.immutable {
		return nil
	}
	again, pin, err := s.cat.AcquireBranchPoint(ctx, s.reader.session, b.Name)
	if err != nil {
		return err
	}
	p.release = func() {
		if err := s.unpin(context.Background(), pin); err != nil { // CloseSession releases it
			s.event(Event{Kind: EventBackgroundFailed, Err: err})
		}
	}
	if again.ID != b.ID {
		return fmt.Errorf("%w: it was made anew meanwhile", ErrBusy)
	}
	return nil
}
