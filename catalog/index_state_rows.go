package catalog

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jmoiron/sqlx"

	"github.com/tidemarkdb/tidemark/catalog/catchup"
)

// indexStateRow is a row of index_states with its children. A state without any has
// the digest that states had before there were children; one with children has another,
// over all of them. So none can be added or missing.
type indexStateRow struct {
	ID             int64  `db:"index_state_id"`
	ReaderFeatures int64  `db:"reader_features"`
	WriterFeatures int64  `db:"writer_features"`
	Digest         []byte `db:"digest"`

	segments  []stateSegmentRow
	compacted []compactedRow
	caughtUp  []caughtUpRow
}

type stateSegmentRow struct {
	StateID   int64  `db:"index_state_id"`
	IndexID   int64  `db:"index_id"`
	Ordinal   int64  `db:"ordinal"`
	ObjectID  int64  `db:"object_id"`
	TableID   int64  `db:"table_id"`
	Fragments []byte `db:"fragments"`
}

type compactedRow struct {
	StateID    int64 `db:"index_state_id"`
	ShardID    int64 `db:"shard_id"`
	Generation int64 `db:"generation"`
}

type caughtUpRow struct {
	StateID    int64 `db:"index_state_id"`
	IndexID    int64 `db:"index_id"`
	ShardID    int64 `db:"shard_id"`
	Generation int64 `db:"generation"`
}

func (r *indexStateRow) digest(identity [16]byte) [32]byte {
	if len(r.segments)+len(r.compacted)+len(r.caughtUp) == 0 {
		d := newDigest("index-state", identity)
		d.int(r.ID)
		d.int(r.ReaderFeatures)
		d.int(r.WriterFeatures)
		return d.sum()
	}
	d := newDigest("index-state-of", identity)
	d.int(r.ID)
	d.int(r.ReaderFeatures)
	d.int(r.WriterFeatures)
	d.int(int64(len(r.segments)))
	for i := range r.segments {
		s := &r.segments[i]
		d.int(s.IndexID)
		d.int(s.Ordinal)
		d.int(s.ObjectID)
		d.int(s.TableID)
		d.bytes(s.Fragments)
	}
	d.int(int64(len(r.compacted)))
	for _, c := range r.compacted {
		d.int(c.ShardID)
		d.int(c.Generation)
	}
	d.int(int64(len(r.caughtUp)))
	for _, c := range r.caughtUp {
		d.int(c.IndexID)
		d.int(c.ShardID)
		d.int(c.Generation)
	}
	return d.sum()
}

