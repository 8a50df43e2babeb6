package driver

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A row of a keys table that cannot be read fails the statement, whatever it was
// read for: it is never taken for NULLs, neither in an answer nor in a row that is
// written.
func TestResidentKeysFailedReads(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	connector, err := NewConnector(Config{Path: filepath.Join(t.TempDir(), "db"), FS: fault, Resident: "keys"})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(1)
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT UNIQUE, a INT, b)")
	mustExec(t, db, "CREATE TABLE c(id INTEGER PRIMARY KEY, t INT REFERENCES t ON DELETE CASCADE, v)")
	mustExec(t, db, "CREATE TABLE other(id INTEGER PRIMARY KEY, a, b)")
	mustExec(t, db, "CREATE INDEX t_a ON t(a)")
	mustExec(t, db, "INSERT INTO t VALUES(1,'one',10,'x'),(2,'two',20,'y'),(3,'three',20,'z')")
	mustExec(t, db, "INSERT INTO c VALUES(1,1,'c1'),(2,1,'c2'),(3,2,'c3')")
	mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
	mustExec(t, db, "UPDATE t SET b = 'yy' WHERE id = 2")
	mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
	read := func(q *sql.Tx, text string) (string, error) {
		rows, err := q.QueryContext(t.Context(), text)
		if err != nil {
			return "", err
		}
		defer rows.Close()
		var out strings.Builder
		for rows.Next() {
			v := make([]any, 4)
			names, _ := rows.Columns()
			p := make([]any, len(names))
			for i := range p {
				p[i] = &v[i]
			}
			if err := rows.Scan(p...); err != nil {
				return "", err
			}
			fmt.Fprintln(&out, v[:len(names)]...)
		}
		return out.String(), errors.Join(rows.Err(), rows.Close())
	}
	all := func(t *testing.T, tx *sql.Tx) (out string) {
		t.Helper()
		for _, table := range []string{"t", "c", "other"} {
			text, err := read(tx, "SELECT * FROM "+table)
			if err != nil {
				t.Fatal(err)
			}
			out += text
		}
		return out
	}
	for _, text := range []string{
		"SELECT * FROM t", "SELECT b FROM t ORDER BY id DESC", "SELECT b FROM t WHERE id = 2", "SELECT id, b FROM t WHERE a = 20",
		"SELECT u FROM t WHERE b = 'yy'", "SELECT b FROM t WHERE u = 'two'", "SELECT max(b), count(b) FROM t", "SELECT b FROM t WHERE id IN (1, 3)",
		"SELECT t.b, c.v FROM t JOIN c ON c.t = t.id", "SELECT x.id, y.v FROM t x JOIN c y ON y.v <> x.b", "SELECT x.id, y.id FROM t x JOIN c y ON y.v = x.b || ''",
		"SELECT DISTINCT b FROM t", "SELECT a, group_concat(b) FROM t GROUP BY a", "SELECT id FROM t WHERE b IN (SELECT v FROM c)", "SELECT min(a), max(a) FROM t WHERE b > 'x'",
		"SELECT id FROM t WHERE EXISTS (SELECT 1 FROM c WHERE c.t = t.id AND v LIKE 'c%')", "SELECT b FROM t WHERE a = 20 ORDER BY u DESC LIMIT 1", "SELECT b FROM t WHERE u LIKE 't%'", "SELECT id FROM t WHERE b IS NULL",
		"UPDATE t SET a = a + 1", "UPDATE t SET b = b || '!' WHERE id = 2", "UPDATE t SET a = 5 WHERE b = 'x'", "UPDATE t SET id = id + 10 WHERE id = 3",
		"DELETE FROM t WHERE id = 1", "DELETE FROM c WHERE v = 'c1'", "INSERT INTO other SELECT id, a, b FROM t", "INSERT OR REPLACE INTO t VALUES(9,'one',1,2)",
		"UPDATE t SET b = v FROM c WHERE c.t = t.id AND c.id = 3", "UPDATE OR REPLACE t SET u = 'one' WHERE id = 3", "DELETE FROM t WHERE b IN (SELECT b FROM t)",
		"CREATE INDEX t_b ON t(b)", "UPDATE c SET t = 3", "INSERT INTO c VALUES(4, 2, 'c4'), (5, 3, 'c5')", "DELETE FROM t", "CREATE TABLE copied AS SELECT * FROM t",
	} {
		t.Run(text, func(t *testing.T) {
			run := func(n int) (answer, state string, hit bool, err error) {
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				before := fault.Injected()
				if n > 0 {
					fault.Fail(vfs.Rule{Kinds: vfs.OpOpenRead | vfs.OpMap | vfs.OpMapRead | vfs.OpRead, N: n})
				}
				if strings.HasPrefix(text, "SELECT") {
					answer, err = read(tx, text)
				} else {
					_, err = tx.Exec(text)
				}
				hit = fault.Injected() > before
				fault.Clear()
				return answer, all(t, tx), hit, err
			}
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			before := all(t, tx)
			tx.Rollback()
			want, after, _, err := run(0)
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; ; n++ {
				got, state, hit, err := run(n)
				if !hit {
					if n == 1 {
						t.Error("nothing was read")
					}
					if err != nil || got != want || state != after {
						t.Fatalf("without a fault: %q, %v", got, err)
					}
					return
				}
				// A plan does without a sample that cannot be read.
				var e *Error
				right := err == nil && got == want && state == after
				if failed := errors.As(err, &e) && Code(e.Code) == ErrIO && state == before; !right && !failed {
					t.Fatalf("read %d failed: %v, answer %q, not %q; then there is\n%sit was\n%s", n, err, got, want, state, before)
				}
			}
		})
	}
}
