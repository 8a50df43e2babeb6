package sqltext

import (
	"slices"
	"strings"
	"testing"
)

func TestStatements(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"", nil},
		{" ; ;-- nothing\n;/* ; */", nil},
		{"SELECT 1", []string{"SELECT 1"}},
		{"SELECT ';' ; SELECT \"a;b\", [c;d], `e;f`; -- end;", []string{"SELECT ';' ;", " SELECT \"a;b\", [c;d], `e;f`;"}},
		{"SELECT 'it''s; fine'; SELECT 2", []string{"SELECT 'it''s; fine';", " SELECT 2"}},
		{"SELECT 1 -- ; \n; SELECT 2;", []string{"SELECT 1 -- ; \n;", " SELECT 2;"}},
		{"SELECT 1; SELECT 'open; SELECT 3", []string{"SELECT 1;", " SELECT 'open; SELECT 3"}},
		{"SELECT 1;\x00SELECT 2;", []string{"SELECT 1;"}},
		{
			"CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; UPDATE t SET x=1; END; SELECT 1",
			[]string{"CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; UPDATE t SET x=1; END;", " SELECT 1"},
		},
		{"create /* x */ temp trigger a after insert on t begin select 1; end; select 2;",
			[]string{"create /* x */ temp trigger a after insert on t begin select 1; end;", " select 2;"}},
		{"EXPLAIN QUERY PLAN CREATE TEMPORARY TRIGGER a BEGIN SELECT 1; END; SELECT 2",
			[]string{"EXPLAIN QUERY PLAN CREATE TEMPORARY TRIGGER a BEGIN SELECT 1; END;", " SELECT 2"}},
		{"CREATE TABLE trigger_x(a); SELECT 1", []string{"CREATE TABLE trigger_x(a);", " SELECT 1"}},
		{"BEGIN; COMMIT; END;", []string{"BEGIN;", " COMMIT;", " END;"}},
	} {
		if got := slices.Collect(Statements(c.src)); !slices.Equal(got, c.want) {
			t.Errorf("%q:\n got %q\nwant %q", c.src, got, c.want)
		}
	}
}

func TestParseKinds(t *testing.T) {
	for _, c := range []struct {
		text string
		kind Kind
		name Name
	}{
		{" -- nothing\n;", Empty, Name{}},
		{"select 1", Read, Name{}},
		{"/* a */ VALUES(1)", Read, Name{}},
		{"WITH a AS (SELECT 1) SELECT * FROM a", Read, Name{}},
		{"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", Insert, Name{"", "t"}},
		{"REPLACE INTO main.[t x] VALUES(1)", Insert, Name{"main", "t x"}},
		{"update or ignore \"a\"\"b\" set x=1", Update, Name{"", `a"b`}},
		{"DELETE FROM aux.t", Delete, Name{"aux", "t"}},
		{"BEGIN EXCLUSIVE TRANSACTION", Begin, Name{}},
		{"END TRANSACTION", Commit, Name{}},
		{"ROLLBACK TRANSACTION TO SAVEPOINT 'x'", RollbackTo, Name{}},
		{"ROLLBACK", Rollback, Name{}},
		{"SAVEPOINT x", Savepoint, Name{}},
		{"RELEASE x;", Release, Name{}},
		{"CREATE TEMP TABLE t(a)", CreateTable, Name{"temp", "t"}},
		{"CREATE VIRTUAL TABLE t USING tidemark(a, b)", CreateVirtual, Name{"", "t"}},
		{"CREATE UNIQUE INDEX IF NOT EXISTS i ON t(a)", CreateIndex, Name{"", "i"}},
		{"CREATE VIEW v AS SELECT 1", CreateView, Name{"", "v"}},
		{"CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN SELECT 1; END", CreateTrigger, Name{"", "tr"}},
		{"DROP TABLE IF EXISTS main.t", DropTable, Name{"main", "t"}},
		{"ALTER TABLE t RENAME TO u", AlterTable, Name{"", "t"}},
		{"PRAGMA main.table_info(t)", Pragma, Name{"main", "table_info"}},
		{"EXPLAIN SELECT 1", Explain, Name{}},
		{"VACUUM", Vacuum, Name{}},
		{"ATTACH 'x' AS y", Attach, Name{}},
		{"SELEKT 1", Invalid, Name{}},
		{"INSERT INTO", Invalid, Name{}},
	} {
		s := Parse(c.text)
		if s.Kind != c.kind || s.Target != c.name {
			t.Errorf("%q: kind %d target %+v, want %d %+v (%v)", c.text, s.Kind, s.Target, c.kind, c.name, s.Err)
		}
		if (s.Kind == Invalid) != (s.Err != nil) {
			t.Errorf("%q: error %v", c.text, s.Err)
		}
	}
	if s := Parse("RELEASE SAVEPOINT \"a b\""); s.Label != "a b" {
		t.Errorf("label %q", s.Label)
	}
	if s := Parse("BEGIN IMMEDIATE"); s.Mode != Immediate {
		t.Errorf("mode %d", s.Mode)
	}
	if s := Parse("INSERT INTO t VALUES(1) ON CONFLICT DO NOTHING RETURNING a"); !s.Upsert || !s.Return {
		t.Errorf("upsert %v returning %v", s.Upsert, s.Return)
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]Mentions{
		"SELECT a FROM t":                                 0,
		"SELECT 'sqlite_master' FROM t":                   MentionsSchema, // a false alarm costs a parse, no more
		"SELECT * FROM Sqlite_Master":                     MentionsSchema,
		"SELECT * FROM [sqlite_schema]":                   MentionsSchema,
		"SELECT * FROM sqlite_sequence":                   MentionsSequence,
		"SELECT * FROM t INDEXED BY i":                    MentionsIndexed,
		"SELECT t.rowid FROM t -- sqlite_master":          MentionsRowid,
		"SELECT OID, _ROWID_ FROM t JOIN sqlite_master m": MentionsRowid | MentionsSchema,
	} {
		if got := Parse(text).Mentions; got != want {
			t.Errorf("%q: %b, want %b", text, got, want)
		}
	}
}

