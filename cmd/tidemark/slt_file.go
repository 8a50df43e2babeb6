package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidemarkdb/tidemark/sqltests/slt"
)

// scriptDB opens and reopens the database of one script.
type scriptDB struct {
	run  *sltRun
	dsn  string
	db   *sql.DB
	conn *sql.Conn
}

// open closes what is open and connects anew.
func (s *scriptDB) open(ctx context.Context) (*sql.Conn, error) {
	if err := s.close(); err != nil {
		return nil, fmt.Errorf("close: %w", err)
	}
	db, err := sql.Open(s.run.driver, s.dsn)
	if err != nil {
		return nil, err
	}
	s.db = db
	db.SetMaxOpenConns(1)
	if s.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	if s.run.init != "" {
		if _, err := s.conn.ExecContext(ctx, s.run.init); err != nil {
			return nil, fmt.Errorf("-init: %w", err)
		}
	}
	return s.conn, nil
}

// close closes the connection and the database; a connection that was closed
// already is no error.
func (s *scriptDB) close() error {
	var err error
	if s.conn != nil {
		if err = s.conn.Close(); errors.Is(err, sql.ErrConnDone) {
			err = nil
		}
		s.conn = nil
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
		s.db = nil
	}
	return err
}

// runFile runs one script on a database of its own. A panic in a driver is a
// result of its file, not the end of the run.
func (r *sltRun) runFile(ctx context.Context, file string) (result fileResult) {
	result.File = file
	fail := func(err error) fileResult {
		result.Error = err.Error()
		return result
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return fail(err)
	}
	options := r.options
	options.Known = r.known[file]
	options.OnFail = func(f slt.Failure) {
		if len(result.Failures) < r.show {
			result.Failures = append(result.Failures, fmt.Sprintf("%s:%d: %s\n        %s",
				file, f.Record.Line, f.Why, strings.ReplaceAll(f.Record.SQL, "\n", "\n        ")))
		}
	}
	folder := ""
	if strings.Contains(r.dsn, "%t") {
		if folder, err = os.MkdirTemp("", "tidemark-slt-"); err != nil {
			return fail(err)
		}
		defer func() {
			if err := os.RemoveAll(folder); err != nil && result.Error == "" {
				result.Error = err.Error()
			}
		}()
	}
	script := &scriptDB{run: r}
	defer func() {
		if p := recover(); p != nil {
			result.Error = fmt.Sprint("panic: ", p)
		}
		if err := script.close(); err != nil && result.Error == "" {
			result.Error = "close: " + err.Error()
		}
	}()
	databases := 0
	fresh := func() (*sql.Conn, error) { // a database of its own
		databases++
		script.dsn = strings.ReplaceAll(r.dsn, "%t", filepath.Join(folder, fmt.Sprint("db", databases)))
		return script.open(ctx)
	}
	if strings.HasSuffix(file, ".sqltest") {
		result.Result = slt.RunSQLTest(ctx, func() (*sql.Conn, func(), error) {
			c, err := fresh()
			return c, func() {
				if err := script.close(); err != nil && result.Error == "" {
					result.Error = "close: " + err.Error()
				}
			}, err
		}, src, options)
		return result
	}
	conn, err := fresh()
	if err != nil {
		return fail(err)
	}
	options.Reopen = func() (*sql.Conn, error) { return script.open(ctx) }
	result.Result = slt.Run(ctx, conn, src, options)
	return result
}
