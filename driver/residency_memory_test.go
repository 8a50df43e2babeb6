package driver

import (
	"database/sql"
	"fmt"
	"math"
	"runtime"
	"testing"
)

// BenchmarkResidencyMemory reports the bytes that a row of 200,000 takes in a table
// of resident=keys and of resident=all: of an int and three texts of 40 bytes, with
// one of them unique, whose values come in no order, and without. The tables are
// filled in transactions of 1,000 rows, in one, and with ids in no order; after a
// checkpoint, and after the store was opened anew. B/row is what the heap has in
// use, pages and all; ratio is that of keys to all.
func BenchmarkResidencyMemory(b *testing.B) {
	const rows, permute = 200_000, 7919
	for _, way := range []struct {
		name   string
		batch  int
		random bool
	}{
		{"transactions of 1000", 1000, false},
		{"one transaction", rows, false},
		{"transactions of 1000, random ids", 1000, true},
	} {
		for _, shape := range []struct{ name, unique, text string }{
			{"wide", " UNIQUE", "%08x and what makes it forty bytes long."},
			{"common-prefix", " UNIQUE", "what makes it forty bytes long, and %08x"},
			{"no index", "", "%08x and what makes it forty bytes long."},
		} {
			b.Run(way.name+"/"+shape.name, func(b *testing.B) {
				for range b.N {
					var took [2][2]float64
					for k, resident := range []string{"all", "keys"} {
						path := b.TempDir() + "/db?sync=off&resident=" + resident
						before := heap()
						db, err := sql.Open("tidemark", path)
						if err != nil {
							b.Fatal(err)
						}
						mustBench(b, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, u TEXT"+shape.unique+", v TEXT, w TEXT)")
						report := func(when int) {
							var estimate float64 // also opens a store that was not
							if err := db.QueryRow("SELECT resident_bytes FROM tidemark_tables WHERE name = 't'").Scan(&estimate); err != nil {
								b.Fatal(err)
							}
							took[k][when] = (heap() - before) / rows
							name := resident + []string{"", "-reopened"}[when]
							b.ReportMetric(math.Round(10*took[k][when])/10, name+"-B/row")
							b.ReportMetric(math.Round(10*estimate/rows)/10, name+"-estimate-B/row")
						}
						for at := 0; at < rows; at += way.batch {
							tx, err := db.Begin()
							if err != nil {
								b.Fatal(err)
							}
							st, err := tx.Prepare("INSERT INTO t VALUES(?,?,?,?,?)")
							if err != nil {
								b.Fatal(err)
							}
							for i := at + 1; i <= at+way.batch; i++ {
								id := i
								if way.random {
									id = i * permute % rows
								}
								if _, err := st.Exec(id, i*7, fmt.Sprintf(shape.text, uint32(i)*2654435761), "the second text has forty bytes as well.", "and so has the third one, which ends it."); err != nil {
									b.Fatal(err)
								}
							}
							if err := tx.Commit(); err != nil {
								b.Fatal(err)
							}
						}
						mustBench(b, db, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
						report(0)
						if err := db.Close(); err != nil {
							b.Fatal(err)
						}
						db = nil
						runtime.GC()
						if db, err = sql.Open("tidemark", path); err != nil {
							b.Fatal(err)
						}
						report(1)
						if err := db.Close(); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(took[1][0]/took[0][0], "ratio")
					b.ReportMetric(took[1][1]/took[0][1], "reopened-ratio")
				}
			})
		}
	}
}
