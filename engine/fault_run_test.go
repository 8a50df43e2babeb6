package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// half opens the store, works, and closes it, as far as it gets.
func (f *faulty) half(t *testing.T, rng *rand.Rand) {
	ctx := context.Background()
	s, err := Open(ctx, f.o)
	if err != nil {
		f.failed(t, nil, err)
		if f.kind.full {
			f.fault.Clear()
		}
		return
	}
	f.opened(t, s)
	held := false
	settle := func() {
		if held {
			f.sched.hold(0)
			held = false
		}
		f.wait(t, s)
	}
	for range 4 + rng.IntN(4) {
		f.transaction(t, s, f.gen.transaction)
		if s.Poisoned() != nil {
			break
		}
		switch rng.IntN(10) {
		case 0, 1, 2:
			settle()
		case 3, 4:
			f.sched.hold(vfs.OpSyncData)
			held = true
		case 5:
			time.Sleep(150 * time.Millisecond) // of the schedule's time
		case 8:
			settle()
			lsn := s.Head().LSN()
			if err := s.Compact(ctx, nil); err != nil {
				f.failed(t, s, err)
				break
			}
			f.acknowledged(lsn, lsn)
		case 6, 7:
			settle()
			lsn := s.Head().LSN()
			if err := s.Checkpoint(ctx, nil); err != nil {
				f.failed(t, s, err)
				break
			}
			f.acknowledged(lsn, lsn)
			sealedUpTo(t, s, lsn)
		}
		if held && s.log.full() {
			settle()
		}
	}
	settle()
	f.goesOn(t, s)
	durable := s.Durable()
	if !f.isState(s, durable.LSN()) {
		t.Errorf("the durable state reads otherwise before Close")
	}
	want := dumpMemory(durable)
	if err := s.Close(); err != nil {
		f.failed(t, s, err)
	}
	if dumpMemory(durable) != want {
		t.Errorf("the durable state reads otherwise after Close")
	}
	if open := f.mem.OpenFiles(); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
}

// opened checks what an open found.
func (f *faulty) opened(t *testing.T, s *Store) {
	lsn := s.Durable().LSN()
	if lsn < f.told {
		t.Errorf("reopened at LSN %d, acknowledged was %d", lsn, f.told)
	}
	if _, ok := f.states[lsn]; !ok || !f.isState(s, lsn) {
		t.Errorf("reopened at LSN %d:\n%s\nwant:\n%s", lsn, dump(s.Durable()), f.states[lsn])
	}
	// What the open did not find must not come back.
	n := len(f.states)
	maps.DeleteFunc(f.states, func(l LSN, _ string) bool { return l > lsn })
	if len(f.states) < n {
		f.since = f.mem.Ops()
	}
	f.acknowledged(lsn, lsn)
}

// acknowledged notes that a commit was acknowledged, and what is synced.
func (f *faulty) acknowledged(lsn, synced LSN) {
	f.told = max(f.told, lsn)
	f.acks = append(f.acks, ack{f.mem.Ops(), synced})
}

// transaction runs a transaction up to its commit.
func (f *faulty) transaction(t *testing.T, s *Store, body func(tx *Tx) error) {
	tx, err := s.Begin(context.Background())
	if err != nil {
		f.failed(t, s, err)
		return
	}
	if err = body(tx); err == nil {
		err = tx.Prepare()
	}
	if err != nil {
		tx.Rollback()
		f.failed(t, s, err)
		return
	}
	f.states[tx.Base()+1] = dumpTx(tx)
	lsn := tx.Commit()
	f.pending = append(f.pending, lsn)
	if s.Poisoned() == nil && (f.sched.holds() || lsn%2 == 0) {
		nudge(s)
	}
}

// wait waits for what was committed.
func (f *faulty) wait(t *testing.T, s *Store) {
	for _, lsn := range f.pending {
		err := s.WaitDurable(context.Background(), lsn)
		if err == nil {
			synced := s.synced.Load().lsn
			if f.shape.Sync == SyncFull && synced < lsn {
				t.Errorf("commit %d is acknowledged, synced is %d", lsn, synced)
			}
			f.acknowledged(lsn, min(lsn, synced))
			continue
		}
		if !errors.Is(err, ErrOutcomeUnknown) {
			delete(f.states, lsn) // nothing of it was written
		}
		f.failed(t, s, err)
	}
	f.pending = f.pending[:0]
}

