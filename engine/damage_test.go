package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// specimen is a store whose files a test damages. Its log is replayed without
// the catalog's cost, so that every bit can be flipped.
type specimen struct {
	mem    *vfs.Mem
	state  catalog.State
	id     [16]byte
	states map[LSN]string
	last   LSN
	paths  []string
	frames map[string][]wal.Frame
	closed bool
}

// newSpecimen runs a scripted program, in generations of that size, and closes
// the store, or leaves it as a crash does right after the last acknowledgment.
func newSpecimen(t testing.TB, shards int, generationSize int64, steps int, closed bool, held func(k int) bool) *specimen {
	t.Helper()
	r := newCrashRun(t, vfs.NewMem(), generationSize, shards)
	s := r.open(t)
	r.script(t, s, 0, steps, "a", held)
	quiet(t, s)
	sp := &specimen{states: r.states, last: LSN(steps), id: s.id, closed: closed, frames: map[string][]wal.Frame{}}
	var err error
	if sp.state, err = s.cat.State(context.Background()); err != nil {
		t.Fatal(err)
	}
	if closed {
		must(t, s.Close())
		sp.mem = cloneMem(t, r.mem)
	} else {
		sp.mem = cloneMem(t, r.mem)
		must(t, s.Close())
	}
	for _, g := range sp.state.Generations {
		sp.paths = append(sp.paths, g.Path)
		f, err := sp.mem.OpenRead(g.Path)
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Size()
		if err != nil {
			t.Fatal(err)
		}
		h, start, err := wal.ReadHeader(f, size)
		if err != nil {
			t.Fatal(err)
		}
		sp.frames[g.Path] = append(sp.frames[g.Path], wal.Frame{Kind: wal.KindHeader, Payload: string(make([]byte, start-9))})
		for sc := wal.NewScanner(f, start, size, h.Salt); ; {
			fr, ok := sc.Next()
			if !ok {
				break
			}
			sp.frames[g.Path] = append(sp.frames[g.Path], fr)
		}
		must(t, f.Close())
	}
	return sp
}

// quiet waits until the housekeeper has nothing left to do.
func quiet(t testing.TB, s *Store) {
	t.Helper()
	eventually(t, "the housekeeper to be idle", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		c := &s.chores
		return c.idle(s.durable.Load()) && (len(c.sealing) == 0 || c.stuck != nil)
	})
}

// quietButSeals is quiet for a test that keeps the sealer from its work.
func quietButSeals(t testing.TB, s *Store) {
	t.Helper()
	eventually(t, "the housekeeper to be idle", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.chores.idle(s.durable.Load())
	})
}

func (c *chores) idle(durable *root) bool {
	return c.want == nil && c.projected == durable.schema && !c.refill
}

// scan replays the log and returns the state at the cut.
func (sp *specimen) scan() (*Snapshot, error) {
	s := &Store{opts: Options{Dir: "-"}.withDefaults(), home: &home{fs: sp.mem, id: sp.id}, objects: newObjects(sp.mem), logBytes: map[TableID]int64{}}
	s.log.limit = s.opts.GenerationSize
	defer func() {
		for _, list := range [][]*generation{s.gens, generationsOf(s.base)} {
			for _, g := range list {
				if g.file != nil {
					_ = g.file.Close()
				}
			}
		}
	}()
	r, err := s.scan(&sp.state)
	if err != nil {
		return nil, err
	}
	root, err := r.replay.root()
	if err != nil {
		return nil, err
	}
	return root.snapshot(), nil
}

// check scans after a damage and compares with what must come of it.
func (sp *specimen) check(t *testing.T, what, file string, offset int64, mustRefuse bool) {
	t.Helper()
	snap, err := sp.scan()
	if err != nil {
		var bad *CorruptError
		if !errors.As(err, &bad) || bad.File != file || bad.Offset > offset {
			t.Errorf("%s: error %v does not name the place", what, err)
		}
		return
	}
	if want, ok := sp.states[snap.LSN()]; !ok || dump(snap) != want {
		t.Errorf("%s: a state that no commit left, at LSN %d:\n%s", what, snap.LSN(), dump(snap))
	}
	if mustRefuse {
		t.Errorf("%s: opened, at LSN %d of %d", what, snap.LSN(), sp.last)
	}
}

