package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// querier is what a connection and a transaction have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// schemaObject is a row of sqlite_schema: a table, an index, a view or a
// trigger.
type schemaObject struct {
	kind, name, table string
	sql               string // as plain SQLite reads it; empty for automatic indexes
	options           []string
	virtual           string // module of a virtual table
	shadow            bool   // holds the rows of a virtual table
}

// table is what copying rows needs to know of a table.
type table struct {
	schema, name string
	columns      []column // without generated ones
	rowid        string   // name to reach the rowid by; empty when there is none apart from the columns
	strict       bool
	withoutRowID bool
	shadow       bool // belongs to a virtual table
}

// column is a column that can be inserted.
type column struct {
	name, declared string
	optional       bool // an INSERT may leave it out
}

// readSchema lists the objects of a database in the order they were made.
func readSchema(ctx context.Context, q querier) (all []schemaObject, err error) {
	rows, err := q.QueryContext(ctx, `SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var o schemaObject
		if err := rows.Scan(&o.kind, &o.name, &o.table, &o.sql); err != nil {
			return nil, err
		}
		if o.kind == "table" {
			o.sql, o.options, o.virtual = plainDDL(o.sql)
		}
		all = append(all, o)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return all, markShadows(ctx, q, all)
}

// markShadows finds the tables that belong to virtual ones.
func markShadows(ctx context.Context, q querier, all []schemaObject) error {
	rows, err := q.QueryContext(ctx, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		for i := range all {
			if all[i].kind == "table" && all[i].name == name {
				all[i].shadow = true
			}
		}
	}
	return rows.Err()
}

// internal reports whether SQLite makes the object by itself.
func (o schemaObject) internal() bool {
	return o.sql == "" || len(o.name) >= 7 && strings.EqualFold(o.name[:7], "sqlite_")
}

// readTable describes a table, or is sql.ErrNoRows.
func readTable(ctx context.Context, q querier, schema, name string) (*table, error) {
	t := &table{schema: schema, name: name}
	var kind string
	err := scanOne(ctx, q, []any{&t.name, &kind, &t.withoutRowID, &t.strict},
		`SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = ? AND lower(name) = lower(?)`, schema, name)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	t.shadow = kind == "shadow"
	rows, err := q.QueryContext(ctx, `SELECT name, type, pk, hidden, "notnull" = 0 OR dflt_value IS NOT NULL FROM pragma_table_xinfo(?, ?)`, t.name, schema)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	defer rows.Close()
	var keys, integerKeys, key int // key: the last one's column
	taken := map[string]bool{}
	for rows.Next() {
		var c column
		var pk, hidden int
		if err := rows.Scan(&c.name, &c.declared, &pk, &hidden, &c.optional); err != nil {
			return nil, err
		}
		taken[strings.ToLower(c.name)] = true
		if pk > 0 {
			keys++
			key = len(t.columns)
			c.optional = c.optional && !t.withoutRowID && !t.strict
			if strings.EqualFold(c.declared, "INTEGER") {
				integerKeys++
			}
		}
		if hidden == 0 {
			t.columns = append(t.columns, c)
		}
	}
	if err := rows.Err(); err != nil || t.withoutRowID {
		return t, err
	}
	if keys == 1 && integerKeys == 1 {
		// INTEGER PRIMARY KEY is the rowid, unless it has an index of its own,
		// as INTEGER PRIMARY KEY DESC has.
		var own int
		err := scanOne(ctx, q, []any{&own}, `SELECT count(*) FROM pragma_index_list(?, ?) WHERE origin = 'pk'`, t.name, schema)
		if err != nil || own == 0 {
			if key < len(t.columns) {
				t.columns[key].optional = true // the next number
			}
			return t, err
		}
	}
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		if !taken[name] {
			t.rowid = name
			break
		}
	}
	return t, nil
}

// scanOne reads the first row of a query; sql.ErrNoRows says that there is none.
func scanOne(ctx context.Context, q querier, to []any, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	return rows.Scan(to...)
}

// column finds a column by its name as SQL compares names, or returns -1.
func (t *table) column(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return strings.EqualFold(c.name, name) })
}

// qualified names the table, whatever temporary one has its name.
func (t *table) qualified() string { return quoteName(t.schema) + "." + quoteName(t.name) }

// names lists the columns to copy, the rowid first where it is not one of them,
// quoted and separated by commas; each is written after prefix.
func (t *table) names(prefix string) string {
	var names []string
	if t.rowid != "" {
		names = append(names, t.rowid)
	}
	for _, c := range t.columns {
		names = append(names, prefix+quoteName(c.name))
	}
	return strings.Join(names, ", ")
}

// insertText is the statement that copies one row.
func (t *table) insertText() string {
	n := len(t.columns)
	if t.rowid != "" {
		n++
	}
	return "INSERT INTO " + t.qualified() + "(" + t.names("") + ") VALUES(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
}

// selectText is the query for all rows to copy. The plus sign makes an
// expression of a column, so that no driver reads a value by its declared type.
func (t *table) selectText() string {
	return "SELECT " + t.names("+") + " FROM " + t.qualified()
}

// countRows counts the rows of tables.
func countRows(ctx context.Context, q querier, tables []*table) (total int64, err error) {
	for _, t := range tables {
		var n int64
		if err := scanOne(ctx, q, []any{&n}, "SELECT count(*) FROM "+t.qualified()); err != nil {
			return 0, fmt.Errorf("table %s: %w", t.name, err)
		}
		total += n
	}
	return total, nil
}
