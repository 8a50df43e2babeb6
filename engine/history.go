package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/tidemarkdb/tidemark/catalog"
)

// A history is the state of a branch point, read from exactly the files that its
// representation names. It has the form of every other state, with all durable tables
// as resident=keys has them: in memory are row ids, places and indexes of the tables
// that are used, and rows are read from sealed files when they are asked for.
//
// Its files are opened through objects of its own, and what can be read through
// these has one lease. The files stay as long as that has not ended, whatever becomes
// of the branch point: held names them. A state and its tables need no release, as
// with snapshots of the present.

// At returns the state of a branch point. The first call reads headers, footers and
// schema from the files that it is made of, holding them against the catalog; a
// *CorruptError tells of what does not fit, and concerns nothing but this branch point.
// Later calls, and those that come meanwhile, share what it made. Volatile tables are
// empty in it.
//
// The files of a table are read when that is first used, see [Table.Load]. What is then
// in memory of it, row ids, places and indexes, counts against the memory budget beside
// the present state. When that is short, the tables that were used longest ago are let
// go of, to be read again when they are used again; ErrNoMemory refuses what does not fit
// even so. A *CorruptError of a table says nothing of others.
//
// Rows can be read until the store is closed, then they are refused with ErrClosed. An
// unknown name is a catalog.ErrNotFound; ctx ends the reading.
func (s *Store) At(ctx context.Context, name string) (*Snapshot, error) {
	if s.opts.Memory {
		return nil, ErrInMemory
	}
	done, err := s.keepOpen()
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := s.jobContext(ctx)
	defer cancel()
	r, err := s.at(ctx, name)
	if err != nil {
		return nil, closedCause(ctx, err)
	}
	return r.snapshot(), nil
}

func (s *Store) at(ctx context.Context, name string) (*root, error) {
	for {
		b, err := s.cat.BranchPoint(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("engine: branch point %q: %w", name, err)
		}
		p, leads := s.histories.find(b.RepresentationID)
		if leads {
			s.histories.reap() // before there are ever more
			r, err := s.readPast(ctx, p, b)
			if err != nil {
				return nil, fmt.Errorf("engine: branch point %q: %w", name, err)
			}
			return r, nil
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if r := s.histories.use(p); r != nil {
			return r, nil
		}
		if p.err != nil && !errors.Is(p.err, context.Canceled) && !errors.Is(p.err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("engine: branch point %q: %w", name, p.err)
		}
		// Whoever read it gave up, or nobody had it any more: it is this one's turn.
	}
}

// readPast reads a history for all who wait for it.
func (s *Store) readPast(ctx context.Context, p *past, b catalog.BranchPoint) (r *root, err error) {
	h := &s.histories
	defer func() {
		if err != nil && p.release != nil {
			p.release()
		}
		h.ended(p, r, err)
	}()
	if err := s.pinPast(ctx, p, b); err != nil {
		return nil, err
	}
	known, err := s.cat.HistoryOf(ctx, b.RepresentationID)
	if err != nil {
		return nil, err
	}
	h.hold(p, known)
	// Files that were rooted by now stay: whoever removes some asks what is held behind
	// his look at what is rooted.
	if again, err := s.cat.BranchPoint(ctx, b.Name); err != nil {
		return nil, err
	} else if again.ID != b.ID {
		return nil, fmt.Errorf("%w: it was made anew meanwhile", ErrBusy)
	}
	p.objects = s.historyObjects()
	if r, err = s.openPast(ctx, p.objects, &known); err != nil {
		_ = p.objects.close() // they were only read
	}
	return r, err
}

// histories are those of this process.
type histories struct {
	mu sync.Mutex // held for moments, but by makeRoom for as long as Go's collector runs
	// all have files that something may be read through, or is about to be.
	all map[*past]bool
	// last has the newest one of each representation.
	last map[int64]*past
	// recent keeps the ones that were asked for last, the newest at the end.
	recent []kept

	readers      sharedReaders // of their files
	loading      turns         // held by whoever loads a table
	tables       []heldTable   // that are in memory
	clock        atomic.Uint64 // counts uses of tables
	bytes        atomic.Int64  // that tables take, when that was last looked at,
	unfinished   atomic.Int64  // and the one that is being loaded
	loads, drops uint64
	swept        time.Time // when makeRoom last did
}

// strongHistories is how many histories are kept that nobody uses.
const strongHistories = 2

type kept struct {
	*past
	root *root
}

// past is a history, as far as it must be known without keeping it.
type past struct {
	representation int64
	done           chan struct{} // closed when it was read, or could not be

	objects *objects // replaced only before done
	release func()   // what it has pinned; nil in a process that writes

	// Guarded by histories.mu; err and root do not change behind done.
	held   []int64 // objects that it is read from
	loaded bool
	err    error
	root   weak.Pointer[root]
}

// over reports that nothing can be read through it any more.
func (p *past) over() bool { return p.loaded && p.objects.lease.over(onlyLease) }

// find returns the history of a representation, and whether it is the caller's to
// be read.
func (h *histories) find(representation int64) (p *past, leads bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.last[representation]; p != nil && (!p.loaded || p.root.Value() != nil) {
		return p, false
	}
	p = &past{representation: representation, done: make(chan struct{})}
	if h.all == nil {
		h.all, h.last = map[*past]bool{}, map[int64]*past{}
	}
	h.all[p], h.last[representation] = true, p
	return p, true
}

// hold notes the objects that a history is going to be read from.
func (h *histories) hold(p *past, known catalog.History) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range known.Base {
		p.held = append(p.held, f.ObjectID)
	}
	for _, g := range known.Generations {
		p.held = append(p.held, g.ObjectID)
	}
	for _, g := range known.IndexState.Segments {
		p.held = append(p.held, g.ObjectID)
	}
}

