package sqltests

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// both runs a benchmark on a native table of the same binding, in a file with
// WAL and synchronous=FULL, and on a store.
func both(b *testing.B, schema string, fill int, run func(b *testing.B, db *sql.DB)) {
	native := func(b *testing.B) *sql.DB {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "n.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(60000)&_txlock=immediate")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		return db
	}
	ours := func(b *testing.B) *sql.DB { return Open(b, "busy_timeout=60s").DB }
	for _, e := range []struct {
		name string
		open func(*testing.B) *sql.DB
	}{{"native", native}, {"tidemark", ours}} {
		b.Run(e.name, func(b *testing.B) {
			db := e.open(b)
			if _, err := db.Exec(schema); err != nil {
				b.Fatal(err)
			}
			if fill > 0 {
				tx, err := db.Begin()
				if err != nil {
					b.Fatal(err)
				}
				st, err := tx.Prepare("INSERT INTO t(id, n, s) VALUES(?,?,?)")
				if err != nil {
					b.Fatal(err)
				}
				for i := range fill {
					if _, err := st.Exec(i+1, i*7%1000, fmt.Sprintf("text number %07d", i)); err != nil {
						b.Fatal(err)
					}
				}
				if err := tx.Commit(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			run(b, db)
		})
	}
}

const benchSchema = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, s TEXT)"

// BenchmarkScanSum is a full scan of 200,000 rows; ns/row is the figure.
func BenchmarkScanSum(b *testing.B) {
	const rows = 200_000
	both(b, benchSchema, rows, func(b *testing.B, db *sql.DB) {
		for b.Loop() {
			var v int64
			if err := db.QueryRow("SELECT sum(n) FROM t").Scan(&v); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	})
}

// BenchmarkPointSelect is a prepared SELECT by key.
func BenchmarkPointSelect(b *testing.B) {
	both(b, benchSchema, 100_000, func(b *testing.B, db *sql.DB) {
		st, err := db.Prepare("SELECT n, s FROM t WHERE id = ?")
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		i := 0
		for b.Loop() {
			i++
			var n int64
			var s string
			if err := st.QueryRow(i*7919%100_000+1).Scan(&n, &s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkInsertInTx inserts rows in one transaction through a prepared statement.
func BenchmarkInsertInTx(b *testing.B) {
	both(b, benchSchema, 0, func(b *testing.B, db *sql.DB) {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		st, err := tx.Prepare("INSERT INTO t(n, s) VALUES(?,?)")
		if err != nil {
			b.Fatal(err)
		}
		i := 0
		for b.Loop() {
			i++
			if _, err := st.Exec(i, "a text of twenty byte"); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkCommit is one durable autocommit insert by one writer.
func BenchmarkCommit(b *testing.B) {
	both(b, benchSchema, 0, func(b *testing.B, db *sql.DB) {
		st, err := db.Prepare("INSERT INTO t(n, s) VALUES(?,?)")
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		i := 0
		for b.Loop() {
			i++
			if _, err := st.Exec(i, "a text of twenty byte"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCommit16 is durable autocommit inserts by 16 writers.
func BenchmarkCommit16(b *testing.B) {
	both(b, benchSchema, 0, func(b *testing.B, db *sql.DB) {
		db.SetMaxOpenConns(16)
		db.SetMaxIdleConns(16)
		var n atomic.Int64
		b.SetParallelism(8) // of two processors
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := db.Exec("INSERT INTO t(n, s) VALUES(?,?)", n.Add(1), "a text of twenty byte"); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
