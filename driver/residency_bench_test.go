package driver

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// BenchmarkResidency compares a table of which only keys are in memory with one
// that is in memory whole: 200,000 rows of an int and three texts of 40 bytes, one
// of them unique, in a store each. It reports the ratios keys/all of filling it,
// of reads by id through SQL and through the engine, of a scan, and of the memory
// that the rows take; reads follow a checkpoint. The two take turns, and of each
// figure the least of some rounds counts.
func BenchmarkResidency(b *testing.B) {
	const rows, reads, rounds = 200_000, 40_000, 3
	for _, shape := range []struct{ name, unique string }{
		{"wide", "%08x and what makes it forty bytes long."},
		{"common-prefix", "what makes it forty bytes long, and %08x"},
	} {
		b.Run(shape.name, func(b *testing.B) {
			for range b.N {
				const fill, byID, scan, byEngine, memory = 0, 1, 2, 3, 4
				var best [2][5]float64
				note := func(k, what int, v float64) {
					if best[k][what] == 0 || v < best[k][what] {
						best[k][what] = v
					}
				}
				for range rounds {
					var stores [2]*sql.DB
					for k, resident := range []string{"all", "keys"} {
						before := heap()
						db, err := sql.Open("tidemark", b.TempDir()+"/db?sync=off&resident="+resident)
						if err != nil {
							b.Fatal(err)
						}
						stores[k] = db
						mustBench(b, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, u TEXT UNIQUE, v TEXT, w TEXT)")
						start := time.Now()
						fillResidency(b, db, rows, shape.unique)
						note(k, fill, time.Since(start).Seconds())
						mustBench(b, db, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
						note(k, memory, heap()-before)
					}
					for range 3 {
						for k, db := range stores {
							note(k, byID, readByID(b, db, rows, reads))
							note(k, scan, scanAll(b, db, rows))
							note(k, byEngine, readByEngine(b, db, rows, reads))
						}
					}
					for _, db := range stores {
						if err := db.Close(); err != nil {
							b.Fatal(err)
						}
					}
				}
				for what, name := range []string{"fill", "sql-reads", "scan", "engine-reads", "memory"} {
					b.ReportMetric(best[1][what]/best[0][what], name+"-ratio")
				}
				b.Logf("%s: all %.3g, keys %.3g", shape.name, best[0], best[1])
			}
		})
	}
}

func mustBench(b *testing.B, db *sql.DB, text string) {
	b.Helper()
	if _, err := db.Exec(text); err != nil {
		b.Fatal(err)
	}
}

// heap is what the heap takes for live objects.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse)
}

func fillResidency(b *testing.B, db *sql.DB, rows int, unique string) {
	const batch = 1000
	for at := 0; at < rows; at += batch {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		st, err := tx.Prepare("INSERT INTO t VALUES(?,?,?,?,?)")
		if err != nil {
			b.Fatal(err)
		}
		for i := at + 1; i <= at+batch; i++ {
			key := fmt.Sprintf(unique, uint32(i)*2654435761)
			if _, err := st.Exec(i, i*7, key, "the second text has forty bytes as well.", "and so has the third one, which ends it."); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// weyl is the order of the reads.
func weyl(j, rows int) int64 { return int64(1 + uint64(j)*2654435761%uint64(rows)) }

// readByID returns the time of a read, in nanoseconds.
func readByID(b *testing.B, db *sql.DB, rows, reads int) float64 {
	st, err := db.Prepare("SELECT n, u, v, w FROM t WHERE id = ?")
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	start := time.Now()
	for j := range reads {
		var n int
		var u, v, w sql.RawBytes
		rs, err := st.Query(weyl(j, rows))
		if err != nil {
			b.Fatal(err)
		}
		if !rs.Next() || rs.Scan(&n, &u, &v, &w) != nil || n != int(weyl(j, rows))*7 {
			b.Fatalf("row %d: %d, %v", weyl(j, rows), n, rs.Err())
		}
		rs.Close()
	}
	return float64(time.Since(start).Nanoseconds()) / float64(reads)
}

// scanAll returns the time of a row in a scan, in nanoseconds.
func scanAll(b *testing.B, db *sql.DB, rows int) float64 {
	start := time.Now()
	var sum, count int
	if err := db.QueryRow("SELECT sum(n), count(w) FROM t").Scan(&sum, &count); err != nil || count != rows {
		b.Fatalf("%d rows, %v", count, err)
	}
	return float64(time.Since(start).Nanoseconds()) / float64(rows)
}

// readByEngine returns the time of a read of the engine, in nanoseconds.
func readByEngine(b *testing.B, db *sql.DB, rows, reads int) float64 {
	one, err := db.Conn(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer one.Close()
	took := 0.0
	err = one.Raw(func(dc any) error {
		snap := dc.(*conn).store.Durable()
		table := snap.Table(snap.Schema().Lookup("t").Table.ID)
		start := time.Now()
		for j := range reads {
			rec, found, err := table.Get(weyl(j, rows))
			if err != nil || !found || rec.Column(1).Int() != weyl(j, rows)*7 {
				return fmt.Errorf("row %d: %t, %w", weyl(j, rows), found, err)
			}
		}
		took = float64(time.Since(start).Nanoseconds()) / float64(reads)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return took
}
