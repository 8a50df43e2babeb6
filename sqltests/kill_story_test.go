package sqltests

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// keptRows is the content of a timeline: which rows are there.
type keptRows map[int64]bool

// keptStory is what a store must hold, by what its processes told: the content of each
// timeline and branch point, and per timeline the step that was begun and of which it
// was not said that it ended.
type keptStory struct {
	lines   map[string]keptRows
	points  map[string]keptRows
	pending map[string]string
	next    int64
	begun   keptRows // what was on main when the work began
}

// hear takes a line of the process.
func (s *keptStory) hear(t *testing.T, line string) {
	line, whole := strings.CutSuffix(line, " .")
	if !whole {
		return // cut by the kill
	}
	switch kind, rest, _ := strings.Cut(line, " "); kind {
	case "do":
		timeline, step, _ := strings.Cut(rest, " ")
		s.pending[timeline] = step
		var id int64
		if _, err := fmt.Sscanf(step, "row %d", &id); err == nil {
			s.next = max(s.next, id+1)
		}
	case "did":
		if s.pending[rest] == "" {
			t.Errorf("timeline %s did what it had not begun", rest)
		}
		s.apply(t, rest, s.pending[rest])
		delete(s.pending, rest)
	}
}

// apply does a step.
func (s *keptStory) apply(t *testing.T, timeline, step string) {
	kind, name, _ := strings.Cut(step, " ")
	rows := s.lines[timeline]
	switch kind {
	case "row":
		var id int64
		if _, err := fmt.Sscan(name, &id); err != nil {
			t.Fatal(err)
		}
		rows[id] = true
	case "point":
		s.points[name] = maps.Clone(rows)
	case "undo":
		s.lines[timeline] = maps.Clone(s.points[name])
	case "fork":
		s.lines[name] = maps.Clone(rows)
	default:
		t.Fatalf("step %q", step)
	}
}

// settle holds a store against the story, each step that was pending done or not, and
// goes on with what it finds.
func (s *keptStory) settle(t *testing.T, dsn string) {
	t.Helper()
	db := openChores(t, dsn, "main")
	names := func(table string) map[string]bool {
		list := map[string]bool{}
		for _, name := range column[string](t, db, "SELECT name FROM "+table+" WHERE name NOT LIKE 'keeper %'") {
			list[name] = true
		}
		return list
	}
	lines, points := names("tidemark_timelines"), names("tidemark_branch_points")
	for timeline, step := range s.pending {
		kind, name, _ := strings.Cut(step, " ")
		switch {
		case kind == "fork" && !lines[name], kind == "point" && !points[name]:
			continue
		case kind == "row", kind == "undo":
			before := s.lines[timeline]
			s.lines[timeline] = maps.Clone(before)
			s.apply(t, timeline, step)
			if !maps.Equal(keptIn(t, dsn, timeline), s.lines[timeline]) {
				s.lines[timeline] = before
			}
		default:
			s.apply(t, timeline, step)
		}
	}
	clear(s.pending)
	for _, x := range []struct {
		what string
		got  map[string]bool
		want map[string]keptRows
	}{{"timelines", lines, s.lines}, {"branch points", points, s.points}} {
		for name := range x.want {
			if !x.got[name] {
				t.Errorf("%s: %s is lost", x.what, name)
			}
			delete(x.got, name)
		}
		if len(x.got) > 0 {
			t.Errorf("%s that nobody made: %v", x.what, x.got)
		}
	}
	if t.Failed() {
		return
	}
	for name, want := range s.lines {
		compareKept(t, "timeline "+name, keptIn(t, dsn, name), want)
	}
	for name, want := range s.points {
		compareKept(t, "branch point "+name, ids(column[int64](t, db, "SELECT id FROM kept('"+name+"')")), want)
	}
}

func compareKept(t *testing.T, what string, got, want keptRows) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	var lost, extra []int64
	for id := range want {
		if !got[id] {
			lost = append(lost, id)
		}
	}
	for id := range got {
		if !want[id] {
			extra = append(extra, id)
		}
	}
	slices.Sort(lost)
	slices.Sort(extra)
	t.Errorf("%s: of %d rows %v are lost, and %v should not be there", what, len(want), lost, extra)
}

func ids(list []int64) keptRows {
	rows := make(keptRows, len(list))
	for _, id := range list {
		rows[id] = true
	}
	return rows
}

func keptIn(t *testing.T, dsn, timeline string) keptRows {
	t.Helper()
	return ids(column[int64](t, openChores(t, dsn, timeline), "SELECT id FROM kept"))
}

// column reads the first column of a query.
func column[T any](t *testing.T, db *sql.DB, query string) (list []T) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}

// openChores opens a timeline until the end of the test.
func openChores(t *testing.T, dsn, timeline string) *sql.DB {
	t.Helper()
	db, err := sql.Open("tidemark", dsn+"&timeline="+timeline)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(); err != nil {
		t.Fatalf("timeline %s: %v", timeline, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing timeline %s: %v", timeline, err)
		}
	})
	return db
}
