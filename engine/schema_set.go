package engine

import (
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Schema is an immutable set of tables, indexes, views and triggers.
//
// Two equal pointers are the same schema. Every change makes a new one, also
// inside a transaction, and undoing the change brings the old pointer back:
// whoever derives something from a schema may key it by the pointer alone.
type Schema struct {
	version uint64
	objects []*Object   // in creation order
	tables  []*TableDef // by slot: in the order of their ids

	// The name maps serve readers only. They are made at the first look-up,
	// so that a script of a thousand DDL statements does not build a
	// thousand of them.
	once     sync.Once
	names    map[string]*Object // tables and views share one name space with indexes
	triggers map[string]*Object // triggers have their own
	indexes  map[string]indexRef
}

type indexRef struct {
	table *TableDef
	index *IndexDef
}

// newSchema takes ownership of objects.
func newSchema(version uint64, objects []*Object) *Schema {
	if len(objects) == 0 {
		objects = nil // there is one spelling of no objects
	}
	s := &Schema{version: version, objects: objects}
	for _, o := range objects {
		if o.Kind == KindTable {
			s.tables = append(s.tables, o.Table)
		}
	}
	slices.SortFunc(s.tables, func(a, b *TableDef) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	return s
}

// Version returns the LSN of the change that made the schema, 0 for the empty
// one. Inside a transaction several schemas may share the LSN it will get.
func (s *Schema) Version() uint64 { return s.version }

// Objects returns the tables, views and triggers in creation order. The slice
// must not be changed.
func (s *Schema) Objects() []*Object { return s.objects }

// Tables returns the tables in the order of their ids. The slice must not be
// changed.
func (s *Schema) Tables() []*TableDef { return s.tables }

// Lookup returns the table or view of a name (ASCII case ignored), or nil.
// Triggers have names of their own: see LookupTrigger.
func (s *Schema) Lookup(name string) *Object {
	s.once.Do(s.buildNames)
	return s.names[foldName(name)]
}

// LookupTrigger returns the trigger of a name, or nil.
func (s *Schema) LookupTrigger(name string) *Object {
	s.once.Do(s.buildNames)
	return s.triggers[foldName(name)]
}

// LookupIndex returns the index of a name and its table, or nil.
func (s *Schema) LookupIndex(name string) (*TableDef, *IndexDef) {
	s.once.Do(s.buildNames)
	ref := s.indexes[foldName(name)]
	return ref.table, ref.index
}

// Table returns the definition of a table, or nil.
func (s *Schema) Table(id TableID) *TableDef {
	if i, ok := s.slot(id); ok {
		return s.tables[i]
	}
	return nil
}

// slot returns the position of a table in everything that is kept by slot.
func (s *Schema) slot(id TableID) (int, bool) {
	i := sort.Search(len(s.tables), func(i int) bool { return s.tables[i].ID >= id })
	return i, i < len(s.tables) && s.tables[i].ID == id
}

func (s *Schema) buildNames() {
	s.names = make(map[string]*Object, len(s.objects))
	s.triggers = map[string]*Object{}
	s.indexes = map[string]indexRef{}
	for _, o := range s.objects {
		if o.Kind == KindTrigger {
			s.triggers[foldName(o.Name)] = o
			continue
		}
		s.names[foldName(o.Name)] = o
		if o.Kind == KindTable {
			for _, ix := range o.Table.Indexes {
				s.indexes[foldName(ix.Name)] = indexRef{o.Table, ix}
			}
		}
	}
}

// nameTaken says what holds a name in the name space of tables, views and
// indexes, or "". It scans: a schema that is changed once and dropped should
// not pay for maps.
func (s *Schema) nameTaken(name string) string {
	for _, o := range s.objects {
		if o.Kind == KindTrigger {
			continue
		}
		if equalName(o.Name, name) {
			return o.Kind.String()
		}
		if o.Kind == KindTable && o.Table.indexNamed(name) != nil {
			return "index"
		}
	}
	return ""
}

// position returns where an object stands in creation order, or -1.
func (s *Schema) position(kind ObjectKind, name string) int {
	return slices.IndexFunc(s.objects, func(o *Object) bool {
		return o.Kind == kind && equalName(o.Name, name)
	})
}

// onTable reports that an object is a trigger on a table.
func (s *Schema) onTable(o *Object) bool {
	return o.Kind == KindTrigger && s.position(KindTable, o.TblName) >= 0
}

func (s *Schema) tablePosition(id TableID) int {
	return slices.IndexFunc(s.objects, func(o *Object) bool {
		return o.Kind == KindTable && o.Table.ID == id
	})
}

// String names the kind as the type column of sqlite_schema does.
func (k ObjectKind) String() string {
	switch k {
	case KindTable:
		return "table"
	case KindView:
		return "view"
	case KindTrigger:
		return "trigger"
	}
	return fmt.Sprintf("ObjectKind(%d)", uint8(k))
}

// Index returns the definition of an index of the table and its position, or
// nil and -1.
func (d *TableDef) Index(id uint64) (*IndexDef, int) {
	for i, ix := range d.Indexes {
		if ix.ID == id {
			return ix, i
		}
	}
	return nil, -1
}

func (d *TableDef) indexNamed(name string) *IndexDef {
	for _, ix := range d.Indexes {
		if equalName(ix.Name, name) {
			return ix
		}
	}
	return nil
}

// columnIDs lists the columns' ids in the order of their ordinals.
func (d *TableDef) columnIDs() []uint32 {
	ids := make([]uint32, len(d.Columns))
	for i := range d.Columns {
		ids[i] = d.Columns[i].ID
	}
	return ids
}

// validate refuses a definition that no table can be kept by. It guards what
// is read from a log as much as what a caller passes.
func (d *TableDef) validate() error {
	if d.ID == 0 || d.Name == "" || len(d.Columns) == 0 {
		return fmt.Errorf("%w: table %q without id, name or columns", ErrInvalidChange, d.Name)
	}
	if d.RowidAlias < -1 || d.RowidAlias >= len(d.Columns) {
		return fmt.Errorf("%w: table %q: rowid alias %d of %d columns", ErrInvalidChange, d.Name, d.RowidAlias, len(d.Columns))
	}
	if d.Resident > ResidentKeys {
		return fmt.Errorf("%w: table %q: residency %d", ErrInvalidChange, d.Name, d.Resident)
	}
	if d.Resident == ResidentKeys && !d.Durable {
		return fmt.Errorf("%w: table %q: its rows would be neither in the log nor in memory", ErrInvalidChange, d.Name)
	}
	if d.MaxRows < 0 || d.OnFull > OnFullDropOldest || d.OnFull == OnFullDropOldest && (d.Durable || d.MaxRows == 0) {
		return fmt.Errorf("%w: table %q: %d rows at most, %v beyond", ErrInvalidChange, d.Name, d.MaxRows, d.OnFull)
	}
	ids := make(map[uint32]struct{}, len(d.Columns))
	for _, c := range d.Columns {
		if _, dup := ids[c.ID]; dup || c.ID == 0 {
			return fmt.Errorf("%w: table %q: column id %d is 0 or used twice", ErrInvalidChange, d.Name, c.ID)
		}
		ids[c.ID] = struct{}{}
		if c.Affinity < row.AffBlob || c.Affinity > row.AffReal || c.Collation > row.RTrim {
			return fmt.Errorf("%w: table %q: column %q: affinity %d, collation %d", ErrInvalidChange, d.Name, c.Name, c.Affinity, c.Collation)
		}
	}
	if err := d.validateKinds(); err != nil {
		return err
	}
	for i, ix := range d.Indexes {
		if err := d.validateIndex(ix); err != nil {
			return err
		}
		for _, other := range d.Indexes[:i] {
			if other.ID == ix.ID || equalName(other.Name, ix.Name) {
				return fmt.Errorf("%w: table %q: index %q twice", ErrInvalidChange, d.Name, ix.Name)
			}
		}
	}
	return nil
}

func (d *TableDef) validateIndex(ix *IndexDef) error {
	if ix.ID == 0 || ix.Name == "" || len(ix.Columns) == 0 {
		return fmt.Errorf("%w: index %q without id, name or columns", ErrInvalidChange, ix.Name)
	}
	if originCode(ix.Origin) < 0 {
		return fmt.Errorf("%w: index %q: origin %q", ErrInvalidChange, ix.Name, ix.Origin)
	}
	return d.validateKey(ix)
}

// validateKey refuses an index whose entries cannot be made.
func (d *TableDef) validateKey(ix *IndexDef) error {
	for _, c := range ix.Columns {
		if c.Column < 0 || c.Column >= len(d.Columns) || c.Collation > row.RTrim || d.Columns[c.Column].Kind == ColumnDropped {
			return fmt.Errorf("%w: index %q: column %d, collation %d", ErrInvalidChange, ix.Name, c.Column, c.Collation)
		}
	}
	if at := ix.Where - 1; ix.Where < 0 || at >= len(d.Columns) || at >= 0 && d.Columns[at].Kind != ColumnComputed {
		return fmt.Errorf("%w: index %q: its rows are told by column %d", ErrInvalidChange, ix.Name, at)
	}
	return nil
}

// foldName lower-cases ASCII letters, as SQLite does to compare names.
func foldName(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 'A' && c <= 'Z' {
			b := []byte(name)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return name
}

func equalName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		x, y := a[i], b[i]
		if x >= 'A' && x <= 'Z' {
			x += 'a' - 'A'
		}
		if y >= 'A' && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}
