package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// idle is a store with timelines that have not gone on since they were forked.
type idle struct {
	t     *testing.T
	o     Options
	m     *vfs.Mem
	names []string
	open  map[string]*Store
	want  map[string]string // what each holds
}

// idleLines makes a store with some rows of all kinds, and forks of it.
func idleLines(t *testing.T, shards int, resident Resident, forks ...string) *idle {
	t.Helper()
	l := &idle{t: t, m: vfs.NewMem(), names: append([]string{"main"}, forks...), open: map[string]*Store{}, want: map[string]string{}}
	l.o = Options{Dir: t.TempDir(), FS: l.m, Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, l.o)
	l.open["main"] = s
	wait(t, s, update(t, s, all(createTableAs("a", resident), createTableAs("empty", resident), createKeys("k", 3), func(tx *Tx) error {
		def := testTable("v", 2)
		def.Durable = false
		return tx.Apply(CreateTable{Def: def})
	})))
	for i := range int64(40) {
		wait(t, s, update(t, s, all(put("a", i%13, i, strings.Repeat("x", 300)), put("k", i, i, "k"), put("v", i, i))))
	}
	wait(t, s, update(t, s, all(remove("a", 3), remove("k", 5))))
	for _, name := range forks {
		_, err := s.Fork(t.Context(), name)
		must(t, err)
		l.open[name] = openTimeline(t, s, name, l.o)
	}
	for _, name := range l.names {
		l.want[name] = contentOf(t, s.Durable())
	}
	return l
}

// goOn writes to a timeline.
func (l *idle) goOn(name string, n int64) {
	l.t.Helper()
	s := l.open[name]
	for i := range n {
		wait(l.t, s, update(l.t, s, all(put("a", i%17, 100+i, name+strings.Repeat("y", 50)), put("k", i%5, 1000+i, name))))
	}
	l.want[name] = contentOf(l.t, s.Durable())
}

// same expects every timeline to hold what it should, and to be sound.
func (l *idle) same(what string) {
	l.t.Helper()
	for _, name := range l.names {
		if got := contentOf(l.t, l.open[name].Durable()); got != l.want[name] {
			l.t.Errorf("%s: %s holds\n%.900s\nnot\n%.900s", what, name, got, l.want[name])
		}
		checkStore(l.t, l.open[name])
	}
}

func (l *idle) close() {
	l.t.Helper()
	for _, name := range slices.Backward(l.names) {
		must(l.t, l.open[name].Close())
	}
}

func (l *idle) reopen() {
	l.t.Helper()
	l.close()
	s, err := Open(l.t.Context(), l.o)
	must(l.t, err)
	l.open["main"] = s
	for _, name := range l.names[1:] {
		l.open[name] = openTimeline(l.t, s, name, l.o)
	}
}

// compact compacts a timeline and tells whether its base is another one's.
func (l *idle) compact(name string) (shared bool) {
	l.t.Helper()
	before, files := l.open[name].Metrics(), objectsOnDisk(l.t, l.m)
	must(l.t, l.open[name].Compact(l.t.Context(), nil))
	after := l.open[name].Metrics()
	if after.Compactions != before.Compactions+1 {
		l.t.Fatalf("%s: %d compactions, were %d", name, after.Compactions, before.Compactions)
	}
	shared = after.CompactionsShared > before.CompactionsShared
	if !shared {
		return false
	}
	if after.CompactedBytes != before.CompactedBytes {
		l.t.Errorf("%s: %d bytes written for a base of another timeline", name, after.CompactedBytes-before.CompactedBytes)
	}
	for _, file := range objectsOnDisk(l.t, l.m) {
		if !slices.Contains(files, file) && !strings.HasSuffix(file, ".index") { // each has segments of its own
			l.t.Errorf("%s: %s was written", name, file)
		}
	}
	return true
}

