package driver

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// incomparable is a file system that == panics on.
type incomparable struct {
	vfs.FS
	_ []int
}

// The engine's files are those of the file system that the configuration names.
func TestConfigFS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	fault := vfs.NewFault(vfs.OS(dir))
	connector, err := NewConnector(Config{Path: dir, FS: fault})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	if _, err := db.Exec("CREATE TABLE t(a)"); err != nil {
		t.Fatal(err)
	}
	if fault.Count(vfs.OpWrite) == 0 || fault.Count(vfs.OpLock) != 1 || fault.Count(vfs.OpSyncData) == 0 {
		t.Errorf("%d writes, %d locks, %d syncs went through it", fault.Count(vfs.OpWrite), fault.Count(vfs.OpLock), fault.Count(vfs.OpSyncData))
	}
	fault.Fail(vfs.Rule{Kinds: vfs.OpSyncData, N: 1})
	if _, err := db.Exec("INSERT INTO t VALUES(1)"); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, ErrPoisoned) {
		t.Errorf("a commit whose sync failed: %v", err)
	}
	if _, err := db.Exec("INSERT INTO t VALUES(2)"); !errors.Is(err, ErrPoisoned) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("the next one: %v", err)
	}
	if err := db.Close(); !errors.Is(err, ErrPoisoned) {
		t.Errorf("close of what is poisoned: %v", err)
	}
}

// A directory that is open has one file system.
func TestConfigFSMustBeEqual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	plain := filepath.Join(t.TempDir(), "plain")
	fault, other := vfs.NewFault(vfs.OS(dir)), vfs.NewFault(vfs.OS(dir))
	first, conn := connect(t, Config{Path: dir, FS: fault})
	defer mustClose(t, conn, first)
	again, againConn := connect(t, Config{Path: dir, FS: fault})
	defer mustClose(t, againConn, again)
	second, plainConn := connect(t, Config{Path: plain})
	defer mustClose(t, plainConn, second)
	for what, cfg := range map[string]Config{
		"left out":     {Path: dir},
		"another":      {Path: dir, FS: other},
		"incomparable": {Path: dir, FS: incomparable{FS: fault}},
		"additional":   {Path: plain, FS: vfs.OS(plain)},
	} {
		c, err := NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Connect(t.Context()); !errors.Is(err, ErrMisuse) || !strings.Contains(err.Error(), "Config.FS") {
			t.Errorf("%s: %v", what, err)
		}
		mustClose(t, c)
	}
}
