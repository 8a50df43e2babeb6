package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// framesOf reads the frames of a file, the header first.
func framesOf(t testing.TB, fs vfs.FS, path string) (frames []wal.Frame, salt wal.Salt) {
	t.Helper()
	data := readFile(t, fs, path)
	r := strings.NewReader(string(data))
	h, start, err := wal.ReadHeader(r, int64(len(data)))
	must(t, err)
	frames = append(frames, wal.Frame{Kind: wal.KindHeader, Payload: string(make([]byte, start-9))})
	for sc := wal.NewScanner(r, start, int64(len(data)), h.Salt); ; {
		fr, ok := sc.Next()
		if !ok {
			return frames, h.Salt
		}
		frames = append(frames, fr)
	}
}

// TestFenceCloseMark: a clean close leaves a mark behind the last commit of each
// file that has one, and no other file.
func TestFenceCloseMark(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Shards: 3}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	must(t, s.Close())
	for k := range 3 {
		s, err := Open(t.Context(), o)
		must(t, err)
		wait(t, s, update(t, s, put("t", inShard(s, "t", 1, k), k, "x")))
		must(t, s.Close())
		for i, want := range []wal.Kind{wal.KindCloseMark, wal.KindCloseMark, wal.KindHeader} {
			frames, _ := framesOf(t, m, s.shards[i].gen.path)
			if got := frames[len(frames)-1].Kind; got != want {
				t.Errorf("close %d: the log of shard %d ends with a %s, want a %s", k, i, got, want)
			}
		}
	}
}

// TestFenceRoomForCloseMark: whatever a transaction needs, a clean close needs
// no more space.
func TestFenceRoomForCloseMark(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	tx, err := s.Begin(t.Context()) // nobody else is at the log
	must(t, err)
	defer tx.Rollback()
	g := s.shards[0].gen
	for _, end := range []int64{g.allocated, g.allocated + 4<<20} { // all there is, and much more
		must(t, g.reserve(end-g.tail, s.log.limit))
		if g.allocated < end+closeMarkSize {
			t.Errorf("a transaction that ends at %d has a file of %d bytes", end, g.allocated)
		}
	}
}

// TestFenceNearlyFull: a disk that has just the room a transaction needs is not
// full.
func TestFenceNearlyFull(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f})
	wait(t, s, update(t, s, createTable("t")))
	tx, err := s.Begin(t.Context())
	must(t, err)
	defer tx.Rollback()
	g := s.shards[0].gen
	const more = 10 << 20
	f.SetSpace(more)
	if err := g.reserve(g.allocated+more-g.tail+1, s.log.limit); !errors.Is(err, ErrFull) {
		t.Errorf("one byte too many: %v", err)
	}
	if err := g.reserve(g.allocated+more-g.tail, s.log.limit); err != nil {
		t.Errorf("all that is free: %v", err)
	}
}

// TestFenceSalts: no two files have a salt in common, so that no frame of one
// passes in another.
func TestFenceSalts(t *testing.T) {
	seen := map[wal.Salt]string{{}: "zero"}
	for _, name := range []string{"a store", "another store"} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{FS: vfs.NewMem(), Shards: 3})
			wait(t, s, update(t, s, createTable("t")))
			wait(t, s, update(t, s, wideCommit(s, "t", 0, "x")))
			must(t, s.Checkpoint(t.Context(), nil))
			for _, g := range s.gens {
				if was, ok := seen[g.salt]; ok {
					t.Errorf("%s has the salt of %s", g.path, was)
				}
				seen[g.salt] = g.path
			}
		})
	}
}

// TestFenceLeftover: the file of an interrupted attempt is not used again. Its
// name may have missed a sync of the directory that failed, and no later one
// makes up for that.
func TestFenceLeftover(t *testing.T) {
	o, m, _, second := reserved(t)
	makeFile(t, m, second, []byte("a part of a header"))
	tr := vfs.NewTrace(m, vfs.OpRemove|vfs.OpCreate)
	o.FS = tr
	s, err := Open(t.Context(), o)
	must(t, err)
	must(t, s.Close())
	if got := strings.Join(tr.Take(), "\n"); !strings.HasSuffix(got, "remove "+second+"\ncreate "+second) {
		t.Errorf("the open did\n%s", got)
	}
}

// TestFenceForeignFile puts another file in the place of one of the log.
func TestFenceForeignFile(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	path := s.gens[0].path
	must(t, s.Close())
	good := readFile(t, m, path)
	h, start, err := wal.ReadHeader(strings.NewReader(string(good)), int64(len(good)))
	must(t, err)
	for what, change := range map[string]func(h *wal.Header){
		"store":      func(h *wal.Header) { h.StoreID[3] ^= 1 },
		"shard":      func(h *wal.Header) { h.ShardID++ },
		"generation": func(h *wal.Header) { h.Generation++ },
		"object":     func(h *wal.Header) { h.ObjectID++ },
	} {
		forged := h
		change(&forged)
		b := wal.NewBuilder(h.Salt, 0, nil)
		must(t, b.Header(&forged))
		writeFile(t, m, path, append(append([]byte(nil), b.Bytes()...), good[start:]...))
		var bad *CorruptError
		if s, err := Open(t.Context(), o); !errors.As(err, &bad) || bad.File != path || !strings.Contains(bad.Reason, what) {
			t.Errorf("another %s: %v", what, err)
			if err == nil {
				must(t, s.Close())
			}
		}
		writeFile(t, m, path, good)
	}
}