// isState reports whether the durable state is the one of a commit. A fault may
// keep rows from being read that are in files only, and so does Close.
func (f *faulty) isState(s *Store, lsn LSN) bool {
	got := dump(s.Durable())
	if !f.hit() && s.closed() == nil && strings.Contains(got, lostRows) {
		return false
	}
	return sameState(got, f.states[lsn])
}

// failed checks the terms of a failure; s is nil when there is no store.
func (f *faulty) failed(t *testing.T, s *Store, err error) {
	f.errs = append(f.errs, err)
	if !f.hit() {
		t.Errorf("%v without a fault", err)
	}
	if f.kind.full && !errors.Is(err, ErrFull) && s != nil {
		t.Errorf("without space: %v", err)
	}
	if s == nil {
		return
	}
	if lsn := s.Durable().LSN(); !f.isState(s, lsn) {
		t.Errorf("after %v the durable state is none that a commit left", err)
	}
	poisoned := s.Poisoned() != nil
	switch {
	case !poisoned && (errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrPoisoned)):
		t.Errorf("error %v of an engine that is not poisoned", err)
	case poisoned && f.kind.full:
		t.Errorf("poisoned for lack of space: %v", s.Poisoned())
	case poisoned:
		if _, again := s.Begin(context.Background()); !errors.Is(again, ErrPoisoned) && !errors.Is(again, ErrClosed) {
			t.Errorf("a poisoned engine starts a transaction: %v", again)
		}
		if s.Head().LSN() != s.Durable().LSN() {
			t.Errorf("head %d of a poisoned engine, durable %d", s.Head().LSN(), s.Durable().LSN())
		}
	}
}

// goesOn writes once more. What failed may fail a second time, because
// somebody else met it; then it has to succeed.
func (f *faulty) goesOn(t *testing.T, s *Store) {
	if f.kind.full {
		f.fault.Clear()
	}
	if f.kind.lasting {
		return
	}
	for range 3 {
		if s.Poisoned() != nil {
			return
		}
		lsn := s.Durable().LSN()
		f.transaction(t, s, f.gen.transaction)
		f.wait(t, s)
		if s.Durable().LSN() > lsn {
			return
		}
	}
	if s.Poisoned() == nil {
		t.Errorf("the store does not go on: %v", f.errs)
	}
}

// recovers opens the store as a later process does: without the fault, on the
// files as the page cache has them and on what a crash leaves at some point
// behind the fault.
func (f *faulty) recovers(t *testing.T) {
	run := &crashRun{mem: f.mem, o: f.shape}
	run.record = f.record
	states := uint64(0)
	for lsn, state := range f.states {
		states += xxh3.HashStringSeed(state, uint64(lsn))
	}
	open := func(what string, img *vfs.Mem, cat string, acked LSN) {
		key := fmt.Sprintf("%x %d %x", contents(t, img), acked, states)
		if t.Failed() || f.seen[key] {
			return
		}
		f.seen[key] = true
		f.images++
		run.one(t, f.what+what, img, cat, acked)
		if t.Failed() {
			t.Logf("%v\njournal:\n%s", f.errs, journalText(f.mem, f.mem.Ops()))
		}
	}
	rng := rand.New(rand.NewPCG(f.order, uint64(f.n)))
	end := f.mem.Ops()
	last := faultCopy{0, math.MaxInt, ""} // a creation that got not so far as a catalog
	if len(f.copies) > 0 {
		last = f.copies[len(f.copies)-1]
	}
	open("and the process restarts", cloneMem(t, f.mem), last.file, f.told)
	// Any point behind the fault whose catalog is known, and the end.
	points := []faultCopy{last}
	for _, c := range f.copies {
		c.from = max(c.from, f.since)
		if c.from < min(c.to, end) {
			points = append(points, c)
		}
	}
	for range 2 {
		c := points[rng.IntN(len(points))]
		from := max(c.from, f.since)
		n := from + rng.IntN(min(c.to, end+1)-from)
		var names []string
		var list []*vfs.Mem
		for name, img := range f.mem.CrashImages(n, vfs.CrashOptions{Seed: rng.Uint64(), Mixtures: 1, Max: 1}) {
			names, list = append(names, name), append(list, img)
		}
		i := rng.IntN(len(list))
		open(fmt.Sprintf("and the power goes at operation %d: %s", n, names[i]), list[i], c.file, f.acked(n))
	}
}
