package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// CheckProjection reports where the tables "tables", "indexes" and
// "schema_contexts" do not say what the log says: rows that are missing or
// another, and rows of definitions that the log does not know. History that the
// log cannot know any more is none of them.
func (c *Catalog) CheckProjection(ctx context.Context, p Projection, report func(text string)) error {
	if p.Timeline == "" {
		p.Timeline = MainTimeline
	}
	return c.read(ctx, "check-projection", func(ctx context.Context, tx *sqlx.Tx) error {
		var timelineID int64
		err := tx.GetContext(ctx, &timelineID, `SELECT timeline_id FROM timelines WHERE name = ?`, p.Timeline)
		if errors.Is(err, sql.ErrNoRows) {
			report(fmt.Sprintf("there is no timeline %q", p.Timeline))
			return nil
		}
		if err != nil {
			return err
		}
		tables, err := diffTables(ctx, tx, timelineID, &p)
		if err != nil {
			return err
		}
		tables.report(report)
		for _, t := range tables.insert {
			report(fmt.Sprintf("tables: table %q, %d of version %d, is not as the log has it", t.Name, t.ID, t.Version))
		}
		indexes, err := diffIndexes(ctx, tx, timelineID, &p)
		if err != nil {
			return err
		}
		indexes.report(report)
		for _, i := range indexes.insert {
			report(fmt.Sprintf("indexes: index %q, %d of version %d, is not as the log has it", i.Name, i.ID, i.Version))
		}
		var known bool
		if err := tx.GetContext(ctx, &known, `SELECT EXISTS (SELECT 1 FROM schema_contexts WHERE schema_version = ? AND descriptor = ?)`,
			p.SchemaVersion, schemaDescriptor(p)); err != nil {
			return err
		}
		if !known {
			report(fmt.Sprintf("schema_contexts: the schema of version %d is not as the log has it", p.SchemaVersion))
		}
		return nil
	})
}

// report tells of rows that a projection would take away or end. Those that it
// would write again are told of as such.
func (d *changes[R]) report(report func(string)) {
	for _, k := range d.remove {
		report(fmt.Sprintf("%s: the log has no such definition: %s %d of version %d", d.table, d.idColumn, k.id, k.version))
	}
	for _, u := range d.until {
		report(fmt.Sprintf("%s: the log has ended this definition: %s %d of version %d", d.table, d.idColumn, u.id, u.rowKey.version))
	}
}
