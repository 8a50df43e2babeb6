package engine

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

var steadyUpdates = flag.Int("steady-updates", 10_000_000, "updates of BenchmarkSteadyState")

// diskUse is what the objects of a store take, and how many files these are.
func diskUse(b testing.TB, dir string) (bytes int64, files int) {
	b.Helper()
	must(b, filepath.WalkDir(filepath.Join(dir, "objects"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it was removed meanwhile
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
			files++
		}
		return nil
	}))
	return bytes, files
}

// BenchmarkOpenIndexed opens a store of 1,000,000 rows with two indexes: from its log,
// from a base without index segments and from one with them. Each was closed cleanly.
func BenchmarkOpenIndexed(b *testing.B) {
	const rows = 1_000_000
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		b.Run(resident.String(), func(b *testing.B) {
			for range b.N {
				o := Options{Dir: b.TempDir(), Create: true, NoCompaction: true}
				s, err := Open(b.Context(), o)
				must(b, err)
				wait(b, s, update(b, s, func(tx *Tx) error {
					def := testTable("t", 3)
					def.Resident = resident
					def.Indexes = []*IndexDef{testIndex("t_a", true, 0), testIndex("t_b", false, 1)}
					return tx.Apply(CreateTable{Def: def})
				}))
				order := rand.New(rand.NewPCG(3, 3)).Perm(rows)
				var lsn LSN
				for part := range slices.Chunk(order, 1000) {
					lsn = update(b, s, func(tx *Tx) error {
						for _, i := range part {
							if err := put("t", int64(i), int64(uint32(i)*2654435761), fmt.Sprintf("name %d", i%5000), "some text of a row that is not indexed")(tx); err != nil {
								return err
							}
						}
						return nil
					})
				}
				wait(b, s, lsn)
				must(b, s.Close())
				open := func(what string) (took time.Duration) {
					took = time.Hour
					for range 3 {
						start := time.Now()
						s, err := Open(b.Context(), o)
						took = min(took, time.Since(start))
						must(b, err)
						b.ReportMetric(float64(s.Metrics().RecoveredBytes)/1e6, what+"-MB")
						must(b, s.Close())
					}
					b.ReportMetric(float64(took.Milliseconds()), what+"-ms")
					return took
				}
				log := open("log")
				s, err = Open(b.Context(), o)
				must(b, err)
				start := time.Now()
				must(b, s.Compact(b.Context(), nil))
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "compact-ms")
				must(b, s.Close())
				b.ReportMetric(float64(open("segments"))/float64(log), "segments/log")
			}
		})
	}
}

// BenchmarkSteadyState makes many small updates of 100,000 rows and looks at what the
// store takes meanwhile, as a multiple of its live rows and three generations.
func BenchmarkSteadyState(b *testing.B) {
	const rows = 100_000
	for _, size := range []int64{1 << 20, DefaultGenerationSize} {
		for _, resident := range []Resident{ResidentAll, ResidentKeys} {
			b.Run(fmt.Sprintf("%s/generation=%dKiB", resident, size>>10), func(b *testing.B) {
				for range b.N {
					steadyState(b, rows, size, resident)
				}
			})
		}
	}
}

func steadyState(b *testing.B, rows int64, size int64, resident Resident) {
	dir := b.TempDir()
	s, err := Open(b.Context(), Options{Dir: dir, Create: true, GenerationSize: size, Sync: SyncNormal})
	must(b, err)
	wait(b, s, update(b, s, createTableAs("t", resident)))
	var most, mostFiles atomic.Int64
	rng := rand.New(rand.NewPCG(4, 4))
	start := time.Now()
	for n := 0; n < *steadyUpdates; {
		wait(b, s, update(b, s, func(tx *Tx) error {
			for range 500 {
				id := rng.Int64N(rows)
				if n < int(rows) {
					id = int64(n)
				}
				if err := put("t", id, id, fmt.Sprint("v", rng.IntN(1000)))(tx); err != nil {
					return err
				}
				n++
			}
			return nil
		}))
		if n%5000 == 0 {
			bytes, files := diskUse(b, dir)
			most.Store(max(most.Load(), bytes))
			mostFiles.Store(max(mostFiles.Load(), int64(files)))
		}
	}
	took := time.Since(start)
	live := s.LogUse().Live
	m := s.Metrics()
	b.ReportMetric(float64(live)/1e6, "live-MB")
	b.ReportMetric(float64(most.Load())/1e6, "most-MB")
	b.ReportMetric(float64(most.Load())/float64(3*live+3*size), "most/bound")
	b.ReportMetric(float64(mostFiles.Load()), "files")
	b.ReportMetric(float64(m.Compactions), "compactions")
	b.ReportMetric(float64(m.CompactedBytes)/1e6, "compacted-MB")
	b.ReportMetric(float64(*steadyUpdates)/took.Seconds(), "updates/s")
	b.ReportMetric(m.WriterWait.Seconds()/took.Seconds(), "waited/took")
	must(b, s.Close())
}
