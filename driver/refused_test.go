package driver

import (
	"errors"
	"strings"
	"testing"
)

// Nothing that is refused leaves a trace.
func TestRefused(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t VALUES(1,2,3); CREATE VIEW v AS SELECT * FROM t")
	before := one[string](t, db, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	for _, text := range []string{
		"PRAGMA user_version=3", "VACUUM INTO 'x'",
		"CREATE TABLE c(a COLLATE mine)",
	} {
		if _, err := db.Exec(text); !errors.Is(err, ErrNotAvailable) && !strings.Contains(text, "COLLATE mine") || err == nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"CREATE VIRTUAL TABLE w USING tidemark(a, nope=1)", "CREATE VIRTUAL TABLE w USING fts5(a)", "CREATE TABLE tidemark_x(a)",
		"DETACH catalog", "PRAGMA writable_schema=1", "DROP TABLE temp.tidemark_tx", "UPDATE temp.tidemark_tx SET op='x'",
		"UPDATE catalog.objects SET kind='x'", "DROP TABLE catalog.objects",
	} {
		if _, err := db.Exec(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	expect(t, db, before, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	expect(t, db, 1, "SELECT count(*) FROM t WHERE a=2")
	mustExec(t, db, "CREATE VIRTUAL TABLE w USING tidemark(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'd', UNIQUE(a), durable=true, resident=all)")
	mustExec(t, db, "INSERT INTO w(id) VALUES(3)")
	mustFail(t, db, ErrConstraintUnique, "INSERT INTO w(id) VALUES(4)")
	expect(t, db, "d", "SELECT a FROM w")
	expect(t, db, "CREATE VIRTUAL TABLE w USING tidemark(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'd', UNIQUE(a), durable=true, resident=all)", "SELECT sql FROM sqlite_master WHERE name='w'")
}
