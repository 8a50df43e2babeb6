package sqltext

import (
	"strconv"

	"github.com/sqlc-dev/meyer/ast"
)

// Returning is the RETURNING clause of a statement.
type Returning struct {
	Start, End int     // of the clause in the text
	Params     []Param // of its list and of the WITH clause before the statement

	s    *Stmt
	list [2]int // span of the list
	with [2]int // span of the WITH clause, empty without one

	// EachRow says that the list has to be evaluated row by row, while the
	// statement runs: it sees what was written so far, or it may fail.
	EachRow bool
}

// Param is a parameter as it is written in a statement.
type Param struct {
	Number int    // that SQLite gives it in the statement
	Name   string // with its prefix; "" for one without a name
}

// Returning returns the RETURNING clause of a statement; false without one.
func (s *Stmt) Returning() (r Returning, ok bool) {
	var list []*ast.ResultColumn
	var with *ast.With
	switch n := s.node.(type) {
	case *ast.InsertStmt:
		list, with = n.Returning, n.With
	case *ast.UpdateStmt:
		list, with = n.Returning, n.With
	case *ast.DeleteStmt:
		list, with = n.Returning, n.With
	}
	if len(list) == 0 {
		return Returning{}, false
	}
	r.s = s
	r.list = [2]int{list[0].Pos(), list[len(list)-1].End()}
	r.Start, r.End = s.keywordBefore("RETURNING", r.list[0]), r.list[1]
	for _, col := range list {
		r.EachRow = r.EachRow || needsEachRow(col)
	}
	if with != nil && r.EachRow {
		r.with = [2]int{with.Pos(), with.End()}
		r.note(with)
	}
	for _, col := range list {
		r.note(col)
	}
	return r, true
}

// keywordBefore finds the last place before pos where a word stands that is not
// quoted.
func (s *Stmt) keywordBefore(word string, pos int) int {
	at := pos
	for i := 0; ; {
		t := next(s.Text, i)
		if t.kind == tokEnd || t.start >= pos {
			return at
		}
		if t.is(s.Text, word) {
			at = t.start
		}
		i = t.end
	}
}

// note adds the parameters under a node.
func (r *Returning) note(n ast.Node) {
	ast.Walk(n, func(n ast.Node) bool {
		p, ok := n.(*ast.BindParam)
		if !ok {
			return true
		}
		for _, known := range r.Params {
			if known.Number == p.Number {
				return true
			}
		}
		param := Param{Number: p.Number}
		if p.Raw != "" && p.Raw[0] != '?' {
			param.Name = p.Raw
		}
		r.Params = append(r.Params, param)
		return true
	})
}

// Select returns the statement that evaluates the list over a source, which begins
// with FROM. Its parameters are numbered as in the whole statement. e holds edits
// of the statement, of which those within the clause and within WITH are made.
func (r Returning) Select(e Edits, source string) string {
	all := Edits{append([]edit(nil), e.list...)}
	ast.Walk(r.s.node, func(n ast.Node) bool {
		if p, ok := n.(*ast.BindParam); ok {
			all.Replace(p.Pos(), p.End(), "?"+strconv.Itoa(p.Number))
		}
		return true
	})
	text := "SELECT " + all.applyRange(r.s.Text, r.list[0], r.list[1]) + "\n" + source
	if r.with[1] > r.with[0] {
		text = all.applyRange(r.s.Text, r.with[0], r.with[1]) + "\n" + text
	}
	return text
}

// Alone returns a statement that has the clause and no other part but its table.
func (r Returning) Alone(table string) string {
	return "DELETE FROM " + table + " " + r.s.Text[r.Start:r.End]
}

// Cut takes the clause out of the text, with the edits that were within it.
func (r Returning) Cut(e *Edits) {
	kept := e.list[:0]
	for _, x := range e.list {
		if x.end <= r.Start || x.start >= r.End {
			kept = append(kept, x)
		}
	}
	e.list = kept
	e.Replace(r.Start, r.End, "")
}

// needsEachRow reports whether an expression is more than columns, constants and
// operators on them: what looks at tables or at the connection changes while a
// statement runs, and a function may fail, which takes the statement back.
func needsEachRow(n ast.Node) (needs bool) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SubqueryExpr, *ast.ExistsExpr, *ast.SelectStmt, *ast.FuncCall, *ast.LikeExpr, *ast.RaiseExpr:
			needs = true
		case *ast.InExpr:
			needs = needs || x.Select != nil || x.Table != nil
		case *ast.BinaryExpr:
			needs = needs || x.Op == ast.OpPtr || x.Op == ast.OpPtr2
		}
		return !needs
	})
	return needs
}
