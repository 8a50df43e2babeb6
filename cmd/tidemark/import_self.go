package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/driver"
)

// postpone has the foreign keys looked at when the transaction ends, where the
// table refers to itself, whose rows may then come in any order, or to one that is
// filled later. Of other tables they are looked at row by row, so that an error names
// the line. It is for a
// transaction of the import's own, whose end takes the setting back; turning it
// off before would forget what was violated.
func (c *csvImport) postpone(ctx context.Context, q querier, t *table) error {
	if !c.own {
		return nil
	}
	to, args := "?", []any{t.name, t.schema, t.name}
	for _, name := range c.later {
		to, args = to+", ?", append(args, name)
	}
	found, err := number(ctx, q, `SELECT count(*) FROM pragma_foreign_key_list(?, ?) WHERE "table" COLLATE NOCASE IN (`+to+`)`, args...)
	if err != nil || found == 0 {
		return err
	}
	c.postponed = true
	_, err = q.ExecContext(ctx, "PRAGMA defer_foreign_keys = ON")
	return err
}

// explained says of a violation that the end of the transaction found what it is,
// as no line can be named.
func (c *csvImport) explained(err error) error {
	if !c.postponed || !errors.Is(err, driver.ErrConstraintForeignKey) {
		return err
	}
	return fmt.Errorf("%s: %w: a row refers to one that is neither in the file nor in %s", c.name, err, c.table)
}

// number returns the one number that a query gives.
func number(ctx context.Context, q querier, text string, args ...any) (n int64, err error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&n)
	}
	return n, errors.Join(err, rows.Err())
}
