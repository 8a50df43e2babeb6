package driver

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
)

// openLine opens a timeline of a directory.
func openLine(t *testing.T, cfg Config, timeline string) *sql.DB {
	t.Helper()
	cfg.Timeline = timeline
	c, err := NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestTimelinesTable: a row inserted forks, one updated is restored and one deleted is
// dropped; two timelines are written at once in one process, and each is there after
// both were closed, in whatever order they are opened.
func TestTimelinesTable(t *testing.T) {
	cfg := Config{Path: t.TempDir()}
	db := openLine(t, cfg, "")
	rows := func(db *sql.DB, want ...string) {
		t.Helper()
		if _, got := table(t, db, "SELECT a FROM t ORDER BY a"); !slices.Equal(got, want) {
			t.Errorf("rows %q, want %q", got, want)
		}
	}
	mustExec(t, db, "CREATE TABLE t(a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES(1, 'x')")
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('one')")
	mustExec(t, db, "INSERT INTO t VALUES(2, 'x')")
	mustExec(t, db, "INSERT INTO tidemark_timelines(name) VALUES('dev')")
	mustExec(t, db, "INSERT INTO tidemark_timelines(name, source) VALUES('old', 'one')")
	_, got := table(t, db, "SELECT name, revision >= 0, world_id > 0, representation_id > 0, created_at LIKE '20%Z' FROM tidemark_timelines")
	if want := []string{"dev|1|1|1|1", "main|1|1|1|1", "old|1|1|1|1"}; !slices.Equal(got, want) {
		t.Errorf("timelines %q, want %q", got, want)
	}
	if cols, _ := table(t, db, "SELECT * FROM tidemark_timelines"); len(cols) != 5 {
		t.Errorf("columns %q", cols)
	}
	dev := openLine(t, cfg, "dev")
	mustExec(t, dev, "INSERT INTO t VALUES(10, 'dev'); CREATE TABLE only_dev(z)")
	mustExec(t, db, "INSERT INTO t VALUES(3, 'main')")
	rows(db, "1", "2", "3")
	rows(dev, "1", "2", "10")
	rows(openLine(t, cfg, "old"), "1")
	mustExec(t, dev, "INSERT INTO tidemark_branch_points(name, timeline) VALUES('dev point', 'dev')")
	mustExec(t, dev, "INSERT INTO t VALUES(11, 'dev')")
	if _, err := db.Exec("DELETE FROM tidemark_timelines WHERE name = 'dev'"); !errors.Is(err, ErrBusy) {
		t.Errorf("dropped while it is open: %v", err)
	}
	// A restore of the connection's own timeline, of another one that is open, and of
	// one from a branch point of another.
	r, err := db.Exec("UPDATE tidemark_timelines SET restore_to = 'one' WHERE name = 'main'")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := r.RowsAffected(); n != 1 {
		t.Errorf("%d rows affected", n)
	}
	rows(db, "1")
	mustExec(t, db, "UPDATE tidemark_timelines SET restore_to = 'dev point' WHERE name = 'dev'")
	rows(dev, "1", "2", "10")
	mustExec(t, db, "UPDATE tidemark_timelines SET restore_to = 'dev point' WHERE name = 'main'")
	rows(db, "1", "2", "10")
	mustExec(t, db, "INSERT INTO only_dev VALUES(1)")
	mustExec(t, db, "INSERT INTO tidemark_timelines(name, source) VALUES('third', 'dev')")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(db.Close())
	must(dev.Close())
	dev = openLine(t, cfg, "dev")
	rows(dev, "1", "2", "10")
	rows(openLine(t, cfg, "third"), "1", "2", "10")
	db = openLine(t, cfg, "main")
	rows(db, "1", "2", "10")
	if _, got := table(t, db, "SELECT count(*) FROM only_dev"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("behind the restore: %q", got)
	}
}

func TestTimelinesRefuses(t *testing.T) {
	cfg := Config{Path: t.TempDir()}
	db := openLine(t, cfg, "")
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO tidemark_branch_points(name) VALUES('bp'); INSERT INTO tidemark_timelines(name) VALUES('dev')")
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('dev')")
	for _, c := range []struct {
		query, want string
		is          error
	}{
		{"INSERT INTO tidemark_timelines(name) VALUES('dev')", "UNIQUE constraint failed: tidemark_timelines.name", ErrConstraintUnique},
		{"INSERT INTO tidemark_timelines(name) VALUES(NULL)", "NOT NULL constraint failed: tidemark_timelines.name", ErrConstraintNotNull},
		{"INSERT INTO tidemark_timelines(name) VALUES('')", "1 to 255 characters", ErrGeneric},
		{"INSERT INTO tidemark_timelines(name) VALUES(1)", "must be text", ErrGeneric},
		{"INSERT INTO tidemark_timelines(name, revision) VALUES('x', 1)", "takes name and source", ErrGeneric},
		{"INSERT INTO tidemark_timelines(name, source) VALUES('x', 'none')", "no such timeline or branch point: none", ErrGeneric},
		{"INSERT INTO tidemark_timelines(name, source) VALUES('x', 'dev')", "delete the branch point dev", ErrGeneric},
		{"INSERT INTO tidemark_timelines(name) VALUES('x'), ('y')", "one row", ErrGeneric},
		{"UPDATE tidemark_timelines SET restore_to = 'bp'", "one row", ErrGeneric},
		{"UPDATE tidemark_timelines SET restore_to = 'none' WHERE name = 'main'", "no such branch point: none", ErrGeneric},
		{"UPDATE tidemark_timelines SET restore_to = NULL WHERE name = 'main'", "only restore_to", ErrGeneric},
		{"UPDATE tidemark_timelines SET name = 'x' WHERE name = 'dev'", "only restore_to", ErrGeneric},
		{"UPDATE tidemark_timelines SET restore_to = 'bp' WHERE name = 'none'", "", nil},
		{"DELETE FROM tidemark_timelines WHERE name = 'main'", "the timeline main stays", ErrGeneric},
		{"DELETE FROM tidemark_timelines WHERE name = 'none'", "", nil},
		{"BEGIN; UPDATE tidemark_timelines SET restore_to = 'bp' WHERE name = 'main'", "not written inside a transaction", ErrGeneric},
		{"INSERT OR REPLACE INTO tidemark_timelines(name) VALUES('dev')", "no OR clause", ErrGeneric},
	} {
		_, err := db.Exec(c.query)
		if c.is == nil && err != nil || c.is != nil && (err == nil || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.query, err, c.want)
		}
		db.Exec("ROLLBACK")
	}
	if err := openLine(t, cfg, "none").Ping(); err == nil || !strings.Contains(err.Error(), "no such timeline: none") {
		t.Errorf("opening none: %v", err)
	}
	if err := openLine(t, Config{Path: t.TempDir() + "/new"}, "dev").Ping(); err == nil || !strings.Contains(err.Error(), "without timeline and at first") {
		t.Errorf("a timeline of a store that is not there: %v", err)
	}
	if _, err := NewConnector(Config{Timeline: "x"}); err == nil || !strings.Contains(err.Error(), "one timeline") {
		t.Errorf("a timeline in memory: %v", err)
	}
	memory := openLine(t, Config{Ephemeral: true}, "")
	if _, err := memory.Exec("INSERT INTO tidemark_timelines(name) VALUES('x')"); err == nil || !strings.Contains(err.Error(), "in memory") {
		t.Errorf("a fork in memory: %v", err)
	}
	mustExec(t, db, "DELETE FROM tidemark_timelines WHERE name = 'dev'")
	if _, got := table(t, db, "SELECT name FROM tidemark_timelines"); !slices.Equal(got, []string{"main"}) {
		t.Errorf("timelines %q", got)
	}
}

