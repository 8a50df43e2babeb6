package driver

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// instance is one open engine, shared by every connector of a timeline of its
// directory. It is opened once and closed once; a timeline that is opened again later
// gets another instance.
type instance struct {
	key      string // real path of the directory, or a name that is no path
	timeline string
	readOnly bool  // it reads beside whoever writes, which may be another instance
	memory   bool  // the store has no directory
	token    int64 // names the instance within the process
	events   *eventHub

	// mu serialises opening and closing, so that a directory being closed is
	// opened again only after its LOCK is free. The timelines of a directory have one.
	// Lock order: mu, then registry.mu.
	mu     *sync.Mutex
	state  instanceState
	cfg    Config // in effect, with defaults
	store  *engine.Store
	tables *tableCache
	books  *catalog.Memory // of a store in memory
	budget string          // where cfg.MemoryBudget is from

	migrating chan struct{} // holds the token of who applies migrations

	refs int // guarded by instances.mu
}

// instanceState only grows.
type instanceState uint8

const (
	instanceNew instanceState = iota
	instanceOpen
	instanceClosed // or never opened because that failed
)

// registry finds the open engine of a timeline.
type registry struct {
	mu   sync.Mutex
	open map[address]*instance
	last int64 // token
}

// address is a timeline of a directory, as it is open. One that is open read-only and
// one that is open to be written share nothing, just as if they were of two processes.
type address struct {
	path, timeline string
	readOnly       bool
}

var instances = registry{open: map[address]*instance{}}

// acquire returns the engine of the configuration's directory with one
// reference, opening it when nobody has.
func (r *registry) acquire(ctx context.Context, cfg Config) (*instance, error) {
	key, err := "", error(nil)
	if cfg.Path != "" {
		if key, err = resolvePath(cfg); err != nil {
			return nil, err
		}
	}
	for {
		full := cfg.withDefaults()
		inst := r.take(address{key, full.Timeline, full.Mode == readOnlyMode})
		inst.mu.Lock()
		if inst.state == instanceClosed { // it was closing while we waited
			inst.mu.Unlock()
			continue
		}
		if inst.state == instanceNew {
			err = inst.open(ctx, cfg)
		} else {
			err = inst.compatible(cfg)
		}
		inst.mu.Unlock()
		if err != nil {
			return nil, errors.Join(err, inst.release())
		}
		return inst, nil
	}
}

// take returns the instance of a timeline, a new one when there is none, with
// one more reference. Without a directory it is always a new one.
func (r *registry) take(want address) *instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	inst := r.open[want]
	if inst == nil {
		r.last++
		inst = &instance{key: want.path, timeline: want.timeline, readOnly: want.readOnly, token: r.last, events: newEventHub(), mu: new(sync.Mutex), migrating: make(chan struct{}, 1)}
		if inst.key == "" {
			inst.key, inst.memory = fmt.Sprintf("memory %d", r.last), true
		}
		for at, other := range r.open {
			if at.path == inst.key && at.readOnly == inst.readOnly {
				inst.mu = other.mu
			}
		}
		r.open[inst.address()] = inst
	}
	inst.refs++
	return inst
}

// beside returns an open engine of another timeline of the same directory, one that is
// not poisoned if there is any, nil when there is none. The caller holds inst.mu, so none is opened or closed meanwhile.
func (r *registry) beside(inst *instance) (found *instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, other := range r.open {
		if at.path != inst.key || at.readOnly || other == inst || other.state != instanceOpen {
			continue
		}
		if found = other; other.store.Poisoned() == nil {
			break
		}
	}
	return found
}

// find returns the instance of a token, nil when it was closed.
func (r *registry) find(token int64) *instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, inst := range r.open {
		if inst.token == token {
			return inst
		}
	}
	return nil
}

// open opens the engine. The caller holds mu.
func (inst *instance) open(ctx context.Context, cfg Config) error {
	if inst.memory {
		return inst.openMemory(ctx, cfg)
	}
	full := cfg.withDefaults()
	if other := instances.beside(inst); other != nil && !inst.readOnly {
		return inst.openBeside(ctx, cfg, other)
	}
	full.MemoryBudget, inst.budget = memoryBudget(cfg)
	store, err := engine.Open(ctx, engine.Options{
		Timeline:       full.Timeline,
		MemoryBudget:   full.MemoryBudget,
		BudgetSource:   inst.budget,
		Dir:            inst.key,
		FS:             full.FS,
		ReadOnly:       inst.readOnly,
		Create:         full.Mode == "rwc" && full.At == "" && full.Timeline == catalog.MainTimeline,
		GenerationSize: full.GenerationSize,
		Sync:           syncMode(full.Sync),
		NoCompaction:   full.Compact == "off",
		Shards:         cfg.Shards,       // 0: as many as there are
		IndexCatchup:   cfg.IndexCatchup, // "": as there is
		Events:         inst.events.publish,
	})
	if err != nil {
		return noTimeline(full.Timeline, neverMade(full, err))
	}
	if n, err := strconv.Atoi(store.Settings()["shards"]); err == nil {
		full.Shards = n
	}
	if mode := store.Settings()["index_catchup"]; mode != "" {
		full.IndexCatchup = mode
	}
	inst.cfg, inst.store, inst.tables = full, store, newTableCache(store)
	inst.state = instanceOpen
	return nil
}

