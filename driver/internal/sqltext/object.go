package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// IfExists reports whether a CREATE says IF NOT EXISTS or a DROP IF EXISTS.
func (s *Stmt) IfExists() bool {
	switch n := s.node.(type) {
	case *ast.CreateTableStmt:
		return n.IfNotExists
	case *ast.CreateVirtualTableStmt:
		return n.IfNotExists
	case *ast.CreateIndexStmt:
		return n.IfNotExists
	case *ast.CreateViewStmt:
		return n.IfNotExists
	case *ast.CreateTriggerStmt:
		return n.IfNotExists
	case *ast.DropTableStmt:
		return n.IfExists
	case *ast.DropIndexStmt:
		return n.IfExists
	case *ast.DropViewStmt:
		return n.IfExists
	case *ast.DropTriggerStmt:
		return n.IfExists
	}
	return false
}

// On returns the table a CREATE INDEX or CREATE TRIGGER is about.
func (s *Stmt) On() Name {
	switch n := s.node.(type) {
	case *ast.CreateIndexStmt:
		return Name{s.Target.Schema, n.Table.Name}
	case *ast.CreateTriggerStmt:
		return nameOf(n.Table)
	}
	return Name{}
}

// InsteadOf reports whether a CREATE TRIGGER is for a view.
func (s *Stmt) InsteadOf() bool {
	n, ok := s.node.(*ast.CreateTriggerStmt)
	return ok && n.Time == ast.TriggerInsteadOf
}

// AsSelect returns the SELECT of a CREATE TABLE … AS, or "".
func (s *Stmt) AsSelect() string {
	if n, ok := s.node.(*ast.CreateTableStmt); ok && n.Select != nil {
		return s.Text[n.Select.Pos():n.Select.End()]
	}
	return ""
}

// ColumnCount returns the number of columns a CREATE TABLE lists.
func (s *Stmt) ColumnCount() int {
	if n, ok := s.node.(*ast.CreateTableStmt); ok {
		return len(n.Columns)
	}
	return 0
}

// Tail returns the text from the object's own name on, up to the end of the
// statement: what SQLite keeps of a CREATE after its first words.
func (s *Stmt) Tail() string {
	var name *ast.QualifiedName
	switch n := s.node.(type) {
	case *ast.CreateTableStmt:
		name = n.Name
	case *ast.CreateVirtualTableStmt:
		name = n.Name
	case *ast.CreateIndexStmt:
		name = n.Name
	case *ast.CreateViewStmt:
		name = n.Name
	case *ast.CreateTriggerStmt:
		name = n.Name
	default:
		return ""
	}
	return s.Text[name.Name.Pos():s.End()]
}

// NameEnd returns where the object's name ends in Tail.
func (s *Stmt) NameEnd() int {
	switch n := s.node.(type) {
	case *ast.CreateTableStmt:
		return n.Name.Name.End() - n.Name.Name.Pos()
	case *ast.CreateVirtualTableStmt:
		return n.Name.Name.End() - n.Name.Name.Pos()
	}
	return 0
}

// InMain returns the text of a CREATE VIEW or CREATE TRIGGER that makes the
// object in main, whatever temp holds, and no other clause changed.
func (s *Stmt) InMain(e *Edits) string {
	switch n := s.node.(type) {
	case *ast.CreateViewStmt:
		e.Replace(n.Name.Pos(), n.Name.Name.Pos(), "main.")
	case *ast.CreateTriggerStmt:
		e.Replace(n.Name.Pos(), n.Name.Name.Pos(), "main.")
	}
	return e.Apply(s.Text)
}

// Module returns the module of a CREATE VIRTUAL TABLE and its arguments as
// written.
func (s *Stmt) Module() (name string, args []string) {
	n, ok := s.node.(*ast.CreateVirtualTableStmt)
	if !ok {
		return "", nil
	}
	for _, a := range n.Args {
		args = append(args, strings.TrimSpace(a))
	}
	return n.Module.Name, args
}

// Option splits a module argument of the form word = value, which no column
// definition has.
func Option(arg string) (word, value string, ok bool) {
	t := next(arg, 0)
	if t.kind != tokWord {
		return "", "", false
	}
	eq := next(arg, t.end)
	if eq.kind != tokSymbol || arg[eq.start] != '=' {
		return "", "", false
	}
	value = strings.TrimSpace(arg[eq.end:])
	return strings.ToLower(arg[t.start:t.end]), strings.Trim(value, `'"`), true
}

// PragmaValue returns the value of a PRAGMA, without its quotes, and whether it
// has one.
func (s *Stmt) PragmaValue() (string, bool) {
	n, ok := s.node.(*ast.PragmaStmt)
	if !ok || !n.HasValue {
		return "", false
	}
	t := next(n.Value, 0)
	if t.kind == tokQuoted {
		if name, ok := t.name(n.Value); ok {
			return name, true
		}
		return strings.ReplaceAll(strings.Trim(n.Value, "'"), "''", "'"), true
	}
	return n.Value, true
}

// Into reports whether a VACUUM writes another file.
func (s *Stmt) Into() bool {
	n, ok := s.node.(*ast.VacuumStmt)
	return ok && n.Into != nil
}

// DetachName returns the schema a DETACH names, "" when an expression says it.
func (s *Stmt) DetachName() string {
	n, ok := s.node.(*ast.DetachStmt)
	if !ok {
		return ""
	}
	return termColumn(s.Text, n.Name)
}

// Explained returns the statement an EXPLAIN is about.
func (s *Stmt) Explained() *Stmt {
	n, ok := s.node.(*ast.ExplainStmt)
	if !ok {
		return nil
	}
	return Parse(s.Text[n.Stmt.Pos():n.Stmt.End()])
}

// CutExplained cuts a part of the statement that an EXPLAIN is about, in whose text
// the offsets are.
func (s *Stmt) CutExplained(e *Edits, start, end int) {
	if n, ok := s.node.(*ast.ExplainStmt); ok {
		e.Put(n.Stmt.Pos()+start, n.Stmt.Pos()+end, "")
	}
}

// HasWord reports whether a word stands in a text outside of quotes and
// comments.
func HasWord(text, word string) bool {
	for i := 0; ; {
		t := next(text, i)
		if t.kind == tokEnd {
			return false
		}
		if t.is(text, word) {
			return true
		}
		i = t.end
	}
}
