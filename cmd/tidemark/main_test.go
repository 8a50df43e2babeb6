package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver"
)

// The demonstration starts its own program again as the child; under test that
// is the test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == demoWriter || os.Getenv(asCommand) != "") {
		main()
	}
	os.Exit(m.Run())
}

// asCommand is set for a process of this program that is to be the command.
const asCommand = "TIDEMARK_TEST_COMMAND"

// tidemark runs one command line in this process.
func tidemark(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(t.Context(), args, streams{strings.NewReader(stdin), &out, &err})
	return status, out.String(), err.String()
}

// must runs one command line that succeeds and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	status, out, stderr := tidemark(t, "", args...)
	if status != statusDone {
		t.Fatalf("tidemark %q: status %d, %s", args, status, stderr)
	}
	return out
}

// newStore makes a store with a few rows and returns its directory.
func newStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	must(t, "sql", dir, `CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE, d DATETIME);
		INSERT INTO t(a, d) VALUES('x', '2024-01-01 00:00:00'), (NULL, NULL), ('z''z', 'soon')`)
	return dir
}

// A refusal exits with 2 and prints exactly one line, which names what to do.
func TestRefusals(t *testing.T) {
	dir := newStore(t)
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(csv, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args  []string
		words []string
	}{
		{nil, []string{"sql", "inspect", "check", "slt", "demo"}},
		{[]string{"frobnicate"}, []string{"frobnicate", "sql", "check"}},
		{[]string{"migrate", dir, missing}, []string{missing, "no folder"}},
		{[]string{"migrate", dir}, []string{"migrate", "up"}},
		{[]string{"migrate", dir, t.TempDir(), "sideways"}, []string{"sideways", "down"}},
		{[]string{"sql", dir}, []string{"directory", "statements"}},
		{[]string{"sql", "-nope", dir, "SELECT 1"}, []string{"-nope", "-mode"}},
		{[]string{"sql", "-mode", "csv", dir, "SELECT 1"}, []string{"csv", "list or table"}},
		{[]string{"sql", filepath.Join(missing, "below"), "SELECT 1"}, []string{missing, "parent"}},
		{[]string{"sql", file, "SELECT 1"}, []string{file, "directory"}},
		{[]string{"sql", "", "SELECT 1"}, []string{"directory", "empty"}},
		{[]string{"sql", dir, "INSERT INTO tidemark_jobs(kind) VALUES('gc') RETURNING job_id"}, []string{"RETURNING", "not yet available"}},
		{[]string{"inspect"}, []string{"directory"}},
		{[]string{"inspect", missing}, []string{missing}},
		{[]string{"check", missing}, []string{missing}},
		{[]string{"check", missing + "?sync=off"}, []string{missing, "DSN", "directory"}},
		{[]string{"sql", missing + "?sync=off", "SELECT 1"}, []string{missing, "DSN", "directory"}},
		{[]string{"import", missing + "?sync=off", csv}, []string{missing, "DSN", "directory"}},
		{[]string{"demo", missing + "?sync=off"}, []string{missing, "DSN", "directory"}},
		{[]string{"check", filepath.Dir(file)}, []string{"no catalog.db", filepath.Dir(file), "tidemark sql"}},
		{[]string{"check", dir, dir}, []string{"one argument"}},
		{[]string{"demo", dir}, []string{dir, "exists"}},
		{[]string{"slt"}, []string{"files", "-h"}},
		{[]string{"slt", missing}, []string{missing}},
		{[]string{"slt", "-reopen", "3", "-dsn", "fixed", file}, []string{"-reopen", "%t", "fixed"}},
		{[]string{"slt", "-skip", "(", file}, []string{"-skip"}},
		{[]string{"slt", "-baseline", missing, file}, []string{"-baseline", missing}},
		{[]string{"slt", t.TempDir()}, []string{".test"}},
	} {
		status, out, stderr := tidemark(t, "", tc.args...)
		if status != statusRefused {
			t.Errorf("tidemark %q: status %d, want %d; %s", tc.args, status, statusRefused, stderr)
		}
		if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") {
			t.Errorf("tidemark %q: %q is not one line", tc.args, stderr)
		}
		if out != "" {
			t.Errorf("tidemark %q: prints %q", tc.args, out)
		}
		if strings.Contains(stderr, "mode=") || strings.Contains(stderr, "statat") {
			t.Errorf("tidemark %q: %q speaks of what a command's user does not have", tc.args, stderr)
		}
		for _, w := range tc.words {
			if !strings.Contains(stderr, w) {
				t.Errorf("tidemark %q: %q does not name %q", tc.args, stderr, w)
			}
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a refused command made a directory")
	}
}

func TestStatusOf(t *testing.T) {
	open := func(code driver.Code) error {
		return &driver.Error{Op: "open", Code: int(code), Extended: int(code), Err: errors.New("why")}
	}
	for _, tc := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), statusFailed},
		{errFindings, statusFailed},
		{misuse("x"), statusRefused},
		{fmt.Errorf("outer: %w", misuse("x")), statusRefused},
		{open(driver.ErrCantOpen), statusRefused},
		{open(driver.ErrBusy), statusRefused},
		{open(driver.ErrNoMem), statusRefused},
		{open(driver.ErrCorrupt), statusFailed},
		{open(driver.ErrIO), statusFailed},
		{&driver.Error{Op: "exec", Code: int(driver.ErrBusy), Err: errors.New("x")}, statusFailed},
		{fmt.Errorf("x: %w", driver.ErrNotAvailable), statusRefused},
		{fmt.Errorf("%w: %w", driver.ErrOutcomeUnknown, driver.ErrPoisoned), statusPoisoned},
		{&driver.Error{Op: "open", Code: int(driver.ErrIO), Err: driver.ErrPoisoned}, statusPoisoned},
	} {
		if got := statusOf(tc.err); got != tc.want {
			t.Errorf("%v: status %d, want %d", tc.err, got, tc.want)
		}
	}
}

// What failed exits with 1 and says why.
func TestFailures(t *testing.T) {
	dir := newStore(t)
	for _, tc := range []struct{ statement, word string }{
		{"SELEC 1", "syntax error"},
		{"SELECT * FROM nowhere", "no such table: nowhere"},
		{"INSERT INTO t(a) VALUES('x')", "UNIQUE constraint failed: t.a"},
	} {
		status, _, stderr := tidemark(t, "", "sql", dir, tc.statement)
		if status != statusFailed || !strings.Contains(stderr, tc.word) {
			t.Errorf("%s: status %d, %q", tc.statement, status, stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, arg := range []string{"help", "-h", "--help"} {
		out := must(t, arg)
		for _, c := range commands {
			if !strings.Contains(out, "tidemark "+c.name) {
				t.Errorf("%s does not tell of %s", arg, c.name)
			}
		}
	}
	if out := must(t, "slt", "-h"); !strings.Contains(out, "-reopen") {
		t.Errorf("slt -h prints %q", out)
	}
}
