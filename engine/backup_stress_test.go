package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Writers, compactions and collections go on beside backups: each backup is a state
// that some commit left, none older than the call, and no file of it is missed.
func TestBackupBesideWriters(t *testing.T) { overShards(t, backupBesideWriters) }

func backupBesideWriters(t *testing.T, shards int) {
	folder := t.TempDir()
	s := openStore(t, Options{Dir: filepath.Join(folder, "store"), Shards: shards, GenerationSize: 4 << 10, CompactFloor: 8 << 10, Sync: SyncFull})
	wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"))))
	_, err := s.CreateBranchPoint(t.Context(), "bp")
	must(t, err)
	branch := branchDump(t, s)
	var mu sync.Mutex
	states := map[LSN]string{s.Head().LSN(): dump(s.Head())}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait() // also when the test has failed
	defer stop()
	running.Go(func() {
		for i := int64(0); ctx.Err() == nil; i++ {
			lsn, err := tryUpdate(s, all(put("k", i%37, i, fmt.Sprint(i%5), strings.Repeat("y", int(i%90))), put("a", i%11, i, "z")))
			if err != nil && !errors.Is(err, ErrNotReady) {
				t.Error(err)
				return
			}
			if err != nil {
				continue
			}
			mu.Lock()
			states[lsn] = dump(s.Head())
			mu.Unlock()
			if err := s.WaitDurable(context.Background(), lsn); err != nil {
				t.Error(err)
				return
			}
		}
	})
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := s.Compact(ctx, nil); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			runtime.GC() // lets leases end
			if err := s.GC(ctx, nil); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			name := fmt.Sprint("bp ", i%3)
			if _, err := s.CreateBranchPoint(ctx, name); err != nil && ctx.Err() == nil {
				t.Error(err)
			} else if err == nil {
				must(t, s.DeleteBranchPoint(context.Background(), name))
			}
		}
	})
	backups := 6
	if testing.Short() {
		backups = 3
	}
	for i := range backups {
		acked := s.Durable().LSN()
		to := filepath.Join(folder, fmt.Sprint("backup ", i))
		must(t, s.Backup(t.Context(), to, nil))
		must(t, Restore(t.Context(), to, to+" restored", nil))
		r, err := Open(t.Context(), Options{Dir: to + " restored", NoCompaction: true})
		must(t, err)
		lsn := r.Durable().LSN()
		mu.Lock()
		want, known := states[lsn]
		mu.Unlock()
		if got := dump(r.Durable()); lsn < acked || !known || got != want {
			t.Errorf("backup %d is of commit %d (acknowledged before were %d, known %t):\n%s\nwant\n%s", i, lsn, acked, known, got, want)
		}
		if got := branchDump(t, r); got != branch {
			t.Errorf("backup %d: the branch point is\n%s\nwant\n%s", i, got, branch)
		}
		checkStore(t, r)
		must(t, r.Close())
	}
	stop()
	running.Wait()
	if m := s.Metrics(); m.Compactions == 0 || m.CollectedFiles == 0 {
		t.Errorf("beside %d compactions and %d collected files", m.Compactions, m.CollectedFiles)
	}
}
