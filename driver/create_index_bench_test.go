package driver

import (
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkWriterBesideCreateIndex is a writer of rows, one a commit, while an index
// of a million rows is made, before the lock is taken or under it, or while nothing
// is: how long its longest commit took (pause-ms), how many there were, and how long
// the index took (index-ms).
func BenchmarkWriterBesideCreateIndex(b *testing.B) {
	const rows = 1_000_000
	for _, resident := range []string{"all", "keys"} {
		for _, how := range []string{"autocommit", "transaction", "nothing"} {
			b.Run(resident+"/"+how, func(b *testing.B) {
				db := openTest(b, Config{Path: filepath.Join(b.TempDir(), "store"), Sync: "off", Resident: resident, Compact: "off"})
				mustBench(b, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)")
				mustBench(b, db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 1000000) INSERT INTO t SELECT i, i*7919%1000003, 'a text of some bytes '||i FROM n")
				st, err := db.Prepare("UPDATE t SET a = a + 1 WHERE id = ?")
				if err != nil {
					b.Fatal(err)
				}
				defer st.Close()
				var longest, index time.Duration
				commits := 0
				for range b.N {
					made := make(chan error, 1)
					start := time.Now()
					go func() {
						text := "CREATE INDEX t_a ON t(a, b)"
						switch how {
						case "transaction":
							text = "BEGIN IMMEDIATE; " + text + "; COMMIT"
						case "nothing":
							time.Sleep(2 * time.Second)
							text = "SELECT 1"
						}
						_, err := db.Exec(text)
						made <- err
					}()
					for going := true; going; commits++ {
						at := time.Now()
						if _, err := st.Exec(commits%rows + 1); err != nil {
							b.Fatal(err)
						}
						longest = max(longest, time.Since(at))
						select {
						case err := <-made:
							if err != nil {
								b.Fatal(err)
							}
							going = false
						default:
						}
					}
					index += time.Since(start)
					mustBench(b, db, "DROP INDEX IF EXISTS t_a")
				}
				b.ReportMetric(float64(longest.Microseconds())/1000, "pause-ms")
				b.ReportMetric(float64(index.Milliseconds())/float64(b.N), "index-ms")
				b.ReportMetric(float64(commits)/float64(b.N), "commits/op")
			})
		}
	}
}