// synced returns the highest LSN that the frames of the store say was synced,
// not counting what a frame says about itself.
func (sp *specimen) synced(t *testing.T) LSN {
	if sp.closed {
		return sp.last
	}
	best := LSN(0)
	for _, p := range sp.paths {
		f, err := sp.mem.OpenRead(p)
		must(t, err)
		size, err := f.Size()
		must(t, err)
		h, start, err := wal.ReadHeader(f, size)
		must(t, err)
		for c, err := range wal.FindCommits(f, start, size, h.Salt) {
			must(t, err)
			best = max(best, LSN(c.Synced()))
		}
		must(t, f.Close())
	}
	return best
}

// stepOver is how many bytes a loop over all bytes of a log goes on at once.
func stepOver(shards int) int64 {
	switch {
	case *crashEvery == 1:
		return 1
	case testing.Short():
		return 13
	case shards > 1:
		return 3
	}
	return 1
}

// lsnOf returns the LSN of the commit that frame i of a file is or belongs to.
func (sp *specimen) lsnOf(path string, i int) LSN {
	const at = 8 // behind the mark
	for _, fr := range sp.frames[path][i:] {
		if fr.Kind == wal.KindCommit {
			return LSN(binary.LittleEndian.Uint64([]byte(fr.Payload[at:])))
		}
	}
	return 0
}

// TestFlippedBits (ENG-AT-13) flips the bits of the log, one at a time: one of each byte,
// or all with -crash-every 1.
func TestFlippedBits(t *testing.T) { overShards(t, flippedBits) }

func flippedBits(t *testing.T, shards int) {
	for _, c := range []struct {
		name       string
		generation int64
		steps      int
		closed     bool
		held       func(k int) bool
	}{
		{"closed", 0, 7, true, nil},
		{"crashed", 0, 7, false, nil},
		{"crashed behind a batch", 0, 8, false, func(k int) bool { return k >= 4 }},
		{"rotated and closed", 1 << 10, 8, true, nil},
		{"rotated and crashed", 1 << 10, 8, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sp := newSpecimen(t, shards, c.generation, c.steps, c.closed, c.held)
			if snap, err := sp.scan(); err != nil || snap.LSN() != sp.last {
				t.Fatalf("the undamaged log: %v", err)
			}
			synced := sp.synced(t)
			flips := 0
			step := stepOver(shards)
			for _, path := range sp.paths {
				data := readFile(t, sp.mem, path)
				file, err := sp.mem.Open(path)
				must(t, err)
				for i, fr := range sp.frames[path] {
					lsn := sp.lsnOf(path, i) // the transaction the frame belongs to
					switch fr.Kind {
					case wal.KindHeader, wal.KindSeal:
						lsn = 0 // always synced before it is used
					case wal.KindCloseMark:
						lsn = ^LSN(0) // may be lost, with nothing else
					}
					for off := fr.Offset; off < fr.End(); off += step {
						for bit := range 8 {
							if *crashEvery != 1 && bit != int(off%8) {
								continue
							}
							if fr.Kind == wal.KindPut && len(fr.Payload) > 1000 && off > fr.Offset+64 && off < fr.End()-16 && (off%61 != 0 || bit != int(off%8)) {
								continue // one bit in 500 of a large row
							}
							if _, err := file.WriteAt([]byte{data[off] ^ 1<<bit}, off); err != nil {
								t.Fatal(err)
							}
							flips++
							sp.check(t, fmt.Sprintf("%s: bit %d of byte %d, frame %d (%s)", path, bit, off, i, fr.Kind), path, off, lsn <= synced)
							if t.Failed() {
								t.Fatalf("synced %d, frame of commit %d", synced, lsn)
							}
							if _, err := file.WriteAt(data[off:off+1], off); err != nil {
								t.Fatal(err)
							}
						}
					}
				}
				must(t, file.Close())
			}
			t.Logf("%d bits flipped", flips)
		})
	}
}

// TestFlippedCloseMark damages a close mark with one commit behind it, which
// nothing says was synced. But the mark was, before the commit was appended: the
// commit must not be taken for an unsynced tail.
func TestFlippedCloseMark(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 0, 1)
	s := r.open(t)
	r.script(t, s, 0, 3, "a", nil)
	must(t, s.Close())
	mark := s.gens[0].tail - closeMarkSize
	s = r.open(t)
	r.script(t, s, 3, 4, "a", nil)
	state, err := s.cat.State(t.Context())
	must(t, err)
	sp := &specimen{mem: cloneMem(t, r.mem), state: state, id: s.id, states: r.states, last: 4}
	must(t, s.Close())
	path := state.Generations[0].Path
	data := readFile(t, sp.mem, path)
	if snap, err := sp.scan(); err != nil || snap.LSN() != 4 {
		t.Fatal(err)
	}
	f, err := sp.mem.Open(path)
	must(t, err)
	for off := mark; off < mark+closeMarkSize; off++ {
		for bit := range 8 {
			sp.flip(t, f, data, off, 1<<bit, fmt.Sprintf("bit %d of byte %d of the mark", bit, off-mark), path)
		}
	}
	must(t, f.Close())
}

