package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// forger writes frames that no engine writes, with checksums that fit.
type forger struct {
	sp    *specimen
	start []int64 // of the last commit frame, by shard
	ends  []int64 // of the log
	salts []wal.Salt
	last  []wal.Commit
}

// newForger runs a program of three commits, the last in all shards, and leaves
// it as it is when the last one is acknowledged.
func newForger(t *testing.T, shards int) *forger {
	t.Helper()
	r := newCrashRun(t, vfs.NewMem(), 0, shards)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	for k := range 2 {
		r.wait(t, s, r.commit(t, s, wideCommit(s, "t", k, "x")))
	}
	quiet(t, s)
	f := &forger{sp: &specimen{mem: cloneMem(t, r.mem), id: s.id, states: r.states, last: 3}}
	var err error
	f.sp.state, err = s.cat.State(t.Context())
	must(t, err)
	must(t, s.Close())
	for _, sh := range s.shards {
		path := sh.gen.path
		frames, salt := framesOf(t, f.sp.mem, path)
		fr := frames[len(frames)-1]
		c, err := wal.DecodeCommit(fr, salt)
		must(t, err)
		f.sp.paths = append(f.sp.paths, path)
		f.start, f.ends, f.salts, f.last = append(f.start, fr.Offset), append(f.ends, fr.End()), append(f.salts, salt), append(f.last, c)
	}
	if snap, err := f.sp.scan(); err != nil || snap.LSN() != 3 {
		t.Fatalf("the program's log: %v", err)
	}
	return f
}

// write overwrites a shard's log from an offset on, which ends it.
func (f *forger) write(t *testing.T, shard int, at int64, frames []byte) {
	t.Helper()
	data := readFile(t, f.sp.mem, f.sp.paths[shard])
	clear(data[at:])
	if short := int(at) + len(frames) + 4096 - len(data); short > 0 {
		data = append(data, make([]byte, short)...)
	}
	copy(data[at:], frames)
	writeFile(t, f.sp.mem, f.sp.paths[shard], data)
}

// build builds frames for a place in a shard's log.
func (f *forger) build(t *testing.T, shard int, at int64, make func(b *wal.Builder) error) []byte {
	t.Helper()
	b := wal.NewBuilder(f.salts[shard], at, nil)
	must(t, make(b))
	return b.Bytes()
}

