package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

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
	shards := make(map[int64]bool, len(b.Steps))
	for _, g := range b.Steps {
		errs = append(errs, checkID("shard", g.ShardID), checkID("generation", g.Generation))
		if shards[g.ShardID] {
			errs = append(errs, refuse(CodeIndex, "", "the base names two newest generations of shard %d", g.ShardID))
		}
		shards[g.ShardID] = true
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

// incremental reports whether the base says what it contains of the log and what is
// live of its objects. One that does not replaces everything.
func (b *Base) incremental() bool {
	return len(b.Steps) > 0 || slices.ContainsFunc(b.Objects, func(o BaseContribution) bool { return o.Deleted != nil || o.Live != nil })
}

// request is the canonical text of a publication of a base.
func (b *Base) request(p *Publication) []byte {
	text := fmt.Appendf(nil, "compact/1 timeline=%d revision=%d representation=%d lsn=%d objects=", p.TimelineID, p.ExpectedRevision, p.ExpectedRepresentation, b.LSN)
	for i, o := range b.Objects {
		if i > 0 {
			text = append(text, ' ')
		}
		text = fmt.Appendf(text, "%d:%x", o.ObjectID, o.Sum)
		if o.Deleted != nil || o.Live != nil {
			text = fmt.Appendf(text, ":%x", o.digest())
		}
	}
	for i, g := range b.Steps {
		text = fmt.Appendf(text, "%s%d:%d", [2]string{" ", " steps="}[b2i(i == 0)], g.ShardID, g.Generation)
	}
	return text
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// digest is over vectors and live rows.
func (o *BaseContribution) digest() [32]byte {
	d := newDigest("base-contribution", [16]byte{})
	for _, v := range o.Deleted {
		text, err := encodeDeleted(v)
		if text == nil || err != nil {
			d.null()
			continue
		}
		d.bytes(text)
	}
	for _, l := range o.Live {
		d.int(l.Rows)
		d.bytes(l.Sum)
	}
	return d.sum()
}

// readBase checks a base against the head: what it replaces, what it keeps, and that
// both have the same sum.
func readBase(ctx context.Context, q sqlx.QueryerContext, b *Base, head *headRow, identity [16]byte) (*cut, error) {
	old, was, err := readHeadEntries(ctx, q, head, identity)
	if err != nil {
		return nil, err
	}
	if b.LSN > head.LSN {
		return nil, refuse(CodeFragment, "", "the base is of LSN %d, the head has commits up to %d", b.LSN, head.LSN)
	}
	before, err := readIndexState(ctx, q, identity, head.IndexStateID)
	if err != nil {
		return nil, err
	}
	c := &cut{whole: true, sum: head.ContributionSum}
	files, lsn, err := baseFiles(ctx, q, identity, was.bases)
	if err != nil {
		return nil, err
	}
	if b.LSN < lsn {
		return nil, refuse(CodeFragment, "", "the base is of LSN %d, the head's of %d", b.LSN, lsn)
	}
	now := parts{merged: was.merged}
	c.replaced = slices.Clone(was.bases)
	after := before
	spans, err := readSpans(ctx, q, identity, was.updates)
	if err != nil {
		return nil, err
	}
	if b.incremental() {
		if after.Compacted, err = b.advance(before.Compacted, was.updates, spans); err != nil {
			return nil, err
		}
	}
	if err := c.cover(b, &now, was.updates, spans); err != nil {
		return nil, err
	}
	if err := c.readObjects(ctx, q, b, was.bases, files, &now, identity); err != nil {
		return nil, err
	}
	covered, err := sumOf(emptySum, c.replaced)
	if err != nil {
		return nil, err
	}
	is, err := sumOf(emptySum, now.bases)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(covered, is) {
		return nil, refuse(CodeSum, "", "the base adds up to %x, what it replaces to %x", is, covered)
	}
	after.leave(files, now.bases)
	c.manifest = now.all()
	c.shareable = len(c.entries) == len(now.bases) && len(now.updates) == 0
	return c, c.derive(ctx, q, identity, head, old, before, after, head.RepresentationID)
}

// readHeadEntries reads the whole manifest of a head.
func readHeadEntries(ctx context.Context, q sqlx.QueryerContext, head *headRow, identity [16]byte) ([]entryRow, parts, error) {
	old, err := readEntries(ctx, q, identity, head.RepresentationID, 0)
	if err != nil {
		return nil, parts{}, err
	}
	if int64(len(old)) != head.EntryCount {
		return nil, parts{}, refuse(CodeCorrupt, "", "representation %d declares %d entries and has %d", head.RepresentationID, head.EntryCount, len(old))
	}
	p, err := split(head.RepresentationID, old)
	return old, p, err
}

// all are the entries of a manifest in its order.
func (p *parts) all() []entryRow {
	return slices.Concat(p.bases, p.merged, p.updates)
}

// advance returns the progress that the steps of a base lead to. Each is strictly
// greater than what is recorded, and a generation of the head that the base contains.
func (b *Base) advance(compacted []ShardGeneration, updates []entryRow, spans map[int64]*generationRow) ([]ShardGeneration, error) {
	has := make(map[ShardGeneration]bool, len(updates))
	for i := range updates {
		if g := spans[updates[i].ObjectID]; g != nil && deref(g.LastLSN) <= b.LSN {
			has[ShardGeneration{g.ShardID, g.Generation}] = true
		}
	}
	next := slices.Clone(compacted)
	for _, s := range b.Steps {
		i := slices.IndexFunc(next, func(c ShardGeneration) bool { return c.ShardID == s.ShardID })
		if i >= 0 && next[i].Generation >= s.Generation {
			return nil, refuse(CodeIndex, "", "shard %d is compacted up to generation %d already, not to be up to %d: the step is stale", s.ShardID, next[i].Generation, s.Generation)
		}
		if !has[s] {
			return nil, refuse(CodeIndex, "", "the head has no generation %d of shard %d to be read up to LSN %d", s.Generation, s.ShardID, b.LSN)
		}
		if i < 0 {
			next = append(next, s)
		} else {
			next[i] = s
		}
	}
	return next, nil
}

// cover parts the generations of the head: those that the base covers are retained
// when it says so by its steps, else they leave; the others stay behind it.
func (c *cut) cover(b *Base, now *parts, updates []entryRow, spans map[int64]*generationRow) error {
	steps := make(map[int64]int64, len(b.Steps))
	for _, s := range b.Steps {
		steps[s.ShardID] = s.Generation
	}
	now.merged = slices.Clip(now.merged)
	incremental := b.incremental()
	for _, e := range updates {
		g := spans[e.ObjectID]
		if e.Role != roleUpdate || g == nil {
			return refuse(CodeCorrupt, "", "the head's entry of object %d is %s and of no generation", e.ObjectID, e.Role)
		}
		first, last := deref(g.FirstLSN), deref(g.LastLSN)
		covered := last <= b.LSN
		if incremental {
			covered = g.Generation <= steps[g.ShardID]
		}
		switch {
		case covered && last > b.LSN, !covered && !incremental && first <= b.LSN:
			return refuse(CodeFragment, "", "generation %d of shard %d has commits from %d to %d, the base is of LSN %d: it is no cut", g.Generation, g.ShardID, first, last, b.LSN)
		case !covered && first <= b.LSN:
			return refuse(CodeIndex, "", "generation %d of shard %d has commits from %d to %d, the base is of LSN %d and no step covers it", g.Generation, g.ShardID, first, last, b.LSN)
		case !covered:
			now.updates = append(now.updates, e)
			continue
		}
		c.replaced = append(c.replaced, e)
		if incremental {
			now.merged = append(now.merged, entryRow{FactorID: e.FactorID, BlobID: e.BlobID, Role: roleMerged, Contribution: emptySum, Layout: e.Layout, ObjectID: e.ObjectID})
		}
	}
	return nil
}

// readSpans returns the generations of entries that are none of a base, by object.
func readSpans(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, entries []entryRow) (map[int64]*generationRow, error) {
	ids := make([]int64, len(entries))
	for i := range entries {
		ids[i] = entries[i].ObjectID
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

// readObjects makes entries of the base's objects: new ones, sealed, registered and
// rooted, of its LSN, the first one beginning with the schema; then those of the head
// that are kept, in their order there.
func (c *cut) readObjects(ctx context.Context, q sqlx.QueryerContext, b *Base, bases []entryRow, files []BaseFile, now *parts, identity [16]byte) error {
	ids := make([]int64, len(b.Objects))
	for i := range b.Objects {
		ids[i] = b.Objects[i].ObjectID
	}
	fragments, err := readFragments(ctx, q, identity, ids...)
	if err != nil {
		return err
	}
	incremental := b.incremental()
	place := -1 // in the head, of the last one that is kept
	for i := range b.Objects {
		o := &b.Objects[i]
		rows := fragments[o.ObjectID]
		kept := -1
		if incremental {
			kept = slices.IndexFunc(bases, func(e entryRow) bool { return e.ObjectID == o.ObjectID })
		}
		switch {
		case kept < 0:
			if place >= 0 {
				return refuse(CodeFragment, "", "object %d is not in the head's base and behind one that is", o.ObjectID)
			}
			if err := checkNew(b, i, rows); err != nil {
				return err
			}
		case i == 0:
			return refuse(CodeFragment, "", "object %d is the head's; a base begins with a new object, which has the schema", o.ObjectID)
		case kept <= place:
			return refuse(CodeFragment, "", "object %d is kept out of the head's order", o.ObjectID)
		default:
			place = kept
		}
		e := entryRow{FactorID: o.ObjectID, BlobID: *rows[0].BlobID, Role: roleBase, Contribution: o.Sum, Layout: layoutNative, ObjectID: o.ObjectID}
		if incremental {
			var was *BaseFile
			if kept >= 0 {
				was = &files[kept]
			}
			if e.live, err = o.liveRows(rows, was); err != nil {
				return err
			}
		}
		now.bases = append(now.bases, e)
		if kept < 0 {
			c.entries = append(c.entries, e)
		}
	}
	return nil
}

// checkNew checks object number i of a base, which is none of the head's.
func checkNew(b *Base, i int, rows []fragmentRow) error {
	id := b.Objects[i].ObjectID
	switch {
	case len(rows) == 0:
		return refuse(CodeFragment, "", "object %d is no sealed base object", id)
	case rows[0].State != "sealed" || rows[0].BlobID == nil:
		return refuse(CodeFragment, "", "object %d is %s, must be sealed and registered", id, rows[0].State)
	case !rows[0].Rooted:
		return refuse(CodeFragment, "", "nothing roots object %d", id)
	case rows[0].LSN != b.LSN:
		return refuse(CodeFragment, "", "object %d is of LSN %d, the base of %d", id, rows[0].LSN, b.LSN)
	}
	for j := range rows {
		if schema := rows[j].TableID == 0; schema != (i == 0 && j == 0) {
			return refuse(CodeFragment, "", "fragment %d of object %d, number %d of the base, is of table %d: the schema, 0, comes first and once", j, id, i, rows[j].TableID)
		}
	}
	return nil
}

// liveRows checks what a base says of the fragments of an object, and against what
// the head says of a kept one.
func (o *BaseContribution) liveRows(rows []fragmentRow, was *BaseFile) ([]liveRow, error) {
	if len(o.Live) != len(rows) || o.Deleted != nil && len(o.Deleted) != len(rows) {
		return nil, refuse(CodeFragment, "", "object %d has %d fragments; the base says what is live of %d, and what is deleted of %d", o.ObjectID, len(rows), len(o.Live), len(o.Deleted))
	}
	list := make([]liveRow, len(rows))
	sum, known := emptySum, true
	for i := range rows {
		var deleted, before *roaring.Bitmap
		if o.Deleted != nil {
			deleted = o.Deleted[i]
		}
		live := o.Live[i]
		if err := checkLive(o.ObjectID, i, rows[i].Rows, live, deleted); err != nil {
			return nil, err
		}
		if was != nil {
			before = was.Deleted[i]
		}
		if before != nil && (deleted == nil || roaring.AndNot(before, deleted).GetCardinality() > 0) {
			return nil, refuse(CodeFragment, "", "fragment %d of object %d: rows that are deleted in the head are not in the base", i, o.ObjectID)
		}
		if was != nil && was.Live[i].Rows == live.Rows && was.Live[i].Sum != nil && live.Sum != nil && !bytes.Equal(was.Live[i].Sum, live.Sum) {
			return nil, refuse(CodeSum, "", "fragment %d of object %d has the rows that it had, and other contributions", i, o.ObjectID)
		}
		text, err := encodeDeleted(deleted)
		if err != nil {
			return nil, err
		}
		list[i] = liveRow{Ordinal: int64(i), Rows: live.Rows, Sum: live.Sum, Deleted: text}
		if known = known && live.Sum != nil; known {
			if sum, err = addSums(sum, live.Sum); err != nil {
				return nil, err
			}
		}
	}
	if known && !bytes.Equal(sum, o.Sum) {
		return nil, refuse(CodeSum, "", "the fragments of object %d add up to %x, it contributes %x", o.ObjectID, sum, o.Sum)
	}
	return list, nil
}

// checkWhole verifies a candidate that is of the head's world: its manifest is what
// was prepared, entry by entry.
func (a *Attempting) checkWhole(ctx context.Context, tx *writeTx, head, next *headRow, cut *cut) error {
	if next.WorldID != head.WorldID {
		return refuse(CodeCorrupt, "", "representation %d is of world %d, the head of %d", a.candidate, next.WorldID, head.WorldID)
	}
	entries, err := readEntries(ctx, tx, a.c.identity(), a.candidate, 0)
	if err != nil {
		return err
	}
	want := len(cut.manifest)
	if len(entries) != want || next.EntryCount != int64(want) {
		return refuse(CodeManifest, "", "representation %d declares %d entries and has %d, it was to have %d", a.candidate, next.EntryCount, len(entries), want)
	}
	for i := range entries {
		if expected := &cut.manifest[i]; !entries[i].equal(expected) {
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

// layManifest gives a representation a manifest that has entries of another one: those
// have their chunk and position there, new ones have none. What it begins with as the
// other one does, and chunks at its end of which all is kept, is shared; the rest
// is copied, so what a compaction writes does not depend on how much it keeps.
func layManifest(ctx context.Context, tx *writeTx, identity [16]byte, from, to int64, entries []entryRow) error {
	var refs []chunkRef
	if err := tx.SelectContext(ctx, &refs, `SELECT ordinal, chunk_id, entries, first_position FROM representation_chunks
		WHERE representation_id = ? ORDER BY ordinal`, from); err != nil {
		return err
	}
	next := chunkRef{} // ordinal and position of the reference to come
	begin := 0
	for begin < len(refs) {
		n := refs[begin].shared(entries[next.FirstPosition:])
		if n > 0 {
			if err := next.refer(ctx, tx, to, refs[begin].ChunkID, n); err != nil {
				return err
			}
			begin++
		}
		if n == 0 || n < refs[begin-1].Entries {
			break
		}
	}
	end, last := len(refs), int64(len(entries))
	for end > begin {
		n := refs[end-1].Entries
		if last-n < next.FirstPosition || refs[end-1].shared(entries[last-n:]) < n {
			break
		}
		last -= n
		end--
	}
	if err := next.lay(ctx, tx, identity, to, entries[next.FirstPosition:last]); err != nil {
		return err
	}
	for _, r := range refs[end:] {
		if err := next.refer(ctx, tx, to, r.ChunkID, r.Entries); err != nil {
			return err
		}
	}
	return nil
}

// shared is how many of entries are the first ones of a reference.
func (r *chunkRef) shared(entries []entryRow) (n int64) {
	for n < r.Entries && n < int64(len(entries)) && entries[n].ChunkID == r.ChunkID && entries[n].Position == n {
		n++
	}
	return n
}

// refer inserts a reference and goes on behind it.
func (r *chunkRef) refer(ctx context.Context, tx *writeTx, to, chunk, n int64) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO representation_chunks(representation_id, ordinal, chunk_id, entries, first_position) VALUES (?, ?, ?, ?, ?)`,
		to, r.Ordinal, chunk, n, r.FirstPosition); err != nil {
		return fmt.Errorf("representation_chunks: %w", err)
	}
	r.Ordinal++
	r.FirstPosition += n
	return nil
}

// lay inserts entries in chunks of their own and refers to them.
func (r *chunkRef) lay(ctx context.Context, tx *writeTx, identity [16]byte, to int64, entries []entryRow) error {
	insert, err := tx.PreparexContext(ctx, insertEntry)
	if err != nil {
		return err
	}
	defer insert.Close()
	for chunk := range slices.Chunk(entries, chunkEntries) {
		id, err := tx.newID(ctx)
		if err != nil {
			return err
		}
		for i := range chunk {
			e := chunk[i] // the caller's has its place in the other manifest
			e.live = slices.Clone(e.live)
			e.ChunkID, e.Position = id, int64(i)
			if err := e.insert(ctx, tx, insert, identity); err != nil {
				return err
			}
		}
		if err := r.refer(ctx, tx, to, id, int64(len(chunk))); err != nil {
			return err
		}
	}
	return nil
}
