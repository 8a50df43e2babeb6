package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// dump writes a database as a script that Tidemark and SQLite read back: the
// tables with their rows, then what looks at rows.
type dump struct {
	q      querier
	w      io.Writer
	only   []string // tables; empty for everything
	note   func(string, ...any)
	update func(done, total int64)

	rows   int64
	tables int64
}

// run writes the script.
func (d *dump) run(ctx context.Context) error {
	objects, err := readSchema(ctx, d.q)
	if err != nil {
		return err
	}
	if objects, err = selectObjects(objects, d.only); err != nil {
		return err
	}
	var tables []*table
	ddl := map[string]string{}
	for _, o := range objects {
		if o.kind != "table" || o.internal() {
			continue
		}
		if o.virtual != "" {
			d.note("virtual table %s is left out", o.name)
			continue
		}
		t, err := readTable(ctx, d.q, "main", o.name)
		if err != nil {
			return err
		}
		if lost := lostOptions(o.options); len(lost) > 0 {
			d.note("table %s is written as an ordinary table, without %s", o.name, strings.Join(lost, ", "))
		}
		tables = append(tables, t)
		ddl[t.name] = o.sql
	}
	total, err := countRows(ctx, d.q, tables)
	if err != nil {
		return err
	}
	// Rows go in before what they refer to is there.
	if err := d.lines("PRAGMA foreign_keys=OFF", "BEGIN TRANSACTION"); err != nil {
		return err
	}
	for _, t := range tables {
		if err := d.lines(ddl[t.name]); err != nil {
			return err
		}
		if err := d.insertRows(ctx, t, total); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		d.tables++
	}
	sequences, err := readSequences(ctx, d.q, tables)
	if err != nil {
		return err
	}
	for _, s := range sequences {
		if err := d.lines(s.statements()...); err != nil {
			return err
		}
	}
	for _, kind := range []string{"index", "view", "trigger"} {
		for _, o := range objects {
			if o.kind == kind && !o.internal() {
				if err := d.lines(o.sql); err != nil {
					return err
				}
			}
		}
	}
	return d.lines("COMMIT")
}

// lines writes statements.
func (d *dump) lines(statements ...string) error {
	for _, s := range statements {
		if _, err := io.WriteString(d.w, terminated(s)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// insertRows writes an INSERT for each row of a table.
func (d *dump) insertRows(ctx context.Context, t *table, total int64) error {
	var names []string
	if t.rowid != "" {
		names = append(names, t.rowid)
	}
	for _, c := range t.columns {
		names = append(names, nameText(c.name))
	}
	head := "INSERT INTO " + nameText(t.name) + "(" + strings.Join(names, ",") + ") VALUES("
	rows, err := d.q.QueryContext(ctx, t.selectText())
	if err != nil {
		return err
	}
	defer rows.Close()
	var line strings.Builder
	_, err = scanRows(rows, func(values []any) error {
		line.Reset()
		line.WriteString(head)
		for i, v := range values {
			if i > 0 {
				line.WriteByte(',')
			}
			line.WriteString(literal(v))
		}
		line.WriteString(");\n")
		d.rows++
		d.update(d.rows, total)
		_, err := io.WriteString(d.w, line.String())
		return err
	})
	return err
}
