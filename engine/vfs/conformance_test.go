package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
)

// TestConformance runs one suite over every implementation and wrapper.
func TestConformance(t *testing.T) {
	impls := map[string]func(t *testing.T) FS{
		"os":         func(t *testing.T) FS { return OS(t.TempDir()) },
		"mem":        func(t *testing.T) FS { return leakChecked(t, NewMem()) },
		"fault(mem)": func(t *testing.T) FS { return NewFault(leakChecked(t, NewMem())) },
		"fault(os) with a quota": func(t *testing.T) FS {
			f := NewFault(OS(t.TempDir()))
			f.SetSpace(1 << 30)
			return f
		},
		"trace(os)": func(t *testing.T) FS { return NewTrace(OS(t.TempDir())) },
		"image of mem": func(t *testing.T) FS {
			for _, img := range NewMem().CrashImages(0, CrashOptions{}) {
				return leakChecked(t, img)
			}
			t.Fatal("no image")
			return nil
		},
	}
	for name, make := range impls {
		t.Run(name, func(t *testing.T) {
			for _, c := range conformance {
				t.Run(c.name, func(t *testing.T) {
					c.run(t, make(t))
				})
			}
		})
	}
}

// leakChecked fails the test when a file of m is still open at its end.
func leakChecked(t testing.TB, m *Mem) *Mem {
	t.Cleanup(func() {
		if open := m.OpenFiles(); len(open) > 0 {
			t.Errorf("left open: %q", open)
		}
	})
	return m
}

var conformance = []struct {
	name string
	run  func(*testing.T, FS)
}{
	{"names", testNames},
	{"create and open", testCreate},
	{"read and write", testReadWrite},
	{"sizes", testSizes},
	{"preallocate", testPreallocate},
	{"rename", testRename},
	{"link", testLink},
	{"remove", testRemove},
	{"directories", testDirectories},
	{"lock", testLock},
	{"map", testMap},
	{"read only", testReadOnly},
	{"closed", testClosed},
	{"concurrency", testConcurrency},
}

func testReadWrite(t *testing.T, f FS) {
	file := create(t, f, "a", "0123456789")
	defer file.Close()
	read := func(off int64, n int) (string, error) {
		p := make([]byte, n)
		n, err := file.ReadAt(p, off)
		return string(p[:n]), err
	}
	for _, c := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, 10, "0123456789", nil},
		{3, 4, "3456", nil},
		{8, 4, "89", io.EOF},
		{10, 1, "", io.EOF},
		{1000, 1, "", io.EOF},
		{0, 0, "", nil},
	} {
		if got, err := read(c.off, c.n); got != c.want || c.err != nil && err != c.err {
			t.Errorf("read %d at %d: %q, %v; want %q, %v", c.n, c.off, got, err, c.want, c.err)
		}
	}
	if _, err := read(-1, 1); err == nil {
		t.Error("read at a negative offset")
	}
	if _, err := file.WriteAt([]byte("x"), -1); err == nil {
		t.Error("wrote at a negative offset")
	}
	// A hole reads as zeros.
	write(t, file, "end", 10_000)
	want := "0123456789" + strings.Repeat("\x00", 9990) + "end"
	wantContent(t, f, "a", want)
	// Across pages, and over what is there.
	long := strings.Repeat("abcdefg", 2000)
	write(t, file, long, 4090)
	wantContent(t, f, "a", want[:4090]+long)
	// The file system does not keep the caller's buffer.
	buf := []byte("mine")
	_, err := file.WriteAt(buf, 0)
	ok(t, err)
	copy(buf, "XXXX")
	if got, _ := read(0, 4); got != "mine" {
		t.Errorf("a buffer changed after the write shows in the file: %q", got)
	}
	ok(t, file.SyncData())
	ok(t, file.Sync())
	// Two handles see each other's writes.
	other, err := f.Open("a")
	ok(t, err)
	write(t, other, "HI", 1)
	ok(t, other.Close())
	file.AdviseRandom() // it changes nothing that is read
	file.WriteBack(0, 2)
	file.WriteBack(2, 1<<20)
	file.WriteBack(-1, 1)
	file.WriteBack(0, 0)
	if got, _ := read(0, 4); got != "mHIe" {
		t.Errorf("other handle's write reads %q", got)
	}
}

func wantSize(t tb, file File, want int64) {
	t.Helper()
	size, err := file.Size()
	ok(t, err)
	if size != want {
		t.Fatalf("size %d, want %d", size, want)
	}
}

