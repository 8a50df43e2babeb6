package driver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestCheckpointJob: inserting a row runs the job and returns when it ended, the
// head is then the last commit, and the row tells how it went.
func TestCheckpointJob(t *testing.T) {
	db := openTest(t, Config{})
	exec := func(query string, args ...any) error {
		_, err := db.Exec(query, args...)
		return err
	}
	for _, query := range []string{"CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES(1, 'x'), (2, 'y')"} {
		if err := exec(query); err != nil {
			t.Fatal(err)
		}
	}
	r, err := db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := r.LastInsertId()
	if n, _ := r.RowsAffected(); n != 1 {
		t.Errorf("%d rows affected", n)
	}
	var kind, state, started, ended string
	var target, failure *string
	var done, total int64
	row := db.QueryRow("SELECT kind, target, state, done, total, started_at, ended_at, error FROM tidemark_jobs WHERE job_id = ?", id)
	if err := row.Scan(&kind, &target, &state, &done, &total, &started, &ended, &failure); err != nil {
		t.Fatal(err)
	}
	if kind != "checkpoint" || target != nil || state != "done" || done == 0 || done != total || failure != nil || ended < started {
		t.Errorf("job %d: %s of %v is %s, %d of %d, from %s to %s, %v", id, kind, target, state, done, total, started, ended, failure)
	}
	var lsn, rows, open int64
	if err := db.QueryRow("SELECT lsn, live_count FROM catalog.timeline_heads").Scan(&lsn, &rows); err != nil || rows != 2 {
		t.Errorf("the head has %d rows at commit %d, %v", rows, lsn, err)
	}
	if err := db.QueryRow("SELECT count(*) FROM tidemark_generations WHERE state = 'open' AND records > 0").Scan(&open); err != nil || open != 0 {
		t.Errorf("%d generations with records are open, %v", open, err)
	}
	// Prepared, with parameters, in a text of several statements, through Query.
	stmt, err := db.Prepare("INSERT INTO main.tidemark_jobs(kind, target) VALUES(?, NULL)")
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, stmt)
	for range 2 {
		if _, err := stmt.Exec("checkpoint"); err != nil {
			t.Error(err)
		}
	}
	if err := exec("INSERT INTO t VALUES(3, 'z'); INSERT INTO tidemark_jobs(kind) VALUES('checkpoint'); INSERT INTO t VALUES(4, 'z')"); err != nil {
		t.Error(err)
	}
	list, err := db.Query("INSERT INTO tidemark_jobs(kind) SELECT 'checkpoint'")
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, list)
	if err := db.QueryRow("SELECT count(*), count(*) FILTER (WHERE state = 'done') FROM tidemark_jobs").Scan(&rows, &done); err != nil || rows != 5 || done != 5 {
		t.Errorf("%d jobs, %d done, %v", rows, done, err)
	}
}

// TestGCAndVerifyJobs: both are jobs like any other, and Raw has the first and its
// plan, too.
func TestGCAndVerifyJobs(t *testing.T) {
	db := openTest(t, Config{})
	for _, query := range []string{
		"CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES(1, 'x')",
		"INSERT INTO tidemark_jobs(kind) VALUES('verify')", "INSERT INTO tidemark_jobs(kind) VALUES('gc')",
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, conn)
	store, err := Raw(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.GC(t.Context(), nil); err != nil {
		t.Error(err)
	}
	plan, err := store.PlanGC(t.Context())
	if err != nil || len(plan.Remove) > 0 || len(plan.Keep) == 0 {
		t.Errorf("%+v, %v", plan, err)
	}
	var jobs string
	var kept int
	if err := db.QueryRow("SELECT group_concat(kind || ' ' || state), (SELECT value FROM tidemark_stats WHERE name = 'gc_kept_files') FROM tidemark_jobs").Scan(&jobs, &kept); err != nil {
		t.Fatal(err)
	}
	if jobs != "verify done,gc done,gc done" || kept != len(plan.Keep) {
		t.Errorf("%s, %d files stay", jobs, kept)
	}
}

// TestRefusedJobs: what a job cannot be is refused by name, makes no row, and
// leaves the connection usable.
func TestRefusedJobs(t *testing.T) {
	db := openTest(t, Config{BusyTimeout: 20 * time.Millisecond})
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"INSERT INTO tidemark_jobs(kind) VALUES('checkpont')":                    `"checkpont", must be one of checkpoint, compact, index, gc, verify, backup`,
		"INSERT INTO tidemark_jobs(kind, target) VALUES('index', 'nobody')":      "no table or index",
		"INSERT INTO tidemark_jobs(kind, target) VALUES('gc', 't')":              "no target",
		"INSERT INTO tidemark_jobs(kind) VALUES('backup')":                       "a target, the directory",
		"INSERT INTO tidemark_jobs(target) VALUES('t')":                          "needs a kind",
		"INSERT INTO tidemark_jobs(kind, target) VALUES('checkpoint', 't')":      "no target",
		"INSERT INTO tidemark_jobs(kind) VALUES('checkpoint'), ('checkpoint')":   "one row",
		"INSERT INTO tidemark_jobs(job_id, kind) VALUES(7, 'checkpoint')":        "kind and target",
		"INSERT INTO tidemark_jobs(kind) VALUES(1)":                              "must be text",
		"INSERT INTO tidemark_jobs(kind) VALUES('checkpoint') RETURNING job_id":  "LastInsertId",
		"insert into main.TIDEMARK_JOBS(kind) select 'checkpoint' returning *":   "RETURNING",
		"DELETE FROM tidemark_jobs":                                              "",
		"UPDATE tidemark_jobs SET state = 'done'":                                "",
		"BEGIN; INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')":            "inside a transaction",
		"SAVEPOINT s; INSERT INTO main.tidemark_jobs(kind) VALUES('checkpoint')": "inside a transaction",
	} {
		_, err := conn.ExecContext(t.Context(), query)
		if want == "" {
			continue // nothing is there to delete or change, so nothing is refused
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
		if strings.HasPrefix(query, "BEGIN") || strings.HasPrefix(query, "SAVEPOINT") {
			if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
				t.Errorf("%s: ROLLBACK: %v", query, err)
			}
		}
	}
	mustClose(t, conn)
	if _, err := db.Exec("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO tidemark_jobs(kind) VALUES('checkpoint'); END"); err == nil {
		if _, err := db.Exec("INSERT INTO t VALUES(1)"); err == nil {
			t.Error("a trigger ran a job")
		}
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM tidemark_jobs").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d jobs, %v", n, err)
	}
}

// TestJobWaitsForTheLock: a transaction that writes keeps a checkpoint waiting,
// for the busy timeout or until the context ends; the job has failed then.
func TestJobWaitsForTheLock(t *testing.T) {
	db := openTest(t, Config{BusyTimeout: 20 * time.Millisecond})
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO t VALUES(1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')"); !errors.Is(err, ErrBusy) {
		t.Errorf("behind a writer: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(ctx, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a context that ends: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var failed int
	if err := db.QueryRow("SELECT count(*) FROM tidemark_jobs WHERE state IN ('failed', 'cancelled') AND error IS NOT NULL AND ended_at IS NOT NULL").Scan(&failed); err != nil || failed == 0 {
		t.Errorf("%d failed jobs, %v", failed, err)
	}
}
