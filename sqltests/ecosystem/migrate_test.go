package ecosystem

import (
	"database/sql"
	"errors"
	"testing"
	"testing/fstest"

	gomigrate "github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/pressly/goose/v3"
)

// What both tools are given: tables, rows, a view, a trigger, changes of all of them.
const (
	makeNotes = `CREATE TABLE notes(id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, changed INT DEFAULT 0);
CREATE INDEX notes_body ON notes(body);
INSERT INTO notes(body) VALUES('one'), ('two');
`
	dropNotes = "DROP TABLE notes;\n"

	changeNotes = `ALTER TABLE notes ADD COLUMN tag TEXT NOT NULL DEFAULT 'none';
ALTER TABLE notes RENAME COLUMN body TO text;
CREATE VIEW tagged AS SELECT text, tag FROM notes WHERE tag <> 'none';
`
	unchangeNotes = `DROP VIEW tagged;
ALTER TABLE notes RENAME COLUMN text TO body;
ALTER TABLE notes DROP COLUMN tag;
`
	countNotes = `CREATE TRIGGER notes_changed AFTER UPDATE OF text ON notes BEGIN
	UPDATE notes SET changed = changed + 1 WHERE id = new.id;
END;
`
	uncountNotes = "DROP TRIGGER notes_changed;\n"
)

// afterNotes is what both have when everything has been applied.
func afterNotes(t *testing.T, db *sql.DB) {
	t.Helper()
	_, err := db.Exec("UPDATE notes SET text = 'uno' WHERE id = 1; UPDATE notes SET tag = 'x' WHERE id = 2")
	done(t, err)
	equal(t, "changed", count(t.Context(), t, db, "SELECT changed FROM notes WHERE text = 'uno'"), 1)
	equal(t, "tagged", count(t.Context(), t, db, "SELECT count(*) FROM tagged"), 1)
}

func TestGolangMigrate(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		files := fstest.MapFS{
			"1_notes.up.sql": {Data: []byte(makeNotes)}, "1_notes.down.sql": {Data: []byte(dropNotes)},
			"2_change.up.sql": {Data: []byte(changeNotes)}, "2_change.down.sql": {Data: []byte(unchangeNotes)},
			"3_count.up.sql": {Data: []byte(countNotes)}, "3_count.down.sql": {Data: []byte(uncountNotes)},
		}
		source, err := iofs.New(files, ".")
		done(t, err)
		for _, cfg := range []*sqlite.Config{{}, {NoTxWrap: true, MigrationsTable: "other"}} {
			target, err := sqlite.WithInstance(db, cfg)
			done(t, err)
			m, err := gomigrate.NewWithInstance("files", source, "sqlite", target)
			done(t, err)
			done(t, m.Up())
			if err := m.Up(); !errors.Is(err, gomigrate.ErrNoChange) {
				t.Fatal(err)
			}
			afterNotes(t, db)
			done(t, m.Steps(-2))
			equal(t, "rows", count(t.Context(), t, db, "SELECT count(*) FROM notes WHERE body = 'two'"), 1)
			done(t, m.Migrate(3))
			done(t, m.Down())
			version, dirty, err := m.Version()
			if !errors.Is(err, gomigrate.ErrNilVersion) || dirty {
				t.Fatal(version, dirty, err)
			}
		}
		equal(t, "tables left", count(t.Context(), t, db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'notes%'"), 0)
	})
}

func TestGoose(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		file := func(up, down string) *fstest.MapFile {
			return &fstest.MapFile{Data: []byte("-- +goose Up\n" + up + "-- +goose Down\n" + down)}
		}
		trigger := "-- +goose StatementBegin\n" + countNotes + "-- +goose StatementEnd\n"
		p, err := goose.NewProvider(goose.DialectSQLite3, db, fstest.MapFS{
			"00001_notes.sql": file(makeNotes, dropNotes), "00002_change.sql": file(changeNotes, unchangeNotes), "00003_count.sql": file(trigger, uncountNotes),
		}, goose.WithDisableGlobalRegistry(true))
		done(t, err)
		results, err := p.Up(t.Context())
		done(t, err)
		equal(t, "applied", len(results), 3)
		afterNotes(t, db)
		_, err = p.DownTo(t.Context(), 1)
		done(t, err)
		equal(t, "rows", count(t.Context(), t, db, "SELECT count(*) FROM notes WHERE body = 'two'"), 1)
		_, err = p.Up(t.Context())
		done(t, err)
		_, err = p.DownTo(t.Context(), 0)
		done(t, err)
		version, err := p.GetDBVersion(t.Context())
		done(t, err)
		equal(t, "version", version, 0)
	})
}
