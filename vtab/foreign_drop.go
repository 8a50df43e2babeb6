package vtab

import (
	"errors"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// Emptied is what EmptyForDrop deleted.
type Emptied struct {
	Rows  int64 // of the table
	Total int64 // and changed by actions
}

// EmptyForDrop deletes the rows of a table that is about to be dropped, where
// foreign keys make SQLite do so: actions run, and what then refers to nothing
// counts. Keys that refer to no key are ignored. It returns nil when the rows can
// stay.
func (c *Conn) EmptyForDrop(id engine.TableID) (*Emptied, error) {
	if !c.ForeignKeys {
		return nil, nil
	}
	t, h, err := c.helper(id)
	if err != nil {
		return nil, err
	}
	keys, err := t.foreign()
	if err != nil || keys == nil || len(keys.refs) == 0 && !c.mendedByDrop(keys) {
		return nil, err
	}
	done, before := &Emptied{}, c.TotalChanges()
	c.tx.Violations().Statement = 0
	c.dropping = true
	defer func() { c.dropping = false }()
	err = c.eachRow(id, func(rowid int64, _ row.Record) error {
		ch := c.takeChange(t, c.tls, Abort)
		defer c.giveChange(ch)
		err := ch.prepare(h)
		if err == nil {
			err = ch.delete(rowid)
		}
		switch {
		case err == nil:
			done.Rows++
		case errors.Is(err, errSkip): // an action has deleted it
			err = nil
		}
		return err
	})
	done.Total = done.Rows + c.TotalChanges() - before
	if v := c.tx.Violations(); err == nil && !c.Postpone && (v.Statement != 0 || v.Postponed != 0) {
		err = errForeignKey(lib.SQLITE_CONSTRAINT_FOREIGNKEY)
	}
	return done, err
}

// mendedByDrop reports that dropping a table nobody refers to can mend deferred
// violations.
func (c *Conn) mendedByDrop(keys *tableKeys) bool {
	for _, fk := range keys.own {
		if (fk.Deferred || c.Postpone) && !c.unviolated(fk) {
			return true
		}
	}
	return false
}
