package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
	"github.com/sqlc-dev/meyer/parser"
)

// mayCount is the cheap look before a text is parsed for countStar.
func mayCount(src string, first lexeme) bool {
	if !first.is(src, "SELECT") {
		return false
	}
	count := next(src, first.end)
	open := next(src, count.end)
	return count.is(src, "count") && open.kind == tokSymbol && src[open.start] == '('
}

// countStar recognises a text that is SELECT count(*) FROM name and nothing
// else, but for aliases, for count(1) and for one text as the table's argument. It
// notes the name, the text and what SQLite names the column.
//
// SQLite steps through every row of a virtual table to count it; a snapshot
// knows the number.
func (s *Stmt) countStar(first lexeme) {
	src := s.Text
	if !mayCount(src, first) {
		return
	}
	stmts, err := parser.ParseString(src)
	if err != nil || len(stmts) != 1 {
		return
	}
	sel, ok := stmts[0].(*ast.SelectStmt)
	if !ok || sel.With != nil || len(sel.Cores) != 1 {
		return
	}
	core, ok := sel.Cores[0].(*ast.SelectQuery)
	if !ok || len(core.Columns) != 1 || len(core.From) != 1 {
		return
	}
	call, ok := core.Columns[0].Expr.(*ast.FuncCall)
	if !ok || !strings.EqualFold(call.Name.Name, "count") || call.Distinct || call.All || call.Filter != nil || call.Over != nil || len(call.OrderBy) > 0 {
		return
	}
	if !call.Star {
		if len(call.Args) != 1 {
			return
		}
		if lit, ok := call.Args[0].(*ast.Literal); !ok || !isDigits(src[lit.Pos():lit.End()]) {
			return
		}
	}
	ref := core.From[0]
	if ref.Name == nil || ref.IndexedBy != nil || ref.NotIndexed {
		return
	}
	if ref.HasArgs {
		if len(ref.Args) != 1 {
			return
		}
		lit, ok := ref.Args[0].(*ast.Literal)
		if !ok || src[lit.Pos()] != '\'' {
			return
		}
		text := strings.ReplaceAll(src[lit.Pos()+1:lit.End()-1], "''", "'")
		s.CountAt = &text
	}
	if core.Distinct != ast.DistinctNone || core.Where != nil || len(core.GroupBy) > 0 || core.Having != nil || len(core.Windows) > 0 || len(core.OrderBy) > 0 || core.Limit != nil {
		return
	}
	label := src[call.Pos():call.End()]
	if alias := core.Columns[0].Alias; alias != nil {
		label = alias.Name
	}
	name := nameOf(ref.Name)
	s.CountOf, s.CountAs = &name, label
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
