package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// Trigger is what a CREATE TRIGGER says.
type Trigger struct {
	Before    bool
	InsteadOf bool
	Event     string   // INSERT, UPDATE or DELETE
	Of        []string // columns of UPDATE OF
	Table     Name
	HeadEnd   int        // where the name of the table ends
	BodyStart int        // of the first statement of the body
	BodyEnd   int        // of the last one, its semicolon left out
	Refs      []FieldRef // OLD.x and NEW.x, in WHEN and body
	Hidden    bool       // the body calls a table old or new
	Ignores   bool       // it has a RAISE(IGNORE)
	Fails     []Span     // messages of RAISE(FAIL)
	FailOr    bool       // a statement of the body says OR FAIL
}

// Span is a part of a text.
type Span struct{ Start, End int }

// FieldRef is a place where a trigger names a column of OLD or NEW.
type FieldRef struct {
	Span
	Old  bool
	Name string
}

// Trigger reads a CREATE TRIGGER; nil for any other statement.
func (s *Stmt) Trigger() *Trigger {
	n, ok := s.node.(*ast.CreateTriggerStmt)
	if !ok || len(n.Body) == 0 {
		return nil
	}
	last := n.Body[len(n.Body)-1]
	t := &Trigger{
		Before: n.Time == ast.TriggerBefore || !n.HasTime, InsteadOf: n.Time == ast.TriggerInsteadOf,
		Event: strings.ToUpper(n.Event), Table: nameOf(n.Table), HeadEnd: n.Table.End(),
		BodyStart: n.Body[0].Pos(), BodyEnd: len(strings.TrimRight(s.Text[:last.End()], "; \t\r\n\f")),
	}
	for _, id := range n.UpdateOf {
		t.Of = append(t.Of, id.Name)
	}
	hides := func(id *ast.Ident) {
		t.Hidden = t.Hidden || id != nil && (strings.EqualFold(id.Name, "old") || strings.EqualFold(id.Name, "new"))
	}
	ast.Walk(n, func(x ast.Node) bool {
		switch r := x.(type) {
		case *ast.TableRef:
			hides(r.Alias)
			if r.Name != nil {
				hides(r.Name.Name)
			}
		case *ast.UpdateStmt:
			hides(r.Alias)
			hides(r.Table.Name)
			t.FailOr = t.FailOr || r.OrConflict == ast.ConflictFail
		case *ast.DeleteStmt:
			hides(r.Alias)
			hides(r.Table.Name)
		case *ast.InsertStmt:
			hides(r.Alias)
			hides(r.Table.Name)
			t.FailOr = t.FailOr || r.OrConflict == ast.ConflictFail
		case *ast.RaiseExpr:
			switch strings.ToUpper(r.Action) {
			case "IGNORE":
				t.Ignores = true
			case "FAIL":
				if r.Message != nil {
					t.Fails = append(t.Fails, Span{r.Message.Pos(), r.Message.End()})
				}
			}
		case *ast.QualifiedRef:
			if len(r.Parts) != 2 {
				return false
			}
			if of := strings.ToLower(r.Parts[0].Name); of == "old" || of == "new" {
				t.Refs = append(t.Refs, FieldRef{Span{r.Pos(), r.End()}, of == "old", r.Parts[1].Name})
			}
			return false
		}
		return true
	})
	return t
}

// OnSpan returns where a CREATE TRIGGER names its table.
func (s *Stmt) OnSpan() (start, end int, ok bool) {
	n, ok := s.node.(*ast.CreateTriggerStmt)
	if !ok {
		return 0, 0, false
	}
	return n.Table.Pos(), n.Table.End(), true
}
