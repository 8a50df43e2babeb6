package engine

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/tidemarkdb/tidemark/catalog"
)

// A crash image is a few kilobytes of log and a catalog. What it costs to open
// one is SQLite: three connections, each of which reads the whole schema, and a
// directory. So the catalogs of images are put, one after another, into a few
// directories in memory whose connections stay open. The catalog opens as
// always, except that it gets connections that read the schema before.

// shelf is such a directory. One store at a time is opened in it.
type shelf struct {
	dir string
	raw sqliteConn // reads and writes the pages of catalog.db
	// file is catalog.db, open as long as SQLite has it open: to close it would
	// drop SQLite's locks.
	file *os.File
	size int // of the catalog, roughly

	mu   sync.Mutex
	kept map[string][]*keptConn // closed connections, by their data source
}

// sqliteConn is what the catalog asks of a connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keptConn goes back to its shelf instead of being closed, with the statements
// it prepared.
type keptConn struct {
	sqliteConn
	shelf  *shelf
	source string
	stmts  map[string]driver.Stmt // those that are not in use
	done   map[string]bool        // switches it has turned
}

func (k *keptConn) Close() error {
	// What was open ends, as it would with the connection.
	_, _ = k.sqliteConn.ExecContext(context.Background(), "ROLLBACK", nil)
	k.shelf.mu.Lock()
	defer k.shelf.mu.Unlock()
	k.shelf.kept[k.source] = append(k.shelf.kept[k.source], k)
	return nil
}

// prepare returns a statement that was prepared before, or nil for one whose
// meaning SQLite may fix when it prepares it.
func (k *keptConn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	if !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}, strings.TrimSpace(word)) || strings.Contains(query, ";") {
		return nil, nil
	}
	if st := k.stmts[query]; st != nil {
		delete(k.stmts, query)
		return st, nil
	}
	return k.PrepareContext(ctx, query)
}

func (k *keptConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	st, err := k.prepare(ctx, query)
	if st == nil {
		if err == nil {
			return k.sqliteConn.ExecContext(ctx, query, args)
		}
		return nil, err
	}
	defer func() { k.stmts[query] = st }()
	return st.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (k *keptConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	// To turn a switch again, which stays as it is, would expire every
	// statement. The catalog reads back where it is.
	if name, value, ok := strings.Cut(query, " = "); ok && (value == "ON" || value == "OFF") {
		if k.done[query] {
			query = name
		}
		k.done[query] = true
	}
	st, err := k.prepare(ctx, query)
	if st == nil {
		if err == nil {
			return k.sqliteConn.QueryContext(ctx, query, args)
		}
		return nil, err
	}
	rows, err := st.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &keptRows{rows, k, query, st}, nil
}

type keptRows struct {
	driver.Rows
	conn  *keptConn
	query string
	st    driver.Stmt
}

func (r *keptRows) Close() error {
	err := r.Rows.Close()
	if r.st != nil {
		r.conn.stmts[r.query], r.st = r.st, nil
	}
	return err
}

// end closes it in truth.
func (k *keptConn) end() (err error) {
	for _, st := range k.stmts {
		err = errors.Join(err, st.Close())
	}
	return errors.Join(err, k.sqliteConn.Close())
}

func (s *shelf) connect(source string, connect func() (driver.Conn, error)) (driver.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := s.kept[source]; len(list) > 0 {
		c := list[len(list)-1]
		s.kept[source] = list[:len(list)-1]
		return c, nil
	}
	c, err := connect()
	if err != nil {
		return nil, err
	}
	return &keptConn{c.(sqliteConn), s, source, map[string]driver.Stmt{}, map[string]bool{}}, nil
}

func (s *shelf) seam() *catalog.Seam { return &catalog.Seam{Connect: s.connect} }

// Bytes of a SQLite file's header.
const (
	headerPage    = 16 // bytes of a page
	headerWrite   = 18 // 2: WAL
	headerRead    = 19
	headerCookie  = 40 // of the schema, big endian
	headerVersion = 60 // PRAGMA user_version, big endian
)

// shelves are all there are; free ones are waiting.
var shelves struct {
	sync.Mutex
	all, free []*shelf
}

// takeShelf returns a shelf that holds a copy of a catalog, which has to be
// given back.
func takeShelf(data []byte) (*shelf, error) {
	shelves.Lock()
	var s *shelf
	if n := len(shelves.free); n > 0 {
		s, shelves.free = shelves.free[n-1], shelves.free[:n-1]
	}
	shelves.Unlock()
	if s != nil {
		return s, s.load(data)
	}
	s, err := newShelf(data)
	if err == nil {
		shelves.Lock()
		shelves.all = append(shelves.all, s)
		shelves.Unlock()
	}
	return s, err
}

func (s *shelf) giveBack() {
	shelves.Lock()
	defer shelves.Unlock()
	shelves.free = append(shelves.free, s)
}

func newShelf(data []byte) (*shelf, error) {
	dir, err := os.MkdirTemp(memoryDir(), "tidemark-shelf-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, catalog.FileName)
	setCookie(data)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector("file:" + filepath.ToSlash(file) + "?mode=rw")
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	return &shelf{dir: dir, raw: raw.(sqliteConn), file: opened, kept: map[string][]*keptConn{}}, nil
}

// setCookie makes the catalogs of all images have one schema cookie, so that no
// connection reads the schema again. It is the same: a copy gives tables and
// indexes their roots in the order they were made in.
func setCookie(data []byte) { binary.BigEndian.PutUint32(data[headerCookie:], 1000) }

// load replaces the content, page by page, in one transaction.
func (s *shelf) load(data []byte) (err error) {
	setCookie(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.exec("ROLLBACK")
		}
	}()
	old, size, err := s.pages()
	if err != nil {
		return err
	}
	if len(data)%size != 0 || len(data) == 0 {
		return fmt.Errorf("a catalog of %d bytes has no pages of %d", len(data), size)
	}
	for at := 0; at < len(data); at += size {
		page := data[at : at+size]
		if at < len(old) && string(old[at:at+size]) == string(page) {
			continue
		}
		if err := s.exec("INSERT INTO sqlite_dbpage(pgno, data) VALUES (?, ?)", int64(at/size+1), page); err != nil {
			return err
		}
	}
	if len(old) > len(data) {
		if err := s.exec("INSERT INTO sqlite_dbpage(pgno, data) VALUES (?, NULL)", int64(len(data)/size+1)); err != nil {
			return err
		}
	}
	return s.exec("COMMIT")
}

// save writes the content to a file.
func (s *shelf) save(file string) error {
	s.mu.Lock()
	data, _, err := s.pages()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// pages reads all pages. The caller holds mu.
func (s *shelf) pages() (all []byte, size int, err error) {
	// After a clean close all is in the file.
	if info, err := os.Stat(s.file.Name() + "-wal"); err == nil && info.Size() == 0 {
		info, err := s.file.Stat()
		if err != nil {
			return nil, 0, err
		}
		all = make([]byte, info.Size())
		if _, err := s.file.ReadAt(all, 0); err != nil {
			return nil, 0, err
		}
		return all, int(binary.BigEndian.Uint16(all[headerPage:])), nil
	}
	rows, err := s.raw.QueryContext(context.Background(), "SELECT data FROM sqlite_dbpage", nil)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]driver.Value, 1)
	all = make([]byte, 0, s.size+s.size/8)
	defer func() { s.size = len(all) }()
	for {
		if err := rows.Next(dest); err == io.EOF {
			return all, size, nil
		} else if err != nil {
			return nil, 0, err
		}
		page := dest[0].([]byte)
		size = len(page)
		all = append(all, page...)
	}
}

