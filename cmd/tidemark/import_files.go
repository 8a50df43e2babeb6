package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tidemarkdb/tidemark/driver"
)

// importCSV reads CSV files into a table each, all of them or nothing.
func importCSV(ctx context.Context, conn *sql.Conn, files []*importFile, o importOptions, std streams, bar *progress) error {
	var list []*csvImport
	var tables []string
	for _, f := range files {
		list, tables = append(list, newCSVImport(f, o, bar)), append(tables, f.table)
	}
	rows := make([]int64, len(list))
	postponed, broken := false, ""
	err := inSavepoint(ctx, conn, func() (err error) {
		for i, c := range list {
			c.later = tables[i+1:]
			if rows[i], err = c.run(ctx, conn); err != nil {
				return err
			}
			tables[i] = c.table // as the table is spelled
			postponed = postponed || c.postponed
		}
		if postponed && len(list) > 1 { // for the error of the end, which names no file
			broken, err = brokenReferences(ctx, conn, tables...)
		}
		return err
	})
	bar.clear()
	switch {
	case err == nil:
	case broken != "" && errors.Is(err, driver.ErrConstraintForeignKey):
		return importFailed(ctx, fmt.Errorf("%w: %s", err, broken))
	default:
		if len(list) == 1 {
			err = list[0].explained(err)
		}
		return importFailed(ctx, err)
	}
	for i, c := range list {
		how := ""
		if c.guessed && c.delimiter != delimiters[0] {
			how = fmt.Sprintf(", with the delimiter %q", c.delimiter)
		}
		fmt.Fprintf(std.err, "import: %s into %s%s\n", counted(rows[i], "row"), c.table, how)
	}
	return nil
}

func newCSVImport(f *importFile, o importOptions, bar *progress) *csvImport {
	c := &csvImport{name: f.in.name, table: f.table, header: o.header, null: o.null, skip: o.skip, update: bar.update, own: true}
	switch {
	case o.delimiter != "":
		c.delimiter = o.delimiter[0]
	case f.format == "tsv":
		c.delimiter = '\t'
	}
	c.guessed = c.delimiter == 0
	c.open = func() (io.ReadCloser, error) { return os.Open(f.in.path) }
	if info, err := os.Stat(f.in.path); err == nil {
		c.size = info.Size()
	}
	return c
}
