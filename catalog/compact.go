package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/jmoiron/sqlx"
)

// Base is the state at one LSN as base objects. Published, they take the place of
// all that they cover in the head's manifest: its older base objects, and the
// generations whose commits are up to the LSN.
//
// With Steps, Live or Deleted it may keep base objects of the head, and the
// generations that it covers stay in the manifest, as retained ones, until an index
// publication retires them. Without any of these everything is replaced, and nothing
// is known of live rows.
type Base struct {
	LSN int64
	// Objects are the whole new base in the order of the manifest: new objects, of LSN,
	// first, of which the first begins with the schema, then those that it keeps of the
	// head, in their order.
	Objects []BaseContribution
	// Steps are, per shard, the newest generation that the base now contains; shards
	// without a new one are absent.
	Steps []ShardGeneration
	// Recipe names how the objects follow from what they replace, so that other
	// timelines that have the same may adopt them; "" when they may not.
	Recipe string
}

// BaseContribution is what a base object adds to the fingerprint of a world. All
// of them together must be what the replaced entries contributed.
type BaseContribution struct {
	ObjectID int64
	Sum      []byte // of its live rows; 16 bytes
	// Deleted are the ordinals of rows that are superseded, per fragment of the object;
	// nil: none. The nil slice: none at all. Of a kept object it has all that the head has.
	Deleted []*roaring.Bitmap
	// Live is what is left, per fragment: together they have the sum.
	Live []FragmentState
}

// FragmentState is what is live of a fragment.
type FragmentState struct {
	Rows int64
	Sum  []byte // of the live rows, 16 bytes; nil: unknown
}

// check refuses a base that is none.
func (b *Base) check() error {
	errs := []error{checkID("LSN", b.LSN)}
	if len(b.Objects) == 0 {
		errs = append(errs, refuse(CodeFragment, "", "a base without an object"))
	}
	seen := make(map[int64]bool, len(b.Objects))
	for _, o := range b.Objects {
		errs = append(errs, checkID("object", o.ObjectID))
		if len(o.Sum) != sumBytes {
			errs = append(errs, refuse(CodeEncoding, "", "the contribution of object %d has %d bytes, must have %d", o.ObjectID, len(o.Sum), sumBytes))
		}
		if seen[o.ObjectID] {
			errs = append(errs, refuse(CodeFragment, "", "object %d is in the base twice", o.ObjectID))
		}
		seen[o.ObjectID] = true
	}
	return errors.Join(errs...)
}

// request is the canonical text of a publication of a base.
func (b *Base) request(p *Publication) []byte {
	text := fmt.Appendf(nil, "compact/1 timeline=%d revision=%d representation=%d lsn=%d objects=", p.TimelineID, p.ExpectedRevision, p.ExpectedRepresentation, b.LSN)
	for i, o := range b.Objects {
		if i > 0 {
			text = append(text, ' ')
		}
		text = fmt.Appendf(text, "%d:%x", o.ObjectID, o.Sum)
	}
	return text
}

// readBase checks a base against the head: what it replaces, what is kept behind
// it, and that both have the same sum.
func readBase(ctx context.Context, q sqlx.QueryerContext, b *Base, head *headRow, identity [16]byte) (*cut, error) {
	old, err := readEntries(ctx, q, identity, head.RepresentationID, 0)
	if err != nil {
		return nil, err
	}
	if int64(len(old)) != head.EntryCount {
		return nil, refuse(CodeCorrupt, "", "representation %d declares %d entries and has %d", head.RepresentationID, head.EntryCount, len(old))
	}
	if b.LSN > head.LSN {
		return nil, refuse(CodeFragment, "", "the base is of LSN %d, the head has commits up to %d", b.LSN, head.LSN)
	}
	c := &cut{base: true, sum: head.ContributionSum}
	if c.replaced, err = c.keep(ctx, q, b, old, identity); err != nil {
		return nil, err
	}
	if err := c.readObjects(ctx, q, b, identity); err != nil {
		return nil, err
	}
	was, err := sumOf(emptySum, c.replaced)
	if err != nil {
		return nil, err
	}
	is, err := sumOf(emptySum, c.entries)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(was, is) {
		return nil, refuse(CodeSum, "", "the base adds up to %x, what it replaces to %x", is, was)
	}
	return c, nil
}

