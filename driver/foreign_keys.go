package driver

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// Foreign keys are counted and acted on in package vtab, row by row. The driver
// looks at the counters: at the end of a statement in a transaction, and before a
// COMMIT, which SQLite could only refuse by rolling back. In autocommit the
// commit itself is refused, in xSync.

// keptSchemas is for how many schemas the foreign keys are kept at once.
const keptSchemas = 8

// ForeignKeys returns the foreign keys of a schema.
func (t *tableCache) ForeignKeys(s *engine.Schema) (*vtab.ForeignKeys, error) {
	t.foreign.Lock()
	defer t.foreign.Unlock()
	for i := range t.foreign.kept {
		if k := &t.foreign.kept[i]; k.schema == s {
			return k.keys, nil
		}
	}
	keys, err := vtab.ResolveForeignKeys(s, t.info)
	if err != nil {
		return nil, err
	}
	t.foreign.kept[t.foreign.next] = schemaKeys{s, keys}
	t.foreign.next = (t.foreign.next + 1) % keptSchemas
	return keys, nil
}

// schemaKeys are the foreign keys of one schema.
type schemaKeys struct {
	schema *engine.Schema
	keys   *vtab.ForeignKeys
}

// references reads a table's foreign keys off its text.
func references(def *engine.TableDef, list []sqltext.Reference) ([]vtab.Reference, error) {
	var refs []vtab.Reference
	for _, r := range list {
		ref := vtab.Reference{
			Parent: r.Parent, ParentColumns: r.ParentColumns,
			OnDelete: vtab.Action(r.OnDelete), OnUpdate: vtab.Action(r.OnUpdate), Deferred: r.Deferred,
		}
		for _, name := range r.Columns {
			i := ordinal(def, name)
			if i < 0 {
				return nil, newError("", ErrInternal, "table %s: foreign key of column %s, which is missing", def.Name, name)
			}
			ref.Columns = append(ref.Columns, i)
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// enforced is how foreign keys are enforced.
type enforced struct{ on, postponed bool }

func (c *conn) enforced() enforced { return enforced{c.db.ForeignKeys, c.db.Postpone} }

// setForeignKeys turns enforcement on or off, for SQLite's own tables too.
func (c *conn) setForeignKeys(on bool) error {
	if c.db.ForeignKeys == on {
		return nil
	}
	if err := c.ownExec("PRAGMA foreign_keys=" + strconv.FormatBool(on)); err != nil {
		return err
	}
	c.db.ForeignKeys = on
	return nil
}

// setPostpone is PRAGMA defer_foreign_keys. While BEGIN is held back SQLite
// would forget it with the driver's next statement: sendBegin tells it then.
func (c *conn) setPostpone(on bool) error {
	if c.db.Postpone = on; !on {
		c.db.StopPostponing()
	}
	if c.tx.phase != open {
		return nil
	}
	return c.ownExec("PRAGMA defer_foreign_keys=" + strconv.FormatBool(on))
}

// pragmaForeign answers the PRAGMAs that set how foreign keys are enforced.
func (c *conn) pragmaForeign(name, value string, has bool) (a answer, err error) {
	switch {
	case has && name == "defer_foreign_keys":
		err = c.setPostpone(truth(value))
	case has && c.tx.phase == idle: // inside of a transaction it does nothing
		err = c.setForeignKeys(truth(value))
	case !has:
		on := c.db.ForeignKeys
		if name == "defer_foreign_keys" {
			on = c.db.Postpone
		}
		n := int64(0)
		if on {
			n = 1
		}
		a = answer{[]string{name}, [][]row.Value{{row.IntValue(n)}}}
	}
	return a, err
}

// truth reads a boolean as SQLite's PRAGMAs do.
func truth(word string) bool {
	switch fold(word) {
	case "on", "yes", "true":
		return true
	}
	n, _ := strconv.ParseInt(word, 10, 64) // a word that is none counts as 0
	return n != 0
}

// checkKeys finds out whether foreign keys concern what a compiled statement
// writes, and refuses one that needs a key which refers to no key. Only SQLite
// knows which statements do: it is asked on the shadow.
func (c *conn) checkKeys(p *piece) error {
	p.keyed, p.oneRow = false, false
	if p.enforced = c.enforced(); !p.enforced.on || !p.writes.store {
		return nil
	}
	schema := c.mirror.schema
	keys, err := c.sh.tables.ForeignKeys(schema)
	if err != nil {
		return err
	}
	p.keyed = slices.ContainsFunc(p.writes.tables, func(name string) bool {
		o := schema.Lookup(name)
		return o != nil && o.Table != nil && keys.Concern(o.Table.ID)
	})
	if p.keyed && p.to == inStore && p.OneRow() {
		o := schema.Lookup(p.Target.Name)
		p.oneRow = o != nil && o.Table != nil && !c.firesOn(o.Table, vtab.OnInsert)
	}
	if !p.keyed || !keys.Flawed() {
		return nil
	}
	sh := &c.sh.tables.shadow
	return sh.use(schema, func() error {
		if err := sh.enforce(true); err != nil {
			return err
		}
		if err := sh.db.Exec("PRAGMA defer_foreign_keys=" + strconv.FormatBool(p.enforced.postponed)); err != nil {
			return err
		}
		st, _, err := sh.db.Prepare(p.Text)
		if st != nil {
			st.Finalize()
		}
		if err != nil && (strings.HasPrefix(err.Error(), "foreign key mismatch - ") || strings.HasPrefix(err.Error(), "no such table: main.")) {
			return err
		}
		return nil // it names something the shadow does not have
	})
}

// savepointKeys names the savepoint around a statement that foreign keys may
// take back.
const savepointKeys = `"tidemark keys"`

// startStatement prepares for taking a statement back. The engine's part is
// undone to a mark; one that writes tables of SQLite's own, through triggers,
// needs a savepoint.
func (c *conn) startStatement(p *piece) error {
	c.db.StartStatement(p.oneRow)
	if p.guarded = (p.fires || p.keyed && p.writes.temp) && c.tx.phase == open; p.guarded {
		return c.guarding.run(c.db, "SAVEPOINT "+savepointKeys)
	}
	return nil
}

// endStatement takes a statement back that has ended, for all SQLite knows, and
// leaves violations.
func (c *conn) endStatement(p *piece, err error) error {
	if p.ret != nil {
		c.db.SetReturning(nil)
	}
	if c.db.Autocommit() {
		c.db.Postpone = false // it ends with a transaction, that of the statement too
	}
	violated := c.db.Violated()
	if p.guarded && !c.db.Autocommit() {
		undo := ""
		violated := violated || err != nil && !c.keepsRows()
		if violated {
			undo = "ROLLBACK TO " + savepointKeys + "; "
		}
		var failed error
		if undo != "" {
			failed = c.db.Exec(undo)
		}
		if failed == nil {
			failed = c.release.run(c.db, "RELEASE "+savepointKeys)
		}
		if failed != nil {
			return failed
		}
		if violated {
			c.undo(c.tx)
		}
	}
	if violated {
		err = c.db.UndoStatement()
	}
	if e, ok := errors.AsType[*vtab.Error](err); ok && Code(e.Extended) == ErrConstraintForeignKey {
		c.db.KeepLastInsertRowid()
	}
	return err
}

// pragmaForeignCheck finds out whose table is to be checked.
func (c *conn) pragmaForeignCheck(ctx context.Context, p *piece, table string, has bool) (answer, error) {
	if !has {
		return c.foreignKeyCheck(ctx, "")
	}
	where, err := c.locate(sqltext.Name{Schema: p.Target.Schema, Name: table}, c.schema(), "table", "view")
	switch {
	case err != nil:
		return answer{}, err
	case where == inTemp, where == inFile:
		return c.direct(ctx, p)
	case !storeFinds(c.schema(), table, []string{"table", "view"}):
		return answer{}, errNoTable(sqltext.Name{Schema: p.Target.Schema, Name: table})
	}
	return c.foreignKeyCheck(ctx, table)
}

// foreignKeyCheck answers PRAGMA foreign_key_check: the rows of a table, or of
// all, that refer to nothing.
func (c *conn) foreignKeyCheck(ctx context.Context, table string) (a answer, err error) {
	if err = c.acquire(ctx, toRead); err == nil {
		a.labels = []string{"table", "rowid", "parent", "fkid"}
		w := c.watchContext(ctx)
		if err = w.enter(); err == nil {
			a.rows, err = c.checkRows(table)
			w.leave()
		}
		w.end()
		if err == nil {
			err = c.awaitBase(ctx)
		} else if cause := ctx.Err(); cause != nil {
			err = cause
		}
	}
	return a, c.settle(ctx, err, goesOn)
}

// foreignKeyRows answers the table-valued form of PRAGMA foreign_key_check.
func (c *conn) foreignKeyRows(args []row.Value) ([][]row.Value, error) {
	if args[0].IsNull() {
		if args[1].IsNull() || fold(args[1].Bytes()) == "main" {
			return c.checkRows("")
		}
		return c.db.Query("PRAGMA " + sqltext.Quote(args[1].Bytes()) + ".foreign_key_check")
	}
	n := sqltext.Name{Schema: args[1].Bytes(), Name: args[0].Bytes()}
	where, err := c.locate(n, c.schema(), "table", "view")
	switch {
	case err != nil:
		return nil, err
	case where != inTemp && where != inFile:
		if !storeHas(c.schema(), n.Name, []string{"table", "view"}) {
			return nil, errNoTable(sqltext.Name{Name: n.Name})
		}
		return c.checkRows(n.Name)
	case n.Schema == "":
		return c.db.Query("PRAGMA foreign_key_check(" + sqltext.Quote(n.Name) + ")")
	}
	return c.db.Query("PRAGMA " + sqltext.Quote(n.Schema) + ".foreign_key_check(" + sqltext.Quote(n.Name) + ")")
}

// checkRows reads the rows; table is "" for all tables.
func (c *conn) checkRows(table string) (rows [][]row.Value, err error) {
	schema := c.schema()
	keys, err := c.sh.tables.ForeignKeys(schema)
	if err != nil {
		return nil, err
	}
	for _, def := range schema.Tables() {
		if table != "" && !sameName(def.Name, table) {
			continue
		}
		err := c.db.CheckForeignKeys(keys, def, func(v vtab.Violation) {
			rowid := row.IntValue(v.Rowid)
			if def.WithoutRowid {
				rowid = row.Value{}
			}
			rows = append(rows, []row.Value{row.TextValue(def.Name), rowid, row.TextValue(v.Parent), row.IntValue(int64(v.Key))})
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}