func (s *shelf) exec(query string, args ...any) error {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	_, err := s.raw.ExecContext(context.Background(), query, named)
	return err
}

// closeShelves closes all and tells how many were not given back.
func closeShelves() (err error) {
	shelves.Lock()
	defer shelves.Unlock()
	if lost := len(shelves.all) - len(shelves.free); lost != 0 {
		err = fmt.Errorf("%d catalogs of images are still in use", lost)
	}
	for _, s := range shelves.all {
		for _, list := range s.kept {
			for _, c := range list {
				err = errors.Join(err, c.end())
			}
		}
		err = errors.Join(err, s.raw.Close(), s.file.Close(), os.RemoveAll(s.dir))
	}
	shelves.all, shelves.free = nil, nil
	return err
}

// memoryDir is where directories that need not outlive the machine are made.
func memoryDir() string {
	const shm = "/dev/shm"
	if dir, err := os.MkdirTemp(shm, "tidemark-probe-"); err == nil && os.Remove(dir) == nil {
		return shm
	}
	return os.TempDir()
}

// tempDir is t.TempDir in memory.
func tempDir(t testing.TB) string {
	dir, err := os.MkdirTemp(memoryDir(), "tidemark-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// place opens the store of an image: it gives options a directory with a copy
// of a catalog, "" for none, and a seam. clean is called when the store is
// closed.
func place(t testing.TB, o Options, file string) (_ Options, s *shelf, clean func()) {
	if file != "" {
		data := catalogBytes(t, file)
		empty, err := emptyCatalog()
		if err != nil {
			t.Fatal(err)
		}
		if catalogVersion(data) == catalogVersion(empty) { // its creation went beyond the schema
			s, err := takeShelf(data)
			if err != nil {
				t.Fatal(err)
			}
			o.Dir, o.CatalogSeam = s.dir, s.seam()
			return o, s, s.giveBack
		}
	}
	o.Dir, clean = restore(t, file)
	o.CatalogSeam = nil
	return o, nil, clean
}

// emptyCatalog is a catalog of the newest version without a store: where a
// creation is that went no further.
var emptyCatalog = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp(memoryDir(), "tidemark-empty-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := catalog.Open(context.Background(), catalog.Options{Dir: dir, Create: true})
	if err != nil {
		return nil, err
	}
	if err := c.Close(context.Background()); err != nil {
		return nil, err
	}
	// A copy, so that its tables are where those of all images have them.
	file := filepath.Join(dir, "copy")
	if err := catalog.Copy(context.Background(), dir, file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

func catalogVersion(data []byte) uint32 { return binary.BigEndian.Uint32(data[headerVersion:]) }

func catalogBytes(t testing.TB, file string) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// VACUUM INTO makes a file in rollback mode. These two bytes of SQLite's
	// header put it back into WAL mode, as the original is.
	data[headerWrite], data[headerRead] = 2, 2
	return data
}
