package sqltext

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// Nesting takes expressions out of a statement, to be evaluated by queries of
// their own while it runs. What they need of the place they stood in becomes
// parameters of those queries: the statement's own parameters, NEW.x and OLD.x in
// a trigger, excluded.x.
type Nesting struct {
	// Args are the texts of the values that have to be evaluated where the
	// statement stands.
	Args []string
	// Standalone reports whether a SELECT can be compiled by itself. A subquery that
	// can does not depend on the row, and is computed once.
	Standalone func(sql string) bool
	// Once is how a query asks for the value of such a subquery.
	Once func(at int) string
	// Column finds a column that SET names: its ordinal, and false without one.
	Column func(name string) (int, bool)
	// Source is the FROM and WHERE of a query over the row to be changed.
	Source func(alias string) string
	// Integer reports whether NEW.x and OLD.x of a trigger are compared as a rowid
	// is.
	Integer func(name string) bool
	// Base are edits of the statement that its parts keep.
	Base Edits

	src      string
	trigger  bool
	excluded bool // excluded.x is the row that was to be inserted
	with     *ast.With
	alias    string
}

// NestedQuery is a SELECT and the values of its parameters, from ?1 on.
type NestedQuery struct {
	SQL    string
	Params []NestedOperand
}

// NestedOperand is column Excluded of the row that was to be inserted or, when
// that is "", the value At of Nesting.Args.
type NestedOperand struct {
	Excluded string
	At       int
}

// NestedSet is a SET clause. Copies is set when nothing is to be evaluated: the
// columns of the row that was to be inserted whose values are taken over.
type NestedSet struct {
	Columns []int
	Copies  []string
	Query   NestedQuery
	Once    []NestedQuery
	// Correlated says that a subquery depends on the row.
	Correlated bool
}

// ErrNoColumn is a column that SET names and the table does not have.
type ErrNoColumn string

func (e ErrNoColumn) Error() string { return "no such column: " + string(e) }

// query is one query under construction.
type query struct {
	n       *Nesting
	params  []NestedOperand
	within  int        // depth of subqueries
	hidden  int        // of those that read something by the name excluded
	list    *NestedSet // that the query is for, nil for one of its Once
	colored bool       // names excluded.x
}

// setList makes the query of a SET clause with its WHERE.
func (n *Nesting) setList(set []*ast.SetPair, where ast.Expr) (*NestedSet, error) {
	list := &NestedSet{}
	q := &query{n: n, list: list}
	type assignment struct {
		value ast.Expr
		at    int // column of the value, a subquery; -1 for the value itself
		of    int // how many columns it has
	}
	var values []assignment
	assign := func(name *ast.Ident, a assignment) error {
		k, ok := n.Column(name.Name)
		if !ok {
			return ErrNoColumn(name.Name)
		}
		for i, known := range list.Columns {
			if known == k { // the last one counts
				values[i] = a
				return nil
			}
		}
		list.Columns, values = append(list.Columns, k), append(values, a)
		return nil
	}
	for _, s := range set {
		vector, _ := s.Value.(*ast.VectorExpr)
		for i, name := range s.Columns {
			a := assignment{s.Value, -1, len(s.Columns)}
			switch {
			case vector != nil && len(vector.List) == len(s.Columns):
				a.value = vector.List[i]
			case len(s.Columns) > 1:
				a.at = i
			}
			if err := assign(name, a); err != nil {
				return nil, err
			}
		}
	}
	var b strings.Builder
	sub := hasSelect(where)
	copies := make([]string, 0, len(values))
	for _, a := range values {
		sub = sub || hasSelect(a.value)
		if name := n.excludedName(a.value); name != "" && a.at < 0 {
			copies = append(copies, name)
		}
	}
	if where == nil && len(copies) == len(values) {
		list.Copies = copies
		return list, nil
	}
	if sub && n.with != nil {
		b.WriteString(q.text(n.with) + " ")
	}
	b.WriteString("SELECT ")
	for i, a := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		if a.at < 0 {
			b.WriteString(q.text(a.value))
		} else {
			b.WriteString(q.part(a.value, a.at, a.of))
		}
		b.WriteByte('\n') // the text may end with a comment
	}
	b.WriteString(n.Source(n.alias))
	if where != nil {
		b.WriteString(" AND (" + q.text(where) + "\n)")
	}
	list.Query = NestedQuery{b.String(), q.params}
	return list, nil
}