// flip checks the log with bits of a synced byte flipped, and puts it back.
func (sp *specimen) flip(t *testing.T, f vfs.File, data []byte, off int64, bits byte, what, path string) {
	t.Helper()
	_, err := f.WriteAt([]byte{data[off] ^ bits}, off)
	must(t, err)
	sp.check(t, what, path, off, true)
	_, err = f.WriteAt(data[off:off+1], off)
	must(t, err)
}

// TestFooterIsEvidence damages the last commit of a file that has a footer,
// before the catalog knows of the seal. The commit in the next file was
// appended before the damaged one was synced and says nothing of it; the
// footer does.
func TestFooterIsEvidence(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 1<<10, 1)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	r.wait(t, s, r.commit(t, s, put("t", 1, 1, strings.Repeat("x", 500))))
	quiet(t, s)
	r.hold()
	from := s.shards[0].gen.tail
	r.commit(t, s, put("t", 2, 2, strings.Repeat("y", 800)))
	to := s.shards[0].gen.tail
	last := r.commit(t, s, put("t", 3, 3, "z"))
	r.release()
	r.wait(t, s, last)
	quiet(t, s)
	path, id := s.gens[0].path, s.id
	must(t, s.Close())
	// The file operation that made the footer durable comes before the COMMIT.
	sealed := 0
	for _, op := range r.mem.Journal() {
		if op.Kind == vfs.OpSync && op.Name == path {
			sealed = op.N
		}
	}
	dir, clean := restore(t, r.cats.at(sealed))
	defer clean()
	cat, err := catalog.Open(t.Context(), catalog.Options{Dir: dir})
	must(t, err)
	state, err := cat.State(t.Context())
	must(t, err)
	must(t, cat.Close(t.Context()))
	if state.Generations[0].State != catalog.GenerationOpen {
		t.Fatal("the catalog knows of the seal")
	}
	sp := &specimen{mem: r.mem.At(sealed), state: state, id: id, states: r.states, last: last}
	if snap, err := sp.scan(); err != nil || snap.LSN() != last {
		t.Fatalf("the undamaged log: %v", err)
	}
	data := readFile(t, sp.mem, path)
	f, err := sp.mem.Open(path)
	must(t, err)
	for off := from; off < to; off += 3 {
		sp.flip(t, f, data, off, 4, fmt.Sprintf("byte %d", off), path)
	}
	must(t, f.Close())
}

// TestClaimInAThirdFile damages a commit of which only a commit two files on
// says that it was synced.
func TestClaimInAThirdFile(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 1<<10, 1)
	s := r.open(t)
	s.sealing.RLock() // nothing is sealed before the end
	r.wait(t, s, r.commit(t, s, createTable("t")))
	r.wait(t, s, r.commit(t, s, put("t", 1, 1, strings.Repeat("x", 500))))
	quietButSeals(t, s)
	r.hold()
	from := s.shards[0].gen.tail
	r.commit(t, s, put("t", 2, 2, strings.Repeat("y", 800)))
	to := s.shards[0].gen.tail
	third := r.commit(t, s, put("t", 3, 3, strings.Repeat("z", 1200)))
	r.release()
	r.wait(t, s, third)
	last := r.commit(t, s, put("t", 4, 4, "end"))
	r.wait(t, s, last)
	quietButSeals(t, s)
	state, err := s.cat.State(t.Context())
	must(t, err)
	sp := &specimen{mem: cloneMem(t, r.mem), state: state, id: s.id, states: r.states, last: last}
	path := s.gens[0].path
	s.sealing.RUnlock()
	must(t, s.Close())
	if len(state.Generations) != 3 || state.Generations[0].State != catalog.GenerationOpen {
		t.Fatalf("%+v", state.Generations)
	}
	if snap, err := sp.scan(); err != nil || snap.LSN() != last {
		t.Fatalf("the undamaged log: %v", err)
	}
	data := readFile(t, sp.mem, path)
	f, err := sp.mem.Open(path)
	must(t, err)
	for off := from; off < to; off += 3 {
		sp.flip(t, f, data, off, 4, fmt.Sprintf("byte %d", off), path)
	}
	must(t, f.Close())
}

