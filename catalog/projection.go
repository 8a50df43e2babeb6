package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
