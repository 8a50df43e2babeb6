package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// What the files of a representation give is the world that the catalog has, or
// nothing is read.
func TestHistoryIsTheWorld(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s := filled(t, Options{FS: vfs.NewMem(), Shards: shards, GenerationSize: 2 << 10, NoCompaction: true, Events: nothingFails(t)})
		must(t, s.Compact(t.Context(), nil))
		churnRows(t, s, 1)
		must(t, s.Checkpoint(t.Context(), nil))
		churnRows(t, s, 2)
		b := branch(t, s, "bp")
		whole, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
		must(t, err)
		if len(whole.Base) < 2 || len(whole.Generations) < 2 {
			t.Fatalf("%d files of a base, %d generations", len(whole.Base), len(whole.Generations))
		}
		read := func(h catalog.History) error {
			o := s.historyObjects()
			defer o.close()
			return second(s.readHistory(t.Context(), o, &h, 0))
		}
		onDemand := func(h catalog.History) error {
			o := s.historyObjects()
			defer o.close()
			r, err := s.openPast(t.Context(), o, &h)
			if err != nil {
				return err
			}
			for _, table := range r.tables {
				if err := table.Load(t.Context()); err != nil {
					return err
				}
			}
			return nil
		}
		must(t, read(whole))
		must(t, onDemand(whole))
		for what, change := range map[string]func(h *catalog.History){
			"another number of rows":   func(h *catalog.History) { h.LiveCount++ },
			"another fingerprint":      func(h *catalog.History) { h.Fingerprint = slices.Clone(h.Fingerprint); h.Fingerprint[3] ^= 1 },
			"another schema":           func(h *catalog.History) { h.SchemaVersion++ },
			"a commit more":            func(h *catalog.History) { h.LSN++ },
			"a commit less":            func(h *catalog.History) { h.LSN-- },
			"a base of another commit": func(h *catalog.History) { h.BaseLSN-- },
			"no base":                  func(h *catalog.History) { h.Base, h.BaseLSN = nil, 0 },
			"not all of its base":      func(h *catalog.History) { h.Base = h.Base[1:] },
			"a base without its end":   func(h *catalog.History) { h.Base = h.Base[:len(h.Base)-1] },
			"not all of its log":       func(h *catalog.History) { h.Generations = h.Generations[1:] },
			"a log without its end":    func(h *catalog.History) { h.Generations = h.Generations[:len(h.Generations)-1] },
			"another digest": func(h *catalog.History) {
				h.Generations = slices.Clone(h.Generations)
				h.Generations[0].IntegrityDigest[0] ^= 1
			},
			"another digest, of a base": func(h *catalog.History) { h.Base = slices.Clone(h.Base); h.Base[0].IntegrityDigest[0] ^= 1 },
			"another order": func(h *catalog.History) {
				h.Generations = slices.Clone(h.Generations)
				slices.Reverse(h.Generations)
			},
			"shards unknown": func(h *catalog.History) { h.ShardOrdinal = nil },
			"a shard too many": func(h *catalog.History) {
				h.ShardOrdinal = map[int64]int64{h.Generations[0].ShardID: int64(shards)}
			},
		} {
			h := whole
			change(&h)
			var corrupt *CorruptError
			if err := read(h); !errors.As(err, &corrupt) || corrupt.File == "" {
				t.Errorf("%s: %v", what, err)
			}
			if err := onDemand(h); !errors.As(err, &corrupt) || corrupt.File == "" {
				t.Errorf("%s, on demand: %v", what, err)
			}
		}
	})
}

func churnRows(t testing.TB, s *Store, n int64) {
	t.Helper()
	for i := range int64(12) {
		update(t, s, all(put("k", i, 1000*(n+50)+i, "changed", "c"), put("a", i, n, "changed")))
	}
	wait(t, s, s.Head().LSN())
}

// A branch point that is deleted while it is read is read to its end, or was gone.
func TestBranchPointDeletedWhileItIsRead(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := filled(t, Options{FS: f, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	want := contentOf(t, s.Durable())
	b := branch(t, s, "bp")
	churn(t, s, 1)
	eventually(t, "the log to be read from the base alone", func() bool {
		collectGarbage()
		s.compactor.signal()
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.replaced) == 0
	})
	known, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
	must(t, err)
	var once sync.Once
	f.SetHook(func(op vfs.Op) error {
		if op.Kind&vfs.OpOpenRead != 0 && op.Name == known.Generations[0].Path {
			once.Do(func() {
				must(t, s.DeleteBranchPoint(context.Background(), "bp"))
				must(t, s.GC(context.Background(), nil))
			})
		}
		return nil
	})
	snap, err := s.At(t.Context(), "bp")
	must(t, err)
	f.SetHook(nil)
	if got := contentOf(t, snap); got != want {
		t.Errorf("at the branch point:\n%s\nwant:\n%s", got, want)
	}
	if _, err := s.At(t.Context(), "bp"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("afterwards: %v", err)
	}
}
