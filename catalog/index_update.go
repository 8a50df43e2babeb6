package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jmoiron/sqlx"
)

// IndexUpdate is what a publication changes of the indexes of a head: the same
// world, the same base, other segments. Positions follow from it (package
// catalog/catchup); with Retire, generations that nothing needs any more are left
// out of the new head.
type IndexUpdate struct {
	// ReadRepresentation is what the job read, 0 for the expected head. What the
	// segments prove is proven of that one. The job retains it meanwhile
	// ([Catalog.RetainForJob]); of one that is gone, nothing is proven.
	ReadRepresentation int64
	// Indexes are those that change; the others keep their segments.
	Indexes []IndexSegments
	// Relied is every index that queries may rely on now, primary ones included. The
	// others leave the state.
	Relied []IndexRef
	// Retire leaves out the generations that are compacted, that every index of Relied
	// has caught up with whose table has records in them, and that are not in Held.
	// Without maintained positions nothing is.
	Retire bool
	// Held are objects that current roots still read rows from.
	Held []int64
}

// IndexSegments is the whole list of an index's segments, in order.
type IndexSegments struct {
	IndexRef
	Segments []SegmentRef
}

// SegmentRef is a segment and the fragments that it is to stand for: those of its
// seal, or fewer. No two segments of an index stand for the same one.
type SegmentRef struct {
	ObjectID  int64
	Fragments *roaring64.Bitmap // nil: those of the seal
}

func (u *IndexUpdate) check() error {
	var errs []error
	if u.ReadRepresentation != 0 {
		errs = append(errs, checkID("representation", u.ReadRepresentation))
	}
	relied := make(map[int64]int64, len(u.Relied))
	for _, r := range u.Relied {
		errs = append(errs, checkID("index", r.IndexID), checkID("table", r.TableID))
		if _, twice := relied[r.IndexID]; twice {
			errs = append(errs, refuse(CodeIndex, "", "index %d is relied on twice", r.IndexID))
		}
		relied[r.IndexID] = r.TableID
	}
	seen := make(map[int64]bool, len(u.Indexes))
	for _, x := range u.Indexes {
		if table, ok := relied[x.IndexID]; !ok || table != x.TableID {
			errs = append(errs, refuse(CodeIndex, "", "index %d of table %d has segments and is not relied on", x.IndexID, x.TableID))
		}
		if seen[x.IndexID] {
			errs = append(errs, refuse(CodeIndex, "", "index %d has two lists of segments", x.IndexID))
		}
		seen[x.IndexID] = true
		for _, s := range x.Segments {
			errs = append(errs, checkID("object", s.ObjectID))
		}
	}
	return errors.Join(errs...)
}

// request is the canonical text of a publication of indexes.
func (u *IndexUpdate) request(p *Publication) []byte {
	text := fmt.Appendf(nil, "index/1 timeline=%d revision=%d representation=%d read=%d retire=%t", p.TimelineID, p.ExpectedRevision, p.ExpectedRepresentation, u.ReadRepresentation, u.Retire)
	for _, x := range u.Indexes {
		text = fmt.Appendf(text, " index=%d:%d", x.IndexID, x.TableID)
		for _, s := range x.Segments {
			d := newDigest("segment-ref", [16]byte{})
			if s.Fragments != nil {
				for it := s.Fragments.Iterator(); it.HasNext(); {
					d.int(int64(it.Next()))
				}
			} else {
				d.null()
			}
			text = fmt.Appendf(text, ",%d:%x", s.ObjectID, d.sum())
		}
	}
	text = append(text, " relied="...)
	for _, r := range u.Relied {
		text = fmt.Appendf(text, "%d:%d,", r.IndexID, r.TableID)
	}
	return fmt.Appendf(text, " held=%s", idText(u.Held))
}

// readIndexUpdate checks a publication of indexes against the head.
func readIndexUpdate(ctx context.Context, q sqlx.QueryerContext, u *IndexUpdate, head *headRow, identity [16]byte) (*cut, error) {
	old, was, err := readHeadEntries(ctx, q, head, identity)
	if err != nil {
		return nil, err
	}
	before, err := readIndexState(ctx, q, identity, head.IndexStateID)
	if err != nil {
		return nil, err
	}
	after := before
	if after.Segments, err = u.segments(ctx, q, identity, &before); err != nil {
		return nil, err
	}
	read := u.ReadRepresentation
	if read == 0 {
		read = head.RepresentationID
	}
	c := &cut{whole: true, sum: head.ContributionSum}
	if err := c.derive(ctx, q, identity, head, old, before, after, read); err != nil {
		return nil, err
	}
	if u.Retire {
		if was.merged, err = c.retire(ctx, q, identity, u, head, was.merged); err != nil {
			return nil, err
		}
	}
	c.manifest = was.all()
	if c.state.ID == before.ID && len(c.retired) == 0 {
		return nil, refuse(CodeNothing, "", "the indexes of representation %d are what they are to be", head.RepresentationID)
	}
	return c, nil
}

