package driver

import (
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
)

// mirror is what the connection's main database shows of the engine's schema:
// a virtual table for each table, and the views and their triggers.
//
// It is a function of the schema. Instead of following what transactions do and
// undo, it is compared with what is wanted: have is read back from main after
// every rollback that may have changed it.
type mirror struct {
	schema *engine.Schema    // what main shows; nil when that must be compared
	have   map[string]string // text as in sqlite_schema, by "kind:name"; nil when unknown
	gen    uint64            // grows with every change
}

func (m *mirror) forget() { m.schema, m.have = nil, nil }

// bulkMirror is the number of new objects from which on they are entered into
// sqlite_schema directly: a CREATE each costs more the more there are.
const bulkMirror = 12

// mirrored is one object as main shows it.
type mirrored struct {
	kind, name, table string
	text              string // as sqlite_schema has it
	create            string // statement that makes it
}

func (m mirrored) key() string { return m.kind + ":" + fold(m.name) }

// refresh brings main to a schema.
func (c *conn) refresh(s *engine.Schema) error {
	if c.mirror.schema == s {
		return nil
	}
	err := c.own(func() error { return c.showSchema(s) })
	if err != nil {
		c.mirror.forget()
		return err
	}
	c.mirror.schema = s
	c.mirror.gen++
	c.db.DropCarriers()
	c.firingWrites = nil
	if c.names.known {
		return c.showTemp()
	}
	return nil
}

func (c *conn) showSchema(s *engine.Schema) error {
	want, gone, err := c.mirrorChange(s)
	if err != nil {
		return err
	}
	for _, prefix := range [...]string{"trigger:", "view:", "table:"} {
		for _, key := range gone {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if err := c.dropMirrored(key); err != nil {
				return err
			}
		}
	}
	missing := want[:0]
	for _, m := range want {
		if c.mirror.have[m.key()] != m.text {
			missing = append(missing, m)
		}
	}
	if len(missing) >= bulkMirror && c.db.ActiveStatements() == 0 && c.db.Autocommit() {
		err = c.enterMirrored(missing)
	} else {
		err = c.createMirrored(missing)
	}
	for _, m := range missing {
		c.mirror.have[m.key()] = m.text
	}
	return err
}

// mirrorChange lists what main must show and what it shows and must not. When it
// is known to show another schema, that is what differs between the two, and the
// triggers: their texts depend on the tables they write to.
func (c *conn) mirrorChange(s *engine.Schema) (want []mirrored, gone []string, err error) {
	if c.mirror.schema != nil && c.mirror.have != nil {
		left, fresh := changedObjects(c.mirror.schema, s)
		if want, err = c.wanted(fresh, s.Objects(), s); err != nil {
			return nil, nil, err
		}
		for _, o := range left {
			gone = append(gone, o.Kind.String()+":"+fold(o.Name))
			if o.Kind == engine.KindTrigger {
				gone = append(gone, "view:"+fold(carrierView+o.Name))
			}
		}
		for _, m := range want {
			if have, ok := c.mirror.have[m.key()]; ok && have != m.text {
				gone = append(gone, m.key())
			}
		}
		return want, gone, nil
	}
	if err := c.readMirror(); err != nil {
		return nil, nil, err
	}
	if want, err = c.wanted(s.Objects(), s.Objects(), s); err != nil {
		return nil, nil, err
	}
	texts := make(map[string]string, len(want))
	for _, m := range want {
		texts[m.key()] = m.text
	}
	for key, text := range c.mirror.have {
		if texts[key] != text {
			gone = append(gone, key)
		}
	}
	return want, gone, nil
}

// readMirror finds out what main holds.
func (c *conn) readMirror() error {
	if c.mirror.have != nil {
		return nil
	}
	list, err := c.db.Query("SELECT type, name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		return err
	}
	c.mirror.have = make(map[string]string, len(list))
	for _, r := range list {
		c.mirror.have[r[0].Bytes()+":"+fold(r[1].Bytes())] = r[2].Bytes()
	}
	return nil
}

