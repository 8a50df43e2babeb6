package driver

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// folderOf writes files into a new folder.
func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	firstMigration = `-- +goose Up
CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- a comment; with a semicolon
INSERT INTO users(name) VALUES('ann');
-- +goose Down
DROP TABLE users;
`
	secondMigration = `-- +goose Up
-- +goose StatementBegin
CREATE VIEW names AS
	SELECT name FROM users;
-- +goose StatementEnd
-- +goose Down
DROP VIEW names;
`
	badMigration = `-- +goose Up
CREATE TABLE notes(id INTEGER PRIMARY KEY, body TEXT);
INSERT INTO notes(body) VALUES('one');

INSERT INTO notes(body) VALUES('one');
INSERT INTO users(name)
	VALUES('ann');
-- +goose Down
DROP TABLE notes;
`
)

// The key names a folder, the field holds any file system; what the store has is not
// applied again, and a failure leaves the last good version.
func TestMigrationsAtOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	folder := folderOf(t, map[string]string{"00001_users.sql": firstMigration, "README.md": "no migration"})
	open := func(query string) (*sql.DB, error) {
		db, err := sql.Open("tidemark", dir+"?"+query)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = db.Close() })
		return db, db.Ping()
	}
	db, err := open("migrations=" + folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, got := table(t, db, "SELECT name FROM users"); strings.Join(got, " ") != "ann" {
		t.Fatal(got)
	}
	for name, text := range map[string]string{"00002_names.sql": secondMigration, "00003_notes.sql": badMigration} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The engine is open already: the second sql.DB applies what is new all the same.
	_, err = open("migrations=" + folder)
	if err == nil || !errors.Is(err, ErrConstraintUnique) || !strings.Contains(err.Error(), "00003_notes.sql:6: ") || !strings.Contains(err.Error(), "UNIQUE constraint failed: users.name") {
		t.Fatalf("got %v", err)
	}
	if _, got := table(t, db, "SELECT name FROM names UNION ALL SELECT name FROM sqlite_schema WHERE name = 'notes'"); strings.Join(got, " ") != "ann" {
		t.Fatal(got)
	}
	if _, got := table(t, db, "SELECT max(version_id) FROM goose_db_version WHERE is_applied"); got[0] != "2" {
		t.Fatal(got)
	}
	mustClose(t, db)

	// Mended, it goes on from there, by Config.
	cfg := Config{Path: dir, Migrations: fstest.MapFS{
		"00001_users.sql": {Data: []byte(firstMigration)},
		"00002_names.sql": {Data: []byte(secondMigration)},
		"00003_notes.sql": {Data: []byte(strings.Replace(badMigration, "VALUES('ann')", "VALUES('bob')", 1))},
	}}
	for range 2 {
		cfg.TimeFormat = "none"
		again := openTest(t, cfg)
		if _, got := table(t, again, "SELECT count(*) FROM notes"); got[0] != "2" {
			t.Fatal(got)
		}
		mustClose(t, again)
	}
}

// Connectors that open one store at a time apply each migration once.
func TestMigrationsTogether(t *testing.T) {
	cfg := Config{Path: filepath.Join(t.TempDir(), "store"), Migrations: fstest.MapFS{
		"1_t.sql": {Data: []byte("-- +goose Up\nCREATE TABLE t(a);\n")},
		"2_t.sql": {Data: []byte("-- +goose Up\nINSERT INTO t VALUES(1);\n")},
	}}
	keep := openTest(t, Config{Path: cfg.Path})
	if err := keep.Ping(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		db := openTest(t, cfg)
		all.Go(func() {
			if err := db.Ping(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, got := table(t, keep, "SELECT count(*) FROM t"); got[0] != "1" {
		t.Fatal(got)
	}
}

func TestMigrationsRefused(t *testing.T) {
	empty := t.TempDir()
	one := fstest.MapFS{"1_t.sql": {Data: []byte("-- +goose Up\nCREATE TABLE t(a);\n")}}
	for _, tc := range []struct {
		cfg   Config
		words string
	}{
		{Config{Mode: "ro", Migrations: one}, "mode=ro"},
		{Config{At: "x", Migrations: one}, "at=x"},
		{Config{Migrations: os.DirFS(empty)}, "00001_init.sql"},
		{Config{Migrations: os.DirFS(filepath.Join(empty, "none"))}, "00001_init.sql"},
		{Config{Migrations: fstest.MapFS{"1_t.sql": {Data: []byte("CREATE TABLE t(a);\n")}}}, "1_t.sql"},
		{Config{Migrations: fstest.MapFS{"1_t.sql": {Data: []byte("-- +goose Up\nCREATE TABLE t(a\n")}}}, "1_t.sql"},
		{Config{Migrations: fstest.MapFS{"1_a.sql": one["1_t.sql"], "1_b.sql": one["1_t.sql"]}}, "1"},
	} {
		tc.cfg.Path = filepath.Join(t.TempDir(), "store")
		connector, err := NewConnector(tc.cfg)
		if err == nil {
			_, err = connector.Connect(context.Background())
			if closed := connector.Close(); closed != nil {
				t.Error(closed)
			}
		}
		if err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("got %v, want %q", err, tc.words)
		}
	}
	if _, err := ParseDSN("d?migrations=" + filepath.Join(empty, "none")); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
	cfg, err := ParseDSN("d?migrations=" + empty)
	if err != nil || cfg.String() != "d?migrations="+strings.ReplaceAll(empty, "/", "%2F") {
		t.Error(cfg.String(), err)
	}
}

// The newest is undone, one at a time.
func TestMigrateDown(t *testing.T) {
	files := fstest.MapFS{"1_users.sql": {Data: []byte(firstMigration)}, "2_names.sql": {Data: []byte(secondMigration)}}
	db := openTest(t, Config{Migrations: files})
	for _, want := range []string{"2_names.sql", "1_users.sql"} {
		m, ok, err := MigrateDown(t.Context(), db, files)
		if err != nil || !ok || m.Name != want {
			t.Fatal(m, ok, err)
		}
	}
	if m, ok, err := MigrateDown(t.Context(), db, files); ok || err != nil {
		t.Fatal(m, ok, err)
	}
	list, err := Migrations(t.Context(), db, files)
	if err != nil || len(list) != 2 || !list[0].AppliedAt.IsZero() || list[1].Name != "2_names.sql" {
		t.Fatal(list, err)
	}
	done, err := MigrateUp(t.Context(), db, files)
	if err != nil || len(done) != 2 {
		t.Fatal(done, err)
	}
	delete(files, "2_names.sql")
	if _, ok, err := MigrateDown(t.Context(), db, files); ok || err == nil || !strings.Contains(err.Error(), "migration 2") {
		t.Fatal(ok, err)
	}
}

// A statement's line is found among equal ones, and behind what Up says.
func TestLineOf(t *testing.T) {
	text := "-- +goose Up\nSELECT 1;\nSELECT 1;\n\nSELECT\n 2;\n-- +goose Down\nSELECT 1;\n"
	for _, tc := range []struct {
		direction  string
		statements []string
		line       int
	}{
		{"up", []string{"SELECT 1;"}, 2},
		{"up", []string{"SELECT 1;", "SELECT 1;"}, 3},
		{"up", []string{"SELECT 1;", "SELECT 1;", "SELECT\n 2;"}, 5},
		{"down", []string{"SELECT 1;"}, 8},
		{"up", []string{"SELECT 3;"}, 0},
	} {
		if got := lineOf(text, tc.direction, tc.statements); got != tc.line {
			t.Errorf("%s %q: %d, want %d", tc.direction, tc.statements, got, tc.line)
		}
	}
}
