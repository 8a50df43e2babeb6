package catalog

import (
	"context"
	"testing"
)

// TestResolveTimeline: whichever commit of a publication went wrong, the timeline is
// settled alone, while another one stands in the middle of a publication of its own,
// which goes on as if nothing had happened.
func TestResolveTimeline(t *testing.T) {
	base, p := sealedStore(t)
	for n, step := range publicationSteps {
		for _, mode := range []string{"before", "after"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				dir := interrupt(t, base, step, mode, func(ctx context.Context, c *Catalog) error { return publishOnce(ctx, c, p) })
				done := n
				if mode == "after" {
					done++
				}
				c := openStore(t, Options{Dir: dir})
				before, err := c.State(ctx)
				if err != nil {
					t.Fatal(err)
				}
				checkResolvedBy(t, c, before, done >= 2 && done < 5, func(ctx context.Context) (int, error) { return c.ResolveTimeline(ctx, MainTimeline) })
				if done < 4 {
					if err := publishOnce(ctx, c, p); err != nil {
						t.Fatal(err)
					}
				}
				checkPublished(t, c, p)
			})
		}
	}
}

// TestResolveTimelineBeside: an attempt of one timeline is no business of another's.
func TestResolveTimelineBeside(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	head := l.publish(l.rotate()...).Head
	if _, err := c.Fork(ctx, ForkRequest{Name: "dev", From: head}); err != nil {
		t.Fatal(err)
	}
	d := newLogOf(t, c, "dev")
	begin := func(l *log) *Attempting {
		t.Helper()
		gens := l.rotate()
		if err := c.Register(ctx, gens...); err != nil {
			t.Fatal(err)
		}
		attempting, err := l.prepare(l.publication(gens...)).Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return attempting
	}
	running, left := begin(l), begin(d)
	for _, want := range []int{1, 0} {
		if n, err := c.ResolveTimeline(ctx, "dev"); n != want || err != nil {
			t.Errorf("resolved %d, %v, want %d", n, err, want)
		}
	}
	if n, err := c.ResolveTimeline(ctx, "nowhere"); n != 0 || err != nil {
		t.Errorf("resolved %d of a timeline that is not there, %v", n, err)
	}
	_, err := left.Adopt(ctx)
	wantCode(t, err, CodeState)
	adopted, err := running.Adopt(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := adopted.Retire(ctx); err != nil {
		t.Fatal(err)
	}
	if n := one64(t, c, `SELECT count(*) FROM unresolved_publications`); n != 0 {
		t.Errorf("%d attempts are left", n)
	}
}
