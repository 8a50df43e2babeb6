package vtab

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// withPasts makes the fixture's states of now readable under names.
func (f *fixture) withPasts() (mark func(name string)) {
	states := map[string]*engine.Snapshot{}
	f.c.OnPast = func(name string) (*engine.Snapshot, error) {
		if s := states[name]; s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("no such branch point: %s", name)
	}
	return func(name string) {
		f.settle()
		states[name] = f.store.Head()
	}
}

// pastCase is a query over t('a') and what it must equal: the same one over a copy
// of the table, tA, that was made when a was.
var pastQueries = []string{
	"SELECT * FROM %[1]s",
	"SELECT *, rowid FROM %[1]s ORDER BY rowid",
	"SELECT * FROM %[1]s ORDER BY rowid DESC LIMIT 3",
	"SELECT count(*), sum(n), min(n), max(n), min(s), max(s), min(id), max(id) FROM %[1]s",
	"SELECT min(n) FROM %[1]s", "SELECT max(n) FROM %[1]s", "SELECT min(s) FROM %[1]s WHERE n>3", "SELECT max(id) FROM %[1]s WHERE n<4",
	"SELECT min(id) FROM %[1]s", "SELECT max(id) FROM %[1]s",
	"SELECT * FROM %[1]s WHERE id=3", "SELECT * FROM %[1]s WHERE id IN (5,2,99,2) ORDER BY id", "SELECT * FROM %[1]s WHERE id BETWEEN 2 AND 7 ORDER BY id DESC",
	"SELECT * FROM %[1]s WHERE n=4 ORDER BY id", "SELECT * FROM %[1]s WHERE n>2 AND n<=6 ORDER BY n, id", "SELECT * FROM %[1]s WHERE n IN (1,4) ORDER BY id",
	"SELECT n FROM %[1]s WHERE n>1 ORDER BY n DESC", "SELECT DISTINCT n FROM %[1]s ORDER BY n", "SELECT n, count(*) FROM %[1]s GROUP BY n",
	"SELECT * FROM %[1]s WHERE s='b' ORDER BY id", "SELECT * FROM %[1]s WHERE s='B' COLLATE NOCASE ORDER BY id", "SELECT s FROM %[1]s ORDER BY s, id",
	"SELECT * FROM %[1]s WHERE s LIKE 'a%%' ORDER BY id", "SELECT * FROM %[1]s WHERE u=7", "SELECT * FROM %[1]s WHERE u>3 ORDER BY u",
	"SELECT * FROM %[1]s WHERE n=2 OR s='c' OR u=5 ORDER BY id", "SELECT * FROM %[1]s WHERE n IS NULL ORDER BY id", "SELECT * FROM %[1]s WHERE (n,s)=(1,'a') ORDER BY id",
	"SELECT * FROM %[1]s WHERE (id,n)>(3,2) ORDER BY id",
	"SELECT x.id, y.id FROM %[1]s x JOIN %[1]s y ON x.n=y.u ORDER BY 1,2", "SELECT x.id, y.id FROM %[1]s x LEFT JOIN %[1]s y ON x.n=y.n AND y.id>x.id ORDER BY 1,2",
	"SELECT x.id, y.id FROM %[1]s x LEFT JOIN %[1]s y ON y.id=x.n ORDER BY 1,2",
	"SELECT x.id, y.id FROM t x JOIN %[1]s y ON x.s=y.s AND x.n<>y.n ORDER BY 1,2",
	"SELECT x.id, y.id FROM %[1]s x JOIN t y USING (u) ORDER BY 1,2",
	"SELECT count(*) FROM %[1]s x NATURAL JOIN t", "SELECT id FROM t WHERE u IN (SELECT u FROM %[1]s) ORDER BY id",
	"SELECT id, (SELECT count(*) FROM %[1]s y WHERE y.n=t.n) FROM t ORDER BY id",
	"SELECT id FROM t EXCEPT SELECT id FROM %[1]s ORDER BY 1", "SELECT * FROM %[1]s EXCEPT SELECT * FROM t ORDER BY 1",
	"SELECT id FROM %[1]s x WHERE EXISTS (SELECT 1 FROM t WHERE t.id=x.n) ORDER BY id",
	"WITH w AS (SELECT * FROM %[1]s WHERE n>1) SELECT a.id, b.id FROM w a JOIN w b ON a.n=b.n ORDER BY 1,2",
	"SELECT x.id FROM %[1]s AS x RIGHT JOIN t ON x.u=t.u ORDER BY t.id",
	"SELECT id, row_number() OVER (ORDER BY n, id) FROM %[1]s ORDER BY id",
}

// TestPast reads an old state in all ways a plan has, with the indexes it had, with
// ones that are younger, and without those dropped since.
func TestPast(t *testing.T) {
	for _, table := range []struct{ name, ddl string }{
		{"rowid", "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, s TEXT COLLATE NOCASE, u INT UNIQUE)"},
		{"key", "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, s TEXT COLLATE NOCASE, u INT UNIQUE) WITHOUT ROWID"},
	} {
		for _, index := range []string{"kept", "younger", "dropped", "off"} {
			t.Run(table.name+"/"+index, func(t *testing.T) { testPast(t, table.ddl, index) })
		}
	}
}

