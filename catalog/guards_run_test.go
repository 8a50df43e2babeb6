package catalog

import (
	"strings"
	"testing"
)

// TestGuards runs one fault at a time, and the neighbours that are allowed. At
// the end every RAISE of the schema must have been met.
func TestGuards(t *testing.T) {
	f := newFixture(t)
	run := func(cases []guardCase) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				got := f.run(t, false, append(c.setup[:len(c.setup):len(c.setup)], c.sql)...)
				if got.code != c.code || !strings.Contains(got.text, c.text) {
					t.Errorf("%s\ngot  %q %s\nwant %q …%s…", c.sql, got.code, got.text, c.code, c.text)
				}
			})
		}
	}
	run(mergeCases())
	// The others move the head and claim the base object.
	if _, err := f.db.ExecContext(t.Context(), forgetMerge); err != nil {
		t.Fatal(err)
	}
	for _, group := range [][]guardCase{controlCases(), contentCases(), objectCases(), rootCases(), logCases(),
		indexCases(), graphCases(), manifestCases(), publicationCases(), jobCases(), baseCases(), collectionCases(), branchCases(), sessionCases(), timelineCases()} {
		run(group)
	}
	for _, text := range f.raises() {
		if !f.messages[text] {
			t.Errorf("no case meets the guard %q", text)
		}
	}
}

// TestGateCannotLeak: a transaction that leaves metadata GC open cannot commit.
func TestGateCannotLeak(t *testing.T) {
	f := newFixture(t)
	if got := f.run(t, true, gate); got.code != CodeForeignKey {
		t.Errorf("COMMIT with the gate open: %v", got)
	}
}
