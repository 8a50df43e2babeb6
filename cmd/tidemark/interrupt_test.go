package main

import (
	"context"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manyRows is a store with two tables of a few hundred rows.
func manyRows(t *testing.T) string {
	t.Helper()
	dir := newDir(t)
	must(t, "sql", dir, `CREATE TABLE a(x); CREATE TABLE b(y);
		INSERT INTO a WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300) SELECT i FROM c;
		INSERT INTO b SELECT x FROM a`)
	return dir
}

// exportWith runs an export that calls a function with each row.
func exportWith(t *testing.T, ctx context.Context, dir, out string, each func(db *sql.DB, row int)) (err error) {
	t.Helper()
	openErr := withStore(t.Context(), dir, "rw", func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		e := &export{out: out, std: streams{strings.NewReader(""), io.Discard, io.Discard}}
		if err := e.checkFormat(); err != nil {
			return err
		}
		rows := 0
		return e.runOn(ctx, conn, func(bar *progress) {
			bar.now = func() time.Time {
				rows++
				each(db, rows)
				return bar.shown
			}
		})
	})
	return openErr
}

// An export is of one moment, whatever is written while it runs.
func TestExportIsOneSnapshot(t *testing.T) {
	for _, name := range []string{"out.db", "out.sql"} {
		dir := manyRows(t)
		want := storeContents(t, dir)
		out := filepath.Join(t.TempDir(), name)
		err := exportWith(t, t.Context(), dir, out, func(db *sql.DB, row int) {
			if row == 100 {
				if _, err := db.Exec("INSERT INTO b VALUES('later')"); err != nil {
					t.Error(err)
				}
				if _, err := db.Exec("DELETE FROM a"); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if name == "out.sql" {
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			out = makeFile(t, string(text))
		}
		same(t, name, fileContents(t, out), want)
		if got := must(t, "sql", dir, "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)"); got != "0|301\n" {
			t.Errorf("%s: what was written meanwhile: %q", name, got)
		}
	}
}

// An export that is interrupted leaves no file.
func TestExportInterrupted(t *testing.T) {
	dir := manyRows(t)
	for _, name := range []string{"out.db", "out.sql"} {
		folder := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		err := exportWith(t, ctx, dir, filepath.Join(folder, name), func(_ *sql.DB, row int) {
			if row == 100 {
				cancel()
			}
		})
		cancel()
		if statusOf(err) != statusFailed {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
	must(t, "check", dir)
}

// A session that reads no terminal ends when it is interrupted, also while it
// waits for a line; what was committed stays.
func TestShellInterrupted(t *testing.T) {
	dir := newDir(t)
	in, typed := io.Pipe()
	shown, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr strings.Builder
	done := make(chan int)
	go func() { done <- run(ctx, []string{"shell", dir}, streams{in, out, &stderr}) }()
	if _, err := io.WriteString(typed, "CREATE TABLE t(a);\nBEGIN;\nINSERT INTO t VALUES(1);\nSELECT 'ready';\n"); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if _, err := io.ReadFull(shown, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("%q, %v", ready, err)
	}
	cancel()
	if status := <-done; status != statusFailed {
		t.Errorf("status %d, %s", status, stderr.String())
	}
	_ = typed.Close()
	if got := must(t, "sql", dir, "SELECT count(*) FROM sqlite_schema; SELECT count(*) FROM t"); got != "1\n0\n" {
		t.Errorf("left: %q", got)
	}
}

// A statement that is interrupted does not take the session along.
func TestStatementInterrupted(t *testing.T) {
	db, err := openStore(t.Context(), newDir(t), "rwc")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out, stderr strings.Builder
	s := &shell{std: streams{strings.NewReader(""), &out, &stderr}, explain: "auto", format: defaultFormat(), names: &nameCache{}}
	if s.conn, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.conn.Close()
	if err := s.session(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, text string) error {
		for _, st := range splitScript(text) {
			if err := s.run(ctx, st); err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(t.Context(), "CREATE TABLE t(a); CREATE TEMP TABLE tt(b); BEGIN; INSERT INTO t VALUES(1)"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := run(ctx, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c"); err == nil || ctx.Err() == nil {
		t.Fatalf("an endless statement ended with %v", err)
	}
	if err := run(t.Context(), "COMMIT; SELECT * FROM t; SELECT count(*) FROM tt"); err != nil {
		t.Fatal(err)
	}
	if _ = s.flush(); out.String() != "1\n0\n" {
		t.Errorf("afterwards: %q", out.String())
	}
}
