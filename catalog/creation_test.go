package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tidemarkdb/tidemark/migrations"
)

var errInjected = errors.New("injected")

// seamAt acts on the nth COMMIT (from 1) and lets the others through. mode is
// before: fail without committing; after: commit, then the process dies, which
// to the caller is an error as well; the file differs.
type seamAt struct {
	n    int
	mode string

	seen []string
}

func (s *seamAt) seam() *Seam {
	return &Seam{Commit: func(name string, commit func() error) error {
		s.seen = append(s.seen, name)
		if len(s.seen) != s.n {
			return commit()
		}
		if s.mode == "before" {
			return errInjected
		}
		return errors.Join(commit(), errInjected)
	}}
}

// TestInterruptedCreation stops a creation at each COMMIT, without and with it
// having taken effect. Another open without Create refuses, one with Create
// finishes, and a creation whose last COMMIT took effect keeps its identity.
func TestInterruptedCreation(t *testing.T) {
	steps := creationSteps(t)
	for n := 1; n <= len(steps); n++ {
		for _, mode := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%d-%s-%s", n, steps[n-1], mode), func(t *testing.T) {
				ctx := t.Context()
				dir := t.TempDir()
				fault := &seamAt{n: n, mode: mode}
				c, err := Open(ctx, Options{Dir: dir, Create: true, Fault: fault.seam()})
				if err == nil {
					_, err = c.Initialize(ctx, Creation{Shards: 2})
					if _, again := c.State(ctx); !errors.Is(again, ErrPoisoned) {
						t.Errorf("a poisoned handle answers: %v", again)
					}
					if closeErr := c.Close(ctx); closeErr != nil {
						t.Errorf("close of a poisoned handle: %v", closeErr)
					}
				}
				if !errors.Is(err, errInjected) || !errors.Is(err, ErrOutcomeUnknown) {
					t.Fatalf("error is %v", err)
				}
				if len(fault.seen) != n {
					t.Fatalf("the handle went on after COMMIT %d: %v", n, fault.seen)
				}
				complete := n == len(steps) && mode == "after"
				for _, o := range []Options{{Dir: dir}, {Dir: dir, ReadOnly: true}} {
					c, err := Open(ctx, o)
					if complete {
						if err != nil {
							t.Fatalf("complete creation refused: %v", err)
						}
						if err := c.Close(ctx); err != nil {
							t.Error(err)
						}
						continue
					}
					if o.ReadOnly && errors.Is(err, ErrOlder) {
						continue // not even the schema is complete
					}
					wantCode(t, err, CodeUnfinished)
				}
				finished := openStore(t, Options{Dir: dir, Create: true})
				s, err := finished.Initialize(ctx, Creation{Shards: 2})
				if err != nil {
					t.Fatal(err)
				}
				if len(s.Shards) != 2 || finished.Info().Created == complete {
					t.Errorf("finished: %+v, %+v", s, finished.Info())
				}
			})
		}
	}
}

// creationSteps names the COMMITs of an undisturbed creation.
func creationSteps(t *testing.T) []string {
	t.Helper()
	watch := &seamAt{}
	makeStore(t, Options{Fault: watch.seam()})
	latest, err := migrations.Latest(migrations.Files())
	if err != nil {
		t.Fatal(err)
	}
	if want := int(latest) + 2; len(watch.seen) != want || watch.seen[0] != "identify" || watch.seen[want-1] != "initialize" {
		t.Fatalf("commits of a creation: %v", watch.seen)
	}
	return watch.seen
}

// TestCreationStopsBetweenFileAndDatabase covers the steps ahead of the first
// COMMIT: the name exists, empty.
func TestCreationStopsBetweenFileAndDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Dir: dir}, {Dir: dir, ReadOnly: true}} {
		_, err := Open(t.Context(), o)
		wantCode(t, err, CodeUnfinished)
	}
	if got := fileBytes(t, dir); got != "" {
		t.Errorf("a refused open wrote %d bytes", len(got))
	}
	makeStore(t, Options{Dir: dir})
}

// TestCanceledCreation ends the context at each COMMIT; the next open finishes.
func TestCanceledCreation(t *testing.T) {
	for n := 1; n <= len(creationSteps(t)); n++ {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		seam := &Seam{Commit: func(_ string, commit func() error) error {
			if seen++; seen == n {
				cancel()
			}
			return commit()
		}}
		c, err := Open(ctx, Options{Dir: dir, Create: true, Fault: seam})
		if err == nil {
			_, err = c.Initialize(ctx, Creation{})
			if closeErr := c.Close(t.Context()); closeErr != nil {
				t.Errorf("close: %v", closeErr)
			}
		}
		// A COMMIT that began is not cut short, so only later steps notice.
		if err == nil {
			t.Errorf("commit %d: a canceled creation reported success", n)
		} else if errors.Is(err, ErrPoisoned) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("commit %d: cancellation poisoned: %v", n, err)
		}
		cancel()
		makeStore(t, Options{Dir: dir})
	}
}
