package vtab

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

func openPlain(t testing.TB) *Conn {
	t.Helper()
	c, err := OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestValuesSurviveBinding(t *testing.T) {
	c := openPlain(t)
	for _, v := range []row.Value{
		{}, row.IntValue(0), row.IntValue(math.MinInt64), row.IntValue(math.MaxInt64),
		row.RealValue(0.5), row.RealValue(math.Inf(1)), row.RealValue(1 << 53),
		row.TextValue(""), row.TextValue("a\x00b"), row.TextValue("é"), row.TextValue(strings.Repeat("x", 100_000)),
		row.BlobValue(""), row.BlobValue("\x00\xff"),
	} {
		rows, err := c.Query("SELECT ?1, typeof(?1), length(CAST(?1 AS BLOB))", v)
		if err != nil {
			t.Fatal(err)
		}
		got := rows[0][0]
		if got != v {
			t.Errorf("%s came back as %s", showValue(v), showValue(got))
		}
		if n := rows[0][2]; v.Kind() >= row.Text && n.Int() != int64(len(v.Bytes())) {
			t.Errorf("%s: SQLite saw %d bytes", showValue(v), n.Int())
		}
	}
}

// A column read straight from the result row must be what the API says.
func TestColumnsOfEveryRepresentation(t *testing.T) {
	c := openPlain(t)
	if err := c.Exec("PRAGMA encoding='UTF-16le'; CREATE TABLE t(a REAL, b TEXT); INSERT INTO t VALUES(5, 'é€')"); err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query("SELECT a, b, zeroblob(3), CAST(5 AS TEXT), -a, b||'x', NULL, a+1 FROM t")
	if err != nil {
		t.Fatal(err)
	}
	const want = "5r|'é€'|x'000000'|'5'|-5r|'é€x'|NULL|6r\n"
	if got := show(rows); got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestPrepareTail(t *testing.T) {
	c := openPlain(t)
	sql := " SELECT 1 ; -- x\n SELECT ?2, :a; "
	st, tail, err := c.Prepare(sql)
	if err != nil || st.SQL() != " SELECT 1 ;" || tail != " -- x\n SELECT ?2, :a; " {
		t.Fatalf("%q %q %v", st.SQL(), tail, err)
	}
	st.Finalize()
	st.Finalize()
	st, tail, err = c.Prepare(tail)
	if err != nil || st.NumParams() != 3 || st.ParamName(2) != "?2" || st.ParamName(3) != ":a" || tail != " " {
		t.Fatalf("%d %q %q %q %v", st.NumParams(), st.ParamName(2), st.ParamName(3), tail, err)
	}
	st.Finalize()
	if st, tail, err = c.Prepare(" -- nothing"); st != nil || tail != "" || err != nil {
		t.Fatalf("%v %q %v", st, tail, err)
	}
}

func TestErrorsCarryCodeAndText(t *testing.T) {
	c := openPlain(t)
	var e *Error
	if _, _, err := c.Prepare("SELECT missing"); !errors.As(err, &e) || e.Code != 1 || e.Msg != "no such column: missing" {
		t.Errorf("prepare: %v", err)
	}
	if err := c.Exec("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)"); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec("INSERT INTO t VALUES(1)"); !errors.As(err, &e) || e.Code != 19 || e.Extended != 2067 || e.Msg != "UNIQUE constraint failed: t.a" {
		t.Errorf("step: %v", err)
	}
	st, _, err := c.Prepare("SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Finalize()
	if err := st.BindInt(1, 1); !errors.As(err, &e) || e.Code != int(lib.SQLITE_RANGE) {
		t.Errorf("bind: %v", err)
	}
}

func TestStatementDescription(t *testing.T) {
	c := openPlain(t)
	if err := c.Exec("CREATE TABLE t(a VARCHAR(3), b)"); err != nil {
		t.Fatal(err)
	}
	st, _, err := c.Prepare("SELECT a AS x, 1+1 FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Finalize()
	db, table, column := st.ColumnOrigin(0)
	if st.ColumnName(0) != "x" || st.ColumnDecl(0) != "VARCHAR(3)" || db != "main" || table != "t" || column != "a" {
		t.Error(st.ColumnName(0), st.ColumnDecl(0), db, table, column)
	}
	if db, table, column = st.ColumnOrigin(1); db+table+column != "" || st.ColumnDecl(1) != "" {
		t.Error(db, table, column, st.ColumnDecl(1))
	}
	if !st.ReadOnly() || st.Busy() || st.Explain() != 0 {
		t.Error("read-only, idle and no EXPLAIN was expected")
	}
	if c.ActiveStatements() != 0 {
		t.Error("a statement is active")
	}
	if v := st.Column(0); !v.IsNull() {
		t.Error("a column without a row")
	}
}

func TestInterrupt(t *testing.T) {
	c, err := OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				c.Interrupt()
			}
		}
	})
	_, err = c.Query("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM r) SELECT count(*) FROM r")
	var e *Error
	if !errors.As(err, &e) || e.Code != int(lib.SQLITE_INTERRUPT) {
		t.Errorf("%v", err)
	}
	if err := c.Close(); err != nil { // while interrupts go on
		t.Error(err)
	}
	close(stop)
	wg.Wait()
	if err := c.Close(); err != nil {
		t.Error("second Close:", err)
	}
}

func TestAuthorizer(t *testing.T) {
	c := openPlain(t)
	var seen []string
	c.SetAuthorizer(func(action int, a1, a2, a3, a4 string) int {
		if action == int(lib.SQLITE_CREATE_TABLE) {
			seen = append(seen, a1+" "+a3)
			return AuthDeny
		}
		return AuthOK
	})
	var e *Error
	if err := c.Exec("CREATE TABLE t(a)"); !errors.As(err, &e) || e.Code != int(lib.SQLITE_AUTH) {
		t.Errorf("%v", err)
	}
	if strings.Join(seen, ",") != "t main" {
		t.Error(seen)
	}
	c.SetAuthorizer(nil)
	if err := c.Exec("CREATE TABLE t(a)"); err != nil {
		t.Error(err)
	}
}

func TestPanicInAuthorizer(t *testing.T) {
	c := openPlain(t)
	c.SetAuthorizer(func(int, string, string, string, string) int { panic("boom") })
	err := c.Exec("SELECT 1")
	if err == nil || !c.Bad() || !errors.Is(c.LastError(), ErrPanic) || !strings.Contains(c.LastError().Error(), "boom") {
		t.Error(err, c.Bad(), c.LastError())
	}
	c.SetAuthorizer(nil)
}

// The modules every connection of the process gets are inert on foreign ones.
func TestForeignConnection(t *testing.T) {
	c := openPlain(t)
	for _, sql := range []string{
		"CREATE VIRTUAL TABLE x USING tidemark_bind(1)",
		"CREATE VIRTUAL TABLE x USING tidemark_open(1,1,1)",
	} {
		if err := c.Exec(sql); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
}
