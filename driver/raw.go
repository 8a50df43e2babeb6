package driver

import (
	"context"
	"database/sql"
)

// Raw returns the store that a connection belongs to.
//
// It works through any wrapping of the driver (tracing, metrics, retries): where
// the connection is not ours to see, a ping carries the question in its context,
// and a wrapper that keeps pings to itself still runs statements.
func Raw(c *sql.Conn) (*Store, error) {
	var store *Store
	err := c.Raw(func(dc any) error {
		if own, ok := dc.(*conn); ok {
			store = &Store{inst: own.sh.inst}
		}
		return nil
	})
	if err != nil || store != nil {
		return store, wrapError("raw", err)
	}
	ctx := context.WithValue(context.Background(), rawKey{}, &store)
	if err := c.PingContext(ctx); err != nil {
		return nil, wrapError("raw", err)
	}
	if store == nil {
		var token int64
		if err := c.QueryRowContext(ctx, "SELECT token FROM tidemark_raw").Scan(&token); err != nil {
			return nil, wrapError("raw", err)
		}
		if inst := instances.find(token); inst != nil {
			store = &Store{inst: inst}
		}
	}
	if store == nil {
		return nil, newError("raw", ErrMisuse, "the connection is not one of the tidemark driver")
	}
	return store, nil
}

// rawKey is the context key under which Raw asks for the store.
type rawKey struct{}

// answerRaw serves Raw: a connection calls it with the context of a ping.
func answerRaw(ctx context.Context, sh *shared) {
	if store, ok := ctx.Value(rawKey{}).(**Store); ok {
		*store = &Store{inst: sh.inst}
	}
}
