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
	return nil
}

func (c *conn) showSchema(s *engine.Schema) error {
	if err := c.readMirror(); err != nil {
		return err
	}
	want, err := c.wanted(s)
	if err != nil {
		return err
	}
	texts := make(map[string]string, len(want))
	for _, m := range want {
		texts[m.key()] = m.text
	}
	for _, prefix := range [...]string{"trigger:", "view:", "table:"} {
		for key, text := range c.mirror.have {
			if strings.HasPrefix(key, prefix) && texts[key] != text {
				if err := c.dropMirrored(key); err != nil {
					return err
				}
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

// wanted lists what main must show: tables, then views, then triggers.
func (c *conn) wanted(s *engine.Schema) ([]mirrored, error) {
	list := make([]mirrored, 0, len(s.Objects()))
	for _, o := range s.Objects() {
		if o.Table != nil {
			create := c.db.CreateSQL(o.Name, o.Table.ID, c.sh.tables.entry(o.Table).serial)
			text := strings.Replace(create, " main.", " ", 1)
			list = append(list, mirrored{"table", o.Name, o.Name, text, create})
		}
	}
	for _, kind := range [...]engine.ObjectKind{engine.KindView, engine.KindTrigger} {
		for _, o := range s.Objects() {
			if o.Kind != kind {
				continue
			}
			m, err := c.mirroredText(o, s)
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		}
	}
	return list, nil
}

// mirroredText is a view or trigger as main shows it: it reads tidemark_schema
// for sqlite_schema, and the INSERTs of a trigger have their defaults.
func (c *conn) mirroredText(o *engine.Object, s *engine.Schema) (mirrored, error) {
	st := sqltext.Parse(o.SQL)
	var e sqltext.Edits
	if err := c.retarget(st, s, &e); err != nil {
		return mirrored{}, err
	}
	if err := c.spliceDefaults(st, s, &e); err != nil {
		return mirrored{}, err
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
	last := c.db.LastInsertRowid()
	defer c.db.SetLastInsertRowid(last)
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
