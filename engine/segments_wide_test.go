package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// wideRun is a catchupRun of tables that are large beside what is written to them: so
// compactions keep files. They are the engine's own, and fail in all sorts of ways.
type wideRun struct {
	catchupRun
	fault *vfs.Fault
	kept  int
}

const wideRows = 400

func (r *wideRun) step() string {
	t, s, rng := r.t, r.s, r.rng
	switch n := rng.IntN(24); {
	case n < 7:
		for range 1 + rng.IntN(3) {
			var steps []func(*Tx) error
			for range 1 + rng.IntN(5) {
				name, id := []string{"k", "a"}[rng.IntN(2)], int64(rng.IntN(wideRows+wideRows/10))
				rows := r.rows[name]
				if _, ok := rows[id]; ok && rng.IntN(3) == 0 {
					delete(rows, id)
					steps = append(steps, remove(name, id))
					continue
				}
				text := strings.Repeat(fmt.Sprint(rng.IntN(9)), rng.IntN(60))
				rows[id] = text
				steps = append(steps, put(name, id, id, text))
			}
			wait(t, s, update(t, s, all(steps...)))
		}
		return "rows"
	case n < 12:
		ctx, cancel := context.WithCancel(t.Context())
		var fails bool
		switch rng.IntN(4) {
		case 0:
			fails = true
			kinds := []vfs.Kind{vfs.OpOpenRead, vfs.OpRead, vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir}
			must(t, s.Checkpoint(t.Context(), nil))
			r.fault.Fail(vfs.Rule{Kinds: kinds[rng.IntN(len(kinds))], N: 1 + rng.IntN(25)})
		case 1:
			fails = true
			must(t, s.Checkpoint(t.Context(), nil))
			n := rng.IntN(150)
			r.fault.SetHook(func(vfs.Op) error {
				if n--; n == 0 {
					cancel()
				}
				return nil
			})
		}
		_, err := s.RunJob(ctx, JobRequest{Kind: JobCompact, auto: true})
		cancel()
		r.fault.Clear()
		r.fault.SetHook(nil)
		if err != nil && (!fails || errors.Is(err, ErrPoisoned)) {
			t.Fatal(err)
		}
		s.mu.Lock()
		for _, f := range s.base {
			if f.lsn < s.base[0].lsn {
				r.kept++
			}
		}
		s.mu.Unlock()
		return "compact"
	case n < 13:
		must(t, indexJob(s, ""))
		return "index"
	case n < 14:
		r.made++
		ix := fmt.Sprintf("k_i%d", r.made)
		wait(t, s, update(t, s, createIndex("k", ix, rng.IntN(2))))
		return "create index"
	case n < 15:
		must(t, s.GC(t.Context(), nil))
		return "gc"
	case n < 17:
		r.made++
		name := fmt.Sprintf("b%d", r.made)
		_, err := s.CreateBranchPoint(t.Context(), name)
		must(t, err)
		r.past[name] = r.content()
		return "branch point"
	case n < 20:
		for name, want := range r.past {
			restoreTo(t, s, name)
			if got := r.stored(); got != want {
				t.Fatalf("restored %s:\n%s\nwant:\n%s", name, got, want)
			}
			r.reread()
			return "restore"
		}
	case n < 21: // goes on in a fork
		if len(r.past) == 0 {
			break
		}
		for name := range r.past {
			r.made++
			line := fmt.Sprintf("t%d", r.made)
			_, err := s.ForkBranchPoint(t.Context(), line, name)
			must(t, err)
			must(t, s.Close())
			r.o.Timeline, r.o.Create = line, false
			want := r.past[name]
			r.open()
			if got := r.stored(); got != want {
				t.Fatalf("forked %s:\n%s\nwant:\n%s", name, got, want)
			}
			r.reread()
			return "fork"
		}
	default:
		must(t, s.Close())
		r.open()
		return "reopen"
	}
	return "nothing"
}

// Compactions that keep files, and fail now and then, of a store that goes back to branch
// points of whatever timeline, and on in others.
func TestCatchupKeptRandom(t *testing.T) {
	seeds := 4
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			mem := vfs.NewMem()
			f := vfs.NewFault(mem)
			r := &wideRun{fault: f, catchupRun: catchupRun{
				t: t, rng: rand.New(rand.NewPCG(seed, 8)), mem: mem,
				o:    Options{Dir: t.TempDir(), FS: f, Create: true, Shards: 1 + int(seed%2)*2, GenerationSize: 2 << 10, NoCompaction: true, Timeline: catalog.MainTimeline},
				rows: map[string]map[int64]string{"k": {}, "a": {}}, past: map[string]string{}, tables: map[int64]map[TableID]bool{}, did: map[string]int{},
			}}
			r.open()
			wait(t, r.s, update(t, r.s, all(createKeys("k", 2), createTable("a"))))
			for _, name := range []string{"k", "a"} {
				var steps []func(*Tx) error
				for id := range int64(wideRows) {
					r.rows[name][id] = "some text of a row"
					steps = append(steps, put(name, id, id, "some text of a row"))
				}
				wait(t, r.s, update(t, r.s, all(steps...)))
			}
			must(t, r.s.Compact(t.Context(), nil))
			for i := range 80 {
				what := r.step()
				r.did[what]++
				if got, want := r.stored(), r.content(); got != want {
					t.Fatalf("step %d, %s:\n%s\nwant:\n%s", i, what, got, want)
				}
				logUseIsExact(t, r.s)
				if i%5 == 0 {
					checkStore(t, r.s)
				}
				if t.Failed() {
					t.Fatalf("step %d, %s", i, what)
				}
			}
			wait(t, r.s, update(t, r.s, put("k", 1, 1, "x")))
			_, err := r.s.RunJob(t.Context(), JobRequest{Kind: JobCompact, auto: true})
			must(t, err)
			baseIsState(t, r.s, (*root)(r.s.Durable()))
			must(t, indexJob(r.s, ""))
			caughtUp(t, r.s)
			checkStore(t, r.s)
			must(t, r.s.Close())
			checkLeaks(t, mem)
			t.Logf("%v, %d files kept", r.did, r.kept)
		})
	}
}
