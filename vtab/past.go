package vtab

import (
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// A table called as a function, t('name'), is read as it was at a branch point.
// SQLite passes the argument as an equality on the hidden column. The plan is made
// of what the table has now, and what it was then is known when the scan starts:
// the argument may be a parameter, or a column of another table. So a plan for an
// old state promises only what holds of any: SQLite tests every comparison again,
// and sorts but for the table's own order. An index that was not there then is
// replaced by a scan.

// past is an old state of a table.
type past struct {
	name    string // of the branch point
	def     *engine.TableDef
	view    *engine.Table
	columns []int // by column of def: that of view, -1 for one that is younger; nil if they are the same
	indexes []int // by index of def: that of view, -1 for one that is not the same there
}

// pasts are the old states that the running statements opened. They stay until
// the snapshot is let go of, so that one statement, and all of a transaction, read
// one state under one name.
type pasts map[string]*opened

type opened struct {
	snap   *engine.Snapshot
	tables map[engine.TableID]*past
}

// hasPast refuses a table of which no branch point holds rows.
func hasPast(def *engine.TableDef) error {
	if !def.Durable {
		return errorf(lib.SQLITE_ERROR, "table %s is volatile (durable=false): no branch point holds its rows", def.Name)
	}
	return nil
}

// openPast makes the cursor read the state that a branch point names.
func (q *cursor) openPast(v row.Value) error {
	def := q.t.info.Def
	if v.Kind() != row.Text {
		return errorf(lib.SQLITE_ERROR, "%s(%s): a branch point is named by a text", def.Name, kindNames[v.Kind()])
	}
	if q.past != nil && q.past.name == v.Bytes() && q.past.def == def {
		return nil
	}
	q.past = nil
	if err := hasPast(def); err != nil {
		return err
	}
	o, err := q.c.open(v.Bytes())
	if err != nil {
		return err
	}
	p := o.tables[q.t.id]
	if p == nil || p.def != def {
		if p, err = pastOf(def, o.snap, strings.Clone(v.Bytes())); err != nil {
			return err
		}
		o.tables[q.t.id] = p
	}
	q.past = p
	return nil
}

// open opens the state that a branch point names, once for the running statements.
// name may be borrowed.
func (c *Conn) open(name string) (*opened, error) {
	if o := c.pasts[name]; o != nil {
		return o, nil
	}
	name = strings.Clone(name)
	if c.OnPast == nil {
		return nil, errorf(lib.SQLITE_ERROR, "no such branch point: %s", name)
	}
	snap, err := c.OnPast(name)
	if err != nil {
		return nil, err
	}
	o := &opened{snap: snap, tables: map[engine.TableID]*past{}}
	if c.pasts == nil {
		c.pasts = pasts{}
	}
	c.pasts[name] = o
	return o, nil
}

// PastRows returns the number of rows that a table had at a branch point.
func (c *Conn) PastRows(def *engine.TableDef, name string) (int, error) {
	if err := hasPast(def); err != nil {
		return 0, err
	}
	o, err := c.open(name)
	if err != nil {
		return 0, err
	}
	p, err := pastOf(def, o.snap, name)
	if err != nil {
		return 0, err
	}
	return p.view.Len(), nil
}

// pastOf finds a table in an old state: by its id, and its columns by theirs.
func pastOf(def *engine.TableDef, snap *engine.Snapshot, name string) (*past, error) {
	view := snap.Table(def.ID)
	if view == nil {
		why := "the table was made after the branch point"
		if o := snap.Schema().Lookup(def.Name); o != nil {
			why = "what had that name then was dropped: at=" + name + " in the DSN reads it"
		}
		return nil, errorf(lib.SQLITE_ERROR, "no such table: %s('%s') (%s)", def.Name, strings.ReplaceAll(name, "'", "''"), why)
	}
	old := view.Def()
	columns, err := matchColumns(def, old)
	if err != nil {
		return nil, errorf(lib.SQLITE_ERROR, "%s('%s'): %s: at=%s in the DSN reads the table as it was", def.Name, strings.ReplaceAll(name, "'", "''"), err, name)
	}
	p := &past{name: name, def: def, view: view, columns: columns, indexes: make([]int, len(def.Indexes))}
	for i, ix := range def.Indexes {
		p.indexes[i] = -1
		if was, at := old.Index(ix.ID); at >= 0 && sameKey(def, ix, old, was) {
			p.indexes[i] = at
		}
	}
	return p, nil
}

// matchColumns finds for each column of a definition the one of the same id in an
// older definition. It returns nil when they are the same all along, and refuses a
// column whose values the two would compare differently.
func matchColumns(def, old *engine.TableDef) ([]int, error) {
	if def.WithoutRowid != old.WithoutRowid {
		return nil, errorf(lib.SQLITE_ERROR, "its key has changed since")
	}
	match, same := make([]int, len(def.Columns)), len(def.Columns) == len(old.Columns) && def.Visible() == nil
	for i, col := range def.Columns {
		if !col.Visible() { // nobody reads it
			match[i] = -1
			continue
		}
		at := slices.IndexFunc(old.Columns, func(c engine.Column) bool { return c.ID == col.ID && c.Visible() })
		match[i], same = at, same && at == i
		if at < 0 {
			if i == def.RowidAlias {
				return nil, errorf(lib.SQLITE_ERROR, "column %s is the rowid since", col.Name)
			}
			continue
		}
		was := old.Columns[at]
		switch {
		case was.Affinity != col.Affinity || !strings.EqualFold(was.DeclType, col.DeclType):
			return nil, errorf(lib.SQLITE_ERROR, "the type of column %s has changed since, from %q to %q", col.Name, was.DeclType, col.DeclType)
		case was.Collation != col.Collation:
			return nil, errorf(lib.SQLITE_ERROR, "the collation of column %s has changed since, from %s to %s", col.Name, was.Collation, col.Collation)
		case (i == def.RowidAlias) != (at == old.RowidAlias):
			return nil, errorf(lib.SQLITE_ERROR, "column %s is the rowid of only one of the two", col.Name)
		}
	}
	if same {
		return nil, nil
	}
	return match, nil
}

// sameKey reports whether an index had the same key under an older definition.
func sameKey(def *engine.TableDef, ix *engine.IndexDef, old *engine.TableDef, was *engine.IndexDef) bool {
	return slices.EqualFunc(ix.Columns, was.Columns, func(a, b engine.IndexColumn) bool {
		return a.Desc == b.Desc && a.Collation == b.Collation && def.Columns[a.Column].ID == old.Columns[b.Column].ID
	})
}

// column returns the column of the old record that stands for column k.
func (p *past) column(dec *row.Decoder, k int) row.Value {
	if p.columns != nil {
		at := p.columns[k]
		if at < 0 { // what a row of then would show if it had stayed
			return p.def.Columns[k].Missing
		}
		k = at
	}
	return p.view.Def().Read(dec, k)
}

// state returns what the cursor reads of the table.
func (q *cursor) state() (*engine.Table, error) {
	if q.past != nil {
		return q.past.view, q.t.c.use(q.past.view)
	}
	return q.t.c.view(q.t.id)
}

// position returns where an index of the table is in what the cursor reads, -1
// if it is not there.
func (q *cursor) position(at int) int {
	if q.past != nil {
		return q.past.indexes[at]
	}
	return at
}

// ownOrder returns the index by which a table WITHOUT ROWID is in its own order.
func (q *cursor) ownOrder() (int, error) {
	at := q.position(q.t.scanKey)
	if at < 0 {
		return 0, errorf(lib.SQLITE_ERROR, "%s('%s'): its key has changed since", q.t.info.Def.Name, q.past.name)
	}
	return at, nil
}

// filterUnindexed reads an old state in its own order, for a plan by an index that
// it does not have.
func (q *cursor) filterUnindexed(num int32) error {
	if q.t.scanKey >= 0 {
		if _, err := q.ownOrder(); err != nil {
			return err
		}
		return q.filterWhole(num &^ planDesc)
	}
	return q.filterScan(num&planTests, nil)
}