func testSizes(t *testing.T, f FS) {
	file := create(t, f, "a", "0123456789")
	defer file.Close()
	wantSize(t, file, 10)
	ok(t, file.Truncate(4))
	wantSize(t, file, 4)
	info, err := f.Stat("a")
	ok(t, err)
	if info != (Info{Name: "a", Size: 4}) {
		t.Fatalf("stat %+v", info)
	}
	// What was cut does not come back.
	ok(t, file.Truncate(8))
	wantContent(t, f, "a", "0123\x00\x00\x00\x00")
	write(t, file, strings.Repeat("z", 300_000), 8)
	ok(t, file.Truncate(5000))
	ok(t, file.Truncate(300_000))
	wantContent(t, f, "a", "0123\x00\x00\x00\x00"+strings.Repeat("z", 4992)+strings.Repeat("\x00", 295_000))
	ok(t, file.Truncate(0))
	wantContent(t, f, "a", "")
	if file.Truncate(-1) == nil {
		t.Fatal("cut to a negative size")
	}
	wantSize(t, file, 0)
}

func testPreallocate(t *testing.T, f FS) {
	file := create(t, f, "a", "head")
	defer file.Close()
	ok(t, file.Preallocate(70_000))
	wantContent(t, f, "a", "head"+strings.Repeat("\x00", 69_996))
	write(t, file, "tail", 69_996)
	ok(t, file.Preallocate(100)) // never shorter
	wantSize(t, file, 70_000)
	ok(t, file.Preallocate(0))
	wantSize(t, file, 70_000)
	wantContent(t, f, "a", "head"+strings.Repeat("\x00", 69_992)+"tail")
	if file.Preallocate(-1) == nil {
		t.Fatal("preallocated a negative size")
	}
	// After a cut the tail is zeros again.
	ok(t, file.Truncate(2))
	ok(t, file.Preallocate(80_000))
	wantContent(t, f, "a", "he"+strings.Repeat("\x00", 79_998))
}

func testReadOnly(t *testing.T, f FS) {
	put(t, f, "a", "A")
	file, err := f.OpenRead("a")
	ok(t, err)
	defer file.Close()
	if _, err := file.WriteAt([]byte("x"), 0); err == nil {
		t.Error("wrote to a read-only file")
	}
	if file.Truncate(0) == nil {
		t.Error("cut a read-only file")
	}
	if file.Preallocate(100) == nil {
		t.Error("preallocated a read-only file")
	}
	m, err := file.Map()
	ok(t, err)
	ok(t, m.Close())
	wantContent(t, f, "a", "A")
}

func testClosed(t *testing.T, f FS) {
	file := create(t, f, "a", "A")
	ok(t, file.Close())
	file.AdviseRandom() // nothing happens
	file.WriteBack(0, 1)
	calls := map[string]error{
		"close":       file.Close(),
		"truncate":    file.Truncate(0),
		"preallocate": file.Preallocate(10),
		"sync":        file.Sync(),
		"syncdata":    file.SyncData(),
	}
	_, calls["read"] = file.ReadAt(make([]byte, 1), 0)
	_, calls["write"] = file.WriteAt([]byte("x"), 0)
	_, calls["size"] = file.Size()
	_, calls["map"] = file.Map()
	for call, err := range calls {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s of a closed file: %v, want fs.ErrClosed", call, err)
		}
	}
	wantContent(t, f, "a", "A")
}

func testConcurrency(t *testing.T, f FS) {
	const workers, rounds, part = 8, 30, 1500
	file := create(t, f, "shared", "")
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			own := fmt.Sprintf("own%d", w)
			want := bytes.Repeat([]byte{byte('a' + w)}, part)
			got := make([]byte, part)
			for i := range rounds {
				if _, err := file.WriteAt(want, int64(w*part)); err != nil {
					t.Error(err)
				}
				if err := file.SyncData(); err != nil {
					t.Error(err)
				}
				if _, err := file.ReadAt(got, int64(w*part)); err != nil || !bytes.Equal(got, want) {
					t.Errorf("worker %d round %d reads back something else: %v", w, i, err)
				}
				if o, err := f.Create(own); err != nil {
					t.Error(err)
				} else if err := errors.Join(o.Preallocate(5000), o.Close(), f.Rename(own, own+"r"), f.SyncDir("."), f.Remove(own+"r")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ok(t, file.Close())
	wantList(t, f, ".", "shared")
	text := content(t, f, "shared")
	for w := range workers {
		if text[w*part:(w+1)*part] != strings.Repeat(string(rune('a'+w)), part) {
			t.Errorf("part %d is damaged", w)
		}
	}
}
