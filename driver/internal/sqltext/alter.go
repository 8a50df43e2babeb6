package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// AlterAction is what an ALTER TABLE does.
type AlterAction uint8

// The actions.
const (
	RenameTable AlterAction = iota
	RenameColumn
	AddColumn
	DropColumn
	DropConstraint
	DropNotNull
	SetNotNull
	AddCheck
)

var alterActions = map[ast.AlterAction]AlterAction{
	ast.AlterRenameTable: RenameTable, ast.AlterRenameColumn: RenameColumn, ast.AlterAddColumn: AddColumn,
	ast.AlterDropColumn: DropColumn, ast.AlterDropConstraint: DropConstraint, ast.AlterDropNotNull: DropNotNull,
	ast.AlterSetNotNull: SetNotNull, ast.AlterAddConstraintCheck: AddCheck,
}

// Alter is what an ALTER TABLE says.
type Alter struct {
	Action    AlterAction
	Column    string // the one it is about, "" for none
	NewName   string // of RENAME
	Check     string // the expression of ADD CHECK
	Generated bool   // the new column is generated,
	Stored    bool   // and its values are stored
	Plain     string // definition of the new column without CHECK and generation
}

// Alter returns what an ALTER TABLE says, nil for any other statement.
func (s *Stmt) Alter() *Alter {
	n, ok := s.node.(*ast.AlterTableStmt)
	if !ok {
		return nil
	}
	a := &Alter{Action: alterActions[n.Action]}
	if n.Column != nil {
		a.Column = n.Column.Name
	}
	if n.NewName != nil {
		a.NewName = n.NewName.Name
	}
	if n.Expr != nil {
		a.Check = s.Text[n.Expr.Pos():n.Expr.End()]
	}
	if n.ColumnDef != nil {
		a.addColumn(s.Text, n.ColumnDef)
	}
	return a
}

func (a *Alter) addColumn(text string, def *ast.ColumnDef) {
	a.Column = def.Name.Name
	parts := []string{text[def.Name.Pos():def.Name.End()]}
	if def.Type != nil {
		parts = append(parts, text[def.Type.Pos():def.Type.End()])
	}
	for _, k := range def.Constraints {
		switch k.Kind {
		case ast.ColumnCheck:
		case ast.ColumnGenerated:
			a.Generated = true
			a.Stored = a.Stored || k.GeneratedKind != nil && strings.EqualFold(k.GeneratedKind.Name, "stored")
		default:
			parts = append(parts, text[k.Pos():k.End()])
		}
	}
	a.Plain = strings.Join(parts, " ")
}

// CreateBody returns what stands between the parentheses of a CREATE TABLE, and
// what behind them.
func (s *Stmt) CreateBody() (body, options string, ok bool) {
	n, is := s.node.(*ast.CreateTableStmt)
	if !is || n.Select != nil {
		return "", "", false
	}
	end := s.End()
	from, to := -1, -1
	for i := n.Name.End(); i < end; {
		t := next(s.Text, i)
		if t.kind == tokSymbol {
			switch s.Text[t.start] {
			case '(':
				if from < 0 {
					from = t.start
				}
			case ')':
				to = t.start
			}
		}
		i = max(t.end, i+1)
	}
	if from < 0 || to <= from {
		return "", "", false
	}
	return s.Text[from+1 : to], strings.TrimSpace(s.Text[to+1 : end]), true
}

// HasName reports whether a name stands in a text, quoted or not, outside of
// comments.
func HasName(text, name string) bool {
	for i := 0; ; {
		t := next(text, i)
		if t.kind == tokEnd {
			return false
		}
		if t.kind != tokSymbol {
			if n, ok := t.name(text); ok && strings.EqualFold(n, name) {
				return true
			}
		}
		i = t.end
	}
}
