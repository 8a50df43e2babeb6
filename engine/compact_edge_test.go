package engine

import (
	"context"
	"errors"
	"github.com/tidemarkdb/tidemark/catalog"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A sweep that began before a compaction was adopted (what is held was asked then) must
// not remove what the compaction replaces.
func TestCompactionSweepBesideACompaction(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 4 << 10, NoCompaction: true})
	wait(t, s, update(t, s, createKeys("k", 3)))
	for i := range int64(40) {
		wait(t, s, update(t, s, put("k", i, i, "x", strings.Repeat("y", 100))))
	}
	must(t, s.Checkpoint(t.Context(), nil))
	old := s.Durable()
	want := dump(old)
	job, err := s.cat.StartJob(t.Context(), JobCompact, "") // leaves a file to remove
	must(t, err)
	_, err = s.cat.ReserveObject(t.Context(), job.ID)
	must(t, err)
	must(t, s.cat.EndJob(t.Context(), job.ID, 0, 0, nil))
	asked := 0
	_, err = s.sweep(t.Context(), func() map[int64]bool {
		held := s.home.held()
		if asked++; asked == 1 {
			must(t, s.Compact(t.Context(), nil)) // of somebody else, before the next look
		}
		return held
	})
	must(t, err)
	if asked < 2 {
		t.Errorf("asked %d times what is held", asked)
	}
	if got := dump(old); got != want {
		t.Errorf("the snapshot lost rows:\n%.600s", got)
	}
	runtime.KeepAlive(old)
}

// What a compaction leaves is never due again.
func TestCompactionLiveDrifts(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, CompactFloor: 1 << 10, Sync: SyncOff})
	wait(t, s, update(t, s, all(createTable("t"), createTable("other"))))
	def := s.Head().Schema().Lookup("t").Table
	n := 0
	for ; ; n++ { // a record that takes more under a version of two bytes
		rec := testRecord(1, strings.Repeat("x", n))
		if wal.PutSize(uint64(def.ID), 1, 100, rec) != wal.PutSize(uint64(def.ID), 200, 100, rec) {
			break
		}
	}
	const rows = 4000
	update(t, s, func(tx *Tx) error {
		for i := range int64(rows) {
			if err := put("t", 100+i, 1, strings.Repeat("x", n))(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range int64(620) {
		update(t, s, put("other", i, i, strings.Repeat("o", 40)))
	}
	wait(t, s, update(t, s, func(tx *Tx) error {
		return tx.Apply(CreateIndex{Table: def.ID, Index: testIndex("later", false, 0)})
	}))
	update(t, s, func(tx *Tx) error {
		for i := range int64(rows) {
			if err := remove("t", 100+i)(tx); err != nil {
				return err
			}
		}
		return nil
	})
	eventually(t, "a compaction", func() bool { return s.Metrics().Compactions > 0 })
	var live int64
	for _, table := range s.head.Load().tables {
		must(t, table.each(func(rowid int64, rec row.Record) { live += liveSize(table.def, rowid, rec) }))
	}
	if use := s.LogUse(); use.Live != live {
		t.Errorf("live is %d, the rows take %d; used %d", use.Live, live, use.Used)
	}
	settled(t, s)
	jobs := func() int64 {
		list, err := s.Jobs(t.Context())
		must(t, err)
		return list[len(list)-1].ID
	}
	before := jobs()
	defer func() {
		list, _ := s.Jobs(t.Context())
		t.Log(len(list), list[len(list)-1], before, s.compactor.asked, s.compactor.again, s.compactor.auto, s.LogUse(), s.compactor.limits)
	}()
	runtime.Gosched()
	for range 100 {
		time.Sleep(20 * time.Millisecond)
		if id := jobs(); id > before+20 {
			t.Errorf("compactions start all the time: job %d, then %d, and nothing was written", before, id)
			break
		}
	}
}

// A base with a bad header leaves no file open behind the open that it fails.
func TestCompactionBadBaseHeader(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Create: true, NoCompaction: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, "x"))))
	must(t, s.Compact(t.Context(), nil))
	name := s.base[0].path
	must(t, s.Close())
	f, err := m.Open(name)
	must(t, err)
	_, err = f.WriteAt([]byte{0xff, 0xff}, 12)
	must(t, err)
	must(t, f.Close())
	if _, err := Open(t.Context(), o); err == nil {
		t.Fatal("opened")
	} else {
		t.Log(err)
	}
	checkLeaks(t, m)
}

// What a failed compaction wrote is removed, also when the first attempt to do so fails.
func TestCompactionFailedCompactionLeavesNothing(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, NoCompaction: true})
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, strings.Repeat("x", 10000)))))
	must(t, s.Checkpoint(t.Context(), nil))
	before := len(objectsOnDisk(t, m))
	f.Fail(vfs.Rule{Kinds: vfs.OpSync, N: 2, Err: syscall.ENOSPC})
	f.Fail(vfs.Rule{Kinds: vfs.OpRemove, N: 1})
	err := s.Compact(t.Context(), nil)
	if err == nil {
		t.Fatal("compacted")
	}
	eventually(t, "what is left to be removed", func() bool { return len(objectsOnDisk(t, m)) <= before })
	if n := f.Injected(); n != 2 {
		t.Errorf("%d faults", n)
	}
}

