package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
)

// sqliteConn is what the catalog asks of a connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keptConn goes back to its shelf instead of being closed, with the statements
// it prepared.
type keptConn struct {
	sqliteConn
	shelf  *shelf
	source string
	stmts  map[string]driver.Stmt // those that are not in use
	done   map[string]bool        // switches it has turned
}

func (k *keptConn) Close() error {
	// What was open ends, as it would with the connection.
	_, _ = k.sqliteConn.ExecContext(context.Background(), "ROLLBACK", nil)
	k.shelf.mu.Lock()
	defer k.shelf.mu.Unlock()
	k.shelf.kept[k.source] = append(k.shelf.kept[k.source], k)
	return nil
}

// prepare returns a statement that was prepared before, or nil for one whose
// meaning SQLite may fix when it prepares it.
func (k *keptConn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	if !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}, strings.TrimSpace(word)) || strings.Contains(query, ";") {
		return nil, nil
	}
	if st := k.stmts[query]; st != nil {
		delete(k.stmts, query)
		return st, nil
	}
	return k.PrepareContext(ctx, query)
}

func (k *keptConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	st, err := k.prepare(ctx, query)
	if st == nil {
		if err == nil {
			return k.sqliteConn.ExecContext(ctx, query, args)
		}
		return nil, err
	}
	defer func() { k.stmts[query] = st }()
	return st.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (k *keptConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	// To turn a switch again, which stays as it is, would expire every
	// statement. The catalog reads back where it is. One that was cancelled may not
	// have turned.
	turn := ""
	if name, value, ok := strings.Cut(query, " = "); ok && (value == "ON" || value == "OFF") {
		if k.done[query] {
			query = name
		} else {
			turn = query
		}
	}
	st, err := k.prepare(ctx, query)
	if st == nil {
		if err != nil {
			return nil, err
		}
		rows, err := k.sqliteConn.QueryContext(ctx, query, args)
		if err == nil && turn != "" {
			k.done[turn] = true
		}
		return rows, err
	}
	rows, err := st.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &keptRows{rows, k, query, st}, nil
}

type keptRows struct {
	driver.Rows
	conn  *keptConn
	query string
	st    driver.Stmt
}

func (r *keptRows) Close() error {
	err := r.Rows.Close()
	if r.st != nil {
		r.conn.stmts[r.query], r.st = r.st, nil
	}
	return err
}

// end closes it in truth.
func (k *keptConn) end() (err error) {
	for _, st := range k.stmts {
		err = errors.Join(err, st.Close())
	}
	return errors.Join(err, k.sqliteConn.Close())
}

func (s *shelf) connect(source string, connect func() (driver.Conn, error)) (driver.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := s.kept[source]; len(list) > 0 {
		c := list[len(list)-1]
		s.kept[source] = list[:len(list)-1]
		return c, nil
	}
	c, err := connect()
	if err != nil {
		return nil, err
	}
	return &keptConn{c.(sqliteConn), s, source, map[string]driver.Stmt{}, map[string]bool{}}, nil
}
