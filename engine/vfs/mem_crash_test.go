package vfs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// images collects all images after the newest operation.
func images(t tb, m *Mem, o CrashOptions) (names []string, trees map[string]string) {
	t.Helper()
	trees = map[string]string{}
	for name, img := range m.CrashImages(m.Ops(), o) {
		if _, twice := trees[name]; twice {
			t.Fatalf("two images are called %q", name)
		}
		names = append(names, name)
		trees[name] = tree(t, img)
	}
	return names, trees
}

// script drives a Mem in the tests of what is durable.
type script struct {
	t tb
	*Mem
	fault *Fault
}

func newScript(t testing.TB) *script {
	m := leakChecked(t, NewMem())
	return &script{t: t, Mem: m, fault: NewFault(m)}
}

// on opens a file for one call.
func (s *script) on(name string, f func(File) error) {
	s.t.Helper()
	file, err := s.fault.Open(name)
	ok(s.t, err)
	ok(s.t, f(file))
	ok(s.t, file.Close())
}

func (s *script) put(name, content string) { s.t.Helper(); put(s.t, s.Mem, name, content) }
func (s *script) write(name, content string, off int64) {
	s.t.Helper()
	s.on(name, func(f File) error { _, err := f.WriteAt([]byte(content), off); return err })
}
func (s *script) sync(name string)       { s.t.Helper(); s.on(name, File.Sync) }
func (s *script) syncData(name string)   { s.t.Helper(); s.on(name, File.SyncData) }
func (s *script) dir(name string)        { s.t.Helper(); ok(s.t, s.SyncDir(name)) }
func (s *script) mkdir(name string)      { s.t.Helper(); ok(s.t, s.Mkdir(name)) }
func (s *script) rename(from, to string) { s.t.Helper(); ok(s.t, s.Rename(from, to)) }
func (s *script) link(from, to string)   { s.t.Helper(); ok(s.t, s.Link(from, to)) }
func (s *script) remove(name string)     { s.t.Helper(); ok(s.t, s.Remove(name)) }
func (s *script) cut(name string, to int64) {
	s.t.Helper()
	s.on(name, func(f File) error { return f.Truncate(to) })
}
func (s *script) allocate(name string, to int64) {
	s.t.Helper()
	s.on(name, func(f File) error { return f.Preallocate(to) })
}

// failSync makes the next sync of the file fail.
func (s *script) failSync(name string) {
	s.t.Helper()
	s.fault.Fail(Rule{Kinds: OpSync})
	s.on(name, func(f File) error {
		if f.Sync() == nil {
			return fmt.Errorf("the sync did not fail")
		}
		return nil
	})
	s.fault.Clear()
}

// durable makes a file with content, and its name, durable.
func (s *script) durable(name, content string) {
	s.t.Helper()
	s.put(name, content)
	s.sync(name)
	dir, _ := splitName(name)
	s.dir(dir)
}

