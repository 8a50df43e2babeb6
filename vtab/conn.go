package vtab

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Conn is one SQLite connection with a private, empty main database in memory.
// One goroutine may use it at a time; Interrupt alone may be called from any.
type Conn struct {
	tls   *libc.TLS // ours; every call and so every callback uses it
	db    uintptr   // sqlite3*
	inner driver.Conn
	name  string // bind token, also the key under which callbacks find c

	stmts map[*Stmt]struct{} // not finalized

	lent uintptr // memory of maxLent bytes, see lend
	last error   // side channel
	bad  bool    // a panic was caught

	authorizer func(action int, a1, a2, a3, a4 string) int

	interrupt struct {
		sync.Mutex
		tls *libc.TLS // nil once closed; a TLS has one user at a time
	}

	session
}

// Open opens a connection that can be attached to a store.
func Open() (*Conn, error) {
	c, err := open()
	if err != nil {
		return nil, err
	}
	if err := c.registerSession(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// OpenPlain opens a plain SQLite connection, without a session.
func OpenPlain() (*Conn, error) { return open() }

// open lets the binding open the connection, and then takes the handle over. It
// goes through the binding's registered driver: functions and collations that a
// program registered with the package exist on that driver's connections only.
func open() (*Conn, error) {
	if err := registerModules(); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(":memory:")
	if err != nil {
		return nil, fmt.Errorf("vtab: open: %w", err)
	}
	inner, err := connector.Connect(context.Background())
	if err != nil {
		return nil, fmt.Errorf("vtab: open: %w", err)
	}
	c := &Conn{tls: libc.NewTLS(), inner: inner, stmts: map[*Stmt]struct{}{}}
	c.lent = libc.Xmalloc(c.tls, maxLent)
	c.interrupt.tls = libc.NewTLS()
	if err := capture(c, inner); err != nil {
		c.interrupt.tls.Close()
		c.closeTLS()
		return nil, errors.Join(err, inner.Close())
	}
	lib.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	if err := c.Exec("PRAGMA temp_store=MEMORY"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close closes the connection and finalizes its statements, running ones too: with
// one left, SQLite would keep the connection, and the files attached to it, for ever.
// Nothing but Finalize and Reset may be called of them afterwards.
func (c *Conn) Close() error {
	if c.inner == nil {
		return nil
	}
	c.interrupt.Lock()
	c.interrupt.tls.Close()
	c.interrupt.tls = nil
	c.interrupt.Unlock()

	c.closeNested()
	for st := range c.stmts {
		st.Finalize()
	}
	if c.authorizer != nil {
		c.SetAuthorizer(nil)
	}
	err := c.inner.Close()
	c.inner = nil
	forget(c)
	c.closeSession()
	c.closeTLS()
	if err != nil {
		return fmt.Errorf("vtab: close: %w", err)
	}
	return nil
}

func (c *Conn) closeTLS() {
	freeC(c.tls, c.lent)
	c.tls.Close()
}

// Bad reports whether a callback panicked: SQLite's state is then unknown and
// the connection must be closed.
func (c *Conn) Bad() bool { return c.bad }

// Autocommit reports whether no transaction is open.
func (c *Conn) Autocommit() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) != 0 }

// Changes returns the number of rows the last INSERT, UPDATE or DELETE changed.
func (c *Conn) Changes() int64 { return int64(lib.Xsqlite3_changes64(c.tls, c.db)) }

// TotalChanges returns the number of rows changed since the connection was opened.
func (c *Conn) TotalChanges() int64 { return int64(lib.Xsqlite3_total_changes64(c.tls, c.db)) }

// LastInsertRowid returns the rowid of the last row inserted.
func (c *Conn) LastInsertRowid() int64 { return int64(lib.Xsqlite3_last_insert_rowid(c.tls, c.db)) }

// SetLastInsertRowid sets what LastInsertRowid returns.
func (c *Conn) SetLastInsertRowid(id int64) {
	lib.Xsqlite3_set_last_insert_rowid(c.tls, c.db, lib.Tsqlite3_int64(id))
}

// KeepChanges returns a function that puts changes(), total_changes() and
// last_insert_rowid() back to what they are now, for statements a user did not
// write.
func (c *Conn) KeepChanges() (restore func()) {
	db := (*lib.Tsqlite3)(unsafe.Pointer(c.db))
	n, total, id := db.FnChange, db.FnTotalChange, c.LastInsertRowid()
	return func() {
		db.FnChange, db.FnTotalChange = n, total
		c.SetLastInsertRowid(id)
	}
}

// SetChanges counts changes as a statement does that has made them: n rows of
// its own, and total with those of triggers and actions.
func (c *Conn) SetChanges(n, total int64) {
	db := (*lib.Tsqlite3)(unsafe.Pointer(c.db))
	db.FnChange = n
	db.FnTotalChange += total
}

// ActiveStatements returns the number of statements that were stepped and
// neither ended nor were reset.
func (c *Conn) ActiveStatements() int {
	return int((*lib.Tsqlite3)(unsafe.Pointer(c.db)).FnVdbeActive)
}

// Interrupt makes the running statements end with SQLITE_INTERRUPT as soon as
// they notice. It may be called from any goroutine, also after Close.
func (c *Conn) Interrupt() {
	c.interrupt.Lock()
	defer c.interrupt.Unlock()
	if c.interrupt.tls != nil {
		lib.Xsqlite3_interrupt(c.interrupt.tls, c.db)
	}
}

// ClearInterrupt takes an Interrupt back that the statement it was meant for has
// noticed or survived. SQLite itself does so only when no statement is active, so
// that one would end the others too.
func (c *Conn) ClearInterrupt() {
	c.interrupt.Lock()
	defer c.interrupt.Unlock()
	(*lib.Tsqlite3)(unsafe.Pointer(c.db)).Fu1.FisInterrupted = 0
}

// Exec runs every statement of sql; each takes its parameters from the start
// of args. Rows are dropped.
func (c *Conn) Exec(sql string, args ...row.Value) error {
	return c.each(sql, args, func(*Stmt) {})
}

// Query runs every statement of sql and returns the rows of the last one that
// has columns. The values are copies.
func (c *Conn) Query(sql string, args ...row.Value) ([][]row.Value, error) {
	var rows [][]row.Value
	var of *Stmt
	err := c.each(sql, args, func(st *Stmt) {
		if st != of {
			of, rows = st, nil
		}
		r := make([]row.Value, st.NumColumns())
		for i := range r {
			r[i] = st.Column(i).Clone()
		}
		rows = append(rows, r)
	})
	return rows, err
}

// each steps through the statements of sql and calls f for each row.
func (c *Conn) each(sql string, args []row.Value, f func(*Stmt)) error {
	for sql != "" {
		st, tail, err := c.Prepare(sql)
		if err != nil {
			return err
		}
		sql = tail
		if st == nil {
			continue
		}
		if err := st.all(args, f); err != nil {
			return err
		}
	}
	return nil
}

// StrictQuotes makes a name in double quotes that is none an error, instead of a
// text, and returns a function that ends that.
func (c *Conn) StrictQuotes() (restore func()) {
	db := (*lib.Tsqlite3)(unsafe.Pointer(c.db))
	flags := db.Fflags
	db.Fflags &^= lib.SQLITE_DqsDML | lib.SQLITE_DqsDDL
	return func() { db.Fflags |= flags & (lib.SQLITE_DqsDML | lib.SQLITE_DqsDDL) }
}
