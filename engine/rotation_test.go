package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

func TestRotation(t *testing.T) { overShards(t, rotation) }

func rotation(t *testing.T, shards int) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, GenerationSize: 2 << 10, Shards: shards}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	const n = 60
	for i := range int64(n) {
		wait(t, s, update(t, s, put("t", i, i, strings.Repeat("v", 100+int(i)))))
	}
	// A transaction is never split, however large.
	var steps []func(*Tx) error
	for i := range int64(20) {
		steps = append(steps, put("t", 1000+i, i, strings.Repeat("w", 500)))
	}
	big := update(t, s, all(steps...))
	wait(t, s, big)
	quiet(t, s)
	infos := s.GenerationInfos()
	if len(infos) < 5 {
		t.Fatalf("%d generations", len(infos))
	}
	checkGenerations(t, s, s.Head().LSN())
	want := dump(s.Durable())
	checkStore(t, s)
	must(t, s.Close())

	again, err := Open(t.Context(), o)
	must(t, err)
	if got := dump(again.Durable()); got != want {
		t.Errorf("after reopen:\n%s", got)
	}
	checkGenerations(t, again, again.Head().LSN())
	for i, g := range again.GenerationInfos() {
		if i < len(infos) && g.State == catalog.GenerationSealed && infos[i].State == g.State && g != infos[i] {
			t.Errorf("generation %d is %+v after reopen, was %+v", i, g, infos[i])
		}
		if g.State != catalog.GenerationSealed {
			continue
		}
		data := readFile(t, m, g.File)
		if int64(len(data)) != g.Bytes {
			t.Errorf("%s has %d bytes, sealed at %d", g.File, len(data), g.Bytes)
		}
		if shards == 1 && g.FirstLSN <= big && big <= g.LastLSN && g.Bytes < 20*500 {
			t.Errorf("the large transaction is not whole in generation %d", g.Generation)
		}
	}
	must(t, again.Close())
}

// checkGenerations makes sure that the generations' commits ascend, densely when
// there is one shard, and that all shards were cut at the same LSNs.
func checkGenerations(t testing.TB, s *Store, head LSN) {
	t.Helper()
	s.mu.Lock()
	since := s.compactor.since
	s.mu.Unlock()
	infos := slices.DeleteFunc(s.GenerationInfos(), func(g GenerationInfo) bool { return g.LastLSN != 0 && g.LastLSN <= since })
	shards := map[uint64]int{}
	for _, g := range infos {
		shards[g.Shard]++
	}
	var last GenerationInfo
	end := since
	for i, g := range infos {
		if g.Shard != last.Shard {
			last = GenerationInfo{Shard: g.Shard, LastLSN: since}
		}
		// A crash that takes all commits of the next generation, when the one
		// behind that was made already, leaves this one active and two ready.
		behind, left := 0, false // generations of the shard behind this one, and whether one is in use
		for _, later := range infos[i+1:] {
			if later.Shard == g.Shard {
				behind++
				left = left || later.FirstLSN != 0
			}
		}
		if behind >= 2 && left && g.State != catalog.GenerationSealed {
			t.Errorf("generation %d of shard %d is %s", g.Generation, g.Shard, g.State)
		}
		if g.FirstLSN == 0 {
			continue
		}
		if g.FirstLSN <= last.LastLSN || len(shards) == 1 && g.FirstLSN != last.LastLSN+1 {
			t.Errorf("generation %d of shard %d begins with LSN %d behind %d", g.Generation, g.Shard, g.FirstLSN, last.LastLSN)
		}
		if last.LastLSN != 0 && !cutBetween(infos, last.LastLSN, g.FirstLSN) {
			t.Errorf("shard %d was cut between %d and %d, another one was not: %+v", g.Shard, last.LastLSN, g.FirstLSN, infos)
		}
		last, end = g, max(end, g.LastLSN)
	}
	if end != head {
		t.Errorf("generations end at LSN %d, head is %d", end, head)
	}
}

// cutBetween reports whether the generations of all shards can have been cut at
// one LSN from last to before first.
func cutBetween(infos []GenerationInfo, last, first LSN) bool {
	for n := last; n < first; n++ {
		if !slices.ContainsFunc(infos, func(g GenerationInfo) bool { return g.FirstLSN != 0 && g.FirstLSN <= n && n < g.LastLSN }) {
			return true
		}
	}
	return false
}

// TestRotationWaitsWithoutTheLock: a transaction that finds no next file does
// not keep others from the lock while it waits.
func TestRotationWaitsWithoutTheLock(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	gate := make(chan struct{})
	s := openStore(t, Options{FS: f, GenerationSize: 1 << 10})
	wait(t, s, update(t, s, createTable("t")))
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate {
			<-gate
		}
		return nil
	})
	wait(t, s, update(t, s, put("t", 1, 1, strings.Repeat("x", 2000))))
	result := make(chan error)
	go func() {
		_, err := tryUpdate(s, put("t", 2, 2, "y"))
		result <- err
	}()
	// The lock is free although nobody can start a transaction.
	eventually(t, "a waiter for the next file", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.chores.want != nil
	})
	if _, err := s.TryBegin(); !errors.Is(err, ErrBusy) {
		t.Errorf("TryBegin: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin: %v", err)
	}
	eventually(t, "the lock", func() bool {
		free := s.wl.tryAcquire()
		if free {
			s.wl.release()
		}
		return free
	})
	close(gate)
	must(t, <-result)
	f.SetHook(nil)
}