// part is the text of one column of a subquery that stands for a row value of so many.
// The names that SET gives are counted, and not what the subquery lists: that may be a
// star, and SQLite has seen that they are as many.
func (q *query) part(e ast.Expr, at, of int) string {
	sel, ok := e.(*ast.SubqueryExpr)
	if !ok {
		return q.text(e)
	}
	if once, ok := q.onceOf(sel, at, of); ok {
		return once
	}
	q.within++
	defer func() { q.within-- }()
	return partOf(q.text(sel), at, of)
}

func partOf(subquery string, at, width int) string {
	names := make([]string, width)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
	}
	return `(WITH "tm v"(` + strings.Join(names, ",") + ") AS " + subquery + " SELECT c" + strconv.Itoa(at) + ` FROM "tm v")`
}

// text returns the source of a node with its outer values as parameters.
func (q *query) text(root ast.Node) string {
	n := q.n
	var e Edits
	stays := map[ast.Node]bool{} // subqueries whose affinity a comparison needs
	var walk func(x ast.Node) bool
	walk = func(node ast.Node) bool {
		for _, operand := range comparedBy(node) {
			if sub, ok := bare(operand).(*ast.SubqueryExpr); ok && hasAffinity(sub) {
				stays[sub] = true
			}
		}
		switch x := node.(type) {
		case *ast.SubqueryExpr, *ast.ExistsExpr:
			if stays[node] {
				q.notice(node.(*ast.SubqueryExpr).Select)
				return true
			}
			if once, ok := q.onceOf(node, -1, 0); ok {
				e.Replace(x.Pos(), x.End(), once)
				return false
			}
		case *ast.InExpr:
			if x.Select != nil {
				q.notice(x.Select)
			}
		case *ast.SelectStmt:
			hides := 0
			if readsAs(x, "excluded") {
				hides = 1
			}
			q.within, q.hidden = q.within+1, q.hidden+hides
			for _, child := range x.Children() {
				ast.Walk(child, walk)
			}
			q.within, q.hidden = q.within-1, q.hidden-hides
			return false
		case *ast.BindParam:
			e.Replace(x.Pos(), x.End(), q.operand(NestedOperand{At: n.arg("?" + strconv.Itoa(x.Number))}))
		case *ast.QualifiedRef:
			if n.isOuter(x) {
				text := q.operand(NestedOperand{At: n.arg(n.src[x.Pos():x.End()])})
				if n.Integer != nil && n.Integer(x.Parts[1].Name) {
					text = "CAST(" + text + " AS INTEGER)"
				}
				e.Replace(x.Pos(), x.End(), text)
			} else if name := n.excludedName(x); name != "" && q.hidden == 0 {
				q.colored = true
				e.Replace(x.Pos(), x.End(), q.operand(NestedOperand{Excluded: name}))
			}
			return false
		}
		return true
	}
	ast.Walk(root, walk)
	e.keep(n.Base, root.Pos(), root.End())
	return e.within(n.src, root.Pos(), root.End())
}

// onceOf makes a query of a subquery that does not depend on the row; at is the
// column of one that stands for a row value of so many. false: it depends.
func (q *query) onceOf(sub ast.Node, at, of int) (string, bool) {
	n := q.n
	if q.within > 0 {
		return "", false
	}
	args := len(n.Args)
	own := &query{n: n, within: 1}
	text := ""
	if n.with != nil {
		text = own.text(n.with) + " "
	}
	if body := own.text(sub); at < 0 {
		text += "SELECT " + body
	} else {
		text += "SELECT " + partOf(body, at, of)
	}
	if own.colored || !n.Standalone(text) {
		n.Args = n.Args[:args]
		q.list.Correlated = true
		return "", false
	}
	q.list.Once = append(q.list.Once, NestedQuery{text, own.params})
	return n.Once(len(q.list.Once) - 1), true
}

// comparedBy returns the operands of a comparison.
func comparedBy(n ast.Node) []ast.Expr {
	switch x := n.(type) {
	case *ast.BinaryExpr:
		if x.Op >= ast.OpEq && x.Op <= ast.OpGe {
			return []ast.Expr{x.X, x.Y}
		}
	case *ast.IsExpr:
		return []ast.Expr{x.X, x.Y}
	case *ast.BetweenExpr:
		return []ast.Expr{x.X, x.Lo, x.Hi}
	case *ast.InExpr:
		return []ast.Expr{x.X}
	}
	return nil
}

