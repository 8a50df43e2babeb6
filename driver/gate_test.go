package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"sync"
	"testing"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// gate is a file system whose data syncs can be held back and made to fail.
type gate struct {
	vfs.FS

	mu     sync.Mutex
	opened sync.Cond
	shut   bool
	fail   error
	syncs  int
}

func newGate(dir string) *gate {
	g := &gate{FS: vfs.OS(dir)}
	g.opened.L = &g.mu
	return g
}

// close holds syncs back until open.
func (g *gate) close() { g.set(true, nil) }

// open lets syncs go on, or fail with err.
func (g *gate) open(err error) { g.set(false, err) }

func (g *gate) set(shut bool, fail error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.fail = shut, fail
	g.opened.Broadcast()
}

func (g *gate) pass() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.syncs++
	for g.shut {
		g.opened.Wait()
	}
	return g.fail
}

func (g *gate) Create(name string) (vfs.File, error) { return g.wrap(g.FS.Create(name)) }
func (g *gate) Open(name string) (vfs.File, error)   { return g.wrap(g.FS.Open(name)) }

func (g *gate) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return gatedFile{f, g}, nil
}

type gatedFile struct {
	vfs.File
	g *gate
}

func (f gatedFile) SyncData() error {
	if err := f.g.pass(); err != nil {
		return err
	}
	return f.File.SyncData()
}

// gatedDB opens a store on a gate.
func gatedDB(t *testing.T) (*sql.DB, *gate) {
	t.Helper()
	dir := t.TempDir()
	g := newGate(dir)
	store, err := engine.Open(t.Context(), engine.Options{Dir: dir, FS: g, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Path: dir}.withDefaults()
	clock, err := newClock(cfg.TimeFormat, cfg.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	inst := &instance{mu: new(sync.Mutex), key: dir, events: newEventHub(), state: instanceOpen, cfg: cfg, store: store, tables: newTableCache(store), refs: 1}
	k := &gatedConnector{sh: &shared{cfg: cfg, clock: clock, store: store, tables: inst.tables, inst: inst}}
	db := sql.OpenDB(k)
	t.Cleanup(func() {
		g.set(false, g.fail)
		err := errors.Join(db.Close(), k.sh.release())
		if err != nil && store.Poisoned() == nil {
			t.Error(err)
		}
	})
	return db, g
}

type gatedConnector struct{ sh *shared }

func (k *gatedConnector) Driver() sqldriver.Driver { return &Driver{} }

func (k *gatedConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	k.sh.inst.retain()
	return newConn(ctx, k.sh)
}
