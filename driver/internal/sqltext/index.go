package sqltext

import (
	"fmt"

	"github.com/sqlc-dev/meyer/ast"
)

// Index is what CREATE INDEX says that SQLite's PRAGMAs do not repeat.
type Index struct {
	Terms []Term
	Where *Term // nil for an index of every row
}

// Term is an expression of an index.
type Term struct {
	Expr  string
	Names []string // every identifier in Expr, in lower case
}

// ParseIndex reads the text of a CREATE INDEX statement.
func ParseIndex(text string) (*Index, error) {
	s := Parse(text)
	n, ok := s.node.(*ast.CreateIndexStmt)
	if !ok {
		return nil, fmt.Errorf("sqltext: not a CREATE INDEX: %.80q: %w", text, s.Err)
	}
	ix := &Index{}
	for _, term := range n.Columns {
		e := term.Expr
		if c, ok := e.(*ast.CollateExpr); ok { // that of the index, not of the value
			e = c.X
		}
		ix.Terms = append(ix.Terms, termOf(text, e))
	}
	if n.Where != nil {
		where := termOf(text, n.Where)
		ix.Where = &where
	}
	return ix, nil
}

func termOf(text string, e ast.Expr) Term {
	return Term{Expr: text[e.Pos():e.End()], Names: namesIn(e)}
}
