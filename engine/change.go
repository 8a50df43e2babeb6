package engine

import (
	"fmt"
	"slices"
)

// Change is one schema change. A change is applied by Tx.Apply, is logged as
// one record, and replayed by the same code that applied it.
type Change interface {
	// alter returns the schema after the change. Ids are assigned and the
	// receiver is not kept: every definition in the result is fresh or
	// belonged to the schema before.
	alter(s *Schema, version uint64) (*Schema, error)
}

// CreateTable adds a table. A zero id of the table or of one of its indexes
// is assigned by Apply, which leaves Def itself as it was: the definition
// with its ids is found in the transaction's schema.
type CreateTable struct{ Def *TableDef }

// DropTable removes a table with its rows, indexes and triggers.
type DropTable struct{ Table TableID }

// CreateIndex adds an index and builds it from the table's rows; a duplicate
// key of a unique one is a *UniqueError. A zero id is assigned.
type CreateIndex struct {
	Table TableID
	Index *IndexDef
}

// DropIndex removes an index.
type DropIndex struct {
	Table TableID
	Index uint64
}

// CreateObject adds a view or a trigger.
type CreateObject struct {
	Object Object

	onTable bool // it is a trigger on a table; set by Apply, for the codec
}

// DropObject removes a view, with the triggers on it, or a trigger.
type DropObject struct {
	Kind ObjectKind
	Name string
}

// ReplaceTable gives a table another definition over the same rows. Columns keep
// their ids, order, affinity and collation and the value of rows that lack them;
// a column that no index uses may become a dropped one. New columns come behind,
// with ids above all others, and are missing in all rows there are. Indexes that
// the new definition leaves out are dropped and the ones it adds are built.
type ReplaceTable struct {
	Def *TableDef

	grows bool // there are new columns; set by Apply, for the codec
}

// ReplaceObject gives a view or trigger another name, text or table in its place:
// what the names in it refer to was renamed.
type ReplaceObject struct {
	Kind   ObjectKind
	Name   string // until now
	Object Object // of the same kind
}

func (c CreateTable) alter(s *Schema, version uint64) (*Schema, error) {
	def := *c.Def
	def.Version = version
	def.Columns = slices.Clone(def.Columns)
	def.Indexes = slices.Clone(def.Indexes)
	if err := def.validate(); err != nil {
		return nil, err
	}
	if s.Table(def.ID) != nil {
		return nil, fmt.Errorf("%w: table id %d is in use", ErrInvalidChange, def.ID)
	}
	if what := s.nameTaken(def.Name); what != "" {
		return nil, fmt.Errorf("%w: %s %q", ErrExists, what, def.Name)
	}
	for _, ix := range def.Indexes {
		if what := s.nameTaken(ix.Name); what != "" || equalName(ix.Name, def.Name) {
			return nil, fmt.Errorf("%w: %q", ErrExists, ix.Name)
		}
		if s.indexInUse(ix.ID) {
			return nil, fmt.Errorf("%w: index id %d is in use", ErrInvalidChange, ix.ID)
		}
	}
	return s.with(version, tableObject(&def)), nil
}

func (c DropTable) alter(s *Schema, version uint64) (*Schema, error) {
	at := s.tablePosition(c.Table)
	if at < 0 {
		return nil, fmt.Errorf("%w: table %d", ErrNotFound, c.Table)
	}
	return s.without(version, at), nil
}

func (c CreateIndex) alter(s *Schema, version uint64) (*Schema, error) {
	at := s.tablePosition(c.Table)
	if at < 0 {
		return nil, fmt.Errorf("%w: table %d", ErrNotFound, c.Table)
	}
	def := *s.objects[at].Table
	ix := *c.Index
	ix.Columns = slices.Clone(ix.Columns)
	if err := def.validateIndex(&ix); err != nil {
		return nil, err
	}
	if what := s.nameTaken(ix.Name); what != "" {
		return nil, fmt.Errorf("%w: %s %q", ErrExists, what, ix.Name)
	}
	if s.indexInUse(ix.ID) {
		return nil, fmt.Errorf("%w: index id %d is in use", ErrInvalidChange, ix.ID)
	}
	def.Version = version
	def.Indexes = append(slices.Clip(def.Indexes), &ix)
	return s.withTable(version, at, &def), nil
}

