package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"
)

// TestBusy: another connection holds the write lock. The wait ends with a typed
// error, nothing is changed, and the call succeeds once the lock is free.
func TestBusy(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir, BusyTimeout: 30 * time.Millisecond})
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.OpenSession(ctx, Process{BootID: strings.Repeat("b", 36), PID: 4711, PIDNamespace: 1, StartTicks: 1}); err != nil {
		t.Fatal(err)
	}
	other := shell(t, dir)
	if _, err := other.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err = c.BumpEpoch(ctx, s.Shards[0].ID)
	wantCode(t, err, CodeBusy)
	// Who may be stopped in the middle of a transaction is named.
	if !errors.Is(err, ErrBusy) || errors.Is(err, ErrOutcomeUnknown) || !strings.Contains(err.Error(), "let the one that is stopped go on or end it: pid 4711") {
		t.Errorf("busy: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = c.BumpEpoch(canceled, s.Shards[0].ID)
	wantCode(t, err, CodeCanceled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	// Reading goes on meanwhile.
	if _, err := c.State(ctx); err != nil {
		t.Errorf("state while another connection writes: %v", err)
	}
	if _, err := other.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if epoch, err := c.BumpEpoch(ctx, s.Shards[0].ID); err != nil || epoch != 1 {
		t.Errorf("epoch after busy: %d, %v", epoch, err)
	}
}

// TestBusyIsRetried: the lock comes free while the call waits.
func TestBusyIsRetried(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir, BusyTimeout: time.Minute})
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	other := shell(t, dir)
	if _, err := other.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := c.BumpEpoch(ctx, s.Shards[0].ID)
		done <- err
	}()
	if _, err := other.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("epoch: %v", err)
	}
}

// TestConcurrentCalls runs every kind of call from many goroutines.
func TestConcurrentCalls(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{Shards: 4})
	const workers, rounds = 8, 12
	var mu sync.Mutex
	ids := map[int64]bool{}
	epochs := map[int64]map[int64]bool{}
	var wg sync.WaitGroup
	for w := range workers {
		shard := s.Shards[w%4]
		wg.Go(func() {
			for i := range rounds {
				first, err := c.ReserveIDs(ctx, 50)
				if err != nil {
					t.Error(err)
					return
				}
				epoch, err := c.BumpEpoch(ctx, shard.ID)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for id := first; id < first+50; id++ {
					if ids[id] {
						t.Errorf("id %d twice", id)
					}
					ids[id] = true
				}
				if epochs[shard.ID] == nil {
					epochs[shard.ID] = map[int64]bool{}
				}
				if epochs[shard.ID][epoch] {
					t.Errorf("epoch %d of shard %d twice", epoch, shard.ID)
				}
				epochs[shard.ID][epoch] = true
				mu.Unlock()
				// Two workers ask for the same generation of a shard: one makes it.
				g, err := c.ReserveGeneration(ctx, shard.ID, int64(i+2))
				if err != nil || g.Generation != int64(i+2) {
					var e *Error
					if !errors.As(err, &e) || e.Code != CodeGeneration { // the twin is a generation behind
						t.Errorf("generation: %+v, %v", g, err)
					}
				}
				if err := c.ProjectSchema(ctx, Projection{SchemaVersion: int64(i)}); err != nil {
					t.Errorf("project: %v", err)
				}
				if _, err := c.State(ctx); err != nil {
					t.Errorf("state: %v", err)
				}
				if _, err := c.Inspect(ctx, "generation_files"); err != nil {
					t.Errorf("inspect: %v", err)
				}
			}
		})
	}
	wg.Wait()
	state, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range state.Shards {
		if want := int64(workers / 4 * rounds); shard.WriterEpoch != want {
			t.Errorf("shard %d has epoch %d, want %d", shard.ID, shard.WriterEpoch, want)
		}
	}
	if want := 4 * (rounds + 1); len(state.Generations) != want {
		t.Errorf("%d generations, want %d", len(state.Generations), want)
	}
}

// TestForeignPragmas: a hook that turns a required setting off makes every
// connection unusable, and a setting that changes later stops the next BEGIN.
func TestForeignPragmas(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	for _, p := range []struct{ name, value string }{
		{"foreign_keys", "OFF"}, {"recursive_triggers", "OFF"}, {"synchronous", "NORMAL"}, {"trusted_schema", "ON"}, {"cell_size_check", "OFF"},
	} {
		if _, err := c.writes.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %s", p.name, p.value)); err != nil {
			t.Fatal(err)
		}
		_, err := c.BumpEpoch(ctx, s.Shards[0].ID)
		wantCode(t, err, CodePragma)
		for _, want := range settings(writing) {
			if want.name == p.name {
				if _, err := c.writes.ExecContext(ctx, fmt.Sprintf("PRAGMA %s = %s", p.name, want.set)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := c.BumpEpoch(ctx, s.Shards[0].ID); err != nil {
			t.Errorf("%s put right: %v", p.name, err)
		}
	}
}

// TestConnectionHook: what SQLite's driver runs on every new connection of the
// process cannot weaken ours.
func TestConnectionHook(t *testing.T) {
	var sabotage atomic.Bool
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		if !sabotage.Load() {
			return nil
		}
		_, err := conn.ExecContext(context.Background(), "PRAGMA foreign_keys = OFF; PRAGMA recursive_triggers = OFF; PRAGMA trusted_schema = ON", nil)
		return err
	})
	dir := makeStore(t, Options{})
	sabotage.Store(true)
	defer sabotage.Store(false)
	c, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range settings(writing) {
		var got string
		if err := c.writes.GetContext(t.Context(), &got, "PRAGMA "+want.name); err != nil || got != want.want {
			t.Errorf("PRAGMA %s is %q, %v", want.name, got, err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
