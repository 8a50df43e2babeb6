package catalog

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestCheckFindings plants one fault at a time behind the guards and expects a
// finding that names it, with the rest still checked.
func TestCheckFindings(t *testing.T) {
	for _, c := range []struct {
		name    string
		trigger string // put aside for the edit
		edits   []string
		find    string
	}{
		{"dangling reference", "worlds_no_update", []string{`PRAGMA foreign_keys = OFF`, `UPDATE worlds SET schema_id = 99`}, "foreign key: a row of worlds"},
		{"object beyond the allocator", "objects_insert", []string{object(1<<40, "kv", 77, "")}, "never reserved"},
		{"seal without receipt", "objects_update", []string{objectUpdate(fixSealed, "state = 'sealed', content_id = zeroblob(32), byte_extent = 1, logical_extent = 1, integrity_digest = zeroblob(32)")}, "without a receipt"},
		{"root on a claimed object", "objects_claim", []string{objectUpdate(fixSealed, "state = 'gc_claimed'")}, "still has a root"},
		{"replayed generation without a root", "owner_objects_delete", []string{`DELETE FROM owner_objects`}, "no root on it"},
		{"manifest without its entries", "representations_no_update", []string{`UPDATE representations SET entry_count = 3`}, "manifest: representation 5 declares 3 entries, has 0"},
		{"claim without an intent", "objects_claim", []string{`UPDATE catalog_info SET next_incarnation = 50`, object(fixFree, "kv", 40, ""), objectUpdate(fixFree, "state = 'gc_claimed'")},
			"object 500 is claimed and has no intent"},
		{"sealed object of no use", "objects_claim", []string{`UPDATE catalog_info SET next_incarnation = 50`, object(fixFree, "kv", 40, ""), sealing(fixFree)[0], sealing(fixFree)[1],
			fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'output')`, fixOwner, fixFree)},
			"object 500 is a sealed kv that something needs, no generation, and has no fragments"},
		{"owner of no branch point", "branch_points_insert", []string{fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'branch_point')`, fixFree)},
			"owner 500 of a branch point retains and no branch point selects it"},
		{"session closed over its pins", "sessions_update", []string{session(fixFree), reader(fixFree+1, fixFree), `UPDATE sessions SET state = 'closed', ended_at = started_at`},
			"owner 501 of a reader retains for a session that was closed"},
		{"trigger missing", "objects_claim", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := makeStore(t, Options{})
			store, err := Open(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := store.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			withoutTrigger(t, dir, c.trigger, c.edits...)
			if c.edits == nil {
				edit(t, dir, "DROP TRIGGER "+c.trigger)
				c.find = c.trigger
			}
			var findings []string
			if err := store.Check(t.Context(), func(text string) { findings = append(findings, text) }); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range findings {
				found = found || strings.Contains(f, c.find)
			}
			if !found {
				t.Errorf("findings %q, none has %q", findings, c.find)
			}
		})
	}
}

// TestCheckOfBase: the fragments of an object that no head has are checked, too.
func TestCheckOfBase(t *testing.T) {
	ctx := t.Context()
	for _, x := range []struct {
		sql  string
		find int
	}{
		{`UPDATE fragments SET rows = rows + 1 WHERE ordinal = 1`, 1},
		{`DELETE FROM fragments WHERE ordinal = 2`, 2}, // the others know how many there are
		{`DELETE FROM fragments`, 1},
		{`UPDATE objects SET byte_extent = byte_extent + 1 WHERE object_id IN (SELECT object_id FROM fragments)`, 4}, // and the receipt
		{`SELECT 1`, 0},
	} {
		c, err := Open(ctx, Options{Dir: makeStore(t, Options{})})
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(t, c)
		l.publish(l.rotateMany(2)...)
		l.compact(2, 1)
		withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error { _, err := tx.ExecContext(ctx, x.sql); return err })
		var findings []string
		if err := c.Check(ctx, func(text string) { findings = append(findings, text) }); err != nil {
			t.Fatal(err)
		}
		if len(findings) != x.find {
			t.Errorf("%s: findings %q", x.sql, findings)
		}
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckOfCandidate: an entry that no head has is checked, too.
func TestCheckOfCandidate(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t, c)
	l.prepare(l.publication(l.rotateMany(2)...))
	withoutTrigger(t, dir, "manifest_entries_no_update", `UPDATE manifest_entries SET contribution = zeroblob(16) WHERE position = 1`)
	withoutTrigger(t, dir, "representation_chunks_no_update", `UPDATE representation_chunks SET first_position = 1, ordinal = 2, entries = 3`)
	var findings []string
	if err := c.Check(ctx, func(text string) { findings = append(findings, text) }); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(findings, "\n")
	for _, want := range []string{"manifest entry of factor", "out of order", "takes 3 entries of a chunk of 2", "declares 2 entries, has 3"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	if len(findings) != 4 {
		t.Errorf("findings: %s", all)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func ExampleCode() {
	fmt.Println(CodeImmutable)
	// Output: CAT-IMMUTABLE
}
