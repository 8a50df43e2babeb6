package driver

import (
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// The names of a carrier, see vtab.Trigger, are the trigger's behind one of these:
// they have a control character, so nobody types them.
const (
	carrierView    = "\x01view "
	carrierTrigger = "\x01trigger "
)

// carrier is a trigger on a table as a connection has it.
type carrier struct {
	trigger *vtab.Trigger
	table   engine.TableID
	fails   bool // it may end a statement with FAIL
	view    mirrored
	body    mirrored

	// What the texts depend on beside the trigger: the table it is on, and those
	// that the body inserts into and updates, in lower case. anew: on more.
	def     *engine.TableDef
	written []string
	updated []string
	anew    bool
}

// schemaTriggers are the triggers on the tables of one schema.
type schemaTriggers struct {
	schema   *engine.Schema
	triggers vtab.Triggers
	carriers map[*engine.Object]*carrier
	fails    bool
}

// Triggers returns the triggers on the tables of a schema.
func (t *tableCache) Triggers(s *engine.Schema) (*vtab.Triggers, error) {
	st, err := t.triggersOf(s)
	if err != nil {
		return nil, err
	}
	return &st.triggers, nil
}

// triggersOf reads the triggers on the tables of a schema. It is kept for the
// schemas asked about last.
func (t *tableCache) triggersOf(s *engine.Schema) (*schemaTriggers, error) {
	t.triggers.Lock()
	defer t.triggers.Unlock()
	for _, k := range t.triggers.kept {
		if k != nil && k.schema == s {
			return k, nil
		}
	}
	st := &schemaTriggers{schema: s}
	before := t.triggers.kept[(t.triggers.next+keptSchemas-1)%keptSchemas]
	var since schemaChanges
	if before != nil && before.carriers != nil {
		since = changesSince(before.schema, s)
	}
	for _, o := range slices.Backward(s.Objects()) { // the newest fires first
		if o.Kind != engine.KindTrigger {
			continue
		}
		on := findObject(s, o.TblName)
		if on == nil || on.Table == nil {
			continue
		}
		var c *carrier
		if before != nil {
			if c = before.carriers[o]; c != nil && (c.def != on.Table || since.concern(c)) {
				c = nil
			}
		}
		if c == nil {
			var err error
			if c, err = t.carrier(o, on.Table, s); err != nil {
				return nil, err
			}
		}
		if st.carriers == nil {
			st.carriers = map[*engine.Object]*carrier{}
		}
		st.carriers[o] = c
		st.triggers.Add(c.table, c.trigger)
		st.fails = st.fails || c.fails
	}
	t.triggers.kept[t.triggers.next] = st
	t.triggers.next = (t.triggers.next + 1) % keptSchemas
	return st, nil
}

// carrier makes the carrier of a trigger of the store.
func (t *tableCache) carrier(o *engine.Object, def *engine.TableDef, s *engine.Schema) (*carrier, error) {
	m, err := (&conn{sh: &shared{tables: t}}).mirroredText(o, s)
	if err != nil {
		return nil, err
	}
	c, err := makeCarrier(o.Name, "main", m.text, def)
	if err != nil {
		return nil, err
	}
	st := sqltext.Parse(o.SQL)
	for _, ins := range st.Inserts() {
		c.written = append(c.written, fold(ins.Target().Name))
	}
	for _, u := range st.Updates() {
		c.written, c.updated = append(c.written, fold(u.Target().Name)), append(c.updated, fold(u.Target().Name))
	}
	c.def = def
	c.anew = st.Mentions&^sqltext.MentionsRowid != 0 || strings.Contains(m.text, vtab.PlanFunction)
	return c, nil
}

// schemaChanges is how a schema differs from one before.
type schemaChanges struct {
	tables   map[string]bool // and views, by name in lower case
	triggers map[string]bool // names of tables that have others
	keys     bool            // a table with foreign keys came, went or changed
}

func changesSince(before, now *engine.Schema) schemaChanges {
	c := schemaChanges{tables: map[string]bool{}, triggers: map[string]bool{}}
	gone, fresh := changedObjects(before, now)
	for _, o := range slices.Concat(gone, fresh) {
		if o.Kind == engine.KindTrigger {
			c.triggers[fold(o.TblName)] = true
			continue
		}
		c.tables[fold(o.Name)] = true
		c.keys = c.keys || o.Table != nil && strings.Contains(strings.ToUpper(o.Table.SQL), "REFERENCES")
	}
	return c
}

// concern reports whether the texts of a carrier may be others after the changes.
func (s *schemaChanges) concern(c *carrier) bool {
	in := func(set map[string]bool, names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return set[name] })
	}
	return len(s.tables) > 0 && c.anew || s.keys && len(c.updated) > 0 || in(s.tables, c.written) || in(s.triggers, c.updated)
}

