package driver

import (
	"path/filepath"
	"testing"
)

// BenchmarkObjectClosure asks for the closure of one object over a chain of a thousand,
// and, for comparison, for another one of a few objects beside it.
func BenchmarkObjectClosure(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store")
	db := openTest(b, Config{Path: path, Compact: "off"})
	mustExec(b, db, "CREATE TABLE t(a)")
	first := forgedChain(b, path, 1000)
	for name, objects := range map[string]int64{"objects=1000": 1000, "objects=10": 10} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var n int64
				if err := db.QueryRow("SELECT count(*) FROM object_closure(?)", first+objects-1).Scan(&n); err != nil || n != objects {
					b.Fatal(n, err)
				}
			}
		})
	}
}