// rawFrame is an intact frame of any payload.
func rawFrame(salt wal.Salt, at int64, kind wal.Kind, payload []byte) []byte {
	b := make([]byte, 8, 8+1+len(payload)+8)
	b = append(append(b, byte(kind)), payload...)
	table := crc32.MakeTable(crc32.Castagnoli)
	crc := crc32.Update(0, table, salt[:])
	crc = crc32.Update(crc, table, binary.LittleEndian.AppendUint64(nil, uint64(at)))
	crc = crc32.Update(crc, table, b[8:])
	binary.LittleEndian.PutUint32(b, uint32(1+len(payload)))
	binary.LittleEndian.PutUint32(b[4:], crc)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// TestFenceForged: frames whose checksums fit are held against all that is known
// of their place; nothing is opened on them.
func TestFenceForged(t *testing.T) {
	for _, c := range []struct {
		name   string
		shards int
		do     func(t *testing.T, f *forger)
	}{
		{"a commit whose parts name others", 3, func(t *testing.T, f *forger) {
			c := f.last[1]
			c.Participants = append([]wal.Participant(nil), c.Participants[:2]...)
			c.Participants[1].End = uint64(f.start[1] + wal.CommitSize(&c))
			f.write(t, 1, f.start[1], f.build(t, 1, f.start[1], func(b *wal.Builder) error { return b.Commit(&c) }))
		}},
		{"a commit of another place", 1, func(t *testing.T, f *forger) {
			c := f.last[0]
			c.Participants = []wal.Participant{{Shard: c.Participants[0].Shard, End: c.Participants[0].End + 8}}
			f.write(t, 0, f.start[0], f.build(t, 0, f.start[0], func(b *wal.Builder) error { return b.Commit(&c) }))
		}},
		{"a commit before its file", 1, func(t *testing.T, f *forger) {
			data := readFile(t, f.sp.mem, f.sp.paths[0])
			h, start, err := wal.ReadHeader(strings.NewReader(string(data)), int64(len(data)))
			must(t, err)
			h.FirstLSN = 2
			b := wal.NewBuilder(h.Salt, 0, nil)
			must(t, b.Header(&h))
			writeFile(t, f.sp.mem, f.sp.paths[0], append(append([]byte(nil), b.Bytes()...), data[start:]...))
		}},
		{"a close mark inside of a transaction", 1, func(t *testing.T, f *forger) {
			f.write(t, 0, f.ends[0], f.build(t, 0, f.ends[0], func(b *wal.Builder) error {
				return errors.Join(b.Tombstone(1, 1, 1), b.CloseMark(wal.CloseMark{LSN: 3}))
			}))
		}},
		{"a close mark of an earlier commit", 1, func(t *testing.T, f *forger) {
			f.write(t, 0, f.ends[0], f.build(t, 0, f.ends[0], func(b *wal.Builder) error { return b.CloseMark(wal.CloseMark{LSN: 2}) }))
		}},
		{"a footer of another commit", 1, func(t *testing.T, f *forger) {
			f.write(t, 0, f.ends[0], f.build(t, 0, f.ends[0], func(b *wal.Builder) error { return b.Seal(&wal.Seal{LastLSN: 2}) }))
		}},
		{"a second header", 1, func(t *testing.T, f *forger) {
			data := readFile(t, f.sp.mem, f.sp.paths[0])
			h, _, err := wal.ReadHeader(strings.NewReader(string(data)), int64(len(data)))
			must(t, err)
			f.write(t, 0, f.ends[0], f.build(t, 0, f.ends[0], func(b *wal.Builder) error { return b.Header(&h) }))
		}},
		{"an earlier commit behind a bad frame", 1, func(t *testing.T, f *forger) {
			c, at := f.last[0], f.ends[0]+64
			c.LSN, c.SyncedLSN = 2, 1
			c.Participants[0].End = uint64(at + wal.CommitSize(&c))
			frames := f.build(t, 0, at, func(b *wal.Builder) error { return b.Commit(&c) })
			f.write(t, 0, f.ends[0], append([]byte(strings.Repeat("bad bytes", 10)[:64]), frames...))
		}},
		{"a commit behind a bad frame that cannot be read", 1, func(t *testing.T, f *forger) {
			at := f.ends[0] + 64
			payload := binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(f.salts[0][:])^uint64(at))
			f.write(t, 0, f.ends[0], append([]byte(strings.Repeat("bad bytes", 10)[:64]), rawFrame(f.salts[0], at, wal.KindCommit, payload)...))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newForger(t, c.shards)
			c.do(t, f)
			snap, err := f.sp.scan()
			var bad *CorruptError
			if !errors.As(err, &bad) {
				t.Errorf("it opens: %v, %v", snap, err)
			}
		})
	}
}

// TestFenceSealedFile holds a sealed file against each number that the catalog
// has of it, and the file's length.
func TestFenceSealedFile(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m})
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, put("t", 1, 1, "x")))
	must(t, s.Checkpoint(t.Context(), nil))
	for what, change := range map[string]func(g *catalog.Generation){
		"extent":    func(g *catalog.Generation) { g.ByteExtent += 8 },
		"records":   func(g *catalog.Generation) { g.Records++ },
		"first LSN": func(g *catalog.Generation) { g.FirstLSN++ },
		"digest":    func(g *catalog.Generation) { g.IntegrityDigest[0] ^= 1 },
		"":          func(g *catalog.Generation) {},
		"end": func(g *catalog.Generation) {
			frames, _ := framesOf(t, m, g.Path)
			writeFile(t, m, g.Path, readFile(t, m, g.Path)[:frames[len(frames)-1].Offset]) // without the footer
		},
		"length": func(g *catalog.Generation) {
			writeFile(t, m, g.Path, append(readFile(t, m, g.Path), make([]byte, 8)...))
		},
	} {
		sp := specimen{mem: m, id: s.id, state: headOf(t, s)}
		g := &sp.state.Generations[0]
		good := readFile(t, m, g.Path)
		change(g)
		var bad *CorruptError
		if _, err := sp.scan(); errors.As(err, &bad) != (what != "") || what == "" && err != nil {
			t.Errorf("another %q: %v", what, err)
		}
		writeFile(t, m, g.Path, good)
	}
}

