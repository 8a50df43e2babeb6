package vtab

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// pair runs the same texts on tables of the engine and on tables of SQLite.
type pair struct {
	*fixture
	plain  *Conn
	tables []string
}

func newPair(t testing.TB, ddl string, extra map[string]options) *pair {
	t.Helper()
	p := &pair{fixture: newFixture(t), plain: openPlain(t)}
	if err := p.plain.Exec(ddl); err != nil {
		t.Fatal(err)
	}
	p.create(ddl, extra)
	rows, err := p.plain.Query("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		p.tables = append(p.tables, r[0].Bytes())
	}
	return p
}

// outcome is all that a program sees of a statement.
func outcome(c *Conn, rows [][]row.Value, err error, rejected error) string {
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Code == 1 && rejected != nil {
			errors.As(rejected, &e)
		}
		if e == nil {
			return err.Error()
		}
		return fmt.Sprintf("error %d %s", e.Extended, e.Msg)
	}
	return fmt.Sprintf("changes %d total %d last %d auto %v\n%s", c.Changes(), c.TotalChanges(), c.LastInsertRowid(), c.Autocommit(), show(rows))
}

// same runs one text on both and compares everything.
func (p *pair) same(sql string, args ...row.Value) bool {
	p.t.Helper()
	want, werr := p.plain.Query(sql, args...)
	w := outcome(p.plain, want, werr, nil)
	got, gerr := p.run(sql, args...)
	g := outcome(p.c, got, gerr, p.c.LastError())
	if g != w {
		p.t.Errorf("%s\n tidemark: %s\n sqlite:   %s", sql, g, w)
		return false
	}
	if werr != nil { // what these are after a failure is nobody's promise
		p.c.SetLastInsertRowid(p.plain.LastInsertRowid())
	}
	return p.sameTables(sql)
}

func (p *pair) sameTables(after string) bool {
	p.t.Helper()
	for _, t := range p.tables {
		q := "SELECT * FROM " + quoteName(t)
		want, werr := p.plain.Query(q)
		got, gerr := p.run(q)
		if werr != nil || gerr != nil {
			p.t.Fatal(werr, gerr)
		}
		if show(want) != show(got) {
			p.t.Errorf("after %s: table %s\n tidemark:\n%s sqlite:\n%s", after, t, show(got), show(want))
			return false
		}
	}
	return true
}

// script runs lines one by one.
func (p *pair) script(text string) {
	p.t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !p.same(line) {
			return
		}
	}
}

func TestInsertUpdateDelete(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT COLLATE NOCASE, c REAL, d NUMERIC, e BLOB, f)`, nil)
	p.script(`
		INSERT INTO t VALUES(1, '5', 5, 5, '5.0', x'00', 'x')
		INSERT INTO t(a,b) VALUES('5.5','z'),(NULL,'y'),('abc',1.5)
		INSERT INTO t(id,c) VALUES('10', '1e3'),(11.0, '1e400')
		INSERT INTO t(id) VALUES('abc')
		INSERT INTO t(id) VALUES(1.5)
		INSERT INTO t(id) VALUES(x'31')
		INSERT INTO t(rowid,a) VALUES(20,1)
		INSERT INTO t(a) VALUES(9223372036854775807),('9223372036854775808'),(-0.0),('-0.0'),(1e15),(123456789012345678)
		SELECT rowid, id, typeof(a), typeof(b), typeof(c), typeof(d), typeof(e), typeof(f) FROM t
		UPDATE t SET a=a+1 WHERE id<3
		UPDATE t SET b=7, c='8', f=f||'' WHERE b='Z'
		UPDATE t SET id=id+100 WHERE id>2
		UPDATE t SET id=NULL WHERE id=1
		UPDATE t SET rowid=77 WHERE id=2
		UPDATE t SET id=1 WHERE id=77
		UPDATE t SET id=id
		DELETE FROM t WHERE a IS NULL
		DELETE FROM t WHERE id=1
		DELETE FROM t WHERE id=1
		INSERT INTO t(a) SELECT a FROM t
		INSERT INTO t(id,a) SELECT id+1000000, a FROM t WHERE a>0
		DELETE FROM t
		INSERT INTO t(a) VALUES(1)
		INSERT INTO t(id) VALUES(-5)
		DELETE FROM t WHERE id>0
		INSERT INTO t(a) VALUES(2),(3)
		INSERT INTO t(id) VALUES(9223372036854775806)
		INSERT INTO t(a) VALUES(4)
		UPDATE t SET a=1, b=2 WHERE 0
	`)
}

func TestUpdateOrder(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, u INT UNIQUE)`, nil)
	p.script(`
		INSERT INTO t VALUES(1,1),(2,2),(3,3),(10,10)
		UPDATE t SET id=id+1
		UPDATE t SET id=id-1 WHERE id<4
		UPDATE t SET u=u+1
		UPDATE t SET u=u-1
		UPDATE OR IGNORE t SET id=id+1
		UPDATE OR FAIL t SET u=u+1
		UPDATE OR REPLACE t SET id=id+1
		UPDATE OR REPLACE t SET u=5
		UPDATE t SET id=3, u=3 WHERE u=5
	`)
}

