package vtab

import "github.com/tidemarkdb/tidemark/engine"

// HiddenColumn is the name of the last declared column of every table. It has
// a control character, so no name a person types collides with it. In a WHERE,
// a negative constant for it selects a row source instead of the table, and a text
// the state of the table at the branch point of that name: that is how SQLite
// passes the argument of t('name').
const HiddenColumn = "\x01tm"

// Conflict is what happens to a statement whose row violates a constraint. The
// numbers are those of sqlite3_vtab_on_conflict; Default means that nothing
// was said.
type Conflict uint8

// The conflict modes.
const (
	Default  Conflict = 0
	Rollback Conflict = 1
	Ignore   Conflict = 2
	Fail     Conflict = 3
	Abort    Conflict = 4
	Replace  Conflict = 5
)

// TableInfo is what the bridge must know of a table beyond the engine's
// definition. It is immutable once handed over and may be shared by
// connections. "Per column" is by ordinal of the definition, be the column
// visible or not.
type TableInfo struct {
	// Def is the engine's definition of the table in the schema asked about.
	Def *engine.TableDef
	// Decl is the text for sqlite3_declare_vtab: names, types and collations
	// of the columns and nothing else (a declared NOT NULL or key would let
	// SQLite's planner assume what is being checked), with HiddenColumn as
	// last, HIDDEN, column. "" lets Declaration make it from Def.
	Decl string
	// Checks are the CHECK constraints in the order of the DDL.
	Checks []Check
	// Defaults holds, per column, the DEFAULT as SQL text, "" for none. The
	// driver splices defaults into INSERTs; here they only fill in for a NULL
	// under NOT NULL ON CONFLICT REPLACE. nil: no column has one.
	Defaults []string
	// Expressions holds, per column, how a generated one or one behind an index
	// expression is computed. nil: none is.
	Expressions []Expression
	// NotNull holds, per column, the ON CONFLICT clause of its NOT NULL.
	// nil: Default for all.
	NotNull []Conflict
	// Key is the ON CONFLICT clause of the INTEGER PRIMARY KEY (rowid alias).
	Key Conflict
	// Indexes holds, per index of Def, the ON CONFLICT clause of the UNIQUE or
	// PRIMARY KEY constraint behind it. nil: Default for all.
	Indexes []Conflict
	// References are the table's foreign keys in the order of the DDL.
	References []Reference
}

// Check is one CHECK constraint.
type Check struct {
	// Name is what the error message says: the constraint's name or, without
	// one, the text of the expression as written.
	Name string
	// Expr is the expression's SQL text; it may name the table's columns,
	// plain or qualified with the table's name.
	Expr string
	// Columns are the ordinals of the columns Expr names: an UPDATE that sets
	// none of them does not test it. nil: not known, so every UPDATE does.
	Columns []int
}

// Source tells the bridge about tables. It must be safe for concurrent use.
type Source interface {
	// TableInfo describes the table id as of schema s.
	TableInfo(id engine.TableID, s *engine.Schema) (*TableInfo, error)
	// ForeignKeys returns those of schema s, see ResolveForeignKeys.
	ForeignKeys(s *engine.Schema) (*ForeignKeys, error)
	// Triggers returns those on the tables of schema s.
	Triggers(s *engine.Schema) (*Triggers, error)
}
