package catalog

import (
	"context"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/jmoiron/sqlx"
)

// BaseFile is a base object that the head contains: together they hold the rows
// of one state, table after table, in row id order.
type BaseFile struct {
	ObjectID        int64
	Path            string // below the store directory, with forward slashes
	Attempt         [16]byte
	LSN             int64 // the state
	Records         int64 // of all fragments
	ByteExtent      int64
	ContentID       [32]byte
	IntegrityDigest [32]byte
	Fingerprint     []byte // sum of its rows
	Sum             []byte // what it contributes to the world's fingerprint
	Fragments       []Fragment

	// All parallel to Fragments.
	FragmentIDs []int64
	Deleted     []*roaring.Bitmap // ordinals of rows that are superseded; nil: none
	Live        []FragmentState   // where nothing was recorded: all rows, of an unknown sum
}

// baseObjectRow is what the catalog knows of an object that is, or may become, a
// base object.
type baseObjectRow struct {
	Kind            string `db:"kind"`
	Path            string `db:"relative_path"`
	Attempt         []byte `db:"attempt_id"`
	State           string `db:"state"`
	Revision        int64  `db:"lifecycle_revision"`
	ByteExtent      *int64 `db:"byte_extent"`
	ContentID       []byte `db:"content_id"`
	IntegrityDigest []byte `db:"integrity_digest"`
	Fingerprint     []byte `db:"native_fingerprint"`
	BlobID          *int64 `db:"blob_id"`    // nil until it is registered
	Rooted          bool   `db:"rooted"`     // it, or its blob
	Generation      bool   `db:"generation"` // it is one of the log instead
}

const baseObjectColumns = `o.kind, o.relative_path, o.attempt_id, o.state, o.lifecycle_revision, o.byte_extent, o.content_id, o.integrity_digest, o.native_fingerprint,
	(SELECT b.blob_id FROM blob_versions b WHERE b.native_object_id = o.object_id AND b.index_object_id IS NULL AND b.layout = 'native') AS blob_id,
	(EXISTS (SELECT 1 FROM owner_objects x WHERE x.object_id = o.object_id)
		OR EXISTS (SELECT 1 FROM blob_versions b JOIN owner_blobs x ON x.blob_id = b.blob_id WHERE b.native_object_id = o.object_id)) AS rooted,
	EXISTS (SELECT 1 FROM generations g WHERE g.object_id = o.object_id) AS generation`

