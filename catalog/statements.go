package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
)

// keptStatements is how many compiled statements a connection keeps. The texts of
// this package are fewer.
const keptStatements = 256

// statements are the compiled statements of the writing connection. A write
// compiles the programs of its table's triggers along, which costs more than
// running them; so each text is compiled once.
type statements map[string]*kept

type kept struct {
	driver.Stmt
	busy bool // its rows are being read
}

// statement returns the compiled form of a text, nil when it has to be run the
// ordinary way. Pragmas are: what one answers is fixed when it is compiled.
func (g *guardedConn) statement(ctx context.Context, query string) (*kept, error) {
	if g.access != writing || !keepable(query) {
		return nil, nil
	}
	if s := g.statements[query]; s != nil {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	if len(g.statements) >= keptStatements {
		return nil, nil
	}
	stmt, err := g.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &kept{Stmt: stmt}
	g.statements[query] = s
	return s, nil
}

func keepable(query string) bool {
	query = strings.TrimLeft(query, " \t\n")
	for _, verb := range []string{"SELECT ", "INSERT ", "UPDATE ", "DELETE "} {
		if strings.HasPrefix(query, verb) {
			return true
		}
	}
	return false
}

// ExecContext runs a statement.
func (g *guardedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := g.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s != nil {
		if stmt, ok := s.Stmt.(driver.StmtExecContext); ok {
			return stmt.ExecContext(ctx, args)
		}
	}
	return g.physical.ExecContext(ctx, query, args)
}

// QueryContext runs a statement that returns rows.
func (g *guardedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := g.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s != nil {
		if stmt, ok := s.Stmt.(driver.StmtQueryContext); ok {
			rows, err := stmt.QueryContext(ctx, args)
			if err != nil {
				return nil, err
			}
			s.busy = true
			return &keptRows{rows, s}, nil
		}
	}
	return g.physical.QueryContext(ctx, query, args)
}

// keptRows gives its statement back at the end.
type keptRows struct {
	driver.Rows
	of *kept
}

// Close ends the reading.
func (r *keptRows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}

// Close lets go of the statements and closes.
func (g *guardedConn) Close() error {
	var errs []error
	for _, s := range g.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, g.physical.Close())...)
}
