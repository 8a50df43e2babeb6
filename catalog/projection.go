package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// Projection is the schema as the log has it. Rows that are Until a version
// are history; the others are current.
type Projection struct {
	Timeline      string // default main
	SchemaVersion int64  // LSN of the newest schema change, 0: none yet
	Tables        []TableRow
	Indexes       []IndexRow
}

// TableRow is one definition of a table.
type TableRow struct {
	ID            int64  `db:"table_id"`
	Version       int64  `db:"version"`       // LSN of the schema change that made the definition
	Until         int64  `db:"until_version"` // first version without it, 0: current
	Name          string `db:"name"`
	SQL           string `db:"sql"`
	Columns       int64  `db:"columns"`
	Durable       bool   `db:"durable"`
	Resident      string `db:"resident"` // all or keys
	Strict        bool   `db:"strict"`
	WithoutRowid  bool   `db:"without_rowid"`
	AutoIncrement bool   `db:"auto_increment"`
}

// IndexRow is one definition of an index.
type IndexRow struct {
	ID      int64  `db:"index_id"`
	Version int64  `db:"version"`
	Until   int64  `db:"until_version"`
	TableID int64  `db:"table_id"`
	Name    string `db:"name"`
	SQL     string `db:"sql"`    // "" for the automatic index of a constraint
	Origin  string `db:"origin"` // c, u or pk, as in PRAGMA index_list
	Unique  bool   `db:"is_unique"`
	Columns string `db:"columns"` // as written in a CREATE INDEX: "a, b COLLATE NOCASE DESC"
}

// ProjectSchema makes tables and indexes say what the log says. Current rows
// that p does not have end at its version; history that the log cannot know
// any more stays. A projection that changes nothing writes nothing, so an open
// may always call it.
func (c *Catalog) ProjectSchema(ctx context.Context, p Projection) error {
	if p.Timeline == "" {
		p.Timeline = MainTimeline
	}
	return c.write(ctx, "project-schema", func(ctx context.Context, tx *writeTx) error {
		if err := p.check(); err != nil {
			return err
		}
		var timelineID int64
		err := tx.GetContext(ctx, &timelineID, `SELECT timeline_id FROM timelines WHERE name = ?`, p.Timeline)
		if errors.Is(err, sql.ErrNoRows) {
			return refuse(CodeUnknown, "", "no timeline %q", p.Timeline)
		}
		if err != nil {
			return err
		}
		tables, err := diffTables(ctx, tx, timelineID, &p)
		if err != nil {
			return err
		}
		indexes, err := diffIndexes(ctx, tx, timelineID, &p)
		if err != nil {
			return err
		}
		schemaID, isNew, err := schemaContext(ctx, tx, p)
		if err != nil {
			return err
		}
		if tables.empty() && indexes.empty() && !isNew {
			return errUnchanged
		}
		// Ends before beginnings: names are unique among current rows.
		if err := errors.Join(tables.end(ctx, tx, timelineID), indexes.end(ctx, tx, timelineID)); err != nil {
			return err
		}
		for _, t := range tables.insert {
			if _, err := tx.ExecContext(ctx, `
				INSERT INTO tables(timeline_id, table_id, version, until_version, schema_id, name, sql, columns, durable, resident, strict, without_rowid, auto_increment)
				VALUES (?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				timelineID, t.ID, t.Version, t.Until, schemaID, t.Name, t.SQL, t.Columns, t.Durable, t.Resident, t.Strict, t.WithoutRowid, t.AutoIncrement); err != nil {
				return fmt.Errorf("table %q: %w", t.Name, err)
			}
		}
		for _, i := range indexes.insert {
			if _, err := tx.ExecContext(ctx, `
				INSERT INTO indexes(timeline_id, index_id, version, until_version, schema_id, table_id, name, sql, origin, is_unique, columns)
				VALUES (?, ?, ?, nullif(?, 0), ?, ?, ?, nullif(?, ''), ?, ?, ?)`,
				timelineID, i.ID, i.Version, i.Until, schemaID, i.TableID, i.Name, i.SQL, i.Origin, i.Unique, i.Columns); err != nil {
				return fmt.Errorf("index %q: %w", i.Name, err)
			}
		}
		return nil
	})
}

// check refuses numbers the catalog cannot hold.
func (p *Projection) check() error {
	errs := []error{checkCounter("schema version", p.SchemaVersion)}
	for _, t := range p.Tables {
		errs = append(errs, checkID("table", t.ID), checkCounter("version", t.Version), checkCounter("until", t.Until))
	}
	for _, i := range p.Indexes {
		errs = append(errs, checkID("index", i.ID), checkID("table", i.TableID), checkCounter("version", i.Version), checkCounter("until", i.Until))
	}
	return errors.Join(errs...)
}

// rowKey identifies a definition within a timeline.
type rowKey struct{ id, version int64 }

// changes brings the rows of one table to a projection.
type changes[R any] struct {
	table, idColumn string
	remove          []rowKey
	until           []struct {
		rowKey
		version int64
	}
	insert []R
}

func (d *changes[R]) empty() bool { return len(d.remove)+len(d.until)+len(d.insert) == 0 }

// diff compares stored rows with projected ones. at is the projection's schema
// version: what was current then and is not projected ends there, unless it
// began there or later, in which case the log does not know it at all.
func diff[R comparable](table, idColumn string, at int64, stored, projected []R, key func(R) (k rowKey, until int64)) changes[R] {
	d := changes[R]{table: table, idColumn: idColumn}
	want := make(map[rowKey]R, len(projected))
	for _, r := range projected {
		k, _ := key(r)
		want[k] = r
	}
	same := make(map[rowKey]bool, len(stored))
	for _, r := range stored {
		k, until := key(r)
		w, projectedToo := want[k]
		switch {
		case projectedToo && w == r:
			same[k] = true
		case projectedToo || k.version >= at && until == 0 || k.version > at:
			d.remove = append(d.remove, k)
		case until == 0 || until > at:
			d.until = append(d.until, struct {
				rowKey
				version int64
			}{k, at})
		}
	}
	for _, r := range projected {
		if k, _ := key(r); !same[k] {
			d.insert = append(d.insert, r)
		}
	}
	return d
}

// end removes and supersedes rows.
func (d *changes[R]) end(ctx context.Context, tx *writeTx, timelineID int64) error {
	for _, k := range d.remove {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM %s WHERE timeline_id = ? AND %s = ? AND version = ?`, d.table, d.idColumn),
			timelineID, k.id, k.version); err != nil {
			return err
		}
	}
	for _, u := range d.until {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`UPDATE %s SET until_version = ? WHERE timeline_id = ? AND %s = ? AND version = ?`, d.table, d.idColumn),
			u.version, timelineID, u.id, u.rowKey.version); err != nil {
			return err
		}
	}
	return nil
}

