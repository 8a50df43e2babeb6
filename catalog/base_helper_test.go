package catalog

import (
	"context"
	"testing"
)

// baseJob reserves n base objects under a running job, seals and registers them as
// of an LSN and gives them contributions that add up to what they replace.
type baseJob struct {
	job      Job
	base     Base
	reserved []Reservation
}

// compact writes a base of the head's state at an LSN.
func (l *log) compact(lsn int64, n int) baseJob {
	l.t.Helper()
	ctx := context.Background()
	job, err := l.c.StartJob(ctx, "compact", "")
	if err != nil {
		l.t.Fatal(err)
	}
	b := baseJob{job: job, base: Base{LSN: lsn}}
	sum := l.covered(lsn)
	for i := range n {
		r, err := l.c.ReserveObject(ctx, job.ID)
		if err != nil {
			l.t.Fatal(err)
		}
		b.reserved = append(b.reserved, r)
		s := baseSealOf(r, lsn, i)
		if err := l.c.SealBase(ctx, s); err != nil {
			l.t.Fatal(err)
		}
		part := s.Fingerprint
		if i == n-1 {
			part = sum
		}
		sum = mustAdd(l.t, sum, negative(part))
		b.base.Objects = append(b.base.Objects, BaseContribution{ObjectID: r.ObjectID, Sum: part})
	}
	return b
}

// baseSealOf is a plausible seal of base object number i.
func baseSealOf(r Reservation, lsn int64, i int) BaseSeal {
	s := BaseSeal{ObjectID: r.ObjectID, Extent: 8192, LSN: lsn, Fingerprint: element(r.ObjectID), Fragments: []Fragment{{int64(40 + i), 7}, {int64(41 + i), 0}}}
	if i == 0 {
		s.Fragments = append([]Fragment{{0, 2}}, s.Fragments...)
	}
	s.ContentID[0], s.Digest[0] = byte(r.ObjectID), byte(i)
	return s
}

// covered is what the head's entries that a base replaces contribute.
func (l *log) covered(lsn int64) []byte {
	l.t.Helper()
	if l.name == MainTimeline { // also of versions that had no other
		return l.coveredOfMain(lsn)
	}
	h, err := l.c.HistoryOf(context.Background(), l.stateNow().Timeline.RepresentationID)
	if err != nil {
		l.t.Fatal(err)
	}
	sum := emptySum
	for _, f := range h.Base {
		sum = mustAdd(l.t, sum, f.Sum)
	}
	for _, g := range h.Generations {
		if g.LastLSN <= lsn {
			sum = mustAdd(l.t, sum, g.Fingerprint)
		}
	}
	return sum
}

func (l *log) coveredOfMain(lsn int64) []byte {
	l.t.Helper()
	s, sum := l.stateNow(), emptySum
	for _, f := range s.Base {
		sum = mustAdd(l.t, sum, f.Sum)
	}
	for _, g := range s.Generations {
		if g.InHead && g.LastLSN <= lsn {
			sum = mustAdd(l.t, sum, g.Fingerprint)
		}
	}
	return sum
}

// negative is the element that adds to zero with a.
func negative(a []byte) []byte {
	b := make([]byte, len(a))
	carry := 1
	for i := range a {
		v := int(^a[i]) + carry
		b[i], carry = byte(v), v>>8&1
	}
	return b
}

// publication of a base on a head.
func (b *baseJob) publication(head Timeline) Publication {
	base := b.base
	return Publication{TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID, Base: &base}
}

// publishBase runs all steps of a compaction.
func (l *log) publishBase(head Timeline, b baseJob) Timeline {
	l.t.Helper()
	head = l.adoptAndRetire(b.publication(head))
	if err := l.c.EndJob(context.Background(), b.job.ID, 1, 1, nil); err != nil {
		l.t.Fatal(err)
	}
	return head
}

// collectAll claims and collects whatever is garbage and returns how much it was.
func collectAll(t testing.TB, c *Catalog) (n int) {
	t.Helper()
	ctx := context.Background()
	for {
		list, err := c.Garbage(ctx, 256)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return n
		}
		claimed, err := c.Claim(ctx, idsOf(list))
		if err != nil {
			t.Fatal(err)
		}
		if len(claimed) != len(list) {
			t.Fatalf("%d of %d are claimed", len(claimed), len(list))
		}
		if err := c.Collected(ctx, idsOf(claimed)); err != nil {
			t.Fatal(err)
		}
		n += len(claimed)
	}
}

func idsOf(list []Object) (ids []int64) {
	for _, o := range list {
		ids = append(ids, o.ID)
	}
	return ids
}
