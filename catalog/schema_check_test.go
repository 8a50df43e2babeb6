package catalog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/migrations"
)

// TestSchemaMustBeExact drops every object of the program's schema in turn, and
// changes some; the check names it.
func TestSchemaMustBeExact(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	db := shell(t, dir)
	expected, err := embeddedSchema()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, o := range expected {
		kinds[o.Type]++
	}
	if kinds["table"] < 17 || kinds["trigger"] < 40 || kinds["view"] < 5 || kinds["index"] < 10 {
		t.Errorf("the expected schema has %v", kinds)
	}
	if err := checkSchema(ctx, db, migrations.Files()); err != nil {
		t.Fatalf("unchanged schema: %v", err)
	}
	edits := []struct{ name, sql string }{
		{"objects_update", `DROP TRIGGER objects_update; CREATE TRIGGER objects_update BEFORE UPDATE ON objects BEGIN SELECT 1; END`},
		{"objects_by_state", `DROP INDEX objects_by_state; CREATE INDEX objects_by_state ON objects(state) WHERE state = 'sealed'`},
		{"live_object_roots", `DROP VIEW live_object_roots; CREATE VIEW live_object_roots(owner_id, object_id) AS SELECT 1, 2`},
		{"owners", `ALTER TABLE owners ADD COLUMN note TEXT`},
		{"spy", `CREATE TRIGGER spy AFTER INSERT ON objects BEGIN SELECT 1; END`},
		{"spy", `CREATE TRIGGER spy INSTEAD OF DELETE ON timeline_heads BEGIN SELECT 1; END`},
		{"spy", `CREATE TRIGGER spy AFTER INSERT ON Catalog_Migrations BEGIN SELECT 1; END`},
	}
	for _, o := range expected {
		edits = append(edits, struct{ name, sql string }{o.Name, fmt.Sprintf("DROP %s %s", o.Type, o.Name)})
	}
	for _, e := range edits {
		got := checkEdited(t, db, e.sql)
		wantCode(t, got, CodeSchema)
		// Dropping a table takes its indexes and triggers along; any of them may be the one named.
		if !strings.Contains(got.Error(), e.name) && !strings.HasPrefix(e.sql, "DROP table") {
			t.Errorf("%s: %v", e.sql, got)
		}
	}
	for _, allowed := range []string{
		`CREATE VIEW mine AS SELECT * FROM objects`,
		`CREATE INDEX mine ON objects(incarnation, state)`,
		`CREATE TABLE mine(a)`,
		`CREATE TABLE mine(a); CREATE TRIGGER spy AFTER INSERT ON mine BEGIN SELECT 1; END`,
	} {
		if err := checkEdited(t, db, allowed); err != nil {
			t.Errorf("%s: %v", allowed, err)
		}
	}
}

// checkEdited edits the schema in a transaction, checks, and rolls back.
func checkEdited(t *testing.T, db interface {
	migrations.Querier
}, sql string) error {
	t.Helper()
	run := func(text string) {
		rows, err := db.QueryContext(context.Background(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := rows.Close(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run("PRAGMA foreign_keys = OFF")
	run("BEGIN IMMEDIATE")
	defer func() { run("ROLLBACK") }()
	for _, s := range splitTop(sql) {
		run(s)
	}
	return checkSchema(t.Context(), db, migrations.Files())
}

// splitTop splits at "; " before CREATE, which is all the edits need.
func splitTop(sql string) []string {
	parts := strings.Split(sql, "; CREATE")
	for i := 1; i < len(parts); i++ {
		parts[i] = "CREATE" + parts[i]
	}
	return parts
}

func TestOpenRefusesChangedSchema(t *testing.T) {
	dir := makeStore(t, Options{})
	edit(t, dir, `CREATE VIEW mine AS SELECT * FROM objects`, `CREATE INDEX mine_too ON objects(kind)`)
	c, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatalf("extra view and index: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, `DROP TRIGGER timelines_update`)
	for _, o := range []Options{{Dir: dir}, {Dir: dir, Create: true}, {Dir: dir, ReadOnly: true}} {
		_, err := Open(t.Context(), o)
		wantCode(t, err, CodeSchema)
		if !strings.Contains(err.Error(), "timelines_update") {
			t.Errorf("%v", err)
		}
	}
}

func TestNormalSQL(t *testing.T) {
	for _, c := range [][2]string{
		{"a  b\n\tc", "a b c"},
		{"  a -- comment\n b", "a b"},
		{"a /* x 'y */ b", "a b"},
		{"a /* open", "a"},
		{"a -- open", "a"},
		{"'a  -- b' c", "'a  -- b' c"},
		{`"x  /* y" z`, `"x  /* y" z`},
		{"[a  b] `c  d`", "[a  b] `c  d`"},
		{"'open  ", "'open  "},
		{"a - b / c", "a - b / c"},
		{"", ""},
	} {
		if got := normalSQL(c[0]); got != c[1] {
			t.Errorf("normalSQL(%q) = %q, want %q", c[0], got, c[1])
		}
	}
	if normalSQL("SELECT 'a b'") == normalSQL("SELECT 'a  b'") {
		t.Error("white space inside quotes was lost")
	}
}