// readStateRows reads index states with their children, those of where; with "" all.
func readStateRows(ctx context.Context, q sqlx.QueryerContext, where string, args ...any) ([]indexStateRow, error) {
	var rows []indexStateRow
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT index_state_id, reader_features, writer_features, digest FROM index_states`+where, args...); err != nil {
		return nil, err
	}
	by := make(map[int64]*indexStateRow, len(rows))
	for i := range rows {
		by[rows[i].ID] = &rows[i]
	}
	var segments []stateSegmentRow
	if err := sqlx.SelectContext(ctx, q, &segments, `SELECT index_state_id, index_id, ordinal, object_id, table_id, fragments FROM index_state_segments`+where+`
		ORDER BY index_state_id, index_id, ordinal`, args...); err != nil {
		return nil, err
	}
	for _, s := range segments {
		if r := by[s.StateID]; r != nil {
			r.segments = append(r.segments, s)
		}
	}
	var compacted []compactedRow
	if err := sqlx.SelectContext(ctx, q, &compacted, `SELECT index_state_id, shard_id, generation FROM index_state_compacted`+where+`
		ORDER BY index_state_id, shard_id`, args...); err != nil {
		return nil, err
	}
	for _, c := range compacted {
		if r := by[c.StateID]; r != nil {
			r.compacted = append(r.compacted, c)
		}
	}
	var caughtUp []caughtUpRow
	if err := sqlx.SelectContext(ctx, q, &caughtUp, `SELECT index_state_id, index_id, shard_id, generation FROM index_state_catchup`+where+`
		ORDER BY index_state_id, index_id, shard_id`, args...); err != nil {
		return nil, err
	}
	for _, c := range caughtUp {
		if r := by[c.StateID]; r != nil {
			r.caughtUp = append(r.caughtUp, c)
		}
	}
	return rows, nil
}

// readIndexState reads an index state and verifies it: its digest, its feature words,
// its segments and what they were sealed as.
func readIndexState(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, id int64) (IndexState, error) {
	rows, err := readStateRows(ctx, q, ` WHERE index_state_id = ?`, id)
	if err != nil {
		return IndexState{}, err
	}
	if len(rows) == 0 {
		return IndexState{}, refuse(CodeCorrupt, "", "index state %d does not exist", id)
	}
	r := &rows[0]
	if err := checkDigest("index state", id, r.Digest, r.digest(identity)); err != nil {
		return IndexState{}, err
	}
	if err := checkFeatures(id, r.ReaderFeatures, r.WriterFeatures); err != nil {
		return IndexState{}, err
	}
	s := IndexState{ID: id, ReaderFeatures: r.ReaderFeatures, WriterFeatures: r.WriterFeatures}
	for _, c := range r.compacted {
		s.Compacted = append(s.Compacted, ShardGeneration{c.ShardID, c.Generation})
	}
	for _, c := range r.caughtUp {
		s.CaughtUp = append(s.CaughtUp, IndexPosition{c.IndexID, c.ShardID, c.Generation})
	}
	if len(r.segments) == 0 {
		return s, nil
	}
	ids := make([]int64, len(r.segments))
	for i := range r.segments {
		ids[i] = r.segments[i].ObjectID
	}
	sealed, err := readSegments(ctx, q, identity, ids...)
	if err != nil {
		return IndexState{}, err
	}
	for i := range r.segments {
		c := &r.segments[i]
		row := sealed[c.ObjectID]
		switch {
		case row == nil:
			return IndexState{}, refuse(CodeCorrupt, "", "index state %d has object %d, which is no segment", id, c.ObjectID)
		case row.State != stateSealed:
			return IndexState{}, refuse(CodeCorrupt, "", "index state %d has segment %d, which is %s and must be sealed", id, c.ObjectID, row.State)
		case row.IndexID != c.IndexID || row.TableID != c.TableID:
			return IndexState{}, refuse(CodeCorrupt, "", "index state %d has segment %d for index %d of table %d, it is of index %d of table %d",
				id, c.ObjectID, c.IndexID, c.TableID, row.IndexID, row.TableID)
		}
		seg := row.segment()
		if seg.Fragments, err = decodeFragments(c.Fragments); err != nil {
			return IndexState{}, refuse(CodeCorrupt, "", "index state %d, segment %d: %w", id, c.ObjectID, err)
		}
		s.Segments = append(s.Segments, seg)
	}
	return s, nil
}

// checkFeatures refuses feature words that this program does not know, and such as
// say one thing to readers and another to writers.
func checkFeatures(id, reader, writer int64) error {
	if unknown := (reader | writer) &^ knownFeatures; unknown != 0 {
		return &Error{Code: CodeVersion, Err: fmt.Errorf("%w: index state %d uses feature bits %#x, this program knows %#x", ErrNewer, id, unknown, knownFeatures)}
	}
	if _, err := catchup.Maintained(reader, writer); err != nil {
		return refuse(CodeCorrupt, "", "index state %d: %w", id, err)
	}
	return nil
}

// maintained reports whether positions are. The words were checked.
func (s *IndexState) maintained() bool { return s.ReaderFeatures&FeatureIndexCatchup != 0 }

func encodeFragments(b *roaring64.Bitmap) ([]byte, error) {
	if b == nil {
		b = roaring64.New()
	}
	return b.ToBytes()
}

func decodeFragments(text []byte) (*roaring64.Bitmap, error) {
	b := roaring64.New()
	n, err := b.ReadFrom(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("fragments: %w", err)
	}
	if n != int64(len(text)) {
		return nil, fmt.Errorf("fragments: %d bytes, of which %d are a set", len(text), n)
	}
	return b, nil
}

// insertIndexState inserts a state and its children, before any representation has
// it. s.ID is what it gets.
func insertIndexState(ctx context.Context, tx *writeTx, identity [16]byte, s *IndexState) (err error) {
	if s.ID, err = tx.newID(ctx); err != nil {
		return err
	}
	row := indexStateRow{ID: s.ID, ReaderFeatures: s.ReaderFeatures, WriterFeatures: s.WriterFeatures}
	ordinal := int64(0)
	for i := range s.Segments {
		x := &s.Segments[i]
		if i == 0 || s.Segments[i-1].IndexID != x.IndexID {
			ordinal = 0
		}
		text, err := encodeFragments(x.Fragments)
		if err != nil {
			return err
		}
		row.segments = append(row.segments, stateSegmentRow{s.ID, x.IndexID, ordinal, x.ObjectID, x.TableID, text})
		ordinal++
	}
	for _, c := range s.Compacted {
		row.compacted = append(row.compacted, compactedRow{s.ID, c.ShardID, c.Generation})
	}
	for _, c := range s.CaughtUp {
		row.caughtUp = append(row.caughtUp, caughtUpRow{s.ID, c.IndexID, c.ShardID, c.Generation})
	}
	digest := row.digest(identity)
	if _, err := tx.ExecContext(ctx, `INSERT INTO index_states(index_state_id, reader_features, writer_features, digest) VALUES (?, ?, ?, ?)`,
		s.ID, s.ReaderFeatures, s.WriterFeatures, digest[:]); err != nil {
		return fmt.Errorf("index_states: %w", err)
	}
	for i := range row.segments {
		c := &row.segments[i]
		if _, err := tx.ExecContext(ctx, `INSERT INTO index_state_segments(index_state_id, index_id, ordinal, object_id, table_id, fragments) VALUES (?, ?, ?, ?, ?, ?)`,
			c.StateID, c.IndexID, c.Ordinal, c.ObjectID, c.TableID, c.Fragments); err != nil {
			return fmt.Errorf("index_state_segments: %w", err)
		}
	}
	for _, c := range row.compacted {
		if _, err := tx.ExecContext(ctx, `INSERT INTO index_state_compacted(index_state_id, shard_id, generation) VALUES (?, ?, ?)`, c.StateID, c.ShardID, c.Generation); err != nil {
			return fmt.Errorf("index_state_compacted: %w", err)
		}
	}
	for _, c := range row.caughtUp {
		if _, err := tx.ExecContext(ctx, `INSERT INTO index_state_catchup(index_state_id, index_id, shard_id, generation) VALUES (?, ?, ?, ?)`,
			c.StateID, c.IndexID, c.ShardID, c.Generation); err != nil {
			return fmt.Errorf("index_state_catchup: %w", err)
		}
	}
	return nil
}

// pruneIndexState removes a state that no representation has.
func pruneIndexState(ctx context.Context, tx *writeTx, id int64) error {
	var used bool
	if err := tx.GetContext(ctx, &used, `SELECT EXISTS (SELECT 1 FROM representations WHERE index_state_id = ?)`, id); err != nil || used {
		return err
	}
	for _, table := range []string{"index_state_catchup", "index_state_compacted", "index_state_segments", "index_states"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE index_state_id = ?`, id); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return nil
}

