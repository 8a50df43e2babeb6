package catalog

import (
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

func ExampleCode() {
	fmt.Println(CodeImmutable)
	// Output: CAT-IMMUTABLE
}
