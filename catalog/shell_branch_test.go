package catalog

import (
	"fmt"
	"os/exec"
	"testing"
)

// inspected is a store of which every query of the package's doc shows something.
func inspected(t *testing.T) (c *Catalog, l *log, s Session, p Pin, b BranchPoint) {
	t.Helper()
	ctx := t.Context()
	c, l, s, p = pinned(t)
	b, err := c.CreateBranchPoint(ctx, "b", l.stateNow().Timeline)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ProjectSchema(ctx, Projection{SchemaVersion: 1, Tables: []TableRow{table(40, 1, "orders")}}); err != nil {
		t.Fatal(err)
	}
	orphan(t, c, 1)
	return c, l, s, p, b
}

// TestDocumentedQueries runs the queries of the package's doc, exactly as they
// stand there: through the linked SQLite, and in the machine's shell if it has one.
func TestDocumentedQueries(t *testing.T) {
	c, _, _, _, _ := inspected(t)
	_, noShell := exec.LookPath("sqlite3")
	for _, query := range documented(t) {
		rows, err := c.reads.QueryContext(t.Context(), query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := rows.Close(); err != nil || rows.Err() != nil || n == 0 {
			t.Errorf("%s: %d rows, %v, %v", query, n, err, rows.Err())
		}
		if noShell == nil && stockShell(t, c.options.Dir, query) == "" {
			t.Errorf("%s: the shell shows nothing", query)
		}
	}
}

// TestStockShellOfBranches asks the views of a store with a branch point, a pin and
// a fork, in a stock shell, while it is open and after it was closed.
func TestStockShellOfBranches(t *testing.T) {
	ctx := t.Context()
	c, l, s, p, b := inspected(t)
	child, err := c.Fork(ctx, ForkRequest{Name: "child", BranchPoint: "b"})
	if err != nil {
		t.Fatal(err)
	}
	head := l.stateNow().Timeline
	ask := func() {
		for query, want := range map[string]string{
			`SELECT name, timeline, world_id, representation_id, lsn, live_count, fingerprint, entry_count, owner_id, timeline_exists FROM branch_point_worlds`: fmt.Sprintf("b|main|%d|%d|2|6|%x|1|%d|1",
				b.WorldID, b.RepresentationID, head.Fingerprint, b.OwnerID),
			`SELECT name, timeline, created_at FROM branch_points`: "b|main|" + b.CreatedAt,
			`SELECT owner_id, session_id, session_state, pid, pid_namespace, start_ticks, boot_id, started_at, observed_heartbeat, representation_id, lsn, objects FROM reader_pins`: fmt.Sprintf("%d|%d|live|7|8|9|%s|%s||%d|1|1",
				p.OwnerID, s.ID, someProcess.BootID, s.StartedAt, p.RepresentationID),
			`SELECT kind, state, timeline, branch_point, session_id, session_state, representations, blobs, objects FROM owner_pins WHERE state <> 'released' ORDER BY owner_id`: fmt.Sprintf(
				"timeline|active|main||||1|0|1\nreader|active|||%d|live|1|0|1\nbranch_point|active|main|b|||1|0|0\ntimeline|active|child||||1|0|1", s.ID),
			`SELECT session_id, state, death_evidence FROM sessions`:                                 fmt.Sprintf("%d|live|", s.ID),
			`SELECT * FROM representation_blockers`:                                                  "",
			`SELECT name, revision, lsn FROM timeline_heads ORDER BY name`:                           "child|0|2\nmain|3|2",
			`SELECT timeline, ordinal, generation FROM generation_files ORDER BY 1, 2, 3`:            "child|0|3\nmain|0|1\nmain|0|2\nmain|0|3",
			`SELECT count(*) FROM gc_candidates`:                                                     "1",
			fmt.Sprintf(`SELECT count(*) FROM live_object_roots WHERE owner_id = %d`, child.OwnerID): "2",
			`SELECT * FROM manifest_audit`:                                                           "",
			`SELECT * FROM store_lineage`:                                                            "",
			`PRAGMA user_version`:                                                                    "6",
			`PRAGMA integrity_check`:                                                                 "ok",
			`PRAGMA foreign_key_check`:                                                               "",
			`SELECT * FROM claim_closure_audit`:                                                      "",
		} {
			if got := stockShell(t, c.options.Dir, query); got != want {
				t.Errorf("%s\ngot  %q\nwant %q", query, got, want)
			}
		}
	}
	ask()
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	ask()
}
