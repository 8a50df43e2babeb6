package sqltests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A metaRun runs one list on one database and writes down what can be seen: an
// entry for each operation.
type metaRun struct {
	ctx      context.Context
	list     metaList
	set      metaSet // nil for plain SQLite
	base     metaBase
	db       *sql.DB
	sessions []*metaSession
	kept     map[string]*sql.Stmt // of the pool
	want     []string             // what plain SQLite showed; nil while it is asked
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

// runMeta runs a list below dir, on plain SQLite when set is nil; want is then
// what that showed. An error is one of the runner's own operations: opening,
// closing, copying.
func runMeta(list metaList, set metaSet, dir string, want []string) (history []string, err error) {
	if dir, err = os.MkdirTemp(dir, ""); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &metaRun{ctx: context.Background(), list: list, set: set, base: &metaPlain{dir}, want: want}
	if set != nil {
		if list.sessions > 1 {
			set = set.with("txlock", "deferred") // others notice who has the lock
			r.set = set
		}
		r.base = &metaStore{dir: dir, query: set.query()}
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for i, o := range slices.Concat(list.ops, metaEpilogue(list.sessions)) {
		if err := r.reopenBetween(i); err != nil {
			return history, fmt.Errorf("reopen before %q: %w", o, err)
		}
		entry, err := r.do(i, o)
		if err != nil {
			return history, fmt.Errorf("%q: %w", o, err)
		}
		history = append(history, entry)
	}
	return history, nil
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

func (r *metaRun) open() error {
	db, err := r.base.open()
	if err != nil {
		return err
	}
	r.db, r.kept, r.sessions = db, map[string]*sql.Stmt{}, nil
	if n := r.pool(); n > 0 {
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
	}
	for range r.list.sessions {
		r.sessions = append(r.sessions, &metaSession{})
	}
	return db.PingContext(r.ctx)
}

// pool is the number of connections that all sessions share, at least one for
// each transaction there can be; 0 when each session has its own.
func (r *metaRun) pool() int {
	n := 0
	if v := r.set["@pool"]; v != "" && v != "own" {
		fmt.Sscan(v, &n)
		n = max(n, r.list.sessions)
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
	err := r.db.Close()
	r.db = nil
	return err
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

// reopenBetween opens the store again, where no session would notice.
func (r *metaRun) reopenBetween(i int) error {
	how := r.set["@reopen"]
	if how == "" || how == "never" || i%4 != 3 || slices.ContainsFunc(r.sessions, func(s *metaSession) bool { return s.within || s.cursor != nil }) {
		return nil
	}
	return r.reopen(how == "killed")
}

func (r *metaRun) reopen(killed bool) error {
	if killed {
		if err := r.base.image(); err != nil {
			return err
		}
	}
	if err := r.close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if killed {
		if err := r.base.crash(); err != nil {
			return err
		}
	}
	return r.open()
}

// do runs one operation and returns its entry, with the rows it drains at the end.
func (r *metaRun) do(i int, o metaOp) (string, error) {
	drained := ""
	for n, s := range r.sessions {
		if n == o.session || o.verb == metaReopen || o.verb == metaCrash {
			drained += s.drain()
		}
	}
	out, err := r.doOnce(o)
	// A store takes its own write lock to begin a generation, so it may be busy
	// although no session is the reason.
	for try := 0; try < 200 && err == nil && i < len(r.want) && isBusy(out) && !isBusy(r.want[i]); try++ {
		time.Sleep(time.Millisecond)
		out, err = r.doOnce(o)
	}
	return out + metaDrained + drained, err
}

// metaDrained stands before the rows of an earlier operation.
const metaDrained = "\nopen rows: "

func isBusy(entry string) bool { return strings.HasPrefix(entry, "error 5 ") }

func (r *metaRun) doOnce(o metaOp) (string, error) {
	s := r.sessions[o.session]
	switch o.verb {
	case metaReopen, metaCrash:
		return "", r.reopen(o.verb == metaCrash)
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
	}
	return "", nil
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
	if err != nil {
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
		if strings.Contains(text, "sqlite_sequence WHERE") && strings.HasPrefix(rows, "error 1 no such table") {
			rows = "" // native SQLite keeps the empty table for ever
		}
		fmt.Fprintf(&b, "%s\n%s\n", text, rows)
	}
	return b.String(), nil
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