func testPast(t *testing.T, ddl, index string) {
	f := newFixture(t)
	mark := f.withPasts()
	f.c.PushdownOff = index == "off"
	f.create(ddl, nil)
	id := f.store.Head().Schema().Lookup("t").Table.ID
	indexes := func() {
		for i, cols := range [][]engine.IndexColumn{{{Column: 1}}, {{Column: 2, Collation: row.NoCase}, {Column: 1, Desc: true}}} {
			f.apply(engine.CreateIndex{Table: id, Index: &engine.IndexDef{Name: fmt.Sprint("i", i), SQL: "CREATE INDEX", Origin: "c", Columns: cols}})
		}
		f.mirror()
	}
	if index != "younger" {
		indexes()
	}
	f.exec("CREATE TEMP TABLE past(id INTEGER PRIMARY KEY, n INT, s TEXT COLLATE NOCASE, u INT UNIQUE)")
	f.exec("INSERT INTO t VALUES(1,1,'a',1),(2,4,'B',2),(3,2,'c',3),(4,4,'a',4),(5,NULL,'b',5),(6,6,NULL,6),(7,2,'abc',7),(8,1,'A',8)")
	f.exec("INSERT INTO temp.past SELECT * FROM t")
	mark("a")
	f.exec("DELETE FROM t WHERE id IN (2,7); UPDATE t SET n=n+1, s='z'||s WHERE id<6; INSERT INTO t VALUES(10,4,'b',10),(11,1,'a',7)")
	switch index {
	case "younger":
		indexes()
	case "dropped":
		for _, ix := range slices.Clone(f.store.Head().Schema().Table(id).Indexes) {
			if ix.Origin == "c" {
				f.apply(engine.DropIndex{Table: id, Index: ix.ID})
			}
		}
		f.mirror()
	}
	for _, q := range pastQueries {
		if strings.Contains(q, "rowid") && strings.Contains(ddl, "WITHOUT") {
			continue
		}
		want, err := f.run(fmt.Sprintf(q, "past"))
		if err != nil {
			t.Fatal(q, err)
		}
		have, err := f.run(fmt.Sprintf(q, "t('a')"))
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		if show(have) != show(want) {
			t.Errorf("%s\n%s\nwant\n%s", q, show(have), show(want))
		}
		// The argument as a parameter, and as a column of another table.
		have, err = f.run(fmt.Sprintf(q, "t(?1)"), row.TextValue("a"))
		if err != nil || show(have) != show(want) {
			t.Errorf("with a parameter: %s\n%s %v\nwant\n%s", q, show(have), err, show(want))
		}
	}
	for _, c := range [][2]string{
		{"SELECT p.name, count(*) FROM (SELECT 'a' AS name) p, t(p.name) GROUP BY 1", "a|8"},
		{"SELECT count(*) FROM t", "8"},
		{"BEGIN; DELETE FROM t; SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM t('a')), (SELECT max(u) FROM t('a')), (SELECT n FROM t('a') WHERE id=2)", "0|8|8|4"},
		{"ROLLBACK; INSERT INTO t SELECT id+100, n, s, u+100 FROM t('a') WHERE id<3 ORDER BY id; SELECT count(*), (SELECT count(*) FROM t('a')) FROM t", "10|8"},
	} {
		rows, err := f.run(c[0])
		if err != nil || show(rows) != show([][]row.Value{texts(c[1])}) {
			t.Errorf("%s: %s %v, want %s", c[0], show(rows), err, c[1])
		}
	}
}

// texts reads a line of cells, numbers where they look like some.
func texts(line string) (vals []row.Value) {
	for cell := range strings.SplitSeq(line, "|") {
		n := int64(0)
		if _, err := fmt.Sscan(cell, &n); err == nil {
			vals = append(vals, row.IntValue(n))
		} else {
			vals = append(vals, row.TextValue(cell))
		}
	}
	return vals
}

