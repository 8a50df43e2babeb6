package driver

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// A temporary trigger on a table of the store is a carrier in temp. Temp itself is
// where it is kept, so that SQLite's transactions cover it: the text of the carrier's
// view has, in a comment, the id of the table and the text the user wrote.

// tempTrigger is a temporary trigger on a table of the store.
type tempTrigger struct {
	name  string
	table engine.TableID
	on    string // name of the table when the carrier was made
	text  string // as sqlite_temp_schema has it
	view  string // texts of the carrier
	body  string
}

// carrierNote is what the text of a view says behind CREATE VIEW … AS.
func carrierNote(table engine.TableID, on, text string) string {
	return fmt.Sprintf("/*%d %s %s*/", table, hex.EncodeToString([]byte(on)), hex.EncodeToString([]byte(text)))
}

// readTempTrigger finds the note in the text of a view.
func readTempTrigger(name, view string) (*tempTrigger, bool) {
	_, note, ok := strings.Cut(view, " AS /*")
	if note, _, ok = strings.Cut(note, "*/"); !ok {
		return nil, false
	}
	parts := strings.SplitN(note, " ", 3)
	if len(parts) != 3 {
		return nil, false
	}
	id, err := strconv.ParseUint(parts[0], 10, 64)
	on, err1 := hex.DecodeString(parts[1])
	text, err2 := hex.DecodeString(parts[2])
	return &tempTrigger{name: name, table: engine.TableID(id), on: string(on), text: string(text), view: view}, err == nil && err1 == nil && err2 == nil
}

// addTemp notes an object of temp. What carries a trigger shows as the trigger.
func (n *names) addTemp(kind, name, text string) {
	if trigger, ok := strings.CutPrefix(name, carrierView); ok && kind == "view" {
		if t, ok := readTempTrigger(trigger, text); ok {
			n.carried = append(n.carried, t)
			n.temp["trigger:"+fold(trigger)] = true
		}
		return
	}
	if trigger, ok := strings.CutPrefix(name, carrierTrigger); ok && kind == "trigger" {
		for _, t := range n.carried {
			if t.name == trigger {
				t.body = text
			}
		}
		return
	}
	n.temp[kind+":"+fold(name)] = true
	n.triggers = n.triggers || kind == "trigger"
}

// carriedTrigger returns the temporary trigger of a name on a table of the store.
func (n *names) carriedTrigger(name string) *tempTrigger {
	for _, t := range n.carried {
		if sameName(t.name, name) {
			return t
		}
	}
	return nil
}

// createTempTrigger runs CREATE TEMP TRIGGER on a table of the store.
func (c *conn) createTempTrigger(ctx context.Context, p *piece) error {
	err := c.acquire(ctx, toRead)
	if err == nil {
		err = c.loadNames()
	}
	if err == nil {
		err = c.makeTempTrigger(p.Stmt)
	}
	c.names.forget()
	c.tx.temp = c.tx.phase == open
	return c.settle(ctx, err, goesOn)
}

func (c *conn) makeTempTrigger(s *sqltext.Stmt) error {
	text, err := c.tempTriggerText(s)
	if err != nil {
		return err
	}
	name := s.Target.Name
	if c.names.hasTemp(fold(name), "trigger") {
		if s.IfExists() {
			return nil
		}
		return newError("", ErrGeneric, "trigger %s already exists", name)
	}
	if err := refuseHidden(s.Trigger()); err != nil {
		return err
	}
	o := c.mirror.schema.Lookup(s.On().Name)
	if o == nil || o.Table == nil {
		return errNoTable(s.On())
	}
	made, err := c.tempCarrier(&tempTrigger{name: name, table: o.Table.ID, on: o.Name, text: text}, o.Table)
	if err != nil {
		return err
	}
	return c.inOwnSavepoint(made.view.create + "; " + made.body.create)
}

// tempTriggerText has the shadow find out what is wrong with a trigger, and returns
// the text that sqlite_temp_schema shows.
func (c *conn) tempTriggerText(s *sqltext.Stmt) (text string, err error) {
	sh := &c.sh.tables.shadow
	err = sh.use(c.mirror.schema, func() error {
		if err := sh.db.Exec("SAVEPOINT trigger"); err != nil {
			return err
		}
		err := sh.db.Exec(s.Text)
		if err == nil {
			var list [][]row.Value
			list, err = sh.db.Query("SELECT sql FROM temp.sqlite_schema WHERE type='trigger' AND name=?1 COLLATE NOCASE", row.TextValue(s.Target.Name))
			if len(list) == 1 {
				text = list[0][0].Bytes()
			}
		}
		if undone := sh.db.Exec("ROLLBACK TO trigger; RELEASE trigger"); undone != nil {
			return undone
		}
		return err
	})
	return text, err
}