// getBaseObject returns nil when there is no such object.
func getBaseObject(ctx context.Context, q sqlx.QueryerContext, id int64) (*baseObjectRow, error) {
	var rows []baseObjectRow
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT `+baseObjectColumns+` FROM objects o WHERE o.object_id = ?`, id); err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// fragmentRow is a fragment with the object that holds it.
type fragmentRow struct {
	ID        int64  `db:"fragment_id"`
	ObjectID  int64  `db:"object_id"`
	Ordinal   int64  `db:"ordinal"`
	TableID   int64  `db:"table_id"`
	LSN       int64  `db:"lsn"`
	Rows      int64  `db:"rows"`
	Digest    []byte `db:"digest"`
	Fragments int64  `db:"fragments"` // how many the object has
	baseObjectRow
}

// digest covers the seal of the object and how many fragments it has, so that
// none can be missing.
func (r *fragmentRow) digest(identity [16]byte) [32]byte {
	d := newDigest("fragment", identity)
	d.int(r.ID)
	d.int(r.ObjectID)
	d.int(r.Ordinal)
	d.int(r.TableID)
	d.int(r.LSN)
	d.int(r.Rows)
	d.int(r.Fragments)
	d.text(r.Kind)
	d.text(r.Path)
	d.bytes(r.Attempt)
	d.optional(r.ByteExtent)
	d.bytes(r.ContentID)
	d.bytes(r.IntegrityDigest)
	d.bytes(r.Fingerprint)
	return d.sum()
}

const fragmentQuery = `SELECT f.fragment_id, f.object_id, f.ordinal, f.table_id, f.lsn, f.rows, f.digest,
		(SELECT count(*) FROM fragments n WHERE n.object_id = f.object_id) AS fragments, ` + baseObjectColumns + `
	FROM fragments f JOIN objects o ON o.object_id = f.object_id`

// readFragments returns the fragments of objects in their order, by object. Each
// has its digest; one object has fragments of one LSN, without a gap.
func readFragments(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, objects ...int64) (map[int64][]fragmentRow, error) {
	var rows []fragmentRow
	if err := sqlx.SelectContext(ctx, q, &rows, fragmentQuery+` WHERE f.object_id IN (SELECT value FROM json_each(?)) ORDER BY f.object_id, f.ordinal`, idText(objects)); err != nil {
		return nil, err
	}
	by := make(map[int64][]fragmentRow, len(objects))
	for i := range rows {
		r := &rows[i]
		if err := r.verify(identity, by[r.ObjectID]); err != nil {
			return nil, err
		}
		by[r.ObjectID] = append(by[r.ObjectID], *r)
	}
	return by, nil
}

// FragmentIDs returns the ids of the fragments of sealed base objects, in their
// order, by object. An object without any is an [ErrNotFound].
func (c *Catalog) FragmentIDs(ctx context.Context, objectIDs ...int64) (map[int64][]int64, error) {
	ids := make(map[int64][]int64, len(objectIDs))
	err := c.read(ctx, "fragment-ids", func(ctx context.Context, tx *sqlx.Tx) error {
		clear(ids)
		rows, err := readFragments(ctx, tx, c.identity(), objectIDs...)
		if err != nil {
			return err
		}
		for _, id := range objectIDs {
			if len(rows[id]) == 0 {
				return refuse(CodeUnknown, "", "object %d is no sealed base object", id)
			}
			list := make([]int64, len(rows[id]))
			for i := range rows[id] {
				list[i] = rows[id][i].ID
			}
			ids[id] = list
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// verify checks a fragment against its digest, its object and the ones before it.
func (r *fragmentRow) verify(identity [16]byte, before []fragmentRow) error {
	if err := checkDigest("fragment", r.ID, r.Digest, r.digest(identity)); err != nil {
		return err
	}
	switch {
	case r.Path != ObjectPath(r.ObjectID, KindKV):
		return refuse(CodeCorrupt, "", "object %d has path %q, must be %q", r.ObjectID, r.Path, ObjectPath(r.ObjectID, KindKV))
	case r.Generation:
		return refuse(CodeCorrupt, "", "object %d is a generation and has fragments", r.ObjectID)
	case r.ContentID == nil:
		return refuse(CodeCorrupt, "", "object %d has fragments and was never sealed", r.ObjectID)
	case r.Ordinal != int64(len(before)):
		return refuse(CodeCorrupt, "", "object %d has no fragment %d", r.ObjectID, len(before))
	case len(before) > 0 && before[0].LSN != r.LSN:
		return refuse(CodeCorrupt, "", "object %d has fragments of LSN %d and %d", r.ObjectID, before[0].LSN, r.LSN)
	}
	return nil
}

// idText spells ids for json_each: a text that does not change with their number
// stays compiled.
func idText(ids []int64) string {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// baseFiles puts the objects of a base together, in the order of their entries. The
// newest come first, and what they contain is the state at their LSN: it begins with
// the schema of the whole. Those behind them are kept ones of older bases; what one
// of these begins with of a schema is superseded.
func baseFiles(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, entries []entryRow) (files []BaseFile, lsn int64, err error) {
	if len(entries) == 0 {
		return nil, 0, nil
	}
	ids := make([]int64, len(entries))
	for i := range entries {
		ids[i] = entries[i].ObjectID
	}
	fragments, err := readFragments(ctx, q, identity, ids...)
	if err != nil {
		return nil, 0, err
	}
	for i := range entries {
		e := &entries[i]
		rows := fragments[e.ObjectID]
		if len(rows) == 0 {
			return nil, 0, refuse(CodeCorrupt, "", "the base has object %d, which has no fragments", e.ObjectID)
		}
		if e.Layout != layoutNative || e.FactorID != e.ObjectID {
			return nil, 0, refuse(CodeCorrupt, "", "the entry of base object %d is of factor %d, a blob of layout %q", e.ObjectID, e.FactorID, e.Layout)
		}
		f := rows[0].file(rows)
		f.Sum = e.Contribution
		if lsn == 0 {
			lsn = f.LSN
		}
		if i > 0 && (f.LSN > files[i-1].LSN || f.LSN < lsn && len(e.live) == 0) {
			return nil, 0, refuse(CodeCorrupt, "", "the base has objects of LSN %d and %d, in this order, and must say what is live of an older one", files[i-1].LSN, f.LSN)
		}
		for j, r := range f.Fragments {
			schema := r.TableID == 0
			if i == 0 && schema != (j == 0) || schema && (j > 0 || f.LSN == lsn && i > 0 && len(e.live) == 0) {
				return nil, 0, refuse(CodeCorrupt, "", "fragment %d of object %d, number %d of the base, is of table %d: the schema, 0, comes first and once", j, f.ObjectID, i, r.TableID)
			}
		}
		if err := f.fill(e); err != nil {
			return nil, 0, err
		}
		files = append(files, f)
	}
	return files, lsn, nil
}

// file is the object that rows are the fragments of.
func (r *fragmentRow) file(rows []fragmentRow) BaseFile {
	f := BaseFile{ObjectID: r.ObjectID, Path: r.Path, LSN: r.LSN, ByteExtent: deref(r.ByteExtent), Fingerprint: r.Fingerprint}
	copy(f.Attempt[:], r.Attempt)
	copy(f.ContentID[:], r.ContentID)
	copy(f.IntegrityDigest[:], r.IntegrityDigest)
	for i := range rows {
		f.Records += rows[i].Rows
		f.Fragments = append(f.Fragments, Fragment{rows[i].TableID, rows[i].Rows})
		f.FragmentIDs = append(f.FragmentIDs, rows[i].ID)
		f.Deleted = append(f.Deleted, nil)
		f.Live = append(f.Live, FragmentState{Rows: rows[i].Rows})
	}
	return f
}
