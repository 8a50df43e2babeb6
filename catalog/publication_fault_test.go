package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// publicationSteps are the commits from a sealed generation to a published one.
var publicationSteps = []string{"register", "prepare-publication", "begin-publication", "adopt-publication", "retire-publication"}

// publishOnce runs them, and returns the first error.
func publishOnce(ctx context.Context, c *Catalog, p Publication) error {
	var names []ShardGeneration
	for _, g := range p.Generations {
		names = append(names, g.ShardGeneration)
	}
	if err := c.Register(ctx, names...); err != nil {
		return err
	}
	return adoptOnce(ctx, c, p)
}

// adoptOnce runs the steps behind registration.
func adoptOnce(ctx context.Context, c *Catalog, p Publication) error {
	prepared, err := c.Prepare(ctx, p)
	if err != nil {
		return err
	}
	attempting, err := prepared.Begin(ctx)
	if err != nil {
		return err
	}
	adopted, err := attempting.Adopt(ctx)
	if err != nil {
		return err
	}
	return adopted.Retire(ctx)
}

// sealedStore is a store of two shards with one published and one sealed
// generation in each, and the cut to publish next.
func sealedStore(t *testing.T) (dir string, p Publication) {
	t.Helper()
	dir = t.TempDir()
	c, err := Open(t.Context(), Options{Dir: dir, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), Creation{Shards: 2}); err != nil {
		t.Fatal(err)
	}
	l := newLog(t, c)
	l.publish(l.rotate()...)
	p = l.publication(l.rotate()...)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir, p
}

// copyStore copies a closed store.
func copyStore(t *testing.T, from string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(fileBytes(t, from)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// interrupt runs f on a store whose nth commit from now goes wrong: before it,
// after it took effect, or, killed, with no error at all but with the store as it
// is right then being the one that is returned.
func interrupt(t *testing.T, base string, step string, mode string, f func(ctx context.Context, c *Catalog) error) (dir string) {
	t.Helper()
	ctx := t.Context()
	dir = copyStore(t, base)
	image := t.TempDir()
	met := false
	seam := &Seam{Commit: func(name string, commit func() error) error {
		if name != step || met {
			return commit()
		}
		met = true
		switch mode {
		case "before":
			return errInjected
		case "after":
			return errors.Join(commit(), errInjected)
		}
		return errors.Join(commit(), Copy(ctx, dir, filepath.Join(image, FileName)))
	}}
	c, err := Open(ctx, Options{Dir: dir, Fault: seam})
	if err != nil {
		t.Fatal(err)
	}
	err = f(ctx, c)
	if killed := mode == "killed"; !met || killed != (err == nil) || !killed && !errors.Is(err, ErrOutcomeUnknown) {
		t.Fatalf("%s %s: met %v, %v", mode, step, met, err)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if mode == "killed" {
		return image
	}
	return dir
}

// TestPublicationCommits: whichever commit of a publication goes wrong, the store
// is as before it or as after it; resolving settles the attempt, and publishing
// goes on.
func TestPublicationCommits(t *testing.T) {
	base, p := sealedStore(t)
	for n, step := range publicationSteps {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				dir := interrupt(t, base, step, mode, func(ctx context.Context, c *Catalog) error { return publishOnce(ctx, c, p) })
				done := n // steps that took effect
				if mode != "before" {
					done++
				}
				c := openStore(t, Options{Dir: dir})
				before, err := c.State(ctx) // before anything is resolved
				if err != nil {
					t.Fatal(err)
				}
				if adopted := done >= 4; adopted != (before.Timeline.Revision == p.ExpectedRevision+1) || adopted != (before.Shards[0].ReplayFrom == 3) ||
					adopted != before.Generations[1].InHead || adopted == (before.Timeline.RepresentationID == p.ExpectedRepresentation) {
					t.Errorf("%d steps done: %+v", done, before)
				}
				if registered := done >= 1; registered != before.Generations[1].Registered || registered != before.Generations[len(before.Generations)-2].Registered {
					t.Errorf("registered after %d steps: %+v", done, before.Generations)
				}
				open := done >= 2 && done < 5
				if representations := one64(t, c, `SELECT count(*) FROM representations`); open != (representations == 2) {
					t.Errorf("%d representations after %d steps", representations, done)
				}
				checkResolved(t, c, before, open)
				// The rest can be done.
				if done < 4 {
					if err := publishOnce(ctx, c, p); err != nil {
						t.Fatal(err)
					}
				} else {
					_, err := c.Prepare(ctx, p)
					wantCode(t, err, CodeConflict)
				}
				checkPublished(t, c, p)
			})
		}
	}
}

