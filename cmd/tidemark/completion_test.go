package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCompletions(t *testing.T) {
	names := []string{"orders", "order", "q t", "tempo", "selection", "É"}
	for _, tc := range []struct {
		line string
		want []string
	}{
		{"", nil}, {"SELECT ", nil},
		{".ta", []string{".tables"}}, {".re", []string{".read"}}, {".x", nil}, {".o", []string{".once", ".output"}},
		{".schema ord", []string{".schema orders", `.schema "order"`}},
		{"sel", []string{"selection", "select"}},
		{"SEL", []string{"selection", "SELECT"}},
		{"SELECT * FROM ord", []string{"SELECT * FROM orders", `SELECT * FROM "order"`, "SELECT * FROM order"}},
		{"SELECT * FROM q", []string{`SELECT * FROM "q t"`, "SELECT * FROM query"}},
		{`SELECT * FROM "q`, []string{`SELECT * FROM "q t"`}},
		{`SELECT "q t".a, o`, []string{`SELECT "q t".a, orders`, `SELECT "q t".a, "order"`, `SELECT "q t".a, of`, `SELECT "q t".a, offset`, `SELECT "q t".a, on`,
			`SELECT "q t".a, or`, `SELECT "q t".a, order`, `SELECT "q t".a, others`, `SELECT "q t".a, outer`, `SELECT "q t".a, over`}},
		{"select count(tem", []string{"select count(tempo", "select count(temp", "select count(temporary"}},
		{"zzz", nil},
	} {
		if got := completions(tc.line, names); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.line, got, tc.want)
		}
	}
}

// A session completes the names that are there now.
func TestCompletionOfSession(t *testing.T) {
	dir := newStore(t)
	s := &shell{std: streams{strings.NewReader(""), io.Discard, io.Discard}, explain: "auto", format: defaultFormat(), dir: dir, names: &nameCache{}}
	db, err := openStore(t.Context(), dir, "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if s.conn, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.conn.Close()
	before := s.complete(t.Context(), "SELECT zeb")
	for _, st := range splitScript("CREATE TABLE zebra(stripes, zeal); CREATE TEMP TABLE zebu(x)") {
		if _, err := s.conn.ExecContext(t.Context(), st.text); err != nil {
			t.Fatal(err)
		}
	}
	s.names.forget()
	got := append(before, s.complete(t.Context(), "SELECT ze")...)
	got = append(got, s.complete(t.Context(), "SELECT str")...)
	if want := []string{"SELECT zebra", "SELECT zebu", "SELECT zeal", "SELECT stripes"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "tidemark", "history")
	if err := readHistory(path, func(io.Reader) (int, error) { return 0, errors.New("called") }); err != nil {
		t.Errorf("no history: %v", err)
	}
	for _, text := range []string{"SELECT 1;\n", "SELECT 2;\n"} {
		if err := writeHistory(path, func(w io.Writer) (int, error) { return io.WriteString(w, text) }); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err := readHistory(path, func(r io.Reader) (int, error) {
			n, err := b.ReadFrom(r)
			return int(n), err
		})
		if err != nil || b.String() != text {
			t.Errorf("history %q, want %q, %v", b.String(), text, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the history: %v, %v", info.Mode(), err)
	}
	// A history that cannot be written is whole, and an error.
	broken := errors.New("broken")
	if err := writeHistory(path, func(io.Writer) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files left: %v, %v", left, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "SELECT 2;\n" {
		t.Errorf("history %q, %v", b, err)
	}
	if err := writeHistory(filepath.Join(path, "below"), func(io.Writer) (int, error) { return 0, nil }); err == nil {
		t.Error("a file served as a folder")
	}
}

func TestHistoryPath(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	if got, err := historyPath(); err != nil || got != filepath.Join("/state", "tidemark", "history") {
		t.Errorf("%s, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	t.Setenv("AppData", config)
	if got, err := historyPath(); err != nil || !strings.HasPrefix(got, config) || filepath.Base(got) != "history" {
		t.Errorf("%s, %v", got, err)
	}
}
