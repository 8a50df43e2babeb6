package sqltext

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// Conflict is an ON CONFLICT clause, numbered as sqlite3_vtab_on_conflict does.
type Conflict uint8

// The clauses; NoConflict means that none was written.
const (
	NoConflict Conflict = iota
	OnRollback
	OnIgnore
	OnFail
	OnAbort
	OnReplace
)

var conflicts = map[ast.ConflictAction]Conflict{
	ast.ConflictRollback: OnRollback, ast.ConflictIgnore: OnIgnore, ast.ConflictFail: OnFail,
	ast.ConflictAbort: OnAbort, ast.ConflictReplace: OnReplace,
}

// Table is what CREATE TABLE says that SQLite's PRAGMAs do not repeat.
type Table struct {
	Columns       []Column
	Checks        []Check
	Keys          []Key
	References    []Reference // in the order they are written
	WithoutRowid  bool
	Strict        bool
	AutoIncrement bool
	RowidConflict Conflict // of an INTEGER PRIMARY KEY
}

// Column of a table.
type Column struct {
	Name      string
	Type      string
	Collation string
	Default   string // SQL text that can stand in a VALUES list, "" for none
	OnNotNull Conflict

	Generated string   // expression of a generated column, "" for others
	Stored    bool     // it is STORED
	Names     []string // every identifier in Generated, in lower case
}

// Check is a CHECK constraint; Name is its expression when it has no name.
type Check struct {
	Name, Expr string
	Names      []string // every identifier in Expr, in lower case
}

// Key is a PRIMARY KEY or UNIQUE constraint that an index stands for.
type Key struct {
	Columns    []string // in lower case
	Primary    bool
	OnConflict Conflict
}

// ParseTable reads the text of a CREATE TABLE statement.
func ParseTable(text string) (*Table, error) {
	s := Parse(text)
	n, ok := s.node.(*ast.CreateTableStmt)
	if !ok {
		return nil, fmt.Errorf("sqltext: not a CREATE TABLE: %.80q: %w", text, s.Err)
	}
	t := &Table{}
	for _, o := range n.Options {
		if o.Without {
			t.WithoutRowid = true
		} else if strings.EqualFold(o.Name.Name, "strict") {
			t.Strict = true
		}
	}
	for _, def := range n.Columns {
		t.addColumn(text, def)
	}
	for _, k := range n.Constraints {
		t.addConstraint(text, k)
	}
	return t, nil
}

func (t *Table) addColumn(text string, def *ast.ColumnDef) {
	col := Column{Name: def.Name.Name}
	if def.Type != nil {
		col.Type = def.Type.Raw
	}
	for _, k := range def.Constraints {
		switch k.Kind {
		case ast.ColumnNotNull:
			col.OnNotNull = conflicts[k.OnConflict]
		case ast.ColumnPrimaryKey:
			t.AutoIncrement = t.AutoIncrement || k.AutoIncrement
			if strings.EqualFold(col.Type, "integer") && k.Order != ast.SortDesc && !t.WithoutRowid {
				t.RowidConflict = conflicts[k.OnConflict]
				continue
			}
			t.Keys = append(t.Keys, Key{[]string{Lower(col.Name)}, true, conflicts[k.OnConflict]})
		case ast.ColumnUnique:
			t.Keys = append(t.Keys, Key{[]string{Lower(col.Name)}, false, conflicts[k.OnConflict]})
		case ast.ColumnCheck:
			t.addCheck(text, k.Name, k.Expr)
		case ast.ColumnCollate:
			col.Collation = k.Collation.Name
		case ast.ColumnDefault:
			col.Default = defaultText(text, k.Expr)
		case ast.ColumnReferences:
			t.References = append(t.References, reference([]string{col.Name}, k.References))
		case ast.ColumnDeferrable:
			t.deferLast(k.Deferrable)
		case ast.ColumnGenerated:
			col.Generated, col.Names = text[k.Expr.Pos():k.Expr.End()], namesIn(k.Expr)
			col.Stored = k.GeneratedKind != nil && strings.EqualFold(k.GeneratedKind.Name, "stored")
		}
	}
	t.Columns = append(t.Columns, col)
}

func (t *Table) addConstraint(text string, k *ast.TableConstraint) {
	switch k.Kind {
	case ast.TableForeignKey:
		t.References = append(t.References, reference(namesOf(k.FKColumns), k.References))
		t.deferLast(k.Deferrable)
	case ast.TableCheck:
		t.addCheck(text, k.Name, k.Expr)
	case ast.TablePrimaryKey, ast.TableUnique:
		key := Key{Primary: k.Kind == ast.TablePrimaryKey, OnConflict: conflicts[k.OnConflict]}
		for _, term := range k.Columns {
			key.Columns = append(key.Columns, termColumn(text, term.Expr))
		}
		t.AutoIncrement = t.AutoIncrement || k.AutoIncrement
		if key.Primary && len(key.Columns) == 1 && !t.WithoutRowid && t.isInteger(key.Columns[0]) {
			t.RowidConflict = key.OnConflict // also with DESC: as a table constraint it is a rowid alias
			return
		}
		t.Keys = append(t.Keys, key)
	}
}

func (t *Table) isInteger(column string) bool {
	for _, c := range t.Columns {
		if Lower(c.Name) == column {
			return strings.EqualFold(c.Type, "integer")
		}
	}
	return false
}

// addCheck notes a CHECK. SQLite names one without a name by its text, and of a text
// that begins with a quote by what is quoted.
func (t *Table) addCheck(text string, name *ast.Ident, expr ast.Expr) {
	c := Check{Expr: text[expr.Pos():expr.End()]}
	if c.Name = unquoted(c.Expr); name != nil {
		c.Name = name.Name
	}
	c.Names = namesIn(expr)
	t.Checks = append(t.Checks, c)
}

// namesIn lists the identifiers in an expression, in lower case.
func namesIn(expr ast.Expr) (names []string) {
	ast.Walk(expr, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, Lower(id.Name))
		}
		return true
	})
	return names
}

// unquoted is the beginning of a text up to the end of its quotes, without them, or
// the text itself where it begins without one.
func unquoted(text string) string {
	if text == "" || !strings.ContainsRune("\"'`[", rune(text[0])) {
		return text
	}
	end := text[0]
	if end == '[' {
		end = ']'
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] == end {
			if i+1 == len(text) || text[i+1] != end {
				return b.String()
			}
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// termColumn is the column a key term names, without COLLATE and parentheses.
func termColumn(text string, e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.CollateExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return Lower(x.Name)
		case *ast.Literal:
			return Lower(x.Value)
		default:
			return Lower(text[e.Pos():e.End()])
		}
	}
}

// defaultText spells a DEFAULT so that it means the same in a VALUES list. A
// bare word is a string there is no column for, except true and false.
func defaultText(text string, e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		if x.Quote == ast.QuoteNone && (strings.EqualFold(x.Name, "true") || strings.EqualFold(x.Name, "false")) {
			return x.Raw
		}
		return QuoteText(x.Name)
	case *ast.Literal:
		if x.Kind == ast.LitNull {
			return ""
		}
		return text[e.Pos():e.End()]
	}
	return "(" + text[e.Pos():e.End()] + ")"
}