// drop removes a timeline that is a leaf.
func (l *idle) drop(name string) {
	l.t.Helper()
	must(l.t, l.open[name].Close())
	must(l.t, l.open["main"].DropTimeline(l.t.Context(), name))
	l.names = slices.DeleteFunc(l.names, func(n string) bool { return n == name })
}

// base lists the files of a timeline's base.
func (l *idle) base(name string) (files []string) {
	l.t.Helper()
	state, err := l.open[name].cat.StateOf(l.t.Context(), name)
	must(l.t, err)
	for _, f := range state.Base {
		files = append(files, f.Path)
	}
	return files
}

// tidy expects that nothing is on disk but what heads, branch points and the logs
// behind the heads need, once what may go is collected.
func (l *idle) tidy(what string) {
	l.t.Helper()
	l.reopen() // no snapshot reads anything any more
	main := l.open["main"]
	_, err := main.RunJob(l.t.Context(), JobRequest{Kind: JobGC})
	must(l.t, err)
	garbage, kept, err := main.cat.Explain(l.t.Context())
	must(l.t, err)
	var paths []string
	for _, k := range kept {
		paths = append(paths, k.Path)
	}
	slices.Sort(paths)
	disk := objectsOnDisk(l.t, l.m)
	slices.Sort(disk)
	disk = slices.DeleteFunc(disk, func(file string) bool { return !strings.HasSuffix(file, ".kv") && !strings.HasSuffix(file, ".index") })
	if len(garbage) > 0 || !slices.Equal(paths, disk) {
		l.t.Errorf("%s: garbage %v, on disk\n%q\nkept\n%q", what, garbage, disk, paths)
	}
}

// The second timeline that is compacted writes nothing; from then on each goes on by
// itself, and files go when neither has them.
func TestSharedBase(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		for _, resident := range []Resident{ResidentAll, ResidentKeys} {
			for _, first := range []string{"main", "dev"} {
				t.Run(fmt.Sprintf("%v, %s first", resident, first), func(t *testing.T) { sharedBase(t, shards, resident, first) })
			}
		}
	})
}

func sharedBase(t *testing.T, shards int, resident Resident, first string) {
	l := idleLines(t, shards, resident, "dev")
	second := "dev"
	if first == second {
		second = "main"
	}
	old := l.open[second].Durable()
	if l.compact(first) {
		t.Error("the first one found a base")
	}
	l.same("one compacted")
	if !l.compact(second) {
		t.Error("the second one wrote a base of its own")
	}
	if a, b := l.base(first), l.base(second); len(a) < 2 || !slices.Equal(a, b) {
		t.Errorf("bases %q and %q", a, b)
	}
	l.same("both compacted")
	if got := contentOf(t, old); got != l.want[second] {
		t.Error("an old snapshot changed")
	}
	l.tidy("both compacted")
	l.same("opened")
	shared := l.base(second)

	l.goOn(first, 20)
	if l.compact(first) {
		t.Error("a base that there cannot be was adopted")
	}
	l.tidy("one went on")
	l.same("one went on")
	if got := l.base(second); !slices.Equal(got, shared) {
		t.Errorf("the base of the other one is %q, was %q", got, shared)
	}
	l.goOn(second, 30)
	l.same("the other one went on")
	if l.compact(second) {
		t.Error("a base that there cannot be was adopted")
	}
	l.tidy("both went on")
	l.same("both went on")
	for _, file := range objectsOnDisk(t, l.m) {
		if slices.Contains(shared, file) {
			t.Errorf("%s is still there", file)
		}
	}
	l.drop("dev")
	l.tidy("dropped")
	l.same("dropped")
	l.close()
}

