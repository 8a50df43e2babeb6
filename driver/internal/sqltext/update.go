package sqltext

import "github.com/sqlc-dev/meyer/ast"

// Updating is one UPDATE in a text.
type Updating struct {
	n       *ast.UpdateStmt
	text    string
	trigger bool
}

// Updates returns the UPDATE statements of a text: itself, or those in the body
// of a trigger.
func (s *Stmt) Updates() []Updating {
	switch n := s.node.(type) {
	case *ast.UpdateStmt:
		return []Updating{{n, s.Text, false}}
	case *ast.CreateTriggerStmt:
		var list []Updating
		for _, b := range n.Body {
			if x, ok := b.(*ast.UpdateStmt); ok {
				list = append(list, Updating{x, s.Text, true})
			}
		}
		return list
	}
	return nil
}

// Target returns the name of the table.
func (u Updating) Target() Name { return nameOf(u.n.Table) }

// From reports whether it has a FROM clause.
func (u Updating) From() bool { return len(u.n.From) > 0 }

// Or returns the OR clause.
func (u Updating) Or() Conflict { return conflicts[u.n.OrConflict] }

// Columns returns the columns that SET names.
func (u Updating) Columns() (names []string) {
	for _, s := range u.n.Set {
		for _, id := range s.Columns {
			names = append(names, id.Name)
		}
	}
	return names
}

// Set says what the values of a SET clause depend on.
type Set uint8

// Bits of Set.
const (
	SetReads   Set = 1 << iota // columns
	SetSelects                 // tables
)

// Reads says what the values of SET depend on.
func (u Updating) Reads() (reads Set) {
	for _, s := range u.n.Set {
		if hasSelect(s.Value) {
			reads |= SetSelects
		}
		ast.Walk(s.Value, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.Ident, *ast.QualifiedRef, *ast.FuncCall, *ast.SelectStmt:
				reads |= SetReads
			}
			return true
		})
	}
	return reads
}

// Nested returns the SET clause as a query.
func (u Updating) Nested(n *Nesting) (*NestedSet, error) {
	n.src, n.trigger, n.with, n.alias, n.excluded = u.text, u.trigger, u.n.With, "", false
	if u.n.Alias != nil {
		n.alias = u.n.Alias.Name
	}
	return n.setList(u.n.Set, nil)
}

// ReplaceSet puts another SET list in the place of the one written.
func (u Updating) ReplaceSet(e *Edits, set string) {
	e.Put(u.n.Set[0].Pos(), u.n.Set[len(u.n.Set)-1].End(), set)
}