// TestDurable fixes what a crash certainly leaves after a program, and what it
// leaves at best.
func TestDurable(t *testing.T) {
	for _, c := range []struct {
		name       string
		run        func(s *script)
		lost, kept string // kept "": all is durable
	}{
		{"nothing synced", func(s *script) { s.put("a", "A") },
			"", "a \"A\"\n"},
		{"bytes synced, name not", func(s *script) { s.put("a", "A"); s.sync("a") },
			"", "a \"A\"\n"},
		{"name synced, bytes not", func(s *script) { s.put("a", "A"); s.dir(".") },
			"a \"\"\n", "a \"A\"\n"},
		{"both synced", func(s *script) { s.durable("a", "A") },
			"a \"A\"\n", ""},
		{"data sync of an append", func(s *script) { s.durable("a", "A"); s.write("a", "BC", 1); s.syncData("a") },
			"a \"ABC\"\n", ""},
		{"data sync behind a hole", func(s *script) { s.durable("a", "A"); s.write("a", "B", 3); s.syncData("a") },
			"a \"A\\x00\\x00B\"\n", ""},
		{"data sync and a preallocated tail", func(s *script) { s.durable("a", "A"); s.allocate("a", 4); s.write("a", "B", 1); s.syncData("a") },
			"a \"AB\"\n", "a \"AB\\x00\\x00\"\n"},
		{"sync and a preallocated tail", func(s *script) {
			s.durable("a", "A")
			s.allocate("a", 3)
			s.sync("a")
			s.write("a", "B", 1)
			s.syncData("a")
		},
			"a \"AB\\x00\"\n", ""},
		{"data sync and a cut", func(s *script) { s.durable("a", "0123456789"); s.cut("a", 4); s.write("a", "AB", 4); s.syncData("a") },
			"a \"0123AB6789\"\n", "a \"0123AB\"\n"},
		{"cut, grown again, data sync", func(s *script) { s.durable("a", "012345"); s.cut("a", 2); s.cut("a", 4); s.syncData("a") },
			"a \"012345\"\n", "a \"01\\x00\\x00\"\n"},
		{"cut and written again to the old end, data sync", func(s *script) { s.durable("a", "0123"); s.cut("a", 1); s.write("a", "X", 3); s.syncData("a") },
			"a \"012X\"\n", "a \"0\\x00\\x00X\"\n"},
		{"sync after that", func(s *script) {
			s.durable("a", "0123")
			s.cut("a", 1)
			s.write("a", "X", 3)
			s.syncData("a")
			s.sync("a")
		}, "a \"0\\x00\\x00X\"\n", ""},
		{"written, cut off, data sync", func(s *script) { s.durable("a", "01"); s.write("a", "2345", 2); s.cut("a", 3); s.syncData("a") },
			"a \"012\"\n", ""},
		{"sync makes a cut durable", func(s *script) { s.durable("a", "0123"); s.cut("a", 1); s.sync("a") },
			"a \"0\"\n", ""},
		{"rename", func(s *script) { s.durable("a", "A"); s.rename("a", "b") },
			"a \"A\"\n", "b \"A\"\n"},
		{"rename and its directory", func(s *script) { s.durable("a", "A"); s.rename("a", "b"); s.dir(".") },
			"b \"A\"\n", ""},
		{"rename over a file", func(s *script) { s.durable("a", "A"); s.durable("b", "B"); s.rename("a", "b") },
			"a \"A\"\nb \"B\"\n", "b \"A\"\n"},
		{"rename to another directory, the new one synced", func(s *script) {
			s.mkdir("d")
			s.durable("a", "A")
			s.rename("a", "d/a")
			s.dir("d")
		}, "a \"A\"\nd/\nd/a \"A\"\n", "d/\nd/a \"A\"\n"},
		{"rename to another directory, the old one synced", func(s *script) {
			s.mkdir("d")
			s.durable("a", "A")
			s.rename("a", "d/a")
			s.dir(".")
		}, "a \"A\"\nd/\n", "d/\nd/a \"A\"\n"},
		{"rename to another directory, both synced", func(s *script) {
			s.mkdir("d")
			s.durable("a", "A")
			s.rename("a", "d/a")
			s.dir("d")
			s.dir(".")
		}, "d/\nd/a \"A\"\n", ""},
		{"rename to another directory, both synced, the old one first", func(s *script) {
			s.mkdir("d")
			s.durable("a", "A")
			s.rename("a", "d/a")
			s.dir(".")
			s.dir("d")
		}, "d/\nd/a \"A\"\n", ""},
		{"a name given anew after a rename away from it", func(s *script) {
			s.mkdir("d")
			s.durable("a", "A")
			s.rename("a", "d/a")
			s.link("d/a", "a")
			s.dir(".")
		}, "a \"A\"\nd/\n", "a \"A\"\nd/\nd/a \"A\"\n"},
		{"replacement written aside", func(s *script) {
			s.durable("a", "old")
			s.put("tmp", "new")
			s.sync("tmp")
			s.rename("tmp", "a")
			s.dir(".")
		}, "a \"new\"\n", ""},
		{"replacement written aside and not synced", func(s *script) {
			s.durable("a", "old")
			s.put("tmp", "new")
			s.rename("tmp", "a")
			s.dir(".")
		}, "a \"\"\n", "a \"new\"\n"},
		{"link", func(s *script) { s.durable("a", "A"); s.link("a", "b") },
			"a \"A\"\n", "a \"A\"\nb \"A\"\n"},
		{"link and its directory", func(s *script) { s.durable("a", "A"); s.link("a", "b"); s.dir("."); s.remove("a") },
			"a \"A\"\nb \"A\"\n", "b \"A\"\n"},
		{"remove", func(s *script) { s.durable("a", "A"); s.remove("a") },
			"a \"A\"\n", "\n"},
		{"remove and its directory", func(s *script) { s.durable("a", "A"); s.remove("a"); s.dir(".") },
			"", ""},
		{"removed and made again", func(s *script) { s.durable("a", "A"); s.remove("a"); s.put("a", "B"); s.sync("a") },
			"a \"A\"\n", "a \"B\"\n"},
		{"a directory without its own name", func(s *script) { s.mkdir("d"); s.put("d/a", "A"); s.sync("d/a"); s.dir("d") },
			"", "d/\nd/a \"A\"\n"},
		{"a directory with its name", func(s *script) {
			s.mkdir("d")
			s.put("d/a", "A")
			s.sync("d/a")
			s.dir("d")
			s.dir(".")
		}, "d/\nd/a \"A\"\n", ""},
		{"a failed sync and a good one", func(s *script) {
			s.durable("a", "0123")
			s.write("a", "XY", 1)
			s.failSync("a")
			s.sync("a")
			s.syncData("a")
		}, "a \"0123\"\n", "a \"0XY3\"\n"},
		{"a failed sync, all written again", func(s *script) {
			s.durable("a", "0123")
			s.write("a", "XY", 1)
			s.failSync("a")
			s.write("a", "XY", 1)
			s.syncData("a")
		}, "a \"0XY3\"\n", ""},
		{"a failed sync, some written again", func(s *script) {
			s.durable("a", "01234567")
			s.write("a", "VWXYZ", 1)
			s.failSync("a")
			s.write("a", "x", 3)
			s.sync("a")
		}, "a \"012x4567\"\n", "a \"0VWxYZ67\"\n"},
		{"a failed sync of an append, a good one behind it", func(s *script) {
			s.durable("a", "01")
			s.write("a", "23", 2)
			s.failSync("a")
			s.write("a", "45", 4)
			s.syncData("a")
		}, "a \"01\\x00\\x0045\"\n", "a \"012345\"\n"},
		{"a failed sync, the bytes cut off", func(s *script) {
			s.durable("a", "01")
			s.write("a", "23", 2)
			s.failSync("a")
			s.cut("a", 2)
			s.sync("a")
		}, "a \"01\"\n", ""},
		{"a failed sync of a size", func(s *script) {
			s.durable("a", "01")
			s.allocate("a", 4)
			s.failSync("a")
			s.sync("a")
		}, "a \"01\\x00\\x00\"\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			c.run(s)
			names, trees := images(t, s.Mem, CrashOptions{})
			if c.kept == "" {
				if !slices.Equal(names, []string{"synced"}) || trees["synced"] != c.lost {
					t.Fatalf("images %q\nwant only synced, as\n%s", trees, c.lost)
				}
			} else if c.kept == "\n" {
				c.kept = ""
			}
			if names[0] == "lost" && (trees["lost"] != c.lost || trees["kept"] != c.kept) {
				t.Errorf("lost:\n%swant\n%skept:\n%swant\n%s", trees["lost"], c.lost, trees["kept"], c.kept)
			}
			if now := tree(t, s.Mem); now != trees[names[min(1, len(names)-1)]] {
				t.Errorf("kept is not what programs see:\n%s", now)
			}
			// The same from the journal.
			if again := s.At(s.Ops()); tree(t, again) != tree(t, s.Mem) {
				t.Error("At gives another state")
			}
		})
	}
}

