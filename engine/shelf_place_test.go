package engine

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

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

// TestShelf: a store in a shelf finds what was put there, whatever was there
// before, longer or shorter, and what it leaves can be saved.
func TestShelf(t *testing.T) {
	var files []string
	for _, tables := range []int{1, 200, 2} {
		r := newCrashRun(t, vfs.NewMem(), 0, 1)
		s := r.open(t)
		for i := range tables {
			r.commit(t, s, createTable(string(rune('a'+i%26))+"_"+string(rune('a'+i/26))))
		}
		r.wait(t, s, s.Head().LSN())
		quiet(t, s)
		n := r.mem.Ops()
		must(t, s.Close())
		files = append(files, r.cats.at(n))
	}
	tablesOf := func(dir string, seam *catalog.Seam) int {
		c, err := catalog.Open(t.Context(), catalog.Options{Dir: dir, Fault: seam})
		must(t, err)
		defer func() { must(t, c.Close(context.Background())) }()
		_, err = c.ReserveIDs(t.Context(), 1)
		must(t, err)
		l, err := c.Inspect(t.Context(), "current_tables")
		must(t, err)
		return len(l.Rows)
	}
	saved := filepath.Join(tempDir(t), "saved")
	for _, i := range []int{0, 1, 2, 1, 0} {
		o, s, clean := place(t, Options{}, files[i])
		want := []int{1, 200, 2}[i]
		if n := tablesOf(o.Dir, o.CatalogSeam); n != want {
			t.Errorf("%d tables in the shelf, put there were %d", n, want)
		}
		must(t, s.save(saved))
		clean()
		dir, remove := restore(t, saved)
		if n := tablesOf(dir, nil); n != want {
			t.Errorf("%d tables were saved, there were %d", n, want)
		}
		remove()
	}
}

// TestShelfCancelled: a connection whose opening was cancelled is none the worse for
// the next one who takes it.
func TestShelfCancelled(t *testing.T) {
	data, err := emptyCatalog()
	must(t, err)
	s, err := takeShelf(data)
	must(t, err)
	defer s.giveBack()
	opened, err := s.connect("test", s.another)
	must(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	conn := opened.(*keptConn)
	for _, c := range []struct {
		ctx  context.Context
		want string
	}{{cancelled, ""}, {t.Context(), "1"}, {t.Context(), "1"}} {
		rows, err := conn.QueryContext(c.ctx, "PRAGMA foreign_keys = ON", nil)
		if err == nil {
			must(t, rows.Close())
		}
		if c.want == "" {
			if err == nil {
				t.Error("was not cancelled")
			}
			continue
		}
		must(t, err)
		rows, err = conn.QueryContext(c.ctx, "PRAGMA foreign_keys", nil)
		must(t, err)
		value := make([]driver.Value, 1)
		must(t, rows.Next(value))
		if got := fmt.Sprint(value[0]); got != c.want {
			t.Errorf("foreign_keys is %s", got)
		}
		must(t, rows.Close())
	}
	must(t, conn.Close())
}

// another is one more connection to its catalog.
func (s *shelf) another() (driver.Conn, error) {
	connector, err := sqlite.NewConnector("file:" + filepath.ToSlash(filepath.Join(s.dir, catalog.FileName)) + "?mode=rw")
	if err != nil {
		return nil, err
	}
	return connector.Connect(context.Background())
}