// tempCarrier makes the carrier of a temporary trigger.
func (c *conn) tempCarrier(t *tempTrigger, def *engine.TableDef) (*carrier, error) {
	st := sqltext.Parse(t.text)
	var e sqltext.Edits
	if err := c.retarget(st, c.mirror.schema, &e); err != nil {
		return nil, err
	}
	if err := c.planTrigger(&planning{stmt: st, schema: c.mirror.schema, trigger: fold(t.name), temp: true}, &e); err != nil {
		return nil, err
	}
	made, err := makeCarrier(t.name, "temp", e.Apply(t.text), def)
	if err != nil {
		return nil, err
	}
	note := carrierNote(t.table, t.on, t.text)
	made.view.text = strings.Replace(made.view.text, " AS SELECT ", " AS "+note+" SELECT ", 1)
	made.view.create = strings.Replace(made.view.create, " AS SELECT ", " AS "+note+" SELECT ", 1)
	return made, nil
}

// inOwnSavepoint runs DDL on temp of the driver's own, all of it or nothing.
func (c *conn) inOwnSavepoint(sql string) error {
	return c.own(func() error {
		if err := c.db.Exec("SAVEPOINT " + savepointDDL); err != nil {
			return err
		}
		err := c.db.Exec(sql)
		end := "RELEASE " + savepointDDL
		if err != nil {
			end = "ROLLBACK TO " + savepointDDL + "; " + end
		}
		if ended := c.db.Exec(end); ended != nil {
			return ended
		}
		return err
	})
}

// dropTempTrigger runs DROP TRIGGER of one.
func (c *conn) dropTempTrigger(ctx context.Context, t *tempTrigger) error {
	err := c.acquire(ctx, toRead)
	if err == nil {
		err = c.ownExec("DROP VIEW IF EXISTS temp." + sqltext.Quote(carrierView+t.name))
	}
	c.names.forget()
	c.tx.temp = c.tx.phase == open
	return c.settle(ctx, err, goesOn)
}

// shownTemp is what the connection's temporary triggers were last brought to.
type shownTemp struct {
	schema *engine.Schema
	gen    uint64
}

// showTemp brings the temporary triggers on tables of the store to the schema that
// main shows: those of a dropped table go, and a carrier that would be another one by
// now is made anew. Names must be known.
func (c *conn) showTemp() error {
	if c.shownTemp == (shownTemp{c.mirror.schema, c.names.gen}) {
		return nil
	}
	if len(c.names.carried) == 0 {
		if c.names.firings != nil || c.firing {
			c.names.firings, c.names.fails, c.firing = nil, false, false
			c.db.SetTempTriggers(nil)
		}
		c.shownTemp = shownTemp{c.mirror.schema, c.names.gen}
		return nil
	}
	c.names.fails = false
	firings := new(vtab.Triggers)
	var left []*tempTrigger
	for _, t := range c.names.carried {
		def := c.mirror.schema.Table(t.table)
		if def == nil {
			if err := c.inOwnSavepoint("DROP VIEW temp." + sqltext.Quote(carrierView+t.name)); err != nil {
				return err
			}
			delete(c.names.temp, "trigger:"+fold(t.name))
			c.tempChanged()
			continue
		}
		if def.Name != t.on {
			t.text, t.on = renamedOn(t.text, def.Name), def.Name
		}
		made, err := c.tempCarrier(t, def)
		if err != nil {
			return err
		}
		if made.view.text != t.view || made.body.text != t.body {
			err := c.inOwnSavepoint("DROP VIEW temp." + sqltext.Quote(carrierView+t.name) + "; " + made.view.create + "; " + made.body.create)
			if err != nil {
				return err
			}
			t.view, t.body = made.view.text, made.body.text
			c.tempChanged()
		}
		firings.Add(t.table, made.trigger)
		c.names.fails = c.names.fails || made.fails
		left = append(left, t)
	}
	c.names.carried, c.names.firings, c.firing = left, firings, true
	c.db.SetTempTriggers(firings)
	c.db.DropCarriers()
	c.firingWrites = nil
	c.shownTemp = shownTemp{c.mirror.schema, c.names.gen}
	return nil
}

// tempChanged notes that a rollback changes temp.
func (c *conn) tempChanged() { c.tx.temp = c.tx.temp || c.tx.phase == open }

// renamedOn has a trigger's text name another table as the one it is on.
func renamedOn(text, name string) string {
	st := sqltext.Parse(text)
	var e sqltext.Edits
	if start, end, ok := st.OnSpan(); ok {
		e.Replace(start, end, sqltext.Quote(name))
	}
	return e.Apply(text)
}

// tempSchemaRows are the rows of sqlite_temp_schema that stand for carriers.
func (c *conn) tempSchemaRows() (list [][]row.Value) {
	for _, t := range c.names.carried {
		list = append(list, []row.Value{row.TextValue("trigger"), row.TextValue(t.name), row.TextValue(t.on), row.IntValue(0), row.TextValue(t.text)})
	}
	return slices.Clip(list)
}
