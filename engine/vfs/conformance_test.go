package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
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

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Helpers that fail the test at once.

func ok(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t tb, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want one that matches %v", err, want)
	}
}

func create(t tb, f FS, name, content string) File {
	t.Helper()
	file, err := f.Create(name)
	ok(t, err)
	write(t, file, content, 0)
	return file
}

func write(t tb, f File, content string, off int64) {
	t.Helper()
	n, err := f.WriteAt([]byte(content), off)
	ok(t, err)
	if n != len(content) {
		t.Fatalf("wrote %d of %d bytes without an error", n, len(content))
	}
}

func put(t tb, f FS, name, content string) {
	t.Helper()
	ok(t, create(t, f, name, content).Close())
}

// content reads a whole file.
func content(t tb, f FS, name string) string {
	t.Helper()
	file, err := f.OpenRead(name)
	ok(t, err)
	defer func() { ok(t, file.Close()) }()
	size, err := file.Size()
	ok(t, err)
	p, err := io.ReadAll(io.NewSectionReader(file, 0, size+1))
	ok(t, err)
	return string(p)
}

func wantContent(t tb, f FS, name, want string) {
	t.Helper()
	if got := content(t, f, name); got != want {
		t.Fatalf("%s holds %q, want %q", name, short(got), short(want))
	}
}

func short(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%s… (%d bytes)", s[:80], len(s))
	}
	return s
}

func wantList(t tb, f FS, dir string, want ...string) {
	t.Helper()
	got, err := f.List(dir)
	ok(t, err)
	if !slices.Equal(got, want) {
		t.Fatalf("%s holds %q, want %q", dir, got, want)
	}
}

// tree is the whole file system as text, to compare two.
func tree(t tb, f FS) string {
	t.Helper()
	var b strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		names, err := f.List(dir)
		ok(t, err)
		for _, name := range names {
			if dir != "." {
				name = dir + "/" + name
			}
			info, err := f.Stat(name)
			ok(t, err)
			if info.Dir {
				fmt.Fprintf(&b, "%s/\n", name)
				walk(name)
			} else {
				fmt.Fprintf(&b, "%s %q\n", name, content(t, f, name))
			}
		}
	}
	walk(".")
	return b.String()
}

// The cases.

func testNames(t *testing.T, f FS) {
	for _, name := range []string{"", "/x", "../x", "a/../b", "a//b", "a/", "./a", "a/./b", "..", "a/.."} {
		calls := map[string]error{}
		_, calls["create"] = f.Create(name)
		_, calls["open"] = f.Open(name)
		_, calls["openread"] = f.OpenRead(name)
		_, calls["list"] = f.List(name)
		_, calls["stat"] = f.Stat(name)
		_, calls["lock"] = f.Lock(name)
		calls["mkdir"] = f.Mkdir(name)
		calls["remove"] = f.Remove(name)
		calls["syncdir"] = f.SyncDir(name)
		calls["rename from"] = f.Rename(name, "x")
		calls["link to"] = f.Link("x", name)
		for call, err := range calls {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s(%q) = %v, want fs.ErrInvalid", call, name, err)
			}
		}
	}
	// The root can be listed and synced, and nothing else.
	_, err := f.Create(".")
	wantErr(t, err, fs.ErrInvalid)
	wantErr(t, f.Remove("."), fs.ErrInvalid)
	wantErr(t, f.Rename(".", "x"), fs.ErrInvalid)
	_, err = f.Lock(".")
	wantErr(t, err, fs.ErrInvalid)
	ok(t, f.Mkdir("."))
	ok(t, f.SyncDir("."))
	wantList(t, f, ".")
	for _, name := range []string{"ordinary.kv", "with space", "ünïcode", "..dots", "a.b-c_d"} {
		put(t, f, name, name)
		wantContent(t, f, name, name)
	}
}

