package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// TestGroupCommit (ENG-AT-28) runs 64 writers on a disk whose sync takes 2 ms.
func TestGroupCommit(t *testing.T) { overShards(t, groupCommit) }

func groupCommit(t *testing.T, shards int) {
	const writers, commits = 64, 200
	m := vfs.NewMem()
	m.SetJournalLimit(1 << 20)
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, Shards: shards})
	wait(t, s, update(t, s, createTable("t")))
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	})
	before := f.Count(vfs.OpSyncData)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range commits {
				lsn, err := tryUpdate(s, put("t", int64(w*commits+i), w, "x"))
				if err == nil {
					err = s.WaitDurable(context.Background(), lsn)
				}
				if err != nil {
					t.Error(err)
					return
				}
				if s.Durable().LSN() < lsn {
					t.Errorf("commit %d was acknowledged, readers are at %d", lsn, s.Durable().LSN())
				}
			}
		})
	}
	wg.Wait()
	syncs := f.Count(vfs.OpSyncData) - before
	t.Logf("%d commits, %d syncs, %v", writers*commits, syncs, s.Metrics())
	want := 16
	if raceEnabled {
		want = 8
	}
	if syncs*want > writers*commits*shards {
		t.Errorf("%d syncs for %d commits", syncs, writers*commits)
	}
	if n := count(s.Durable(), "t"); n != writers*commits {
		t.Errorf("%d rows", n)
	}
	f.SetHook(nil)
}

// TestLoneWriterIsSyncedAtOnce (ENG-AT-28): without company a commit has a sync of its own.
func TestLoneWriterIsSyncedAtOnce(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	for i := range int64(50) {
		wait(t, s, update(t, s, put("t", i, i, "x")))
	}
	if m := s.Metrics(); m.PeakBatch != 1 || m.Syncs != 51 || m.Commits != 51 {
		t.Errorf("%v", m)
	}
}

// TestStress lets writers, schema changes, readers and checks run against each
// other over small generations.
func TestStress(t *testing.T) { overShards(t, stress) }

func stress(t *testing.T, shards int) {
	m := vfs.NewMem()
	m.SetJournalLimit(1 << 20)
	s := openStore(t, Options{FS: m, GenerationSize: 16 << 10, Shards: shards})
	wait(t, s, update(t, s, createTable("t")))
	n := 100
	if testing.Short() {
		n = 30
	}
	var inserted atomic.Int64
	var writers, others sync.WaitGroup
	stop := make(chan struct{})
	for w := range 8 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range n {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				tx, err := s.Begin(ctx)
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				id := int64(w*n + i)
				err = put("t", id, id, fmt.Sprintf("%0*d", rng.IntN(300), id))(tx)
				if err == nil && i%50 == 7 {
					err = createTable(fmt.Sprintf("t_%d_%d", w, i))(tx)
				}
				if err == nil && i%3 == 2 {
					err = tx.Prepare()
				}
				if err != nil {
					t.Error(err)
				}
				if i%10 == 9 {
					tx.Rollback()
					cancel()
					continue
				}
				lsn := tx.Commit()
				inserted.Add(1)
				if i%4 != 0 {
					if err := s.WaitDurable(ctx, lsn); err != nil {
						t.Error(err)
					}
				}
				cancel()
			}
		})
	}
	for range 2 {
		others.Go(func() {
			last := LSN(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				snap := s.Durable()
				if snap.LSN() < last {
					t.Errorf("durable went back from %d to %d", last, snap.LSN())
				}
				last = snap.LSN()
				tab := snap.Table(snap.Schema().Lookup("t").Table.ID)
				rows := make([]Entry, 64)
				seen := 0
				for sc := tab.Scan(-1<<63, 1<<63-1, false); ; {
					k, err := sc.Next(rows)
					if err != nil {
						t.Error(err)
					}
					if k == 0 {
						break
					}
					seen += k
				}
				if seen != tab.Len() {
					t.Errorf("scanned %d of %d rows", seen, tab.Len())
				}
				_, _, _ = s.Metrics(), s.GenerationInfos(), s.TableInfos(snap)
			}
		})
	}
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				checkStore(t, s)
			}
		}
	})
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if tx, err := s.TryBegin(); err == nil {
				tx.Rollback()
			} else if !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	writers.Wait()
	wait(t, s, s.Head().LSN())
	close(stop)
	others.Wait()
	if got := int64(count(s.Durable(), "t")); got != inserted.Load() {
		t.Errorf("%d rows, %d inserted", got, inserted.Load())
	}
	t.Log(s.Metrics())
}
