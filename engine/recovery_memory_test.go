package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var largeLog = flag.Int64("large-log", 32<<20, "bytes of the log of TestRecoverLargeLog")

// TestRecoverLargeLog opens a store whose log rewrites the same rows again and
// again: what recovery holds at any moment depends on the rows that are left, not
// on the length of the log. By hand, with the speed:
//
//	go test ./engine -run TestRecoverLargeLog -large-log 1073741824 -v
func TestRecoverLargeLog(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing runs beside the replay, and the log is long")
	}
	defer func(n int) { mergeLate = n }(mergeLate)
	if *largeLog < 1<<28 {
		mergeLate /= 8 // or there would be nothing to see
	}
	for _, hot := range []float64{0, 0.98} {
		t.Run(fmt.Sprintf("hot=%v", hot), func(t *testing.T) { recoverLargeLog(t, hot) })
	}
}

// recoverLargeLog has a hundred rows that get that part of the changes: what
// others were changed to then lies far apart in the log.
func recoverLargeLog(t *testing.T, hot float64) {
	// Of 250 bytes, with one text index.
	rows := max(5_000, *largeLog/10_000)
	o := Options{Dir: t.TempDir(), Create: true, Sync: SyncOff, NoCompaction: true}
	rewriteRows(t, o, rows, *largeLog, hot)

	defer debug.SetGCPercent(debug.SetGCPercent(20)) // what is let go hides less of what is held
	before := heapObjects(true)
	var peak atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			peak.Store(max(peak.Load(), heapObjects(false)))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	start := time.Now()
	s, err := Open(t.Context(), o)
	took := time.Since(start)
	close(stop)
	<-stopped
	must(t, err)
	live := heapObjects(true) - before
	if n := int64(count(s.Durable(), "t")); n != rows {
		t.Errorf("%d rows, want %d", n, rows)
	}
	read := s.Metrics().RecoveredBytes
	must(t, s.Close())
	if read < *largeLog {
		t.Fatalf("the log has %d bytes, not %d", read, *largeLog)
	}
	const mb = 1e6
	beyond := int64(peak.Load()) - int64(before) - int64(live)
	t.Logf("%.0f MB of log, %d rows of %.1f MB: %.0f MB/s, at most %.1f MB beyond the rows",
		float64(read)/mb, rows, float64(live)/mb, float64(read)/mb/took.Seconds(), float64(beyond)/mb)
	// Two copies of the rows while one becomes the other, what is kept beside
	// them, the positions in one file, and what the collector has not got to.
	if limit := 2*int64(live) + 3*int64(mergeLate) + 8<<20; beyond > limit {
		t.Errorf("recovery takes %d bytes beyond the %d of the rows, more than %d", beyond, live, limit)
	}
}

// rewriteRows makes a store whose log is so long and has few rows, in no order.
func rewriteRows(t *testing.T, o Options, rows, size int64, hot float64) {
	t.Helper()
	s, err := Open(t.Context(), o)
	must(t, err)
	lsn := update(t, s, createTable("t"))
	r := rand.New(rand.NewPCG(1, 2))
	text := strings.Repeat("x", 220)
	id := int64(0)
	for written := int64(0); written < size; {
		lsn = update(t, s, func(tx *Tx) error {
			for range 500 {
				n := id
				if id++; n >= rows {
					n = r.Int64N(rows)
					if r.Float64() < hot {
						n %= 100
					}
				}
				if err := put("t", n, id, fmt.Sprintf("%08x%s", uint32(id)*2654435761, text))(tx); err != nil {
					return err
				}
			}
			return nil
		})
		s.mu.Lock()
		written = 0
		for _, bytes := range s.logBytes {
			written += bytes
		}
		s.mu.Unlock()
	}
	wait(t, s, lsn)
	must(t, s.Close())
}

// heapObjects returns the bytes of the objects in the heap, after what nobody
// holds any more is collected.
func heapObjects(collect bool) uint64 {
	if collect {
		runtime.GC()
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