// segments are those of the state to be: of the indexes that are relied on, the ones
// of the update or of the head.
func (u *IndexUpdate) segments(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, before *IndexState) ([]Segment, error) {
	given := make(map[int64]*IndexSegments, len(u.Indexes))
	var ids []int64
	for i := range u.Indexes {
		given[u.Indexes[i].IndexID] = &u.Indexes[i]
		for _, s := range u.Indexes[i].Segments {
			ids = append(ids, s.ObjectID)
		}
	}
	sealed, err := readSegments(ctx, q, identity, ids...)
	if err != nil {
		return nil, err
	}
	has := make(map[int64]bool, len(before.Segments))
	for i := range before.Segments {
		has[before.Segments[i].ObjectID] = true
	}
	var list []Segment
	named := make(map[int64]bool)
	for _, r := range u.Relied {
		x := given[r.IndexID]
		if x == nil {
			for i := range before.Segments {
				if s := &before.Segments[i]; s.IndexID == r.IndexID {
					if s.TableID != r.TableID {
						return nil, refuse(CodeIndex, "", "index %d is of table %d, not %d", r.IndexID, s.TableID, r.TableID)
					}
					list = append(list, *s)
				}
			}
			continue
		}
		all := roaring64.New()
		for _, ref := range x.Segments {
			s, err := ref.segment(sealed[ref.ObjectID], r, has[ref.ObjectID])
			if err != nil {
				return nil, err
			}
			if named[ref.ObjectID] {
				return nil, refuse(CodeIndex, "", "segment %d is named twice", ref.ObjectID)
			}
			named[ref.ObjectID] = true
			if all.Intersects(s.Fragments) {
				return nil, refuse(CodeIndex, "", "segment %d stands for fragments that another one of index %d stands for", ref.ObjectID, r.IndexID)
			}
			all.Or(s.Fragments)
			list = append(list, s)
		}
	}
	return list, nil
}

// segment checks a reference against what its object was sealed as.
func (r *SegmentRef) segment(row *segmentRow, index IndexRef, inHead bool) (Segment, error) {
	switch {
	case row == nil:
		return Segment{}, refuse(CodeIndex, "", "object %d is no sealed segment", r.ObjectID)
	case row.State != stateSealed:
		return Segment{}, refuse(CodeIndex, "", "segment %d is %s, must be sealed", r.ObjectID, row.State)
	case row.IndexID != index.IndexID || row.TableID != index.TableID:
		return Segment{}, refuse(CodeIndex, "", "segment %d is of index %d of table %d, not of index %d of table %d", r.ObjectID, row.IndexID, row.TableID, index.IndexID, index.TableID)
	case !inHead && !row.Rooted:
		return Segment{}, refuse(CodeIndex, "", "nothing roots segment %d", r.ObjectID)
	}
	s := row.segment()
	if r.Fragments != nil {
		if more := roaring64.AndNot(r.Fragments, s.Fragments); !more.IsEmpty() {
			return Segment{}, refuse(CodeIndex, "", "segment %d was not sealed over fragment %d", r.ObjectID, more.Minimum())
		}
		s.Fragments = r.Fragments.Clone()
	}
	return s, nil
}

// tablesOf returns the tables with records in generations, verified, by object. Of one
// that is not in the result nothing is known.
func tablesOf(ctx context.Context, q sqlx.QueryerContext, spans map[int64]*generationRow) (map[int64][]TableRecords, error) {
	ids := make([]int64, 0, len(spans))
	for id := range spans {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var rows []struct {
		ObjectID int64 `db:"object_id"`
		TableID  int64 `db:"table_id"`
		Records  int64 `db:"records"`
	}
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT object_id, table_id, records FROM generation_tables WHERE object_id IN (SELECT value FROM json_each(?))
		ORDER BY object_id, table_id`, idText(ids)); err != nil {
		return nil, err
	}
	found := make(map[int64][]TableRecords, len(ids))
	for _, r := range rows {
		found[r.ObjectID] = append(found[r.ObjectID], TableRecords{r.TableID, r.Records})
	}
	known := make(map[int64][]TableRecords, len(ids))
	for _, id := range ids {
		if spans[id].Tables == nil {
			if len(found[id]) > 0 {
				return nil, refuse(CodeCorrupt, "", "the tables of generation %d of shard %d are listed and were never sealed", spans[id].Generation, spans[id].ShardID)
			}
			continue
		}
		if err := checkDigest("tables of generation object", id, spans[id].Tables, tablesDigest(id, found[id])); err != nil {
			return nil, err
		}
		known[id] = found[id]
	}
	return known, nil
}

// tablesDigest is over the tables of a generation, which are in order. The digest of
// the generation covers it, and has the identity of the catalog.
func tablesDigest(objectID int64, tables []TableRecords) [32]byte {
	d := newDigest("generation-tables", [16]byte{})
	d.int(objectID)
	for _, t := range tables {
		d.int(t.TableID)
		d.int(t.Records)
	}
	return d.sum()
}
