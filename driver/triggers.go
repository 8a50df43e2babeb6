package driver

import (
	"errors"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// Triggers on tables are fired by package vtab, row by row; SQLite knows nothing
// of them when it compiles a statement. So the driver finds out here what a
// statement may fire, and what that writes.

// findFirings notes what a compiled statement may fire and adds what that writes to
// p.writes.
func (c *conn) findFirings(p *piece) error {
	p.fires = false
	if !p.writes.store {
		return nil
	}
	schema := c.mirror.schema
	on, err := c.sh.tables.triggersOf(schema)
	if err != nil || on.carriers == nil && c.names.firings == nil {
		return err
	}
	var keys *vtab.ForeignKeys
	if c.db.ForeignKeys {
		if keys, err = c.sh.tables.ForeignKeys(schema); err != nil {
			return err
		}
	}
	seen := map[engine.TableID]bool{}
	var visit func(names []string)
	var visitTable func(id engine.TableID)
	visit = func(names []string) {
		for _, name := range names {
			if o := schema.Lookup(name); o != nil && o.Table != nil {
				visitTable(o.Table.ID)
			}
		}
	}
	visitTable = func(id engine.TableID) {
		if seen[id] {
			return
		}
		seen[id] = true
		for tr := range c.firings(on, id) {
			p.fires = true
			w := c.carrierWrites(tr)
			p.writes.temp, p.writes.file = p.writes.temp || w.temp, p.writes.file || w.file
			p.writes.admin = p.writes.admin || w.admin
			visit(w.tables)
		}
		for _, child := range keys.Referring(id) {
			visitTable(child)
		}
	}
	visit(p.writes.tables)
	if !p.fires {
		return nil
	}
	return c.checkFirings(p)
}

// firings are the triggers on a table.
func (c *conn) firings(on *schemaTriggers, id engine.TableID) func(func(*vtab.Trigger) bool) {
	return func(yield func(*vtab.Trigger) bool) {
		for tr := range c.names.firings.Of(id) {
			if !yield(tr) {
				return
			}
		}
		for tr := range on.triggers.Of(id) {
			if !yield(tr) {
				return
			}
		}
	}
}

// carrierWrites asks SQLite what a trigger writes. What is wrong with it is said
// elsewhere.
func (c *conn) carrierWrites(tr *vtab.Trigger) targets {
	if w, ok := c.firingWrites[tr]; ok {
		return w
	}
	before := c.targets
	c.targets = targets{}
	st, _, err := c.db.Prepare(tr.Insert())
	if st != nil {
		st.Finalize()
	}
	w := c.targets
	c.targets = before
	if err == nil {
		if c.firingWrites == nil || len(c.firingWrites) > keptFirings {
			c.firingWrites = map[*vtab.Trigger]targets{}
		}
		c.firingWrites[tr] = w
	}
	return w
}

// keptFirings bounds what a connection remembers of triggers.
const keptFirings = 1024

// checkFirings finds what is wrong with the triggers that a statement fires. SQLite
// looks at them when it compiles the statement; here that is asked on the shadow.
func (c *conn) checkFirings(p *piece) error {
	sh := &c.sh.tables.shadow
	return sh.use(c.mirror.schema, func() error {
		st, _, err := sh.db.Prepare(p.Text)
		if st != nil {
			st.Finalize()
		}
		if err == nil || readsPast(err) || c.names.beside() && !c.firingError(err) {
			return nil // it names something the shadow does not have
		}
		if e, ok := errors.AsType[*vtab.Error](err); !ok || strings.HasPrefix(e.Msg, "no such table: ") && !strings.HasPrefix(e.Msg, "no such table: main.") {
			return nil
		}
		return err
	})
}

// firingError reports that the shadow's error is about a trigger of the store.
func (c *conn) firingError(err error) bool {
	msg := strings.ToLower(err.Error())
	return strings.HasPrefix(msg, "no such table: main.") || strings.Contains(msg, "no such column: new.") || strings.Contains(msg, "no such column: old.")
}

// beside reports that names may mean objects which the store does not have.
func (n *names) beside() bool {
	if len(n.files) > 0 {
		return true
	}
	for key := range n.temp {
		if key != "table:"+controlName {
			return true
		}
	}
	return false
}

// failsByTrigger reports that a trigger may end the statement with FAIL. SQLite then
// keeps the rows before only when the statement says OR FAIL.
func (c *conn) failsByTrigger(s *sqltext.Stmt, to place, schema *engine.Schema) bool {
	if to != inStore || s.Kind == sqltext.Delete {
		return false
	}
	o := schema.Lookup(s.Target.Name)
	if o == nil || o.Table == nil {
		return false
	}
	on, err := c.sh.tables.triggersOf(schema)
	return err == nil && (on.fails && on.triggers.On(o.Table.ID) || c.names.fails && c.names.firings.On(o.Table.ID))
}

// keepsRows reports that the running statement ended with FAIL: what it did stays.
func (c *conn) keepsRows() bool {
	var e *vtab.Error
	return errors.As(c.db.LastError(), &e) && e.Action == vtab.Fail
}

// firesOn reports whether a table has triggers for an event.
func (c *conn) firesOn(def *engine.TableDef, e vtab.Event) bool {
	on, err := c.sh.tables.triggersOf(c.mirror.schema)
	return err != nil || on.triggers.OnEvent(def.ID, e) || c.names.firings.OnEvent(def.ID, e)
}

// keptStmt is a statement without parameters that is compiled at its first run.
type keptStmt struct{ st *vtab.Stmt }

func (k *keptStmt) run(db *vtab.Conn, sql string) error {
	if k.st == nil {
		st, _, err := db.PreparePersistent(sql)
		if err != nil {
			return err
		}
		k.st = st
	}
	_, err := k.st.Step()
	if reset := k.st.Reset(); err == nil {
		err = reset
	}
	return err
}

func (k *keptStmt) finalize() {
	if k.st != nil {
		k.st.Finalize()
		k.st = nil
	}
}
