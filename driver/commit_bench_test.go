package driver

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// BenchmarkCommitBesideSync is one writer of durable commits of one row. By turns
// with each commit, as many bytes are written to a preallocated file of their own
// and synced: p50-µs of the two, and what a commit costs beyond the sync.
func BenchmarkCommitBesideSync(b *testing.B) {
	dir := b.TempDir()
	db, err := sql.Open("tidemark", filepath.Join(dir, "store"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, s TEXT)"); err != nil {
		b.Fatal(err)
	}
	st, err := db.Prepare("INSERT INTO t(n, s) VALUES(?,?)")
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	f, err := vfs.OS(dir).Create("bare")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const size = 16 << 20
	if err := f.Preallocate(size); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	bytes := func() (n int64) {
		if err := db.QueryRow("SELECT value FROM tidemark_stats WHERE name = 'bytes'").Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	before := bytes()
	commit := func() {
		if _, err := st.Exec(1<<20, "a text of twenty byte"); err != nil {
			b.Fatal(err)
		}
	}
	commit()
	frame := make([]byte, bytes()-before)
	at := int64(0)
	bare := func() {
		if _, err := f.WriteAt(frame, at); err != nil {
			b.Fatal(err)
		}
		if err := f.SyncData(); err != nil {
			b.Fatal(err)
		}
		at = (at + int64(len(frame))) % (size - int64(len(frame)))
	}
	var commits, syncs []time.Duration
	for b.Loop() {
		start := time.Now()
		bare()
		between := time.Now()
		commit()
		syncs = append(syncs, between.Sub(start))
		commits = append(commits, time.Since(between))
	}
	p50 := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Nanoseconds()) / 1000
	}
	c, s := p50(commits), p50(syncs)
	b.ReportMetric(c, "commit-p50-µs")
	b.ReportMetric(s, "sync-p50-µs")
	b.ReportMetric(c-s, "beyond-µs")
}