// keep parts the head's entries into those that a base replaces and those that
// stay behind it.
func (c *cut) keep(ctx context.Context, q sqlx.QueryerContext, b *Base, old []entryRow, identity [16]byte) (replaced []entryRow, err error) {
	spans, err := readSpans(ctx, q, identity, old)
	if err != nil {
		return nil, err
	}
	var bases []entryRow
	for _, e := range old {
		if e.Role == roleBase {
			bases = append(bases, e)
			replaced = append(replaced, e)
			continue
		}
		g := spans[e.ObjectID]
		switch {
		case e.Role != roleUpdate || g == nil:
			return nil, refuse(CodeCorrupt, "", "the head's entry of object %d is %s and of no generation", e.ObjectID, e.Role)
		case deref(g.LastLSN) <= b.LSN:
			replaced = append(replaced, e)
		case deref(g.FirstLSN) <= b.LSN:
			return nil, refuse(CodeFragment, "", "generation %d of shard %d has commits from %d to %d, the base is of LSN %d: it is no cut", g.Generation, g.ShardID, deref(g.FirstLSN), deref(g.LastLSN), b.LSN)
		default:
			c.kept = append(c.kept, e)
		}
	}
	_, lsn, err := baseFiles(ctx, q, identity, bases)
	if err != nil {
		return nil, err
	}
	if b.LSN < lsn {
		return nil, refuse(CodeFragment, "", "the base is of LSN %d, the head's of %d", b.LSN, lsn)
	}
	return replaced, nil
}

// readSpans returns the generations of update entries, by object.
func readSpans(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, entries []entryRow) (map[int64]*generationRow, error) {
	var ids []int64
	for i := range entries {
		if entries[i].Role == roleUpdate {
			ids = append(ids, entries[i].ObjectID)
		}
	}
	var rows []generationRow
	if err := sqlx.SelectContext(ctx, q, &rows, generationQuery+` WHERE g.object_id IN (SELECT value FROM json_each(?))`, idText(ids)); err != nil {
		return nil, err
	}
	spans := make(map[int64]*generationRow, len(rows))
	for i := range rows {
		if _, err := rows[i].verified(identity); err != nil {
			return nil, err
		}
		spans[rows[i].ObjectID] = &rows[i]
	}
	return spans, nil
}

// readObjects makes entries of the base's objects: sealed, registered and rooted,
// of its LSN, the first one beginning with the schema.
func (c *cut) readObjects(ctx context.Context, q sqlx.QueryerContext, b *Base, identity [16]byte) error {
	ids := make([]int64, len(b.Objects))
	for i := range b.Objects {
		ids[i] = b.Objects[i].ObjectID
	}
	fragments, err := readFragments(ctx, q, identity, ids...)
	if err != nil {
		return err
	}
	for i, o := range b.Objects {
		rows := fragments[o.ObjectID]
		switch {
		case len(rows) == 0:
			return refuse(CodeFragment, "", "object %d is no sealed base object", o.ObjectID)
		case rows[0].State != "sealed" || rows[0].BlobID == nil:
			return refuse(CodeFragment, "", "object %d is %s, must be sealed and registered", o.ObjectID, rows[0].State)
		case !rows[0].Rooted:
			return refuse(CodeFragment, "", "nothing roots object %d", o.ObjectID)
		case rows[0].LSN != b.LSN:
			return refuse(CodeFragment, "", "object %d is of LSN %d, the base of %d", o.ObjectID, rows[0].LSN, b.LSN)
		}
		for j := range rows {
			if schema := rows[j].TableID == 0; schema != (i == 0 && j == 0) {
				return refuse(CodeFragment, "", "fragment %d of object %d, number %d of the base, is of table %d: the schema, 0, comes first and once", j, o.ObjectID, i, rows[j].TableID)
			}
		}
		c.entries = append(c.entries, entryRow{FactorID: o.ObjectID, BlobID: *rows[0].BlobID, Role: roleBase, Contribution: o.Sum, Layout: layoutNative, ObjectID: o.ObjectID})
	}
	return nil
}

