package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestBranch: branch points are made, listed and deleted, and a store remembers them.
func TestBranch(t *testing.T) {
	dir := newStore(t)
	if got := must(t, "branch", dir); got != "branch: no branch points\n" {
		t.Errorf("none: %q", got)
	}
	must(t, "sql", dir, "CREATE TABLE b(n INTEGER PRIMARY KEY); INSERT INTO b VALUES(1),(2)")
	if got := must(t, "branch", dir, "before import"); got != "branch: before import is the state of now\n" {
		t.Errorf("made: %q", got)
	}
	must(t, "sql", dir, "DELETE FROM b")
	must(t, "branch", dir, "after")
	must(t, "compact", dir)
	list := strings.Split(strings.TrimSpace(must(t, "branch", dir)), "\n")
	if len(list) != 3 || !regexp.MustCompile(`^name +timeline +commit +created_at$`).MatchString(strings.TrimSpace(list[0])) ||
		!regexp.MustCompile(`^ *before import +main +\d+ +20\S+Z$`).MatchString(list[1]) || !strings.HasPrefix(strings.TrimSpace(list[2]), "after ") {
		t.Errorf("listed:\n%s", strings.Join(list, "\n"))
	}
	if got := must(t, "sql", dir, "SELECT (SELECT count(*) FROM b('before import')), (SELECT count(*) FROM b('after'))"); got != "2|0\n" {
		t.Errorf("read: %q", got)
	}
	if got := must(t, "branch", "-d", dir, "after"); got != "branch: after is deleted\n" {
		t.Errorf("deleted: %q", got)
	}
	for want, args := range map[string][]string{
		"UNIQUE constraint failed": {"branch", dir, "before import"},
		"no such branch point":     {"branch", "-d", dir, "after"},
		"takes the name":           {"branch", "-d", dir},
		"0 arguments":              {"branch"},
		"3 arguments":              {"branch", dir, "a", "b"},
		"1 to 255":                 {"branch", dir, ""},
	} {
		status, _, stderr := tidemark(t, "", args...)
		if strings.Contains(want, "arguments") && status != statusRefused || status == statusDone || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %q", args, status, stderr)
		}
	}
	must(t, "check", dir)
}
