package driver

import "testing"

// What the driver puts into texts cannot be typed.
func TestReservedNames(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
	mustExec(t, db, "INSERT INTO t VALUES(1,'\x01 is data'),(2,'\x01plan')")
	for _, text := range []string{
		"INSERT INTO t(a, \"\x01tm\") VALUES('x', 7)",
		"INSERT INTO t(a, '\x01TM') VALUES('x', 7)",
		"UPDATE t SET [\x01tm]=7",
		"SELECT * FROM t WHERE `\x01tm`=-2",
		"SELECT \"\x01plan\"(1, 2)",
		"SELECT \"\x01once\"(0)",
		"CREATE TABLE u(\"\x01tm\")",
		"CREATE VIEW v AS SELECT \"\x01tm\" FROM t",
		"SELECT * FROM '\x01view x'",
		"EXPLAIN SELECT \"\x01tm\" FROM t",
	} {
		mustFail(t, db, ErrGeneric, text)
		if st, err := db.Prepare(text); err == nil {
			t.Errorf("%q is prepared", text)
			st.Close()
		}
	}
	expect(t, db, 2, "SELECT count(*) FROM t WHERE a LIKE '\x01%'")
}
