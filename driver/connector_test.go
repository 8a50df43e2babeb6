package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// openInstances is how many engines the process has open.
func openInstances() int {
	instances.mu.Lock()
	defer instances.mu.Unlock()
	return len(instances.open)
}

func connect(t *testing.T, cfg Config) (*Connector, sqldriver.Conn) {
	t.Helper()
	connector, err := NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connector.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return connector, c
}

func mustClose(t testing.TB, closers ...interface{ Close() error }) {
	t.Helper()
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// One directory has one engine, however it is spelt, until the last user of it
// is gone: connectors and connections count alike.
func TestConnectorsShareAnEngine(t *testing.T) {
	before := openInstances()
	dir := filepath.Join(t.TempDir(), "store")
	a, aConn := connect(t, Config{Path: dir})
	b, bConn := connect(t, Config{Path: filepath.Join(dir, "..", "store"), BusyTimeout: time.Second})
	if a.shared.inst != b.shared.inst {
		t.Fatal("two engines for one directory")
	}
	if b.shared.cfg.BusyTimeout != time.Second || a.shared.cfg.BusyTimeout != defaultBusyTimeout {
		t.Error("keys that are not the engine's are shared")
	}
	mustClose(t, aConn, a, a, b)
	if openInstances() != before+1 {
		t.Fatal("the engine closed under an open connection")
	}
	mustClose(t, bConn)
	if openInstances() != before {
		t.Fatal("the engine is still open after its last user")
	}
	if _, err := a.Connect(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed connector connects: %v", err)
	}
	again, conn := connect(t, Config{Path: dir, Mode: "rw"})
	mustClose(t, conn, again)
}

// Engine keys that are given must be what is in effect; others may differ.
func TestEngineKeysMustBeEqual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	first, conn := connect(t, Config{Path: dir, GenerationSize: 1 << 20})
	defer mustClose(t, conn, first)
	for _, cfg := range []Config{
		{Path: dir},
		{Path: dir, GenerationSize: 1 << 20, Sync: "full", Shards: 1},
		{Path: dir, Txlock: "immediate", TimeFormat: "unix"},
	} {
		other, c := connect(t, cfg)
		mustClose(t, c, other)
	}
	other, err := NewConnector(Config{Path: dir, GenerationSize: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, other)
	_, err = other.Connect(t.Context())
	if !errors.Is(err, ErrMisuse) {
		t.Fatalf("another generation_size is accepted: %v", err)
	}
	for _, w := range []string{"generation_size", "1MiB", "2MiB"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not name %q", err, w)
		}
	}
}

// While another process holds the store's lock, the open is refused as busy and
// says how that comes.
func TestLockedElsewhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	first, conn := connect(t, Config{Path: dir})
	mustClose(t, conn, first)
	lock, err := vfs.OS(dir).Lock("LOCK")
	if err != nil {
		t.Fatal(err)
	}
	connector, err := NewConnector(Config{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = connector.Connect(t.Context())
	var typed *Error
	if !errors.Is(err, ErrBusy) || !errors.As(err, &typed) || typed.Op != "open" || !strings.Contains(err.Error(), "LOCK") {
		t.Errorf("a locked store: %v", err)
	}
	// The connector is as good as new once the other is gone.
	mustClose(t, lock)
	c, err := connector.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, c, connector)
}

// Opening and closing from many goroutines never meets a half-closed engine.
func TestOpenCloseConcurrently(t *testing.T) {
	before := openInstances()
	dir := filepath.Join(t.TempDir(), "store")
	keep, conn := connect(t, Config{Path: dir})
	mustClose(t, conn, keep)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				connector, err := NewConnector(Config{Path: dir})
				if err != nil {
					t.Error(err)
					return
				}
				c, err := connector.Connect(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(c.Close(), connector.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if openInstances() != before {
		t.Errorf("%d engines are left open", openInstances()-before)
	}
}

// The driver's Open serves one connection that closes the engine with itself.
func TestDriverOpen(t *testing.T) {
	before := openInstances()
	c, err := (&Driver{}).Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	if openInstances() != before+1 {
		t.Error("the engine is not open")
	}
	mustClose(t, c)
	if openInstances() != before {
		t.Error("the engine is still open")
	}
	if _, err := (&Driver{}).Open("x?nope=1"); !errors.Is(err, ErrMisuse) {
		t.Errorf("a bad DSN opens: %v", err)
	}
}

// A connector that never connected closes, and a bad DSN fails in sql.Open.
func TestOpenWithoutConnecting(t *testing.T) {
	db, err := sql.Open("tidemark", filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	if _, err := sql.Open("tidemark", "x?mode=none"); !errors.Is(err, ErrMisuse) {
		t.Errorf("sql.Open takes a bad DSN: %v", err)
	}
}