// Of several timelines each adopts what the first one wrote, also forks of forks and those
// of branch points, and whoever wrote it may be gone by then.
func TestSharedBaseOfMany(t *testing.T) {
	l := idleLines(t, 1, ResidentKeys, "dev")
	dev := l.open["dev"]
	branch(t, dev, "bp")
	_, err := dev.Fork(t.Context(), "leaf")
	must(t, err)
	_, err = dev.ForkBranchPoint(t.Context(), "twig", "bp")
	must(t, err)
	for _, name := range []string{"leaf", "twig"} {
		l.names = append(l.names, name)
		l.open[name] = openTimeline(t, l.open["main"], name, l.o)
		l.want[name] = l.want["dev"]
	}
	point := contentOf(t, at(t, dev, "bp"))
	if l.compact("leaf") || !l.compact("main") {
		t.Error("leaf is the first one, main the second")
	}
	base := l.base("leaf")
	l.drop("leaf") // who wrote it
	l.goOn("main", 10)
	if l.compact("main") {
		t.Error("main went on")
	}
	// Nobody's head has the base, so it was let go of.
	if l.compact("dev") {
		t.Error("a base that no timeline has was adopted")
	}
	if !l.compact("twig") || slices.Equal(l.base("twig"), base) || !slices.Equal(l.base("twig"), l.base("dev")) {
		t.Errorf("bases %q, %q, %q", base, l.base("dev"), l.base("twig"))
	}
	if got := contentOf(t, at(t, dev, "bp")); got != point {
		t.Error("a branch point changed")
	}
	l.tidy("all compacted")
	l.same("all compacted")
	if got := contentOf(t, at(t, l.open["twig"], "bp")); got != point {
		t.Error("a branch point changed behind an open")
	}
	must(t, l.open["main"].DeleteBranchPoint(t.Context(), "bp"))
	l.drop("twig")
	l.tidy("without branch point")
	l.same("without branch point")
	if _, err := l.open["dev"].RunJob(t.Context(), JobRequest{Kind: JobVerify}); err != nil {
		t.Error(err)
	}
	l.close()
}

// A base that another timeline wrote and that is damaged is not adopted: the timeline
// writes its own, and is as sound as before.
func TestSharedBaseDamaged(t *testing.T) {
	for what, damage := range map[string]func(t *testing.T, m *vfs.Mem, file string){
		"flipped header": func(t *testing.T, m *vfs.Mem, file string) { flipAt(t, m, file, 20) },
		"flipped row":    func(t *testing.T, m *vfs.Mem, file string) { flipAt(t, m, file, sizeOf(t, m, file)/2) },
		"flipped footer": func(t *testing.T, m *vfs.Mem, file string) { flipAt(t, m, file, sizeOf(t, m, file)-9) },
		"cut off": func(t *testing.T, m *vfs.Mem, file string) {
			f, err := m.Open(file)
			must(t, err)
			must(t, f.Truncate(sizeOf(t, m, file)-8))
			must(t, f.Close())
		},
		"missing": func(t *testing.T, m *vfs.Mem, file string) { must(t, m.Remove(file)) },
	} {
		t.Run(what, func(t *testing.T) {
			l := idleLines(t, 1, ResidentAll, "dev", "second")
			var told atomic.Int32
			l.compact("main")
			base := l.base("main")
			must(t, l.open["second"].Close())
			must(t, l.open["dev"].Close())
			file := base[len(base)-1]
			sound := bytesOf(t, l.m, file)
			damage(t, l.m, file)
			o := l.o
			o.Events = func(e Event) {
				if e.Kind == EventBackgroundFailed && strings.Contains(fmt.Sprint(e.Err), "of another timeline") {
					told.Add(1)
				}
			}
			l.open["dev"] = openTimeline(t, l.open["main"], "dev", o)
			if l.compact("dev") || told.Load() != 1 {
				t.Errorf("adopted, or told %d times", told.Load())
			}
			// What it wrote is good for the others.
			l.open["second"] = openTimeline(t, l.open["main"], "second", l.o)
			if !l.compact("second") || !slices.Equal(l.base("second"), l.base("dev")) {
				t.Errorf("second has %q, dev %q", l.base("second"), l.base("dev"))
			}
			for _, name := range []string{"dev", "second"} {
				if got := contentOf(t, l.open[name].Durable()); got != l.want[name] {
					t.Errorf("%s holds\n%.900s\nnot\n%.900s", name, got, l.want[name])
				}
				found := findings(t, l.open[name])
				if len(found) == 0 {
					t.Errorf("%s: a check does not find what main has lost", name)
				}
				for _, f := range found {
					if f.File != file || !strings.HasPrefix(f.Text, `timeline "main": `) {
						t.Errorf("%s: %v", name, f)
					}
				}
			}
			l.close()
			o = l.o
			o.Timeline = "dev"
			dev, err := Open(t.Context(), o)
			must(t, err)
			if got := contentOf(t, dev.Durable()); got != l.want["dev"] {
				t.Errorf("dev holds behind an open\n%.900s\nnot\n%.900s", got, l.want["dev"])
			}
			must(t, dev.Close())
			// Main reads it, and is opened once more.
			if what == "missing" {
				f, err := l.m.Create(file)
				must(t, err)
				must(t, f.Close())
			}
			f, err := l.m.Open(file)
			must(t, err)
			_, err = f.WriteAt(sound, 0)
			must(t, errors.Join(err, f.Close()))
		})
	}
}

