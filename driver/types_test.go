package driver

import (
	"database/sql"
	"fmt"
	"testing"
	"time"
)

// Column types come from the schema, also through a view, and are unknown for
// expressions.
func TestColumnTypesOfRows(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, `CREATE TABLE t(id INTEGER PRIMARY KEY, name VARCHAR(30) NOT NULL, price DECIMAL(10,2), at DATETIME, ok BOOLEAN, raw BLOB, bare, odd "hidden thing");
		CREATE VIEW v AS SELECT id, name, price, at, ok, raw, bare, odd, id+1 AS e FROM t;
		INSERT INTO t VALUES(1,'x',1.5,NULL,1,x'00',NULL,NULL)`)
	for _, from := range []string{"t", "v", "(SELECT * FROM v)"} {
		rows, err := db.Query("SELECT id, name, price, at, ok, raw, bare, odd, id+1 AS e FROM " + from)
		if err != nil {
			t.Fatal(err)
		}
		types, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range types {
			null, ok := c.Nullable()
			got += fmt.Sprintf("%s=%s/%v,%v/%v ", c.Name(), c.DatabaseTypeName(), null, ok, c.ScanType())
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		const want = "id=INTEGER/false,true/int64 name=VARCHAR/false,true/string price=DECIMAL/true,true/interface {} at=DATETIME/true,true/sql.NullTime " +
			"ok=BOOLEAN/true,true/sql.NullBool raw=BLOB/true,true/[]uint8 bare=/true,true/interface {} odd=HIDDEN THING/true,true/interface {} e=/true,false/interface {} "
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", from, got, want)
		}
	}
}

// Values keep their class, and times what they were.
func TestValuesOfRows(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a, at DATETIME, ok BOOLEAN)")
	now := time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.FixedZone("x", 3600))
	for _, v := range []any{nil, int64(-1), int64(1 << 62), 1.5, "text\x00with NUL", "", []byte{0, 1}, []byte{}} {
		mustExec(t, db, "DELETE FROM t")
		mustExec(t, db, "INSERT INTO t VALUES(?,?,?)", v, now, true)
		var a any
		var at time.Time
		var ok bool
		if err := db.QueryRow("SELECT * FROM t").Scan(&a, &at, &ok); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%T %v", a, a) != fmt.Sprintf("%T %v", v, v) || !at.Equal(now) || at.Location() != time.UTC || !ok {
			t.Errorf("%#v came back as %#v at %v %v", v, a, at, ok)
		}
	}
	expect(t, db, "2026-05-04T02:02:01.987654321Z", "SELECT at||'' FROM t")
	expect(t, db, "integer", "SELECT typeof(ok) FROM t")
	var raw sql.RawBytes
	rows, err := db.Query("SELECT 'abc', x'0102'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() || rows.Scan(&raw, new([]byte)) != nil || string(raw) != "abc" {
		t.Fatalf("%q %v", raw, rows.Err())
	}
}
