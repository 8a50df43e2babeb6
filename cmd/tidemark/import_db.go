package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
)

// importSQLite copies a SQLite file into the store in one transaction: tables
// with their rows and rowids, indexes, views and triggers.
func importSQLite(ctx context.Context, conn *sql.Conn, file, name string, partial bool, std streams, bar *progress) error {
	from, err := openSQLite(ctx, file, "ro")
	if err != nil {
		return err
	}
	defer from.Close()
	// One transaction of the file, so that its tables are of one moment.
	tx, err := from.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer func() { _ = tx.Rollback() }() // only read
	// References may point forward while rows are copied.
	if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys=OFF"); err != nil {
		return err
	}
	// What is left out is told when all else is there: a refusal is one line.
	var notes, tables []string
	c := &storeCopy{from: tx, to: conn, partial: partial, update: bar.update, note: func(format string, args ...any) {
		notes = append(notes, oneLine(fmt.Sprintf(format, args...)))
	}}
	if name != "" {
		c.only = []string{name}
	}
	err = inSavepoint(ctx, conn, func() error { return c.run(ctx) })
	bar.clear()
	if err != nil {
		return importFailed(ctx, err)
	}
	for _, n := range notes {
		fmt.Fprintln(std.err, "import: "+n)
	}
	fmt.Fprintf(std.err, "import: %s into %s\n", counted(c.rows, "row"), counted(int64(len(c.tables)), "table"))
	for _, t := range c.tables {
		tables = append(tables, t.name)
	}
	if len(tables) > 0 {
		warnOfReferences(ctx, conn, std, tables...)
	}
	return nil
}

// openSQLite opens a file of SQLite's own format. One connection serves: it has
// the transaction.
func openSQLite(ctx context.Context, file, mode string) (*sql.DB, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?mode="+mode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // nothing was done
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return db, nil
}

// sqliteMagic begins a SQLite file.
const sqliteMagic = "SQLite format 3\x00"

// checkSQLite refuses what is not a SQLite file. A pipe is none: SQLite reads
// its pages in any order.
func checkSQLite(file string) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return misuse("import: %s is not a regular file, which a SQLite file has to be: copy it into one first", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return misuse("import: %v: name a file that can be read", err)
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", file, err)
	}
	if string(head) != sqliteMagic {
		return misuse("import: %s is not a SQLite file: give it its own end (.csv, .tsv, .sql), or use -format", file)
	}
	return nil
}
