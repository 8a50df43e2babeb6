package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
)

// importScript runs a script of SQL statements.
//
// A script that does not begin a transaction itself runs in one, so that a
// failure leaves nothing. One that does, as those of sqlite3's .dump do, runs as
// it is: a failure takes back the transaction it happened in and keeps those
// that were committed before, and the error says so.
func importScript(ctx context.Context, conn *sql.Conn, file string, std streams, bar *progress) error {
	path, name := file, file
	if file == "-" {
		spooled, err := spool(std.in)
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		defer os.Remove(spooled)
		path, name = spooled, "standard input"
	}
	own, err := hasTransactions(path)
	if err != nil {
		return err
	}
	s := &scriptImport{conn: conn, path: path, name: name, bar: bar}
	if own {
		err = s.run(ctx)
		if inTransaction(context.WithoutCancel(ctx), conn) {
			if err == nil {
				err = fmt.Errorf("%s ends inside of a transaction, which was rolled back", name)
			}
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // err says that something is wrong
		}
		if err != nil && s.outside > 0 {
			err = fmt.Errorf("%w; %s before it took effect, because the script has transactions of its own", err, counted(s.outside, "statement"))
		} else if err != nil {
			err = importFailed(err)
		}
	} else if err = inSavepoint(ctx, conn, func() error { return s.run(ctx) }); err != nil {
		err = importFailed(err)
	}
	bar.clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(std.err, "import: %s of %s\n", counted(s.statements, "statement"), name)
	return nil
}

// hasTransactions reads a script for statements that begin or end a transaction.
func hasTransactions(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for r := newScriptReader(f); ; {
		s, err := r.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
		if s.is("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT") {
			return true, nil
		}
	}
}

// scriptImport is one run of a script.
type scriptImport struct {
	conn       *sql.Conn
	path, name string
	bar        *progress
	statements int64
	outside    int64 // statements that took effect for good
}

// run runs the statements up to the first that fails.
func (s *scriptImport) run(ctx context.Context) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	var size int64
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	var tx txState
	var inside int64
	for r := newScriptReader(f); ; {
		st, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := s.conn.ExecContext(ctx, st.text); err != nil {
			return fmt.Errorf("%s:%d: statement %d: %w", s.name, st.line, s.statements+1, err)
		}
		s.statements++
		was := tx.open()
		tx.after(st)
		switch {
		case tx.open():
			inside++
		case was && st.is("ROLLBACK"):
			inside = 0
		case was:
			s.outside, inside = s.outside+inside+1, 0
		case !st.is("PRAGMA", "SELECT"):
			s.outside++
		}
		s.bar.update(r.read, size)
	}
}
