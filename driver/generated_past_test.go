package driver

import (
	"path/filepath"
	"testing"
)

// Old states have the generated columns that the table got since; indexes on
// expressions, and those of some rows, stand in nobody's way.
func TestGeneratedColumnsOfOldStates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path})
	mustExec(t, db, `CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, s AS (a+1) STORED);
		INSERT INTO t(a,b) VALUES(1,'x'),(2,'y'),(NULL,'{'); CREATE INDEX e ON t(upper(b)); CREATE UNIQUE INDEX p ON t(s) WHERE a>1`)
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('bp')")
	mustExec(t, db, `DELETE FROM t WHERE id=3; ALTER TABLE t ADD COLUMN g INT AS (a*10); ALTER TABLE t ADD COLUMN h TEXT AS (b||'-'||g||id) COLLATE NOCASE;
		CREATE INDEX byg ON t(g); CREATE UNIQUE INDEX f ON t(lower(h)) WHERE g>0; UPDATE t SET a=a+5; DROP INDEX e`)
	all := func(query string) string {
		t.Helper()
		return one[string](t, db, "SELECT group_concat(v,'|') FROM ("+query+")")
	}
	for query, want := range map[string]string{
		"SELECT concat_ws(',',id,a,b,s,g,h) AS v FROM t ORDER BY id":                                   "1,6,x,7,60,x-601|2,7,y,8,70,y-702",
		"SELECT concat_ws(',',id,ifnull(a,'-'),b,s,ifnull(g,'-'),h) AS v FROM t('bp') ORDER BY id":     "1,1,x,2,10,x-101|2,2,y,3,20,y-202|3,-,{,-",
		"SELECT id AS v FROM t('bp') WHERE g=20":                                                       "2",
		"SELECT id AS v FROM t('bp') WHERE h>='X-2' ORDER BY g DESC":                                   "2",
		"SELECT a.id||':'||b.g AS v FROM t AS a JOIN t('bp') AS b ON a.id=b.id AND a.g>b.g ORDER BY 1": "1:10|2:20",
		"SELECT max(g) AS v FROM t('bp')":                                                              "20",
		"SELECT s AS v FROM t('bp') WHERE a>1 AND s=3":                                                 "3",
	} {
		if got := all(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	old := openTest(t, Config{Path: path, At: "bp"})
	expect(t, old, "2:3", "SELECT group_concat(id||':'||s) FROM t WHERE a>1 AND s=3")
	expect(t, old, 2, "SELECT count(*) FROM pragma_index_list('t')")

	// What the new column cannot compute of an old row fails the read of it, and
	// nothing else.
	mustExec(t, db, "ALTER TABLE t ADD COLUMN j AS (CASE WHEN b='{' THEN json_extract(b,'$.k') END)")
	expect(t, db, 2, "SELECT count(*) FROM t WHERE j IS NULL")
	expect(t, db, 3, "SELECT count(g+1) + 1 FROM t('bp')")
	mustFail(t, db, ErrGeneric, "SELECT j FROM t('bp')")
	mustFail(t, db, ErrGeneric, "SELECT id FROM t('bp') WHERE j=1")
	mustFail(t, db, ErrGeneric, "ALTER TABLE t ADD COLUMN k AS (json_extract(b,'$.k'))")
	expect(t, db, 0, "SELECT count(*) FROM pragma_table_xinfo('t') WHERE name='k'")
}
