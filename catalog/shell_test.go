package catalog

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stockShell runs the machine's own sqlite3 on the catalog, read-only.
func stockShell(t *testing.T, dir, sql string) string {
	t.Helper()
	return sqlite3(t, "-readonly", filepath.Join(dir, FileName), sql)
}

func sqlite3(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 shell on this machine")
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3 %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestStockShell asks every view and table through a stock shell, while the
// store is open and after it was closed.
func TestStockShell(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{Shards: 2})
	if err := c.SealGeneration(ctx, sealOf(s.Generations[0])); err != nil {
		t.Fatal(err)
	}
	if err := c.ProjectSchema(ctx, Projection{SchemaVersion: 1, Tables: []TableRow{table(40, 1, "orders")}, Indexes: []IndexRow{index(41, 40, 1, "orders_sku")}}); err != nil {
		t.Fatal(err)
	}
	ask := func() {
		dir := c.options.Dir
		for query, want := range map[string]string{
			`SELECT name, revision, world_id, representation_id, live_count, fingerprint FROM timeline_heads`: "main|0|2|5|0|00000000000000000000000000000000",
			`SELECT * FROM live_object_roots`:                 "6|9\n6|11",
			`SELECT * FROM reachable_objects ORDER BY 1`:      "9\n11",
			`SELECT count(*) FROM apparently_unowned_objects`: "0",
			`SELECT * FROM owner_pins`:                        "6|timeline|active|main||||1|0|2",
			`SELECT * FROM object_states ORDER BY state`:      "reserved|kv|1|\nsealed|kv|1|4096",
			`SELECT ordinal, generation, state, first_lsn, last_lsn, records, byte_extent, relative_path, is_current, is_replayed FROM generation_files ORDER BY 1`: "0|1|sealed|1|10|10|4096|" + sealedPath + "|1|1\n1|1|open|||||" + ObjectPath(11, "kv") + "|1|1",
			`SELECT timeline, table_id, name, indexes FROM current_tables`:                                                                                          "main|40|orders|1",
			`SELECT timeline, index_id, name, table_name FROM current_indexes`:                                                                                      "main|41|orders_sku|orders",
			`SELECT value FROM store_settings WHERE name IN ('shards', 'index_catchup') ORDER BY name`:                                                              "required\n2",
			`PRAGMA application_id`:                           "1413762379",
			`PRAGMA integrity_check`:                          "ok",
			`PRAGMA foreign_key_check`:                        "",
			`SELECT object_id, state FROM objects ORDER BY 1`: "9|sealed\n11|reserved",
			`SELECT count(*) FROM generations`:                "2",
		} {
			if got := stockShell(t, dir, query); got != want {
				t.Errorf("%s\ngot  %q\nwant %q", query, got, want)
			}
		}
		for _, view := range Views() {
			stockShell(t, dir, "SELECT * FROM "+view)
		}
	}
	ask()
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	ask()
	// As in a directory that cannot be written, where no shared memory can be made.
	immutable := "file:" + filepath.ToSlash(filepath.Join(c.options.Dir, FileName)) + "?immutable=1"
	if got := sqlite3(t, immutable, `SELECT count(*) FROM live_object_roots`); got != "2" {
		t.Errorf("immutable: %q", got)
	}
}