// TestPastRefused: what cannot be read as of a branch point is refused by name.
func TestPastRefused(t *testing.T) {
	f := newFixture(t)
	mark := f.withPasts()
	f.create("CREATE TABLE t(a INT, b TEXT)", nil)
	f.exec("INSERT INTO t VALUES(1,'x')")
	mark("bp")
	f.create("CREATE TABLE young(a)", nil)
	vol := readDDL(t, "CREATE TABLE vol(a)", nil)[0]
	vol.Durable = false
	f.apply(engine.CreateTable{Def: vol})
	f.mirror()
	for sql, want := range map[string]string{
		"SELECT * FROM t('nope')":                                 "no such branch point: nope",
		"SELECT * FROM t(NULL)":                                   "named by a text",
		"SELECT * FROM t(7)":                                      "named by a text",
		"SELECT * FROM t(-5)":                                     "named by a text",
		"SELECT * FROM t(x'6270')":                                "named by a text",
		"SELECT * FROM t('bp', 'bp')":                             "too many arguments on t() - max 1",
		"SELECT * FROM young('bp')":                               "no such table: young('bp')",
		"SELECT * FROM vol('bp')":                                 "volatile",
		"DELETE FROM t('bp')":                                     "syntax error",
		"UPDATE t('bp') SET a=1":                                  "syntax error",
		"INSERT INTO t('bp') VALUES(1)":                           "",
		"SELECT * FROM t('bp') x JOIN t(x.b) y ON y.a=x.a":        "no such branch point: x",
		"SELECT * FROM t(y.b) x JOIN t(x.b) y":                    "no query solution",
		"SELECT * FROM t x WHERE EXISTS (SELECT 1 FROM t(x.b) y)": "no such branch point: x",
	} {
		if _, err := f.run(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
	if rows, err := f.run("SELECT * FROM t('bp')"); err != nil || len(rows) != 1 {
		t.Error(show(rows), err)
	}
}

// TestPastOpenedOnce: however often a statement comes back to a table, a branch
// point is opened once, and again for the next statement.
func TestPastOpenedOnce(t *testing.T) {
	f := newFixture(t)
	mark := f.withPasts()
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a INT)", nil)
	f.exec("INSERT INTO t VALUES(1,2),(2,3),(3,1)")
	mark("bp")
	opened, open := 0, f.c.OnPast
	f.c.OnPast = func(name string) (*engine.Snapshot, error) { opened++; return open(name) }
	f.c.SetSnapshot(nil)
	rows, err := f.run("SELECT x.id, y.id, z.id FROM t('bp') x JOIN t('bp') y ON y.id=x.a JOIN t('bp') z ON z.a=y.id ORDER BY 1")
	if err != nil || len(rows) != 3 || opened != 1 {
		t.Errorf("%s %v, opened %d times", show(rows), err, opened)
	}
	f.c.SetSnapshot(nil)
	if _, err := f.run("SELECT * FROM t('bp')"); err != nil || opened != 2 {
		t.Errorf("%v, opened %d times", err, opened)
	}
}

// TestMatchColumns: columns are matched by their ids.
func TestMatchColumns(t *testing.T) {
	col := func(id uint32, name, typ string) engine.Column {
		return engine.Column{ID: id, Name: name, DeclType: typ, Affinity: row.AffinityOf(typ)}
	}
	table := func(cols ...engine.Column) *engine.TableDef {
		return &engine.TableDef{Name: "t", Columns: cols, RowidAlias: -1}
	}
	nocase := col(2, "b", "TEXT")
	nocase.Collation = row.NoCase
	aliased := table(col(1, "a", "INTEGER"))
	aliased.RowidAlias = 0
	keyed := table(col(1, "a", "INT"))
	keyed.WithoutRowid = true
	old := table(col(1, "a", "INT"), col(2, "b", "TEXT"))
	for _, c := range []struct {
		name, want string
		def        *engine.TableDef
	}{
		{"same", "[]", table(col(1, "a", "INT"), col(2, "b", "TEXT"))},
		{"renamed", "[]", table(col(1, "z", "int"), col(2, "y", "TEXT"))},
		{"added", "[0 1 -1]", table(col(1, "a", "INT"), col(2, "b", "TEXT"), col(3, "c", ""))},
		{"dropped", "[1]", table(col(2, "b", "TEXT"))},
		{"dropped and added under its name", "[-1 1]", table(col(3, "a", "INT"), col(2, "b", "TEXT"))},
		{"type", `the type of column b has changed since, from "TEXT" to "INT"`, table(col(1, "a", "INT"), col(2, "b", "INT"))},
		{"collation", "the collation of column b has changed since", table(col(1, "a", "INT"), nocase)},
		{"alias", "type of column a has changed", aliased},
		{"key", "its key has changed", keyed},
	} {
		match, err := matchColumns(c.def, old)
		have := fmt.Sprint(match)
		if err != nil {
			have = err.Error()
		}
		if have != c.want && (err == nil || !strings.Contains(have, c.want)) {
			t.Errorf("%s: %s, want %s", c.name, have, c.want)
		}
	}
}

// TestHiddenColumnGivesWay: the column through which SQLite passes the argument is nowhere
// to be seen, and gives way to a column of the same name.
func TestHiddenColumnGivesWay(t *testing.T) {
	f := newFixture(t)
	mark := f.withPasts()
	f.create("CREATE TABLE t(a, \"\x01tm\", \"\x01\x01TM\")", nil)
	f.exec("INSERT INTO t VALUES(1,2,3)")
	mark("bp")
	f.exec("UPDATE t SET a=4")
	for q, want := range map[string]string{
		"SELECT * FROM t": "4|2|3", "SELECT * FROM t('bp')": "1|2|3", "SELECT \"\x01tm\" FROM t('bp')": "2",
		"SELECT count(*) FROM t('bp') NATURAL JOIN t": "0", "SELECT count(*) FROM t('bp') JOIN t USING (\"\x01tm\")": "1",
	} {
		if rows, err := f.run(q); err != nil || show(rows) != show([][]row.Value{texts(want)}) {
			t.Errorf("%q: %s %v, want %s", q, show(rows), err, want)
		}
	}
}
