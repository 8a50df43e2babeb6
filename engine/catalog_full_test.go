package engine

import (
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// errNoRoom is what SQLite says of a disk without room.
func errNoRoom(t *testing.T) (err error) {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{"CREATE TABLE t(x)", "PRAGMA max_page_count = 3", "INSERT INTO t VALUES(zeroblob(100000))"} {
		if _, err = db.Exec(text); err != nil {
			return err
		}
	}
	t.Fatal("a database without room took a row")
	return nil
}

// TestCheckpointWithoutRoomForTheCatalog: each catalog commit of a checkpoint
// finds the disk full once. The checkpoint says so, writes go on, and the next
// checkpoint is whole.
func TestCheckpointWithoutRoomForTheCatalog(t *testing.T) {
	noRoom := errNoRoom(t)
	met := map[string]bool{}
	for n := int64(1); t.Run(fmt.Sprint(n), func(t *testing.T) { checkpointWithoutRoom(t, n, noRoom, met) }) && len(met) == int(n); n++ {
	}
	if len(met) < 8 {
		t.Errorf("only %v were met", met)
	}
}

func checkpointWithoutRoom(t *testing.T, n int64, noRoom error, met map[string]bool) {
	var armed atomic.Bool
	var commits atomic.Int64
	name := ""
	s := openStore(t, Options{Dir: t.TempDir(), FS: vfs.NewMem(), CatalogSeam: &catalog.Seam{Commit: func(op string, commit func() error) error {
		if armed.Load() && commits.Add(1) == n {
			name = op
			return noRoom
		}
		return commit()
	}}})
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, put("t", 1, 1, "a")))
	quiet(t, s)
	armed.Store(true)
	_, err := s.RunJob(t.Context(), JobRequest{Kind: JobCheckpoint})
	armed.Store(false)
	if name == "" {
		return
	}
	met[name] = true
	// What only tidies up behind the head may fail by itself.
	if !errors.Is(err, ErrFull) && !errors.Is(err, catalog.ErrFull) && name != "retire-publication" {
		t.Errorf("%s without room: %v", name, err)
	}
	if err := s.Poisoned(); err != nil {
		t.Errorf("%s without room: %v", name, err)
	}
	wait(t, s, update(t, s, put("t", 2, 2, "goes on")))
	if _, err := s.RunJob(t.Context(), JobRequest{Kind: JobCheckpoint}); err != nil {
		t.Errorf("after %s without room: %v", name, err)
	}
	checkHead(t, s)
}
