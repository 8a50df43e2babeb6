package catalog

import (
	"fmt"
	"testing"
)

// TestCompact runs a store through two compactions, with generations before,
// between and after, and collects what they replaced.
func TestCompact(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	for range 3 {
		l.publish(l.rotate()...)
	}
	before, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	head := l.publishBase(before.Timeline, l.compact(2, 2))
	after, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if head.WorldID != before.Timeline.WorldID || head.RepresentationID == before.Timeline.RepresentationID || head.LSN != 3 ||
		string(head.Fingerprint) != string(before.Timeline.Fingerprint) || fmt.Sprint(after.Shards) != fmt.Sprint(before.Shards) {
		t.Errorf("head %+v, was %+v", head, before.Timeline)
	}
	if after.BaseLSN != 2 || len(after.Base) != 2 {
		t.Errorf("base of LSN %d: %+v", after.BaseLSN, after.Base)
	}
	for _, g := range after.Generations {
		if g.InHead != (g.Generation == 3) {
			t.Errorf("generation %+v", g)
		}
	}
	if n := collectAll(t, c); n != 4 {
		t.Errorf("%d objects collected", n)
	}
	l.publish(l.rotate()...)
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l.publishBase(s.Timeline, l.compact(4, 1))
	if n := collectAll(t, c); n != 6 {
		t.Errorf("%d objects collected", n)
	}
	if s, err = c.State(ctx); err != nil || s.BaseLSN != 4 || len(s.Base) != 1 || len(s.Generations) != 2 || s.Generations[0].Generation != 5 {
		t.Errorf("%+v, %v", s, err)
	}
	l.publish(l.rotate()...)
}