// TestForkOfOwn: without a source the connection's own timeline is forked, also when a
// branch point has its name.
func TestForkOfOwn(t *testing.T) {
	cfg := Config{Path: t.TempDir()}
	db := openLine(t, cfg, "")
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO tidemark_branch_points(name) VALUES('main'); INSERT INTO t VALUES(1)")
	mustExec(t, db, "INSERT INTO tidemark_timelines(name) VALUES('k')")
	if _, got := table(t, openLine(t, cfg, "k"), "SELECT a FROM t"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("rows of the fork: %q", got)
	}
}

// TestTimelineNeeded: who cannot drop a timeline is told what to do, and can then.
func TestTimelineNeeded(t *testing.T) {
	cfg := Config{Path: t.TempDir()}
	db := openLine(t, cfg, "")
	drop := func(want string) {
		t.Helper()
		_, err := db.Exec("DELETE FROM tidemark_timelines WHERE name = 'f'")
		var typed *Error
		if want == "" {
			if err != nil {
				t.Errorf("dropped: %v", err)
			}
		} else if !errors.As(err, &typed) || !strings.Contains(typed.Hint, want) {
			t.Errorf("dropped: %v, want %q", err, want)
		}
	}
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO tidemark_timelines(name) VALUES('f')")
	f := openLine(t, cfg, "f")
	mustExec(t, f, "INSERT INTO t VALUES(1)")
	mustExec(t, f, "INSERT INTO tidemark_branch_points(name) VALUES('it''s')")
	f.Close()
	mustExec(t, db, "INSERT INTO tidemark_timelines(name, source) VALUES('g', 'f')")
	drop("drop g first")
	mustExec(t, db, "DELETE FROM tidemark_timelines WHERE name = 'g'")
	mustExec(t, db, "UPDATE tidemark_timelines SET restore_to = 'it''s' WHERE name = 'main'")
	drop("WHERE name = 'it''s'")
	mustExec(t, db, "DELETE FROM tidemark_branch_points WHERE name = 'it''s'")
	drop("compact main")
	mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('compact')")
	drop("")
}