func (c DropIndex) alter(s *Schema, version uint64) (*Schema, error) {
	at := s.tablePosition(c.Table)
	if at < 0 {
		return nil, fmt.Errorf("%w: table %d", ErrNotFound, c.Table)
	}
	def := *s.objects[at].Table
	_, pos := def.Index(c.Index)
	if pos < 0 {
		return nil, fmt.Errorf("%w: index %d of table %q", ErrNotFound, c.Index, def.Name)
	}
	def.Version = version
	def.Indexes = slices.Delete(slices.Clone(def.Indexes), pos, pos+1)
	return s.withTable(version, at, &def), nil
}

func (c CreateObject) alter(s *Schema, version uint64) (*Schema, error) {
	o := c.Object
	if o.Name == "" || o.Table != nil || (o.Kind != KindView && o.Kind != KindTrigger) {
		return nil, fmt.Errorf("%w: object %q of kind %v", ErrInvalidChange, o.Name, o.Kind)
	}
	if o.Kind == KindTrigger {
		if s.position(KindTrigger, o.Name) >= 0 {
			return nil, fmt.Errorf("%w: trigger %q", ErrExists, o.Name)
		}
		if s.position(KindTable, o.TblName) < 0 && s.position(KindView, o.TblName) < 0 {
			return nil, fmt.Errorf("%w: trigger %q is on %q", ErrNotFound, o.Name, o.TblName)
		}
	} else if what := s.nameTaken(o.Name); what != "" {
		return nil, fmt.Errorf("%w: %s %q", ErrExists, what, o.Name)
	}
	return s.with(version, &o), nil
}

func (c DropObject) alter(s *Schema, version uint64) (*Schema, error) {
	at := -1
	if c.Kind == KindView || c.Kind == KindTrigger {
		at = s.position(c.Kind, c.Name)
	}
	if at < 0 {
		return nil, fmt.Errorf("%w: %v %q", ErrNotFound, c.Kind, c.Name)
	}
	return s.without(version, at), nil
}

func (c ReplaceObject) alter(s *Schema, version uint64) (*Schema, error) {
	at := -1
	if c.Kind == KindView || c.Kind == KindTrigger {
		at = s.position(c.Kind, c.Name)
	}
	if at < 0 {
		return nil, fmt.Errorf("%w: %v %q", ErrNotFound, c.Kind, c.Name)
	}
	o := c.Object
	if o.Kind != c.Kind || o.Name == "" || o.Table != nil {
		return nil, fmt.Errorf("%w: object %q of kind %v for a %v", ErrInvalidChange, o.Name, o.Kind, c.Kind)
	}
	if o.Kind == KindTrigger {
		if other := s.position(KindTrigger, o.Name); other >= 0 && other != at {
			return nil, fmt.Errorf("%w: trigger %q", ErrExists, o.Name)
		}
		if s.position(KindTable, o.TblName) < 0 && s.position(KindView, o.TblName) < 0 {
			return nil, fmt.Errorf("%w: trigger %q is on %q", ErrNotFound, o.Name, o.TblName)
		}
	} else if what := s.nameTaken(o.Name); what != "" && !equalName(o.Name, c.Name) {
		return nil, fmt.Errorf("%w: %s %q", ErrExists, what, o.Name)
	}
	objects := slices.Clone(s.objects)
	objects[at] = &o
	return newSchema(version, objects), nil
}