func TestCountStar(t *testing.T) {
	for _, c := range []struct {
		text, label string
		name        *Name
	}{
		{"SELECT count(*) FROM t", "count(*)", &Name{"", "t"}},
		{" select COUNT ( * ) from main . \"a b\" ; -- x", "COUNT ( * )", &Name{"main", "a b"}},
		{"SELECT count(*) FROM t WHERE 1", "", nil},
		{"SELECT count(*) FROM t, u", "", nil},
		{"SELECT count(*) FROM t AS x", "count(*)", &Name{"", "t"}},
		{"SELECT count(*) FROM t x", "count(*)", &Name{"", "t"}},
		{"SELECT count(1) AS \"how many\" FROM main.t", "how many", &Name{"main", "t"}},
		{"SELECT count(x'00') FROM t", "", nil},
		{"SELECT count(NULL) FROM t", "", nil},
		{"SELECT count(DISTINCT 1) FROM t", "", nil},
		{"SELECT DISTINCT count(*) FROM t", "", nil},
		{"SELECT count(*) FROM t LIMIT 0", "", nil},
		{"SELECT count(*) FROM t GROUP BY 1", "", nil},
		{"SELECT count(*) FROM t HAVING 0", "", nil},
		{"SELECT count(*) FILTER (WHERE 0) FROM t", "", nil},
		{"SELECT count(*) OVER () FROM t", "", nil},
		{"SELECT count(*) FROM t UNION SELECT 1", "", nil},
		{"SELECT count(*)+1 FROM t", "", nil},
		{"SELECT count(*) AS from FROM t", "", nil},
		{"SELECT count(*) FROM t(1)", "", nil},
		{"SELECT count(*), 1 FROM t", "", nil},
		{"SELECT count(a) FROM t", "", nil},
		{"SELECT count(*) AS n FROM t", "n", &Name{"", "t"}},
		{"SELECT count(*) FROM (SELECT 1)", "", nil},
		{"SELECT count(*) FROM 't'", "count(*)", &Name{"", "t"}},
		{"SELECT count(*)", "", nil},
	} {
		s := Parse(c.text)
		if (s.CountOf == nil) != (c.name == nil) || c.name != nil && *s.CountOf != *c.name || s.CountAs != c.label {
			t.Errorf("%q: %+v %q, want %+v %q", c.text, s.CountOf, s.CountAs, c.name, c.label)
		}
	}
}

func TestNumbering(t *testing.T) {
	var n Numbering
	for _, c := range []struct {
		stmt string
		want []int
	}{
		{"INSERT INTO t VALUES(?,?)", []int{0, 1, 2}},
		{"SELECT '?', ? -- ?", []int{0, 3}},
		{"SELECT ?5, ?", []int{0, 0, 0, 0, 0, 5, 6}},
		{"SELECT :a, @a, $a, :a", []int{0, 7, 8, 9}},
		{"SELECT :a, ?, ?2", []int{0, 7, 2}},
	} {
		if got := n.Map(c.stmt); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.stmt, got, c.want)
		}
	}
}

func TestEdits(t *testing.T) {
	var e Edits
	e.Insert(4, "X")
	e.Replace(0, 1, "")
	e.Insert(4, "Y")
	e.Replace(5, 6, "zz")
	if got := e.Apply("abcdef"); got != "bcdXYezz" {
		t.Errorf("got %q", got)
	}
}

// FuzzStatements: nothing is lost and nothing is made up by splitting.
func FuzzStatements(f *testing.F) {
	for _, s := range []string{"SELECT 1;SELECT ';'", "CREATE TRIGGER a BEGIN x; END; y", "[a;b", "'", "-", "/*", "a\x00b;c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		rest, joined := src, ""
		for rest != "" {
			stmt, next, _ := Cut(rest)
			if len(next) >= len(rest) {
				t.Fatalf("no progress at %q", rest)
			}
			joined, rest = joined+stmt, next
		}
		if !strings.HasPrefix(src, joined) || len(joined) < len(src) && src[len(joined)] != 0 {
			t.Fatalf("%q became %q", src, joined)
		}
		for s := range Statements(src) {
			Parse(s)
		}
	})
}
