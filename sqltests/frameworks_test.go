package sqltests

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
)

// TestGoose migrates an application's schema up, down and up again.
func TestGoose(t *testing.T) {
	ctx := context.Background()
	s := Open(t, "")
	files := fstest.MapFS{
		"00001_users.sql":          {Data: []byte("-- +goose Up\nCREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\nCREATE INDEX users_name ON users(name);\n-- +goose Down\nDROP TABLE users;\n")},
		"20240101000000_seed.sql":  {Data: []byte("-- +goose Up\nINSERT INTO users(name) VALUES('ann'), ('bob');\n-- +goose Down\nDELETE FROM users;\n")},
		"20240102000000_notes.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\nCREATE TABLE notes(id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT);\n-- +goose Down\nDROP TABLE notes;\n")},
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.DB, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		up, err := p.Up(ctx)
		if err != nil || len(up) != len(files) {
			t.Fatalf("%d of %d applied: %v", len(up), len(files), err)
		}
		if got := dump(t, s.DB, "SELECT name FROM users ORDER BY id"); strings.Join(got, " ") != `"ann" "bob"` {
			t.Fatalf("users: %v", got)
		}
		if _, err := p.DownTo(ctx, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.DB.Exec("SELECT * FROM users"); err == nil {
			t.Fatal("users is still there")
		}
	}
}

// TestSQLX reads structs, names parameters and expands lists.
func TestSQLX(t *testing.T) {
	s := Open(t, "")
	sqlx.BindDriver("tidemark", sqlx.QUESTION)
	db := sqlx.NewDb(s.DB, "tidemark")
	type order struct {
		ID  int64
		SKU string `db:"sku"`
		Qty sql.NullInt64
	}
	db.MustExec("CREATE TABLE orders(id INTEGER PRIMARY KEY, sku TEXT NOT NULL, qty INT)")
	for i, sku := range []string{"a", "b", "c"} {
		if _, err := db.NamedExec("INSERT INTO orders(id, sku, qty) VALUES(:id, :sku, :qty)", order{int64(i + 1), sku, sql.NullInt64{Int64: int64(i), Valid: i > 0}}); err != nil {
			t.Fatal(err)
		}
	}
	var one order
	if err := db.Get(&one, "SELECT * FROM orders WHERE sku = ?", "a"); err != nil || one.ID != 1 || one.Qty.Valid {
		t.Errorf("%+v %v", one, err)
	}
	query, args, err := sqlx.In("SELECT * FROM orders WHERE id IN (?) ORDER BY id", []int{2, 3, 9})
	if err != nil {
		t.Fatal(err)
	}
	var many []order
	if err := db.Select(&many, db.Rebind(query), args...); err != nil || len(many) != 2 || many[1].SKU != "c" {
		t.Errorf("%+v %v", many, err)
	}
	type timeline struct {
		Name     string
		Created  time.Time `db:"created_at"`
		Revision int64
		RepID    int64 `db:"representation_id"`
		WorldID  int64 `db:"world_id"`
	}
	var lines []timeline
	if err := db.Select(&lines, "SELECT * FROM tidemark_timelines"); err != nil || len(lines) != 1 || lines[0].Created.IsZero() {
		t.Errorf("%+v %v", lines, err)
	}
}

// TestTwoFiles refuses to write the store and an attached file in one
// transaction, also through a trigger.
func TestTwoFiles(t *testing.T) {
	ctx := context.Background()
	s := Open(t, "")
	c, err := s.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	run := func(q string) error {
		_, err := c.ExecContext(ctx, q)
		return err
	}
	for _, q := range []string{
		"ATTACH '" + filepath.Join(t.TempDir(), "o.db") + "' AS o",
		"CREATE TABLE o.x(a); CREATE TABLE o.quiet(a); CREATE TABLE m(a UNIQUE); CREATE TEMP TABLE tmp(a)",
		"CREATE TEMP TRIGGER tr AFTER INSERT ON o.x BEGIN INSERT INTO main.m VALUES(new.a); END",
		"CREATE TEMP TRIGGER both AFTER INSERT ON tmp BEGIN INSERT INTO main.m VALUES(new.a); INSERT INTO o.quiet VALUES(new.a); END",
		"INSERT INTO o.quiet VALUES(0)", "INSERT INTO m VALUES(0)",
	} {
		if err := run(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	for _, script := range [][]string{
		{"INSERT INTO o.x VALUES(1)"},
		{"INSERT INTO tmp VALUES(1)"},
		{"BEGIN", "INSERT INTO o.x VALUES(1)"},
		{"BEGIN", "INSERT INTO m VALUES(1)", "INSERT INTO o.quiet VALUES(1)"},
		{"BEGIN", "INSERT INTO o.quiet VALUES(1)", "INSERT INTO m VALUES(1)"},
		{"BEGIN", "INSERT INTO o.quiet VALUES(1)", "CREATE TABLE n(a)"},
	} {
		var err error
		for _, q := range script {
			err = run(q)
		}
		if err == nil {
			t.Errorf("%v: accepted", script)
		}
		if script[0] == "BEGIN" {
			if err := run("ROLLBACK"); err != nil {
				t.Errorf("%v: rollback: %v", script, err)
			}
		}
	}
	for _, table := range []string{"m", "o.quiet"} {
		rows, err := c.QueryContext(ctx, "SELECT count(*) FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readRows(rows)
		if err != nil || got[0] != "int64:1" {
			t.Errorf("%s: %v rows, %v", table, got, err)
		}
	}
	if err := run("DETACH o"); err != nil {
		t.Error(err)
	}
}
