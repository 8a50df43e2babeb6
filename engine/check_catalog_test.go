package engine

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"

	_ "modernc.org/sqlite" // edits a catalog behind the engine's back
)

// editCatalog runs statements on a catalog as somebody with a shell would who
// takes the guards away.
func editCatalog(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, catalog.FileName))
	must(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	rows, err := conn.QueryContext(t.Context(), "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
	must(t, err)
	guards := map[string]string{}
	for rows.Next() {
		var name, text string
		must(t, rows.Scan(&name, &text))
		guards[name] = text
	}
	must(t, rows.Err())
	run := func(text string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for name := range guards {
		run("DROP TRIGGER " + name)
	}
	for _, text := range statements {
		run(text)
	}
	for _, text := range guards {
		run(text)
	}
}

// TestCheckFindsEditsOfTheCatalog changes the catalog of an open store.
func TestCheckFindsEditsOfTheCatalog(t *testing.T) {
	for _, c := range []struct {
		name, edit string
		severity   Severity
		want       string
	}{
		{"generation record", "UPDATE generations SET records = records + 1 WHERE state = 'sealed'", Damage, "generation"},
		{"generation's object", "UPDATE objects SET byte_extent = byte_extent + 8 WHERE state = 'sealed'", Damage, "generation"},
		{"shard", "UPDATE shards SET writer_epoch = writer_epoch + 1", Damage, "shard"},
		{"head", "UPDATE timelines SET revision = revision + 1", Damage, "timeline"},
		{"receipt", "DELETE FROM seal_receipts", Damage, "receipt"},
		{"root", "DELETE FROM owner_objects", Damage, "root"},
		{"guard", "DROP INDEX objects_by_state", Damage, "objects_by_state"},
		{"table's name", "UPDATE tables SET name = 'other'", Warning, `table "t"`},
		{"table's text", "UPDATE tables SET sql = sql || ' '", Warning, `table "t"`},
		{"table", "DELETE FROM tables", Warning, `table "t"`},
		{"ended table", "UPDATE tables SET until_version = version + 1", Warning, `table "t"`},
		{"invented table", "INSERT INTO tables SELECT timeline_id, table_id + 1000, version, until_version, schema_id, 'x', sql, columns, durable, resident, strict, without_rowid, auto_increment FROM tables", Warning, "no such definition"},
		{"index's columns", "UPDATE indexes SET columns = 'z'", Warning, "index "},
		{"index", "DELETE FROM indexes", Warning, "index "},
		{"schema", "UPDATE schema_contexts SET descriptor = CAST(descriptor || 'x' AS BLOB)", Warning, "schema_contexts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(t.Context(), Options{Dir: t.TempDir(), FS: vfs.NewMem(), Create: true})
			must(t, err)
			defer func() { must(t, s.Close()) }()
			wait(t, s, update(t, s, createTable("t")))
			wait(t, s, update(t, s, put("t", 1, 1, "x")))
			must(t, s.Checkpoint(t.Context(), nil))
			quiet(t, s)
			if found := findings(t, s); len(found) > 0 {
				t.Fatalf("an undamaged store: %v", found)
			}
			editCatalog(t, s.opts.Dir, c.edit)
			found := findings(t, s)
			hit := false
			for _, f := range found {
				hit = hit || f.Severity == c.severity && f.File == catalog.FileName && strings.Contains(f.Text, c.want)
			}
			if !hit {
				t.Errorf("%v", found)
			}
		})
	}
}

// A check beside schema changes that are on their way to the catalog finds
// nothing.
func TestCheckBesideSchemaChanges(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, f := range findings(t, s) {
				t.Error(f)
			}
		}
	}()
	for i := range 40 {
		wait(t, s, update(t, s, createTable("t"+strings.Repeat("x", i))))
	}
	cancel()
	<-done
}
