package vtab

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var seedFlag = flag.Uint64("vtab.seed", 0, "run TestRandomPrograms with this seed only")

const randomDDL = `
	CREATE TABLE t(id INTEGER PRIMARY KEY, a INT UNIQUE, b TEXT COLLATE NOCASE, c REAL, d, UNIQUE(b, d));
	CREATE TABLE w(k TEXT, n INT NOT NULL, v, PRIMARY KEY(k, n DESC)) WITHOUT ROWID;
	CREATE TABLE u(x, y INT NOT NULL DEFAULT 7, CHECK(y < 50));
	CREATE INDEX t_c ON t(c, a DESC);
	CREATE INDEX u_x ON u(x);
	CREATE INDEX u_yx ON u(y DESC, x COLLATE NOCASE)`

var randomExtra = map[string]options{"u": {
	checks: []Check{{Name: "y < 50", Expr: "y < 50"}}, defaults: map[string]string{"y": "7"},
}}

// TestRandomPrograms runs random programs of changes, transactions, savepoints
// and queries on tables of the engine and of SQLite; outcome and tables must be
// the same after every statement.
func TestRandomPrograms(t *testing.T) {
	programs := uint64(24)
	if testing.Short() {
		programs = 4
	}
	for seed := range programs {
		if *seedFlag != 0 {
			seed = *seedFlag
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			g := &program{r: rand.New(rand.NewPCG(seed, 1))}
			p := newPair(t, randomDDL, randomExtra)
			var done []string
			for range 250 {
				sql := g.statement(p.plain.Autocommit())
				done = append(done, sql)
				if !p.same(sql) {
					t.Fatalf("program:\n%s", strings.Join(done, ";\n"))
				}
			}
			if !p.plain.Autocommit() {
				p.same("COMMIT")
			}
			if got := p.query("PRAGMA integrity_check"); got != "'ok'\n" {
				t.Error(got)
			}
		})
		if *seedFlag != 0 {
			break
		}
	}
}

// program makes random statements.
type program struct {
	r     *rand.Rand
	depth int // savepoints
}

func (g *program) one(of ...string) string { return of[g.r.IntN(len(of))] }

func (g *program) value() string {
	return g.one("NULL", "0", "1", "2", "'2'", "2.0", "2.5", "'a'", "'A'", "'b '", "'B'", "x'61'", "''",
		fmt.Sprint(g.r.IntN(12)), fmt.Sprint(g.r.IntN(100)-30), "9007199254740993", "-0.0", "1e999")
}

