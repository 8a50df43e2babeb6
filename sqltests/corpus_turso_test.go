package sqltests

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/sqltests/slt"
)

// The tests of Turso's conformance suite that plain SQLite runs too, those of them that
// pass, and in how many something is refused that Tidemark does not have yet.
// Whoever adds such a thing moves tests from the one number to the other.
const (
	tursoTests   = 3439
	tursoRefused = 0
)

// tempTriggers is why tests of temporary triggers on temporary tables differ.
const tempTriggers = "ALTER TABLE does not rewrite triggers on tables of temp"

// tursoDiffers are the tests whose outcome is another, by file and name, and why.
var tursoDiffers = map[string]string{
	"affinity.sqltest affinity-insert-text-from-real":                                                "17 digits of a REAL as TEXT: plain SQLite gives them too",
	"affinity.sqltest affinity-insert-text-from-real-2":                                              "17 digits of a REAL as TEXT: plain SQLite gives them too",
	"agg-functions/group-concat-types.sqltest group-concat-invalid-utf":                              "text that is not UTF-8 is printed as it is, from plain SQLite too",
	"json/json-valid-strict.sqltest json5_vertical_tab_escape_decodes_to_0x0b":                       "plain SQLite gives it too",
	"update-from.sqltest update-from-indexed-by-target-hint-is-preserved":                            "which of two matches is the last one: without INDEXED BY the loops nest the other way",
	"snapshot_tests/analyze/stat1_rows.sqltest analyze-indexed-table-does-not-insert-null-stat1-row": "ANALYZE keeps nothing",
	"pragma-unknown-no-op.sqltest known-pragma-still-works":                                          "foreign keys are enforced by default",
	"update-from.sqltest update-from-returning-reuses-cte-snapshot-after-trigger-mutation":           "what WITH gives is computed again for RETURNING, after the triggers",
	"alter_table.sqltest alter-table-rename-column-temp-trigger-main-cross-table":                    tempTriggers,
	"alter_table.sqltest alter-table-rename-column-temp-trigger-main-alias-cross-table":              tempTriggers,
	"alter_table.sqltest alter-table-rename-table-rewrites-temp-trigger-on-temp-table":               tempTriggers,
	"alter_table.sqltest alter-table-rename-column-temp-trigger-exists-result-expr-error":            tempTriggers,
	"alter_table.sqltest alter-table-rename-column-temp-trigger-result-scalar-subquery":              tempTriggers,
	"alter_table.sqltest alter-table-drop-column-temp-trigger-invalid":                               tempTriggers,
	"alter_table.sqltest alter-table-drop-column-invalid-temp-trigger-missing-main-table":            tempTriggers,
	"check_constraint.sqltest check_constraint_integrity_check_detects_real_violation":               "integrity_check does not evaluate CHECKs",
}

var (
	// generate_series is an extension the binding does not have.
	tursoSkip   = regexp.MustCompile(`generate_series`)
	tursoNotYet = regexp.MustCompile(`is not yet available`)
)

// TestCorpusTurso runs Turso's conformance suite. A test fails as it does on
// plain SQLite, or because something is refused by name, or not at all.
func TestCorpusTurso(t *testing.T) {
	names, texts := corpus(t, "sqltest.tar.xz", ".sqltest")
	var tests, passed, refused, differ atomic.Int64
	if testing.Short() {
		names = names[:len(names)/8]
	}
	sideBySide(t, names, func(t *testing.T, name string) {
		s := OpenBeside(t, "")
		s.DB.SetMaxIdleConns(0) // each test has a connection of its own
		open := func() (*sql.Conn, func(), error) {
			conn, err := s.DB.Conn(t.Context())
			return conn, func() { s.clear(conn) }, err
		}
		res := slt.RunSQLTest(t.Context(), open, texts[name], slt.Options{SkipSQL: tursoSkip, OnFail: func(f slt.Failure) {
			test, _, _ := strings.Cut(f.Why, ":")
			switch key := strings.TrimPrefix(name, "sqltest/") + " " + test; {
			case tursoNotYet.MatchString(f.Why):
				refused.Add(1)
			case tursoDiffers[key] != "":
				differ.Add(1)
			default:
				t.Errorf("%s: %s", f.Record, f.Why)
			}
		}})
		tests.Add(int64(res.Queries))
		passed.Add(int64(res.Passed))
	})
	t.Logf("%d tests: %d passed, %d refused, %d differ", tests.Load(), passed.Load(), refused.Load(), differ.Load())
	if testing.Short() {
		return
	}
	if tests.Load() != tursoTests || refused.Load() != tursoRefused || int(differ.Load()) != len(tursoDiffers) {
		t.Errorf("%d tests, %d of them refused and %d different, not %d, %d and %d",
			tests.Load(), refused.Load(), differ.Load(), tursoTests, tursoRefused, len(tursoDiffers))
	}
}

// clear drops what a test made and closes its connection, with whatever
// transaction it left open.
func (s *Store) clear(conn *sql.Conn) {
	s.t.Helper()
	conn.Close()
	ctx := context.Background()
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, `SELECT type, name FROM sqlite_schema
		WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY type DESC`)
	if err != nil {
		s.t.Fatal(err)
	}
	drops := []string{"PRAGMA foreign_keys=OFF"}
	for rows.Next() {
		var kind, name string
		if err := rows.Scan(&kind, &name); err != nil {
			s.t.Fatal(err)
		}
		drops = append(drops, "DROP "+kind+` "`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		s.t.Fatal(err)
	}
	for _, drop := range drops {
		if _, err := conn.ExecContext(ctx, drop); err != nil {
			s.t.Fatalf("%s: %v", drop, err)
		}
	}
}