const conflictDDL = `CREATE TABLE t(id INTEGER PRIMARY KEY, a INT UNIQUE, b TEXT NOT NULL, c INT, d INT CHECK(d>0), UNIQUE(c,b));
	CREATE TABLE s(id INTEGER PRIMARY KEY, a, b)`

var conflictExtra = map[string]options{"t": {checks: []Check{{Name: "d>0", Expr: "d>0", Columns: []int{4}}}}}

func TestConflictModes(t *testing.T) {
	for _, or := range []string{"", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK"} {
		for _, in := range []string{"", "BEGIN"} {
			p := newPair(t, conflictDDL, conflictExtra)
			p.script("INSERT INTO t VALUES(1,1,'x',1,1),(2,2,'y',2,2),(3,3,'z',3,3)\nINSERT INTO s VALUES(1,1,'p'),(2,50,NULL),(3,3,'q'),(4,60,'r')\n" + in)
			for _, sql := range []string{
				"INSERT %s INTO t VALUES(9,9,'q',9,9),(1,10,'w',10,10),(11,11,'v',11,11)",
				"INSERT %s INTO t VALUES(12,1,'w',10,10)",
				"INSERT %s INTO t VALUES(13,13,NULL,13,13)",
				"INSERT %s INTO t VALUES(14,14,'e',14,-1)",
				"INSERT %s INTO t VALUES(15,15,'e',14,NULL)",
				"INSERT %s INTO t VALUES(2,3,'x',1,1)",
				"INSERT %s INTO t VALUES('bad',1,NULL,1,-1)",
				"INSERT %s INTO t(a,b,c,d) SELECT a,b,id,a FROM s",
				"UPDATE %s t SET a=2 WHERE id=3",
				"UPDATE %s t SET id=2, a=3 WHERE id=1",
				"UPDATE %s t SET b=NULL WHERE id>1",
				"UPDATE %s t SET d=d-2",
				"UPDATE %s t SET c=1, b='x'",
				"UPDATE %s t SET c=5, b='X' WHERE id IN (1,2,3)",
			} {
				if !p.same(fmt.Sprintf(sql, or)) {
					break
				}
			}
			if !p.plain.Autocommit() {
				p.same("COMMIT")
			}
		}
	}
}

