package catalog

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

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
