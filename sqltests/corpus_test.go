package sqltests

import (
	"archive/tar"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/sqltests/slt"
)

// corpus unpacks one of the public corpora into memory: path -> text, of the
// files whose name has an end. The archives are xz-compressed, so the xz program
// must be there.
func corpus(t *testing.T, archive, end string) (names []string, texts map[string][]byte) {
	t.Helper()
	file := dataFile(t, archive)
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("SKIPPED: the program xz is not installed")
	}
	cmd := exec.Command("xz", "-dc", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	texts = map[string][]byte{}
	tr := tar.NewReader(out)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || !strings.HasSuffix(h.Name, end) {
			continue
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		texts[h.Name] = b
		names = append(names, h.Name)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if len(names) == 0 {
		t.Fatal("no script matches")
	}
	return names, texts
}

// sideBySide runs a subtest for each name, several at a time: more than there
// are cores, for much of their time goes by waiting for the disk.
func sideBySide(t *testing.T, names []string, f func(t *testing.T, name string)) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for name := range next {
				t.Run(name, func(t *testing.T) { f(t, name) })
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	wg.Wait()
}

// The records of the corpus that apply to us, and those of its smaller scripts.
const (
	corpusRecords      = 370245
	corpusSmallRecords = 11195
)

// corpusSmall are the smaller scripts.
var corpusSmall = regexp.MustCompile(`(^|/)(select[1-5]\.test|evidence/.*)$`)

// TestCorpus runs the whole public script corpus directly and through prepared
// statements, and its smaller scripts (all with TIDEMARK_CORPUS=all) with the
// store closed and opened again between statements, on tables of which only keys
// are in memory, with compactions between statements, and on volatile ones.
// Scripts run side by side, each on a store of its own.
func TestCorpus(t *testing.T) {
	names, texts := corpus(t, "slt.tar.xz", ".test")
	var small []string
	for _, name := range names {
		if corpusSmall.MatchString(name) {
			small = append(small, name)
		}
	}
	all := os.Getenv("TIDEMARK_CORPUS") == "all"
	for _, m := range []struct {
		name    string
		query   string // of the DSN
		o       slt.Options
		small   bool
		compact bool // every time, and only every other time opened again
	}{
		{"direct", "", slt.Options{}, testing.Short(), false},
		{"prepare", "", slt.Options{Prepare: true}, testing.Short(), false},
		{"reopen", "generation_size=16KiB", slt.Options{ReopenEvery: 50}, !all, false},
		{"keys", "resident=keys&generation_size=16KiB", slt.Options{ReopenEvery: 100}, !all, true},
		{"volatile", "", slt.Options{Rewrite: volatileTable}, !all, false},
	} {
		t.Run(m.name, func(t *testing.T) {
			names, want := names, corpusRecords
			if m.small {
				names, want = small, corpusSmallRecords
			}
			gors := runtime.NumGoroutine()
			var passed atomic.Int64
			sideBySide(t, names, func(t *testing.T, name string) {
				res := runScript(t, m.query, texts[name], m.o, m.compact)
				passed.Add(int64(res.Passed))
			})
			if m.o.Rewrite != nil && rewritten.Load() == 0 {
				t.Error("no table was made volatile")
			}
			t.Logf("%d files, %d records passed", len(names), passed.Load())
			if n := int(passed.Load()); n != want {
				t.Errorf("%d records passed, not all %d", n, want)
			}
			if !waitFor(func() bool { return runtime.NumGoroutine() <= gors }) {
				t.Errorf("%d goroutines before, %d after", gors, runtime.NumGoroutine())
			}
		})
	}
}

// plainTable matches a CREATE TABLE that has a list of columns and no options
// behind it.
var plainTable = regexp.MustCompile(`(?is)^\s*CREATE\s+TABLE\s+([^\s(]+)\s*\((.*)\)\s*;?\s*$`)

var rewritten atomic.Int64

// volatileTable makes of CREATE TABLE one for a volatile table.
func volatileTable(sql string) string {
	m := plainTable.FindStringSubmatch(sql)
	if m == nil {
		return sql
	}
	rewritten.Add(1)
	return "CREATE VIRTUAL TABLE " + m[1] + " USING tidemark(" + m[2] + ", durable=false)"
}

// runScript runs one script on a store of its own and checks the store. Every
// failure is one of the test, the first few with their text. With compact the store
// is compacted where it would be opened again, and opened again every other time:
// rows are read from the base in the process that wrote it and in another.
func runScript(t *testing.T, query string, text []byte, o slt.Options, compact bool) slt.Result {
	t.Helper()
	ctx := context.Background()
	s := OpenBeside(t, query)
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	o.Engines = []string{"sqlite", "tidemark"}
	o.EmptyOnError = regexp.MustCompile("integer overflow")
	o.OnFail = func(f slt.Failure) {
		if failed++; failed <= 5 {
			t.Errorf("%s: %s", f.Record, f.Why)
		}
	}
	compacted := 0
	o.Reopen = func() (*sql.Conn, error) {
		if compact {
			if _, err := conn.ExecContext(ctx, "INSERT INTO tidemark_jobs(kind) VALUES('compact')"); err != nil {
				return conn, err
			}
			if compacted++; compacted%2 == 1 {
				return conn, nil
			}
		}
		conn.Close()
		s.Reopen()
		conn, err = s.DB.Conn(ctx)
		return conn, err
	}
	res := slt.Run(ctx, conn, text, o)
	conn.Close()
	s.Check()
	return res
}

// sampleSQL reads the sample database script.
func sampleSQL(t testing.TB) string {
	b, err := os.ReadFile(dataFile(t, "chinook.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(b), "\ufeff")
}

// TestSampleDatabase loads a real schema with its data and compares every
// table, values and types, with what the sqlite3 library makes of the script,
// before and after the store is reopened.
func TestSampleDatabase(t *testing.T) {
	script := sampleSQL(t)
	native, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "native.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	if _, err := native.Exec(script); err != nil {
		t.Fatal(err)
	}
	s := Open(t, "")
	s.Exec(script)
	compareAll(t, native, s.DB)
	s.Reopen()
	compareAll(t, native, s.DB)
}

// compareAll compares every table of two databases.
func compareAll(t *testing.T, native, ours *sql.DB) {
	t.Helper()
	rows, err := native.Query("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, n)
	}
	rows.Close()
	if len(tables) == 0 {
		t.Fatal("no tables")
	}
	total := 0
	for _, n := range tables {
		var cols []string
		r, err := native.Query(fmt.Sprintf("SELECT name FROM pragma_table_info('%s')", n))
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			var c string
			if err := r.Scan(&c); err != nil {
				t.Fatal(err)
			}
			cols = append(cols, fmt.Sprintf("quote(%q), typeof(%q)", c, c))
		}
		r.Close()
		q := fmt.Sprintf("SELECT rowid, %s FROM %q ORDER BY rowid", strings.Join(cols, ", "), n)
		want, got := dump(t, native, q), dump(t, ours, q)
		if !slices.Equal(want, got) {
			t.Errorf("table %s differs: %d rows natively, %d here", n, len(want), len(got))
			for i := range min(len(want), len(got)) {
				if want[i] != got[i] {
					t.Errorf("first difference: want %s, got %s", want[i], got[i])
					break
				}
			}
		}
		total += len(want)
	}
	t.Logf("%d tables, %d rows equal", len(tables), total)
}
