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
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"modernc.org/sqlite"
)

// metaBase is a database that a list runs on: a store or plain SQLite.
type metaBase interface {
	// open opens it once more; what there is stays.
	open() (*sql.DB, error)
	check(context.Context, *sql.Conn) ([]string, error)
	checkpoint(context.Context, *sql.Conn) error
	compact(context.Context, *sql.Conn) error
}

// metaStore is a store. Its log is in files, of which a crash leaves what a kill
// would, or on a simulated disk, which may lose what was not synced.
type metaStore struct {
	dir   string // of this list
	query string
	mem   bool
	n     int // of the copy that is in use
	disk  *metaDisk
	next  *vfs.Mem // what the next crash leaves, when in memory
}

// metaDisk is where the log is, with the faults that are armed.
type metaDisk struct {
	mem    *vfs.Mem // nil when it is in files
	fault  *vfs.Fault
	before int  // faults when the store was opened
	crash  bool // a poisoned store crashes
}

func newMetaDisk(mem *vfs.Mem, dir string) *metaDisk {
	if mem != nil {
		return &metaDisk{mem: mem, fault: vfs.NewFault(mem)}
	}
	return &metaDisk{fault: vfs.NewFault(vfs.OS(dir))}
}

func newMetaStore(dir string, set metaSet) *metaStore {
	s := &metaStore{dir: dir, query: set.query(), mem: set["@disk"] == "memory"}
	var mem *vfs.Mem
	if s.mem {
		mem = vfs.NewMem()
	}
	s.disk = newMetaDisk(mem, s.path())
	return s
}

func (s *metaStore) path() string { return filepath.Join(s.dir, fmt.Sprint("store", s.n)) }

func (s *metaStore) open() (*sql.DB, error) {
	cfg, err := driver.ParseDSN(s.path() + "?" + s.query)
	if err != nil {
		return nil, err
	}
	cfg.FS = s.disk.fault
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// image puts aside what a crash would leave at this moment; which says what of
// that. Everything is read twice and must be the same, so the copy is what was
// there between the two readings although the store may work in the background.
func (s *metaStore) image(which int) error {
	var last map[string][]byte
	for at := -1; ; {
		was := at
		if s.mem {
			at = s.disk.mem.Ops()
		}
		files, err := readTree(s.path())
		if err != nil {
			return err
		}
		if last == nil || was != at || !sameTree(last, files) {
			last = files
			continue
		}
		if s.mem {
			left := 0
			for _, m := range s.disk.mem.CrashImages(at, vfs.CrashOptions{Seed: uint64(which), Max: 1, Mixtures: 3}) {
				if s.next = m; left == which {
					break
				}
				left++
			}
		}
		return writeTree(filepath.Join(s.dir, fmt.Sprint("store", s.n+1)), files)
	}
}

// crash puts the image in the place of the store, which is closed.
func (s *metaStore) crash() error {
	err := os.RemoveAll(s.path())
	s.n++
	s.disk = newMetaDisk(s.next, s.path())
	return err
}

func (s *metaStore) check(ctx context.Context, c *sql.Conn) ([]string, error) {
	st, err := driver.Raw(c)
	if err != nil {
		return nil, err
	}
	list, err := checkAll(ctx, st)
	if err != nil {
		return nil, err
	}
	rows, err := modelRows(ctx, c, "PRAGMA foreign_key_check")
	for _, row := range rows {
		list = append(list, "a row refers to nothing: "+row)
	}
	return list, err
}

func (s *metaStore) checkpoint(ctx context.Context, c *sql.Conn) error {
	st, err := driver.Raw(c)
	if err != nil {
		return err
	}
	return st.Checkpoint(ctx, nil)
}

func (s *metaStore) compact(ctx context.Context, c *sql.Conn) error {
	st, err := driver.Raw(c)
	if err != nil {
		return err
	}
	return st.Compact(ctx, nil)
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

func writeTree(dir string, files map[string][]byte) error {
	for name, b := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o777), os.WriteFile(p, b, 0o666)); err != nil {
			return err
		}
	}
	return nil
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
type metaPlain struct {
	dir string
	n   int // of the copy that is in use
}

func (p *metaPlain) path() string { return filepath.Join(p.dir, fmt.Sprint("plain", p.n)) }

func (p *metaPlain) open() (*sql.DB, error) {
	if err := os.MkdirAll(p.path(), 0o777); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+filepath.Join(p.path(), "plain.db")+"?_pragma=busy_timeout(0)&_pragma=journal_mode(wal)&_pragma=synchronous(off)&_pragma=foreign_keys(on)")
}

// image is the database as of the last commit.
func (p *metaPlain) image() (map[string][]byte, error) { return readTree(p.path()) }

// restore puts an image in the place of the database, which is closed.
func (p *metaPlain) restore(image map[string][]byte) error {
	old := p.path()
	p.n++
	return errors.Join(os.RemoveAll(old), writeTree(p.path(), image))
}

func (p *metaPlain) check(ctx context.Context, c *sql.Conn) ([]string, error) {
	lines, err := modelRows(ctx, c, "PRAGMA integrity_check")
	if err == nil && len(lines) == 1 && lines[0] == `"ok"` {
		lines = nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := modelRows(ctx, c, "PRAGMA foreign_key_check")
	for _, row := range rows {
		lines = append(lines, "a row refers to nothing: "+row)
	}
	return lines, err
}

func (p *metaPlain) checkpoint(context.Context, *sql.Conn) error { return nil }

func (p *metaPlain) compact(context.Context, *sql.Conn) error { return nil }

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
