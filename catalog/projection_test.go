package catalog

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"
)

func table(id, version int64, name string) TableRow {
	return TableRow{ID: id, Version: version, Name: name, SQL: "CREATE TABLE " + name + "(a)", Columns: 1, Durable: true, Resident: "all"}
}

func index(id, tableID, version int64, name string) IndexRow {
	return IndexRow{ID: id, TableID: tableID, Version: version, Name: name, SQL: "CREATE INDEX " + name, Origin: "c", Columns: "a"}
}

// projected lists "id v<version>-<until> name" of every row, sorted.
func projected(t *testing.T, c *Catalog) (tables, indexes []string) {
	t.Helper()
	err := c.read(t.Context(), "test", func(ctx context.Context, tx *sqlx.Tx) error {
		for _, q := range []struct {
			list  *[]string
			query string
		}{
			{&tables, `SELECT printf('%d v%d-%d %s', table_id, version, until_version, name) FROM tables ORDER BY table_id, version`},
			{&indexes, `SELECT printf('%d v%d-%d %s', index_id, version, until_version, name) FROM indexes ORDER BY index_id, version`},
		} {
			if err := tx.SelectContext(ctx, q.list, q.query); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tables, indexes
}

func TestProjectSchema(t *testing.T) {
	ctx := t.Context()
	watch := &seamAt{}
	c := openStore(t, Options{Dir: t.TempDir(), Create: true, Fault: watch.seam()})
	if _, err := c.Initialize(ctx, Creation{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name            string
		p               Projection
		tables, indexes []string
	}{
		{"create two", Projection{SchemaVersion: 5, Tables: []TableRow{table(1, 3, "a"), table(2, 5, "b")}, Indexes: []IndexRow{index(10, 1, 5, "i")}},
			[]string{"1 v3-0 a", "2 v5-0 b"}, []string{"10 v5-0 i"}},
		{"swap names", Projection{SchemaVersion: 7, Tables: []TableRow{table(1, 7, "b"), table(2, 7, "a")}, Indexes: []IndexRow{index(10, 1, 5, "i")}},
			[]string{"1 v3-7 a", "1 v7-0 b", "2 v5-7 b", "2 v7-0 a"}, []string{"10 v5-0 i"}},
		{"drop", Projection{SchemaVersion: 8, Tables: []TableRow{table(2, 7, "a")}},
			[]string{"1 v3-7 a", "1 v7-8 b", "2 v5-7 b", "2 v7-0 a"}, []string{"10 v5-8 i"}},
		{"name used again", Projection{SchemaVersion: 9, Tables: []TableRow{table(2, 7, "a"), table(3, 9, "B")}},
			[]string{"1 v3-7 a", "1 v7-8 b", "2 v5-7 b", "2 v7-0 a", "3 v9-0 B"}, []string{"10 v5-8 i"}},
		{"the log knows less than was written", Projection{SchemaVersion: 6, Tables: []TableRow{table(1, 3, "a"), table(2, 5, "b")}},
			[]string{"1 v3-0 a", "2 v5-0 b"}, []string{"10 v5-6 i"}},
		{"history from the log", Projection{SchemaVersion: 7, Tables: []TableRow{func() TableRow { r := table(1, 3, "a"); r.Until = 7; return r }(), table(1, 7, "c"), table(2, 5, "b")}},
			[]string{"1 v3-7 a", "1 v7-0 c", "2 v5-0 b"}, []string{"10 v5-6 i"}},
		{"same version, another text", Projection{SchemaVersion: 7, Tables: []TableRow{table(1, 7, "d"), table(2, 5, "b")}},
			[]string{"1 v3-7 a", "1 v7-0 d", "2 v5-0 b"}, []string{"10 v5-6 i"}},
		{"nothing", Projection{SchemaVersion: 8},
			[]string{"1 v3-7 a", "1 v7-8 d", "2 v5-8 b"}, []string{"10 v5-6 i"}},
	} {
		before := len(watch.seen)
		if err := c.ProjectSchema(ctx, step.p); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if len(watch.seen) != before+1 {
			t.Errorf("%s: %d commits", step.name, len(watch.seen)-before)
		}
		tables, indexes := projected(t, c)
		if !slices.Equal(tables, step.tables) || !slices.Equal(indexes, step.indexes) {
			t.Errorf("%s:\n%q %q, want\n%q %q", step.name, tables, indexes, step.tables, step.indexes)
		}
		// Again, as every open does: nothing is written.
		if err := c.ProjectSchema(ctx, step.p); err != nil {
			t.Fatalf("%s again: %v", step.name, err)
		}
		if len(watch.seen) != before+1 {
			t.Errorf("%s again: wrote", step.name)
		}
	}
}

func TestProjectSchemaRefuses(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	good := Projection{SchemaVersion: 1, Tables: []TableRow{table(1, 1, "t")}}
	if err := c.ProjectSchema(ctx, good); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]struct {
		p    Projection
		code Code
	}{
		"version":       {Projection{SchemaVersion: -1}, CodeRange},
		"table id":      {Projection{SchemaVersion: 2, Tables: []TableRow{table(0, 1, "x")}}, CodeRange},
		"index id":      {Projection{SchemaVersion: 2, Indexes: []IndexRow{index(MaxID+1, 1, 1, "x")}}, CodeRange},
		"table version": {Projection{SchemaVersion: 2, Tables: []TableRow{table(1, -1, "x")}}, CodeRange},
		"residency":     {Projection{SchemaVersion: 2, Tables: []TableRow{{ID: 1, Version: 2, Name: "x", Resident: "some"}}}, CodeCheck},
		"name twice":    {Projection{SchemaVersion: 2, Tables: []TableRow{table(1, 1, "t"), table(2, 2, "T")}}, CodeUnique},
		"origin":        {Projection{SchemaVersion: 2, Indexes: []IndexRow{{ID: 3, TableID: 1, Version: 2, Name: "i", Origin: "x", Columns: "a"}}}, CodeCheck},
	} {
		wantCode(t, c.ProjectSchema(ctx, bad.p), bad.code)
		if tables, indexes := projected(t, c); len(tables) != 1 || len(indexes) != 0 {
			t.Errorf("%s left %v %v", name, tables, indexes)
		}
	}
}

// TestOddNames: what SQLite takes as a name, the projection shows.
func TestOddNames(t *testing.T) {
	c, _ := newStore(t, Creation{})
	p := Projection{SchemaVersion: 1}
	for i, name := range []string{"", " ", "a\"b", "Größe", "select", "x\ny", "objects", "tables"} {
		p.Tables = append(p.Tables, table(int64(i+1), 1, name))
		p.Indexes = append(p.Indexes, IndexRow{ID: int64(i + 100), TableID: int64(i + 1), Version: 1, Name: name, Origin: "u", Columns: name})
	}
	if err := c.ProjectSchema(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	l, err := c.Inspect(t.Context(), "current_tables")
	if err != nil || len(l.Rows) != len(p.Tables) {
		t.Errorf("%d rows, %v", len(l.Rows), err)
	}
}

// TestManyTables: a schema far larger than a descriptor may be.
func TestManyTables(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	p := Projection{SchemaVersion: 900}
	for i := range int64(400) {
		r := table(i+1, i+1, fmt.Sprintf("t%d", i))
		r.SQL += fmt.Sprintf(" -- %0512d", 0)
		p.Tables = append(p.Tables, r)
		p.Indexes = append(p.Indexes, IndexRow{ID: i + 1000, TableID: i + 1, Version: i + 1, Name: fmt.Sprintf("sqlite_autoindex_t%d_1", i), Origin: "pk", Unique: true, Columns: "a"})
	}
	if err := c.ProjectSchema(ctx, p); err != nil {
		t.Fatal(err)
	}
	l, err := c.Inspect(ctx, "current_indexes")
	if err != nil || len(l.Rows) != 400 {
		t.Errorf("%d rows, %v", len(l.Rows), err)
	}
}

func TestSchemaDescriptorIsCanonical(t *testing.T) {
	a := Projection{SchemaVersion: 2, Tables: []TableRow{table(1, 1, "a"), table(2, 2, "b")}, Indexes: []IndexRow{index(4, 1, 1, "x"), index(3, 1, 1, "y")}}
	b := a
	b.Tables, b.Indexes = slices.Clone(a.Tables), slices.Clone(a.Indexes)
	slices.Reverse(b.Tables)
	slices.Reverse(b.Indexes)
	old := table(1, 0, "z")
	old.Until = 1
	b.Tables = append(b.Tables, old)
	if string(schemaDescriptor(a)) != string(schemaDescriptor(b)) {
		t.Error("order or history changed the descriptor")
	}
	c := a
	c.Tables = []TableRow{table(1, 1, "a"), table(2, 2, "c")}
	if string(schemaDescriptor(a)) == string(schemaDescriptor(c)) {
		t.Error("a name did not change the descriptor")
	}
}
