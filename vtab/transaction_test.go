package vtab

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
)

// traced collects the callbacks of the fixture's connection.
func traced(f *fixture) func() string {
	var calls []string
	f.c.trace = func(cb string, t *table, n int32) {
		s := cb
		if t.info != nil {
			s += " " + t.info.Def.Name
		}
		if n >= 0 {
			s += fmt.Sprint(" ", n)
		}
		calls = append(calls, s)
	}
	return func() string {
		s := strings.Join(calls, ", ")
		calls = nil
		return s
	}
}

// What SQLite calls when is the ground the transactions stand on.
func TestCallbackTraces(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE); CREATE TABLE u(id INTEGER PRIMARY KEY, a)", nil)
	trace := traced(f)
	for _, step := range []struct{ sql, want string }{
		{"INSERT INTO t VALUES(1,1)", "Begin t, Update t, Sync t, Commit t"},
		{"INSERT INTO t VALUES(2,2),(3,3)", "Begin t, Update t, Update t, Sync t, Commit t"},
		{"INSERT INTO t VALUES(4,4),(5,1)", "Begin t, Update t, Update t, Rollback t"},
		{"INSERT INTO t VALUES(4,1)", "Begin t, Update t, Rollback t"},
		{"SELECT * FROM t", ""},
		{"DELETE FROM t WHERE id=99", "Begin t, Sync t, Commit t"},
		{"BEGIN", ""},
		{"SELECT * FROM t", ""},
		{"INSERT INTO t VALUES(6,6)", "Begin t, Update t"},
		{"INSERT INTO t VALUES(7,7),(8,6)", "Savepoint t 0, Update t, Update t, RollbackTo t 0, Release t 0"},
		{"INSERT INTO t VALUES(7,6)", "Update t"},
		{"SAVEPOINT a", "Savepoint t 0"},
		{"INSERT INTO u VALUES(1,1)", "Begin u, Savepoint u 0, Update u"},
		{"UPDATE t SET a=a+10", "Savepoint t 1, Savepoint u 1, Update t, Update t, Update t, Update t, Release t 1, Release u 1"},
		{"UPDATE t SET a=99 WHERE id=1", "Update t"},
		{"ROLLBACK TO a", "RollbackTo t 0, RollbackTo u 0"},
		{"RELEASE a", "Release t 0, Release u 0"},
		{"COMMIT", "Sync t, Sync u, Commit t, Commit u"},
		{"BEGIN", ""},
		{"INSERT INTO u VALUES(9,9)", "Begin u, Update u"},
		{"ROLLBACK", "Rollback u"},
	} {
		_, err := f.run(step.sql)
		got := trace()
		if got != step.want {
			t.Errorf("%s (%v)\n got  %s\n want %s", step.sql, err, got, step.want)
		}
	}
	if got := f.query("SELECT * FROM t"); got != "1|1\n2|2\n3|3\n6|6\n" {
		t.Error(got)
	}
	if got := f.query("SELECT count(*) FROM u"); got != "0\n" {
		t.Error(got)
	}
}

func TestTransactionsLikeSQLite(t *testing.T) {
	p := newPair(t, "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE); CREATE TABLE u(id INTEGER PRIMARY KEY, a)", nil)
	p.script(`
		BEGIN
		SAVEPOINT a
		SAVEPOINT b
		INSERT INTO t VALUES(1,1)
		ROLLBACK TO b
		INSERT INTO t VALUES(2,2)
		SAVEPOINT c
		INSERT INTO u VALUES(1,1)
		INSERT INTO t VALUES(3,2)
		INSERT INTO t VALUES(3,3),(4,2)
		ROLLBACK TO b
		INSERT INTO u VALUES(5,5)
		RELEASE b
		ROLLBACK TO a
		INSERT INTO u VALUES(6,6)
		COMMIT
		SAVEPOINT x
		INSERT INTO t VALUES(10,10)
		SAVEPOINT x
		DELETE FROM t
		ROLLBACK TO x
		RELEASE x
		RELEASE x
		SAVEPOINT y
		DELETE FROM t
		ROLLBACK TO y
		RELEASE y
		BEGIN
		UPDATE t SET id=id+1
		INSERT OR ROLLBACK INTO t VALUES(50,10)
		COMMIT
		INSERT INTO t SELECT id+100, a+100 FROM t
		BEGIN; DELETE FROM u; END
	`)
}

