package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestFailedCommitPoisons fails one COMMIT of each kind of call, before and
// after it took effect. The handle then refuses everything with the first
// cause; reopening shows the transaction whole or not at all.
func TestFailedCommitPoisons(t *testing.T) {
	calls := map[string]func(ctx context.Context, c *Catalog, s State) error{
		"reserve-ids": func(ctx context.Context, c *Catalog, _ State) error { _, err := c.ReserveIDs(ctx, 5000); return err },
		"bump-epoch": func(ctx context.Context, c *Catalog, s State) error {
			_, err := c.BumpEpoch(ctx, s.Shards[0].ID)
			return err
		},
		"reserve-generation": func(ctx context.Context, c *Catalog, s State) error {
			_, err := c.ReserveGeneration(ctx, s.Shards[0].ID, 2)
			return err
		},
		"seal-generation": func(ctx context.Context, c *Catalog, s State) error {
			return c.SealGeneration(ctx, sealOf(s.Generations[0]))
		},
		"project-schema": func(ctx context.Context, c *Catalog, _ State) error {
			return c.ProjectSchema(ctx, Projection{SchemaVersion: 1, Tables: []TableRow{{ID: 9, Version: 1, Name: "t", Resident: "all"}}})
		},
	}
	for name, call := range calls {
		for _, mode := range []string{"before", "after"} {
			t.Run(name+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				dir := makeStore(t, Options{})
				fault := &seamAt{n: 2, mode: mode} // the first is the diagnostics row
				c, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
				if err != nil {
					t.Fatal(err)
				}
				before, err := c.State(ctx)
				if err != nil {
					t.Fatal(err)
				}
				err = call(ctx, c, before)
				if !errors.Is(err, errInjected) || !errors.Is(err, ErrOutcomeUnknown) {
					t.Fatalf("failed COMMIT: %v", err)
				}
				if len(fault.seen) != 2 || fault.seen[1] != name {
					t.Errorf("commits: %v", fault.seen)
				}
				// Everything later is refused with the first cause, and reaches no COMMIT.
				for again := range calls {
					err := calls[again](ctx, c, before)
					if !errors.Is(err, ErrPoisoned) || !errors.Is(err, errInjected) {
						t.Errorf("%s on a poisoned handle: %v", again, err)
					}
				}
				if _, err := c.State(ctx); !errors.Is(err, ErrPoisoned) {
					t.Errorf("state of a poisoned handle: %v", err)
				}
				if len(fault.seen) != 2 {
					t.Errorf("a poisoned handle committed: %v", fault.seen)
				}
				if err := c.Close(ctx); err != nil {
					t.Errorf("close: %v", err)
				}
				// Calling again completes, whichever way the COMMIT went.
				reopened := openStore(t, Options{Dir: dir})
				state, err := reopened.State(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if changed := fmt.Sprint(state) != fmt.Sprint(before); changed != (mode == "after" && name != "reserve-ids" && name != "project-schema") {
					t.Errorf("state changed: %v\n%+v\n%+v", changed, before, state)
				}
				if err := call(ctx, reopened, before); err != nil {
					t.Errorf("call after reopening: %v", err)
				}
			})
		}
	}
}

// TestReservedIDsSurviveUncertainty: ids handed out after an uncertain COMMIT
// and a reopen never repeat ids handed out before.
func TestReservedIDsSurviveUncertainty(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	seen := map[int64]bool{}
	for round := range 6 {
		fault := &seamAt{n: 3, mode: []string{"before", "after"}[round%2]}
		c, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
		if err != nil {
			t.Fatal(err)
		}
		for {
			first, err := c.ReserveIDs(ctx, 300)
			if errors.Is(err, errInjected) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for id := first; id < first+300; id++ {
				if seen[id] {
					t.Fatalf("id %d was handed out twice", id)
				}
				seen[id] = true
			}
		}
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 3000 {
		t.Errorf("only %d ids were handed out", len(seen))
	}
}

// TestRefusedCommitIsKnown: a COMMIT that SQLite refuses for a reference is
// rolled back, and says so, but it poisons as any failed COMMIT does.
func TestRefusedCommitIsKnown(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	err := c.write(ctx, "leak", func(ctx context.Context, tx *writeTx) error {
		_, err := tx.ExecContext(ctx, gate)
		return err
	})
	wantCode(t, err, CodeForeignKey)
	if errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("outcome of a refused COMMIT is known: %v", err)
	}
	if _, err := c.State(ctx); !errors.Is(err, ErrPoisoned) {
		t.Errorf("state: %v", err)
	}
}

// TestGuardRefusalDoesNotPoison: a refused statement rolls its transaction back
// and the handle goes on.
func TestGuardRefusalDoesNotPoison(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	before, err := c.ReserveIDs(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ReserveGeneration(ctx, s.Shards[0].ID, 5)
	wantCode(t, err, CodeGeneration)
	var e *Error
	if !errors.As(err, &e) || e.Op != "reserve-generation" || e.Result == 0 || e.OutcomeUnknown || !strings.HasPrefix(e.Error(), "catalog: reserve-generation: CAT-GENERATION: ") {
		t.Errorf("error: %#v %v", e, err)
	}
	if _, err := c.ReserveGeneration(ctx, s.Shards[0].ID, 2); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
	if after, err := c.ReserveIDs(ctx, 1); err != nil || after <= before {
		t.Errorf("ids went from %d to %d, %v", before, after, err)
	}
}

// TestStorageErrorPoisons: a storage error outside of a COMMIT poisons as well.
func TestStorageErrorPoisons(t *testing.T) {
	c, _ := newStore(t, Creation{})
	err := c.failed("test", &Error{Code: CodeIO, Result: 10, Err: errInjected})
	wantCode(t, err, CodeIO)
	if _, err := c.State(t.Context()); !errors.Is(err, ErrPoisoned) || !errors.Is(err, errInjected) {
		t.Errorf("state: %v", err)
	}
}