// bare strips parentheses and COLLATE.
func bare(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.CollateExpr:
			e = x.X
		default:
			return e
		}
	}
}

// hasAffinity reports whether a subquery may have an affinity: that of a column or
// of a CAST. A value that was computed before has none.
func hasAffinity(s *ast.SubqueryExpr) bool {
	core, ok := s.Select.Cores[0].(*ast.SelectQuery)
	if !ok || len(core.Columns) != 1 {
		return false
	}
	switch bare(core.Columns[0].Expr).(type) {
	case *ast.Ident, *ast.QualifiedRef, *ast.CastExpr, *ast.SubqueryExpr, *ast.Star:
		return true
	}
	return false
}

// notice finds out whether a subquery that is not computed once depends on the row.
func (q *query) notice(sel *ast.SelectStmt) {
	if q.within > 0 || q.list.Correlated {
		return
	}
	n, args := q.n, len(q.n.Args)
	own := &query{n: n, within: 1}
	text := "SELECT 1 FROM (" + own.text(sel) + ")"
	if n.with != nil {
		text = own.text(n.with) + " " + text
	}
	n.Args = n.Args[:args]
	q.list.Correlated = own.colored || !n.Standalone(text)
}

// operand returns the parameter that stands for a value.
func (q *query) operand(op NestedOperand) string {
	for i, known := range q.params {
		if known == op {
			return "?" + strconv.Itoa(i+1)
		}
	}
	q.params = append(q.params, op)
	return "?" + strconv.Itoa(len(q.params))
}

// arg returns the position of a text in Args.
func (n *Nesting) arg(text string) int {
	for i, known := range n.Args {
		if known == text {
			return i
		}
	}
	n.Args = append(n.Args, text)
	return len(n.Args) - 1
}

// isOuter reports whether a name is NEW.x or OLD.x of a trigger.
func (n *Nesting) isOuter(x *ast.QualifiedRef) bool {
	return n.trigger && len(x.Parts) == 2 && (strings.EqualFold(x.Parts[0].Name, "new") || strings.EqualFold(x.Parts[0].Name, "old"))
}

// excludedName returns x of excluded.x, else "".
func (n *Nesting) excludedName(e ast.Node) string {
	if x, ok := e.(*ast.QualifiedRef); ok && n.excluded && len(x.Parts) == 2 && strings.EqualFold(x.Parts[0].Name, "excluded") {
		return x.Parts[1].Name
	}
	return ""
}

// readsAs reports whether a SELECT has a table or subquery of a name in its FROM.
func readsAs(s *ast.SelectStmt, name string) bool {
	var has func(list []*ast.TableRef) bool
	has = func(list []*ast.TableRef) bool {
		for _, ref := range list {
			switch {
			case ref.Alias != nil:
				if Lower(ref.Alias.Name) == name {
					return true
				}
			case ref.Name != nil && Lower(ref.Name.Name.Name) == name, has(ref.List):
				return true
			}
		}
		return false
	}
	for _, core := range s.Cores {
		if x, ok := core.(*ast.SelectQuery); ok && has(x.From) {
			return true
		}
	}
	return false
}

// hasSelect reports whether an expression looks at tables.
func hasSelect(e ast.Expr) (has bool) {
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectStmt:
			has = true
		case *ast.InExpr:
			has = has || x.Table != nil
		}
		return !has
	})
	return has
}

// NumberParams spells every parameter of a statement as ?N, so that what is put in
// or taken out does not give others another number. It returns their names with
// their prefixes by number, nil when none has one.
func (s *Stmt) NumberParams(e *Edits) (names []string) {
	ast.Walk(s.node, func(n ast.Node) bool {
		p, ok := n.(*ast.BindParam)
		if !ok {
			return true
		}
		e.Replace(p.Pos(), p.End(), "?"+strconv.Itoa(p.Number))
		if p.Raw != "" && p.Raw[0] != '?' {
			for len(names) <= p.Number {
				names = append(names, "")
			}
			names[p.Number] = p.Raw
		}
		return true
	})
	return names
}
