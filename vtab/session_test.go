package vtab

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

func TestCheckConstraints(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, a INT CHECK(a > 0 -- comment
		), b TEXT COLLATE NOCASE, CONSTRAINT named CHECK(t.b <> 'Bad' AND "b" NOT LIKE '%x%'), CHECK(a < '7' OR a IN (8, 9)), CHECK(id<100), CHECK('abc'))`,
		map[string]options{"t": {checks: []Check{
			{Name: "a > 0 -- comment", Expr: "a > 0 -- comment"}, {Name: "named", Expr: `t.b <> 'Bad' AND "b" NOT LIKE '%x%'`},
			{Name: "a < '7' OR a IN (8, 9)", Expr: "a < '7' OR a IN (8, 9)"}, {Name: "id<100", Expr: "id<100"}, {Name: "'abc'", Expr: "1"},
		}}})
	if err := p.plain.Exec("DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, a INT CHECK(a > 0), b TEXT COLLATE NOCASE, CONSTRAINT named CHECK(t.b <> 'Bad' AND \"b\" NOT LIKE '%x%'), CHECK(a < '7' OR a IN (8, 9)), CHECK(id<100))"); err != nil {
		t.Fatal(err)
	}
	p.script(`
		INSERT INTO t VALUES(1,1,'ok'),(2,'6','fine'),(3,NULL,NULL)
		INSERT INTO t VALUES(4,1,'BAD')
		INSERT INTO t VALUES(4,1,'xyz')
		INSERT INTO t VALUES(4,7,'y')
		INSERT INTO t VALUES(4,8,'y'),(100,9,'y')
		INSERT OR IGNORE INTO t VALUES(4,8,'y'),(100,9,'y'),(5,1,'bad')
		INSERT OR FAIL INTO t VALUES(6,8,'y'),(100,9,'y'),(7,1,'bad')
		INSERT OR REPLACE INTO t VALUES(4,7,'y')
		UPDATE t SET a=7
		UPDATE t SET b='bad' WHERE id=1
		UPDATE OR IGNORE t SET b='bad' WHERE id=1
		UPDATE t SET id=id+98
		INSERT INTO t SELECT id+10, a, b FROM t
		SELECT changes(), total_changes()
		PRAGMA ignore_check_constraints=1
		INSERT INTO t VALUES(77,7,'bad')
		PRAGMA ignore_check_constraints=0
	`)
	p.fails("INSERT INTO t VALUES(50,-1,'y')", lib.SQLITE_CONSTRAINT_CHECK, "CHECK constraint failed: a > 0 -- comment")
}

// An error in the expression of a CHECK is the statement's error.
func TestFailingCheck(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", map[string]options{"t": {checks: []Check{{Name: "c", Expr: "abs(a) > 0"}}}})
	f.exec("INSERT INTO t VALUES(1,1)")
	f.fails("INSERT INTO t VALUES(2,-9223372036854775808)", 1, "integer overflow")
	if got := f.query("SELECT count(*) FROM t"); got != "1\n" {
		t.Error(got)
	}
}

func TestTextWithNUL(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB)", nil)
	long := strings.Repeat("x\x00", 5000)
	f.exec("INSERT INTO t VALUES(1,?1,?2),(2,?2,?1)", row.TextValue("a\x00b"), row.TextValue(long))
	rows, err := f.run("SELECT a, b, typeof(b) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	if rows[0][0] != row.TextValue("a\x00b") || rows[0][1] != row.TextValue(long) || rows[1][0] != row.TextValue(long) {
		t.Error("bytes were lost")
	}
}

// A statement reads what the statements around it have written so far, and not
// what comes later.
func TestCursorPinsAtFilter(t *testing.T) {
	p := newPair(t, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE u(id INTEGER PRIMARY KEY, a)", nil)
	p.script(`
		INSERT INTO t VALUES(1,1),(2,2)
		INSERT INTO t(a) SELECT a+10 FROM t
		INSERT INTO t(a) SELECT a+100 FROM t WHERE id IN (1,3)
		INSERT INTO t SELECT id+1000, (SELECT count(*) FROM t) FROM t
		DELETE FROM t WHERE id IN (SELECT max(id) FROM t)
		UPDATE t SET a=a+1 WHERE id > (SELECT min(id) FROM t)
	`)
	f := p.fixture
	st, _, err := f.c.Prepare("SELECT id FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Finalize()
	if more, err := st.Step(); !more || err != nil {
		t.Fatal(more, err)
	}
	if f.c.ActiveStatements() != 1 || !st.Busy() {
		t.Error("the statement should be active")
	}
	f.exec("DELETE FROM t")
	n := 1
	for {
		more, err := st.Step()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		n++
	}
	if n < 5 {
		t.Errorf("the open statement saw %d rows", n)
	}
}

// Triggers on views and on temporary tables write to the engine's tables as
// nested statements do.
func TestNestedWrites(t *testing.T) {
	p := newPair(t, "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE); CREATE TABLE log(id INTEGER PRIMARY KEY, x)", nil)
	for _, sql := range []string{
		"CREATE VIEW v AS SELECT id, a FROM t",
		"CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES(new.id, new.a); INSERT INTO log(x) VALUES('i'||new.a); END",
		"CREATE TRIGGER vu INSTEAD OF UPDATE ON v BEGIN UPDATE t SET a=new.a WHERE id=old.id; INSERT INTO log(x) VALUES('u'||old.a); END",
		"CREATE TRIGGER vd INSTEAD OF DELETE ON v BEGIN DELETE FROM t WHERE id=old.id; END",
		"CREATE TEMP TABLE p(x)",
		"CREATE TEMP TRIGGER pt AFTER INSERT ON p BEGIN INSERT INTO t(a) VALUES(new.x); END",
	} {
		p.exec(sql)
		if err := p.plain.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	p.script(`
		INSERT INTO v VALUES(1,1),(2,2)
		INSERT INTO v VALUES(3,3),(4,1)
		INSERT OR IGNORE INTO v VALUES(3,3),(4,1),(5,5)
		UPDATE v SET a=a+10
		UPDATE v SET a=11
		DELETE FROM v WHERE id=2
		BEGIN
		INSERT INTO v VALUES(7,7),(8,11)
		INSERT INTO p VALUES(70),(80)
		INSERT INTO p VALUES(90),(80)
		SELECT * FROM p
		COMMIT
		INSERT OR REPLACE INTO p VALUES(80)
	`)
}

func TestControlTable(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	var ops []string
	f.c.OnControl = func(op string, arg []byte) error {
		ops = append(ops, op+":"+string(arg))
		if op == "fail" {
			return fmt.Errorf("refused: %w", engine.ErrInvalidChange)
		}
		return f.c.Tx().Apply(engine.DropTable{Table: f.c.Tx().Schema().Lookup("t").Table.ID})
	}
	f.exec("UPDATE temp.tidemark_tx SET op='a', arg=x'00ff'")
	if strings.Join(ops, ",") != "a:\x00\xff" {
		t.Errorf("%q", ops)
	}
	if f.store.Head().Schema().Lookup("t") != nil {
		t.Error("the table is still there")
	}
	if _, err := f.run("SELECT * FROM t"); err == nil {
		t.Error("a dropped table can be read")
	}
	f.exec("DROP TABLE t")
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	f.exec("BEGIN")
	f.exec("SAVEPOINT s")
	f.exec("INSERT INTO t VALUES(1,1)")
	f.exec("UPDATE temp.tidemark_tx SET op='b', arg=NULL")
	if f.c.Tx().Schema().Lookup("t") != nil {
		t.Error("the table is still there")
	}
	f.exec("ROLLBACK TO s")
	f.exec("INSERT INTO t VALUES(2,2)")
	f.exec("COMMIT")
	if got := f.query("SELECT * FROM t"); got != "2|2\n" {
		t.Error(got)
	}
	if _, err := f.run("UPDATE temp.tidemark_tx SET op='fail'"); err == nil || !errors.Is(f.c.LastError(), engine.ErrInvalidChange) {
		t.Error(err, f.c.LastError())
	}
	for _, sql := range []string{"INSERT INTO temp.tidemark_tx VALUES('x',1)", "DELETE FROM temp.tidemark_tx"} {
		if _, err := f.run(sql); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
	if got := f.query("SELECT * FROM temp.tidemark_tx"); got != "NULL|NULL\n" {
		t.Error(got)
	}
}

func TestEponymousModules(t *testing.T) {
	f := newFixture(t)
	var inserted []string
	register := func(name string, m EponymousModule) {
		t.Helper()
		if err := f.c.RegisterModule(name, m); err != nil {
			t.Fatal(err)
		}
	}
	register("tidemark_facts", EponymousModule{
		Columns: "name TEXT, value DECIMAL(3,1), \"odd,name\" TEXT",
		Rows: func(args []row.Value) ([][]row.Value, error) {
			return [][]row.Value{{row.TextValue("a"), row.IntValue(1), row.TextValue("x")}, {row.TextValue("b"), row.RealValue(2.5)}}, nil
		},
		Insert: func(vals []row.Value) error {
			if vals[0].IsNull() {
				return errors.New("no name")
			}
			inserted = append(inserted, vals[0].Clone().Bytes())
			return nil
		},
	})
	register("pragma_table_info", EponymousModule{
		Columns: "cid INT, name TEXT", Args: []string{"arg", "schema"},
		Rows: func(args []row.Value) ([][]row.Value, error) {
			if args[0].IsNull() {
				return nil, errors.New("no table was named")
			}
			return [][]row.Value{{row.IntValue(0), row.TextValue(args[0].Clone().Bytes() + "_col")}, {row.IntValue(1), args[1].Clone()}}, nil
		},
	})
	register("tidemark_panic", EponymousModule{Columns: "a", Rows: func([]row.Value) ([][]row.Value, error) { panic("boom") }})
	for _, q := range []struct{ sql, want string }{
		{"SELECT * FROM tidemark_facts", "'a'|1|'x'\n'b'|2.5r|NULL\n"},
		{"SELECT value FROM tidemark_facts WHERE name='b'", "2.5r\n"},
		{"SELECT * FROM pragma_table_info('t')", "0|'t_col'\n1|NULL\n"},
		{"SELECT *, arg, schema FROM pragma_table_info('t', 'main')", "0|'t_col'|'t'|'main'\n1|'main'|'t'|'main'\n"},
		{"SELECT * FROM pragma_table_info WHERE schema='x' AND arg='y'", "0|'y_col'\n1|'x'\n"},
		{"SELECT f.name, p.name FROM tidemark_facts f JOIN pragma_table_info(f.name) p WHERE cid=0", "'a'|'a_col'\n'b'|'b_col'\n"},
		{"INSERT INTO tidemark_facts VALUES('n',1,2),('m',1,2)", ""},
	} {
		if got := f.query(q.sql); got != q.want {
			t.Errorf("%s: %q, want %q", q.sql, got, q.want)
		}
	}
	if strings.Join(inserted, "") != "nm" {
		t.Error(inserted)
	}
	f.fails("SELECT * FROM pragma_table_info", 1, "no table was named")
	f.fails("INSERT INTO tidemark_facts VALUES(NULL,1,1)", 1, "no name")
	f.fails("INSERT INTO pragma_table_info VALUES(1,1)", 1, "table pragma_table_info may not be modified")
	if _, err := f.run("UPDATE tidemark_facts SET name=1"); err == nil || !errors.Is(f.c.LastError(), ErrReadOnlyModule) {
		t.Error(err, f.c.LastError())
	}
	if _, err := f.run("SELECT * FROM tidemark_panic"); err == nil || !errors.Is(f.c.LastError(), ErrPanic) {
		t.Error(err, f.c.LastError())
	}
	if !f.c.Bad() {
		t.Error("a panic should make the connection bad")
	}
	f.c.bad = false // closing it cleanly still works; the fixture checks that
}

// A panic in any callback is an error of the statement.
func TestPanicsAreErrors(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	f.exec("INSERT INTO t VALUES(1,1)")
	c := f.c
	lock := c.OnUnlockedWrite
	c.OnUnlockedWrite = func() error { panic("begin") }
	if _, err := f.run("INSERT INTO t VALUES(2,2)"); err == nil || !errors.Is(c.LastError(), ErrPanic) {
		t.Error(err, c.LastError())
	}
	c.OnUnlockedWrite = lock
	c.OnControl = func(string, []byte) error { panic("control") }
	if _, err := f.run("UPDATE temp.tidemark_tx SET op='x'"); err == nil || !errors.Is(c.LastError(), ErrPanic) {
		t.Error(err, c.LastError())
	}
	if !c.Bad() {
		t.Error("the connection is not bad")
	}
	c.bad = false
	// A record whose body is missing panics in xColumn.
	tx, err := f.store.TryBegin()
	if err != nil {
		t.Fatal(err)
	}
	c.SetTx(tx)
	if err := tx.Handle(c.tables[len(c.tables)-1].id).Insert(9, "\x03\x00\x19"); err != nil {
		t.Fatal(err)
	}
	c.ClearError()
	if err := c.Exec("SELECT a FROM t"); err == nil || !errors.Is(c.LastError(), ErrPanic) || !c.Bad() {
		t.Error(err, c.LastError(), c.Bad())
	}
	tx.Rollback()
	c.SetTx(nil)
	c.bad = false
	if got := f.query("SELECT * FROM t"); got != "1|1\n" {
		t.Error(got)
	}
}

// Row sources are for the bridge's own statements.
func TestHiddenColumn(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	f.exec("INSERT INTO t VALUES(1,1)")
	for _, sql := range []string{"SELECT * FROM t(-5)", "SELECT * FROM t WHERE \"" + HiddenColumn + "\"=-5"} {
		f.fails(sql, 1, "t(-5): a branch point is named by a text")
	}
	if got := f.query("SELECT * FROM t"); got != "1|1\n" {
		t.Error(got)
	}
	if got := f.query("SELECT \"" + HiddenColumn + "\" FROM t"); got != "NULL\n" {
		t.Error(got)
	}
}

func TestDeclaration(t *testing.T) {
	f := newFixture(t)
	f.create(`CREATE TABLE "od""d"("a b" VARCHAR(3), c "hidden thing", d INT COLLATE RTRIM, "e""" UNHIDDENx) ; CREATE TABLE s(a ANY, b INT) STRICT`, nil)
	f.exec(`INSERT INTO "od""d" VALUES(1,'2',3,4)`)
	if got := f.query(`SELECT *, typeof("a b"), typeof(c) FROM "od""d"`); got != "'1'|2|3|4|'text'|'integer'\n" {
		t.Error(got)
	}
	f.exec(`INSERT INTO s VALUES('5','5')`)
	if got := f.query(`SELECT * FROM s WHERE a='5'`); got != "'5'|5\n" {
		t.Error(got)
	}
}

func TestIntegrityCheck(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE)", nil)
	f.exec("INSERT INTO t VALUES(1,1),(2,NULL),(3,NULL)")
	if got := f.query("PRAGMA integrity_check"); got != "'ok'\n" {
		t.Error(got)
	}
	f.fails("ALTER TABLE t RENAME TO u", 1, "tables of a store are renamed by the driver")
}

// TestMemory opens, uses and closes connections; SQLite's memory must come back
// to where it was.
func TestMemory(t *testing.T) {
	tls := libc.NewTLS()
	defer tls.Close()
	used := func() int64 { return int64(lib.Xsqlite3_memory_used(tls)) }
	var after []int64
	for range 4 {
		f := &fixture{t: t, store: newStore(t), extra: map[string]options{}}
		f.c = f.connect()
		f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b TEXT, CHECK(a<100))", map[string]options{"t": {checks: []Check{{Name: "a<100", Expr: "a<100"}}}})
		if err := f.c.RegisterModule("m", EponymousModule{Columns: "a", Rows: func([]row.Value) ([][]row.Value, error) { return nil, nil }}); err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			f.exec("INSERT INTO t VALUES(?,?,?)", row.IntValue(int64(i)), row.IntValue(int64(i)), row.TextValue(strings.Repeat("x", 1000)))
			_, _ = f.run("INSERT INTO t VALUES(NULL,0,1)")
			_, _ = f.run("INSERT INTO t VALUES(NULL,1000,1)")
			f.query("SELECT * FROM t WHERE a=? AND id IN (1,2,3)", row.IntValue(int64(i)))
			f.query("SELECT * FROM m")
			_, _ = f.run("SELECT * FROM t(1)")
		}
		f.exec("BEGIN; SAVEPOINT a; DELETE FROM t; ROLLBACK TO a; COMMIT")
		if err := f.c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		after = append(after, used())
	}
	if after[3] > after[1] {
		t.Errorf("SQLite's memory grows: %v", after)
	}
}

// Cursors and tables that only C memory points to survive collections.
func TestCollectionWhileRunning(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a)", nil)
	for i := range 2000 {
		f.exec("INSERT INTO t VALUES(?,?)", row.IntValue(int64(i)), row.TextValue(fmt.Sprint(i)))
		if i%500 == 0 {
			runtime.GC()
		}
	}
	st, _, err := f.c.Prepare("SELECT a.a, b.a FROM t a JOIN t b ON b.id=a.id")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Finalize()
	for i := range 2000 {
		more, err := st.Step()
		if err != nil || !more {
			t.Fatal(i, err)
		}
		if i%400 == 0 {
			runtime.GC()
		}
		if want := fmt.Sprint(i); st.Column(0).Bytes() != want || st.Column(1).Bytes() != want {
			t.Fatalf("row %d: %s", i, showValue(st.Column(0)))
		}
	}
}
