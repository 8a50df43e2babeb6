package driver

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/vtab"
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
			plainDB, err := vtab.OpenPlain()
			if err != nil {
				b.Fatal(err)
			}
			defer plainDB.Close()
			db, err := sql.Open("tidemark", filepath.Join(b.TempDir(), "store")+"?sync=off")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			conn, err := db.Conn(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			const table = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT DEFAULT 5, s TEXT DEFAULT 'x')"
			if err := plainDB.Exec(table); err != nil {
				b.Fatal(err)
			}
			if _, err := conn.ExecContext(context.Background(), table); err != nil {
				b.Fatal(err)
			}
			var times [2][]time.Duration
			const round = 20
			err = conn.Raw(func(dc any) error {
				c := dc.(*driverConn)
				for b.Loop() {
					start := time.Now()
					for range round {
						st, _, err := plainDB.PreparePersistent(bench.text)
						if err != nil {
							return err
						}
						st.Finalize()
					}
					between := time.Now()
					for range round {
						st, err := c.PrepareContext(context.Background(), bench.text)
						if err != nil {
							return err
						}
						if err := st.Close(); err != nil {
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
			plain, here := times[0][0], times[1][0]
			b.ReportMetric(float64(plain), "ns/plain")
			b.ReportMetric(float64(here), "ns/here")
			b.ReportMetric(float64(here)/float64(plain), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

type driverConn = conn