// An INSERT of one row has no savepoint around it: whatever fails must leave
// nothing, also where REPLACE had to remove other rows first.
func TestSingleRowIsAtomic(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE ON CONFLICT REPLACE, b UNIQUE, c NOT NULL, CHECK(c<100))`,
		map[string]options{"t": {autoinc: true, indexes: map[string]Conflict{"sqlite_autoindex_t_1": Replace}, checks: []Check{{Name: "c<100", Expr: "c<100"}}}})
	p.script(`
		INSERT INTO t VALUES(1,1,1,1),(2,2,2,2),(3,3,3,3)
		BEGIN
		INSERT INTO t VALUES(9,1,2,1)
		INSERT INTO t VALUES(NULL,1,9,NULL)
		INSERT INTO t VALUES(NULL,1,9,100)
		INSERT INTO t VALUES(1,1,9,1)
		UPDATE t SET a=1, b=3 WHERE id=2
		UPDATE t SET a=1, c=100 WHERE id=2
		UPDATE t SET a=1, id=3 WHERE id=2
		SELECT * FROM t
		INSERT INTO t VALUES(NULL,1,9,1)
		COMMIT
	`)
}

// A write that nobody holds the lock for fails with BUSY through the side
// channel, and leaves the connection in autocommit.
func TestUnlockedWrite(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	lock := f.c.OnUnlockedWrite
	f.c.OnUnlockedWrite = nil
	f.fails("INSERT INTO t VALUES(1,1)", int(lib.SQLITE_BUSY), "database is locked")
	if !f.c.Autocommit() {
		t.Error("a transaction is open")
	}
	other, err := f.store.TryBegin()
	if err != nil {
		t.Fatal(err)
	}
	f.c.OnUnlockedWrite = lock
	if _, err := f.run("INSERT INTO t VALUES(1,1)"); err == nil || !errors.Is(f.c.LastError(), engine.ErrBusy) {
		t.Error(err, f.c.LastError())
	}
	other.Rollback()
	f.exec("INSERT INTO t VALUES(1,1)")
	if got := f.query("SELECT * FROM t"); got != "1|1\n" {
		t.Error(got)
	}
}

// A transaction that is set but that nothing was written in stays with its
// owner.
func TestUnusedTransactionStays(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	tx, err := f.store.TryBegin()
	if err != nil {
		t.Fatal(err)
	}
	f.c.SetTx(tx)
	if err := f.c.Exec("BEGIN; SELECT * FROM t; COMMIT"); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.c.TakeCommitted(); ok || f.c.Tx() != tx {
		t.Error("SQLite ended the transaction")
	}
	tx.Rollback()
	f.c.SetTx(nil)
}

func refuseCommit(tls *libc.TLS, arg uintptr) int32 { return *(*int32)(unsafe.Pointer(arg)) }

// SQLite calls the commit hook after xSync: what it refuses must be gone.
func TestRefusingCommitHook(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	flag := f.c.tls.Alloc(8)
	defer f.c.tls.Free(8)
	*(*int32)(unsafe.Pointer(flag)) = 1
	lib.Xsqlite3_commit_hook(f.c.tls, f.c.db, funcPointer(refuseCommit), flag)
	trace := traced(f)
	f.fails("INSERT INTO t VALUES(1,1)", int(lib.SQLITE_CONSTRAINT_COMMITHOOK), "constraint failed")
	if got := trace(); got != "Begin t, Update t, Sync t, Rollback t" {
		t.Error(got)
	}
	f.exec("BEGIN")
	f.exec("INSERT INTO t VALUES(2,2)")
	f.fails("COMMIT", int(lib.SQLITE_CONSTRAINT_COMMITHOOK), "constraint failed")
	if !f.c.Autocommit() || f.c.Tx() != nil {
		t.Error("the transaction is still open")
	}
	if got := f.query("SELECT count(*) FROM t"); got != "0\n" {
		t.Error(got)
	}
	*(*int32)(unsafe.Pointer(flag)) = 0
	f.exec("INSERT INTO t VALUES(3,3)")
	lib.Xsqlite3_commit_hook(f.c.tls, f.c.db, 0, 0)
	if got := f.query("SELECT * FROM t"); got != "3|3\n" {
		t.Error(got)
	}
}

// syncCode is what the xSync of the test's own module answers.
var syncCode int32

func rivalSync(tls *libc.TLS, p uintptr) int32 { return syncCode }

func rivalUpdate(tls *libc.TLS, p uintptr, argc int32, argv, prowid uintptr) int32 {
	return lib.SQLITE_OK
}

func rivalBegin(tls *libc.TLS, p uintptr) int32 { return lib.SQLITE_OK }

// A second module that fails or is busy in xSync, before ours or after it, must
// leave engine and SQLite agreeing.
func TestSecondModuleInSync(t *testing.T) {
	for _, first := range []bool{true, false} {
		for _, code := range []int32{lib.SQLITE_ERROR, lib.SQLITE_BUSY, lib.SQLITE_IOERR, lib.SQLITE_FULL} {
			t.Run(fmt.Sprintf("first=%v/code=%d", first, code), func(t *testing.T) {
				f := newFixture(t)
				f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
				p, m := newModule(f.c.tls)
				*m = *(*lib.Tsqlite3_module)(unsafe.Pointer(modules.control))
				m.FxUpdate, m.FxSync = funcPointer(rivalUpdate), funcPointer(rivalSync)
				m.FxBegin, m.FxCommit, m.FxRollback = funcPointer(rivalBegin), funcPointer(rivalBegin), funcPointer(rivalBegin)
				m.FxSavepoint, m.FxRelease, m.FxRollbackTo = 0, 0, 0
				defer freeC(f.c.tls, p)
				if rc := createModule(f.c.tls, f.c.db, "rival", p); rc != 0 {
					t.Fatal(rc)
				}
				f.exec("CREATE VIRTUAL TABLE temp.r USING rival")
				defer f.exec("DROP TABLE r")
				syncCode = code
				f.exec("BEGIN")
				if first {
					f.exec("UPDATE r SET op=1")
				}
				f.exec("INSERT INTO t VALUES(1,1)")
				f.exec("UPDATE r SET op=1")
				_, err := f.run("COMMIT")
				if err == nil {
					t.Fatal("COMMIT succeeded")
				}
				syncCode = 0
				if f.c.Autocommit() { // rolled back: the row is nowhere
					if f.c.Tx() != nil {
						t.Error("the engine's transaction is open")
					}
					if got := f.query("SELECT count(*) FROM t"); got != "0\n" {
						t.Error(got)
					}
					if tx, err := f.store.TryBegin(); err != nil {
						t.Error(err)
					} else {
						tx.Rollback()
					}
				} else { // still open: it goes on, more is written, and it commits
					if f.c.Tx() == nil {
						t.Fatal("the engine's transaction has ended")
					}
					f.exec("INSERT INTO t VALUES(2,2)")
					f.exec("COMMIT")
					if got := f.query("SELECT * FROM t"); got != "1|1\n2|2\n" {
						t.Error(got)
					}
				}
				f.exec("INSERT INTO t VALUES(7,7)")
			})
		}
	}
}

// An interrupted write ends the whole transaction; engine and SQLite agree.
func TestInterruptedWrite(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	f.exec("INSERT INTO t VALUES(1,1)")
	f.exec("BEGIN")
	f.exec("INSERT INTO t VALUES(2,2)")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				f.c.Interrupt()
			}
		}
	}()
	_, err := f.run("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM r) INSERT INTO t(a) SELECT x FROM r")
	close(stop)
	<-done
	var e *Error
	if !errors.As(err, &e) || e.Code != lib.SQLITE_INTERRUPT {
		t.Fatal(err)
	}
	if !f.c.Autocommit() || f.c.Tx() != nil {
		t.Error("the transaction is still open")
	}
	if got := f.query("SELECT * FROM t"); got != "1|1\n" {
		t.Error(got)
	}
	f.exec("INSERT INTO t VALUES(3,3)")
	if got := f.query("SELECT count(*) FROM t"); got != "2\n" {
		t.Error(got)
	}
}

// One transaction over a table of the engine and an attached file ends the same
// way for both.
func TestAttachedFile(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	f.exec("ATTACH '" + t.TempDir() + "/x.db' AS x")
	f.exec("CREATE TABLE x.n(a)")
	f.exec("BEGIN; INSERT INTO t VALUES(1,1); INSERT INTO n VALUES(1); COMMIT")
	f.exec("BEGIN; INSERT INTO t VALUES(2,2); INSERT INTO n VALUES(2); ROLLBACK")
	if got := f.query("SELECT t.a, n.a FROM t, n"); got != "1|1\n" {
		t.Error(got)
	}
	f.exec("DETACH x")
}
