package driver

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// TestFenceFull: what a commit may be refused for is found out before it is one:
// without space a statement fails, and nothing else.
func TestFenceFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fault := vfs.NewFault(vfs.OS(dir))
	connector, err := NewConnector(Config{Path: dir, FS: fault})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	mustExec(t, db, "CREATE TABLE t(a)")
	fault.SetSpace(0)
	if _, err := db.Exec("INSERT INTO t VALUES(?)", strings.Repeat("x", 1<<20)); !errors.Is(err, ErrFull) || errors.Is(err, ErrPoisoned) {
		t.Errorf("without space: %v", err)
	}
	fault.SetSpace(-1)
	mustExec(t, db, "INSERT INTO t VALUES(1)")
	expect(t, testConn(t, db), 1, "SELECT count(*) FROM t")
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestFenceReadOnly: a read-only transaction sees nothing that is on its way.
func TestFenceReadOnly(t *testing.T) {
	db, g := gatedDB(t)
	mustExec(t, db, "CREATE TABLE t(a)")
	pending := pendingCommit(t, testConn(t, db), g, t.Context(), "INSERT INTO t VALUES(1)")
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT count(a) FROM t").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows are seen, %v", n, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	stillWaiting(t, pending, "the commit")
	g.open(nil)
	if err := <-pending; err != nil {
		t.Error(err)
	}
}

// TestFenceSnapshotOld: who has read gets the write lock only as long as nothing
// was committed since: when he waited for it, too, and when the write comes from
// a trigger of a temporary table.
func TestFenceSnapshotOld(t *testing.T) {
	db, _ := gatedDB(t)
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
	a, b := testConn(t, db), testConn(t, db)
	mustExec(t, b, "BEGIN")
	expect(t, b, 1, "SELECT max(a) FROM t")
	mustExec(t, a, "BEGIN IMMEDIATE; INSERT INTO t VALUES(2)")
	waiting := make(chan error, 1)
	go func() {
		_, err := b.ExecContext(t.Context(), "INSERT INTO t VALUES(3)")
		waiting <- err
	}()
	stillWaiting(t, waiting, "a second writer")
	mustExec(t, a, "COMMIT")
	if err := <-waiting; !errors.Is(err, ErrBusySnapshot) {
		t.Errorf("a writer whose snapshot is old: %v", err)
	}
	mustExec(t, b, "ROLLBACK; CREATE TEMP TABLE x(a); CREATE TEMP TRIGGER y AFTER INSERT ON x BEGIN INSERT INTO t VALUES(new.a); END")
	mustExec(t, b, "INSERT INTO x VALUES(4)") // it works
	mustExec(t, b, "BEGIN")
	expect(t, b, 4, "SELECT max(a) FROM t")
	mustExec(t, a, "INSERT INTO t VALUES(5)")
	if _, err := b.ExecContext(t.Context(), "INSERT INTO x VALUES(6)"); !errors.Is(err, ErrBusySnapshot) {
		t.Errorf("a trigger whose snapshot is old: %v", err)
	}
	mustExec(t, b, "ROLLBACK")
}