// ended notes what became of the reading.
func (h *histories) ended(p *past, r *root, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.remove(p)
		p.err = err
	} else {
		p.loaded, p.root = true, weak.Make(r)
		h.keep(p, r)
	}
	close(p.done)
}

// remove forgets a history. The caller holds mu.
func (h *histories) remove(p *past) {
	delete(h.all, p)
	if h.last[p.representation] == p {
		delete(h.last, p.representation)
	}
}

// use returns the state of a history that was read, nil when it is gone.
func (h *histories) use(p *past) *root {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := p.root.Value()
	if r != nil && h.all[p] {
		h.keep(p, r)
	}
	return r
}

// keep makes a history the newest of those that are kept. The caller holds mu.
func (h *histories) keep(p *past, r *root) {
	h.recent = slices.DeleteFunc(h.recent, func(k kept) bool { return k.past == p })
	h.recent = append(h.recent, kept{p, r})
	if n := len(h.recent) - strongHistories; n > 0 {
		h.recent = slices.Delete(h.recent, 0, n)
	}
}

// letGo keeps the history of a representation only for as long as somebody uses it.
func (h *histories) letGo(representation int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recent = slices.DeleteFunc(h.recent, func(k kept) bool { return k.representation == representation })
}

// addHeld adds the objects that histories are read from.
func (h *histories) addHeld(list map[int64]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.all {
		if !p.over() {
			for _, id := range p.held {
				list[id] = true
			}
		}
	}
}

// some reports whether there are any.
func (h *histories) some() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all) > 0
}

// reap closes the files of histories that nobody has any more, and returns how many
// these were.
func (h *histories) reap() (gone int) {
	h.mu.Lock()
	var over []*past
	for p := range h.all {
		if p.over() {
			over = append(over, p)
			h.remove(p)
		}
	}
	h.mu.Unlock()
	for _, p := range over {
		_ = p.objects.close() // they were only read
		if p.release != nil {
			p.release()
		}
	}
	return len(over)
}

// close ends all reading. No history is being read any more.
func (h *histories) close() error {
	h.mu.Lock()
	all := h.all
	h.all, h.last, h.recent = nil, nil, nil
	h.mu.Unlock()
	var errs []error
	for p := range all {
		if p.objects != nil {
			errs = append(errs, p.objects.close())
		}
	}
	return errors.Join(errs...)
}
