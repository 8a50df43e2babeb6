package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// Inserts returns the INSERT statements of a text: itself, or those in the body
// of a trigger.
func (s *Stmt) Inserts() []Insertion {
	switch n := s.node.(type) {
	case *ast.InsertStmt:
		end := s.End()
		if r, ok := s.Returning(); ok {
			end = len(strings.TrimRight(s.Text[:r.Start], " \t\r\n\f"))
		}
		return []Insertion{{n, s.Text, end, false}}
	case *ast.CreateTriggerStmt:
		var list []Insertion
		for _, b := range n.Body {
			if x, ok := b.(*ast.InsertStmt); ok {
				list = append(list, Insertion{x, s.Text, x.End(), true})
			}
		}
		return list
	}
	return nil
}

// OneRow reports whether an INSERT is of a single row that its text lists.
func (s *Stmt) OneRow() bool {
	n, ok := s.node.(*ast.InsertStmt)
	if !ok || n.DefaultValues {
		return ok
	}
	if len(n.Select.Cores) != 1 {
		return false
	}
	v, ok := n.Select.Cores[0].(*ast.ValuesClause)
	return ok && len(v.Rows) == 1
}

// Insertion is one INSERT in a text.
type Insertion struct {
	n       *ast.InsertStmt
	text    string
	end     int
	trigger bool
}

// Target returns the name of the table.
func (i Insertion) Target() Name { return nameOf(i.n.Table) }

// Or returns the OR clause.
func (i Insertion) Or() Conflict {
	if i.n.Replace {
		return OnReplace
	}
	return conflicts[i.n.OrConflict]
}

// Upsert reports whether it has an ON CONFLICT clause.
func (i Insertion) Upsert() bool { return len(i.n.Upserts) > 0 }

// Columns returns the columns it names, and false when it names none, which
// means all of them.
func (i Insertion) Columns() ([]string, bool) {
	if i.n.DefaultValues {
		return nil, true
	}
	list := make([]string, len(i.n.Columns))
	for k, id := range i.n.Columns {
		list[k] = id.Name
	}
	return list, len(list) > 0
}

// NameColumns lists the columns of an INSERT that names none.
func (i Insertion) NameColumns(e *Edits, columns []string) {
	after := i.n.Table.End()
	if i.n.Alias != nil {
		after = i.n.Alias.End()
	}
	e.Insert(after, "("+quoteAll(columns)+")")
}

// Splice adds columns with the given expressions to what is inserted. When the
// INSERT names none, NameColumns names all, these too.
//
// The rows of a VALUES list get the expressions appended; any other source is
// wrapped, which keeps its order.
func (i Insertion) Splice(e *Edits, columns, exprs []string) {
	names, values := quoteAll(columns), strings.Join(exprs, ",")
	after := i.n.Table.End()
	if i.n.Alias != nil {
		after = i.n.Alias.End()
	}
	if i.n.DefaultValues {
		e.Replace(after, i.end, "("+names+") VALUES("+values+")")
		return
	}
	if k := len(i.n.Columns); k > 0 {
		e.Insert(i.n.Columns[k-1].End(), ","+names)
	}
	sel := i.n.Select
	if v, ok := sel.Cores[0].(*ast.ValuesClause); ok && len(sel.Cores) == 1 && sel.With == nil {
		for _, row := range v.Rows {
			e.Insert(row[len(row)-1].End(), ","+values)
		}
		return
	}
	e.Insert(sel.Pos(), "SELECT *,"+values+" FROM (")
	e.Insert(sel.End(), ")")
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for k, name := range names {
		quoted[k] = Quote(name)
	}
	return strings.Join(quoted, ",")
}

// SpliceOrFail makes OR FAIL the OR clause of an INSERT or UPDATE.
func (s *Stmt) SpliceOrFail(e *Edits) {
	var with *ast.With
	switch n := s.node.(type) {
	case *ast.InsertStmt:
		with = n.With
	case *ast.UpdateStmt:
		with = n.With
	}
	verb := next(s.Text, 0)
	if with != nil {
		verb = next(s.Text, with.End())
	}
	after := next(s.Text, verb.end)
	switch {
	case verb.is(s.Text, "REPLACE"):
		e.Replace(verb.start, verb.end, "INSERT OR FAIL")
	case after.is(s.Text, "OR"):
		e.Replace(after.start, next(s.Text, after.end).end, "OR FAIL")
	default:
		e.Insert(after.start, "OR FAIL ")
	}
}