// makeCarrier makes the carrier of a trigger whose text is ready to run but for
// its head and what it says of OLD and NEW.
func makeCarrier(name, schema, text string, def *engine.TableDef) (*carrier, error) {
	st := sqltext.Parse(text)
	tr := st.Trigger()
	if tr == nil {
		return nil, newError("", ErrInternal, "trigger %s: its text is not a CREATE TRIGGER", name)
	}
	view, body := carrierView+name, carrierTrigger+name
	c := &carrier{table: def.ID, fails: len(tr.Fails) > 0 || tr.FailOr}
	c.trigger = &vtab.Trigger{
		Name: name, Event: eventOf(tr.Event), Before: tr.Before, Ignores: tr.Ignores,
		Carrier: schema + "." + sqltext.Quote(view),
	}
	for _, col := range tr.Of {
		c.trigger.Narrows = true
		if k := ordinal(def, col); k >= 0 && def.Columns[k].Kind != engine.ColumnPlain {
			continue // SET cannot name it
		} else if k >= 0 {
			c.trigger.Of = append(c.trigger.Of, k)
		} else if isRowidName(col) {
			c.trigger.OfRowid = true
		}
	}
	var e sqltext.Edits
	e.Replace(0, tr.HeadEnd, "CREATE TRIGGER "+sqltext.Quote(body)+" INSTEAD OF INSERT ON "+sqltext.Quote(view))
	fields := carrierFields{def: def, trigger: c.trigger}
	if tr.Hidden {
		fields.all()
	} else {
		fields.named(tr, &e)
	}
	for _, m := range tr.Fails {
		e.Insert(m.Start, sqltext.Quote(vtab.FailFunction)+"(")
		e.Insert(m.End, ")")
	}
	if tr.Ignores {
		e.Insert(tr.BodyStart, "SELECT "+sqltext.Quote(vtab.EnterFunction)+"(); ")
		e.Insert(tr.BodyEnd, "; SELECT "+sqltext.Quote(vtab.DoneFunction)+"()")
	}
	bodyText := e.Apply(text)
	viewText := "CREATE VIEW " + sqltext.Quote(view) + " AS SELECT " + fields.list()
	c.view = mirrored{"view", view, view, viewText, inSchema(viewText, schema)}
	c.body = mirrored{"trigger", body, view, bodyText, inSchema(bodyText, schema)}
	return c, nil
}

// inSchema makes of a carrier's text the one that makes it in a schema.
func inSchema(text, schema string) string {
	return strings.Replace(text, ` "`, " "+schema+`."`, 1)
}

func eventOf(word string) vtab.Event {
	switch word {
	case "INSERT":
		return vtab.OnInsert
	case "DELETE":
		return vtab.OnDelete
	}
	return vtab.OnUpdate
}

// isRowidName reports whether a name means the rowid where no column has it.
func isRowidName(name string) bool {
	switch fold(name) {
	case "rowid", "oid", "_rowid_":
		return true
	}
	return false
}

// carrierFields collects the columns of a carrier's view.
type carrierFields struct {
	def      *engine.TableDef
	trigger  *vtab.Trigger
	old, new []string // columns as the view makes them
	known    map[string]bool
}

// named makes a column of each value of OLD and NEW that the trigger names, and
// has it name that. In comparisons OLD and NEW have no affinity, but for the rowid
// and its alias.
func (f *carrierFields) named(tr *sqltext.Trigger, e *sqltext.Edits) {
	f.known = map[string]bool{}
	for _, r := range tr.Refs {
		if r.Old && f.trigger.Event == vtab.OnInsert || !r.Old && f.trigger.Event == vtab.OnDelete {
			continue // SQLite says that there is no such column
		}
		k := ordinal(f.def, r.Name)
		if k < 0 && (f.def.WithoutRowid || !isRowidName(r.Name)) {
			continue
		}
		name := "n:" + fold(r.Name)
		if r.Old {
			name = "o:" + fold(r.Name)
		}
		f.add(name, k, r.Old)
		text := "new." + sqltext.Quote(name)
		if k < 0 || k == f.def.RowidAlias {
			text = "CAST(" + text + " AS INTEGER)"
		}
		e.Replace(r.Start, r.End, text)
	}
}

// all makes a column of each value of NEW, by its own name: a table of the body is
// called old or new, which hides them there.
func (f *carrierFields) all() {
	f.known = map[string]bool{}
	if !f.def.WithoutRowid {
		for _, name := range []string{"rowid", "oid", "_rowid_"} {
			if ordinal(f.def, name) < 0 {
				f.add(name, -1, false)
			}
		}
	}
	for k := range f.def.Columns {
		if col := &f.def.Columns[k]; col.Visible() {
			f.add(col.Name, k, false)
		}
	}
}

func (f *carrierFields) add(name string, k int, old bool) {
	if f.known[name] {
		return
	}
	f.known[name] = true
	text := "NULL"
	if k >= 0 && f.def.Columns[k].Collation != row.Binary {
		text += " COLLATE " + f.def.Columns[k].Collation.String()
	}
	text += " AS " + sqltext.Quote(name)
	if old {
		f.old, f.trigger.Old = append(f.old, text), append(f.trigger.Old, k)
	} else {
		f.new, f.trigger.New = append(f.new, text), append(f.trigger.New, k)
	}
}

func (f *carrierFields) list() string {
	list := slices.Concat(f.old, f.new)
	if len(list) == 0 {
		return "NULL"
	}
	return strings.Join(list, ",")
}
