package driver

import (
	"context"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
)

// A DDL statement on the store runs in three places, in this order:
//
//	shadow   SQLite validates it, with its own messages, and its result is read
//	engine   the change goes through an UPDATE of temp.tidemark_tx, in whose
//	         xUpdate it is applied to the engine's transaction
//	mirror   main is changed to match, in the same SQLite transaction
//
// so SQLite's COMMIT, ROLLBACK and savepoints cover engine and mirror alike. The
// shadow is compared with the schema at its next use.

// controlUpdate is the statement that applies conn.pending.
const controlUpdate = "UPDATE temp.tidemark_tx SET op = 'schema'"

// runDDL runs CREATE, DROP and ALTER.
func (c *conn) runDDL(ctx context.Context, p *piece, b *binder) (done bool, a answer, err error) {
	where, err := c.placeDDL(p.Stmt)
	if err != nil {
		return true, a, err
	}
	switch where {
	case inStore, nowhere:
		return true, a, c.storeDDL(ctx, p, b)
	case inCatalog:
		if p.Target.Schema == "" { // a name that only the catalog has
			return true, a, c.storeDDL(ctx, p, b)
		}
	}
	return true, a, c.nativeDDL(ctx, p, b, where)
}

// placeDDL finds where a DDL statement makes or changes its object.
func (c *conn) placeDDL(s *sqltext.Stmt) (place, error) {
	schema := c.schema()
	find := func(n sqltext.Name, kinds ...string) (place, error) {
		return c.locateBy(storeFinds, n, schema, kinds)
	}
	switch s.Kind {
	case sqltext.CreateTable, sqltext.CreateView, sqltext.CreateVirtual:
		if s.Target.Schema == "" {
			return inStore, nil
		}
		return find(s.Target)
	case sqltext.CreateIndex, sqltext.CreateTrigger:
		if s.Target.Schema != "" {
			return find(s.Target)
		}
		// Without a schema it goes to temp when its table is there, else to main.
		where, err := find(s.On(), "table", "view")
		if where != inTemp {
			where = inStore
		}
		return where, err
	case sqltext.DropIndex:
		return find(s.Target, "index")
	case sqltext.DropTrigger:
		return find(s.Target, "trigger")
	}
	return find(s.Target, "table", "view")
}

// nativeDDL runs DDL on temp or an attached file.
func (c *conn) nativeDDL(ctx context.Context, p *piece, b *binder, where place) error {
	if where == inFile {
		if c.tx.readOnly {
			return errReadOnlyTx
		}
		if c.tx.store {
			return errTwoFiles()
		}
	}
	if p.Kind == sqltext.CreateTrigger && where == inTemp { // one of a file is on a table there
		on, err := c.locate(p.On(), c.schema(), "table", "view")
		if err != nil {
			return err
		}
		if on == inStore {
			if o := c.schema().Lookup(p.On().Name); o != nil && o.Kind == engine.KindTable {
				return c.createTempTrigger(ctx, p)
			}
		}
	}
	if p.Kind == sqltext.DropTrigger && where == inTemp {
		if t := c.names.carriedTrigger(p.Target.Name); t != nil {
			return c.dropTempTrigger(ctx, t)
		}
	}
	q := &piece{Stmt: p.Stmt, numbers: p.numbers, to: where}
	defer q.finalize()
	w, err := c.start(ctx, q, b, false)
	if err == nil {
		err = c.drain(ctx, q, w)
	}
	c.names.forget()
	c.tx.temp = c.tx.phase == open
	if where == inFile {
		c.tx.file = c.tx.phase == open
	}
	return c.settle(ctx, err, goesOn)
}