// openBeside opens a timeline of a directory of which another one is open: what the
// keys say of the engine is as there. The caller holds mu.
func (inst *instance) openBeside(ctx context.Context, cfg Config, other *instance) error {
	if err := other.compatible(cfg); err != nil {
		return err
	}
	full := other.cfg
	full.Timeline = inst.timeline
	store, err := other.store.OpenTimeline(ctx, inst.timeline, engine.Options{
		MemoryBudget:   full.MemoryBudget,
		BudgetSource:   other.budget,
		GenerationSize: full.GenerationSize,
		Sync:           syncMode(full.Sync),
		NoCompaction:   full.Compact == "off",
		Events:         inst.events.publish,
	})
	if err != nil {
		return noTimeline(inst.timeline, err)
	}
	inst.budget = other.budget
	inst.cfg, inst.store, inst.tables = full, store, newTableCache(store)
	inst.state = instanceOpen
	return nil
}

// neverMade is the error of an open that would make the store, were it of main and now.
func neverMade(full Config, err error) error {
	if full.Mode != "rwc" || full.At == "" && full.Timeline == catalog.MainTimeline ||
		!errors.Is(err, engine.ErrNotStore) && !errors.Is(err, catalog.ErrMissing) {
		return err
	}
	return coded("open", ErrCantOpen, err, "a store is made for the timeline main: open it without timeline and at first")
}

// noTimeline is the error of an open when there is no such timeline.
func noTimeline(name string, err error) error {
	if !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	e := newError("open", ErrGeneric, "no such timeline: %s", name)
	e.Hint = "INSERT INTO " + timelinesTable + "(name, source) makes one, SELECT name FROM " + timelinesTable + " lists them"
	return e
}

// openMemory opens an engine without a directory. The caller holds mu.
func (inst *instance) openMemory(ctx context.Context, cfg Config) error {
	full := cfg.withDefaults()
	full.MemoryBudget, inst.budget = memoryBudget(cfg)
	store, err := engine.Open(ctx, engine.Options{
		Memory:       true,
		MemoryBudget: full.MemoryBudget,
		BudgetSource: inst.budget,
		Events:       inst.events.publish,
	})
	if err != nil {
		return err
	}
	if inst.books, err = catalog.OpenMemory(ctx, inst.catalogName()); err != nil {
		return errors.Join(err, store.Close())
	}
	inst.cfg, inst.store, inst.tables = full, store, newTableCache(store)
	inst.tables.shadow.home = home{memory: true, ephemeral: cfg.Ephemeral}
	inst.state = instanceOpen
	return nil
}

// catalogName names the catalog of a store in memory within the process.
func (inst *instance) catalogName() string { return fmt.Sprintf("tidemark-%d", inst.token) }

// address is where the registry has the instance.
func (inst *instance) address() address { return address{inst.key, inst.timeline, inst.readOnly} }

// place is where the store is, for messages.
func (inst *instance) place() string {
	if inst.memory {
		return "memory"
	}
	return inst.key
}

// compatible refuses engine keys that the caller gave and that are not in
// effect. Keys left out take what is. The file system is one even when left
// out: files that a test meant to fail would not, or the other way round. The
// caller holds mu.
func (inst *instance) compatible(cfg Config) error {
	if !sameFS(cfg.FS, inst.cfg.FS) {
		return newError("open", ErrMisuse, "Config.FS: %s is open in this process with another file system", inst.key)
	}
	full := cfg.withDefaults()
	for _, k := range keys {
		if !k.engine || k.get(&cfg) == k.get(&Config{}) {
			continue
		}
		if want, have := k.get(&full), k.get(&inst.cfg); want != have {
			return newError("open", ErrMisuse, "key %s: %s is open in this process with %s, not with %s", k.name, inst.key, have, want)
		}
	}
	return nil
}

// sameFS compares file systems; two that cannot be compared are not the same.
func sameFS(a, b vfs.FS) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.IsValid() == y.IsValid() && (!x.IsValid() || x.Comparable() && y.Comparable() && a == b)
}

// retain adds a reference to an instance that has one.
func (inst *instance) retain() {
	instances.mu.Lock()
	defer instances.mu.Unlock()
	inst.refs++
}

// release gives up a reference and closes the engine with the last one.
func (inst *instance) release() error {
	if inst.drop() {
		return nil
	}
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if inst.state == instanceClosed || inst.inUse() { // another closed it, or took it up again
		return nil
	}
	var err error
	if inst.state == instanceOpen {
		err = errors.Join(inst.store.Close(), inst.tables.close())
		if inst.books != nil {
			err = errors.Join(err, inst.books.Close())
		}
	}
	inst.state = instanceClosed
	inst.events.close()
	instances.mu.Lock()
	defer instances.mu.Unlock()
	delete(instances.open, inst.address()) // whoever waits on mu starts over with a new one
	return err
}

// drop gives up a reference and reports whether others are left.
func (inst *instance) drop() (used bool) {
	instances.mu.Lock()
	defer instances.mu.Unlock()
	inst.refs--
	return inst.refs > 0
}

// inUse reports whether there are references.
func (inst *instance) inUse() bool {
	instances.mu.Lock()
	defer instances.mu.Unlock()
	return inst.refs > 0
}

// engine returns the store while it is open.
func (inst *instance) engine(op string) (*engine.Store, error) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if inst.state != instanceOpen {
		return nil, newError(op, ErrMisuse, "%w", ErrClosed)
	}
	return inst.store, nil
}

// syncMode is the engine's name of a Config.Sync that was checked.
func syncMode(v string) engine.SyncMode {
	switch v {
	case "normal":
		return engine.SyncNormal
	case "off":
		return engine.SyncOff
	}
	return engine.SyncFull
}
