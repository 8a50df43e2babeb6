package catalog

import (
	"bytes"
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/jmoiron/sqlx"
)

// liveRow is what a base entry says of one fragment of its object. An entry has one
// for each fragment, or none: then all rows are live and their sum is not known.
type liveRow struct {
	ChunkID  int64  `db:"chunk_id"`
	Position int64  `db:"position"`
	Ordinal  int64  `db:"ordinal"`
	Rows     int64  `db:"live_rows"`
	Sum      []byte `db:"sum"`
	Deleted  []byte `db:"deleted"`
}

const liveColumns = `f.chunk_id, f.position, f.ordinal, f.live_rows, f.sum, f.deleted`

func (l *liveRow) addTo(d digester) {
	d.int(l.Ordinal)
	d.int(l.Rows)
	for _, b := range [][]byte{l.Sum, l.Deleted} {
		if b == nil {
			d.null()
		} else {
			d.bytes(b)
		}
	}
}

func (l *liveRow) equal(o *liveRow) bool {
	return l.Ordinal == o.Ordinal && l.Rows == o.Rows && bytes.Equal(l.Sum, o.Sum) && (l.Sum == nil) == (o.Sum == nil) &&
		bytes.Equal(l.Deleted, o.Deleted) && (l.Deleted == nil) == (o.Deleted == nil)
}

// readLive attaches to the entries of a part of a manifest what is live of them.
func readLive(ctx context.Context, q sqlx.QueryerContext, representationID, from, to int64, entries []entryRow) error {
	var rows []liveRow
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT `+liveColumns+` FROM representation_chunks c
		CROSS JOIN entry_fragments f ON f.chunk_id = c.chunk_id AND f.position < c.entries AND f.position >= ?2 - c.first_position AND f.position < ?3 - c.first_position
		WHERE c.representation_id = ?1 AND c.first_position + c.entries > ?2 AND c.first_position < ?3
		ORDER BY c.ordinal, f.position, f.ordinal`, representationID, from, to); err != nil {
		return err
	}
	attachLive(entries, rows)
	return nil
}

// allEntries reads the entries of every chunk, those that no representation has
// included, with what they say of fragments.
func allEntries(ctx context.Context, q sqlx.QueryerContext) ([]entryRow, error) {
	var entries []entryRow
	if err := sqlx.SelectContext(ctx, q, &entries, `SELECT chunk_id, position, logical_factor_id, blob_id, contribution_role, contribution, digest
		FROM manifest_entries ORDER BY chunk_id, position`); err != nil {
		return nil, err
	}
	var rows []liveRow
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT `+liveColumns+` FROM entry_fragments f ORDER BY f.chunk_id, f.position, f.ordinal`); err != nil {
		return nil, err
	}
	attachLive(entries, rows)
	return entries, nil
}

// attachLive gives rows to their entries; both are in the same order.
func attachLive(entries []entryRow, rows []liveRow) {
	i := 0
	for _, l := range rows {
		for i < len(entries) && (entries[i].ChunkID != l.ChunkID || entries[i].Position != l.Position) {
			i++
		}
		if i == len(entries) {
			return // of an entry that is not there: the digest of none covers it
		}
		entries[i].live = append(entries[i].live, l)
	}
}

// insertLive inserts what an entry says of its fragments.
func (r *entryRow) insertLive(ctx context.Context, tx *writeTx) error {
	for i := range r.live {
		l := &r.live[i]
		l.ChunkID, l.Position = r.ChunkID, r.Position
		if _, err := tx.ExecContext(ctx, `INSERT INTO entry_fragments(chunk_id, position, ordinal, live_rows, sum, deleted) VALUES (?, ?, ?, ?, ?, ?)`,
			l.ChunkID, l.Position, l.Ordinal, l.Rows, l.Sum, l.Deleted); err != nil {
			return fmt.Errorf("entry_fragments: %w", err)
		}
	}
	return nil
}

// partial reports whether rows of an entry are superseded.
func (r *entryRow) partial() bool {
	for i := range r.live {
		if r.live[i].Deleted != nil {
			return true
		}
	}
	return false
}