// storeDDL runs DDL on the store.
func (c *conn) storeDDL(ctx context.Context, p *piece, b *binder) error {
	if c.tx.phase == broken {
		return errBroken
	}
	if p.IfExists() && c.nothingToDo(p.Stmt, c.schema()) {
		return c.sameStorage(p.Stmt, c.schema())
	}
	if c.tx.file {
		return errTwoFiles()
	}
	keep := c.db.KeepChanges()
	before := c.footing()
	ready, err := c.prepareIndex(ctx, p.Stmt)
	if err == nil {
		err = c.acquire(ctx, toWrite)
	}
	c.emptied = nil
	if err == nil {
		c.reads.etx.UseIndex(ready)
		err = c.inTransaction(ctx, func() error { return c.applyDDL(ctx, p, b) })
	}
	keep()
	if err == nil && c.emptied != nil {
		c.db.SetChanges(c.emptied.Rows, c.emptied.Total)
	}
	if c.tx.phase == idle {
		c.db.Postpone = false
	}
	if err != nil {
		if undone := c.withdraw(before); undone != nil {
			return undone
		}
	}
	return c.settle(ctx, err, goesOn)
}

// prepareIndex has the engine make an index of a large table before the write lock
// is taken, so that writers go on meanwhile. There is none in a transaction, which
// may have changed the table, and beside open rows, for which the head must stay
// what it is. What is wrong with the statement is found under the lock.
func (c *conn) prepareIndex(ctx context.Context, s *sqltext.Stmt) (*engine.PreparedIndex, error) {
	if s.Kind != sqltext.CreateIndex || c.tx.phase != idle || c.reads.active > 0 || c.refuseWrite() != nil {
		return nil, nil
	}
	head := c.store.Head()
	o := findObject(head.Schema(), s.On().Name)
	if o == nil || o.Table == nil || head.Table(o.Table.ID).Len() < engine.PrepareFrom {
		return nil, nil
	}
	changes, err := c.planDDL(s, head.Schema())
	if err != nil || len(changes) != 1 {
		return nil, nil
	}
	create, ok := changes[0].(engine.CreateIndex)
	if !ok {
		return nil, nil
	}
	return c.store.PrepareIndex(ctx, create.Table, create.Index)
}

// nothingToDo reports that IF [NOT] EXISTS makes a statement do nothing, so that
// it need not wait for the write lock. An application that creates its tables at
// every start should not wait for writers.
func (c *conn) nothingToDo(s *sqltext.Stmt, schema *engine.Schema) bool {
	switch s.Kind {
	case sqltext.CreateTable, sqltext.CreateVirtual, sqltext.CreateView:
		return storeFinds(schema, s.Target.Name, []string{"table", "view"})
	case sqltext.CreateIndex: // SQLite looks for the table first
		return storeFinds(schema, s.On().Name, []string{"table"}) && storeFinds(schema, s.Target.Name, []string{"index"})
	case sqltext.CreateTrigger:
		return storeFinds(schema, s.Target.Name, []string{"trigger"})
	case sqltext.DropIndex:
		return !storeFinds(schema, s.Target.Name, []string{"index"})
	case sqltext.DropTrigger:
		return !storeFinds(schema, s.Target.Name, []string{"trigger"})
	}
	return !storeFinds(schema, s.Target.Name, []string{"table", "view"})
}

// savepointDDL names the savepoint around a DDL statement in a transaction.
const savepointDDL = `"tidemark ddl"`

// inTransaction runs f in a transaction of its own or, inside of one, in a
// savepoint, and undoes all of it when it fails.
func (c *conn) inTransaction(ctx context.Context, f func() error) error {
	begin, commit, undo := "BEGIN", "COMMIT", "ROLLBACK"
	if c.tx.phase == open {
		begin, commit = "SAVEPOINT "+savepointDDL, "RELEASE "+savepointDDL
		undo = "ROLLBACK TO " + savepointDDL + "; " + commit
		c.tx.ddl, c.tx.store = true, true
	}
	c.db.ClearError()
	if err := c.db.Exec(begin); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if err = c.sqliteError(ctx, c.db.Exec(commit)); err == nil {
			return nil
		}
	}
	if !c.db.Autocommit() { // SQLite may have ended it already
		if undone := c.db.Exec(undo); undone != nil {
			return undone
		}
	}
	c.mirror.forget()
	return err
}

