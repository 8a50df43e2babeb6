package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// importScript runs a script of SQL statements.
//
// A script that does not begin a transaction itself runs in one, so that a
// failure leaves nothing. One that does, as those of sqlite3's .dump do, runs as
// it is: a failure takes back the transaction it happened in and keeps those
// that were committed before, and the error says so.
//
// kept reports that statements of a script that failed took effect.
func importScript(ctx context.Context, conn *sql.Conn, in *inputFile, std streams, bar *progress) (kept bool, err error) {
	own, settings, err := hasTransactions(ctx, in)
	if err != nil {
		return false, importFailed(ctx, err)
	}
	s := &scriptImport{conn: conn, path: in.path, name: in.name, bar: bar}
	if own {
		err = s.run(ctx)
		if inTransaction(context.WithoutCancel(ctx), conn) {
			if err == nil {
				err = fmt.Errorf("%s ends inside of a transaction, which was rolled back", in.name)
			}
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // err says that something is wrong
		}
		kept = s.outside > 0
	} else {
		for _, text := range settings {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				return false, importFailed(ctx, fmt.Errorf("%s: %w", in.name, err))
			}
		}
		err = inSavepoint(ctx, conn, func() error { return s.run(ctx) })
	}
	bar.clear()
	switch {
	case err == nil:
		fmt.Fprintf(std.err, "import: %s of %s\n", counted(s.statements, "statement"), in.name)
		if s.unchecked {
			warnOfReferences(ctx, conn, std)
		}
		return true, nil
	case kept:
		left := counted(s.outside, "statement") + " before it took effect, because the script has transactions of its own"
		if ctx.Err() != nil && statusOf(err) == statusFailed {
			return true, &interruptedError{left, err}
		}
		return true, fmt.Errorf("%w; %s", err, left)
	}
	return false, importFailed(ctx, err)
}

// hasTransactions reads a script for statements that begin or end a transaction.
// In one of the command's own the PRAGMAs at the head of the script that say
// whether foreign keys are enforced would do nothing: these are the settings.
func hasTransactions(ctx context.Context, in *inputFile) (own bool, settings []string, err error) {
	f, err := os.Open(in.path)
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	text := bufio.NewReaderSize(f, 1<<16)
	if err := refuseEncoding(in.name, text); err != nil {
		return false, nil, err
	}
	head := true
	for r := newScriptReader(text); ; {
		s, err := r.next()
		if errors.Is(err, io.EOF) {
			return false, settings, nil
		}
		if err != nil {
			return false, nil, fmt.Errorf("%s: %w", in.name, err)
		}
		if err := ctx.Err(); err != nil {
			return false, nil, err
		}
		if head = head && s.is("PRAGMA"); head && setsForeignKeys(s) {
			settings = append(settings, s.text)
		}
		if s.is("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT") {
			return true, nil, nil
		}
	}
}

func setsForeignKeys(s statement) bool {
	return s.is("PRAGMA") && strings.Contains(strings.ToLower(s.text), "foreign_keys")
}

// scriptImport is one run of a script.
type scriptImport struct {
	conn       *sql.Conn
	path, name string
	bar        *progress
	statements int64
	outside    int64 // statements that took effect for good
	unchecked  bool  // it may have turned foreign keys off
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
		s.unchecked = s.unchecked || setsForeignKeys(st)
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
