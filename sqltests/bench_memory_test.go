package sqltests

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// BenchmarkMemory fills a table of a million rows, each an id, an int and a text
// of 20 bytes with an index on it, and reports what the process then holds, for
// transactions of some sizes and texts that come in order and not, and again
// after the store was opened anew. In use is what the heap takes from the system
// for it, objects is what the rows and entries are made of.
func BenchmarkMemory(b *testing.B) {
	const rows = 1_000_000
	for _, bc := range []struct {
		name   string
		batch  int
		random bool
	}{
		{"one transaction, ascending", rows, false},
		{"one transaction, random", rows, true},
		{"transactions of 1000, ascending", 1000, false},
		{"transactions of 1000, random", 1000, true},
		{"transactions of 50, random", 50, true},
	} {
		b.Run(bc.name, func(b *testing.B) {
			for range b.N {
				before := inUse()
				s := Open(b, "")
				if _, err := s.DB.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, s TEXT); CREATE INDEX i ON t(s)"); err != nil {
					b.Fatal(err)
				}
				r := rand.New(rand.NewPCG(1, 2))
				for at := 0; at < rows; at += bc.batch {
					fillBatch(b, s.DB, at, bc.batch, func(i int) string {
						if bc.random {
							return fmt.Sprintf("%020d", r.Uint64())
						}
						return fmt.Sprintf("%020d", i)
					})
				}
				report := func(when string) {
					now := inUse()
					b.ReportMetric(float64(now.HeapInuse-before.HeapInuse)/rows, when+"-B/row")
					b.ReportMetric(float64(now.HeapAlloc-before.HeapAlloc)/rows, when+"-objects-B/row")
				}
				report("filled")
				s.Reopen()
				report("reopened")
			}
		})
	}
}

// inUse returns the memory statistics behind two collections.
func inUse() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// fillBatch inserts rows from at on in one transaction.
func fillBatch(b *testing.B, db *sql.DB, at, count int, text func(i int) string) {
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	st, err := tx.Prepare("INSERT INTO t(id, n, s) VALUES(?,?,?)")
	if err != nil {
		b.Fatal(err)
	}
	for i := at; i < at+count; i++ {
		if _, err := st.Exec(i+1, i*7, text(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