// checkBase verifies the candidate of a base: the new entries, those that the
// head keeps, and nothing else.
func (a *Attempting) checkBase(ctx context.Context, tx *writeTx, head, next *headRow, cut *cut) error {
	if next.WorldID != head.WorldID || next.IndexStateID != head.IndexStateID {
		return refuse(CodeCorrupt, "", "representation %d is of world %d and index state %d, the head of %d and %d",
			a.candidate, next.WorldID, next.IndexStateID, head.WorldID, head.IndexStateID)
	}
	entries, err := readEntries(ctx, tx, a.c.identity(), a.candidate, 0)
	if err != nil {
		return err
	}
	want := len(cut.entries) + len(cut.kept)
	if len(entries) != want || next.EntryCount != int64(want) {
		return refuse(CodeManifest, "", "representation %d declares %d entries and has %d, base and kept entries are %d", a.candidate, next.EntryCount, len(entries), want)
	}
	for i := range entries {
		expected := cut.entry(i)
		if !entries[i].equal(expected) {
			return refuse(CodeCorrupt, "", "entry %d of representation %d is of factor %d, must be of %d as it was prepared", i, a.candidate, entries[i].FactorID, expected.FactorID)
		}
	}
	sum, err := sumOf(emptySum, entries)
	if err != nil {
		return err
	}
	if !bytes.Equal(sum, next.ContributionSum) || !bytes.Equal(sum, head.Fingerprint) {
		return refuse(CodeSum, "", "the entries of representation %d add up to %x, not to %x", a.candidate, sum, head.Fingerprint)
	}
	return checkFactors(ctx, tx, a.candidate, 0)
}

// entry is number i of the manifest that a base makes.
func (c *cut) entry(i int) *entryRow {
	if i < len(c.entries) {
		return &c.entries[i]
	}
	return &c.kept[i-len(c.entries)]
}

// layManifest gives representation to a manifest of new entries and kept ones of
// another one. Chunks at its end of which all is kept are shared; the rest is
// copied, so what a compaction writes does not depend on how much it keeps.
func layManifest(ctx context.Context, tx *writeTx, identity [16]byte, from, to int64, entries, kept []entryRow) error {
	var refs []chunkRef
	if err := tx.SelectContext(ctx, &refs, `SELECT ordinal, chunk_id, entries, first_position FROM representation_chunks
		WHERE representation_id = ? ORDER BY ordinal`, from); err != nil {
		return err
	}
	shared := len(refs)
	for shared > 0 {
		n := int(refs[shared-1].Entries)
		if n > len(kept) || kept[len(kept)-n].ChunkID != refs[shared-1].ChunkID || kept[len(kept)-n].Position != 0 {
			break
		}
		kept = kept[:len(kept)-n]
		shared--
	}
	all := append(append(make([]entryRow, 0, len(entries)+len(kept)), entries...), kept...)
	if err := appendManifest(ctx, tx, identity, 0, to, all); err != nil {
		return err
	}
	position, ordinal := int64(len(all)), int64((len(all)+chunkEntries-1)/chunkEntries)
	for _, r := range refs[shared:] {
		if _, err := tx.ExecContext(ctx, `INSERT INTO representation_chunks(representation_id, ordinal, chunk_id, entries, first_position) VALUES (?, ?, ?, ?, ?)`,
			to, ordinal, r.ChunkID, r.Entries, position); err != nil {
			return err
		}
		position += r.Entries
		ordinal++
	}
	return nil
}
