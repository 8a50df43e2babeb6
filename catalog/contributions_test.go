package catalog

import (
	"bytes"
	"context"
	"testing"
)

// TestNegativeContribution publishes the deletion of all that was there: a
// generation whose rows add up to nothing and that takes away what the one before
// it added.
func TestNegativeContribution(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	head := l.publish(l.rotate()...).Head
	sealed := l.rotate()
	if err := c.Register(ctx, sealed...); err != nil {
		t.Fatal(err)
	}
	p := l.cut(head, sealed...)
	p.LiveCount, p.Fingerprint = 0, emptySum
	p.Generations[0].Sum = negative(head.Fingerprint)
	if next := l.adoptAndRetire(p); next.LiveCount != 0 || !bytes.Equal(next.Fingerprint, emptySum) {
		t.Errorf("%+v", next)
	}
	if s := l.stateNow(); len(s.Generations) != 3 || !s.Generations[1].InHead {
		t.Errorf("%+v", s)
	}
}

// TestRootsContributeNothing: a representation and the compaction that took its
// place, both retained, each add up to the one world, however many owners there are.
func TestRootsContributeNothing(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	head := l.publish(l.rotateMany(5)...).Head
	session, err := c.OpenSession(ctx, someProcess)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := c.CreateBranchPoint(ctx, name, head); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Pin(ctx, session.ID, head.RepresentationID, nil); err != nil {
			t.Fatal(err)
		}
	}
	compacted := l.publishBase(head, l.compact(3, 2))
	if compacted.WorldID != head.WorldID || compacted.RepresentationID == head.RepresentationID {
		t.Fatalf("%+v", compacted)
	}
	for _, representation := range []int64{head.RepresentationID, compacted.RepresentationID} {
		h, err := c.HistoryOf(ctx, representation)
		if err != nil || h.WorldID != head.WorldID || h.LSN != head.LSN || !bytes.Equal(h.Fingerprint, head.Fingerprint) {
			t.Errorf("%+v, %v", h, err)
		}
		var entries []entryRow
		err = c.write(ctx, "read", func(ctx context.Context, tx *writeTx) (err error) {
			if entries, err = readEntries(ctx, tx, c.identity(), representation, 0); err != nil {
				return err
			}
			return errUnchanged
		})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := sumOf(emptySum, entries)
		if err != nil || !bytes.Equal(sum, head.Fingerprint) {
			t.Errorf("representation %d adds up to %x, %v", representation, sum, err)
		}
	}
}