// checkResolved resolves, and expects the head as it was.
func checkResolved(t *testing.T, c *Catalog, before State, open bool) {
	t.Helper()
	checkResolvedBy(t, c, before, open, c.ResolvePublications)
}

func checkResolvedBy(t *testing.T, c *Catalog, before State, open bool, resolve func(context.Context) (int, error)) {
	t.Helper()
	for i := range 2 {
		n, err := resolve(t.Context())
		if err != nil || (n == 1) != (open && i == 0) {
			t.Fatalf("resolved %d, %v", n, err)
		}
	}
	after, err := c.State(t.Context())
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("resolving changed the state: %v\n%+v\n%+v", err, before, after)
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM representations`:                                          1,
		`SELECT count(*) FROM unresolved_publications`:                                  0,
		`SELECT count(*) FROM publication_attempts WHERE state <> 'retired'`:            0,
		`SELECT count(*) FROM operations WHERE status = 'prepared'`:                     0,
		`SELECT count(*) FROM owners WHERE kind = 'recovery' AND state <> 'released'`:   0,
		`SELECT count(*) FROM owner_blobs`:                                              0,
		`SELECT count(*) FROM owner_representations`:                                    1,
		`SELECT count(*) FROM storage_domain WHERE state = 'normal' AND reason IS NULL`: 1,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// checkPublished expects the cut as the head and nothing left over.
func checkPublished(t *testing.T, c *Catalog, p Publication) {
	t.Helper()
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h := s.Timeline; h.Revision != p.ExpectedRevision+1 || h.LSN != p.LSN || string(h.Fingerprint) != string(p.Fingerprint) || h.LiveCount != p.LiveCount {
		t.Errorf("head: %+v", h)
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM representation_entries`: 4,
		`SELECT count(*) FROM manifest_entries`:       4,
		`SELECT count(*) FROM worlds`:                 1,
		`SELECT count(*) FROM owner_objects`:          2,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// TestResolutionCommits: resolving is interrupted at each of its commits, of an
// attempt whose adoption had begun, with and without effect.
func TestResolutionCommits(t *testing.T) {
	base, p := sealedStore(t)
	publish := func(ctx context.Context, c *Catalog) error { return publishOnce(ctx, c, p) }
	lost := interrupt(t, base, "adopt-publication", "before", publish)
	// The record of the attempt says less than the head: the adoption took effect
	// in a transaction of its own.
	done := interrupt(t, base, "adopt-publication", "after", publish)
	withoutTrigger(t, done, "publication_attempts_update", `UPDATE publication_attempts SET state = 'attempting' WHERE state = 'committed'`)
	for name, dir := range map[string]string{"old head": lost, "new head": done} {
		for n, step := range []string{"reconcile-publications", "resolve-publications", "retire-publications"} {
			for _, mode := range []string{"before", "after", "killed"} {
				t.Run(name+"-"+step+"-"+mode, func(t *testing.T) {
					ctx := t.Context()
					dir := interrupt(t, dir, step, mode, func(ctx context.Context, c *Catalog) error { _, err := c.ResolvePublications(ctx); return err })
					reconciled := n
					if mode != "before" {
						reconciled++
					}
					c := openStore(t, Options{Dir: dir})
					before, err := c.State(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if frozen := one64(t, c, `SELECT state = 'reconciling' FROM storage_domain`) == 1; frozen != (reconciled == 1) {
						t.Errorf("frozen: %v after %d steps", frozen, reconciled)
					}
					if reconciled < 3 && one64(t, c, `SELECT count(*) FROM representations`) != 2 {
						t.Error("a representation was lost before the outcome was settled")
					}
					checkResolved(t, c, before, reconciled < 3)
					if name == "old head" {
						if err := publishOnce(ctx, c, p); err != nil {
							t.Fatal(err)
						}
					}
					checkPublished(t, c, p)
				})
			}
		}
	}
}

// TestReconcilingFreezes: while an outcome is looked up nothing is let go, and
// the store is read and retained as ever.
func TestReconcilingFreezes(t *testing.T) {
	base, p := sealedStore(t)
	lost := interrupt(t, base, "adopt-publication", "before", func(ctx context.Context, c *Catalog) error { return publishOnce(ctx, c, p) })
	dir := interrupt(t, lost, "reconcile-publications", "after", func(ctx context.Context, c *Catalog) error { _, err := c.ResolvePublications(ctx); return err })
	edit(t, dir, `UPDATE catalog_info SET next_incarnation = 50, next_id = 5000`, object(fixFree, "kv", 40, ""))
	db := shell(t, dir)
	for _, refused := range []string{
		objectUpdate(fixFree, "state = 'gc_claimed'"),
		`DELETE FROM owner_representations`,
		`DELETE FROM owner_objects`,
		`DELETE FROM owner_blobs`,
		`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE kind = 'recovery' AND state = 'active'`,
	} {
		if _, err := db.ExecContext(t.Context(), refused); err == nil || guardCode(err.Error()) != CodeGC && guardCode(err.Error()) != CodeRetire {
			t.Errorf("%s: %v", refused, err)
		}
	}
	for _, allowed := range []string{
		`INSERT INTO owners(owner_id, kind) VALUES (4000, 'round')`,
		`INSERT INTO owner_representations SELECT 4000, head_representation_id FROM timelines`,
	} {
		if _, err := db.ExecContext(t.Context(), allowed); err != nil {
			t.Errorf("%s: %v", allowed, err)
		}
	}
	c := openStore(t, Options{Dir: dir})
	if s, err := c.State(t.Context()); err != nil || s.Timeline.RepresentationID != p.ExpectedRepresentation {
		t.Errorf("%+v, %v", s.Timeline, err)
	}
	if n, err := c.ResolvePublications(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	// The old head is retained by the branch point, too, now.
	if err := publishOnce(t.Context(), c, p); err != nil {
		t.Fatal(err)
	}
	if n := one64(t, c, `SELECT count(*) FROM representations`); n != 2 {
		t.Errorf("%d representations", n)
	}
}

// TestContradictedOutcome: an outcome that the head contradicts is damage, and
// nothing is settled.
func TestContradictedOutcome(t *testing.T) {
	base, p := sealedStore(t)
	publish := func(ctx context.Context, c *Catalog) error { return publishOnce(ctx, c, p) }
	lost := interrupt(t, base, "adopt-publication", "before", publish)
	withoutTrigger(t, lost, "operations_update", `UPDATE operations SET status = 'committed', outcome = x'01', committed_at = created_at WHERE status = 'prepared'`)
	done := interrupt(t, base, "adopt-publication", "after", publish)
	withoutTrigger(t, done, "publication_attempts_update", `UPDATE publication_attempts SET state = 'attempting' WHERE state = 'committed'`)
	withoutTrigger(t, done, "operations_update", `UPDATE operations SET status = 'prepared', outcome = NULL, committed_at = NULL
		WHERE operation_id = (SELECT operation_id FROM publication_attempts WHERE state = 'attempting')`)
	for name, dir := range map[string]string{"committed, old head": lost, "prepared, new head": done} {
		t.Run(name, func(t *testing.T) {
			c, err := Open(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.ResolvePublications(t.Context())
			wantCode(t, err, CodeCorrupt)
			if n := one64(t, c, `SELECT count(*) FROM unresolved_publications WHERE state = 'unknown'`); n != 1 {
				t.Errorf("%d unresolved", n)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNothingToResolve: an open without an attempt or a job commits nothing.
func TestNothingToResolve(t *testing.T) {
	watch := &seamAt{}
	dir, _ := sealedStore(t)
	c := openStore(t, Options{Dir: dir, Fault: watch.seam()})
	before := len(watch.seen)
	if n, err := c.ResolvePublications(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := c.AbandonJobs(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if len(watch.seen) != before {
		t.Errorf("commits: %v", watch.seen[before:])
	}
}
