package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jmoiron/sqlx"
)

// SegmentSeal describes an index segment whose file is complete, synced and named.
type SegmentSeal struct {
	ObjectID  int64
	ContentID [32]byte // SHA-256 over kind, policy, extent and all bytes up to extent
	Digest    [32]byte // the footer's
	Extent    int64    // bytes
	IndexRef
	Fragments *roaring64.Bitmap // ids of the fragments of the table that it covers
	Entries   int64
}

// ReserveSegment commits the identity of an index object that a running job will
// write, before its file exists. The job's owner roots it (purpose output) until the
// job ends, as with [Catalog.ReserveObject].
func (c *Catalog) ReserveSegment(ctx context.Context, jobID int64) (Reservation, error) {
	return c.reserveOutput(ctx, "reserve-segment", jobID, KindIndex)
}

func (s *SegmentSeal) check() error {
	errs := []error{checkID("object", s.ObjectID), checkCounter("extent", s.Extent), checkID("index", s.IndexID), checkID("table", s.TableID), checkCounter("entries", s.Entries)}
	if s.Fragments == nil {
		errs = append(errs, refuse(CodeIndex, "", "segment %d does not say which fragments it covers", s.ObjectID))
	}
	return errors.Join(errs...)
}

// SealSegment records, in one transaction, that both barriers of the file completed
// (receipt), that the object is sealed, and what it covers: fragments of its table
// that exist. The caller has synced the file and its directory. Sealing again with the
// same values changes nothing; with others it is refused.
func (c *Catalog) SealSegment(ctx context.Context, s SegmentSeal) error {
	return c.write(ctx, "seal-segment", func(ctx context.Context, tx *writeTx) error {
		if err := s.check(); err != nil {
			return err
		}
		row, err := getBaseObject(ctx, tx, s.ObjectID)
		switch {
		case err != nil:
			return err
		case row == nil:
			return refuse(CodeUnknown, "", "no object %d", s.ObjectID)
		case row.Kind != KindIndex:
			return refuse(CodeIndex, "", "object %d is no index", s.ObjectID)
		case row.State == stateSealed:
			return c.segmentSealedAlready(ctx, tx, &s)
		case row.State != stateReserved:
			return refuse(CodeState, "", "object %d is %s, must be reserved", s.ObjectID, row.State)
		case !row.Rooted:
			return refuse(CodeAcquire, "", "nothing roots object %d any more", s.ObjectID)
		}
		if err := checkCovered(ctx, tx, &s); err != nil {
			return err
		}
		return c.sealSegment(ctx, tx, row, &s)
	})
}

// checkCovered refuses fragments that are not of the segment's table.
func checkCovered(ctx context.Context, tx *writeTx, s *SegmentSeal) error {
	var n uint64
	if err := tx.GetContext(ctx, &n, `SELECT count(*) FROM json_each(?) j CROSS JOIN fragments f ON f.fragment_id = j.value AND f.table_id = ?`,
		idText(idsOfSet(s.Fragments)), s.TableID); err != nil {
		return err
	}
	if want := s.Fragments.GetCardinality(); n != want {
		return refuse(CodeIndex, "", "segment %d covers %d fragments, of which %d are of table %d", s.ObjectID, want, n, s.TableID)
	}
	return nil
}

func idsOfSet(b *roaring64.Bitmap) []int64 {
	list := make([]int64, 0, b.GetCardinality())
	for it := b.Iterator(); it.HasNext(); {
		list = append(list, int64(it.Next()))
	}
	return list
}

func (c *Catalog) segmentSealedAlready(ctx context.Context, tx *writeTx, s *SegmentSeal) error {
	rows, err := readSegments(ctx, tx, c.identity(), s.ObjectID)
	if err != nil {
		return err
	}
	r := rows[s.ObjectID]
	if r == nil || deref(r.ByteExtent) != s.Extent || !bytes.Equal(r.ContentID, s.ContentID[:]) || !bytes.Equal(r.IntegrityDigest, s.Digest[:]) ||
		r.IndexID != s.IndexID || r.TableID != s.TableID || r.Entries != s.Entries || !r.fragments.Equals(s.Fragments) {
		return refuse(CodeImmutable, "", "object %d was sealed with other values", s.ObjectID)
	}
	return errUnchanged
}

