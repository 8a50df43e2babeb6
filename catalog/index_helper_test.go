package catalog

import (
	"context"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// The tables of the stores in these tests, with their indexes: 40 has another one
// besides its primary. Base objects of baseSealOf have fragments of both.
const tableA, tableB, indexA = 40, 41, 45

var refA, refB, refI = IndexRef{tableA, tableA}, IndexRef{tableB, tableB}, IndexRef{indexA, tableA}

var allIndexes = []IndexRef{refA, refB, refI}

func schemaOfIndexes(version int64) Projection {
	table := func(id int64, name string) TableRow {
		return TableRow{ID: id, Version: version, Name: name, SQL: "CREATE TABLE " + name + "(x)", Columns: 1, Durable: true, Resident: "all"}
	}
	return Projection{SchemaVersion: version, Tables: []TableRow{table(tableA, "a"), table(tableB, "b")},
		Indexes: []IndexRow{{ID: indexA, Version: version, TableID: tableA, Name: "by_x", SQL: "CREATE INDEX by_x ON a(x)", Origin: "c", Columns: "x"}}}
}

// live fills in what is live of new objects: all of them, and everything that they
// contribute in their first fragment.
func (l *log) live(b *baseJob) {
	l.t.Helper()
	for i := range b.base.Objects {
		o := &b.base.Objects[i]
		rows, err := readFragments(context.Background(), l.c.reads, l.c.identity(), o.ObjectID)
		if err != nil {
			l.t.Fatal(err)
		}
		o.Live = nil
		for j, r := range rows[o.ObjectID] {
			s := FragmentState{Rows: r.Rows, Sum: emptySum}
			if j == 0 {
				s.Sum = o.Sum
			}
			o.Live = append(o.Live, s)
		}
	}
}

// increment writes n base objects of the head's state at an LSN, which keep those of
// the head: their first table loses its first row that is still live, with what it
// contributes.
func (l *log) increment(lsn int64, n int) baseJob {
	l.t.Helper()
	s := l.stateNow()
	b := l.compact(lsn, n)
	sum := emptySum
	for i := range s.Base {
		f := &s.Base[i]
		o := BaseContribution{ObjectID: f.ObjectID, Sum: f.Sum, Deleted: append([]*roaring.Bitmap{}, f.Deleted...), Live: append([]FragmentState{}, f.Live...)}
		for j := range f.Fragments {
			if f.Fragments[j].TableID == tableA && f.Live[j].Rows > 1 {
				v := roaring.New()
				if o.Deleted[j] != nil {
					v = o.Deleted[j].Clone()
				}
				v.Add(uint32(v.GetCardinality()))
				o.Deleted[j] = v
				o.Live[j].Rows--
			}
			if o.Live[j].Sum == nil {
				o.Live[j].Sum = emptySum
				if j == 0 {
					o.Live[j].Sum = f.Sum
				}
			}
		}
		sum = mustAdd(l.t, sum, o.Sum)
		b.base.Objects = append(b.base.Objects, o)
	}
	// What the new objects contribute is what is left.
	last := &b.base.Objects[n-1]
	last.Sum = mustAdd(l.t, last.Sum, negative(sum))
	rest := baseJob{base: Base{Objects: b.base.Objects[:n]}}
	l.live(&rest)
	b.base.Steps = l.steps(lsn)
	return b
}

// steps are the newest generations of the head that a base of an LSN contains.
func (l *log) steps(lsn int64) (list []ShardGeneration) {
	l.t.Helper()
	h, err := l.c.HistoryOf(context.Background(), l.stateNow().Timeline.RepresentationID)
	if err != nil {
		l.t.Fatal(err)
	}
	newest := map[int64]int64{}
	for _, g := range h.Generations {
		if g.LastLSN <= lsn {
			newest[g.ShardID] = max(newest[g.ShardID], g.Generation)
		}
	}
	for shard, g := range newest {
		list = append(list, ShardGeneration{shard, g})
	}
	return list
}

// first is a base of n new objects that says what it contains.
func (l *log) first(lsn int64, n int) baseJob {
	b := l.compact(lsn, n)
	l.live(&b)
	b.base.Steps = l.steps(lsn)
	return b
}

// segmentJob is a running job that writes segments.
func (l *log) segmentJob() Job {
	l.t.Helper()
	job, err := l.c.StartJob(context.Background(), "index", "")
	if err != nil {
		l.t.Fatal(err)
	}
	return job
}

// segment seals a segment of an index over fragments.
func (l *log) segment(job Job, ref IndexRef, fragments ...uint64) SegmentRef {
	l.t.Helper()
	ctx := context.Background()
	r, err := l.c.ReserveSegment(ctx, job.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	s := SegmentSeal{ObjectID: r.ObjectID, Extent: 512, IndexRef: ref, Fragments: roaring64.BitmapOf(fragments...), Entries: 7}
	s.ContentID[0], s.Digest[0] = byte(r.ObjectID), 3
	if err := l.c.SealSegment(ctx, s); err != nil {
		l.t.Fatal(err)
	}
	return SegmentRef{r.ObjectID, s.Fragments}
}

// fragmentsOf are the fragments of a table in the head.
func (l *log) fragmentsOf(table int64) (ids []uint64) {
	l.t.Helper()
	for _, f := range l.stateNow().Base {
		for j, x := range f.Fragments {
			if x.TableID == table {
				ids = append(ids, uint64(f.FragmentIDs[j]))
			}
		}
	}
	return ids
}

// covering is an update by segments over all that the head has.
func (l *log) covering(job Job, refs ...IndexRef) *IndexUpdate {
	u := &IndexUpdate{Relied: allIndexes, Retire: true}
	for _, ref := range refs {
		u.Indexes = append(u.Indexes, IndexSegments{ref, []SegmentRef{l.segment(job, ref, l.fragmentsOf(ref.TableID)...)}})
	}
	return u
}

// indexes is a publication of indexes on the head.
func (l *log) indexes(u *IndexUpdate) Publication {
	head := l.stateNow().Timeline
	return Publication{TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID, Index: u}
}

// install runs all steps of a publication, or gives it up.
func (l *log) install(p Publication) (*Adopted, error) {
	l.t.Helper()
	ctx := context.Background()
	prepared, err := l.c.Prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	attempt, err := prepared.Begin(ctx)
	if err != nil {
		return nil, err
	}
	adopted, err := attempt.Adopt(ctx)
	if err != nil {
		if err := attempt.Abandon(ctx); err != nil {
			l.t.Fatal(err)
		}
		return nil, err
	}
	if err := adopted.Retire(ctx); err != nil {
		l.t.Fatal(err)
	}
	return adopted, nil
}

// position of an index in the head's first shard.
func (l *log) position(index int64) int64 {
	l.t.Helper()
	s := l.stateNow()
	for _, p := range s.IndexState.CaughtUp {
		if p.IndexID == index && p.ShardID == s.Shards[0].ID {
			return p.Generation
		}
	}
	return 0
}

// mustInstall is install of what is not refused.
func (l *log) mustInstall(p Publication) *Adopted {
	l.t.Helper()
	a, err := l.install(p)
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

// indexedStore is a store of two tables with indexes; n generations are published, and
// a base has what is in them.
func indexedStore(t *testing.T, creation Creation, n int) *log {
	t.Helper()
	c, _ := newStore(t, creation)
	l := newLog(t, c)
	l.schema, l.tables = schemaOfIndexes(1), []TableRecords{{tableA, 2}}
	if err := c.ProjectSchema(t.Context(), l.schema); err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotateMany(n)...)
	l.publishBase(l.stateNow().Timeline, l.first(int64(n), 1))
	return l
}

// lagging gives an empty log a base, with an index that covers nothing of it.
func (l *log) lagging() {
	l.t.Helper()
	l.schema, l.tables = schemaOfIndexes(1), []TableRecords{{tableA, 2}}
	if err := l.c.ProjectSchema(context.Background(), l.schema); err != nil {
		l.t.Fatal(err)
	}
	l.publish(l.rotateMany(2)...)
	l.publishBase(l.stateNow().Timeline, l.first(2, 1))
	u := l.covering(l.segmentJob(), refA, refB)
	u.Indexes = append(u.Indexes, IndexSegments{refI, []SegmentRef{{l.segment(l.segmentJob(), refI).ObjectID, nil}}})
	l.mustInstall(l.indexes(u))
}

// sound expects that nothing is wrong with the catalog.
func (l *log) sound() {
	l.t.Helper()
	if err := l.c.Check(context.Background(), func(s string) { l.t.Error(s) }); err != nil {
		l.t.Error(err)
	}
}

// reopen closes the catalog and opens it again.
func (l *log) reopen() {
	l.t.Helper()
	ctx := context.Background()
	dir := l.c.options.Dir
	if err := l.c.Close(ctx); err != nil {
		l.t.Fatal(err)
	}
	var err error
	if l.c, err = Open(ctx, Options{Dir: dir}); err != nil {
		l.t.Fatal(err)
	}
	again := l.c
	l.t.Cleanup(func() {
		if err := again.Close(ctx); err != nil {
			l.t.Error(err)
		}
	})
}

func setOf(ids ...uint64) *roaring64.Bitmap { return roaring64.BitmapOf(ids...) }

// firstDeleted is a vector for each fragment of a file: with the first row in one, none in
// the others.
func firstDeleted(f BaseFile, fragment int) []*roaring.Bitmap {
	list := make([]*roaring.Bitmap, len(f.Fragments))
	list[fragment] = roaring.BitmapOf(0)
	return list
}