// TestFenceFailedRead fails each read of an open: what cannot be read is neither
// the end of a log nor no evidence, and nothing is changed.
func TestFenceFailedRead(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		r := newCrashRun(t, vfs.NewMem(), 1<<20, 1)
		s := r.open(t)
		r.wait(t, s, r.commit(t, s, createTable("t")))
		for i := range int64(3) {
			r.wait(t, s, r.commit(t, s, put("t", i, i, strings.Repeat("x", wal.BlockSize/2))))
		}
		path := s.gens[0].path
		n := r.mem.Ops()
		img, cat := cloneMem(t, r.mem), r.cats.at(n)
		must(t, s.Close())
		if damaged { // the second commit, behind which others tell that it was synced
			data := readFile(t, img, path)
			data[wal.BlockSize/2+4096] ^= 1
			writeFile(t, img, path, data)
		}
		before := contents(t, img)
		reads := 0
		for n := 1; ; n++ {
			f := vfs.NewFault(img, vfs.Rule{Kinds: vfs.OpRead, N: n})
			dir, clean := restore(t, cat)
			o := r.o
			o.Dir, o.FS, o.CatalogSeam = dir, f, nil
			again, err := Open(context.Background(), o)
			if err == nil {
				must(t, again.Close())
			}
			clean()
			if f.Injected() == 0 {
				break
			}
			reads++
			var bad *CorruptError
			if err == nil || !errors.Is(err, syscall.EIO) && !(damaged && errors.As(err, &bad)) {
				t.Errorf("damaged %t, read %d fails: %v", damaged, n, err)
			}
			if t.Failed() {
				return
			}
			if contents(t, img) != before && !errors.Is(err, syscall.EIO) {
				t.Errorf("damaged %t, read %d fails: files were changed", damaged, n)
			}
		}
		t.Logf("damaged %t: %d reads failed", damaged, reads)
	}
}

// TestFenceSealedAhead: a shard's file that the catalog knows to be sealed tells
// that what another shard lacks was synced, also when its own footer is lost.
func TestFenceSealedAhead(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 0, 3)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	r.wait(t, s, r.commit(t, s, wideCommit(s, "t", 0, "x")))
	last := r.commit(t, s, wideCommit(s, "t", 1, "x"))
	r.wait(t, s, last)
	ends := tails(s)
	var paths []string
	for _, sh := range s.shards {
		paths = append(paths, sh.gen.path)
	}
	must(t, s.Checkpoint(t.Context(), nil))
	k, ok := r.cats.first("seal-generation")
	if !ok {
		t.Fatal("nothing was sealed")
	}
	sp := &specimen{mem: cloneMem(t, r.mem.At(k.op)), id: s.id, states: r.states, last: last, state: stateIn(t, k.file)}
	must(t, s.Close())
	sealed := 0
	for i, g := range sp.state.Generations {
		if g.State == catalog.GenerationSealed {
			sealed++
			data := readFile(t, sp.mem, g.Path)
			data[len(data)-9] ^= 1 // the footer
			clear(data[ends[0]:])
			if i == 0 {
				writeFile(t, sp.mem, g.Path, data)
			}
		}
	}
	if sealed != 1 || sp.state.Generations[0].State != catalog.GenerationSealed {
		t.Fatalf("%d sealed: %+v", sealed, sp.state.Generations)
	}
	data := readFile(t, sp.mem, paths[2])
	data[ends[2]-20] ^= 1
	writeFile(t, sp.mem, paths[2], data)
	var bad *CorruptError
	if snap, err := sp.scan(); !errors.As(err, &bad) {
		t.Errorf("it opens: %v, %v", snap, err)
	}
}

// first returns the catalog as the first COMMIT of a name left it.
func (c *catalogs) first(name string) (catalogCopy, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.list {
		if strings.HasSuffix(k.file, "-"+name) {
			return k, true
		}
	}
	return catalogCopy{}, false
}

func stateIn(t *testing.T, file string) catalog.State {
	t.Helper()
	dir, clean := restore(t, file)
	defer clean()
	cat, err := catalog.Open(t.Context(), catalog.Options{Dir: dir})
	must(t, err)
	state, err := cat.State(t.Context())
	must(t, err)
	must(t, cat.Close(t.Context()))
	return state
}

