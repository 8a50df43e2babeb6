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

// TestEqualFingerprints: two timelines write rows that add up to the same. Objects and
// worlds with equal fingerprints are two all the same, and each closure is its own.
func TestEqualFingerprints(t *testing.T) {
	ctx := t.Context()
	c, st := newStore(t, Creation{})
	if _, err := c.Fork(ctx, ForkRequest{Name: "dev", From: st.Timeline}); err != nil {
		t.Fatal(err)
	}
	sum := element(77)
	var heads []Timeline
	for _, name := range []string{MainTimeline, "dev"} {
		l := newLogOf(t, c, name)
		l.seed = sum
		heads = append(heads, l.publish(l.rotate()...).Head)
	}
	a, b := heads[0], heads[1]
	if !bytes.Equal(a.Fingerprint, sum) || !bytes.Equal(b.Fingerprint, sum) || a.WorldID == b.WorldID || a.RepresentationID == b.RepresentationID {
		t.Errorf("%+v\n%+v", a, b)
	}
	if n := one64(t, c, `SELECT count(*) FROM objects WHERE native_fingerprint = ?`, sum); n != 2 {
		t.Errorf("%d objects", n)
	}
	closure := func(head Timeline) (list []int64) {
		if err := c.reads.SelectContext(ctx, &list, `SELECT object_id FROM representation_closure WHERE representation_id = ?`, head.RepresentationID); err != nil {
			t.Fatal(err)
		}
		return list
	}
	if one, other := closure(a), closure(b); len(one) != 1 || len(other) != 1 || one[0] == other[0] {
		t.Errorf("closures %v and %v", one, other)
	}
}