const tableColumns = `table_id, version, coalesce(until_version, 0) AS until_version, name, sql, columns, durable, resident, strict, without_rowid, auto_increment`

func diffTables(ctx context.Context, q sqlx.QueryerContext, timelineID int64, p *Projection) (changes[TableRow], error) {
	var stored []TableRow
	if err := sqlx.SelectContext(ctx, q, &stored, `SELECT `+tableColumns+` FROM tables WHERE timeline_id = ?`, timelineID); err != nil {
		return changes[TableRow]{}, err
	}
	return diff("tables", "table_id", p.SchemaVersion, stored, p.Tables, func(t TableRow) (rowKey, int64) { return rowKey{t.ID, t.Version}, t.Until }), nil
}

const indexColumns = `index_id, version, coalesce(until_version, 0) AS until_version, table_id, name, coalesce(sql, '') AS sql, origin, is_unique, columns`

func diffIndexes(ctx context.Context, q sqlx.QueryerContext, timelineID int64, p *Projection) (changes[IndexRow], error) {
	var stored []IndexRow
	if err := sqlx.SelectContext(ctx, q, &stored, `SELECT `+indexColumns+` FROM indexes WHERE timeline_id = ?`, timelineID); err != nil {
		return changes[IndexRow]{}, err
	}
	return diff("indexes", "index_id", p.SchemaVersion, stored, p.Indexes, func(i IndexRow) (rowKey, int64) { return rowKey{i.ID, i.Version}, i.Until }), nil
}

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
	return fmt.Appendf(nil, "schema/1 version=%d tables=%d indexes=%d sha256=%x", p.SchemaVersion, len(tables), len(indexes), d.sum())
}
