package catalog

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// The fences of a publication, beside those that the steps of [TestPublish] meet.

// TestFencePrepare: a publication must have exactly the sealed and registered
// generations that the head lacks, in order, and add up.
func TestFencePrepare(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	one := l.rotate()
	first := l.publication(one...)
	two := l.rotate()
	both := l.publication(append(append([]ShardGeneration(nil), one...), two...)...)
	open := ShardGeneration{s.Shards[0].ID, 3}
	if err := c.Register(ctx, one...); err != nil {
		t.Fatal(err)
	}
	_, err := c.Prepare(ctx, both)
	wantCode(t, err, CodeGeneration) // sealed and not registered
	if err := c.Register(ctx, two...); err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]struct {
		change func(p *Publication)
		code   Code
	}{
		"a generation before its turn": {func(p *Publication) { p.Generations = p.Generations[2:] }, CodeGeneration},
		"another order":                {func(p *Publication) { p.Generations[0], p.Generations[2] = p.Generations[2], p.Generations[0] }, CodeGeneration},
		"one twice":                    {func(p *Publication) { p.Generations[1] = p.Generations[0] }, CodeGeneration},
		"an open one": {func(p *Publication) {
			p.Generations = append(p.Generations, contributions(t, c, []ShardGeneration{open})...)
		}, CodeGeneration},
		"an earlier cut":       {func(p *Publication) { p.LSN-- }, CodeGeneration},
		"a later cut":          {func(p *Publication) { p.LSN++ }, CodeGeneration},
		"one left out":         {func(p *Publication) { p.Generations = p.Generations[:3] }, CodeGeneration},
		"another sum":          {func(p *Publication) { p.Fingerprint = element(1) }, CodeSum},
		"another contribution": {func(p *Publication) { p.Generations[0].Sum = element(1) }, CodeSum},
	} {
		p := both
		p.Generations = append([]Contribution(nil), both.Generations...)
		x.change(&p)
		if what == "one left out" {
			p.Fingerprint = c.sumOfHead(t)
			for _, g := range p.Generations {
				p.Fingerprint = mustAdd(t, p.Fingerprint, g.Sum)
			}
		}
		t.Run(what, func(t *testing.T) {
			_, err := c.Prepare(ctx, p)
			wantCode(t, err, x.code)
		})
	}
	// The recovery owner keeps both heads and the new files.
	l.prepare(first)
	for query, want := range map[string]int64{
		`SELECT count(*) FROM owner_representations`: 3,
		`SELECT count(*) FROM owner_blobs`:           2,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// sumOfHead is the sum of what the head contains.
func (c *Catalog) sumOfHead(t *testing.T) []byte {
	t.Helper()
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Timeline.Fingerprint
}

// TestFenceAdopt: what was prepared and what is adopted are the same.
func TestFenceAdopt(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	l := newLog(t, c)
	one := l.rotate()
	if err := c.Register(ctx, one...); err != nil {
		t.Fatal(err)
	}
	a := l.begin(l.publication(one...))
	good := a.attempt
	a.publication.LiveCount++
	_, err := a.Adopt(ctx)
	wantCode(t, err, CodeImmutable)
	a.attempt = good
	a.candidate = s.Timeline.RepresentationID
	_, err = a.Adopt(ctx)
	wantCode(t, err, CodeCorrupt)
	a.attempt = good
	if _, err := a.Adopt(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestFenceDigests: a publication does not build on rows that were tampered with.
func TestFenceDigests(t *testing.T) {
	for trigger, change := range map[string]string{
		"timelines_update": `UPDATE timelines SET created_at = '2000-01-01T00:00:00Z'`,
		"shards_update":    `UPDATE shards SET writer_epoch = writer_epoch + 1`,
	} {
		t.Run(trigger, func(t *testing.T) {
			ctx := t.Context()
			dir := makeStore(t, Options{})
			c, err := Open(ctx, Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			l := newLog(t, c)
			one := l.rotate()
			if err := c.Register(ctx, one...); err != nil {
				t.Fatal(err)
			}
			p := l.publication(one...)
			if err := c.Close(ctx); err != nil {
				t.Fatal(err)
			}
			withoutTrigger(t, dir, trigger, change)
			if c, err = Open(ctx, Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			_, err = c.Prepare(ctx, p)
			wantCode(t, err, CodeDigest)
			if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFenceResolve: the next open settles a publication, wherever it was left,
// by what the catalog recorded.
func TestFenceResolve(t *testing.T) {
	for _, x := range []struct {
		left    string
		do      func(t *testing.T, l *log, p Publication)
		status  string
		adopted bool
	}{
		{"prepared", func(_ *testing.T, l *log, p Publication) { l.prepare(p) }, operationAbandoned, false},
		{"attempting", func(_ *testing.T, l *log, p Publication) { l.begin(p) }, operationAbandoned, false},
		{"adopted", func(_ *testing.T, l *log, p Publication) { l.adopt(p) }, operationCommitted, true},
	} {
		t.Run(x.left, func(t *testing.T) {
			ctx := t.Context()
			c, _ := newStore(t, Creation{})
			l := newLog(t, c)
			one := l.rotate()
			if err := c.Register(ctx, one...); err != nil {
				t.Fatal(err)
			}
			x.do(t, l, l.publication(one...))
			for want := 1; want >= 0; want-- {
				if n, err := c.ResolvePublications(ctx); n != want || err != nil {
					t.Fatalf("%d settled, want %d; %v", n, want, err)
				}
			}
			s, err := c.State(ctx)
			if err != nil || (s.Timeline.Revision == 1) != x.adopted {
				t.Errorf("head %+v, %v", s.Timeline, err)
			}
			if n := one64(t, c, fmt.Sprintf(`SELECT count(*) FROM operations WHERE status = '%s'`, x.status)); n != 1 {
				t.Errorf("%d operations are %s", n, x.status)
			}
			if n := one64(t, c, `SELECT count(*) FROM owner_representations`); n != 1 {
				t.Errorf("%d representations are kept", n)
			}
			if n := one64(t, c, `SELECT count(*) FROM storage_domain WHERE state = 'normal'`); n != 1 {
				t.Error("the storage domain is not normal")
			}
			if !x.adopted {
				l.publish(one...) // what was given up is done again
			}
		})
	}
}

// TestFenceResolveLies: an outcome that the head does not show is damage.
func TestFenceResolveLies(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t, c)
	one := l.rotate()
	if err := c.Register(ctx, one...); err != nil {
		t.Fatal(err)
	}
	l.begin(l.publication(one...))
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, `UPDATE operations SET status = 'committed', outcome = x'00', committed_at = created_at WHERE kind = 'publish'`)
	if c, err = Open(ctx, Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	_, err = c.ResolvePublications(ctx)
	wantCode(t, err, CodeCorrupt)
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestFenceIDsOfAFailure: ids that a transaction reserved and took are not used
// when it is rolled back.
func TestFenceIDsOfAFailure(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	failure := errors.New("changed its mind")
	err := c.write(ctx, "test", func(ctx context.Context, tx *writeTx) error {
		for _, n := range []int64{idBlock - 1, idBlock / 4} { // the second from a block of its own
			if _, err := tx.newIDs(ctx, n); err != nil {
				return err
			}
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	for range 3 {
		first, err := c.ReserveIDs(ctx, idBlock/2)
		if err != nil {
			t.Fatal(err)
		}
		if next := one64(t, c, `SELECT next_id FROM catalog_info`); first+idBlock/2 > next {
			t.Errorf("ids %d to %d were given out, reserved are those below %d", first, first+idBlock/2-1, next)
		}
	}
}

// TestFenceSynchronous: a COMMIT of the catalog is durable when it returns.
func TestFenceSynchronous(t *testing.T) {
	c, _ := newStore(t, Creation{})
	var level int
	if err := c.writes.GetContext(t.Context(), &level, `PRAGMA synchronous`); err != nil || level != 2 {
		t.Errorf("synchronous is %d, %v", level, err)
	}
}
