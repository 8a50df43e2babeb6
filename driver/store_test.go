package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"path/filepath"
	"testing"
)

// wrapped is a driver's connection inside another's, as tracing packages make
// it: pings are handed down.
type wrapped struct{ sqldriver.Conn }

func (w wrapped) Ping(ctx context.Context) error { return w.Conn.(sqldriver.Pinger).Ping(ctx) }

// opaque hands down nothing but the methods every connection has.
type opaque struct{ sqldriver.Conn }

// wrappingConnector wraps what another one opens.
type wrappingConnector struct {
	sqldriver.Connector
	wrap func(sqldriver.Conn) sqldriver.Conn
}

func (w wrappingConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

func (w wrappingConnector) Close() error { return w.Connector.(*Connector).Close() }

func TestRawThroughWrapping(t *testing.T) {
	for name, wrap := range map[string]func(sqldriver.Conn) sqldriver.Conn{
		"plain":       func(c sqldriver.Conn) sqldriver.Conn { return c },
		"with a ping": func(c sqldriver.Conn) sqldriver.Conn { return wrapped{c} },
		"twice":       func(c sqldriver.Conn) sqldriver.Conn { return wrapped{wrapped{c}} },
		"opaque":      func(c sqldriver.Conn) sqldriver.Conn { return opaque{c} },
	} {
		t.Run(name, func(t *testing.T) {
			connector, err := NewConnector(Config{Path: filepath.Join(t.TempDir(), "store")})
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(wrappingConnector{connector, wrap})
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			store, err := Raw(conn)
			if err != nil {
				t.Fatal(err)
			}
			if store.inst != connector.shared.inst {
				t.Error("another store")
			}
			mustClose(t, conn, db)
		})
	}
}

func TestStore(t *testing.T) {
	connector, err := NewConnector(Config{Path: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store, err := Raw(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Check(t.Context(), func(f Finding) { t.Errorf("a new store has a finding: %v", f) }, nil); err != nil {
		t.Error(err)
	}
	if _, err := store.Metrics(t.Context()); err != nil {
		t.Error(err)
	}
	if err := store.Compact(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := store.GC(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := store.Backup(t.Context(), filepath.Join(t.TempDir(), "backup"), nil); err != nil {
		t.Error(err)
	}
	events := store.Events(t.Context())
	mustClose(t, conn, db)
	for range events { // ends, because the store closed
	}
	if _, err := store.Metrics(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("metrics of a closed store: %v", err)
	}
	if err := store.Check(t.Context(), nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("check of a closed store: %v", err)
	}
}

// A listener gets what is published while it listens; one that lags does not
// hold the engine up.
func TestEvents(t *testing.T) {
	hub := newEventHub()
	ctx, cancel := context.WithCancel(t.Context())
	slow, other := hub.subscribe(t.Context()), hub.subscribe(ctx)
	for i := range eventBuffer + 10 {
		hub.publish(Event{Offset: int64(i)})
	}
	if e := <-other; e.Offset != 0 {
		t.Errorf("the first event is %v", e)
	}
	cancel()
	n := 1
	for range other {
		n++
	}
	if n != eventBuffer {
		t.Errorf("%d events were kept, want %d", n, eventBuffer)
	}
	hub.close()
	hub.publish(Event{})
	n = 0
	for range slow {
		n++
	}
	if n != eventBuffer {
		t.Errorf("%d events were kept, want %d", n, eventBuffer)
	}
	if _, ok := <-hub.subscribe(t.Context()); ok {
		t.Error("a closed hub has an event")
	}
}