// A base is held against the state that it is to stand for, whatever the catalog says.
func TestSharedBaseOfAnotherState(t *testing.T) {
	l := idleLines(t, 1, ResidentAll, "dev")
	l.compact("main")
	state, err := l.open["main"].cat.StateOf(t.Context(), "main")
	must(t, err)
	dev := l.open["dev"]
	known := state.Base
	read := func(known []catalog.BaseFile) error {
		dev.mu.Lock()
		head := dev.head.Load()
		c := &cut{*head.mark(), head.totals(), dev.capture(head)}
		dev.mu.Unlock()
		c.lsn = LSN(state.BaseLSN)
		files, err := dev.readShared(t.Context(), known, c)
		if err == nil && len(files) != len(known) {
			t.Errorf("%d files of %d", len(files), len(known))
		}
		return err
	}
	must(t, read(known))
	refused := func(what string, err error) {
		t.Helper()
		var damage *CorruptError
		if !errors.As(err, &damage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	n := len(known)
	refused("a file is missing", read(known[:n-1]))
	swapped := slices.Clone(known)
	swapped[n-2], swapped[n-1] = swapped[n-1], swapped[n-2]
	refused("files are swapped", read(swapped))
	other := slices.Clone(known)
	other[n-1].Fragments = []catalog.Fragment{{TableID: other[n-1].Fragments[0].TableID, Rows: other[n-1].Fragments[0].Rows + 1}}
	refused("a file has other fragments", read(other))
	other = slices.Clone(known)
	other[0].IntegrityDigest[0]++
	refused("a file has another digest", read(other))
	other = slices.Clone(known)
	other[0].LSN++
	refused("a file is of another commit", read(other))
	steps := []func(tx *Tx) error{createTable("more"), put("a", 1, 77, "other"), put("a", 500, 1), put("more", 1, 1)}
	for i, step := range steps {
		wait(t, dev, update(t, dev, step))
		refused(fmt.Sprint("step ", i), read(known))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dev.readShared(gone, known, &cut{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
	must(t, dev.Close())
	must(t, l.open["main"].Close())
}

// flipAt flips a bit of a file.
func flipAt(t *testing.T, m *vfs.Mem, file string, at int64) {
	t.Helper()
	f, err := m.Open(file)
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	must(t, err)
	b[0] ^= 4
	_, err = f.WriteAt(b[:], at)
	must(t, err)
	must(t, f.Close())
}

func sizeOf(t *testing.T, m *vfs.Mem, file string) int64 { return int64(len(bytesOf(t, m, file))) }

func bytesOf(t *testing.T, m *vfs.Mem, file string) []byte {
	t.Helper()
	f, err := m.OpenRead(file)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	must(t, errors.Join(err, f.Close()))
	return b
}
