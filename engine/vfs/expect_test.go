package vfs

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

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