// TestFenceFirstLSN: a file that was made while commits were on their way can
// hold the ones that take their place after a crash.
func TestFenceFirstLSN(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 2<<10, 1)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	quiet(t, s)
	r.hold()
	for i := range int64(6) {
		r.commit(t, s, put("t", i, i, strings.Repeat("x", 100)))
	}
	last := r.commit(t, s, put("t", 9, 9, strings.Repeat("y", 300))) // more than half
	eventually(t, "the next file", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.shards[0].ready) == 1
	})
	n := r.mem.Ops()
	cat := r.cats.at(n)
	var lost *vfs.Mem
	for name, img := range r.mem.CrashImages(n, vfs.CrashOptions{Mixtures: -1}) {
		if name == "lost" {
			lost = img
		}
	}
	r.release()
	r.wait(t, s, last)
	must(t, s.Close())
	next := r.again(t, lost, cat, 1)
	s = next.open(t)
	for i := range int64(4) {
		next.wait(t, s, next.commit(t, s, put("t", i, i, strings.Repeat("z", 900))))
	}
	if infos := s.GenerationInfos(); len(infos) < 2 || infos[1].FirstLSN == 0 || infos[1].FirstLSN > last {
		t.Fatalf("%+v", infos)
	}
	must(t, s.Close())
	s = next.open(t)
	if got := s.Durable().LSN(); got != 5 {
		t.Errorf("reopened at %d", got)
	}
	must(t, s.Close())
}

// TestFenceSealOfDamage: a file is read once more before it is sealed, and
// nothing is cut off when it cannot be.
func TestFenceSealOfDamage(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m})
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, put("t", 1, 1, "x")))
	g := s.shards[0].gen
	good := readFile(t, m, g.path)
	bad := append([]byte(nil), good...)
	bad[g.tail-10] ^= 1
	writeFile(t, m, g.path, bad)
	var damage *CorruptError
	if err := s.Checkpoint(t.Context(), nil); !errors.As(err, &damage) || damage.File != g.path {
		t.Errorf("checkpoint of a damaged file: %v", err)
	}
	if string(readFile(t, m, g.path)) != string(bad) {
		t.Error("the damaged file was changed")
	}
	writeFile(t, m, g.path, good)
	must(t, s.Checkpoint(t.Context(), nil))
}

// TestFenceFootedAtOpen: a footer that an earlier process left is not taken for
// granted when the seal is completed.
func TestFenceFootedAtOpen(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 0, 1)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	r.wait(t, s, r.commit(t, s, put("t", 1, 1, "x")))
	path := s.gens[0].path
	must(t, s.Checkpoint(t.Context(), nil))
	must(t, s.Close())
	sealed := 0
	for _, op := range r.mem.Journal() {
		if op.Kind == vfs.OpSync && op.Name == path {
			sealed = op.N // the last is the seal's
		}
	}
	img, cat := r.mem.At(sealed), r.cats.at(sealed)
	r.one(t, "undamaged", cloneMem(t, img), cat, 2)
	frames, salt := framesOf(t, img, path)
	footer := frames[len(frames)-1]
	seal, err := wal.DecodeSeal(footer)
	must(t, err)
	seal.Digest[0] ^= 1
	b := wal.NewBuilder(salt, footer.Offset, nil)
	must(t, b.Seal(&seal))
	writeFile(t, img, path, append(readFile(t, img, path)[:footer.Offset], b.Bytes()...))
	dir, clean := restore(t, cat)
	defer clean()
	o := r.o
	o.Dir, o.FS, o.CatalogSeam = dir, img, nil
	var bad *CorruptError
	if s, err := Open(context.Background(), o); !errors.As(err, &bad) || bad.File != path || bad.Offset != footer.Offset {
		t.Errorf("a footer with another digest: %v", err)
		if err == nil {
			must(t, s.Close())
		}
	}
}

// TestFenceSealsAfterSync: a file is not to be sealed before its last commit is
// synced in all shards.
func TestFenceSealsAfterSync(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 1<<10, 1)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	r.wait(t, s, r.commit(t, s, put("t", 1, 1, strings.Repeat("x", 500))))
	quiet(t, s)
	r.hold()
	r.commit(t, s, put("t", 2, 2, strings.Repeat("y", 800)))
	last := r.commit(t, s, put("t", 3, 3, "z"))
	s.mu.Lock()
	rotated, early := len(s.chores.sealing), s.chores.sealable(s.synced.Load().lsn)
	s.mu.Unlock()
	if rotated != 1 || early != nil {
		t.Errorf("%d files rotated away from, one may be sealed: %t", rotated, early != nil)
	}
	r.release()
	r.wait(t, s, last)
	quiet(t, s)
	must(t, s.Close())
}