// TestCrashImageNames fixes the list of images for one crash.
func TestCrashImageNames(t *testing.T) {
	s := newScript(t)
	s.durable("log", strings.Repeat(".", 100))
	s.mkdir("d")
	s.put("d/x", "12345")
	s.allocate("log", 8192)
	s.write("log", strings.Repeat("a", 1000), 4000)
	s.write("log", strings.Repeat("b", 1300), 5000)
	names, trees := images(t, s.Mem, CrashOptions{
		Mixtures:   2,
		Boundaries: func(op Op) []int64 { return []int64{op.Off, op.Off + 8, 5632, op.Off + op.Size, 1 << 40} },
	})
	want := []string{
		"lost", "kept", "sizes",
		"without op 5: mkdir d",
		"without op 6: create d/x",
		"without op 7: write d/x [0,5)",
		"without op 8: preallocate log size=8192",
		"without op 9: write log [4000,5000)",
		"without op 10: write log [5000,6300)",
		"without op 9: write log [4000,4096)",
		"without op 9: write log [4096,5000)",
		"cut op 10: write log off=5000 len=1300 at 5001",
		"cut op 10: write log off=5000 len=1300 at 5007",
		"cut op 10: write log off=5000 len=1300 at 5008",
		"cut op 10: write log off=5000 len=1300 at 5009",
		"cut op 10: write log off=5000 len=1300 at 5120",
		"cut op 10: write log off=5000 len=1300 at 5631",
		"cut op 10: write log off=5000 len=1300 at 5632",
		"cut op 10: write log off=5000 len=1300 at 5633",
		"cut op 10: write log off=5000 len=1300 at 6144",
		"cut op 10: write log off=5000 len=1300 at 6299",
		"mixture 0 seed 0",
		"mixture 1 seed 0",
	}
	if !slices.Equal(names, want) {
		t.Errorf("images\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	log := func(parts ...any) string {
		var b strings.Builder
		for i := 0; i < len(parts); i += 2 {
			b.WriteString(strings.Repeat(parts[i].(string), parts[i+1].(int)))
		}
		return fmt.Sprintf("log %q\n", b.String())
	}
	for name, want := range map[string]string{
		"lost":                          log(".", 100),
		"kept":                          "d/\nd/x \"12345\"\n" + log(".", 100, "\x00", 3900, "a", 1000, "b", 1300, "\x00", 1892),
		"sizes":                         "d/\nd/x \"\\x00\\x00\\x00\\x00\\x00\"\n" + log(".", 100, "\x00", 8092),
		"without op 5: mkdir d":         log(".", 100, "\x00", 3900, "a", 1000, "b", 1300, "\x00", 1892),
		"without op 6: create d/x":      "d/\n" + log(".", 100, "\x00", 3900, "a", 1000, "b", 1300, "\x00", 1892),
		"without op 7: write d/x [0,5)": "d/\nd/x \"\"\n" + log(".", 100, "\x00", 3900, "a", 1000, "b", 1300, "\x00", 1892),
		"without op 8: preallocate log size=8192":        "d/\nd/x \"12345\"\n" + log(".", 100, "\x00", 3900, "a", 1000, "b", 1300),
		"without op 9: write log [4000,4096)":            "d/\nd/x \"12345\"\n" + log(".", 100, "\x00", 3996, "a", 904, "b", 1300, "\x00", 1892),
		"cut op 10: write log off=5000 len=1300 at 5001": "d/\nd/x \"12345\"\n" + log(".", 100, "\x00", 3900, "a", 1000, "b", 1, "\x00", 3191),
	} {
		if trees[name] != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, trees[name], want)
		}
	}
}

