package vtab

import (
	"strings"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// Violation is a row that refers to nothing.
type Violation struct {
	Rowid  int64
	Parent string // the table it should be in, as the foreign key names it
	Key    int    // number of the foreign key in PRAGMA foreign_key_list
}

// CheckForeignKeys reports the rows of a table whose foreign keys refer to
// nothing, whether or not they are enforced. A key that refers to no key is an
// error, one that refers to no table a violation of each row that has it.
func (c *Conn) CheckForeignKeys(keys *ForeignKeys, def *engine.TableDef, report func(Violation)) error {
	t := keys.tables[def.ID]
	if t == nil {
		return nil
	}
	parents := make([]*engine.Table, len(t.own))
	for i, fk := range t.own {
		if fk.parent == nil {
			continue
		}
		if fk.flaw != nil {
			return fk.flaw
		}
		var err error
		if parents[i], err = c.view(fk.parent.ID); err != nil {
			return err
		}
	}
	return c.eachRow(def.ID, func(rowid int64, rec row.Record) error {
		r := rowImage{def: def, rowid: rowid, rec: rec}
		for i, fk := range t.own {
			columns := fk.columns
			if columns == nil {
				columns = fk.Columns
			}
			if r.hasNull(columns) {
				continue
			}
			if parents[i] != nil {
				found, err := c.viewHasParent(parents[i], fk, &r)
				if err != nil {
					return err
				}
				if found {
					continue
				}
			}
			report(Violation{rowid, strings.Clone(fk.Parent), i})
		}
		return nil
	})
}

// viewHasParent is hasParent for a state that is only read.
func (c *Conn) viewHasParent(view *engine.Table, fk *foreignKey, r *rowImage) (found bool, err error) {
	if fk.index < 0 {
		v := row.AffInteger.Apply(r.column(fk.columns[0]))
		if v.Kind() == row.Int {
			_, found, err = view.Get(v.Int())
		}
		return found, err
	}
	key := string(c.parentKey(fk, r))
	var one [1]engine.Entry
	n, err := view.IndexScan(fk.index, key, key+row.KeyAfter, false).Next(one[:])
	return n > 0, err
}
