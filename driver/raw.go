package driver

import (
	"context"
	"database/sql"
)

// Raw returns the store that a connection belongs to.
//
// It works through any wrapping of the driver (tracing, metrics, retries) that
// hands contexts down: the request travels as a value of the context of a ping,
// or of a statement where the wrapper keeps pings to itself.
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
		if _, err := c.ExecContext(ctx, rawStatement); err != nil {
			return nil, wrapError("raw", err)
		}
	}
	if store == nil {
		return nil, newError("raw", ErrMisuse, "the connection is not of the tidemark driver, or its wrapping drops contexts")
	}
	return store, nil
}

// rawKey is the context key under which Raw asks for the store.
type rawKey struct{}

// rawStatement is a statement that does nothing, to carry a context.
const rawStatement = "PRAGMA tidemark_raw"

// answerRaw serves Raw: a connection calls it with the context of a ping and of
// a statement that is rawStatement, and need do no more when it returns true.
func answerRaw(ctx context.Context, sh *shared) bool {
	store, ok := ctx.Value(rawKey{}).(**Store)
	if ok {
		*store = &Store{inst: sh.inst}
	}
	return ok
}