// TestStockShellOfPublication asks the views of a publication that stands between
// its preparation and its adoption, on a head that has a manifest, and of a job.
func TestStockShellOfPublication(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	one := l.rotate()
	head := l.publish(one...).Head
	two := l.rotate()
	if err := c.Register(ctx, two...); err != nil {
		t.Fatal(err)
	}
	prepared := l.prepare(l.cut(head, two...))
	job, err := c.StartJob(ctx, "verify", "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first, second, third := s.Generations[0].ObjectID, s.Generations[1].ObjectID, s.Generations[2].ObjectID
	old, candidate, recovery := head.RepresentationID, prepared.candidate, prepared.owner
	ask := func() {
		dir := c.options.Dir
		for query, want := range map[string]string{
			`SELECT representation_id, position, logical_factor_id, contribution_role FROM representation_entries ORDER BY 1, 2`: fmt.Sprintf("%d|0|%d|update\n%d|0|%d|update\n%d|1|%d|update", old, first, candidate, first, candidate, second),
			`SELECT representation_id, position, contribution, layout, native_object_id, index_object_id, native_count FROM manifest ORDER BY 1, 2`: fmt.Sprintf("%d|0|%x|native|%d||3\n%d|0|%x|native|%d||3\n%d|1|%x|native|%d||3",
				old, element(first), first, candidate, element(first), first, candidate, element(second), second),
			`SELECT * FROM manifest_audit`:                                                                                 "",
			`SELECT owner_id, object_id FROM live_object_roots ORDER BY 1, 2`:                                              fmt.Sprintf("6|%d\n6|%d\n6|%d\n%d|%d\n%d|%d", first, second, third, recovery, first, recovery, second),
			`SELECT owner_id, object_id, depth FROM live_object_closure WHERE owner_id <> 6`:                               fmt.Sprintf("%d|%d|0\n%d|%d|0", recovery, first, recovery, second),
			`SELECT * FROM reachable_objects ORDER BY 1`:                                                                   fmt.Sprintf("%d\n%d\n%d", first, second, third),
			`SELECT count(*) FROM apparently_unowned_objects`:                                                              "0",
			`SELECT * FROM representation_closure ORDER BY 1, 2`:                                                           fmt.Sprintf("%d|%d\n%d|%d\n%d|%d", old, first, candidate, first, candidate, second),
			`SELECT root_object_id, object_id, depth FROM dependency_closure WHERE root_object_id = ` + fmt.Sprint(first):  fmt.Sprintf("%d|%d|0", first, first),
			`SELECT kind, state, representations, blobs, objects FROM owner_pins WHERE owner_id = ` + fmt.Sprint(recovery): "recovery|active|2|1|0",
			`SELECT operation, timeline, state, expected_revision, current_revision, expected_representation_id, candidate_representation_id, recovery_owner_id FROM unresolved_publications`: fmt.Sprintf("%x|main|prepared|1|1|%d|%d|%d", prepared.Operation(), old, candidate, recovery),
			`SELECT job_id, kind, target, state, attempt_generation, work_consumed, work_reserved, ended_at, error FROM job_progress`:                                                         fmt.Sprintf("%d|verify||running|1|0|0||", job.ID),
			`SELECT blob_id, object_id FROM blob_objects ORDER BY 2`:                   fmt.Sprintf("%s|%d\n%s|%d", stockShell(t, dir, `SELECT min(blob_id) FROM blob_versions`), first, stockShell(t, dir, `SELECT max(blob_id) FROM blob_versions`), second),
			`SELECT revision, representation_id, entry_count, lsn FROM timeline_heads`: fmt.Sprintf("1|%d|1|1", old),
			`PRAGMA integrity_check`:   "ok",
			`PRAGMA foreign_key_check`: "",
		} {
			if got := stockShell(t, dir, query); got != want {
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

// TestStockShellOfCompaction asks the views of a store with a base, and with an
// object that is garbage and one that is claimed.
func TestStockShellOfCompaction(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	if err := c.ProjectSchema(ctx, Projection{SchemaVersion: 1, Tables: []TableRow{table(40, 1, "orders")}}); err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotateMany(3)...)
	job := l.compact(2, 2)
	l.publishBase(l.stateNow().Timeline, job)
	s := l.stateNow()
	a, b := s.Base[0], s.Base[1]
	one, two := s.Generations[0], s.Generations[1]
	if _, err := c.Claim(ctx, []int64{two.ObjectID}); err != nil {
		t.Fatal(err)
	}
	ask := func() {
		for query, want := range map[string]string{
			`SELECT * FROM base_files`: fmt.Sprintf("main|0|%[1]d|%[2]s|8192|2|0||2|2|%[5]d\nmain|0|%[1]d|%[2]s|8192|2|40|orders|7|7|%[6]d\nmain|0|%[1]d|%[2]s|8192|2|41||0|0|%[7]d\nmain|1|%[3]d|%[4]s|8192|2|41||7|7|%[8]d\nmain|1|%[3]d|%[4]s|8192|2|42||0|0|%[9]d",
				a.ObjectID, a.Path, b.ObjectID, b.Path, a.FragmentIDs[0], a.FragmentIDs[1], a.FragmentIDs[2], b.FragmentIDs[0], b.FragmentIDs[1]),
			`SELECT object_id, kind, state, byte_extent, relative_path FROM gc_candidates`:                                    fmt.Sprintf("%d|kv|sealed|4096|%s", one.ObjectID, one.Path),
			`SELECT object_id, deletion_generation, claim_state, outcome, error, object_state, relative_path FROM gc_intents`: fmt.Sprintf("%d|1|claimed|||gc_claimed|%s", two.ObjectID, two.Path),
			`SELECT position, contribution_role, logical_factor_id FROM representation_entries ORDER BY 1`:                    fmt.Sprintf("0|base|%d\n1|base|%d\n2|update|%d", a.ObjectID, b.ObjectID, s.Generations[2].ObjectID),
			`SELECT * FROM claim_closure_audit`:                "",
			`SELECT * FROM manifest_audit`:                     "",
			`SELECT object_id FROM apparently_unowned_objects`: fmt.Sprint(one.ObjectID),
			`SELECT count(*) FROM generation_files`:            "4",
			`SELECT state, objects FROM object_states`:         "gc_claimed|1\nreserved|1\nsealed|4",
			`SELECT count(*) FROM reachable_objects`:           "4",
			`PRAGMA integrity_check`:                           "ok",
			`PRAGMA foreign_key_check`:                         "",
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

// TestEveryViewIsListed keeps Views and the schema together, and reads each.
func TestEveryViewIsListed(t *testing.T) {
	c, _ := newStore(t, Creation{})
	expected, err := embeddedSchema()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range expected {
		if o.Type == "view" {
			names = append(names, o.Name)
		}
	}
	listed := Views()
	slices.Sort(listed)
	slices.Sort(names)
	if !slices.Equal(names, listed) {
		t.Errorf("views of the schema %v, listed %v", names, listed)
	}
	for _, view := range Views() {
		l, err := c.Inspect(t.Context(), view)
		if err != nil || len(l.Columns) == 0 {
			t.Errorf("%s: %+v, %v", view, l, err)
		}
	}
	_, err = c.Inspect(t.Context(), "objects; DROP TABLE objects")
	wantCode(t, err, CodeUnknown)
}

// TestUnownedObjects: an object without a root is shown.
func TestUnownedObjects(t *testing.T) {
	dir := makeStore(t, Options{})
	edit(t, dir, `UPDATE catalog_info SET next_incarnation = 50`, object(fixFree, "kv", 40, ""))
	c := openStore(t, Options{Dir: dir})
	l, err := c.Inspect(t.Context(), "apparently_unowned_objects")
	if err != nil || len(l.Rows) != 1 || l.Rows[0][0] != "500" {
		t.Errorf("%+v, %v", l, err)
	}
	objects, err := c.Objects(t.Context())
	if err != nil || len(objects) != 2 || objects[1].Rooted || !objects[0].Rooted {
		t.Errorf("%+v, %v", objects, err)
	}
}
