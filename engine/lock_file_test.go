package engine

import (
	"context"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Whoever tells of a commit when a restore has told of a later one comes late: LOCK does
// not go back.
func TestLockGoesOnlyForward(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, NoCompaction: true})
	lsn := update(t, s, createTable("a"))
	wait(t, s, lsn)
	branch(t, s, "bp")
	restored, err := s.RestoreTo(t.Context(), "bp")
	must(t, err)
	s.writeLock(lsn)
	contents, _, err := mem.PeekLock(lockName)
	must(t, err)
	if told, whole := parseLock(contents); !whole || !maps.Equal(told, map[string]LSN{catalog.MainTimeline: restored}) {
		t.Errorf("%q: %v, want commit %d", contents, told, restored)
	}
}

// Other processes are told of a commit when it is synced in all its files, and before
// whoever made it is.
func TestToldWhenSynced(t *testing.T) { overShards(t, toldWhenSynced) }

func toldWhenSynced(t *testing.T, shards int) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	s := openStore(t, Options{FS: fault, Shards: shards, NoCompaction: true})
	told := func() LSN {
		contents, _, err := mem.PeekLock(lockName)
		must(t, err)
		lsns, whole := parseLock(contents)
		if !whole {
			t.Errorf("%q", contents)
		}
		return lsns[catalog.MainTimeline]
	}
	before := update(t, s, createTable("a"))
	wait(t, s, before)
	quiet(t, s)
	lsn := update(t, s, func(tx *Tx) error {
		for i := range int64(50) {
			if err := put("a", i<<12, i)(tx); err != nil {
				return err
			}
		}
		return nil
	})
	files := map[string]bool{}
	s.mu.Lock()
	for _, g := range s.pipe.gathering.files {
		files[g.path] = true
	}
	s.mu.Unlock()
	if len(files) == 0 || shards > 1 && len(files) == 1 {
		t.Fatalf("the commit is in %d files", len(files))
	}
	syncs, goOn := make(chan string), make(chan struct{})
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			syncs <- op.Name
			<-goOn
		}
		if got := s.synced.Load().lsn; op.Kind == vfs.OpLockWrite && got != before {
			t.Errorf("commit %d is acknowledged before it is told", got)
		}
		return nil
	})
	acknowledged := make(chan LSN)
	go func() {
		if err := s.WaitDurable(context.Background(), lsn); err != nil {
			t.Error(err)
		}
		acknowledged <- told()
	}()
	for range len(files) { // side by side, so all begin before one ends
		if name := <-syncs; !files[name] {
			t.Errorf("%s is synced", name)
		}
	}
	for range len(files) {
		if got := told(); got != before {
			t.Errorf("told is commit %d, synced is %d", got, before)
		}
		goOn <- struct{}{}
	}
	if got := <-acknowledged; got != lsn {
		t.Errorf("commit %d was acknowledged, told is %d", lsn, got)
	}
	fault.SetHook(nil)
}

// Who looks for a timeline, or removes files, does not wait for LOCK to be written.
func TestLockIsWrittenBesides(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: fault, NoCompaction: true})
	var written, free atomic.Int32
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind != vfs.OpLockWrite {
			return nil
		}
		written.Add(1)
		for range 1000 { // others hold it for moments
			if s.home.book.TryLock() {
				s.home.book.Unlock()
				free.Add(1)
				break
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	wait(t, s, update(t, s, createTable("a")))
	quiet(t, s)
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	must(t, openTimeline(t, s, "dev", Options{Dir: s.opts.Dir, FS: fault, NoCompaction: true}).Close())
	fault.SetHook(nil)
	if n := written.Load(); n == 0 || n != free.Load() {
		t.Errorf("LOCK was written %d times, %d of them besides", n, free.Load())
	}
}
