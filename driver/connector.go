package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"sync"

	"github.com/tidemarkdb/tidemark/engine"
)

func init() { sql.Register("tidemark", &Driver{}) }

// Driver is registered as "tidemark".
type Driver struct{}

// Connector opens connections to one store. Use it with sql.OpenDB; closing
// the sql.DB closes it.
type Connector struct {
	cfg Config

	mu     sync.Mutex
	shared *shared // set by the first connection
	closed bool
}

// shared is what the connections of one connector have in common. Connectors
// of the same directory have one instance in common.
type shared struct {
	cfg    Config // with defaults
	given  Config // as it was given
	clock  clock  // time_format and time_zone, parsed
	store  *engine.Store
	at     *engine.Snapshot // of Config.At: what is read instead of the present, nil without
	tables *tableCache      // immutable definitions by schema, one for the engine
	inst   *instance
}

var (
	_ sqldriver.Driver        = (*Driver)(nil)
	_ sqldriver.DriverContext = (*Driver)(nil)
	_ sqldriver.Connector     = (*Connector)(nil)
)

// NewConnector checks the configuration and returns a connector for it. The
// store is opened by the first connection.
func NewConnector(cfg Config) (*Connector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Connector{cfg: cfg}, nil
}

// OpenConnector parses the DSN; sql.Open calls it.
func (d *Driver) OpenConnector(dsn string) (sqldriver.Connector, error) {
	cfg, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return NewConnector(cfg)
}

// Open opens a single connection that closes the store with itself, unless
// others have it open. It serves callers that use the driver without sql.DB.
func (d *Driver) Open(dsn string) (sqldriver.Conn, error) {
	cfg, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	connector, err := NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	// The connection holds its own reference on the engine.
	if err := connector.Close(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Driver returns the registered driver.
func (c *Connector) Driver() sqldriver.Driver { return &Driver{} }

// Connect opens a connection, and the engine with the first one.
//
// Every connection counts as a user of the engine beside the connector: rows
// that are still open when the sql.DB is closed keep it alive, and whoever ends
// last closes it and gets the error of that.
func (c *Connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	sh, err := c.open(ctx)
	if err != nil {
		return nil, wrapError("open", err)
	}
	conn, err := newConn(ctx, sh)
	if err != nil {
		_ = sh.release() // the connector still holds its own reference
		return nil, wrapError("open", err)
	}
	return conn, nil
}

// open returns the shared part with a reference for one connection.
func (c *Connector) open(ctx context.Context) (*shared, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, newError("open", ErrMisuse, "%w", ErrClosed)
	}
	if c.shared == nil {
		cfg := c.cfg.withDefaults()
		clock, err := newClock(cfg.TimeFormat, cfg.TimeZone)
		if err != nil {
			return nil, err
		}
		inst, err := instances.acquire(ctx, c.cfg)
		if err != nil {
			return nil, err
		}
		sh := &shared{cfg: cfg, given: c.cfg, clock: clock, store: inst.store, tables: inst.tables, inst: inst}
		if cfg.At != "" {
			if sh.at, err = openPast(ctx, inst.store, cfg.At); err != nil {
				return nil, errors.Join(err, inst.release())
			}
		}
		if err := sh.migrate(ctx); err != nil {
			return nil, errors.Join(err, inst.release())
		}
		c.shared = sh
	}
	c.shared.inst.retain()
	return c.shared, nil
}

// Close gives up the connector's use of the engine, which closes when no
// connection is left. It may be called twice.
func (c *Connector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.shared == nil {
		return nil
	}
	return wrapError("close", c.shared.release())
}

// release gives up one reference; a connection calls it exactly once, when it
// is closed.
func (sh *shared) release() error { return sh.inst.release() }
