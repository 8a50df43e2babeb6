package vtab

import (
	"math"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// rowImage is a row before or after a change: its values, or its record.
type rowImage struct {
	def   *engine.TableDef
	rowid int64
	vals  []row.Value // nil: rec holds them
	rec   row.Record
}

func (r *rowImage) column(i int) row.Value {
	switch {
	case i == r.def.RowidAlias:
		return row.IntValue(r.rowid)
	case r.vals != nil:
		return r.vals[i]
	}
	return r.def.Value(r.rec, i)
}

// hasNull reports whether one of the columns is NULL: such a key refers to
// nothing, and nothing refers to it.
func (r *rowImage) hasNull(columns []int) bool {
	for _, i := range columns {
		if r.column(i).IsNull() {
			return true
		}
	}
	return false
}

// helper returns a table for the connection's own use, whether or not SQLite has
// connected it: actions change rows of tables that no statement names.
func (c *Conn) helper(id engine.TableID) (*table, *engine.TxTable, error) {
	t := c.helpers[id]
	if t == nil {
		t = &table{c: c, id: id}
		if c.helpers == nil {
			c.helpers = map[engine.TableID]*table{}
		}
		c.helpers[id] = t
	}
	h, err := t.handle()
	return t, h, err
}

// hasParent reports whether the row that r refers to exists; r has no NULL in
// its key. The row gone of the parent, if hasGone, is about to disappear and
// does not count.
func (c *Conn) hasParent(fk *foreignKey, r *rowImage, gone int64, hasGone bool) (bool, error) {
	_, h, err := c.helper(fk.parent.ID)
	if err != nil {
		return false, err
	}
	id, found := int64(0), false
	if fk.index < 0 {
		v := row.AffInteger.Apply(r.column(fk.columns[0]))
		if v.Kind() != row.Int {
			return false, nil
		}
		id = v.Int()
		if _, found, err = h.Get(id); err != nil {
			return false, err
		}
	} else {
		id, found = h.Find(fk.index, c.parentKey(fk, r))
	}
	return found && !(hasGone && fk.self() && id == gone), nil
}

// parentKey returns the key that r refers to, in the parent's index; it is
// scratch memory.
func (c *Conn) parentKey(fk *foreignKey, r *rowImage) []byte {
	key := c.scratch.key[:0]
	for i, ic := range fk.parent.Indexes[fk.index].Columns {
		v := fk.parent.Columns[ic.Column].Affinity.Apply(r.column(fk.columns[i]))
		key = row.AppendKey(key, v, ic.Collation, ic.Desc)
	}
	c.scratch.key = key
	return key
}

// ownParent reports whether a row that is about to be written refers to itself.
// SQLite compares the values as they are.
func (fk *foreignKey) ownParent(r *rowImage) bool {
	if !fk.self() {
		return false
	}
	if fk.index < 0 {
		v := row.AffInteger.Apply(r.column(fk.columns[0]))
		return v.Kind() == row.Int && v.Int() == r.rowid
	}
	for i, col := range fk.columns {
		v := r.column(fk.pcolumns[i])
		if v.IsNull() || row.Compare(v, r.column(col), row.Binary) != 0 {
			return false
		}
	}
	return true
}

// children returns the rows that refer to a row of the parent, by a probe. The
// row but of the same table does not count, if hasBut.
func (c *Conn) children(fk *foreignKey, p *probe, parent *rowImage, but int64, hasBut bool) ([]int64, error) {
	if parent.hasNull(fk.pcolumns) {
		return nil, nil
	}
	_, h, err := c.helper(fk.child.ID)
	if err != nil || h.Len() == 0 {
		return nil, err
	}
	want := make([]row.Value, len(fk.pcolumns))
	for i, col := range fk.pcolumns {
		want[i] = asCompared(p.letters[i], parent.column(col))
	}
	f := finder{fk: fk, probe: p, want: want, but: but, hasBut: hasBut && fk.self()}
	switch {
	case p.rowid >= 0:
		id, ok := exactRowid(want[p.rowid])
		if !ok {
			return nil, nil
		}
		return f.read(h, []int64{id})
	case p.index >= 0:
		key := c.scratch.key[:0]
		for i, at := range p.terms {
			ic := fk.child.Indexes[p.index].Columns[i]
			key = row.AppendKey(key, want[at], ic.Collation, ic.Desc)
		}
		c.scratch.key = key
		return f.read(h, h.FindAll(nil, p.index, key))
	}
	return f.scan(c)
}

// finder compares rows of the child with the key that is wanted.
type finder struct {
	fk     *foreignKey
	probe  *probe
	want   []row.Value
	but    int64
	hasBut bool
}

func (f *finder) refers(rowid int64, rec row.Record) bool {
	if f.hasBut && rowid == f.but {
		return false
	}
	r := rowImage{def: f.fk.child, rowid: rowid, rec: rec}
	for i, col := range f.fk.columns {
		v := r.column(col)
		if v.IsNull() || row.Compare(f.want[i], asCompared(f.probe.letters[i], v), f.probe.colls[i]) != 0 {
			return false
		}
	}
	return true
}

// read keeps those of some rows that refer to the key.
func (f *finder) read(h *engine.TxTable, rowids []int64) ([]int64, error) {
	kept := rowids[:0]
	for _, id := range rowids {
		rec, found, err := h.Get(id)
		if err != nil {
			return nil, err
		}
		if found && f.refers(id, rec) {
			kept = append(kept, id)
		}
	}
	return kept, nil
}

// scan reads the whole table.
func (f *finder) scan(c *Conn) (rowids []int64, err error) {
	err = c.eachRow(f.fk.child.ID, func(rowid int64, rec row.Record) error {
		if f.refers(rowid, rec) {
			rowids = append(rowids, rowid)
		}
		return nil
	})
	return rowids, err
}

// eachRow calls f for each row of a table as it is now, in its order.
func (c *Conn) eachRow(id engine.TableID, f func(rowid int64, rec row.Record) error) error {
	view, err := c.view(id)
	if err != nil {
		return err
	}
	scan := view.Scan(math.MinInt64, math.MaxInt64, false)
	if key := keyOrder(view.Def()); key >= 0 {
		scan = view.IndexScan(key, "", "", false)
	}
	var buf [fullBlock]engine.Entry
	for {
		n, err := scan.Next(buf[:])
		if err != nil {
			return err
		}
		for _, e := range buf[:n] {
			if err := f(e.Rowid, e.Rec); err != nil {
				return err
			}
		}
		if n < len(buf) {
			return nil
		}
		if lib.Xsqlite3_is_interrupted(c.tls, c.db) != 0 {
			return errorf(lib.SQLITE_INTERRUPT, "interrupted")
		}
	}
}
