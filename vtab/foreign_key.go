package vtab

import (
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// Foreign keys are SQLite's, which ignores them on virtual tables. A row that
// refers to nothing counts as a violation, in the counters of the engine's
// transaction; what makes or mends one changes the counter, and the ends of the
// statement and of the transaction look at it. Actions are changes of rows like
// those of an UPDATE or DELETE.

// Action is what a foreign key does to its rows when the row they refer to goes
// or gets another key.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	Restrict
	SetNull
	SetDefault
	Cascade
)

// Reference is a foreign key as a table's text has it.
type Reference struct {
	Columns            []int
	Parent             string   // name of the table referred to
	ParentColumns      []string // nil: its primary key
	OnDelete, OnUpdate Action
	Deferred           bool
}

// ForeignKeys are those of a schema, in both directions. They are immutable.
type ForeignKeys struct {
	tables map[engine.TableID]*tableKeys
	flawed bool
}

// tableKeys are the foreign keys that a table has and those that refer to it.
type tableKeys struct {
	own  []*foreignKey // the one written last comes first, as in foreign_key_list
	refs []*foreignKey // that of the newest table first
}

// foreignKey is a Reference with its place in a schema.
type foreignKey struct {
	*Reference
	child    *engine.TableDef
	parent   *engine.TableDef // nil: there is no such table
	flaw     *Error           // what a statement gets that needs the parent's key
	columns  []int            // of the child, in the order of the parent's key
	pcolumns []int            // of the parent
	index    int              // the parent's unique index, or -1: its rowid
	count    probe            // finds children by the rules of the counters
	act      probe            // finds them by those of actions
}

// ResolveForeignKeys puts the references of all tables of a schema into their
// places; info describes a table.
func ResolveForeignKeys(s *engine.Schema, info func(*engine.TableDef) (*TableInfo, error)) (*ForeignKeys, error) {
	k := &ForeignKeys{tables: map[engine.TableID]*tableKeys{}}
	for _, child := range s.Tables() {
		ti, err := info(child)
		if err != nil {
			return nil, err
		}
		for i := range ti.References {
			fk := resolve(s, child, &ti.References[i])
			own := k.of(child.ID)
			own.own = slices.Insert(own.own, 0, fk)
			if fk.parent != nil {
				refs := k.of(fk.parent.ID)
				refs.refs = slices.Insert(refs.refs, 0, fk)
			}
			k.flawed = k.flawed || fk.flaw != nil
		}
	}
	return k, nil
}

func (k *ForeignKeys) of(id engine.TableID) *tableKeys {
	t := k.tables[id]
	if t == nil {
		t = &tableKeys{}
		k.tables[id] = t
	}
	return t
}

// Concern reports whether a table has foreign keys or is referred to by some.
func (k *ForeignKeys) Concern(id engine.TableID) bool { return k.tables[id] != nil }

// Acts reports whether a change of columns of a table, or with deletes the loss of
// a row, may make foreign keys change rows of others, or of the table itself.
func (k *ForeignKeys) Acts(id engine.TableID, columns []int, deletes bool) bool {
	t := k.tables[id]
	if t == nil {
		return false
	}
	for _, fk := range t.refs {
		if deletes && fk.OnDelete > Restrict {
			return true
		}
		if fk.OnUpdate <= Restrict {
			continue
		}
		if fk.flaw != nil || slices.ContainsFunc(columns, func(c int) bool { return slices.Contains(fk.pcolumns, c) }) {
			return true
		}
	}
	return false
}

// Flawed reports whether a foreign key refers to no table, or to columns that
// are no key of it.
func (k *ForeignKeys) Flawed() bool { return k.flawed }

// resolve finds the table and the key that a reference is to.
func resolve(s *engine.Schema, child *engine.TableDef, r *Reference) *foreignKey {
	fk := &foreignKey{Reference: r, child: child, index: -1}
	o := s.Lookup(r.Parent)
	switch {
	case o == nil:
		fk.flaw = errorf(lib.SQLITE_ERROR, "no such table: main.%s", r.Parent)
		return fk
	case o.Table == nil || !fk.locate(o.Table):
		fk.parent = o.Table
		fk.flaw = errorf(lib.SQLITE_ERROR, "foreign key mismatch - %s referencing %s", quoteName(child.Name), quoteName(r.Parent))
		return fk
	}
	fk.parent = o.Table
	fk.count, fk.act = makeProbe(fk, false), makeProbe(fk, true)
	return fk
}