// TestFenceSealsWithoutCheck: no check reads a file while it is being sealed.
func TestFenceSealsWithoutCheck(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f})
	wait(t, s, update(t, s, createTable("t")))
	path := s.gens[0].path
	seals, beside := 0, 0
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpTruncate && op.Name == path {
			seals++
			if s.sealing.TryRLock() { // as a check does
				s.sealing.RUnlock()
				beside++
			}
		}
		return nil
	})
	must(t, s.Checkpoint(t.Context(), nil))
	if seals != 1 || beside != 0 {
		t.Errorf("a file was cut %d times by a seal, %d times beside a check", seals, beside)
	}
}

// TestFenceRotationIsSynced: with sync=off, too, a rotation asks for the sync of
// the file it leaves.
func TestFenceRotationIsSynced(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, Sync: SyncOff, GenerationSize: 1 << 10})
	wait(t, s, update(t, s, createTable("t")))
	quiet(t, s)
	gate := make(chan struct{})
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			<-gate
		}
		return nil
	})
	wait(t, s, update(t, s, put("t", 1, 1, strings.Repeat("x", 2000))))
	wait(t, s, update(t, s, put("t", 2, 2, "next file")))
	s.mu.Lock()
	rotated, asked := s.stats.Rotations, s.pipe.urgent || s.pipe.inflight != nil
	s.mu.Unlock()
	if rotated != 1 || !asked {
		t.Errorf("%d rotations, a sync is asked for: %t", rotated, asked)
	}
	close(gate)
}

// slowSync makes each data sync take a while.
func slowSync(f *vfs.Fault) {
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			time.Sleep(30 * time.Millisecond)
		}
		return nil
	})
}

// TestFenceCloseWaits: Close waits for commits on their way before it says that
// all are synced, and for jobs before it takes the catalog from them.
func TestFenceCloseWaits(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	o := Options{Dir: t.TempDir(), FS: f}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	slowSync(f)
	update(t, s, put("t", 1, 1, "x"))
	must(t, s.Close())
	f.SetHook(nil)
	order := ""
	for _, op := range m.Journal() {
		switch {
		case op.Name != s.gens[0].path:
		case op.Kind == vfs.OpWrite:
			order += "w"
		case op.Kind == vfs.OpSyncData:
			order += "s"
		}
	}
	if !strings.HasSuffix(order, "wswsws") { // the table, the row, the mark
		t.Errorf("writes and syncs in the order %s", order)
	}

	// A job that has begun when Close comes is recorded as ended.
	begun, hold := make(chan struct{}), make(chan struct{})
	o.CatalogSeam = &catalog.Seam{Commit: func(name string, commit func() error) error {
		if name == "start-job" {
			close(begun)
			<-hold
		}
		return commit()
	}}
	s, err := Open(t.Context(), o)
	must(t, err)
	ended, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.RunJob(context.Background(), JobRequest{Kind: JobCheckpoint})
		ended <- err
	}()
	<-begun
	go func() { closed <- s.Close() }()
	notYet(t, closed, "Close beside a job")
	close(hold)
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("a job that Close met: %v", err)
	}
	must(t, <-closed)
	cat, err := catalog.Open(t.Context(), catalog.Options{Dir: o.Dir})
	must(t, err)
	list, err := cat.Jobs(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].State == catalog.JobRunning {
		t.Errorf("%+v", list)
	}
	must(t, cat.Close(t.Context()))
}

// TestFenceAbandonedJob: a job is recorded as ended, also by who gave it up and
// by the open after the end of its process.
func TestFenceAbandonedJob(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
	s := openStore(t, o)
	tx, err := s.Begin(t.Context())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := s.RunJob(ctx, JobRequest{Kind: JobCheckpoint})
		given <- err
	}()
	running := func() (n int) {
		list, err := s.Jobs(t.Context())
		must(t, err)
		for _, j := range list {
			if j.State == catalog.JobRunning {
				n++
			}
		}
		return n
	}
	eventually(t, "the job to begin", func() bool { return running() == 1 })
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("a job that was given up: %v", err)
	}
	tx.Rollback()
	if n := running(); n != 0 {
		t.Errorf("%d jobs run", n)
	}
	_, err = s.cat.StartJob(t.Context(), JobCheckpoint, "")
	must(t, err)
	must(t, s.Close())
	s, err = Open(t.Context(), o)
	must(t, err)
	if n := running(); n != 0 {
		t.Errorf("%d jobs of a process that is gone run", n)
	}
	must(t, s.Close())
}
