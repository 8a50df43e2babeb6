package vtab

import (
	"context"
	"fmt"
	"testing"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

const benchRows = 1_000_000

const fillSQL = "WITH RECURSIVE g(v) AS (SELECT 1 UNION ALL SELECT v+1 FROM g WHERE v<%d) INSERT INTO %s SELECT v, v*2, 'hello world '||(v%%1000), v*0.5 FROM g"

// BenchmarkScan compares reads of a table of the engine with reads of a table
// of SQLite in memory, in one run.
func BenchmarkScan(b *testing.B) {
	f := benchFixture(b, benchRows)
	for _, q := range []string{
		"SELECT count(*) FROM %s",
		"SELECT sum(a) FROM %s",
		"SELECT sum(length(t)) FROM %s",
		"SELECT sum(a+id) FROM %s WHERE t='hello world 7'",
		"SELECT sum(r) FROM %s WHERE id BETWEEN 1000 AND 900000",
	} {
		for _, table := range []string{"tide", "native"} {
			b.Run(fmt.Sprintf(q, table), func(b *testing.B) {
				st, _, err := f.c.Prepare(fmt.Sprintf(q, table))
				if err != nil {
					b.Fatal(err)
				}
				defer st.Finalize()
				for b.Loop() {
					if _, err := st.Step(); err != nil {
						b.Fatal(err)
					}
					if err := st.Reset(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
			})
		}
	}
}

func benchFixture(b *testing.B, n int) *fixture {
	b.Helper()
	f := newFixture(b)
	f.create("CREATE TABLE tide(id INTEGER PRIMARY KEY, a INT, t TEXT, r REAL)", nil)
	f.apply(engine.CreateIndex{Table: f.store.Head().Schema().Lookup("tide").Table.ID, Index: &engine.IndexDef{
		Name: "tide_t", SQL: "CREATE INDEX tide_t ON tide(t)", Origin: "c", Columns: []engine.IndexColumn{{Column: 2}},
	}})
	f.mirror()
	f.exec(fmt.Sprintf(fillSQL, n, "tide"))
	f.exec("CREATE TEMP TABLE native(id INTEGER PRIMARY KEY, a INT, t TEXT, r REAL); CREATE INDEX temp.native_t ON native(t)")
	f.exec(fmt.Sprintf(fillSQL, n, "native"))
	f.settle()
	return f
}

// BenchmarkPoint reads by rowid and by index.
func BenchmarkPoint(b *testing.B) {
	const n = 200_000
	f := benchFixture(b, n)
	for _, q := range []string{"SELECT a, t FROM %s WHERE id=?", "SELECT sum(a) FROM %s WHERE t=?", "SELECT a FROM %s WHERE id BETWEEN ?1 AND ?1+99"} {
		for _, table := range []string{"tide", "native"} {
			b.Run(fmt.Sprintf(q, table), func(b *testing.B) {
				st, _, err := f.c.PreparePersistent(fmt.Sprintf(q, table))
				if err != nil {
					b.Fatal(err)
				}
				defer st.Finalize()
				i := 0
				for b.Loop() {
					i = (i*7919 + 1) % n
					if st.SQL()[7] == 's' {
						err = st.BindText(1, fmt.Sprintf("hello world %d", i%1000))
					} else {
						err = st.BindInt(1, int64(i+1))
					}
					for err == nil {
						var more bool
						if more, err = st.Step(); !more {
							break
						}
						_, _ = st.Column(0), st.Column(1)
					}
					if err != nil {
						b.Fatal(err)
					}
					if err := st.Reset(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPrepare compiles statements, planning included.
func BenchmarkPrepare(b *testing.B) {
	f := benchFixture(b, 1000)
	for _, q := range []string{"SELECT a FROM %s WHERE id=5", "SELECT a FROM %s WHERE t='x' AND a>5 AND r<9 ORDER BY id", "SELECT x.a FROM %[1]s x JOIN %[1]s y ON x.id=y.a WHERE x.t=y.t AND y.r>5"} {
		for _, table := range []string{"tide", "native"} {
			b.Run(fmt.Sprintf(q, table), func(b *testing.B) {
				sql := fmt.Sprintf(q, table)
				for b.Loop() {
					st, _, err := f.c.Prepare(sql)
					if err != nil {
						b.Fatal(err)
					}
					st.Finalize()
				}
			})
		}
	}
}

// BenchmarkInsert inserts within one transaction a batch, by a prepared
// statement.
func BenchmarkInsert(b *testing.B) {
	for _, ddl := range []string{
		"CREATE TABLE %s(id INTEGER PRIMARY KEY, a INT, t TEXT)",
		"CREATE TABLE %s(id INTEGER PRIMARY KEY, a INT UNIQUE, t TEXT NOT NULL)",
		"CREATE TABLE %s(id INTEGER PRIMARY KEY, a INT, t TEXT, CHECK(a>0), CHECK(length(t)<100))",
	} {
		for _, table := range []string{"tide", "native"} {
			b.Run(fmt.Sprintf(ddl, table), func(b *testing.B) {
				f := newFixture(b)
				extra := map[string]options{}
				if ddl[len(ddl)-2] == ')' {
					extra["tide"] = options{checks: []Check{{Name: "a>0", Expr: "a>0"}, {Name: "length(t)<100", Expr: "length(t)<100"}}}
				}
				if table == "tide" {
					f.create(fmt.Sprintf(ddl, table), extra)
				} else {
					f.exec(fmt.Sprintf(ddl, "temp."+table))
				}
				begin := func() {
					f.settle()
					if err := f.c.Exec("BEGIN"); err != nil {
						b.Fatal(err)
					}
				}
				begin()
				st, _, err := f.c.PreparePersistent("INSERT INTO " + table + " VALUES(NULL,?,?)")
				if err != nil {
					b.Fatal(err)
				}
				i := 0
				for b.Loop() {
					i++
					_ = st.BindInt(1, int64(i))
					_ = st.BindText(2, "hello world")
					if _, err := st.Step(); err != nil {
						b.Fatal(err, f.c.LastError())
					}
					if err := st.Reset(); err != nil {
						b.Fatal(err)
					}
					if i%10_000 == 0 {
						b.StopTimer()
						if err := f.c.Exec("COMMIT"); err != nil {
							b.Fatal(err)
						}
						begin()
						b.StartTimer()
					}
				}
				st.Finalize()
				if err := f.c.Exec("ROLLBACK"); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkCursor reads blocks without SQLite: the floor of a scan.
func BenchmarkCursor(b *testing.B) {
	f := benchFixture(b, benchRows)
	view := f.store.Head().Table(f.store.Head().Schema().Lookup("tide").Table.ID)
	var buf [fullBlock]engine.Entry
	var dec row.Decoder
	var sum int64
	for b.Loop() {
		s := view.Scan(1, benchRows, false)
		for {
			n, err := s.Next(buf[:])
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range buf[:n] {
				dec.Reset(e.Rec)
				sum += dec.Column(1).Int()
			}
			if n < len(buf) {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
	_ = context.Background
}
