package sqltests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// metaQueryer is what statements run on: the pool, a connection or one that is
// kept for a transaction.
type metaQueryer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
}

func word(text string) string {
	first, _, _ := strings.Cut(strings.ToUpper(text), " ")
	return first
}

// pin gives the session a connection for a transaction, or for ever.
func (r *metaRun) pin(s *metaSession, text string) (err error) {
	if w := word(text); s.conn == nil && (r.pool() == 0 || w == "BEGIN" || w == "SAVEPOINT") {
		s.conn, err = r.db.Conn(r.ctx)
		s.kept = map[string]*sql.Stmt{}
	}
	return err
}

// on returns what the session's statements run on.
func (r *metaRun) on(s *metaSession) (metaQueryer, map[string]*sql.Stmt) {
	if s.conn != nil {
		return s.conn, s.kept
	}
	return r.db, r.kept
}

// settle asks whether the session is in a transaction and gives back what was
// kept for one.
func (r *metaRun) settle(s *metaSession) error {
	if s.conn == nil {
		return nil
	}
	_, err := s.conn.ExecContext(r.ctx, "BEGIN DEFERRED")
	if code(err) == 516 && s.tx != nil { // a conflict ended what BeginTx began
		s.tx.Rollback()
		s.tx = nil
		_, err = s.conn.ExecContext(r.ctx, "BEGIN DEFERRED")
	}
	if err == nil {
		_, err = s.conn.ExecContext(r.ctx, "COMMIT")
		s.within = false
	} else if strings.Contains(err.Error(), "within a transaction") {
		s.within, err = true, nil
	}
	if err != nil {
		return fmt.Errorf("is a transaction open? %w", err)
	}
	if !s.within && s.tx != nil { // a text ended it
		s.tx.Rollback()
		s.tx = nil
	}
	if !s.within && r.pool() > 0 {
		s.unpin()
	}
	return nil
}

// exec runs a statement without rows.
func (r *metaRun) exec(s *metaSession, o metaOp) (string, error) {
	if err := r.pin(s, o.text); err != nil {
		return "", err
	}
	before := s.within
	if !before && word(o.text) == "PRAGMA" { // it is of the connection, and no transaction would end it
		return "in no transaction", nil
	}
	if before && word(o.text) == "BEGIN" {
		o.text = "BEGIN" // another one is refused, too, but SQLite keeps the lock it took for it
	}
	res, err := r.execute(s, o)
	out := "ok"
	if r.failed = err; err != nil {
		if code(err) < 0 {
			return "", err
		}
		out = metaError(err)
	} else if w := word(o.text); w == "INSERT" || w == "REPLACE" || w == "UPDATE" || w == "DELETE" || w == "WITH" {
		n, _ := res.RowsAffected()
		out = fmt.Sprint(n, " rows")
		id, _ := res.LastInsertId()
		// The last id of a connection is that of its last row with a rowid.
		if into := metaInto.FindStringSubmatch(o.text); n > 0 && into != nil && into[1][0] != 'w' {
			out += fmt.Sprint(", last id ", id)
		}
	}
	if err := r.settle(s); err != nil {
		return "", err
	}
	if s.within != before {
		out += fmt.Sprint(", in a transaction: ", s.within)
	}
	return out, nil
}

func (r *metaRun) execute(s *metaSession, o metaOp) (sql.Result, error) {
	if r.set["@begin"] == "api" {
		switch {
		case o.text == "BEGIN" && s.tx == nil:
			tx, err := s.conn.BeginTx(r.ctx, nil)
			if err == nil {
				s.tx = tx
			}
			return nil, err
		case o.text == "COMMIT" && s.tx != nil, o.text == "ROLLBACK" && s.tx != nil:
			tx := s.tx
			s.tx = nil
			if o.text == "COMMIT" {
				return nil, tx.Commit()
			}
			return nil, tx.Rollback()
		}
	}
	q, _ := r.on(s)
	if r.set == nil && s.within && metaIntoForeign.MatchString(o.text) {
		return r.cured(q, o)
	}
	st, closes, err := r.prepare(s, o.text)
	switch {
	case err != nil:
		return nil, err
	case st == nil:
		return q.ExecContext(r.ctx, r.ours(o.text), o.values()...)
	case closes:
		defer st.Close()
	}
	return st.ExecContext(r.ctx, o.values()...)
}

// cured runs a statement on plain SQLite, in a savepoint, which cures what a
// failure leaves behind there: a single-row INSERT that violates a deferred key and
// another one stays counted, although no row stays; and rows stay deleted where a
// CASCADE did not mend what the comparison of its own affinities counted.
func (r *metaRun) cured(q metaQueryer, o metaOp) (sql.Result, error) {
	const violated, restricted = 787, 1811
	aside := func(text string) { _, _ = q.ExecContext(r.ctx, text) } // fails when OR ROLLBACK ended it
	aside("SAVEPOINT around")
	res, err := q.ExecContext(r.ctx, o.text, o.values()...)
	if c := code(err); c != 0 && !strings.Contains(o.text, "OR FAIL") || c == violated || c == restricted {
		aside("ROLLBACK TO around")
	}
	aside("RELEASE around")
	return res, err
}

