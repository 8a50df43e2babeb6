package sqltext

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"
	"github.com/sqlc-dev/meyer/parser"
)

// Kind says what a statement does.
type Kind uint8

// Kinds of statements. Read covers SELECT and VALUES, with or without WITH.
// Invalid is a text the parser refuses; Other is one the driver has no special
// treatment for.
const (
	Empty Kind = iota
	Read
	Insert
	Update
	Delete
	Begin
	Commit
	Rollback
	RollbackTo
	Savepoint
	Release
	CreateTable
	CreateVirtual
	CreateIndex
	CreateView
	CreateTrigger
	DropTable
	DropIndex
	DropView
	DropTrigger
	AlterTable
	Reindex
	Analyze
	Vacuum
	Attach
	Detach
	Pragma
	Explain
	Other
	Invalid
)

// IsDDL reports whether the kind changes a schema.
func (k Kind) IsDDL() bool { return k >= CreateTable && k <= AlterTable }

// IsDML reports whether the kind changes rows of a named table or view.
func (k Kind) IsDML() bool { return k >= Insert && k <= Delete }

// IsTransaction reports whether the kind is a transaction command.
func (k Kind) IsTransaction() bool { return k >= Begin && k <= Release }

// BeginMode is the qualifier of BEGIN.
type BeginMode uint8

// Modes of BEGIN.
const (
	Deferred BeginMode = iota
	Immediate
	Exclusive
)

// Name is an object name as written, without its quotes. Schema is "" when the
// name was not qualified.
type Name struct{ Schema, Name string }

// Mentions are the words in a text that the driver has to look at closer.
type Mentions uint8

// Bits of Mentions.
const (
	MentionsSchema   Mentions = 1 << iota // sqlite_schema, sqlite_master, sqlite_temp_…
	MentionsSequence                      // sqlite_sequence
	MentionsIndexed                       // INDEXED BY
	MentionsRowid                         // rowid, oid, _rowid_
	MentionsHidden                        // a name of the driver's own, which begins with a control character
)

// Stmt is one statement, as far as its text tells. It is immutable.
type Stmt struct {
	Kind     Kind
	Text     string // one statement, its semicolon included
	Target   Name   // the object a DML or DDL statement names
	Mode     BeginMode
	Label    string // name of a savepoint
	Mentions Mentions
	Upsert   bool     // INSERT has an ON CONFLICT clause
	Return   bool     // the statement has a RETURNING clause
	From     bool     // UPDATE has a FROM clause
	Or       Conflict // OR clause of an INSERT or UPDATE
	CountOf  *Name    // the text is exactly SELECT count(*) FROM name
	CountAt  *string  // of SELECT count(*) FROM name('text'), the text
	CountAs  string
	Err      error // why the parser refuses an Invalid text

	node ast.Stmt // nil for plain SELECT, which is not parsed
}

// Parse reads one statement, as Cut gives it.
func Parse(text string) *Stmt {
	s := &Stmt{Text: text}
	first := next(text, 0)
	if first.kind == tokSymbol && text[first.start] == ';' {
		first.kind = tokEnd
	}
	if first.kind == tokEnd {
		return s
	}
	s.Mentions = mentions(text, first.start)
	if first.is(text, "SELECT") || first.is(text, "VALUES") {
		s.Kind = Read
		s.countStar(first)
		if s.Mentions == 0 {
			return s
		}
	}
	stmts, err := parser.ParseString(text)
	switch {
	case err != nil:
		s.Err = err
		if s.Kind != Read {
			s.Kind = Invalid
		}
	case len(stmts) == 1:
		s.node = stmts[0]
		s.classify()
	default:
		s.Kind = Invalid
	}
	return s
}