// TestFenceCutBySeals crashes when one shard's file is sealed and the others'
// are not: they were cut at the same LSN and are left, too.
func TestFenceCutBySeals(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 0, 3)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	r.wait(t, s, r.commit(t, s, wideCommit(s, "t", 0, "x")))
	for k := range 3 {
		r.wait(t, s, r.commit(t, s, put("t", inShard(s, "t", (k+1)%3, 1), 1, "y")))
	}
	cut := s.Head().LSN()
	must(t, s.Checkpoint(t.Context(), nil))
	k, ok := r.cats.first("seal-generation")
	if !ok {
		t.Fatal("nothing was sealed")
	}
	img := r.mem.At(k.op)
	must(t, s.Close())
	next := r.again(t, img, k.file, cut)
	defer os.RemoveAll(next.cats.dir)
	s = next.open(t)
	next.wait(t, s, next.commit(t, s, wideCommit(s, "t", 3, "behind the cut")))
	for _, g := range s.GenerationInfos() {
		if g.FirstLSN <= cut && g.LastLSN > cut {
			t.Errorf("a file holds both sides of the cut at %d: %+v", cut, g)
		}
	}
	quiet(t, s)
	checkGenerations(t, s, s.Head().LSN())
	checkStore(t, s)
	must(t, s.Close())
}

// TestFenceLostAtOpen: what a dropped table took from the sum of the store is
// known after a restart, too.
func TestFenceLostAtOpen(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards}
		s := openStore(t, o)
		wait(t, s, update(t, s, all(createTable("t"), createTable("u"))))
		wait(t, s, update(t, s, all(put("t", 1, 1, "a"), put("u", 2, 2, "b"))))
		wait(t, s, update(t, s, all(put("t", 3, 3, "c"), dropTable("u"))))
		must(t, s.Close())
		s, err := Open(t.Context(), o)
		must(t, err)
		must(t, s.Checkpoint(t.Context(), nil))
		checkHead(t, s)
		must(t, s.Close())
	})
}

// TestFenceStrays: no stray is removed when any of them is a log.
func TestFenceStrays(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	data := readFile(t, m, s.gens[0].path)
	must(t, s.Close())
	strays := []string{"objects/ee/00/00000000000000ee.kv", "objects/ff/00/00000000000000ff.kv"}
	for _, unknown := range strays {
		for _, p := range strays {
			if p == unknown {
				makeFile(t, m, p, data)
			} else {
				makeFile(t, m, p, []byte("no log"))
			}
		}
		var bad *CorruptError
		if s, err := Open(t.Context(), o); !errors.As(err, &bad) || bad.File != unknown {
			t.Errorf("open beside %s: %v", unknown, err)
			if err == nil {
				must(t, s.Close())
			}
		}
		for _, p := range strays {
			if err := m.Remove(p); err != nil {
				t.Errorf("%s was removed: %v", p, err)
			}
		}
	}
}

// TestFenceOpenWithoutSpace: a full disk does not keep a store from being opened
// and read.
func TestFenceOpenWithoutSpace(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	o := Options{Dir: t.TempDir(), FS: f}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	must(t, s.Close())
	f.SetSpace(0)
	s, err := Open(t.Context(), o)
	must(t, err)
	if n := count(s.Durable(), "t"); n != 0 {
		t.Errorf("%d rows", n)
	}
	must(t, s.Close())
	f.SetSpace(-1)
}

// TestFenceForeignWriter: an open that finds, in the middle, that another
// program writes the catalog ends there.
func TestFenceForeignWriter(t *testing.T) {
	o, m, _, second := reserved(t)
	f := vfs.NewFault(m)
	f.SetHook(func(op vfs.Op) error {
		if op.Kind != vfs.OpCreate || op.Name != second {
			return nil
		}
		cat, err := catalog.Open(context.Background(), catalog.Options{Dir: o.Dir})
		if err != nil {
			return err
		}
		state, err := cat.State(context.Background())
		if err != nil {
			return err
		}
		_, err = cat.BumpEpochs(context.Background(), state.Shards[0].ID)
		return errors.Join(err, cat.Close(context.Background()))
	})
	other := o
	other.FS = f
	if s, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("open: %v", err)
		if err == nil {
			must(t, s.Close())
		}
	}
}

// TestFenceTwins: two rows with one key of a unique index are damage.
func TestFenceTwins(t *testing.T) {
	r, def := replayBase(t)
	rec := testRecord("a", 7, 7) // row 1 has this key
	must(t, r.put(wal.Put{Table: 1, Version: 1, Rowid: 3, Rec: rec}, 800))
	sum := row.RowSum(1, 3, def.columnIDs(), rec, -1, nil)
	must(t, r.commit(wal.Commit{LSN: 2, Records: 1, Contributions: []wal.Contribution{{Table: 1, Rows: 1, Sum: sum}}}, 840))
	var bad *wal.CorruptError
	if _, err := r.root(); !errors.As(err, &bad) {
		t.Errorf("root: %v", err)
	}
}
