package engine

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// How long writers wait: not before the log has grown enough while a compaction is due,
// longer the more it has, and no longer at once than there is a bound for.
func TestBrake(t *testing.T) {
	const mib = 1 << 20
	now := time.Unix(1000, 0)
	var b brake
	b.set(2*mib, mib, 4*mib) // there is no room: it begins when half of a step has come
	if b.from != 4*mib || b.worst != 6*mib {
		t.Fatalf("from %d to %d", b.from, b.worst)
	}
	if b.set(0, 10*mib, 4*mib); b.from != 10*mib || b.worst != 12*mib {
		t.Fatalf("from %d to %d", b.from, b.worst)
	}
	appended := func(log, bytes int64, due bool) time.Duration {
		now = now.Add(time.Second) // all waits are over
		return b.appended(now, log, bytes, due)
	}
	if w := appended(10*mib, mib, true); w != 0 {
		t.Errorf("%v where it begins", w)
	}
	if w := appended(20*mib, mib, false); w != 0 {
		t.Errorf("%v although nothing would be freed", w)
	}
	var last time.Duration
	for _, log := range []int64{10*mib + 1, 11 * mib, 11*mib + mib/2} {
		w := appended(log, 10_000, true)
		if w <= last {
			t.Errorf("%v at %d, before it was %v", w, log, last)
		}
		last = w
	}
	if w := appended(9*mib, 10_000, true); w <= 0 || w >= last {
		t.Errorf("%v above where it is let go of", w)
	}
	for _, log := range []int64{12 * mib, 100 * mib} {
		if w := appended(log, 1000, true); w != time.Second*1000/brakeSlowest {
			t.Errorf("%v at %d", w, log)
		}
		if w := appended(log, 100*mib, true); w != brakeMost {
			t.Errorf("%v behind a large transaction", w)
		}
	}
	// What does not wait adds up.
	first := b.appended(now, 12*mib, 1000, true)
	if w := b.appended(now, 12*mib, 1000, true); w < first {
		t.Errorf("%v, and then %v", first, w)
	}
	if w := appended(7*mib, mib, true); w != 0 || b.on {
		t.Errorf("%v where it is let go of", w)
	}
	if w := appended(9*mib, mib, true); w != 0 {
		t.Errorf("%v before it begins again", w)
	}
}

// While a compaction is under way the log grows up to a bound at once, and then more
// slowly; nothing fails. Rows that are only added are no reason to wait.
func TestWritersWaitForCompaction(t *testing.T) {
	open := func(t *testing.T) (*Store, func()) {
		f := vfs.NewFault(vfs.NewMem())
		s := openStore(t, Options{FS: f, GenerationSize: 4 << 10, CompactFloor: 8 << 10, Sync: SyncOff, Events: nothingFails(t)})
		s.compactor.turn <- struct{}{} // the compaction comes to nothing yet
		return s, sync.OnceFunc(func() { <-s.compactor.turn })
	}
	t.Run("updates", func(t *testing.T) {
		s, free := open(t)
		defer free()
		wait(t, s, update(t, s, all(createTable("t"), manyRows("t", 20, "t"))))
		for n := int64(0); s.Metrics().WriterWait == 0; n++ {
			if n > 10_000 {
				t.Fatal("nobody was held back")
			}
			update(t, s, put("t", n%20, n, strings.Repeat("u", 1000)))
		}
		// A context that has ended, or that is about to, is no reason to fail here.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		s.AwaitCompaction(ctx)
		cancel()
		s.AwaitCompaction(ctx)
		free()
		eventually(t, "the compaction", func() bool { return s.Metrics().Compactions > 0 })
		eventually(t, "the end of the brake", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.compactor.asked || !s.brakes.on.Load() && s.brakes.until.Load() == 0
		})
	})
	t.Run("inserts", func(t *testing.T) {
		s, free := open(t)
		defer free()
		wait(t, s, update(t, s, all(createTable("t"), manyRows("t", 20, "t"))))
		asked := func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.compactor.asked
		}
		for n := int64(0); !asked(); n++ {
			update(t, s, put("t", n%20, n, strings.Repeat("u", 1000)))
		}
		for n := range int64(100) {
			update(t, s, put("t", 100+n, n, strings.Repeat("i", 1000)))
		}
		if w := s.Metrics().WriterWait; w != 0 {
			t.Errorf("writers waited %v", w)
		}
	})
}

// What a compaction in the background replaces goes before it writes indexes, unless
// rows are read from it.
func TestCompactionRemovesWhatItReplaced(t *testing.T) {
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		t.Run(resident.String(), func(t *testing.T) {
			var mu sync.Mutex
			var first, last string
			s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true, Events: func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case e.Kind == EventCollected && e.File == first:
					last = "removed"
				case e.Kind == EventCompacted && last == "":
					last = "compacted"
				}
			}})
			wait(t, s, update(t, s, createTableAs("t", resident)))
			for n := range 50 { // the collector of garbage may be late
				wait(t, s, update(t, s, manyRows("t", 50, strings.Repeat("x", n))))
				_, err := s.RunJob(t.Context(), JobRequest{Kind: JobCompact, auto: true})
				must(t, err)
				mu.Lock()
				before := last
				first, last = s.base[0].path, ""
				mu.Unlock()
				if before == "removed" {
					return
				}
			}
			t.Error("no file of a base was removed before its compaction ended")
		})
	}
}
