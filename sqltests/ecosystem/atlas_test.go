package ecosystem

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"ariga.io/atlas/sql/schema"
	"ariga.io/atlas/sql/sqlite"
)

// Atlas reads a schema by PRAGMA functions and sqlite_schema, and plans what makes it
// another one: the plan is carried out, and the next inspection finds nothing to do.
func TestAtlas(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB) {
		ctx := t.Context()
		_, err := db.Exec(`CREATE TABLE teams(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE);
CREATE UNIQUE INDEX teams_name ON teams(name);
CREATE TABLE players(
	id INTEGER NOT NULL PRIMARY KEY, team INT REFERENCES teams(id) ON DELETE SET NULL, name VARCHAR(40) NOT NULL DEFAULT 'nobody',
	points REAL DEFAULT 1.5, shout TEXT AS (upper(name)) STORED, CONSTRAINT few CHECK (points < 100));
CREATE UNIQUE INDEX players_name ON players(name DESC, team);
CREATE INDEX players_lower ON players(lower(name)) WHERE points > 1;
INSERT INTO teams(name) VALUES('red');
INSERT INTO players(team, name) VALUES(1, 'ann');`)
		done(t, err)
		drv, err := sqlite.Open(db)
		done(t, err)
		inspect := func() *schema.Schema {
			t.Helper()
			s, err := drv.InspectSchema(ctx, "main", &schema.InspectOptions{Mode: schema.InspectTables})
			done(t, err)
			return s
		}
		s := inspect()
		players, ok := s.Table("players")
		if !ok {
			t.Fatal("no players")
		}
		var columns []string
		for _, c := range players.Columns {
			columns = append(columns, c.Name+" "+c.Type.Raw)
		}
		equal(t, "columns", strings.Join(columns, ", "), "id INTEGER, team INT, name VARCHAR(40), points REAL, shout TEXT")
		if len(players.ForeignKeys) != 1 || players.ForeignKeys[0].OnDelete != schema.SetNull || players.ForeignKeys[0].RefTable.Name != "teams" {
			t.Fatalf("foreign keys %+v", players.ForeignKeys)
		}
		byName, ok := players.Index("players_name")
		if !ok || !byName.Unique || !byName.Parts[0].Desc || byName.Parts[1].C.Name != "team" {
			t.Fatalf("index %+v", byName)
		}
		lower, ok := players.Index("players_lower")
		if !ok || lower.Parts[0].X == nil || !slices.ContainsFunc(lower.Attrs, func(a schema.Attr) bool { _, ok := a.(*sqlite.IndexPredicate); return ok }) {
			t.Fatalf("index %+v", lower)
		}
		if !slices.ContainsFunc(players.Attrs, func(a schema.Attr) bool { c, ok := a.(*schema.Check); return ok && c.Name == "few" }) {
			t.Fatalf("attributes %+v", players.Attrs)
		}

		// A column more, another default, which atlas makes by copying the table.
		want := inspect()
		table, _ := want.Table("players")
		table.AddColumns(schema.NewNullStringColumn("note", "TEXT"))
		name, _ := table.Column("name")
		name.SetDefault(&schema.Literal{V: "'somebody'"})
		changes, err := drv.SchemaDiff(inspect(), want)
		done(t, err)
		done(t, drv.ApplyChanges(ctx, changes))
		changes, err = drv.SchemaDiff(inspect(), want)
		done(t, err)
		equal(t, "changes left", len(changes), 0)
		equal(t, "rows", count(ctx, t, db, "SELECT count(*) FROM players WHERE shout = 'ANN' AND note IS NULL AND team = 1"), 1)
	})
}
