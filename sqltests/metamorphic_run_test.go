package sqltests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A metaRun is one database with the sessions of a list. Each operation gives an
// entry, what can be seen of it.
type metaRun struct {
	ctx      context.Context
	n        int     // sessions
	set      metaSet // nil for plain SQLite
	base     metaBase
	db       *sql.DB
	watch    *sql.DB // looks on, with one connection that no session uses
	sessions []*metaSession
	kept     map[string]*sql.Stmt // of the pool
	failed   error                // of the last operation, as the driver told it
	written  map[string]string    // texts of tables that the store got, and what was meant
}

// metaSession is what one user of the database has open.
type metaSession struct {
	conn   *sql.Conn // its own; nil while it takes what the pool gives
	tx     *sql.Tx   // when BeginTx began the transaction
	within bool      // a transaction
	cursor *sql.Rows
	from   metaOp // of the cursor
	done   func() // after it
	kept   map[string]*sql.Stmt
}

// metaEpilogue ends all transactions and looks at everything, twice.
func metaEpilogue(sessions int) (ops []metaOp) {
	for i := range sessions {
		ops = append(ops, metaOp{session: i, verb: metaExec, text: "ROLLBACK"})
	}
	for _, v := range []metaVerb{metaDump, metaCheck, metaCrash, metaDump, metaCheck, metaReopen, metaDump} {
		ops = append(ops, metaOp{verb: v})
	}
	return ops
}

func (r *metaRun) open() (err error) {
	r.kept, r.sessions, r.failed = map[string]*sql.Stmt{}, nil, nil
	for range r.n {
		r.sessions = append(r.sessions, &metaSession{})
	}
	if r.db, err = r.base.open(); err != nil {
		return err
	}
	if n := r.pool(); n > 0 {
		r.db.SetMaxOpenConns(n)
		r.db.SetMaxIdleConns(n)
	}
	if r.watch, err = r.base.open(); err == nil {
		r.watch.SetMaxOpenConns(1)
		err = r.db.PingContext(r.ctx)
	}
	if err != nil {
		err = errors.Join(err, r.close())
	}
	return err
}

// pool is the number of connections that all sessions share, at least one for
// each transaction there can be; 0 when each session has its own.
func (r *metaRun) pool() int {
	n := 0
	if v := r.set["@pool"]; v != "" && v != "own" {
		fmt.Sscan(v, &n)
		n = max(n, r.n)
	}
	return n
}

// close ends what is open and closes the database.
func (r *metaRun) close() error {
	if r.db == nil {
		return nil
	}
	for _, st := range r.kept {
		st.Close()
	}
	for _, s := range r.sessions {
		if s.cursor != nil {
			s.cursor.Close()
			s.done()
		}
		s.unpin()
	}
	var watch error
	if r.watch != nil {
		watch = r.watch.Close()
	}
	err := r.db.Close()
	r.db, r.watch = nil, nil
	return errors.Join(watch, err)
}

// unpin gives the session's connection back.
func (s *metaSession) unpin() {
	for _, st := range s.kept {
		st.Close()
	}
	if s.tx != nil {
		s.tx.Rollback()
	}
	if s.conn != nil {
		s.conn.Close()
	}
	s.conn, s.tx, s.kept = nil, nil, nil
}

// idle reports whether no session would notice that the database was opened
// again.
func (r *metaRun) idle() bool {
	return !slices.ContainsFunc(r.sessions, func(s *metaSession) bool { return s.within || s.cursor != nil })
}

// drainFor reads the open rows that an operation ends.
func (r *metaRun) drainFor(o metaOp) (drained string) {
	r.failed = nil
	for n, s := range r.sessions {
		if n == o.session || o.verb == metaReopen || o.verb == metaCrash {
			text, err := s.drain()
			drained += text
			r.failed = errors.Join(r.failed, err)
		}
	}
	return drained
}

// metaDrained stands before the rows of an earlier operation.
const metaDrained = "\nopen rows: "

func isBusy(entry string) bool { return strings.HasPrefix(entry, "error 5 ") }

// do runs one operation and returns its entry. An error is one of the runner.
func (r *metaRun) do(o metaOp) (string, error) {
	r.failed = nil
	s := r.sessions[o.session]
	switch o.verb {
	case metaExec:
		return r.exec(s, o)
	case metaRows:
		return r.query(s, o)
	case metaOpen:
		return r.openRows(s, o)
	case metaDump:
		return r.dump(s, o)
	case metaCheck:
		return r.check(s)
	case metaCheckpoint:
		return r.job((metaBase).checkpoint)
	case metaCompact:
		return r.job((metaBase).compact)
	}
	return "", nil
}

// job runs what waits for the write lock, so nobody may have it.
func (r *metaRun) job(run func(metaBase, context.Context, *sql.Conn) error) (string, error) {
	if slices.ContainsFunc(r.sessions, func(s *metaSession) bool { return s.within }) {
		return "in a transaction", nil
	}
	c, err := r.watch.Conn(r.ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	r.failed = run(r.base, r.ctx, c)
	return "", r.failed
}

func (r *metaRun) check(s *metaSession) (string, error) {
	if s.within {
		return "in a transaction", nil
	}
	c := s.conn
	if c == nil {
		var err error
		if c, err = r.db.Conn(r.ctx); err != nil {
			return "", err
		}
		defer c.Close()
	}
	list, err := r.base.check(r.ctx, c)
	if r.failed = err; err != nil {
		return "", fmt.Errorf("check: %w", err)
	}
	return "findings: " + strings.Join(list, "; "), nil
}

// dump shows the schema and all tables.
func (r *metaRun) dump(s *metaSession, o metaOp) (string, error) {
	var b strings.Builder
	for _, text := range metaDumps() {
		o := metaOp{session: o.session, verb: metaRows, text: text}
		rows, err := r.query(s, o)
		if err != nil {
			return "", err
		}
		metaDumped(&b, text, r.theirs(rows))
	}
	return b.String(), nil
}

// committed is the dump of what somebody sees who has no part in a transaction.
func (r *metaRun) committed() (string, error) {
	var b strings.Builder
	for _, text := range metaDumps() {
		rows, err := r.watch.QueryContext(r.ctx, text)
		var lines []string
		if err == nil {
			lines, err = readRows(rows)
			err = errors.Join(err, rows.Close())
		}
		out, err := metaLines(metaOp{}, lines, err)
		if err != nil {
			return "", err
		}
		metaDumped(&b, text, r.theirs(out))
	}
	return b.String(), nil
}

func metaDumped(b *strings.Builder, text, rows string) {
	if strings.Contains(text, "sqlite_sequence WHERE") && strings.HasPrefix(rows, "error 1 no such table") {
		rows = "" // native SQLite keeps the empty table for ever
	}
	fmt.Fprintf(b, "%s\n%s\n", text, rows)
}

func metaDumps() []string {
	out := []string{
		"SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name <> 'sqlite_sequence' ORDER BY type, name",
		// SQLite writes a row of 0 for an INSERT … SELECT that finds nothing.
		"SELECT name, seq FROM sqlite_sequence WHERE seq <> 0 ORDER BY name",
	}
	for _, n := range metaNames {
		rowid := ", rowid"
		if n[0] == 'w' || n[0] == 'v' {
			rowid = ""
		}
		out = append(out, "SELECT *"+rowid+" FROM "+n+" ORDER BY k")
	}
	return out
}