func (c ReplaceTable) alter(s *Schema, version uint64) (*Schema, error) {
	at := s.tablePosition(c.Def.ID)
	if at < 0 {
		return nil, fmt.Errorf("%w: table %d", ErrNotFound, c.Def.ID)
	}
	old, def := s.objects[at].Table, *c.Def
	def.Version = version
	def.Columns = slices.Clone(def.Columns)
	def.Indexes = slices.Clone(def.Indexes)
	if err := def.validate(); err != nil {
		return nil, err
	}
	if err := old.replaceable(&def); err != nil {
		return nil, err
	}
	if c.grows != (len(def.Columns) > len(old.Columns)) {
		return nil, fmt.Errorf("%w: table %q has %d columns for %d", ErrInvalidChange, def.Name, len(def.Columns), len(old.Columns))
	}
	if !equalName(old.Name, def.Name) {
		if what := s.nameTaken(def.Name); what != "" {
			return nil, fmt.Errorf("%w: %s %q", ErrExists, what, def.Name)
		}
	}
	for _, ix := range def.Indexes {
		if old.indexNamed(ix.Name) == nil && s.nameTaken(ix.Name) != "" || equalName(ix.Name, def.Name) {
			return nil, fmt.Errorf("%w: %q", ErrExists, ix.Name)
		}
		if _, pos := old.Index(ix.ID); pos < 0 && s.indexInUse(ix.ID) {
			return nil, fmt.Errorf("%w: index id %d is in use", ErrInvalidChange, ix.ID)
		}
	}
	return s.withTable(version, at, &def), nil
}

// replaceable refuses a new definition under which the stored records, the
// entries of a kept index or the fingerprint would mean something else.
func (d *TableDef) replaceable(def *TableDef) error {
	same := d.RowidAlias == def.RowidAlias && d.WithoutRowid == def.WithoutRowid && d.Durable == def.Durable &&
		d.Resident == def.Resident && len(d.Columns) <= len(def.Columns)
	if !same {
		return fmt.Errorf("%w: table %q: the new definition reads its rows differently", ErrInvalidChange, d.Name)
	}
	var last uint32
	for i := range d.Columns {
		if !d.Columns[i].replaceable(&def.Columns[i]) {
			return fmt.Errorf("%w: table %q: the new definition reads column %q differently", ErrInvalidChange, d.Name, d.Columns[i].Name)
		}
		last = max(last, d.Columns[i].ID)
	}
	for _, c := range def.Columns[len(d.Columns):] {
		if c.ID <= last {
			return fmt.Errorf("%w: table %q: id %d of new column %q was used before", ErrInvalidChange, d.Name, c.ID, c.Name)
		}
		last = c.ID
	}
	for _, ix := range def.Indexes {
		if old, _ := d.Index(ix.ID); old != nil && !old.sameEntries(ix) {
			return fmt.Errorf("%w: index %q keeps its id under another key", ErrInvalidChange, ix.Name)
		}
	}
	return nil
}

// replaceable reports that now reads a value as c does, or drops it.
func (c *Column) replaceable(now *Column) bool {
	if c.ID != now.ID || c.Affinity != now.Affinity || c.Collation != now.Collation {
		return false
	}
	return now.Kind == ColumnDropped || c.Kind == now.Kind && c.Missing == now.Missing
}

// sameEntries reports that two indexes of one table have the same entries.
func (ix *IndexDef) sameEntries(as *IndexDef) bool {
	return ix.Unique == as.Unique && ix.Where == as.Where && slices.Equal(ix.Columns, as.Columns)
}

func (s *Schema) indexInUse(id uint64) bool {
	for _, def := range s.tables {
		if _, pos := def.Index(id); pos >= 0 {
			return true
		}
	}
	return false
}

// tableObject makes the entry of a new definition. A definition without
// indexes has a nil slice of them, however it came about, so that a replayed
// schema is deeply equal to the one that was logged.
func tableObject(def *TableDef) *Object {
	if len(def.Indexes) == 0 {
		def.Indexes = nil
	}
	return &Object{Kind: KindTable, Name: def.Name, TblName: def.Name, SQL: def.SQL, Table: def}
}

func (s *Schema) with(version uint64, o *Object) *Schema {
	return newSchema(version, append(slices.Clip(s.objects), o))
}

// withTable puts another definition in the place of a table.
func (s *Schema) withTable(version uint64, at int, def *TableDef) *Schema {
	objects := slices.Clone(s.objects)
	objects[at] = tableObject(def)
	return newSchema(version, objects)
}

// without removes an object, and with a table or view the triggers on it.
func (s *Schema) without(version uint64, at int) *Schema {
	gone := s.objects[at]
	objects := make([]*Object, 0, len(s.objects)-1)
	for i, o := range s.objects {
		if i == at || gone.Kind != KindTrigger && o.Kind == KindTrigger && equalName(o.TblName, gone.Name) {
			continue
		}
		objects = append(objects, o)
	}
	return newSchema(version, objects)
}
