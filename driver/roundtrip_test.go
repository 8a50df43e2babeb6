package driver

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"
)

// What goes in through an argument comes out of a column as the same value.
func TestArgumentRoundTrip(t *testing.T) {
	db := openTest(t, Config{})
	if _, err := db.Exec("CREATE TABLE v(id INTEGER PRIMARY KEY, v)"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		in    any
		class string
		want  any
	}{
		{nil, "null", nil},
		{int64(math.MinInt64), "integer", int64(math.MinInt64)},
		{uint64(math.MaxInt64), "integer", int64(math.MaxInt64)},
		{true, "integer", int64(1)},
		{2.5, "real", 2.5},
		{"", "text", ""},
		{"a\x00b", "text", "a\x00b"},
		{[]byte{}, "blob", []byte{}},
		{[]byte{0, 1}, "blob", []byte{0, 1}},
		{[]byte(nil), "null", nil},
		{json.RawMessage(`{"k":[1]}`), "text", `{"k":[1]}`},
		{sql.NullInt64{Int64: 4, Valid: true}, "integer", int64(4)},
		{uuid{1, 2}, "text", "01020000-000000000000000000000000"},
	} {
		r, err := db.Exec("INSERT INTO v(v) VALUES(:v)", sql.Named("v", tc.in))
		if err != nil {
			t.Errorf("%T: %v", tc.in, err)
			continue
		}
		id, err := r.LastInsertId()
		if err != nil {
			t.Fatal(err)
		}
		var class string
		var got any
		if err := db.QueryRow("SELECT typeof(v), v FROM v WHERE id = ?", id).Scan(&class, &got); err != nil {
			t.Fatal(err)
		}
		if class != tc.class || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%T(%v) is stored as %s and read as %T(%v)", tc.in, tc.in, class, got, got)
		}
	}
	var n int
	if err := db.QueryRow("SELECT json_extract(v, '$.k[0]') FROM v WHERE v LIKE '{%'").Scan(&n); err != nil || n != 1 {
		t.Errorf("SQLite's JSON functions get %d, %v", n, err)
	}
	if _, err := db.Exec("INSERT INTO v(v) VALUES(?)", uint64(math.MaxUint64)); !errors.Is(err, ErrMismatch) {
		t.Errorf("a number above the largest INTEGER: %v", err)
	}
}

// Columns of a time's type are read as time.Time, in every format.
func TestTimeColumns(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 30, 15, 123456789, time.FixedZone("x", 7200))
	for format, want := range map[string]struct {
		class string
		unit  time.Duration
	}{
		"rfc3339": {"text", 1}, "sqlite": {"text", 1}, "unix": {"integer", time.Second},
		"unix_milli": {"integer", time.Millisecond}, "unix_micro": {"integer", time.Microsecond}, "unix_nano": {"integer", 1},
	} {
		t.Run(format, func(t *testing.T) {
			db := openTest(t, Config{TimeFormat: format, TimeZone: "Europe/Berlin"})
			if _, err := db.Exec("CREATE TABLE e(a DATETIME, b timestamp, c DATE, d TEXT)"); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec("INSERT INTO e VALUES(?, ?, NULL, ?)", at, &at, "2024-02-29"); err != nil {
				t.Fatal(err)
			}
			var a, b time.Time
			var c sql.NullTime
			var d any
			var class string
			if err := db.QueryRow("SELECT a, b, c, d, typeof(a) FROM e").Scan(&a, &b, &c, &d, &class); err != nil {
				t.Fatal(err)
			}
			if !a.Equal(at.Truncate(want.unit)) || !b.Equal(a) || c.Valid || d != "2024-02-29" || class != want.class {
				t.Errorf("read as %s, %s, %v, %v; class %s", a, b, c, d, class)
			}
			if a.Location().String() != "Europe/Berlin" {
				t.Errorf("in zone %s", a.Location())
			}
			var n int
			if err := db.QueryRow("SELECT count(*) FROM e WHERE a = ?", at.UTC()).Scan(&n); err != nil || n != 1 {
				t.Errorf("the same instant in another zone finds %d rows, %v", n, err)
			}
			// SQLite's functions understand what is stored.
			if class == "text" {
				var day string
				if err := db.QueryRow("SELECT strftime('%Y-%m-%d %H:%M', a) FROM e").Scan(&day); err != nil || day != "2024-02-29 10:30" {
					t.Errorf("strftime gives %q, %v", day, err)
				}
			}
		})
	}
}

// The column types of a query are true to the schema.
func TestColumnTypesOfQuery(t *testing.T) {
	db := openTest(t, Config{})
	if _, err := db.Exec(`CREATE TABLE c(id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, price decimal(10,2), at DATETIME NOT NULL, raw BLOB, ok BOOLEAN NOT NULL);
		INSERT INTO c VALUES(1, 'n', 1.5, '2024-01-01 00:00:00', NULL, 1)`); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query("SELECT id, name, price, at, raw, ok, id + 1 AS next, upper(name) FROM c AS x")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ct := range types {
		s := ct.Name() + " " + ct.DatabaseTypeName() + " " + ct.ScanType().String()
		if n, ok := ct.Nullable(); ok {
			s += fmt.Sprintf(" null=%t", n)
		}
		if n, ok := ct.Length(); ok && n != math.MaxInt64 {
			s += fmt.Sprintf(" length=%d", n)
		}
		if p, sc, ok := ct.DecimalSize(); ok {
			s += fmt.Sprintf(" size=%d,%d", p, sc)
		}
		got = append(got, s)
	}
	want := []string{
		"id INTEGER int64 null=false",
		"name VARCHAR string null=false length=40",
		"price DECIMAL interface {} null=true size=10,2",
		"at DATETIME time.Time null=false",
		"raw BLOB []uint8 null=true",
		"ok BOOLEAN bool null=false",
		"next  interface {}",
		"upper(name)  interface {}",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// A value of each column scans into its scan type.
	for rows.Next() {
		pointers := make([]any, len(types))
		for i, ct := range types {
			pointers[i] = reflect.New(ct.ScanType()).Interface()
		}
		if err := rows.Scan(pointers...); err != nil {
			t.Error(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}
