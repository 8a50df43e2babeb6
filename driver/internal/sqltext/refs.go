package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// Ref is a place in a statement where a table is read.
type Ref struct {
	Name       Name
	Start, End int    // of the name
	Alias      bool   // the name has an alias of its own
	Spelling   string // of the last part of the name
	InList     bool   // IN name: no alias may follow
	IndexedBy  string // index an INDEXED BY names, "" for none
	IndexStart int    // of the INDEXED BY clause
	IndexEnd   int
}

// Refs returns the tables a parsed statement reads or changes, for those that
// concern the schema table or an index hint.
func (s *Stmt) Refs() []Ref {
	var list []Ref
	if s.node == nil {
		return nil
	}
	ast.Walk(s.node, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.TableRef:
			if x.Name != nil && !x.HasArgs {
				r := refOf(x.Name)
				r.Alias = x.Alias != nil
				s.hint(&r, x.IndexedBy)
				list = append(list, r)
			}
		case *ast.InExpr:
			if x.Table != nil && !x.HasArgs {
				r := refOf(x.Table)
				r.InList = true
				list = append(list, r)
			}
		case *ast.UpdateStmt:
			if x.IndexedBy != nil {
				r := refOf(x.Table)
				s.hint(&r, x.IndexedBy)
				list = append(list, r)
			}
		case *ast.DeleteStmt:
			if x.IndexedBy != nil {
				r := refOf(x.Table)
				s.hint(&r, x.IndexedBy)
				list = append(list, r)
			}
		}
		return true
	})
	return list
}

func refOf(n *ast.QualifiedName) Ref {
	return Ref{Name: nameOf(n), Start: n.Pos(), End: n.End(), Spelling: n.Name.Raw}
}

// hint notes an INDEXED BY clause. The tree has the index's name only; the two
// words stand before it.
func (s *Stmt) hint(r *Ref, index *ast.Ident) {
	if index == nil {
		return
	}
	r.IndexedBy = index.Name
	r.IndexStart = strings.LastIndex(strings.ToUpper(s.Text[:index.Pos()]), "INDEXED")
	r.IndexEnd = index.End()
}

// WithoutArgs returns the text of a parsed statement with the arguments of tables
// left out: t for t('name').
func (s *Stmt) WithoutArgs() string {
	var e Edits
	if s.node == nil {
		return s.Text
	}
	cut := 0 // up to where the text is left out
	ast.Walk(s.node, func(n ast.Node) bool {
		if x, ok := n.(*ast.TableRef); ok && x.Name != nil && x.HasArgs && x.Pos() >= cut {
			from := x.Name.End()
			at := next(s.Text, from).end // behind the parenthesis
			if n := len(x.Args); n > 0 {
				at = x.Args[n-1].End()
			}
			cut = next(s.Text, at).end
			e.Replace(from, cut, "")
		}
		return true
	})
	return e.Apply(s.Text)
}
