package sqltests

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/driver"
)

// Store is a store under test.
type Store struct {
	t    testing.TB
	Dir  string
	DSN  string
	DB   *sql.DB
	gors int
}

// Open makes a store in a fresh directory; options are appended to the DSN.
// At cleanup it is closed, reopened, checked and closed again, and the test
// fails when a finding, a goroutine or a descriptor is left.
func Open(t testing.TB, options string) *Store {
	t.Helper()
	gors := runtime.NumGoroutine()
	s := OpenBeside(t, options)
	s.gors = gors
	return s
}

// OpenBeside is Open for tests that run side by side: whoever starts them counts
// the goroutines.
func OpenBeside(t testing.TB, options string) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s := &Store{t: t, Dir: dir, DSN: dir, gors: math.MaxInt}
	if options != "" {
		s.DSN += "?" + options
	}
	s.open()
	t.Cleanup(s.finish)
	return s
}

func (s *Store) open() {
	s.t.Helper()
	db, err := sql.Open("tidemark", s.DSN)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := db.Ping(); err != nil {
		s.t.Fatalf("open %s: %v", s.DSN, err)
	}
	s.DB = db
}

// Reopen closes the store and opens it again.
func (s *Store) Reopen() {
	s.t.Helper()
	if err := s.DB.Close(); err != nil {
		s.t.Fatalf("close: %v", err)
	}
	s.open()
}

// Exec runs SQL and fails the test on an error.
func (s *Store) Exec(query string, args ...any) sql.Result {
	s.t.Helper()
	r, err := s.DB.Exec(query, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return r
}

// Check runs the store's own check and fails the test on any finding.
func (s *Store) Check() {
	s.t.Helper()
	for _, f := range findings(s.t, s.DB) {
		s.t.Errorf("check: %s", f)
	}
}

func findings(t testing.TB, db *sql.DB) (out []string) {
	t.Helper()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	st, err := driver.Raw(conn)
	if err != nil {
		t.Fatal(err)
	}
	list, err := checkAll(ctx, st)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return list
}

func (s *Store) finish() {
	if s.t.Failed() {
		s.DB.Close()
		return
	}
	s.Reopen()
	s.Check()
	if err := s.DB.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	if left := waitFor(func() bool { return runtime.NumGoroutine() <= s.gors }); !left {
		buf := make([]byte, 1<<16)
		s.t.Errorf("%d goroutines before, %d after:\n%s", s.gors, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
	}
	if !waitFor(func() bool { return len(openFiles(s.Dir)) == 0 }) {
		s.t.Errorf("files of the closed store are open: %s", strings.Join(openFiles(s.Dir), " "))
	}
	// Nothing but the store's own files may be left.
	filepath.WalkDir(s.Dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		base := filepath.Base(p)
		switch {
		case base == "LOCK", strings.HasPrefix(base, "catalog.db"), strings.HasSuffix(base, ".kv"), strings.HasSuffix(base, ".index"):
		default:
			s.t.Errorf("unexpected file %s", p)
		}
		return nil
	})
}

func waitFor(f func() bool) bool {
	for range 200 {
		if f() {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// openFiles lists the process's descriptors on files below dir; none where the
// system does not tell.
func openFiles(dir string) (out []string) {
	d, _ := os.ReadDir("/proc/self/fd")
	for _, e := range d {
		if l, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(l, dir) {
			out = append(out, l)
		}
	}
	return out
}

// dataFile finds a file that others own and that is not part of the
// repository; the test is skipped where it is absent.
func dataFile(t testing.TB, name string) string {
	t.Helper()
	dirs := []string{os.Getenv("TIDEMARK_DATA"), "../../shared/corpora", "../../shared/data"}
	for _, d := range dirs {
		if d == "" {
			continue
		}
		p := filepath.Join(d, name)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skipf("SKIPPED: %s is not there (set TIDEMARK_DATA)", name)
	return ""
}

// dump returns every row of a query with its types, one line a row.
func dump(t testing.TB, q interface {
	Query(string, ...any) (*sql.Rows, error)
}, query string) []string {
	t.Helper()
	rows, err := q.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	out, err := readRows(rows)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

func readRows(rows *sql.Rows) (out []string, err error) {
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	vals, ptrs := make([]any, len(cols)), make([]any, len(cols))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return out, err
		}
		var b strings.Builder
		for i, v := range vals {
			if i > 0 {
				b.WriteByte('|')
			}
			switch x := v.(type) {
			case nil:
				b.WriteString("NULL")
			case []byte:
				fmt.Fprintf(&b, "x'%x'", x)
			case string:
				fmt.Fprintf(&b, "%q", x)
			case time.Time:
				b.WriteString(x.UTC().Format(time.RFC3339Nano))
			default:
				fmt.Fprintf(&b, "%T:%v", v, v)
			}
		}
		out = append(out, b.String())
	}
	return out, rows.Err()
}

// tempDir is a fresh directory below the test's own.
func tempDir(t testing.TB) string {
	t.Helper()
	d, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}