// wanted lists how main shows objects, tables and views among some, and all
// triggers.
func (c *conn) wanted(some, all []*engine.Object, s *engine.Schema) ([]mirrored, error) {
	list := make([]mirrored, 0, len(some))
	for _, o := range some {
		if o.Table != nil {
			create := c.db.CreateSQL(o.Name, o.Table.ID, c.sh.tables.entry(o.Table).serial)
			text := strings.Replace(create, " main.", " ", 1)
			list = append(list, mirrored{"table", o.Name, o.Name, text, create})
		}
	}
	add := func(objects []*engine.Object, kind engine.ObjectKind) error {
		for _, o := range objects {
			if o.Kind != kind {
				continue
			}
			m, err := c.mirroredText(o, s)
			if err != nil {
				return err
			}
			list = append(list, m)
		}
		return nil
	}
	if err := add(some, engine.KindView); err != nil {
		return nil, err
	}
	on, err := c.sh.tables.triggersOf(s)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.Kind != engine.KindTrigger {
			continue
		}
		if carrier := on.carriers[o]; carrier != nil {
			list = append(list, carrier.view, carrier.body)
			continue
		}
		m, err := c.mirroredText(o, s)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// mirroredText is a view or trigger as main shows it: it reads tidemark_schema
// for sqlite_schema, and the INSERTs of a trigger have their defaults.
func (c *conn) mirroredText(o *engine.Object, s *engine.Schema) (mirrored, error) {
	st := sqltext.Parse(o.SQL)
	var e sqltext.Edits
	c = &conn{sh: c.sh} // its names mean the store's objects, whatever the connection has
	if err := c.retarget(st, s, &e); err != nil {
		return mirrored{}, err
	}
	if o.Kind == engine.KindTrigger {
		if err := c.planTrigger(&planning{stmt: st, schema: s, trigger: fold(o.Name)}, &e); err != nil {
			return mirrored{}, err
		}
	}
	text := e.Apply(o.SQL)
	return mirrored{o.Kind.String(), o.Name, o.TblName, text, st.InMain(&e)}, nil
}

// dropMirrored drops an object, unless it went with another.
func (c *conn) dropMirrored(key string) error {
	kind, name, _ := cutKey(key)
	if _, ok := c.mirror.have[key]; !ok {
		return nil
	}
	sql := "DROP " + kind + " IF EXISTS main." + sqltext.Quote(name)
	if name == sequenceTable {
		sql = "PRAGMA writable_schema=ON; DELETE FROM main.sqlite_schema WHERE name='sqlite_sequence'; PRAGMA writable_schema=RESET"
	}
	if err := c.db.Exec(sql); err != nil {
		return err
	}
	delete(c.mirror.have, key)
	if trigger, ok := strings.CutPrefix(name, fold(carrierView)); ok {
		delete(c.mirror.have, "trigger:"+carrierTrigger+trigger)
		return nil
	}
	if kind == "view" { // its triggers went with it
		c.mirror.have = nil
		return c.readMirror()
	}
	return nil
}

func (c *conn) createMirrored(list []mirrored) error {
	for _, m := range list {
		sql := m.create
		if fold(m.name) == sequenceTable { // a reserved name
			sql = "PRAGMA writable_schema=ON; " + sql + "; PRAGMA writable_schema=OFF"
		}
		if err := c.db.Exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// enterMirrored writes the rows of sqlite_schema that the CREATEs would write,
// and has SQLite read the schema again.
func (c *conn) enterMirrored(list []mirrored) error {
	defer c.db.KeepChanges()()
	var b strings.Builder
	b.WriteString("PRAGMA writable_schema=ON; BEGIN; INSERT INTO main.sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES")
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("('" + m.kind + "'," + sqltext.QuoteText(m.name) + "," + sqltext.QuoteText(m.table) + ",0," + sqltext.QuoteText(m.text) + ")")
	}
	b.WriteString("; COMMIT; PRAGMA writable_schema=RESET")
	return c.db.Exec(b.String())
}