// TestCutAtEveryByte (ENG-AT-13) cuts the log at every byte behind its header: what opens
// is a prefix. Of a generation that others follow, nothing may be missing.
func TestCutAtEveryByte(t *testing.T) { overShards(t, cutAtEveryByte) }

func cutAtEveryByte(t *testing.T, shards int) {
	for _, c := range []struct {
		name       string
		generation int64
		steps      int
	}{{"one file", 0, 12}, {"rotated", 1 << 10, 8}} {
		t.Run(c.name, func(t *testing.T) {
			sp := newSpecimen(t, shards, c.generation, c.steps, true, nil)
			cuts := 0
			for i, path := range sp.paths {
				data := readFile(t, sp.mem, path)
				frames := sp.frames[path]
				needed := len(frames) > 1 && i+1 < len(sp.paths) && len(sp.frames[sp.paths[i+1]]) > 1
				end := frames[len(frames)-1].End()
				least := end
				if last := frames[len(frames)-1]; shards > 1 && last.Kind == wal.KindCloseMark {
					least, needed = last.Offset, true // the marks of the other shards tell of every commit
				}
				for at := end; at >= frames[0].End(); at-- {
					if at%stepOver(shards) != 0 && at < end-50 {
						continue
					}
					writeFile(t, sp.mem, path, data[:at])
					cuts++
					snap, err := sp.scan()
					var bad *CorruptError
					switch {
					case needed && at < least:
						if !errors.As(err, &bad) || bad.File != path {
							t.Fatalf("%s cut at %d: %v", path, at, err)
						}
					case err != nil:
						t.Fatalf("%s cut at %d: %v", path, at, err)
					case dump(snap) != sp.states[snap.LSN()]:
						t.Fatalf("%s cut at %d: no state of the program at LSN %d", path, at, snap.LSN())
					}
				}
				// Without its header a file that was in use is damage.
				for at := frames[0].End() - 1; at >= 0; at -= stepOver(shards) {
					writeFile(t, sp.mem, path, data[:at])
					cuts++
					if _, err := sp.scan(); err == nil {
						t.Fatalf("%s cut at %d, inside of its header, opens", path, at)
					}
				}
				writeFile(t, sp.mem, path, data)
			}
			t.Logf("%d cuts", cuts)
		})
	}
}

// TestRandomDamage overwrites, zeroes, moves and repeats ranges of the log.
func TestRandomDamage(t *testing.T) { overShards(t, randomDamage) }

func randomDamage(t *testing.T, shards int) {
	sp := newSpecimen(t, shards, 4<<10, 16, true, nil)
	rng := rand.New(rand.NewPCG(*crashSeed, 7))
	t.Logf("seed %d", *crashSeed)
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	opened := 0
	for range rounds {
		path := sp.paths[rng.IntN(len(sp.paths))]
		data := readFile(t, sp.mem, path)
		bad := append([]byte(nil), data...)
		n := 1 + rng.IntN(min(len(bad), 2000))
		from, to := rng.IntN(len(bad)-n+1), rng.IntN(len(bad)-n+1)
		switch rng.IntN(4) {
		case 0:
			clear(bad[to : to+n])
		case 1:
			copy(bad[to:to+n], data[from:from+n])
		case 2:
			for i := range n {
				bad[to+i] = byte(rng.Uint32())
			}
		case 3:
			bad = append(bad[:to], bad[to+n:]...)
		}
		writeFile(t, sp.mem, path, bad)
		snap, err := sp.scan()
		var damage *CorruptError
		switch {
		case err == nil:
			opened++
			if snap.LSN() != sp.last || dump(snap) != sp.states[sp.last] {
				// A cut at the end takes the proof with it.
				if want, ok := sp.states[snap.LSN()]; !ok || dump(snap) != want {
					t.Fatalf("LSN %d:\n%s", snap.LSN(), dump(snap))
				}
			}
		case !errors.As(err, &damage):
			t.Fatalf("untyped error %v", err)
		}
		writeFile(t, sp.mem, path, data)
	}
	t.Logf("%d of %d opened, to a state of the program", opened, rounds)
}