func testCreate(t *testing.T, f FS) {
	put(t, f, "a", "one")
	_, err := f.Create("a")
	wantErr(t, err, fs.ErrExist)
	wantContent(t, f, "a", "one")
	for _, open := range []func(string) (File, error){f.Open, f.OpenRead} {
		_, err = open("b")
		wantErr(t, err, fs.ErrNotExist)
		_, err = open("no/b")
		wantErr(t, err, fs.ErrNotExist)
	}
	_, err = f.Create("no/b")
	wantErr(t, err, fs.ErrNotExist)
	if _, err = f.Create("a/b"); err == nil {
		t.Fatal("a file was made below a file")
	}
	ok(t, f.Mkdir("d"))
	_, err = f.Create("d")
	wantErr(t, err, fs.ErrExist)
	for _, open := range []func(string) (File, error){f.Open, f.OpenRead} {
		if _, err := open("d"); err == nil {
			t.Fatal("a directory was opened as a file")
		}
	}
	file, err := f.Open("a")
	ok(t, err)
	write(t, file, "ONE!", 0)
	ok(t, file.Close())
	wantContent(t, f, "a", "ONE!")
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

func testRename(t *testing.T, f FS) {
	put(t, f, "a", "A")
	put(t, f, "b", "B")
	ok(t, f.Mkdir("d"))
	wantErr(t, f.Rename("none", "x"), fs.ErrNotExist)
	wantErr(t, f.Rename("a", "none/x"), fs.ErrNotExist)
	file, err := f.Open("a")
	ok(t, err)
	ok(t, f.Rename("a", "d/a"))
	wantList(t, f, ".", "b", "d")
	wantContent(t, f, "d/a", "A")
	write(t, file, "still the same", 0) // an open file follows its name
	ok(t, file.Close())
	wantContent(t, f, "d/a", "still the same")
	ok(t, f.Rename("d/a", "d/a"))
	wantContent(t, f, "d/a", "still the same")
	// Over another file.
	ok(t, f.Rename("d/a", "b"))
	wantContent(t, f, "b", "still the same")
	wantList(t, f, "d")
	if f.Rename("b", "d") == nil || f.Rename("d", "b") == nil {
		t.Fatal("a file and a directory replaced each other")
	}
	// Directories move with what they hold, and not into themselves.
	put(t, f, "d/x", "X")
	ok(t, f.Rename("d", "e"))
	wantContent(t, f, "e/x", "X")
	if f.Rename("e", "e/y") == nil {
		t.Fatal("a directory moved into itself")
	}
	ok(t, f.SyncDir("."))
	ok(t, f.SyncDir("e"))
}

func testLink(t *testing.T, f FS) {
	put(t, f, "a", "A")
	put(t, f, "b", "B")
	wantErr(t, f.Link("none", "x"), fs.ErrNotExist)
	wantErr(t, f.Link("a", "none/x"), fs.ErrNotExist)
	wantErr(t, f.Link("a", "b"), fs.ErrExist)
	wantContent(t, f, "b", "B")
	ok(t, f.Link("a", "c"))
	file, err := f.Open("c")
	ok(t, err)
	write(t, file, "both", 0)
	ok(t, file.Close())
	wantContent(t, f, "a", "both")
	// Two names of one file: a rename does nothing.
	ok(t, f.Rename("a", "c"))
	wantList(t, f, ".", "a", "b", "c")
	ok(t, f.Remove("a"))
	wantContent(t, f, "c", "both")
	ok(t, f.Mkdir("d"))
	if f.Link("d", "dd") == nil {
		t.Fatal("a directory was linked")
	}
	wantErr(t, f.Link("c", "d"), fs.ErrExist)
}

func testRemove(t *testing.T, f FS) {
	wantErr(t, f.Remove("a"), fs.ErrNotExist)
	file := create(t, f, "a", "A")
	if runtime.GOOS != "windows" {
		// An open file outlives its name.
		ok(t, f.Remove("a"))
		write(t, file, "B", 1)
		p := make([]byte, 2)
		_, err := file.ReadAt(p, 0)
		ok(t, err)
		if string(p) != "AB" {
			t.Fatalf("a removed file reads %q", p)
		}
		ok(t, file.Sync())
		put(t, f, "a", "another")
		ok(t, file.Truncate(0))
	}
	ok(t, file.Close())
	ok(t, f.Remove("a"))
	wantList(t, f, ".")
	ok(t, f.Mkdir("d"))
	put(t, f, "d/x", "X")
	if f.Remove("d") == nil {
		t.Fatal("removed a directory with a file in it")
	}
	ok(t, f.Remove("d/x"))
	ok(t, f.Remove("d"))
	_, err := f.Stat("d")
	wantErr(t, err, fs.ErrNotExist)
}

func testDirectories(t *testing.T, f FS) {
	wantErr(t, f.Mkdir("a/b"), fs.ErrNotExist)
	ok(t, f.Mkdir("a"))
	ok(t, f.Mkdir("a"))
	ok(t, f.Mkdir("a/b"))
	for _, name := range []string{"z", "m", "a", "B", "0"} {
		put(t, f, "a/b/"+name, name)
	}
	wantList(t, f, "a/b", "0", "B", "a", "m", "z")
	wantList(t, f, "a", "b")
	info, err := f.Stat("a/b")
	ok(t, err)
	if info != (Info{Name: "b", Dir: true}) {
		t.Fatalf("stat of a directory: %+v", info)
	}
	root, err := f.Stat(".")
	ok(t, err)
	if !root.Dir {
		t.Fatalf("stat of the root: %+v", root)
	}
	wantErr(t, f.Mkdir("a/b/z"), fs.ErrExist)
	_, err = f.List("none")
	wantErr(t, err, fs.ErrNotExist)
	wantErr(t, f.SyncDir("none"), fs.ErrNotExist)
	if _, err = f.List("a/b/z"); err == nil {
		t.Fatal("listed a file")
	}
	if f.SyncDir("a/b/z") == nil {
		t.Fatal("synced a file as a directory")
	}
	for _, dir := range []string{"a/b", "a", "."} {
		ok(t, f.SyncDir(dir))
	}
}

func testLock(t *testing.T, f FS) {
	l, err := f.Lock("LOCK")
	ok(t, err)
	wantList(t, f, ".", "LOCK")
	_, err = f.Lock("LOCK")
	wantErr(t, err, ErrLocked)
	for _, text := range []string{"pid 12345", "pid 1", "", "a longer text than before"} {
		ok(t, l.Write([]byte(text)))
		got, err := l.Read()
		ok(t, err)
		if string(got) != text {
			t.Fatalf("lock holds %q, want %q", got, text)
		}
		wantContent(t, f, "LOCK", text) // without the lock, too
	}
	other, err := f.Lock("OTHER")
	ok(t, err)
	ok(t, other.Close())
	ok(t, l.Close())
	wantErr(t, l.Close(), fs.ErrClosed)
	wantErr(t, l.Write(nil), fs.ErrClosed)
	_, err = l.Read()
	wantErr(t, err, fs.ErrClosed)
	// The file stays, with its contents, and can be locked again.
	l, err = f.Lock("LOCK")
	ok(t, err)
	got, err := l.Read()
	ok(t, err)
	if string(got) != "a longer text than before" {
		t.Fatalf("a lock file lost its contents: %q", got)
	}
	ok(t, l.Close())
	_, err = f.Lock("none/LOCK")
	wantErr(t, err, fs.ErrNotExist)
	ok(t, f.Mkdir("d"))
	if _, err = f.Lock("d"); err == nil {
		t.Fatal("locked a directory")
	}
	// Many at once: one at a time gets it.
	var wg sync.WaitGroup
	var mu sync.Mutex
	holders, got1 := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l, err := f.Lock("LOCK")
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if holders++; holders != 1 {
					t.Errorf("%d holders", holders)
				}
				got1++
				mu.Unlock()
				mu.Lock()
				holders--
				mu.Unlock()
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got1 == 0 {
		t.Error("nobody got the lock")
	}
}

func testMap(t *testing.T, f FS) {
	text := strings.Repeat("0123456789", 1000)
	file := create(t, f, "a", text)
	m, err := file.Map()
	ok(t, err)
	if m.Len() != len(text) {
		t.Fatalf("mapped %d bytes of %d", m.Len(), len(text))
	}
	read := func(off int64, n int) (string, error) {
		p := make([]byte, n)
		n, err := m.ReadAt(p, off)
		return string(p[:n]), err
	}
	for _, c := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, len(text), text, nil},
		{4090, 20, text[4090:4110], nil},
		{9_995, 10, "56789", io.EOF},
		{10_000, 1, "", io.EOF},
		{20_000, 1, "", io.EOF},
	} {
		if got, err := read(c.off, c.n); got != c.want || err != c.err {
			t.Errorf("map read %d at %d: %q, %v; want %q, %v", c.n, c.off, short(got), err, short(c.want), c.err)
		}
	}
	if _, err := read(-1, 1); err == nil {
		t.Error("map read at a negative offset")
	}
	// The mapping is of the file, not of a copy, and outlives handle and name.
	write(t, file, "NEW", 5)
	if got, err := read(4, 5); got != "4NEW8" || err != nil {
		t.Errorf("a write is not seen: %q, %v", got, err)
	}
	if runtime.GOOS != "windows" {
		ok(t, f.Rename("a", "b"))
		again, err := file.Map() // of a file that was renamed
		ok(t, err)
		ok(t, again.Close())
		ok(t, f.Remove("b"))
		// A cut under a mapping is an error and not a crash.
		ok(t, file.Truncate(4096))
		if got, err := read(0, 4096); err != nil || len(got) != 4096 {
			t.Errorf("what is left reads %d bytes, %v", len(got), err)
		}
		_, err = read(8192, 10)
		wantErr(t, err, ErrPageFault)
	}
	ok(t, file.Close())
	if got, err := read(0, 3); got != "012" || err != nil {
		t.Errorf("after the file was closed: %q, %v", got, err)
	}
	ok(t, m.Close())
	_, err = read(0, 1)
	wantErr(t, err, fs.ErrClosed)
	wantErr(t, m.Close(), fs.ErrClosed)

	empty := create(t, f, "empty", "")
	defer empty.Close()
	m, err = empty.Map()
	ok(t, err)
	if m.Len() != 0 {
		t.Errorf("an empty file maps %d bytes", m.Len())
	}
	if _, err := read(0, 1); err != io.EOF {
		t.Errorf("read of an empty mapping: %v", err)
	}
	ok(t, m.Close())
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

// TestOSRootMissing checks a root that does not exist yet.
func TestOSRootMissing(t *testing.T) {
	dir := t.TempDir() + "/store"
	f := OS(dir)
	_, err := f.Create("a")
	wantErr(t, err, fs.ErrNotExist)
	ok(t, f.Mkdir("."))
	put(t, f, "a", "A")
	if _, err := os.Stat(dir + "/a"); err != nil {
		t.Fatal(err)
	}
}