func (g *program) or() string {
	return g.one("", "", "", "", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ABORT", "OR ROLLBACK")
}

func (g *program) statement(auto bool) string {
	if auto {
		g.depth = 0
	}
	switch n := g.r.IntN(100); {
	case n < 30:
		return g.insert()
	case n < 45:
		return fmt.Sprintf("UPDATE %s %s", g.or(), g.update())
	case n < 55:
		return "DELETE FROM " + g.where()
	case n < 75:
		return g.query()
	case n < 80 && auto:
		return "BEGIN"
	case n < 80:
		g.depth = 0
		return g.one("COMMIT", "COMMIT", "ROLLBACK")
	case n < 88 && g.depth < 6:
		g.depth++
		return fmt.Sprintf("SAVEPOINT s%d", g.depth%3)
	case n < 94 && g.depth > 0:
		return fmt.Sprintf("ROLLBACK TO s%d", g.depth%3)
	case g.depth > 0:
		g.depth--
		return fmt.Sprintf("RELEASE s%d", (g.depth+1)%3)
	}
	return g.query()
}

func (g *program) insert() string {
	v := g.value
	switch g.r.IntN(7) {
	case 0:
		return fmt.Sprintf("INSERT %s INTO t(a,b,c,d) VALUES(%s,%s,%s,%s)", g.or(), v(), v(), v(), v())
	case 1:
		return fmt.Sprintf("INSERT %s INTO t VALUES(%s,%s,%s,%s,%s),(%s,%s,%s,%s,%s)", g.or(), v(), v(), v(), v(), v(), v(), v(), v(), v(), v())
	case 2:
		return fmt.Sprintf("INSERT %s INTO w VALUES(%s,%s,%s),(%s,%s,%s)", g.or(), v(), v(), v(), v(), v(), v())
	case 3:
		return fmt.Sprintf("INSERT %s INTO u VALUES(%s,%s)", g.or(), v(), v())
	case 4:
		return fmt.Sprintf("INSERT %s INTO u SELECT a, c FROM t WHERE %s ORDER BY id", g.or(), g.onT())
	case 5:
		return fmt.Sprintf("INSERT %s INTO t(id,a,b) SELECT y, y+1, x FROM u WHERE %s ORDER BY rowid LIMIT 3", g.or(), g.onU())
	}
	return fmt.Sprintf("INSERT %s INTO w SELECT b, a, d FROM t WHERE %s ORDER BY id", g.or(), g.onT())
}

func (g *program) update() string {
	switch g.r.IntN(6) {
	case 0:
		return fmt.Sprintf("t SET a=a+%d WHERE %s", g.r.IntN(3)-1, inOrder(g.onT()))
	case 1:
		return fmt.Sprintf("t SET id=id+%d, b=%s WHERE %s", g.r.IntN(3)-1, g.value(), inOrder(g.onT()))
	case 2:
		return fmt.Sprintf("t SET c=%s, d=%s WHERE %s", g.value(), g.value(), inOrder(g.onT()))
	case 3:
		return fmt.Sprintf("w SET v=%s WHERE k=%s", g.value(), g.value())
	case 4:
		return fmt.Sprintf("u SET y=y+%d WHERE %s", g.r.IntN(9)-3, inOrder(g.onU()))
	}
	return fmt.Sprintf("u SET x=%s WHERE %s", g.value(), inOrder(g.onU()))
}

// inOrder keeps both sides from using an index on a condition: which row is
// changed first decides what a conflict does, and that is not promised.
func inOrder(cond string) string {
	for _, col := range []string{"a ", "b ", "c ", "d ", "x ", "y "} {
		if strings.HasPrefix(cond, col) {
			cond = "+" + cond
		}
		cond = strings.ReplaceAll(cond, "AND "+col, "AND +"+col)
		cond = strings.ReplaceAll(cond, "OR "+col, "OR +"+col)
	}
	return cond
}

func (g *program) op() string { return g.one("=", "=", "=", "<", "<=", ">", ">=", "IS", "<>") }

func (g *program) onT() string {
	return g.one("id", "a", "b", "c", "d") + " " + g.op() + " " + g.value() + g.one("", "", fmt.Sprintf(" AND c %s %s", g.op(), g.value()), " AND id IN (1,2,3,'4',NULL)")
}

func (g *program) onU() string {
	return g.one("x", "y", "rowid") + " " + g.op() + " " + g.value() + g.one("", fmt.Sprintf(" AND y %s %s", g.op(), g.value()), " OR y IN (7,8)")
}

func (g *program) where() string {
	switch g.r.IntN(3) {
	case 0:
		return "t WHERE " + g.onT()
	case 1:
		return "w WHERE k " + g.op() + " " + g.value()
	}
	return "u WHERE " + g.onU()
}

func (g *program) query() string {
	switch g.r.IntN(8) {
	case 0:
		return "SELECT * FROM t WHERE " + g.onT() + " ORDER BY id"
	case 1:
		return "SELECT c, a FROM t ORDER BY c" + g.one("", " DESC") + ", a" + g.one("", " DESC") + ", id LIMIT 7"
	case 2:
		return "SELECT k, n FROM w WHERE k " + g.op() + " " + g.value() + " ORDER BY k, n DESC"
	case 3:
		return "SELECT x, count(*), sum(y) FROM u WHERE " + g.onU() + " GROUP BY x ORDER BY 1"
	case 4:
		return "SELECT t.id, u.rowid FROM t JOIN u ON t.a = u." + g.one("x", "y") + " WHERE " + strings.ReplaceAll(g.onT(), "id ", "t.id ") + " ORDER BY 1, 2"
	case 5:
		return "SELECT id FROM t WHERE a IN (SELECT y FROM u) OR b IN (SELECT x FROM u) ORDER BY id DESC"
	case 6:
		return "SELECT min(a), max(a), count(b), min(id), max(id) FROM t WHERE " + g.onT()
	}
	return "SELECT rowid, * FROM u WHERE y BETWEEN " + g.value() + " AND " + g.value() + " ORDER BY rowid" + g.one("", " DESC")
}