// A trigger names its table as it was called when the trigger was made.
func TestCompactionBaseOfRenamedTable(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Create: true, NoCompaction: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, "x"), func(tx *Tx) error {
		return tx.Apply(CreateObject{Object: Object{Kind: KindTrigger, Name: "g", TblName: "t", SQL: "CREATE TRIGGER g"}})
	})))
	wait(t, s, update(t, s, func(tx *Tx) error {
		def := *tx.Schema().Lookup("t").Table
		def.Name = "u"
		return tx.Apply(ReplaceTable{Def: &def})
	}))
	must(t, s.Close())
	s, err = Open(t.Context(), o)
	must(t, err) // the log is fine
	must(t, s.Compact(t.Context(), nil))
	must(t, s.Close())
	s, err = Open(t.Context(), o)
	must(t, err)
	must(t, s.Close())
}

// A poisoned engine changes nothing any more, the head in the catalog included.
func TestCompactionPoisonedCompaction(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, NoCompaction: true})
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, strings.Repeat("x", 10000)))))
	must(t, s.Checkpoint(t.Context(), nil))
	err := s.Compact(t.Context(), func(int64, int64) { s.poison(&syncError{"objects", errors.New("lost")}) })
	state, serr := s.cat.State(t.Context())
	must(t, serr)
	if err == nil || len(state.Base) > 0 {
		t.Errorf("Compact: %v; the head has %d base files", err, len(state.Base))
	}
}

// A table's live bytes must not be negative: the job could not end.
func TestCompactionNegativeLive(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, NoCompaction: true, Sync: SyncOff})
	wait(t, s, update(t, s, createTable("t")))
	def := s.Head().Schema().Lookup("t").Table
	n := 0
	for wal.PutSize(uint64(def.ID), 1, 100, testRecord(1, strings.Repeat("x", n))) == wal.PutSize(uint64(def.ID), 200, 100, testRecord(1, strings.Repeat("x", n))) {
		n++
	}
	for i := range int64(200) {
		update(t, s, put("t", 100+i, 1, strings.Repeat("x", n)))
	}
	wait(t, s, update(t, s, func(tx *Tx) error {
		return tx.Apply(CreateIndex{Table: def.ID, Index: testIndex("later", false, 0)})
	}))
	for i := range int64(200) {
		update(t, s, remove("t", 100+i))
	}
	if use := s.LogUse(); use.Live != 0 {
		t.Errorf("no rows take %d bytes", use.Live)
	}
	if err := s.Compact(t.Context(), nil); err != nil {
		t.Errorf("Compact: %v", err)
	}
}

// The context of a compaction ends when its base is the head: the next call sees to it
// that the replaced files go.
func TestCompactionCanceledWhileRepointing(t *testing.T) {
	m := vfs.NewMem()
	ctx, cancel := context.WithCancel(t.Context())
	seam := &catalog.Seam{Commit: func(name string, commit func() error) error {
		if name == "retire-publication" && ctx != nil {
			defer cancel()
		}
		return commit()
	}}
	s := openStore(t, Options{FS: m, NoCompaction: true, CatalogSeam: seam})
	wait(t, s, update(t, s, all(createKeys("k", 2), put("k", 1, 1, "x"))))
	must(t, s.Checkpoint(t.Context(), nil))
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	t.Log(s.Compact(ctx, nil))
	must(t, s.Compact(t.Context(), nil))
	for range 40 {
		runtime.GC()
		time.Sleep(100 * time.Millisecond)
		if s.mu.Lock(); len(s.replaced) == 0 {
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
	t.Errorf("%d replaced files stay until somebody writes or the store is closed", len(s.home.held()))
}

// Directories go with their last files.
func TestCompactionLeavesNoDirectories(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, NoCompaction: true, Create: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, createTable("t")))
	for i := range int64(20) {
		wait(t, s, update(t, s, put("t", 1, i, "x")))
		must(t, s.Compact(t.Context(), nil))
	}
	must(t, s.Close())
	dirs := 0
	var walk func(dir string)
	walk = func(dir string) {
		names, err := m.List(dir)
		must(t, err)
		for _, name := range names {
			p := dir + "/" + name
			if info, err := m.Stat(p); err == nil && info.Dir {
				dirs++
				walk(p)
			}
		}
	}
	walk(objectsDir)
	if files := len(objectsOnDisk(t, m)); files > 4 || dirs > 2*files {
		t.Errorf("%d files in %d directories", files, dirs)
	}
	s, err = Open(t.Context(), o)
	must(t, err)
	checkStore(t, s)
	must(t, s.Close())
}
