package driver

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
)

// forgedChain adds n objects to the catalog of a store that is open, each of which leads to
// the one before and the one before that. Nothing needs them: the next open removes them.
func forgedChain(t testing.TB, path string, n int) (first int64) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(path, catalogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := tx.Exec(query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	var incarnation, sequence int64
	if err := tx.QueryRow(`UPDATE catalog_info SET next_id = next_id + ?1, next_incarnation = next_incarnation + ?1, next_graph_seq = next_graph_seq + ?1
		RETURNING next_id - ?1, next_incarnation - ?1, next_graph_seq - ?1`, n).Scan(&first, &incarnation, &sequence); err != nil {
		t.Fatal(err)
	}
	for i := range int64(n) {
		id := first + i
		run(`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) VALUES (?, 'index', ?, randomblob(16), ?)`, id, incarnation+i, catalog.ObjectPath(id, catalog.KindIndex))
		run(`INSERT INTO seal_receipts SELECT o.object_id, catalog_identity, o.attempt_id, 'fsync', 1, 7, zeroblob(32) FROM catalog_info, objects o WHERE o.object_id = ?`, id)
		run(`UPDATE objects SET state = 'sealed', content_id = zeroblob(32), byte_extent = 7, logical_extent = 7, integrity_digest = zeroblob(32), lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, id)
		run(`UPDATE objects SET graph_seq = ?, lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, sequence+i, id)
		for back := int64(1); back <= min(i, 2); back++ {
			run(`INSERT INTO object_edges VALUES (?, ?, 'value')`, id, id-back)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return first
}

// TestObjectClosure asks for what an object of many leads to: on a connection, in a
// transaction that wrote, at a branch point, joined with the catalog, and by a
// parameter; and holds it against the view.
func TestObjectClosure(t *testing.T) {
	const n = 1200
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path, Compact: "off"})
	for _, query := range []string{"CREATE TABLE t(a)", "INSERT INTO t VALUES(1)", "INSERT INTO tidemark_branch_points(name) VALUES('then')"} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	first := forgedChain(t, path, n)
	root := first + n - 1
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO t VALUES(2)"); err != nil {
		t.Fatal(err)
	}
	old := openTest(t, Config{Path: path, At: "then"})
	for name, q := range map[string]interface {
		Query(string, ...any) (*sql.Rows, error)
	}{"connection": db, "transaction": tx, "branch point": old} {
		columns, got := table(t, q, "SELECT * FROM object_closure("+strconv.FormatInt(root, 10)+")")
		if want := []string{"root_object_id", "object_id", "depth"}; !slices.Equal(columns, want) {
			t.Errorf("%s: columns %q", name, columns)
		}
		if len(got) != n {
			t.Fatalf("%s: %d objects, want %d", name, len(got), n)
		}
		for i := range int64(n) {
			id := root - i
			want := []int64{root, id, (i + 1) / 2}
			if line := strings.Split(got[i], "|"); len(line) != 3 || line[0] != strconv.FormatInt(want[0], 10) || !slices.Contains(got, joined(want)) {
				t.Fatalf("%s: %q is no row for %v", name, got[i], want)
			}
		}
		_, got = table(t, q, "SELECT root_object_id, object_id, depth FROM object_closure(?) ORDER BY object_id", first+9)
		_, view := table(t, q, "SELECT root_object_id, object_id, depth FROM (WITH RECURSIVE c(o, d) AS (SELECT ?1, 0 UNION SELECT target_object_id, d + 1 FROM c JOIN catalog.object_edges ON source_object_id = o) SELECT ?1 AS root_object_id, o AS object_id, min(d) AS depth FROM c GROUP BY o) ORDER BY object_id", first+9)
		if len(got) != 10 || !slices.Equal(got, view) {
			t.Errorf("%s: %q, recursively %q", name, got, view)
		}
		_, got = table(t, q, "SELECT o.object_id, c.object_id, o.kind FROM catalog.objects o JOIN object_closure(o.object_id) c WHERE o.object_id = ? ORDER BY c.depth", first+1)
		if want := []string{joined([]int64{first + 1, first + 1}) + "|index", joined([]int64{first + 1, first}) + "|index"}; !slices.Equal(got, want) {
			t.Errorf("%s: joined: %q, want %q", name, got, want)
		}
		for _, unknown := range []int64{first + n + 77, 0, -5} {
			if _, got := table(t, q, "SELECT * FROM object_closure(?)", unknown); got != nil {
				t.Errorf("%s: unknown object %d leads to %q", name, unknown, got)
			}
		}
		for query, want := range map[string]string{
			"SELECT * FROM object_closure":               "object_closure without the id of an object",
			"SELECT * FROM object_closure(NULL)":         "object_closure without the id of an object",
			"SELECT * FROM object_closure('17')":         "object_closure: the id of an object is an integer",
			"SELECT * FROM object_closure(1.5)":          "object_closure: the id of an object is an integer",
			"SELECT * FROM object_closure WHERE depth=0": "object_closure without the id of an object",
		} {
			rows, err := q.Query(query)
			if err == nil {
				for rows.Next() {
				}
				err = errors.Join(rows.Err(), rows.Close())
			}
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || !strings.Contains(e.Hint, "SELECT * FROM object_closure(17)") {
				t.Errorf("%s: %s: %v", name, query, err)
			}
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DELETE FROM object_closure"); err == nil {
		t.Error("object_closure is written to")
	}
	memory, err := sql.Open("tidemark", "?ephemeral=1")
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, memory)
	if _, got := table(t, memory, "SELECT * FROM object_closure(1)"); got != nil {
		t.Errorf("in memory: %q", got)
	}
}

func joined(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, "|")
}