// applyDDL makes the changes of one statement.
func (c *conn) applyDDL(ctx context.Context, p *piece, b *binder) error {
	if p.AsSelect() != "" {
		return c.createAs(ctx, p, b)
	}
	schema := c.reads.etx.Schema()
	changes, err := c.planDDL(p.Stmt, schema)
	if err != nil || len(changes) == 0 {
		return err
	}
	if replace, create, ok := computedIndex(changes); ok {
		return c.createComputed(ctx, replace, create)
	}
	if err := c.change(ctx, changes); err != nil {
		return err
	}
	switch p.Kind {
	case sqltext.DropTable:
		return c.dropSequence(schema, p.Target.Name)
	case sqltext.AlterTable:
		return c.afterAlter(ctx, p.Stmt, schema)
	}
	return nil
}

// change applies changes to the engine and to the mirror.
func (c *conn) change(ctx context.Context, changes []engine.Change) error {
	if c.control == nil {
		st, _, err := c.db.PreparePersistent(controlUpdate)
		if err != nil {
			return err
		}
		c.control = st
	}
	c.pending = changes
	err := c.own(func() error {
		_, err := c.control.Step()
		err = c.sqliteError(ctx, err)
		_ = c.control.Reset() // repeats the error
		return err
	})
	c.pending = nil
	if err != nil {
		return err
	}
	after := c.reads.etx.Schema()
	c.sh.tables.shadow.adopt(c.shadowTurn, after)
	return c.refresh(after)
}

// applyPending is called from the xUpdate of the control table.
func (c *conn) applyPending(string, []byte) error {
	if c.pending == nil {
		return newError("", ErrGeneric, "table %s may not be modified", controlName)
	}
	etx := c.db.Tx()
	for _, change := range c.pending {
		if drop, ok := change.(engine.DropTable); ok {
			var err error
			if c.emptied, err = c.db.EmptyForDrop(drop.Table); err != nil {
				return err
			}
		}
		if err := etx.Apply(change); err != nil {
			return err
		}
	}
	return nil
}

// dropSequence removes what sqlite_sequence knew of a table.
func (c *conn) dropSequence(schema *engine.Schema, table string) error {
	o := findObject(schema, table)
	if o == nil || o.Table == nil || !o.Table.AutoIncrement {
		return nil
	}
	return c.ownExec("DELETE FROM main.sqlite_sequence WHERE name = " + sqltext.QuoteText(o.Name))
}

// maxColumns is SQLite's limit of 2,000 less the hidden column of every table.
const maxColumns = 1999

// refuseHidden refuses a trigger that would have to tell the OLD and NEW of the
// row from a table of that name.
func refuseHidden(t *sqltext.Trigger) error {
	if t == nil || !t.Hidden || t.InsteadOf || t.Event == "INSERT" {
		return nil
	}
	return refuse("an UPDATE or DELETE trigger in which a table is called old or new", "give the table another alias")
}

// refuseDDL refuses what SQLite accepts and this version does not do.
func refuseDDL(s *sqltext.Stmt, schema *engine.Schema) error {
	switch s.Kind {
	case sqltext.CreateTable, sqltext.CreateVirtual, sqltext.CreateView:
		if strings.HasPrefix(fold(s.Target.Name), "tidemark_") {
			return newError("", ErrGeneric, "object name reserved for internal use: %s", s.Target.Name)
		}
		if n := s.ColumnCount(); n > maxColumns {
			return newError("", ErrGeneric, "too many columns on %s: %d, at most %d", s.Target.Name, n, maxColumns)
		}
	case sqltext.CreateTrigger:
		if err := refuseHidden(s.Trigger()); err != nil {
			return err
		}
	}
	return nil
}