// equal compares what states say; their ids do not matter.
func (s *IndexState) equal(o *IndexState) bool {
	return s.ReaderFeatures == o.ReaderFeatures && s.WriterFeatures == o.WriterFeatures &&
		slices.EqualFunc(s.Segments, o.Segments, func(a, b Segment) bool {
			return a.ObjectID == b.ObjectID && a.IndexRef == b.IndexRef && a.Fragments.Equals(b.Fragments)
		}) && slices.Equal(s.Compacted, o.Compacted) && slices.Equal(s.CaughtUp, o.CaughtUp)
}

// sort brings the parts of a state into the order of its rows. Segments of one index
// keep theirs.
func (s *IndexState) sort() {
	slices.SortStableFunc(s.Segments, func(a, b Segment) int { return cmp.Compare(a.IndexID, b.IndexID) })
	slices.SortFunc(s.Compacted, func(a, b ShardGeneration) int { return cmp.Compare(a.ShardID, b.ShardID) })
	slices.SortFunc(s.CaughtUp, func(a, b IndexPosition) int {
		return cmp.Or(cmp.Compare(a.IndexID, b.IndexID), cmp.Compare(a.ShardID, b.ShardID))
	})
}

// indexStateOf returns the state of a representation.
func indexStateOf(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID int64) (s IndexState, ok bool, err error) {
	var id int64
	err = sqlx.GetContext(ctx, q, &id, `SELECT index_state_id FROM representations WHERE representation_id = ?`, representationID)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	s, err = readIndexState(ctx, q, identity, id)
	return s, err == nil, err
}
