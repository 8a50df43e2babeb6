package sqltests

import (
	"database/sql"
	"testing"
)

// scalar runs a query of one number once a round and checks its answer.
func scalar(query string, want int64, args ...any) func(*testing.B, *sql.DB) {
	return func(b *testing.B, db *sql.DB) {
		st, err := db.Prepare(query)
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		for b.Loop() {
			var v int64
			if err := st.QueryRow(args...).Scan(&v); err != nil {
				b.Fatal(err)
			}
			if v != want {
				b.Fatalf("%s gives %d, not %d", query, v, want)
			}
		}
	}
}

// rowsOf reads all rows of a prepared query of an integer and a text.
func rowsOf(query string, want int, arg func(i int) []any) func(*testing.B, *sql.DB) {
	return func(b *testing.B, db *sql.DB) {
		st, err := db.Prepare(query)
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		i := 0
		for b.Loop() {
			i++
			rows, err := st.Query(arg(i)...)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for rows.Next() {
				var id int64
				var s sql.RawBytes
				if err := rows.Scan(&id, &s); err != nil {
					b.Fatal(err)
				}
				n++
			}
			if err := rows.Close(); err != nil {
				b.Fatal(err)
			}
			if n != want {
				b.Fatalf("%s gives %d rows, not %d", query, n, want)
			}
		}
	}
}

// BenchmarkIndexEquality reads the 40 rows of one key of an index.
func BenchmarkIndexEquality(b *testing.B) {
	both(b, benchSchema+"; CREATE INDEX t_n ON t(n)", 40_000,
		rowsOf("SELECT id, s FROM t WHERE n = ?", 40, func(i int) []any { return []any{i * 7 % 1000} }))
}

// BenchmarkIndexOnly is the same of columns the index has.
func BenchmarkIndexOnly(b *testing.B) {
	both(b, benchSchema+"; CREATE INDEX t_n ON t(n, s)", 40_000,
		rowsOf("SELECT id, s FROM t WHERE n = ?", 40, func(i int) []any { return []any{i * 7 % 1000} }))
}

// BenchmarkKeyRange reads 100 rows from a key on.
func BenchmarkKeyRange(b *testing.B) {
	both(b, benchSchema, 100_000,
		rowsOf("SELECT id, s FROM t WHERE id >= ? ORDER BY id LIMIT 100", 100, func(i int) []any { return []any{i * 7919 % 99_000} }))
}

// BenchmarkCount is count(*) of 200,000 rows.
func BenchmarkCount(b *testing.B) {
	both(b, benchSchema, 200_000, scalar("SELECT count(*) FROM t", 200_000))
}

const joinSchema = benchSchema + `;
CREATE TABLE small(id INTEGER PRIMARY KEY, ref INT);
CREATE INDEX small_ref ON small(ref);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 10000)
INSERT INTO small SELECT i, i*7919%200000+1 FROM c`

// BenchmarkJoinKey joins 10,000 rows with 200,000 by the key of the larger table.
func BenchmarkJoinKey(b *testing.B) {
	both(b, joinSchema, 200_000, scalar("SELECT count(t.s) FROM small JOIN t ON t.id = small.ref", 10_000))
}

// BenchmarkJoinScan joins them without an index that helps.
func BenchmarkJoinScan(b *testing.B) {
	both(b, benchSchema+`; CREATE TABLE small(id INTEGER PRIMARY KEY, ref TEXT);
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 10000)
		INSERT INTO small SELECT i, format('text number %07d', i*19) FROM c`, 200_000,
		scalar("SELECT count(t.n) FROM small JOIN t ON t.s = small.ref", 10_000))
}

// BenchmarkJoinIndex joins 10,000 rows with 200,000 by an index of the larger table.
func BenchmarkJoinIndex(b *testing.B) {
	both(b, `CREATE TABLE t(id INTEGER PRIMARY KEY, n INT, s TEXT); CREATE INDEX t_s ON t(s);
		CREATE TABLE small(id INTEGER PRIMARY KEY, ref TEXT);
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 10000)
		INSERT INTO small SELECT i, format('text number %07d', i*19) FROM c`, 200_000,
		scalar("SELECT count(t.n) FROM small JOIN t ON t.s = small.ref", 10_000))
}
