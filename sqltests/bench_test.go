package sqltests

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// native opens a file of the same binding, with WAL and synchronous=FULL.
func native(b *testing.B) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "n.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

func ours(b *testing.B) *sql.DB { return Open(b, "busy_timeout=60s").DB }

// both runs a benchmark on a native table and on a store.
func both(b *testing.B, schema string, fill int, run func(b *testing.B, db *sql.DB)) {
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
		commit16(b, db, b.N)
		var mean float64
		if db.QueryRow("SELECT value FROM tidemark_stats WHERE name = 'mean_batch'").Scan(&mean) == nil {
			b.ReportMetric(mean, "commits/sync")
		}
	})
}

// commit16 inserts rows by 16 writers and returns how long it took.
func commit16(b *testing.B, db *sql.DB, rows int) time.Duration {
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	var n atomic.Int64
	var writers sync.WaitGroup
	start := time.Now()
	for range 16 {
		writers.Go(func() {
			for {
				i := n.Add(1)
				if i > int64(rows) {
					return
				}
				if _, err := db.Exec("INSERT INTO t(n, s) VALUES(?,?)", i, "a text of twenty byte"); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	return time.Since(start)
}

// BenchmarkCommit16Ratio lets 16 writers commit in a native file and in a store by
// turns, and reports how many times as many the store takes in the same time, over
// all rounds and in the middle one.
func BenchmarkCommit16Ratio(b *testing.B) {
	dbs := [2]*sql.DB{native(b), ours(b)}
	for _, db := range dbs {
		if _, err := db.Exec(benchSchema); err != nil {
			b.Fatal(err)
		}
		commit16(b, db, 100) // connections and statements
	}
	const rows = 1000
	var took [2]time.Duration
	var ratios []float64
	for b.Loop() {
		var now [2]time.Duration
		for i, db := range dbs {
			now[i] = commit16(b, db, rows)
			took[i] += now[i]
		}
		ratios = append(ratios, now[0].Seconds()/now[1].Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "ratio")
	b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
	for i, name := range []string{"native-µs/commit", "tidemark-µs/commit"} {
		b.ReportMetric(float64(took[i].Microseconds())/float64(b.N)/rows, name)
	}
}
