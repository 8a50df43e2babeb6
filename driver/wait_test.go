package driver

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// slowInsert inserts row 1 into table d and returns while the disk does not
// answer, which it does when release is called; release waits for the commit.
func slowInsert(t *testing.T, db *sql.DB, fault *vfs.Fault) (release func()) {
	t.Helper()
	gate, syncing, done := make(chan struct{}), make(chan struct{}, 16), make(chan error, 1)
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			syncing <- struct{}{}
			<-gate
		}
		return nil
	})
	go func() {
		_, err := db.Exec("INSERT INTO d VALUES(1)")
		done <- err
	}()
	<-syncing
	return func() {
		fault.SetHook(nil)
		close(gate)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestVolatileOfEarlierRead: a transaction that read before it took the write
// lock, and writes a volatile table then, shares the fate of the commits it read:
// what it writes may come from them.
func TestVolatileOfEarlierRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	fault := vfs.NewFault(vfs.OS(path))
	db := openTest(t, Config{Path: path, FS: fault})
	mustExec(t, db, `CREATE TABLE d(id INTEGER PRIMARY KEY);
		CREATE VIRTUAL TABLE v USING tidemark(id INTEGER PRIMARY KEY, durable=false)`)
	conn := testConn(t, db)
	release := slowInsert(t, db, fault)
	committed := make(chan error, 1)
	go func() {
		_, err := conn.ExecContext(context.Background(), "BEGIN; SELECT id FROM d; INSERT INTO v VALUES(1); COMMIT")
		committed <- err
	}()
	select {
	case err := <-committed:
		t.Errorf("acknowledged before what it read: %v", err)
		committed <- err
	case <-time.After(20 * time.Millisecond):
	}
	if got := one[string](t, db, "SELECT (SELECT count(*) FROM v)||' '||(SELECT count(*) FROM d)"); got != "0 0" {
		t.Errorf("seen before the disk answered: %s", got)
	}
	release()
	if err := <-committed; err != nil {
		t.Error(err)
	}
	expect(t, db, "1 1", "SELECT (SELECT count(*) FROM v)||' '||(SELECT count(*) FROM d)")
}

// TestRowsThatLeaveTheStore: a transaction that copies rows of a commit into a
// table beside the store waits until that commit is durable: nobody may find
// there what the store may never have had.
func TestRowsThatLeaveTheStore(t *testing.T) {
	for _, text := range []string{
		"INSERT INTO beside SELECT id FROM d",
		"INSERT INTO f.beside SELECT id FROM d",
		"CREATE TEMP TABLE made AS SELECT id FROM d",
		"CREATE TABLE f.made AS SELECT id FROM d",
	} {
		path := filepath.Join(t.TempDir(), "store")
		fault := vfs.NewFault(vfs.OS(path))
		db := openTest(t, Config{Path: path, FS: fault})
		mustExec(t, db, "CREATE TABLE d(id INTEGER PRIMARY KEY)")
		conn := testConn(t, db)
		mustExec(t, conn, "CREATE TEMP TABLE beside(id)")
		mustExec(t, conn, "ATTACH ? AS f", filepath.Join(t.TempDir(), "f.db"))
		mustExec(t, conn, "CREATE TABLE f.beside(id)")
		release := slowInsert(t, db, fault)
		copied := make(chan error, 1)
		go func() {
			_, err := conn.ExecContext(context.Background(), "BEGIN; "+text+"; COMMIT")
			copied <- err
		}()
		select {
		case err := <-copied:
			t.Errorf("%s: done before what it read was durable: %v", text, err)
			copied <- err
		case <-time.After(20 * time.Millisecond):
		}
		release()
		if err := <-copied; err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
