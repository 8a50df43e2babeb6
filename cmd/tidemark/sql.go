package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
)

// runSQL runs the statements of one text one after another on one connection
// and stops at the first that fails.
func runSQL(ctx context.Context, args []string, std streams) error {
	flags := newFlags("sql")
	mode := flags.String("mode", "list", "how rows are printed: list or table")
	header := flags.Bool("header", false, "print column names in list mode")
	var as openAs
	as.addTo(flags)
	if helped, err := parseFlags(flags, args, "tidemark sql [-mode list|table] [-header] "+openFlags+" DIR 'stmt; …'|-", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return misuse("sql takes a directory and a text of statements, or - to read them from standard input; it was given %d arguments", flags.NArg())
	}
	if *mode != "list" && *mode != "table" {
		return misuse("sql: -mode %s is not legal: use list or table", *mode)
	}
	text := flags.Arg(1)
	if text == "-" {
		b, err := await(ctx, func() ([]byte, error) { return io.ReadAll(std.in) })
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		text = string(b)
	}
	return withStoreOrMemory(ctx, flags.Arg(0), as, std, func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		for _, statement := range splitScript(text) {
			if err := printQuery(ctx, conn, statement.text, *mode == "table", *header, std.out); err != nil {
				return err
			}
		}
		return nil
	})
}

// printQuery runs one statement and prints its rows as they come, or all at
// once where columns are to be aligned.
func printQuery(ctx context.Context, conn *sql.Conn, statement string, table, header bool, w io.Writer) error {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	if table {
		var cells [][]string
		columns, err := scanRows(rows, func(values []any) error {
			line := make([]string, len(values))
			for i, v := range values {
				line[i] = tableText(v)
			}
			cells = append(cells, line)
			return nil
		})
		if err == nil && len(columns) > 0 {
			writeTable(w, columns, cells, "")
		}
		return err
	}
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	if header && len(columns) > 0 {
		fmt.Fprintln(w, strings.Join(columns, "|"))
	}
	line := make([]string, len(columns))
	_, err = scanRows(rows, func(values []any) error {
		for i, v := range values {
			line[i] = listText(v)
		}
		_, err := fmt.Fprintln(w, strings.Join(line, "|"))
		return err
	})
	return err
}
