package sqltests

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
	"modernc.org/sqlite"
)

// metaBase is a database that a list runs on: a store or plain SQLite.
type metaBase interface {
	// open opens it; what there is stays.
	open() (*sql.DB, error)
	// image puts aside what a kill would leave at this moment.
	image() error
	// crash puts the image in the place of the database, which is closed.
	crash() error
	check(context.Context, *sql.Conn) ([]string, error)
}

// metaStore is a store.
type metaStore struct {
	dir   string // of this list
	query string
	n     int // of the copy that is in use
}

func (s *metaStore) path() string { return filepath.Join(s.dir, fmt.Sprint("store", s.n)) }

func (s *metaStore) open() (*sql.DB, error) {
	return sql.Open("tidemark", s.path()+"?"+s.query)
}

// image copies the directory. Everything is read twice and must be the same, so
// the copy is what was there between the two readings although the store may
// work in the background.
func (s *metaStore) image() error {
	var last map[string][]byte
	for range 100 {
		files, err := readTree(s.path())
		if err != nil {
			return err
		}
		if last == nil || !sameTree(last, files) {
			last = files
			continue
		}
		to := filepath.Join(s.dir, fmt.Sprint("store", s.n+1))
		for name, b := range files {
			p := filepath.Join(to, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o777), os.WriteFile(p, b, 0o666)); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("the store does not come to rest")
}

func (s *metaStore) crash() error {
	err := os.RemoveAll(s.path())
	s.n++
	return err
}

func (s *metaStore) check(ctx context.Context, c *sql.Conn) ([]string, error) {
	st, err := driver.Raw(c)
	if err != nil {
		return nil, err
	}
	return checkAll(ctx, st)
}

func readTree(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, "-shm") {
			return skipGone(err)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return skipGone(err)
		}
		name, err := filepath.Rel(dir, p)
		out[name] = b
		return err
	})
	return out, err
}

// skipGone forgives that a file was removed while the tree was read.
func skipGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func sameTree(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for name, x := range a {
		if y, ok := b[name]; !ok || !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

// metaPlain is plain SQLite, in WAL mode, in which readers and one writer do not
// wait for each other.
type metaPlain struct{ dir string }

func (p *metaPlain) open() (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(p.dir, "plain.db")+"?_pragma=busy_timeout(0)&_pragma=journal_mode(wal)&_pragma=synchronous(off)")
}

// A close rolls back what a kill would.
func (p *metaPlain) image() error { return nil }
func (p *metaPlain) crash() error { return nil }

func (p *metaPlain) check(ctx context.Context, c *sql.Conn) ([]string, error) {
	lines, err := modelRows(ctx, c, "PRAGMA integrity_check")
	if err == nil && len(lines) == 1 && lines[0] == `"ok"` {
		lines = nil
	}
	return lines, err
}

// metaError is an error's code and message, the same for both.
func metaError(err error) string {
	msg := err.Error()
	var ours *driver.Error
	var theirs *sqlite.Error
	if errors.As(err, &ours) {
		msg = ours.Err.Error()
	} else if errors.As(err, &theirs) {
		// "what the code means: message (code)", or the meaning alone when they are equal
		msg = strings.TrimSuffix(theirs.Error(), " (SQLITE_BUSY)")
		msg = msg[:max(strings.LastIndex(msg, " ("), 0)]
		if _, rest, found := strings.Cut(msg, ": "); found {
			msg = rest
		}
	}
	return fmt.Sprintf("error %d %s", code(err), msg)
}
