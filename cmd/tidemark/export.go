package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

const exportUsage = "tidemark export [-force] [-format F] " + openFlags + " DIR OUT.db|OUT.sql|OUT.csv|-[.sql|.csv] [TABLE…]"

// runExport writes a store for other programs.
func runExport(ctx context.Context, args []string, std streams) error {
	flags := newFlags("export")
	format := flags.String("format", "", "db, sql or csv; by default what the file's name ends in, and sql for -; -.sql and -.csv are standard output, too")
	force := flags.Bool("force", false, "replace a file that exists")
	var as openAs
	as.addTo(flags)
	if helped, err := parseFlags(flags, args, exportUsage, std); helped || err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return misuse("export takes a directory, a file and the tables wanted; it was given %d arguments: use %s", flags.NArg(), exportUsage)
	}
	e := &export{out: flags.Arg(1), only: flags.Args()[2:], force: *force, std: std, format: *format}
	if err := e.checkFormat(); err != nil {
		return err
	}
	if err := checkDir(flags.Arg(0)); err != nil {
		return err
	}
	if e.out != "-" {
		if err := refuseStoreFile("export", flags.Arg(0), e.out); err != nil {
			return err
		}
	}
	return withConfig(ctx, as.config(flags.Arg(0), "rw"), func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return e.runOn(ctx, conn, func(*progress) {})
	})
}

// export is one run of the command.
type export struct {
	q      querier
	out    string
	format string
	only   []string
	force  bool
	std    streams
	bar    *progress

	rows, tables int64
}

// checkFormat decides what to write, by the flag or by the file's name.
func (e *export) checkFormat() error {
	if e.out == "-.sql" || e.out == "-.csv" {
		e.out, e.format = "-", e.out[2:]
	}
	if e.format == "" {
		e.format = strings.TrimPrefix(strings.ToLower(filepath.Ext(e.out)), ".")
		switch {
		case e.out == "-":
			e.format = "sql"
		case e.format == "sqlite" || e.format == "sqlite3" || e.format == "db3":
			e.format = "db"
		}
	}
	switch {
	case e.format != "db" && e.format != "sql" && e.format != "csv":
		return misuse("export: %s is not known by its end: use .db, .sql or .csv, or -format", e.out)
	case e.format == "db" && e.out == "-":
		return misuse("export: a SQLite file cannot be written to standard output: name a file, or use -format=sql")
	case e.format == "csv" && len(e.only) != 1:
		return misuse("export: a csv file holds one table and %d were named: name one, or use a .db or .sql file", len(e.only))
	}
	return nil
}

// runOn exports from one snapshot of a connection: writers go on meanwhile. watch
// is shown the progress before it begins.
func (e *export) runOn(ctx context.Context, conn *sql.Conn, watch func(*progress)) error {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // only read
	e.q, e.bar = tx, newProgress(e.std.err, "export", "rows")
	watch(e.bar)
	defer e.bar.clear()
	if err := e.run(ctx); err != nil {
		return err
	}
	e.bar.clear()
	fmt.Fprintf(e.std.err, "export: %s of %s\n", counted(e.rows, "row"), counted(e.tables, "table"))
	return nil
}

// run writes to standard output, or to a file that appears when it is whole.
func (e *export) run(ctx context.Context) error {
	if e.out == "-" {
		return e.write(ctx, e.std.out)
	}
	switch stream, err := openStream(ctx, e.out, e.format); {
	case err != nil:
		return err
	case stream != nil:
		err := e.write(ctx, stream)
		if closeErr := stream.Close(); err == nil {
			err = closeErr
		}
		return err
	}
	f, err := createOut(ctx, e.out, e.force, e.format == "db")
	if err != nil {
		return err
	}
	defer f.discard()
	if e.format == "db" {
		err = e.writeSQLite(ctx, f.Name())
	} else {
		err = e.write(ctx, f)
	}
	if err != nil {
		return err
	}
	return f.publish(ctx)
}

// write writes one of the text formats.
func (e *export) write(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	var err error
	if e.format == "csv" {
		err = e.writeCSV(ctx, b)
	} else {
		d := &dump{q: e.q, w: b, only: e.only, note: e.note, update: e.bar.update}
		err = d.run(ctx)
		e.rows, e.tables = d.rows, d.tables
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// note tells of something that is left out.
func (e *export) note(format string, args ...any) {
	e.bar.clear()
	fmt.Fprintln(e.std.err, "export: "+oneLine(fmt.Sprintf(format, args...)))
}

// writeCSV writes a table, its column names first. Rowids that are not a column
// are not part of it.
func (e *export) writeCSV(ctx context.Context, w io.Writer) error {
	objects, err := readSchema(ctx, e.q)
	if err != nil {
		return err
	}
	if _, err := selectObjects(objects, e.only); err != nil {
		return err
	}
	t, err := readTable(ctx, e.q, "main", e.only[0])
	if err != nil {
		return err
	}
	t.rowid = ""
	total, err := countRows(ctx, e.q, []*table{t})
	if err != nil {
		return err
	}
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	out := newCSVWriter(w)
	if err := out.header(names); err != nil {
		return err
	}
	rows, err := e.q.QueryContext(ctx, t.selectText())
	if err != nil {
		return err
	}
	defer rows.Close()
	e.tables = 1
	_, err = scanRows(rows, func(values []any) error {
		e.rows++
		e.bar.update(e.rows, total)
		return out.row(values)
	})
	return err
}

// writeSQLite fills an empty file as a SQLite database and checks it.
func (e *export) writeSQLite(ctx context.Context, path string) error {
	db, err := openSQLite(ctx, path, "rw")
	if err != nil {
		return err
	}
	defer db.Close()
	to, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer to.Close()
	// The file has no name until it is whole, so nothing has to be undone in it.
	for _, text := range []string{"PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA foreign_keys=OFF", "BEGIN"} {
		if _, err := to.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	c := &storeCopy{from: e.q, to: to, only: e.only, note: e.note, update: e.bar.update}
	if err := c.run(ctx); err != nil {
		return err
	}
	if _, err := to.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	var ok string
	if err := scanOne(ctx, to, []any{&ok}, "PRAGMA integrity_check"); err != nil {
		return err
	}
	if ok != "ok" {
		return fmt.Errorf("integrity_check of %s: %s", e.out, ok)
	}
	e.rows, e.tables = c.rows, int64(len(c.tables))
	if err := to.Close(); err != nil {
		return err
	}
	return db.Close()
}
