package sqltests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver"
	"modernc.org/sqlite"
	"pgregory.net/rapid"
)

// code is SQLite's extended result code of an error, 0 for none.
func code(err error) int {
	var ours *driver.Error
	var theirs *sqlite.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ours):
		if ours.Extended != 0 {
			return int(ours.Extended)
		}
		return int(ours.Code)
	case errors.As(err, &theirs):
		return theirs.Code()
	}
	return -1
}

var (
	modelTables = []string{"t0", "t1", "t2"}
	modelSaves  = []string{"a", "b", "A"}
)

// modelStatement draws one statement.
func modelStatement(t *rapid.T) string {
	tab := rapid.SampledFrom(modelTables).Draw(t, "table")
	v := func() string {
		return rapid.SampledFrom([]string{"0", "1", "2", "3", "5", "'1'", "'x'", "'X'", "2.0", "2.5", "NULL", "x'31'", "-1", "'a b'"}).Draw(t, "value")
	}
	or := func() string {
		return rapid.SampledFrom([]string{"", "", "", "OR IGNORE ", "OR REPLACE ", "OR FAIL ", "OR ABORT ", "OR ROLLBACK "}).Draw(t, "or")
	}
	where := func() string {
		return rapid.SampledFrom([]string{"", " WHERE a = " + v(), " WHERE b > " + v(), " WHERE c = " + v(), " WHERE rowid = " + v(), " WHERE a IN (1,2,'x',NULL)", " WHERE b IS NULL"}).Draw(t, "where")
	}
	save := rapid.SampledFrom(modelSaves)
	switch rapid.IntRange(0, 23).Draw(t, "kind") {
	case 0, 1, 2, 3, 4:
		return fmt.Sprintf("INSERT %sINTO %s(a,b,c) VALUES(%s,%s,%s)", or(), tab, v(), v(), v())
	case 5, 6:
		return fmt.Sprintf("INSERT %sINTO %s(a,b,c) VALUES(%s,%s,%s),(%s,%s,%s)", or(), tab, v(), v(), v(), v(), v(), v())
	case 7:
		return fmt.Sprintf("INSERT %sINTO %s(a,b,c) SELECT c,b,a FROM %s", or(), tab, rapid.SampledFrom(modelTables).Draw(t, "from"))
	case 8, 9, 10:
		return fmt.Sprintf("UPDATE %s%s SET %s = %s%s", or(), tab, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "column"), rapid.SampledFrom([]string{v(), "b", "a", "a || 'z'"}).Draw(t, "set"), where())
	case 11, 12:
		return fmt.Sprintf("DELETE FROM %s%s", tab, where())
	case 13:
		return "BEGIN" + rapid.SampledFrom([]string{"", " IMMEDIATE", " DEFERRED"}).Draw(t, "begin")
	case 14:
		return rapid.SampledFrom([]string{"COMMIT", "END", "COMMIT TRANSACTION"}).Draw(t, "commit")
	case 15:
		return "ROLLBACK"
	case 16, 17:
		return "SAVEPOINT " + save.Draw(t, "name")
	case 18:
		return rapid.SampledFrom([]string{"RELEASE ", "RELEASE SAVEPOINT "}).Draw(t, "release") + save.Draw(t, "name")
	case 19, 20:
		return rapid.SampledFrom([]string{"ROLLBACK TO ", "ROLLBACK TRANSACTION TO SAVEPOINT "}).Draw(t, "rollback") + save.Draw(t, "name")
	case 21:
		return modelCreate(t, tab)
	case 22:
		return rapid.SampledFrom([]string{"DROP TABLE ", "DROP TABLE IF EXISTS "}).Draw(t, "drop") + tab
	default:
		ix := rapid.SampledFrom([]string{"i0", "i1"}).Draw(t, "index")
		return rapid.SampledFrom([]string{
			fmt.Sprintf("CREATE INDEX %s ON %s(b)", ix, tab),
			fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s(a, c)", ix, tab),
			fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s(c DESC, b)", ix, tab),
			"DROP INDEX IF EXISTS " + ix,
			"DROP INDEX " + ix,
		}).Draw(t, "ddl")
	}
}

func modelCreate(t *rapid.T, tab string) string {
	cols := rapid.SampledFrom([]string{
		"a INTEGER PRIMARY KEY, b TEXT, c INT",
		"a INT UNIQUE, b TEXT NOT NULL DEFAULT 'd', c REAL",
		"a TEXT PRIMARY KEY COLLATE NOCASE, b, c INT CHECK(c IS NULL OR c <> 3)",
		"a, b NUMERIC, c BLOB, UNIQUE(a, b), UNIQUE(c)",
		"a INTEGER PRIMARY KEY AUTOINCREMENT, b, c UNIQUE ON CONFLICT IGNORE",
		"a INT, b INT, c, PRIMARY KEY(b, c)",
	}).Draw(t, "columns")
	return fmt.Sprintf("CREATE TABLE %s%s(%s)", rapid.SampledFrom([]string{"", "IF NOT EXISTS "}).Draw(t, "exists"), tab, cols)
}

