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
// transactions of some sizes and texts and ids that come in order and not, and again
// after the store was opened anew. In use is what the heap takes from the system
// for it, objects is what the rows and entries are made of.
func BenchmarkMemory(b *testing.B) {
	const rows = 1_000_000
	for _, bc := range []struct {
		name      string
		batch     int
		random    bool
		randomIDs bool
	}{
		{"one transaction, ascending", rows, false, false},
		{"one transaction, random", rows, true, false},
		{"transactions of 20000, random", 20_000, true, false},
		{"transactions of 1000, ascending", 1000, false, false},
		{"transactions of 1000, random", 1000, true, false},
		{"transactions of 50, random", 50, true, false},
		{"one transaction, random ids", rows, true, true},
		{"transactions of 1000, random ids", 1000, true, true},
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
					fillBatch(b, s.DB, at, bc.batch, func(i int) (int, string) {
						id, text := i+1, fmt.Sprintf("%020d", i)
						if bc.randomIDs {
							id = i*7919%1_000_003 + 1 // a prime, and no multiple of the other
						}
						if bc.random {
							text = fmt.Sprintf("%020d", r.Uint64())
						}
						return id, text
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
func fillBatch(b *testing.B, db *sql.DB, at, count int, row func(i int) (id int, text string)) {
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	st, err := tx.Prepare("INSERT INTO t(id, n, s) VALUES(?,?,?)")
	if err != nil {
		b.Fatal(err)
	}
	for i := at; i < at+count; i++ {
		id, text := row(i)
		if _, err := st.Exec(id, i*7, text); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
