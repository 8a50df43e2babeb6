package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"modernc.org/sqlite"
)

// BenchmarkUpsert compares an INSERT of a new row with one that becomes an update of
// the row, by turns in one transaction: the best ns of each and what the update costs beyond.
func BenchmarkUpsert(b *testing.B) {
	for _, bench := range []struct{ name, set string }{
		{"copied", "n=excluded.n, s=excluded.s"},
		{"computed", "n=n+excluded.n, s=excluded.s"},
		{"where", "n=n+excluded.n, s=excluded.s WHERE excluded.n>=0"},
		{"once", "n=n+(SELECT max(id) FROM t), s=excluded.s"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			db, err := sql.Open("tidemark", filepath.Join(b.TempDir(), "store")+"?sync=off")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, s TEXT)"); err != nil {
				b.Fatal(err)
			}
			tx, err := db.Begin()
			if err != nil {
				b.Fatal(err)
			}
			defer tx.Rollback()
			prepare := func(text string) *sql.Stmt {
				st, err := tx.Prepare(text)
				if err != nil {
					b.Fatal(err)
				}
				return st
			}
			insert := prepare("INSERT INTO t VALUES(?1,?2,?3)")
			upsert := prepare("INSERT INTO t VALUES(?1,?2,?3) ON CONFLICT(id) DO UPDATE SET " + bench.set)
			const rows = 64
			run := func(st *sql.Stmt, from int) time.Duration {
				start := time.Now()
				for i := range rows {
					if _, err := st.Exec(from+i, i, "a text of twenty byte"); err != nil {
						b.Fatal(err)
					}
				}
				return time.Since(start)
			}
			run(insert, 0)
			run(upsert, 0)
			var inserts, upserts []time.Duration
			at := rows
			for b.Loop() {
				inserts = append(inserts, run(insert, at))
				upserts = append(upserts, run(upsert, at))
				at += rows
			}
			slices.Sort(inserts)
			slices.Sort(upserts)
			a, c := float64(inserts[0])/rows, float64(upserts[0])/rows
			b.ReportMetric(a, "ns/insert")
			b.ReportMetric(c, "ns/upsert")
			b.ReportMetric(c-a, "ns/more")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPrepare compares preparing a statement on a table of a store and on one
// of the plain binding, by turns: the best of each, and their ratio.
func BenchmarkPrepare(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"select", "SELECT n, s FROM t WHERE id=?"},
		{"insert", "INSERT INTO t VALUES(?,?,?)"},
		{"insert default", "INSERT INTO t(n) VALUES(?)"},
		{"update", "UPDATE t SET n=n+? WHERE id=?"},
		{"update late", "UPDATE t SET n=(SELECT max(n) FROM t x WHERE x.id<t.id) WHERE id=?"},
		{"do nothing", "INSERT INTO t VALUES(?,?,?) ON CONFLICT DO NOTHING"},
		{"do update", "INSERT INTO t VALUES(?,?,?) ON CONFLICT(id) DO UPDATE SET n=n+excluded.n, s=excluded.s WHERE n<excluded.n"},
		{"returning", "INSERT INTO t VALUES(?,?,?) RETURNING id"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			connector, err := sqlite.NewConnector(":memory:")
			if err != nil {
				b.Fatal(err)
			}
			plain, err := connector.Connect(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			db, err := sql.Open("tidemark", filepath.Join(b.TempDir(), "store")+"?sync=off")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			one, err := db.Conn(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			defer one.Close()
			const table = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT DEFAULT 5, s TEXT DEFAULT 'x')"
			if _, err := plain.(sqldriver.ExecerContext).ExecContext(context.Background(), table, nil); err != nil {
				b.Fatal(err)
			}
			if _, err := one.ExecContext(context.Background(), table); err != nil {
				b.Fatal(err)
			}
			var times [2][]time.Duration
			const round = 20
			err = one.Raw(func(dc any) error {
				for b.Loop() {
					start := time.Now()
					for range round {
						if err := prepareOnce(plain, bench.text); err != nil {
							return err
						}
					}
					between := time.Now()
					for range round {
						if err := prepareOnce(dc.(*conn), bench.text); err != nil {
							return err
						}
					}
					times[0] = append(times[0], between.Sub(start)/round)
					times[1] = append(times[1], time.Since(between)/round)
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			slices.Sort(times[0])
			slices.Sort(times[1])
			native, here := times[0][0], times[1][0]
			b.ReportMetric(float64(native), "ns/plain")
			b.ReportMetric(float64(here), "ns/here")
			b.ReportMetric(float64(here)/float64(native), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func prepareOnce(c sqldriver.Conn, text string) error {
	st, err := c.(sqldriver.ConnPrepareContext).PrepareContext(context.Background(), text)
	if err != nil {
		return err
	}
	return st.Close()
}