// prepare returns a statement for the text when the set wants one, and whether
// it is for one use.
func (r *metaRun) prepare(s *metaSession, text string) (st *sql.Stmt, closes bool, err error) {
	q, kept := r.on(s)
	switch r.set["@text"] {
	case "prepared":
		st, err = q.PrepareContext(r.ctx, r.ours(text))
		return st, true, err
	case "kept":
		if st = kept[text]; st == nil {
			if st, err = q.PrepareContext(r.ctx, r.ours(text)); err == nil {
				kept[text] = st
			}
		}
	}
	return st, false, err
}

// lie changes texts in tests of the runner itself: the set's @lie is a text and
// what takes its place.
func (r *metaRun) lie(text string) string {
	from, to, _ := strings.Cut(r.set["@lie"], "→")
	if from == "" {
		return text
	}
	return strings.ReplaceAll(text, from, to)
}

// metaPlainTable is a CREATE TABLE without table options.
var metaPlainTable = regexp.MustCompile(`^CREATE TABLE ((?:IF NOT EXISTS )?\w+?(\d))\((.*)\)$`)

// ours is the text that the store gets: with @modes=mixed tables say themselves
// where their rows are, half of them so and half so.
func (r *metaRun) ours(text string) string {
	text = r.lie(text)
	m := metaPlainTable.FindStringSubmatch(text)
	if r.set["@modes"] != "mixed" || m == nil {
		return text
	}
	resident := "keys"
	if m[2] == "1" {
		resident = "all"
	}
	virtual := fmt.Sprintf("CREATE VIRTUAL TABLE %s USING tidemark(%s, resident=%s)", m[1], m[3], resident)
	if r.written == nil {
		r.written = map[string]string{}
	}
	r.written[strings.Replace(virtual, "IF NOT EXISTS ", "", 1)] = strings.Replace(text, "IF NOT EXISTS ", "", 1)
	return virtual
}

// theirs puts the texts of tables as plain SQLite got them into rows of the schema.
func (r *metaRun) theirs(rows string) string {
	for ours, text := range r.written {
		rows = strings.ReplaceAll(rows, ours, text)
	}
	return rows
}

func (r *metaRun) start(s *metaSession, o metaOp) (*sql.Rows, func(), error) {
	if err := r.pin(s, o.text); err != nil {
		return nil, nil, err
	}
	q, _ := r.on(s)
	st, closes, err := r.prepare(s, o.text)
	if err != nil {
		return nil, nil, err
	}
	if st == nil {
		rows, err := q.QueryContext(r.ctx, r.ours(o.text), o.values()...)
		return rows, func() {}, err
	}
	rows, err := st.QueryContext(r.ctx, o.values()...)
	done := func() {
		if closes {
			st.Close()
		}
	}
	if err != nil {
		done()
	}
	return rows, done, err
}

// query runs a statement with rows.
func (r *metaRun) query(s *metaSession, o metaOp) (string, error) {
	rows, done, err := r.start(s, o)
	var lines []string
	if err == nil {
		lines, err = readRows(rows)
		err = errors.Join(err, rows.Close())
		done()
	}
	if r.failed == nil || ofDisk(err) { // of several queries
		r.failed = err
	}
	return metaLines(o, lines, err)
}

// metaLines makes the entry of rows and of the error behind them.
func metaLines(o metaOp, lines []string, err error) (string, error) {
	if err != nil {
		if code(err) < 0 {
			return "", err
		}
		return metaError(err), nil // how many rows came before it is no promise
	}
	if o.canonical {
		for i := range lines {
			lines[i] = canonical(lines[i])
		}
	}
	if o.anyOrder {
		slices.Sort(lines)
	}
	return strings.Join(lines, "\n"), nil
}

// openRows leaves the rows for later: both databases step to the first one.
func (r *metaRun) openRows(s *metaSession, o metaOp) (string, error) {
	rows, done, err := r.start(s, o)
	if r.failed = err; err != nil {
		return metaLines(o, nil, err)
	}
	s.cursor, s.from, s.done = rows, o, done
	return "open", nil
}

// drain reads and closes the open rows.
func (s *metaSession) drain() (string, error) {
	if s.cursor == nil {
		return "", nil
	}
	lines, err := readRows(s.cursor)
	err = errors.Join(err, s.cursor.Close())
	s.done()
	s.cursor = nil
	out, told := metaLines(s.from, lines, err)
	if told != nil {
		out = told.Error()
	}
	return out + "\n", err
}
