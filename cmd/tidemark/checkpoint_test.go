package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckpoint: the head is the state of the store afterwards, a second time
// changes nothing, and what is no store is refused.
func TestCheckpoint(t *testing.T) {
	dir := newStore(t)
	rows := strings.TrimSpace(must(t, "sql", dir, "SELECT sum(rows) FROM tidemark_tables"))
	first := must(t, "checkpoint", dir)
	head := strings.TrimSpace(must(t, "sql", dir, "SELECT lsn FROM catalog.timeline_heads"))
	if want := fmt.Sprintf("checkpoint: the head is commit %s, with %s rows\n", head, rows); first != want || head == "0" {
		t.Errorf("%q, want %q", first, want)
	}
	if again := must(t, "checkpoint", dir); again != first {
		t.Errorf("a second time: %q, first %q", again, first)
	}
	if got := must(t, "sql", dir, "SELECT group_concat(kind||' '||state, ',') FROM tidemark_jobs"); got != "checkpoint done,checkpoint done\n" {
		t.Errorf("jobs: %q", got)
	}
	if got := must(t, "sql", dir, "SELECT count(*) FROM tidemark_generations WHERE state = 'open' AND records > 0"); got != "0\n" {
		t.Errorf("open files with records: %q", got)
	}
	must(t, "check", dir)
	for _, args := range [][]string{{"checkpoint"}, {"checkpoint", dir, dir}, {"checkpoint", filepath.Join(t.TempDir(), "none")}} {
		if status, _, stderr := tidemark(t, "", args...); status != statusRefused || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: status %d, %q", args, status, stderr)
		}
	}
}