// TestModel runs random statements, savepoints and schema changes on a store and
// on plain SQLite and compares outcome and state after each.
func TestModel(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		modelRun(t, rt)
	})
	t.Logf("%d programs", n)
}

func modelRun(t *testing.T, rt *rapid.T) {
	ctx := context.Background()
	dir := tempDir(t)
	db, err := sql.Open("tidemark", dir+"/store")
	if err != nil {
		rt.Fatal(err)
	}
	defer db.Close()
	oracle, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		rt.Fatal(err)
	}
	defer oracle.Close()
	oc, err := oracle.Conn(ctx)
	if err != nil {
		rt.Fatal(err)
	}
	defer oc.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		rt.Fatal(err)
	}
	defer func() { c.Close() }()
	var log []string
	fail := func(format string, a ...any) {
		rt.Fatalf("%s\nafter:\n  %s", fmt.Sprintf(format, a...), strings.Join(log, ";\n  "))
	}
	for _, tab := range modelTables[:2] {
		q := modelCreate(rt, tab)
		log = append(log, q)
		c.ExecContext(ctx, q)
		oc.ExecContext(ctx, q)
	}
	depth := 0
	sequences := true // until SQLite left out what a failing OR FAIL had numbered
	for range rapid.IntRange(5, 40).Draw(rt, "steps") {
		q := modelStatement(rt)
		if strings.HasPrefix(q, "SAVEPOINT") {
			if depth >= 6 {
				continue
			}
			depth++
		}
		log = append(log, q)
		want, wantErr := oc.ExecContext(ctx, q)
		got, gotErr := c.ExecContext(ctx, q)
		if code(wantErr) != code(gotErr) {
			fail("%s: error here: %v (%d), natively: %v (%d)", q, gotErr, code(gotErr), wantErr, code(wantErr))
		}
		if wantErr == nil {
			first := strings.ToUpper(strings.Fields(q)[0])
			if first == "INSERT" || first == "UPDATE" || first == "DELETE" {
				wn, _ := want.RowsAffected()
				gn, _ := got.RowsAffected()
				if wn != gn {
					fail("%s: %d rows affected here, %d natively", q, gn, wn)
				}
				wi, _ := want.LastInsertId()
				gi, _ := got.LastInsertId()
				if first == "INSERT" && wi != gi {
					fail("%s: last id %d here, %d natively", q, gi, wi)
				}
			}
		}
		if wantErr != nil && strings.Contains(q, "OR FAIL") {
			sequences = false
		}
		if d := modelDiff(ctx, oc, c, sequences); d != "" {
			fail("%s: %s", q, d)
		}
		if strings.HasPrefix(q, "RELEASE") || q == "ROLLBACK" {
			depth = 0
		}
	}
	oc.ExecContext(ctx, "ROLLBACK")
	c.ExecContext(ctx, "ROLLBACK")
	c.Close()
	if f := findings(t, db); len(f) > 0 {
		fail("check: %v", f)
	}
	if err := db.Close(); err != nil {
		fail("close: %v", err)
	}
	if db, err = sql.Open("tidemark", dir+"/store"); err != nil {
		fail("reopen: %v", err)
	}
	if c, err = db.Conn(ctx); err != nil {
		fail("reopen: %v", err)
	}
	if d := modelDiff(ctx, oc, c, sequences); d != "" {
		fail("after reopening: %s", d)
	}
	if f := findings(t, db); len(f) > 0 {
		fail("check after reopening: %v", f)
	}
}

// modelDiff compares all tables of both connections.
func modelDiff(ctx context.Context, want, got *sql.Conn, sequences bool) string {
	tables := modelTables
	if sequences {
		tables = append([]string{"sqlite_sequence"}, tables...)
	}
	for _, tab := range tables {
		q := "SELECT *, rowid FROM " + tab + " ORDER BY rowid"
		if tab == "sqlite_sequence" {
			// SQLite writes a row of 0 for an INSERT … SELECT that finds nothing, and
			// its own rowids depend on that.
			q = "SELECT * FROM sqlite_sequence WHERE seq <> 0 ORDER BY name"
		}
		w, werr := modelRows(ctx, want, q)
		g, gerr := modelRows(ctx, got, q)
		if tab == "sqlite_sequence" && (werr != nil || gerr != nil) {
			continue // native SQLite keeps the empty table for ever
		}
		if (werr == nil) != (gerr == nil) {
			return fmt.Sprintf("%s: %v here, %v natively", q, gerr, werr)
		}
		if !slices.Equal(w, g) {
			return fmt.Sprintf("%s:\n  here     %v\n  natively %v", tab, g, w)
		}
	}
	return ""
}

func modelRows(ctx context.Context, c *sql.Conn, q string, args ...any) ([]string, error) {
	rows, err := c.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return readRows(rows)
}
