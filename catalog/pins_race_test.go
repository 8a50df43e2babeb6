package catalog

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// TestPinAgainstClaim lets a pin and a claim of the same object race: each time
// exactly one of them wins.
func TestPinAgainstClaim(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	ctx := t.Context()
	c, st := newStore(t, Creation{})
	s, err := c.OpenSession(ctx, someProcess)
	if err != nil {
		t.Fatal(err)
	}
	pins := 0
	for round := range rounds {
		id := orphan(t, c, int64(round))
		var pin Pin
		var claimed []Object
		var errs [2]error
		var wg sync.WaitGroup
		racers := []func(){
			func() { pin, errs[0] = c.Pin(ctx, s.ID, st.Timeline.RepresentationID, []int64{id}) },
			func() { claimed, errs[1] = c.Claim(ctx, []int64{id}) },
		}
		wg.Go(racers[round%2]) // the one that starts last is often the first
		wg.Go(racers[1-round%2])
		wg.Wait()
		if errs[1] != nil {
			t.Fatal(errs[1])
		}
		pinned := errs[0] == nil
		if !pinned && !errors.Is(errs[0], ErrNotAcquirable) {
			t.Fatal(errs[0])
		}
		if pinned == (len(claimed) == 1) {
			t.Fatalf("round %d: pinned %v, claimed %+v", round, pinned, claimed)
		}
		if !pinned {
			if err := c.Collected(ctx, []int64{id}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		pins++
		if claimed, err := c.Claim(ctx, []int64{id}); err != nil || len(claimed) != 0 {
			t.Fatalf("claimed under the pin: %+v, %v", claimed, err)
		}
		if err := c.Unpin(ctx, pin.OwnerID); err != nil {
			t.Fatal(err)
		}
		if n := collectAll(t, c); n != 1 {
			t.Fatalf("%d collected after the pin", n)
		}
	}
	t.Logf("%d of %d rounds were the pin's", pins, rounds)
	if pins == 0 || pins == rounds {
		t.Errorf("there was no race: %d of %d rounds were the pin's", pins, rounds)
	}
	if n := one64(t, c, `SELECT count(*) FROM claim_closure_audit`); n != 0 {
		t.Errorf("%d findings of the audit", n)
	}
}

// orphan makes an object that nothing roots.
func orphan(t *testing.T, c *Catalog, seed int64) (id int64) {
	t.Helper()
	job, err := c.StartJob(t.Context(), "compact", fmt.Sprint(seed))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.ReserveObject(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EndJob(t.Context(), job.ID, 0, 0, nil); err != nil {
		t.Fatal(err)
	}
	return r.ObjectID
}

// TestReadIsNoPin: a SELECT transaction that has seen a path keeps nothing.
func TestReadIsNoPin(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	id := orphan(t, c, 1)
	tx, err := c.reads.BeginTxx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}()
	path := func() (path string) {
		if err := tx.GetContext(ctx, &path, `SELECT relative_path FROM objects WHERE object_id = ?`, id); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if path() != ObjectPath(id, KindKV) {
		t.Error(path())
	}
	if n := collectAll(t, c); n != 1 {
		t.Errorf("%d collected", n)
	}
	if path() != ObjectPath(id, KindKV) {
		t.Error("the snapshot changed")
	}
}

// TestPinFaults loses the outcome of a pin, of its release and of the reaper's
// work: after a reopen each is there or it is not, and the reaper finds whatever
// was left.
func TestPinFaults(t *testing.T) {
	ctx := t.Context()
	gone := func(Process) (bool, string, bool) { return false, EvidenceGone, true }
	for _, step := range []string{"open-session", "pin", "unpin", "close-session", "reap"} {
		for _, mode := range []string{"before", "after"} {
			t.Run(step+" "+mode, func(t *testing.T) {
				dir := makeStore(t, Options{})
				fault := &stepFault{step: step, mode: mode}
				c, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
				if err != nil {
					t.Fatal(err)
				}
				run := func() error {
					rep := c.mustState(t).Timeline.RepresentationID
					s, err := c.OpenSession(ctx, someProcess)
					if err != nil {
						return err
					}
					p, err := c.Pin(ctx, s.ID, rep, nil)
					if err != nil {
						return err
					}
					switch step {
					case "unpin":
						return c.Unpin(ctx, p.OwnerID)
					case "close-session":
						return c.CloseSession(ctx, s.ID)
					}
					_, err = c.Reap(ctx, gone)
					return err
				}
				if err := run(); !errors.Is(err, errInjected) {
					t.Fatal(err)
				}
				if err := c.Close(ctx); err != nil {
					t.Logf("close: %v", err)
				}
				again := openStore(t, Options{Dir: dir})
				took := mode == "after"
				sessions, err := again.Sessions(ctx)
				if err != nil || len(sessions) == 0 != (step == "open-session" && !took) {
					t.Errorf("%+v, %v", sessions, err)
				}
				pins, err := again.Pins(ctx)
				if want := (step == "pin") == took && step != "open-session"; err != nil || want != (len(pins) == 1) {
					t.Errorf("%+v, %v", pins, err)
				}
				if _, err := again.Reap(ctx, gone); err != nil {
					t.Fatal(err)
				}
				if pins, err := again.Pins(ctx); err != nil || len(pins) != 0 {
					t.Errorf("after the reaper: %+v, %v", pins, err)
				}
			})
		}
	}
}

// stepFault fails the first commit of a name.
type stepFault struct {
	step, mode string
	done       bool
}

func (f *stepFault) seam() *Seam {
	return &Seam{Commit: func(name string, commit func() error) error {
		if f.done || name != f.step {
			return commit()
		}
		f.done = true
		if f.mode == "before" {
			return errInjected
		}
		return errors.Join(commit(), errInjected)
	}}
}
