package driver

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine"
)

var schemaSeed = flag.Uint64("schema-seed", 0, "seed of TestSchemaUnderLoad; 0 takes the time")

// TestSchemaUnderLoad lets connections change the schema, roll back and read in
// turns. After each statement mirror, shadow and engine must show the same.
func TestSchemaUnderLoad(t *testing.T) {
	seed := *schemaSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-schema-seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	db := testDB(t, "?busy_timeout=0")
	conns := make([]*sql.Conn, 3)
	for i := range conns {
		conns[i] = testConn(t, db)
	}
	name := func(kind string) string { return fmt.Sprintf("%s%d", kind, r.IntN(3)) }
	statement := func() string {
		switch r.IntN(18) {
		case 0, 1:
			return fmt.Sprintf("CREATE TABLE %s(id INTEGER PRIMARY KEY %s, a DEFAULT %d, b UNIQUE)", name("t"), []string{"", "AUTOINCREMENT"}[r.IntN(2)], r.IntN(100))
		case 2:
			return "DROP TABLE " + name("t")
		case 3:
			return fmt.Sprintf("CREATE %sINDEX %s ON %s(a)", []string{"", "UNIQUE "}[r.IntN(2)], name("i"), name("t"))
		case 4:
			return "DROP INDEX " + name("i")
		case 5:
			return fmt.Sprintf("CREATE VIEW %s AS SELECT id, a FROM %s", name("v"), name("t"))
		case 6:
			return "DROP VIEW " + name("v")
		case 7:
			return fmt.Sprintf("CREATE TRIGGER %s INSTEAD OF INSERT ON %s BEGIN INSERT INTO %s(id) VALUES(new.id); END", name("r"), name("v"), name("t"))
		case 8:
			return "DROP TRIGGER " + name("r")
		case 9:
			return "BEGIN"
		case 10:
			return "COMMIT"
		case 11:
			return "ROLLBACK"
		case 12:
			return "SAVEPOINT s"
		case 13:
			return "ROLLBACK TO s"
		case 14:
			return "RELEASE s"
		case 15:
			return fmt.Sprintf("INSERT INTO %s(id) VALUES(%d)", name("t"), r.IntN(1000))
		case 16:
			return fmt.Sprintf("INSERT INTO %s(id) VALUES(%d)", name("v"), r.IntN(1000))
		}
		return "DELETE FROM " + name("t")
	}
	done := 0
	for range 1500 {
		c := conns[r.IntN(len(conns))]
		text := statement()
		_, err := c.ExecContext(t.Context(), text)
		var e *Error
		if err != nil && !errors.As(err, &e) || errors.Is(err, ErrInternal) {
			t.Fatalf("%s: %v", text, err)
		}
		if err == nil {
			done++
		}
		if r.IntN(3) == 0 {
			mustExec(t, c, "SELECT * FROM sqlite_master")
			checkSchema(t, c, text)
		}
	}
	if done < 300 {
		t.Errorf("only %d statements did anything", done)
	}
}

// checkSchema compares what a connection shows with the schema in force.
func checkSchema(t *testing.T, sc *sql.Conn, after string) {
	t.Helper()
	err := sc.Raw(func(dc any) error {
		c := dc.(*conn)
		s := c.mirror.schema
		if c.tx.phase == open && s != c.schema() {
			return errors.New("the mirror is of another schema")
		}
		want, err := c.wanted(s.Objects(), s.Objects(), s)
		if err != nil {
			return err
		}
		texts := map[string]string{}
		for _, m := range want {
			texts[m.key()] = m.text
		}
		have := maps.Clone(c.mirror.have)
		c.mirror.have = nil
		if err := c.readMirror(); err != nil {
			return err
		}
		if !maps.Equal(texts, c.mirror.have) || have != nil && !maps.Equal(have, c.mirror.have) {
			return fmt.Errorf("mirror\nholds %v\n want %v\nthinks %v", c.mirror.have, texts, have)
		}
		return checkShadow(c, s)
	})
	if err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
}

// checkShadow compares the shadow's own schema table with the engine's schema.
func checkShadow(c *conn, s *engine.Schema) error {
	texts := map[string]string{}
	for _, o := range shadowOf(s.Objects()) {
		texts[o.key] = o.text
	}
	sh := &c.sh.tables.shadow
	return sh.use(s, func() error {
		list, err := sh.db.Query("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'")
		if err != nil {
			return err
		}
		holds := map[string]string{}
		for _, r := range list {
			holds[r[0].Bytes()+":"+fold(r[1].Bytes())] = r[2].Bytes()
		}
		if !maps.Equal(holds, texts) || !maps.Equal(holds, sh.have) {
			return fmt.Errorf("shadow\nholds %v\n want %v\nthinks %v", holds, texts, sh.have)
		}
		return nil
	})
}

// TestSchemaChangesTogether has goroutines use shadow and caches at once.
func TestSchemaChangesTogether(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE base(id INTEGER PRIMARY KEY, n DEFAULT 1); INSERT INTO base DEFAULT VALUES")
	var wg sync.WaitGroup
	try := func(text string) {
		if _, err := db.ExecContext(context.Background(), text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for i := range 4 {
		wg.Go(func() {
			for range 12 {
				try(fmt.Sprintf("CREATE TABLE t%d(a DEFAULT 5, b UNIQUE)", i))
				try(fmt.Sprintf("INSERT INTO t%d(b) VALUES(1)", i))
				try(fmt.Sprintf("CREATE INDEX i%d ON t%d(a)", i, i))
				try(fmt.Sprintf("DROP TABLE t%d", i))
			}
		})
		wg.Go(func() {
			for range 60 {
				try("SELECT * FROM base")
				try("SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) ORDER BY 1")
				try("PRAGMA index_list(base)")
				try("BEGIN IMMEDIATE; INSERT INTO base DEFAULT VALUES; SELECT rowid FROM base; ROLLBACK")
			}
		})
	}
	wg.Wait()
	expect(t, db, "base", "SELECT group_concat(name) FROM sqlite_master")
	expect(t, db, 1, "SELECT count(*) FROM base")
}
