package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
)

// stateOf is what the catalog has of a timeline.
func stateOf(t testing.TB, s *Store) catalog.State {
	t.Helper()
	state, err := s.cat.StateOf(t.Context(), s.opts.Timeline)
	must(t, err)
	return state
}

// segmentsOf lists the segments of an index, or of the primary index of a table.
func segmentsOf(t testing.TB, s *Store, name string) (list []catalog.Segment) {
	t.Helper()
	for _, g := range stateOf(t, s).IndexState.Segments {
		for _, w := range indexesOf(s.synced.Load().schema) {
			if w.IndexRef == g.IndexRef && (w.ix == nil && w.def.Name == name || w.ix != nil && w.ix.Name == name) {
				list = append(list, g)
			}
		}
	}
	return list
}

// caughtUp fails the test unless every index has caught up with all that is compacted,
// and nothing of that is retained.
func caughtUp(t testing.TB, s *Store) {
	t.Helper()
	list, err := s.IndexCatchup(t.Context())
	must(t, err)
	if len(list) == 0 {
		t.Error("nothing is compacted, or there is no index")
	}
	for _, c := range list {
		if c.Lag() != 0 {
			t.Errorf("%+v", c)
		}
	}
	if left := stateOf(t, s).Retained; len(left) > 0 {
		t.Errorf("retained: %+v", left)
	}
}

// indexJob runs a job of kind index.
func indexJob(s *Store, target string) error {
	_, err := s.RunJob(context.Background(), JobRequest{Kind: JobIndex, Target: target})
	return err
}

func createIndex(table, name string, columns ...int) func(*Tx) error {
	return func(tx *Tx) error {
		return tx.Apply(CreateIndex{Table: tx.Schema().Lookup(table).Table.ID, Index: testIndex(name, false, columns...)})
	}
}

func dropIndex(name string) func(*Tx) error {
	return func(tx *Tx) error {
		for _, def := range tx.Schema().Tables() {
			for _, ix := range def.Indexes {
				if ix.Name == name {
					return tx.Apply(DropIndex{Table: def.ID, Index: ix.ID})
				}
			}
		}
		return fmt.Errorf("no index %s", name)
	}
}

// collectedOf counts generations that the catalog lists without a file.
func collectedOf(st *catalog.State) (n int) {
	for _, g := range st.Generations {
		if g.State == catalog.GenerationCollected {
			n++
		}
	}
	return n
}
