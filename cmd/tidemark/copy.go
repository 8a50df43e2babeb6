package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// storeCopy copies a schema with its rows from one database to another; either
// may be a store or a SQLite file. Both are inside of a transaction.
type storeCopy struct {
	from, to querier
	only     []string             // tables; empty for everything
	note     func(string, ...any) // told of what is left out, a line each
	update   func(done, total int64)
	partial  bool // leave tables out that the target refuses

	rows   int64
	tables []*table
}

// run copies tables, then their rows, then what looks at rows: indexes, views
// and triggers.
func (c *storeCopy) run(ctx context.Context) error {
	objects, err := readSchema(ctx, c.from)
	if err != nil {
		return err
	}
	if objects, err = selectObjects(objects, c.only); err != nil {
		return err
	}
	if err := c.makeTables(ctx, objects); err != nil {
		return err
	}
	total, err := countRows(ctx, c.from, c.tables)
	if err != nil {
		return err
	}
	for _, t := range c.tables {
		if err := c.copyRows(ctx, t, total); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	if err := c.copySequence(ctx); err != nil {
		return err
	}
	if len(c.only) == 0 {
		if err := c.copyNumbers(ctx); err != nil {
			return err
		}
	}
	made := func(name string) bool {
		return slices.ContainsFunc(c.tables, func(t *table) bool { return strings.EqualFold(t.name, name) })
	}
	isTable := func(name string) bool {
		return slices.ContainsFunc(objects, func(o schemaObject) bool {
			return o.kind == "table" && strings.EqualFold(o.name, name)
		})
	}
	for _, kind := range []string{"index", "view", "trigger"} {
		for _, o := range objects {
			if o.kind != kind || o.internal() {
				continue
			}
			if kind == "index" && !made(o.table) || kind == "trigger" && isTable(o.table) && !made(o.table) {
				continue // its table was left out, and said so
			}
			if err := c.make(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectObjects keeps the tables named, with their indexes and triggers, and
// everything when none is named.
func selectObjects(objects []schemaObject, only []string) ([]schemaObject, error) {
	if len(only) == 0 {
		return objects, nil
	}
	var kept []schemaObject
	for _, name := range only {
		if slices.ContainsFunc(objects, func(o schemaObject) bool {
			return o.kind == "table" && !o.internal() && !o.ordinary() && strings.EqualFold(o.name, name)
		}) {
			return nil, misuse("table %s is kept by the module of a virtual table and cannot be taken: use %s", name, tableNames(objects))
		}
		if !slices.ContainsFunc(objects, func(o schemaObject) bool { return isTableNamed(o, name) }) {
			return nil, misuse("there is no table %s: use %s", name, tableNames(objects))
		}
	}
	for _, o := range objects {
		if slices.ContainsFunc(only, func(name string) bool {
			return isTableNamed(o, name) || (o.kind == "index" || o.kind == "trigger") && strings.EqualFold(o.table, name)
		}) {
			kept = append(kept, o)
		}
	}
	return kept, nil
}

func isTableNamed(o schemaObject, name string) bool {
	return o.ordinary() && strings.EqualFold(o.name, name)
}

// ordinary reports whether the object is a table whose rows can be copied.
func (o schemaObject) ordinary() bool {
	return o.kind == "table" && !o.internal() && o.virtual == "" && !o.shadow
}

// tableNames lists the tables of a schema as a way forward.
func tableNames(objects []schemaObject) string {
	var names []string
	for _, o := range objects {
		if o.ordinary() {
			names = append(names, o.name)
		}
	}
	if len(names) == 0 {
		return "another file, this one has no tables to take"
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return strings.Join(names, ", ")
}

// makeTables makes the tables and notes which rows are to be copied.
func (c *storeCopy) makeTables(ctx context.Context, objects []schemaObject) error {
	for _, o := range objects {
		if o.kind != "table" || o.internal() {
			continue
		}
		if o.virtual != "" {
			c.note("virtual table %s is left out: its module %s keeps its rows in its own way", o.name, o.virtual)
			continue
		}
		t, err := readTable(ctx, c.from, "main", o.name)
		if err != nil {
			return err
		}
		if t.shadow {
			continue // of a virtual table
		}
		if lost := lostOptions(o.options); len(lost) > 0 {
			c.note("table %s is written as an ordinary table, without %s", o.name, strings.Join(lost, ", "))
		}
		switch err := c.make(ctx, o); {
		case errors.Is(err, errLeftOut):
		case err != nil:
			return err
		default:
			c.tables = append(c.tables, t)
		}
	}
	return nil
}

// copyRows copies the rows of one table as they are.
func (c *storeCopy) copyRows(ctx context.Context, t *table, total int64) error {
	insert, err := c.to.PrepareContext(ctx, t.insertText())
	if err != nil {
		return err
	}
	defer insert.Close()
	rows, err := c.from.QueryContext(ctx, t.selectText())
	if err != nil {
		return err
	}
	defer rows.Close()
	_, err = scanRows(rows, func(values []any) error {
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return err
		}
		c.rows++
		c.update(c.rows, total)
		return nil
	})
	return err
}

// copySequence makes AUTOINCREMENT go on where it was, which may be above the
// highest row.
func (c *storeCopy) copySequence(ctx context.Context) error {
	sequences, err := readSequences(ctx, c.from, c.tables)
	if err != nil {
		return err
	}
	for _, s := range sequences {
		for _, text := range s.statements() {
			if _, err := c.to.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("sqlite_sequence of %s: %w", s.table, err)
			}
		}
	}
	return nil
}

// copyNumbers copies the numbers that an application keeps in the header of a
// SQLite file.
func (c *storeCopy) copyNumbers(ctx context.Context) error {
	for _, name := range []string{"user_version", "application_id"} {
		var from, to int64
		if err := scanOne(ctx, c.from, []any{&from}, "PRAGMA "+name); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if from == 0 {
			continue
		}
		_, err := c.to.ExecContext(ctx, fmt.Sprintf("PRAGMA %s=%d", name, from))
		if err == nil {
			if err = scanOne(ctx, c.to, []any{&to}, "PRAGMA "+name); errors.Is(err, sql.ErrNoRows) {
				err = nil
			}
		}
		switch {
		case err != nil && !errors.Is(err, driver.ErrNotAvailable):
			return fmt.Errorf("%s: %w", name, err)
		case err != nil || to != from:
			c.note("%s %d is left out: it has no place there", name, from)
		}
	}
	return nil
}

// sequence is a row of sqlite_sequence.
type sequence struct {
	table string
	seq   any
}

// readSequences reads how far the AUTOINCREMENT tables among tables have counted.
func readSequences(ctx context.Context, q querier, tables []*table) (all []sequence, err error) {
	var exists int
	if err := scanOne(ctx, q, []any{&exists}, `SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'`); err != nil || exists == 0 {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, `SELECT name, seq FROM sqlite_sequence`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	_, err = scanRows(rows, func(values []any) error {
		name, ok := values[0].(string)
		if ok && slices.ContainsFunc(tables, func(t *table) bool { return t.name == name }) {
			all = append(all, sequence{name, values[1]})
		}
		return nil
	})
	return all, err
}

// statements set the sequence, whatever it is now.
func (s sequence) statements() []string {
	return []string{
		"DELETE FROM sqlite_sequence WHERE name = " + quoteText(s.table),
		"INSERT INTO sqlite_sequence(name, seq) VALUES(" + quoteText(s.table) + ", " + literal(s.seq) + ")",
	}
}

// refusedError says that the target does not have what the source needs.
type refusedError struct {
	what string
	err  error
}

func (e *refusedError) Error() string {
	return e.what + ": " + e.err.Error() + "; nothing was written: name the tables to take, or leave out what is refused with -partial"
}

func (e *refusedError) Unwrap() error { return e.err }

// make runs the DDL of an object. What the target knows and does not do yet is
// left out with a note where that loses no rows; so is all that fails in a
// partial copy.
func (c *storeCopy) make(ctx context.Context, o schemaObject) error {
	_, err := c.to.ExecContext(ctx, o.sql)
	refused := errors.Is(err, driver.ErrNotAvailable)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !c.partial && refused && o.kind == "table":
		return &refusedError{"table " + o.name, err}
	case !c.partial && !refused:
		return fmt.Errorf("%s %s: %w", o.kind, o.name, err)
	}
	c.note("%s %s is left out: %s", o.kind, o.name, oneLine(err.Error()))
	if o.kind == "table" {
		return errLeftOut
	}
	return nil
}

// errLeftOut says that a table was left out, and noted.
var errLeftOut = errors.New("left out")
