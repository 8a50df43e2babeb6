package vfs

import (
	"errors"
	"io/fs"
	"runtime"
	"testing"
)

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
