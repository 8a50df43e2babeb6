package engine

import "github.com/tidemarkdb/tidemark/engine/row"

// LSN numbers commits of a timeline, densely from 1; 0 is the state before the first.
type LSN uint64

// TableID names a table for ever; ids are never reused.
type TableID uint64

// Resident says what of a table is kept in memory.
type Resident uint8

// Residency of a table's rows.
const (
	ResidentAll Resident = iota
	ResidentKeys
)

// ColumnKind says what a place in a table's records is for.
type ColumnKind uint8

// Kinds of columns. Numbers are on disk and never reused.
const (
	ColumnPlain    ColumnKind = iota // a column of the table
	ColumnStored                     // GENERATED … STORED
	ColumnVirtual                    // GENERATED … VIRTUAL; its value is stored too, computed at the write
	ColumnComputed                   // no column of the table: the value of an index's expression, or of a partial index's WHERE
	ColumnDropped                    // was dropped: new records hold NULL there
)

// Column is one place in the records of a table. ID is unique within the table
// for ever.
type Column struct {
	ID        uint32
	Name      string
	DeclType  string // as written, "" for none
	Affinity  row.Affinity
	Collation row.Collation
	NotNull   bool // including implied by the key of a WITHOUT ROWID table
	Kind      ColumnKind

	// Missing is the value in rows whose record ends before this column: those
	// that are older than its ADD COLUMN. It owns its bytes; NULL by default.
	Missing row.Value
}

// Visible reports that SQL sees the column: it is one of the table's own.
func (c *Column) Visible() bool { return c.Kind <= ColumnVirtual }

// IndexColumn is one term of an index key: a column by ordinal.
type IndexColumn struct {
	Column    int
	Desc      bool
	Collation row.Collation
}

// IndexDef describes an index, automatic ones included. It is immutable.
type IndexDef struct {
	ID      uint64
	Name    string
	SQL     string // "" for automatic indexes (UNIQUE, PRIMARY KEY)
	Unique  bool
	Origin  string // "c" CREATE INDEX, "u" UNIQUE, "pk" PRIMARY KEY
	Columns []IndexColumn

	// Where is 0 if the index has every row. Else it is a partial one and 1 +
	// the ordinal of the ColumnComputed column that is 1 in the rows it has.
	Where int
}

// TableDef describes a table as of one schema version. It is immutable: a
// schema change makes a new one.
//
// Columns are the places of a record in their order, and only ever grow: SQL's
// column i is the i-th visible one. A record may end before the last of them,
// see Column.Missing. Wherever a definition names a column by number, that is
// its ordinal in Columns.
type TableDef struct {
	ID            TableID
	Version       uint64 // LSN of the schema change that made this definition
	Name          string
	SQL           string // plain DDL, or the CREATE VIRTUAL TABLE text
	Columns       []Column
	RowidAlias    int // ordinal of the INTEGER PRIMARY KEY column, or -1
	AutoIncrement bool
	WithoutRowid  bool
	Strict        bool
	Durable       bool
	Resident      Resident
	MaxRows       int64 // 0 for no limit
	OnFull        OnFull
	Indexes       []*IndexDef // in SQLite's index_list creation order (automatic ones first)
}

// ObjectKind is the type column of sqlite_schema.
type ObjectKind uint8

// Kinds of schema objects. Indexes live in their table's definition.
const (
	KindTable ObjectKind = iota + 1
	KindView
	KindTrigger
)

// Object is one entry of the schema, in creation order. Table is set for
// KindTable; SQL for views and triggers.
type Object struct {
	Kind    ObjectKind
	Name    string
	TblName string // trigger: the view or table it is on
	SQL     string
	Table   *TableDef
}
