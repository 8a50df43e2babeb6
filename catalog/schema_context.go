package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// schemaContext finds the context of a projection, or inserts it.
func schemaContext(ctx context.Context, tx *writeTx, p Projection) (id int64, isNew bool, err error) {
	descriptor := schemaDescriptor(p)
	err = tx.GetContext(ctx, &id, `SELECT schema_id FROM schema_contexts WHERE schema_version = ? AND descriptor = ?`, p.SchemaVersion, descriptor)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return id, false, err
	}
	if id, err = tx.newID(ctx); err != nil {
		return 0, false, err
	}
	return id, true, insertSchemaContext(ctx, tx, id, p.SchemaVersion, descriptor)
}

// Encoding versions of this program, recorded with every schema context.
const (
	sortVersion     = 1 // order of keys
	codecVersion    = 1 // encoding of rows
	hashVersion     = 1 // fingerprint
	categoryVersion = 1 // storage classes and affinities
)

func insertSchemaContext(ctx context.Context, tx *writeTx, id, version int64, descriptor []byte) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO schema_contexts(schema_id, schema_version, sort_version, codec_version, hash_version, category_version, descriptor)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, id, version, sortVersion, codecVersion, hashVersion, categoryVersion, descriptor)
	if err != nil {
		return fmt.Errorf("schema_contexts: %w", err)
	}
	return nil
}

// schemaDescriptor is the canonical descriptor of a schema: its version, how
// much it has and a digest over its current definitions in order of their ids.
// The definitions themselves have no upper size, the descriptor has.
func schemaDescriptor(p Projection) []byte {
	tables := slices.DeleteFunc(slices.Clone(p.Tables), func(t TableRow) bool { return t.Until != 0 })
	indexes := slices.DeleteFunc(slices.Clone(p.Indexes), func(i IndexRow) bool { return i.Until != 0 })
	slices.SortFunc(tables, func(a, b TableRow) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(indexes, func(a, b IndexRow) int { return cmp.Compare(a.ID, b.ID) })
	d := newDigest("schema", [16]byte{})
	for _, t := range tables {
		d.int(t.ID)
		d.int(t.Version)
		d.text(t.Name)
		d.text(t.SQL)
	}
	for _, i := range indexes {
		d.int(i.ID)
		d.int(i.Version)
		d.int(i.TableID)
		d.text(i.Name)
		d.text(i.SQL)
	}
	return fmt.Appendf(schemaPrefix(p.SchemaVersion), "tables=%d indexes=%d sha256=%x", len(tables), len(indexes), d.sum())
}

// schemaPrefix is what a descriptor begins with; the rest says what the definitions are.
func schemaPrefix(version int64) []byte { return fmt.Appendf(nil, "schema/1 version=%d ", version) }