func (s *Stmt) classify() {
	switch n := s.node.(type) {
	case *ast.SelectStmt:
		s.Kind = Read
	case *ast.InsertStmt:
		s.Kind, s.Target = Insert, nameOf(n.Table)
		s.Upsert, s.Return = len(n.Upserts) > 0, len(n.Returning) > 0
		if s.Or = conflicts[n.OrConflict]; n.Replace {
			s.Or = OnReplace
		}
	case *ast.UpdateStmt:
		s.Kind, s.Target, s.Return = Update, nameOf(n.Table), len(n.Returning) > 0
		s.From = len(n.From) > 0
		s.Or = conflicts[n.OrConflict]
	case *ast.DeleteStmt:
		s.Kind, s.Target, s.Return = Delete, nameOf(n.Table), len(n.Returning) > 0
	case *ast.BeginStmt:
		s.Kind, s.Mode = Begin, BeginMode(n.Type)
	case *ast.CommitStmt:
		s.Kind = Commit
	case *ast.RollbackStmt:
		if s.Kind = Rollback; n.Savepoint != nil {
			s.Kind, s.Label = RollbackTo, n.Savepoint.Name
		}
	case *ast.SavepointStmt:
		s.Kind, s.Label = Savepoint, n.Name.Name
	case *ast.ReleaseStmt:
		s.Kind, s.Label = Release, n.Name.Name
	case *ast.CreateTableStmt:
		s.Kind, s.Target = CreateTable, tempName(n.Name, n.Temp)
	case *ast.CreateVirtualTableStmt:
		s.Kind, s.Target = CreateVirtual, nameOf(n.Name)
	case *ast.CreateIndexStmt:
		s.Kind, s.Target = CreateIndex, nameOf(n.Name)
	case *ast.CreateViewStmt:
		s.Kind, s.Target = CreateView, tempName(n.Name, n.Temp)
	case *ast.CreateTriggerStmt:
		s.Kind, s.Target = CreateTrigger, tempName(n.Name, n.Temp)
	case *ast.AlterTableStmt:
		s.Kind, s.Target = AlterTable, nameOf(n.Table)
	case *ast.DropTableStmt:
		s.Kind, s.Target = DropTable, nameOf(n.Name)
	case *ast.DropIndexStmt:
		s.Kind, s.Target = DropIndex, nameOf(n.Name)
	case *ast.DropViewStmt:
		s.Kind, s.Target = DropView, nameOf(n.Name)
	case *ast.DropTriggerStmt:
		s.Kind, s.Target = DropTrigger, nameOf(n.Name)
	case *ast.ReindexStmt:
		s.Kind, s.Target = Reindex, nameOf(n.Name)
	case *ast.AnalyzeStmt:
		s.Kind, s.Target = Analyze, nameOf(n.Name)
	case *ast.VacuumStmt:
		if s.Kind = Vacuum; n.Schema != nil {
			s.Target.Schema = n.Schema.Name
		}
	case *ast.AttachStmt:
		s.Kind = Attach
	case *ast.DetachStmt:
		s.Kind = Detach
	case *ast.PragmaStmt:
		s.Kind, s.Target = Pragma, nameOf(n.Name)
	case *ast.ExplainStmt:
		s.Kind = Explain
	default:
		s.Kind = Other
	}
}

// Plain reports whether a BEGIN says nothing of its mode.
func (s *Stmt) Plain() bool {
	n, ok := s.node.(*ast.BeginStmt)
	return ok && !n.HasType
}

func nameOf(n *ast.QualifiedName) Name {
	switch {
	case n == nil:
		return Name{}
	case n.Schema == nil:
		return Name{Name: n.Name.Name}
	}
	return Name{Schema: n.Schema.Name, Name: n.Name.Name}
}

func tempName(n *ast.QualifiedName, temp bool) Name {
	m := nameOf(n)
	if temp && m.Schema == "" {
		m.Schema = "temp"
	}
	return m
}

// Parsed reports whether the text was parsed.
func (s *Stmt) Parsed() bool { return s.node != nil }

// End returns where the statement ends in its text, blanks and the semicolon
// behind it left out.
func (s *Stmt) End() int {
	end := len(s.Text)
	if s.node != nil {
		end = s.node.End()
	}
	return len(strings.TrimRight(s.Text[:end], "; \t\r\n\f"))
}

// isReserved reports whether a text, which may stand for a name, is a name of the
// driver's own.
func isReserved(w string) bool {
	w = Lower(strings.TrimLeft(w, "\x01"))
	return w == "tm" || strings.HasPrefix(w, "view ") || strings.HasPrefix(w, "trigger ")
}

// mentions looks for the words that make a SELECT worth parsing.
func mentions(src string, i int) (m Mentions) {
	for {
		t := next(src, i)
		if t.kind == tokEnd {
			return m
		}
		i = t.end
		if t.kind == tokSymbol {
			continue
		}
		w := src[t.start:t.end]
		if t.kind == tokQuoted {
			text := w[0] == '\''
			if w = strings.Trim(w, "\"`[]'"); w != "" && w[0] == 1 && (!text || isReserved(w)) {
				m |= MentionsHidden
			}
		}
		switch len(w) {
		case 3:
			if strings.EqualFold(w, "oid") {
				m |= MentionsRowid
			}
		case 5:
			if strings.EqualFold(w, "rowid") {
				m |= MentionsRowid
			}
		case 7:
			if strings.EqualFold(w, "_rowid_") {
				m |= MentionsRowid
			} else if t.is(src, "indexed") {
				m |= MentionsIndexed
			}
		case 13:
			if strings.EqualFold(w, "sqlite_master") || strings.EqualFold(w, "sqlite_schema") {
				m |= MentionsSchema
			}
		case 18:
			if strings.EqualFold(w, "sqlite_temp_master") || strings.EqualFold(w, "sqlite_temp_schema") {
				m |= MentionsSchema
			}
		case 15:
			if strings.EqualFold(w, "sqlite_sequence") {
				m |= MentionsSequence
			}
		}
	}
}