// TestCrashImageBounds checks Max, the options' defaults and the range of n.
func TestCrashImageBounds(t *testing.T) {
	s := newScript(t)
	s.durable("log", "")
	s.write("log", strings.Repeat("x", 100_000), 0)
	count := func(n int, o CrashOptions) (all, cuts, losses int) {
		for name := range s.CrashImages(n, o) {
			all++
			if strings.HasPrefix(name, "cut") {
				cuts++
			}
			if strings.HasPrefix(name, "without") {
				losses++
			}
		}
		return all, cuts, losses
	}
	// 195 multiples of 512, one of which is the loss of the last block.
	if _, cuts, losses := count(s.Ops(), CrashOptions{}); cuts != 194 || losses != 25 {
		t.Errorf("%d cuts, %d losses by default", cuts, losses)
	}
	if all, cuts, losses := count(s.Ops(), CrashOptions{Max: 10, Mixtures: -1}); cuts != 10 || losses != 10 || all != 22+1 {
		t.Errorf("%d images, %d cuts, %d losses with Max 10", all, cuts, losses)
	}
	if all, _, _ := count(s.Ops()+1, CrashOptions{}); all != 0 {
		t.Errorf("%d images of the future", all)
	}
	if all, _, _ := count(-1, CrashOptions{}); all != 0 {
		t.Errorf("%d images before the first operation", all)
	}
	if all, _, _ := count(0, CrashOptions{}); all != 1 {
		t.Errorf("%d images of the empty file system", all)
	}
	for range s.CrashImages(s.Ops(), CrashOptions{}) {
		break // a caller may stop
	}
}

// TestImageIsFresh checks that an image is a working file system of its own.
func TestImageIsFresh(t *testing.T) {
	s := newScript(t)
	s.durable("a", strings.Repeat("a", 10_000))
	l, err := s.Lock("LOCK")
	ok(t, err)
	s.write("a", "unsynced", 5000)
	before := tree(t, s.Mem)
	n := s.Ops()
	for name, img := range s.CrashImages(n, CrashOptions{Seed: 7}) {
		if img.Ops() != 0 || len(img.OpenFiles()) != 0 {
			t.Fatalf("%s: %d operations, %q open", name, img.Ops(), img.OpenFiles())
		}
		il, err := img.Lock("LOCK") // no lock survives
		ok(t, err)
		ok(t, il.Write([]byte("image")))
		file, err := img.Open("a")
		ok(t, err)
		write(t, file, "second", 5000)
		inner := img.Ops()
		for second, img2 := range img.CrashImages(inner, CrashOptions{}) {
			got := content(t, img2, "a")
			if g := got[5000:5006]; g != "second" && g != "aaaaaa" && g != "unsync" {
				t.Fatalf("%s, then %s: %q", name, second, g)
			}
		}
		ok(t, file.SyncData())
		ok(t, file.Close())
		ok(t, il.Close())
	}
	if tree(t, s.Mem) != before || s.Ops() != n {
		t.Error("work on images changed the original")
	}
	ok(t, l.Close())
}