func TestSchemaConflictClauses(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY ON CONFLICT REPLACE, a INT UNIQUE ON CONFLICT IGNORE, b TEXT DEFAULT 'dflt' NOT NULL ON CONFLICT REPLACE,
		c INT UNIQUE ON CONFLICT REPLACE, d INT NOT NULL ON CONFLICT IGNORE)`, map[string]options{"t": {
		key: Replace, indexes: map[string]Conflict{"sqlite_autoindex_t_1": Ignore, "sqlite_autoindex_t_2": Replace},
		notNull: map[string]Conflict{"b": Replace, "d": Ignore}, defaults: map[string]string{"b": "'dflt'"},
	}})
	p.script(`
		INSERT INTO t VALUES(1,1,'x',1,1),(2,2,NULL,2,2)
		INSERT INTO t VALUES(1,3,'again',3,3)
		INSERT INTO t VALUES(4,2,'ignored',4,4)
		INSERT INTO t VALUES(5,5,'c replaces',3,5),(6,6,'d null',6,NULL),(7,7,'x',7,7)
		INSERT OR FAIL INTO t VALUES(8,7,'x',8,8)
		INSERT OR IGNORE INTO t VALUES(7,8,'x',8,8)
		UPDATE t SET a=2
		UPDATE t SET c=2
		UPDATE t SET b=NULL
		UPDATE t SET id=id+1
		SELECT changes()
	`)
}

func TestStrictTables(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, c REAL, d BLOB, e ANY, f INTEGER UNIQUE) STRICT;
		CREATE TABLE k(a INT, b INT, CHECK(b > 0)) STRICT`, map[string]options{"k": {checks: []Check{{Name: "b > 0", Expr: "b > 0"}}}})
	p.script(`
		INSERT INTO t VALUES(1,'5',5,5,x'00','5',1)
		INSERT INTO t VALUES(2,'x',5,5,x'00','5',2)
		INSERT INTO t VALUES(2,5,5,'x',x'00','5',2)
		INSERT INTO t VALUES(2,5,5,5,'x','5',2)
		INSERT INTO t VALUES(2,5,x'00',5,x'00','5',2)
		INSERT INTO t VALUES(2,5.5,'t',5,x'00','5',2)
		INSERT OR IGNORE INTO t VALUES(2,'x',5,5,x'00','5',2)
		INSERT OR FAIL INTO t VALUES(2,2,2,2,x'00',2,2),(3,'x',5,5,x'00','5',3)
		INSERT OR IGNORE INTO t VALUES(1,'x',5,5,x'00','5',2)
		INSERT OR REPLACE INTO t VALUES(5,'x',5,5,x'00','5',1)
		INSERT INTO t VALUES(3,NULL,NULL,NULL,NULL,NULL,NULL)
		SELECT typeof(e) FROM t
		UPDATE t SET a='y' WHERE id=1
		UPDATE OR IGNORE t SET a='y'
		INSERT OR IGNORE INTO k VALUES('x',-1)
		INSERT OR IGNORE INTO k VALUES(1,-1)
		INSERT INTO k VALUES(1,1)
	`)
}