// TestSealIsFinishedAtOpen interrupts the sealing of a generation at each of
// its steps; the next open must complete it.
func TestSealIsFinishedAtOpen(t *testing.T) {
	for step, rule := range []vfs.Rule{
		{Kinds: vfs.OpWrite},
		{Kinds: vfs.OpWrite, Short: 30},
		{Kinds: vfs.OpTruncate},
		{Kinds: vfs.OpSync},
		{Kinds: vfs.OpSyncDir},
	} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			f := vfs.NewFault(vfs.NewMem())
			o := Options{Dir: t.TempDir(), FS: f, GenerationSize: 1 << 10, Shards: 1}
			s := openStore(t, o)
			wait(t, s, update(t, s, createTable("t")))
			wait(t, s, update(t, s, put("t", 1, 1, strings.Repeat("x", 2000))))
			quiet(t, s)
			first := s.gens[0]
			end := first.tail
			rule.Match = func(op vfs.Op) bool {
				// Of the first generation's file, behind its last commit.
				return op.Kind == vfs.OpSyncDir && !strings.HasSuffix(first.path, "-") && len(op.Name) > 1 && strings.HasPrefix(first.path, op.Name+"/") ||
					op.Name == first.path && (op.Kind != vfs.OpWrite || op.Off >= end)
			}
			rule.N = 1
			f.Fail(rule)
			if lsn, err := tryUpdate(s, put("t", 2, 2, "y")); err == nil {
				_ = s.WaitDurable(t.Context(), lsn) // it may be poisoned by the seal's sync
			}
			eventually(t, "the failure", func() bool { return f.Injected() > 0 })
			_ = s.Close()
			f.Clear()
			again, err := Open(t.Context(), o)
			must(t, err)
			if g := again.GenerationInfos()[0]; g.State != catalog.GenerationSealed {
				t.Errorf("generation 1 is %s after reopen", g.State)
			}
			if n := count(again.Durable(), "t"); n < 1 {
				t.Errorf("%d rows", n)
			}
			checkStore(t, again)
			must(t, again.Close())
		})
	}
}

func TestStrayFiles(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	path := s.gens[0].path
	must(t, s.Close())
	const stray = "objects/ff/00/00000000000000ff.kv"
	for _, d := range []string{"objects/ff", "objects/ff/00"} {
		must(t, m.Mkdir(d))
	}
	make := func(name string, data []byte) {
		f, err := m.Create(name)
		must(t, err)
		_, err = f.WriteAt(data, 0)
		must(t, err)
		must(t, f.Close())
	}
	make(stray, []byte("no header"))
	make("objects/ff/00/notes.txt", []byte("not ours"))
	removed := 0
	o.Events = func(e Event) {
		if e.Kind == EventStrayRemoved && e.File == stray {
			removed++
		}
	}
	s, err := Open(t.Context(), o)
	must(t, err)
	if removed != 1 {
		t.Errorf("%d strays removed", removed)
	}
	if _, err := m.Stat(stray); err == nil {
		t.Error("the stray is still there")
	}
	if _, err := m.Stat("objects/ff/00/notes.txt"); err != nil {
		t.Error("a file of somebody else was removed")
	}
	// While the store is open a stray is a finding, not a victim.
	make(stray, nil)
	var found []Finding
	must(t, s.Check(t.Context(), func(f Finding) { found = append(found, f) }, nil))
	if len(found) != 1 || found[0].Severity != Warning || found[0].File != stray {
		t.Errorf("%v", found)
	}
	must(t, s.Close())
	must(t, m.Remove(stray))

	// A log that the catalog does not know is not removed: the catalog is the
	// wrong one.
	make(stray, readFile(t, m, path))
	var bad *CorruptError
	if _, err := Open(t.Context(), o); !errors.As(err, &bad) || bad.File != stray {
		t.Errorf("open beside an unknown log: %v", err)
	}
	if _, err := m.Stat(stray); err != nil {
		t.Error("the unknown log was removed")
	}
	must(t, m.Remove(stray))
}

func TestMissingFile(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	path := s.gens[0].path
	must(t, s.Close())
	must(t, m.Rename(path, "elsewhere"))
	var bad *CorruptError
	if _, err := Open(t.Context(), o); !errors.As(err, &bad) || bad.File != path {
		t.Errorf("open without the log: %v", err)
	}
	must(t, m.Rename("elsewhere", path))
}

// TestLowerEpoch: a generation of an earlier open behind one of a later open
// was written by somebody who had lost the store.
func TestLowerEpoch(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, GenerationSize: 1 << 10, Shards: 1}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	must(t, s.Close())
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, put("t", 1, 1, strings.Repeat("x", 2000))))
	quiet(t, s)
	first, second := s.gens[0], s.gens[1]
	if first.epoch != 1 || second.epoch != 2 {
		t.Fatalf("epochs %d and %d", first.epoch, second.epoch)
	}
	must(t, s.Close())
	// A later open, so that the forged epoch is one the catalog knows.
	s, err = Open(t.Context(), o)
	must(t, err)
	must(t, s.Close())
	forge := func(good []byte, epoch uint64) []byte {
		h, start, err := wal.ReadHeader(strings.NewReader(string(good)), int64(len(good)))
		must(t, err)
		h.WriterEpoch = epoch
		b := wal.NewBuilder(h.Salt, 0, nil)
		must(t, b.Header(&h))
		return append(append([]byte(nil), b.Bytes()...), good[start:]...)
	}
	for _, c := range []struct {
		g     *generation
		epoch uint64
		says  string
	}{
		{first, 3, "follows"},
		{second, 1000, "older than the log"},
	} {
		good := readFile(t, m, c.g.path)
		writeFile(t, m, c.g.path, forge(good, c.epoch))
		var bad *CorruptError
		if _, err := Open(t.Context(), o); !errors.As(err, &bad) || !strings.Contains(bad.Reason, c.says) {
			t.Errorf("epoch %d in %s: %v", c.epoch, c.g.path, err)
		}
		writeFile(t, m, c.g.path, good)
	}
}
