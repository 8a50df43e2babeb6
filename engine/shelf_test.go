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
	"sync"

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