// locate finds the unique key of the parent that the reference names: its
// rowid, or an index with the collations of the columns themselves.
func (fk *foreignKey) locate(parent *engine.TableDef) bool {
	names := fk.ParentColumns
	if a := parent.RowidAlias; a >= 0 && len(fk.Columns) == 1 && (names == nil || strings.EqualFold(names[0], parent.Columns[a].Name)) {
		fk.columns, fk.pcolumns = fk.Columns, []int{a}
		return true
	}
	for i, ix := range parent.Indexes {
		if !ix.Unique || ix.Where != 0 || len(ix.Columns) != len(fk.Columns) || names == nil && ix.Origin != "pk" {
			continue
		}
		var columns, pcolumns []int
		for at, ic := range ix.Columns {
			col := &parent.Columns[ic.Column]
			if names != nil {
				at = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, col.Name) })
				if at < 0 || ic.Collation != col.Collation {
					break
				}
			}
			columns, pcolumns = append(columns, fk.Columns[at]), append(pcolumns, ic.Column)
		}
		if len(columns) == len(ix.Columns) {
			fk.columns, fk.pcolumns, fk.index = columns, pcolumns, i
			return true
		}
	}
	return false
}

// self reports that the table refers to itself.
func (fk *foreignKey) self() bool { return fk.parent != nil && fk.parent.ID == fk.child.ID }

// probe says how the rows are found that refer to a row of the parent: by the
// rowid, by an index of the child, or by reading it whole. It compares as SQLite
// does, which depends on the affinities of both columns.
type probe struct {
	letters []byte          // by column: how both sides are converted, see asCompared
	colls   []row.Collation // by column: the parent's
	rowid   int             // position of the column that is the child's rowid, or -1
	index   int             // of the child, or -1
	terms   []int           // by term of the index: position of its column
}

// makeProbe makes a probe. In the WHERE of an action, the parent's columns stand
// as OLD.x, which has no affinity unless it is the rowid.
func makeProbe(fk *foreignKey, action bool) probe {
	p := probe{rowid: -1, index: -1}
	for i, col := range fk.columns {
		child, parent := &fk.child.Columns[col], &fk.parent.Columns[fk.pcolumns[i]]
		letter := byte('b')
		switch bare := action && fk.pcolumns[i] != fk.parent.RowidAlias; {
		case child.Affinity >= row.AffNumeric, !bare && parent.Affinity >= row.AffNumeric:
			letter = 'n'
		case bare && child.Affinity == row.AffText:
			letter = 't'
		}
		p.letters, p.colls = append(p.letters, letter), append(p.colls, parent.Collation)
		if col == fk.child.RowidAlias {
			p.rowid = i
		}
	}
	for i, ix := range fk.child.Indexes {
		if ix.Where != 0 {
			continue
		}
		var terms []int
		for _, ic := range ix.Columns {
			at := slices.Index(fk.columns, ic.Column)
			if at < 0 || ic.Collation != p.colls[at] || p.letters[at] == 'n' && fk.child.Columns[ic.Column].Affinity < row.AffNumeric {
				break
			}
			terms = append(terms, at)
		}
		if len(terms) > len(p.terms) {
			p.index, p.terms = i, terms
		}
	}
	return p
}

// asCompared converts a value as the comparison of a foreign key does.
func asCompared(letter byte, v row.Value) row.Value {
	switch letter {
	case 'n':
		return row.AffNumeric.ForCompare(v)
	case 't':
		return row.AffText.ForCompare(v)
	}
	return v
}

// Referring returns the tables whose keys refer to a table.
func (k *ForeignKeys) Referring(id engine.TableID) []engine.TableID {
	if k == nil || k.tables[id] == nil {
		return nil
	}
	var list []engine.TableID
	for _, fk := range k.tables[id].refs {
		list = append(list, fk.child.ID)
	}
	return list
}
