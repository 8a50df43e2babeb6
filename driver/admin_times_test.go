package driver

import (
	"database/sql"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Times of administrative tables are read as those of a DATETIME column are, and stay
// texts for SQL.
func TestAdminTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path})
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('bp'); INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
	plain := openTest(t, Config{Path: path, TimeFormat: "none"})
	columns := map[string][]string{
		"tidemark_branch_points": {"created_at"},
		"tidemark_timelines":     {"created_at"},
		"tidemark_jobs":          {"started_at", "ended_at"},
	}
	readers := runtime.GOOS == "linux" // elsewhere the catalog names no reader
	if readers {
		if err := openTest(t, Config{Path: path, Mode: readOnlyMode}).Ping(); err != nil {
			t.Fatal(err)
		}
		columns["tidemark_sessions"], columns["tidemark_pins"] = []string{"started_at"}, []string{"since"}
	}
	for name, list := range columns {
		for _, column := range list {
			var at time.Time
			if err := db.QueryRow("SELECT " + column + " FROM " + name + " LIMIT 1").Scan(&at); err != nil {
				t.Errorf("%s.%s: %v", name, column, err)
				continue
			}
			var text, same, kind string
			err := plain.QueryRow("SELECT "+column+", ''||"+column+", typeof("+column+") FROM "+name+" LIMIT 1").Scan(&text, &same, &kind)
			if err != nil {
				t.Fatal(err)
			}
			if parsed, ok := parseTime(text); !ok || !parsed.Equal(at) || same != text || kind != "text" {
				t.Errorf("%s.%s: %s is %q, %q, a %s", name, column, at, text, same, kind)
			}
		}
	}
	var none sql.NullTime
	if err := db.QueryRow("SELECT ended_at FROM tidemark_sessions WHERE state='live'").Scan(&none); readers && (err != nil || none.Valid) {
		t.Errorf("the end of a session that goes on: %v %v", none, err)
	}
	var n int
	const later = "SELECT count(*) FROM tidemark_branch_points WHERE created_at > '2020-01-01T00:00:00Z' AND created_at < '9999-01-01T00:00:00Z'"
	if err := db.QueryRow(later).Scan(&n); err != nil || n != 1 {
		t.Errorf("comparing times gives %d rows: %v", n, err)
	}
}

// The PRAGMAs about tables know the administrative ones.
func TestAdminTableInfo(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a); CREATE INDEX tidemark_settings ON t(a)")
	for name := range adminTables {
		want, _ := table(t, db, "SELECT * FROM "+name)
		for _, query := range []string{
			"PRAGMA table_info(" + name + ")", "PRAGMA main.table_info('" + name + "')", "PRAGMA table_info(" + strings.ToUpper(name) + ")",
			"SELECT * FROM pragma_table_info('" + name + "')", "SELECT * FROM pragma_table_info('" + name + "', 'main')",
		} {
			labels, lines := table(t, db, query)
			var got []string
			for _, l := range lines {
				got = append(got, strings.Split(l, "|")[1])
			}
			if len(labels) != 6 || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %q", query, labels, lines)
			}
		}
		if _, lines := table(t, db, "PRAGMA index_list("+name+")"); len(lines) != 0 {
			t.Errorf("indexes of %s: %q", name, lines)
		}
	}
	if _, lines := table(t, db, "PRAGMA table_info(tidemark_timelines)"); !slices.Contains(lines, "4|created_at|DATETIME|0||0") {
		t.Errorf("tidemark_timelines: %q", lines)
	}
	if _, lines := table(t, db, "PRAGMA table_xinfo(tidemark_timelines)"); len(lines) != 7 {
		t.Errorf("with hidden columns: %q", lines)
	}
	c := testConn(t, db)
	if _, err := c.ExecContext(t.Context(), "CREATE TEMP TABLE tidemark_stats(own)"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"SELECT name FROM pragma_table_info('tidemark_stats')":         "own",
		"SELECT name FROM pragma_table_info('tidemark_stats', 'main')": "name value",
		"SELECT name FROM pragma_index_info('tidemark_settings')":      "a",
	} {
		if _, got := table(t, connQuerier{c, t}, query); strings.Join(got, " ") != want {
			t.Errorf("%s: %q", query, got)
		}
	}
}

type connQuerier struct {
	*sql.Conn
	t *testing.T
}

func (q connQuerier) Query(text string, args ...any) (*sql.Rows, error) {
	return q.QueryContext(q.t.Context(), text, args...)
}