// fill gives a file what its entry says of its fragments.
func (f *BaseFile) fill(e *entryRow) error {
	if len(e.live) == 0 {
		return nil
	}
	if len(e.live) != len(f.Fragments) {
		return refuse(CodeCorrupt, "", "the base says what is live of %d fragments of object %d, which has %d", len(e.live), f.ObjectID, len(f.Fragments))
	}
	for i := range e.live {
		l := &e.live[i]
		deleted, err := decodeDeleted(l.Deleted)
		if err != nil {
			return refuse(CodeCorrupt, "", "fragment %d of object %d: %w", i, f.ObjectID, err)
		}
		if err := checkLive(f.ObjectID, i, f.Fragments[i].Rows, FragmentState{l.Rows, l.Sum}, deleted); err != nil {
			return refuse(CodeCorrupt, "", "%w", err)
		}
		f.Deleted[i], f.Live[i] = deleted, FragmentState{l.Rows, l.Sum}
	}
	return nil
}

// checkLive compares a deletion vector with the rows of its fragment and with how
// many of them are live.
func checkLive(objectID int64, fragment int, rows int64, live FragmentState, deleted *roaring.Bitmap) error {
	gone := int64(0)
	if deleted != nil && !deleted.IsEmpty() {
		gone = int64(deleted.GetCardinality())
		if last := int64(deleted.Maximum()); last >= rows {
			return refuse(CodeFragment, "", "fragment %d of object %d has %d rows, deleted is number %d", fragment, objectID, rows, last)
		}
	}
	if live.Rows != rows-gone {
		return refuse(CodeFragment, "", "fragment %d of object %d has %d rows, of which %d are deleted and %d live", fragment, objectID, rows, gone, live.Rows)
	}
	if live.Sum != nil && len(live.Sum) != sumBytes {
		return refuse(CodeEncoding, "", "the sum of fragment %d of object %d has %d bytes, must have %d", fragment, objectID, len(live.Sum), sumBytes)
	}
	return nil
}

// encodeDeleted is nil for a vector without a row.
func encodeDeleted(b *roaring.Bitmap) ([]byte, error) {
	if b == nil || b.IsEmpty() {
		return nil, nil
	}
	return b.ToBytes()
}

func decodeDeleted(text []byte) (*roaring.Bitmap, error) {
	if text == nil {
		return nil, nil
	}
	b := roaring.New()
	n, err := b.ReadFrom(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("deletion vector: %w", err)
	}
	if n != int64(len(text)) || b.IsEmpty() {
		return nil, fmt.Errorf("deletion vector: %d bytes, of which %d are %d rows", len(text), n, b.GetCardinality())
	}
	return b, nil
}

// wholeLive gives entries of whole objects what another entry of the same blob says of
// its fragments, if all of their rows are live there.
func wholeLive(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, entries []entryRow) error {
	for i := range entries {
		var found []entryRow
		if err := sqlx.SelectContext(ctx, q, &found, `SELECT e.chunk_id, e.position, e.logical_factor_id, e.blob_id, e.contribution_role, e.contribution, e.digest
			FROM manifest_entries e WHERE e.blob_id = ? AND e.contribution_role = 'base' ORDER BY e.chunk_id, e.position`, entries[i].BlobID); err != nil {
			return err
		}
		var rows []liveRow
		if err := sqlx.SelectContext(ctx, q, &rows, `SELECT `+liveColumns+` FROM manifest_entries e
			JOIN entry_fragments f ON f.chunk_id = e.chunk_id AND f.position = e.position
			WHERE e.blob_id = ? AND e.contribution_role = 'base' ORDER BY f.chunk_id, f.position, f.ordinal`, entries[i].BlobID); err != nil {
			return err
		}
		attachLive(found, rows)
		for j := range found {
			e := &found[j]
			if err := checkDigest("manifest entry of factor", e.FactorID, e.Digest, e.digest(identity)); err != nil {
				return err
			}
			if len(e.live) > 0 && !e.partial() && bytes.Equal(e.Contribution, entries[i].Contribution) {
				entries[i].live = e.live
				break
			}
		}
	}
	return nil
}
