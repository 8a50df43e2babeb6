package driver

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A path that cannot be a store is refused with the path and why, and nothing
// is made.
func TestResolvePathRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	type refusal struct {
		path  string
		mode  string
		words []string
	}
	cases := []refusal{
		{filepath.Join(dir, "a", "b"), "", []string{filepath.Join(dir, "a"), "parent", "does not exist"}},
		{filepath.Join(dir, "a", "b"), "rw", []string{filepath.Join(dir, "a"), "parent"}},
		{filepath.Join(file, "b"), "", []string{file, "not a directory"}},
		{file, "", []string{file, "is a file", "directory"}},
		{dangling, "", []string{"symbolic link to nothing"}},
		{filepath.Join(dir, "missing"), "rw", []string{"no store", "mode=rwc"}},
		{filepath.Join(dir, strings.Repeat("n", 300)), "", []string{"too long"}},
		{filepath.Join(dir, strings.Repeat("n/", 2500)), "", []string{"too long"}},
	}
	if runtime.GOOS != "windows" {
		cases = append(cases, refusal{os.DevNull, "", []string{os.DevNull, "device"}})
		socket := filepath.Join(dir, "socket")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		cases = append(cases, refusal{socket, "", []string{"socket"}})
		fifo := filepath.Join(dir, "fifo")
		if makeFifo(fifo) {
			cases = append(cases, refusal{fifo, "", []string{"fifo"}})
		}
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		_, err := resolvePath(Config{Path: tc.path, Mode: tc.mode})
		if !errors.Is(err, ErrCantOpen) {
			t.Errorf("%.80s: %v is not ErrCantOpen", tc.path, err)
			continue
		}
		for _, w := range tc.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%.80s: %q does not name %q", tc.path, err, w)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80s: more than one line: %q", tc.path, err)
		}
	}
	after, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("a refused path left something: %v, before %v", after, before)
	}
}

// Whatever name leads to a directory, the engine is found under one.
func TestResolvePathIsOneName(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "store ?%#")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	t.Chdir(dir)
	names := []string{store, store + "/", filepath.Join(link, "store ?%#"), "store ?%#", "./x/../store ?%#"}
	check := func(when string) {
		t.Helper()
		for _, name := range names {
			if got, err := resolvePath(Config{Path: name}); err != nil || got != store {
				t.Errorf("%s: %q is %q, %v; want %q", when, name, got, err, store)
			}
		}
	}
	check("missing")
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	check("existing")
}