func TestWithoutRowid(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(a TEXT COLLATE NOCASE, b INT, c INT UNIQUE, PRIMARY KEY(a, b DESC)) WITHOUT ROWID;
		CREATE TABLE u(k INTEGER PRIMARY KEY, v) WITHOUT ROWID`, nil)
	p.script(`
		INSERT INTO t VALUES('b',1,1),('a',1,2),('a',2,3),('B',2,4)
		INSERT INTO t VALUES('A',1,5)
		INSERT INTO t VALUES(NULL,1,5)
		INSERT INTO t VALUES('c',NULL,5)
		INSERT OR REPLACE INTO t VALUES('A',1,5)
		INSERT OR IGNORE INTO t VALUES('A',1,6)
		SELECT * FROM t WHERE a='a'
		SELECT * FROM t WHERE a='B' AND b=2
		SELECT * FROM t WHERE a>'a'
		SELECT * FROM t ORDER BY a DESC, b
		UPDATE t SET b=b+1
		UPDATE t SET a='z' WHERE c=1
		DELETE FROM t WHERE a='Z'
		INSERT INTO u VALUES(5,1),(3,2),('4',3)
		INSERT INTO u VALUES('x',3)
		SELECT * FROM u WHERE k=4
		INSERT INTO u VALUES(NULL,3)
	`)
}

func TestAutoincrement(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a INT UNIQUE); CREATE TABLE u(id INTEGER PRIMARY KEY AUTOINCREMENT, b)`,
		map[string]options{"t": {autoinc: true}, "u": {autoinc: true}})
	seq := func() {
		t.Helper()
		want, err := p.plain.Query("SELECT name, seq FROM sqlite_sequence ORDER BY name")
		if err != nil {
			t.Fatal(err)
		}
		view := p.store.Head().Table(p.store.Head().Schema().Lookup(sequenceTable).Table.ID)
		var got [][]row.Value
		for id := int64(1); id < 10; id++ {
			if rec, ok, _ := view.Get(id); ok {
				got = append(got, []row.Value{rec.Column(0), rec.Column(1)})
			}
		}
		if show(got) != show(want) {
			t.Errorf("sqlite_sequence\n%s want\n%s", show(got), show(want))
		}
	}
	for _, sql := range []string{
		"INSERT INTO t(a) VALUES(1),(2)",
		"DELETE FROM t WHERE id=2",
		"INSERT INTO t(a) VALUES(3)",
		"INSERT INTO t VALUES(10,10)",
		"INSERT INTO t VALUES(-1,11)",
		"INSERT INTO t(a) VALUES(12)",
		"INSERT OR IGNORE INTO t(a) VALUES(12),(13)",
		"INSERT INTO t(a) VALUES(12)",
		"INSERT INTO t(a) VALUES(14)",
		"INSERT OR REPLACE INTO t(a) VALUES(14)",
		"BEGIN; INSERT INTO t(a) VALUES(20); ROLLBACK",
		"INSERT INTO t(a) VALUES(21)",
		"INSERT INTO t(a) SELECT a+100 FROM t",
		"UPDATE t SET id=1000 WHERE a=1",
		"INSERT INTO t(a) VALUES(22)",
		"INSERT INTO u VALUES(5,5)",
		"INSERT INTO u(b) VALUES(6)",
		"INSERT INTO u VALUES(9223372036854775807,1)",
		"INSERT INTO u(b) VALUES(7)",
	} {
		if !p.same(sql) {
			break
		}
		seq()
	}
}

func TestUpdateFromAndWideTables(t *testing.T) {
	var cols, vals []string
	for i := range 100 {
		cols = append(cols, fmt.Sprintf("c%d", i))
		vals = append(vals, fmt.Sprint(i))
	}
	p := newPair(t, "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b); CREATE TABLE s(id INTEGER PRIMARY KEY, x);"+
		"CREATE TABLE wide(id INTEGER PRIMARY KEY,"+strings.Join(cols, ",")+"); CREATE INDEX wide_c ON wide(c90, c70)", nil)
	p.script(`
		INSERT INTO t VALUES(1,1,1),(2,2,2),(3,3,3)
		INSERT INTO s VALUES(1,10),(3,30),(4,40)
		UPDATE t SET b=s.x FROM s WHERE s.id=t.id
		UPDATE t SET a=a+1, b=(SELECT max(x) FROM s) FROM s WHERE s.id=t.id AND s.x>10
		UPDATE t SET id=s.x FROM s WHERE s.id=t.id
		WITH q AS (SELECT id AS i FROM s WHERE x>10) UPDATE t SET b='q' WHERE id IN (SELECT i FROM q) OR a=1
		WITH q AS (SELECT id AS i, x FROM s) INSERT INTO t SELECT i+100, x, NULL FROM q ORDER BY i
		DELETE FROM t WHERE a IN (SELECT x FROM s WHERE x<40)
		REPLACE INTO t VALUES(1,2,3),(1,3,4),(5,3,4)
	`)
	p.same("INSERT INTO wide VALUES(1," + strings.Join(vals, ",") + "),(2," + strings.Join(vals, ",") + ")")
	p.script(`
		UPDATE wide SET c99='x', c3=c98 WHERE id=2
		SELECT c99, c98, c3, c64, c63 FROM wide WHERE c90=90 AND c70=70
		UPDATE wide SET c70=c70+id WHERE c90='90'
		SELECT id FROM wide WHERE c90=90 AND c70>71
		SELECT * FROM wide WHERE c90=90 ORDER BY c70 DESC
	`)
}