func (c *Catalog) sealSegment(ctx context.Context, tx *writeTx, row *baseObjectRow, s *SegmentSeal) error {
	identity := c.identity()
	if err := sealObject(ctx, tx, identity, row.Attempt, row.Revision, &objectSeal{s.ObjectID, s.ContentID, s.Digest, s.Extent, nil}); err != nil {
		return err
	}
	text, err := encodeFragments(s.Fragments)
	if err != nil {
		return err
	}
	r := segmentRow{ObjectID: s.ObjectID, IndexID: s.IndexID, TableID: s.TableID, Fragments: text, Entries: s.Entries, Kind: row.Kind, Path: row.Path,
		Attempt: row.Attempt, ByteExtent: &s.Extent, ContentID: s.ContentID[:], IntegrityDigest: s.Digest[:]}
	digest := r.digest(identity)
	if _, err := tx.ExecContext(ctx, `INSERT INTO segments(object_id, index_id, table_id, fragments, entries, digest) VALUES (?, ?, ?, ?, ?, ?)`,
		r.ObjectID, r.IndexID, r.TableID, r.Fragments, r.Entries, digest[:]); err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	return nil
}

// segmentRow is a row of segments with its object, whose seal the digest covers.
type segmentRow struct {
	ObjectID  int64  `db:"object_id"`
	IndexID   int64  `db:"index_id"`
	TableID   int64  `db:"table_id"`
	Fragments []byte `db:"fragments"`
	Entries   int64  `db:"entries"`
	Digest    []byte `db:"digest"`

	Kind            string `db:"kind"`
	Path            string `db:"relative_path"`
	Attempt         []byte `db:"attempt_id"`
	State           string `db:"state"`
	ByteExtent      *int64 `db:"byte_extent"`
	ContentID       []byte `db:"content_id"`
	IntegrityDigest []byte `db:"integrity_digest"`
	Rooted          bool   `db:"rooted"` // directly

	fragments *roaring64.Bitmap
}

const segmentQuery = `SELECT s.object_id, s.index_id, s.table_id, s.fragments, s.entries, s.digest,
		o.kind, o.relative_path, o.attempt_id, o.state, o.byte_extent, o.content_id, o.integrity_digest,
		EXISTS (SELECT 1 FROM owner_objects x WHERE x.object_id = s.object_id) AS rooted
	FROM segments s JOIN objects o ON o.object_id = s.object_id`

func (r *segmentRow) digest(identity [16]byte) [32]byte {
	d := newDigest("segment", identity)
	d.int(r.ObjectID)
	d.int(r.IndexID)
	d.int(r.TableID)
	d.bytes(r.Fragments)
	d.int(r.Entries)
	d.text(r.Kind)
	d.text(r.Path)
	d.bytes(r.Attempt)
	d.optional(r.ByteExtent)
	d.bytes(r.ContentID)
	d.bytes(r.IntegrityDigest)
	return d.sum()
}

// readSegments returns what objects were sealed as segments, verified, by object.
func readSegments(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, objects ...int64) (map[int64]*segmentRow, error) {
	var rows []segmentRow
	if err := sqlx.SelectContext(ctx, q, &rows, segmentQuery+` WHERE s.object_id IN (SELECT value FROM json_each(?))`, idText(objects)); err != nil {
		return nil, err
	}
	by := make(map[int64]*segmentRow, len(rows))
	for i := range rows {
		r := &rows[i]
		if err := checkDigest("segment", r.ObjectID, r.Digest, r.digest(identity)); err != nil {
			return nil, err
		}
		if want := ObjectPath(r.ObjectID, KindIndex); r.Path != want {
			return nil, refuse(CodeCorrupt, "", "segment %d has path %q, must be %q", r.ObjectID, r.Path, want)
		}
		var err error
		if r.fragments, err = decodeFragments(r.Fragments); err != nil {
			return nil, refuse(CodeCorrupt, "", "segment %d: %w", r.ObjectID, err)
		}
		by[r.ObjectID] = r
	}
	return by, nil
}

// segment is the row for a reader; its fragments are those of the seal.
func (r *segmentRow) segment() Segment {
	s := Segment{ObjectID: r.ObjectID, Path: r.Path, IndexRef: IndexRef{r.IndexID, r.TableID}, Fragments: r.fragments, Entries: r.Entries, Extent: deref(r.ByteExtent)}
	copy(s.Attempt[:], r.Attempt)
	copy(s.ContentID[:], r.ContentID)
	copy(s.Digest[:], r.IntegrityDigest)
	return s
}
