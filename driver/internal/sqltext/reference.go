package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// Action is what a foreign key does to its rows when the row they refer to
// goes or gets another key.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	Restrict
	SetNull
	SetDefault
	Cascade
)

var actions = map[ast.ForeignKeyAction]Action{
	ast.FKRestrict: Restrict, ast.FKSetNull: SetNull, ast.FKSetDefault: SetDefault, ast.FKCascade: Cascade,
}

// Reference is a foreign key.
type Reference struct {
	Columns       []string
	Parent        string
	ParentColumns []string // nil: its primary key
	OnDelete      Action
	OnUpdate      Action
	Deferred      bool
}

// reference reads a REFERENCES clause; of several ON clauses of an event the
// last one counts.
func reference(columns []string, n *ast.ForeignKeyClause) Reference {
	r := Reference{Columns: columns, Parent: n.Table.Name, ParentColumns: namesOf(n.Columns)}
	for _, arg := range n.Args {
		switch {
		case arg.Match != nil:
		case strings.EqualFold(arg.Event, "delete"):
			r.OnDelete = actions[arg.Action]
		case strings.EqualFold(arg.Event, "update"):
			r.OnUpdate = actions[arg.Action]
		}
	}
	return r
}

// deferLast applies a [NOT] DEFERRABLE clause to the foreign key written last,
// which is the one it means wherever it stands.
func (t *Table) deferLast(n *ast.DeferClause) {
	if last := len(t.References) - 1; n != nil && last >= 0 {
		t.References[last].Deferred = !n.Not && n.InitiallyDeferred
	}
}

func namesOf(list []*ast.IndexedColumn) (names []string) {
	for _, c := range list {
		names = append(names, c.Name.Name)
	}
	return names
}
