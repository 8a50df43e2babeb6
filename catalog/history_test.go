package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestContradictingHistory: rows that have their digests and contradict each other.
func TestContradictingHistory(t *testing.T) {
	for _, x := range []struct {
		name, find string
		number     int64
		change     func(g *generationRow)
	}{
		{"collected", "which is collected", 3, func(g *generationRow) { g.State = GenerationCollected }},
		{"commits behind the world", "with commits 3 to 9", 3, func(g *generationRow) { *g.LastLSN = 9 }},
		{"commits of the base", "with commits 1 to 3", 3, func(g *generationRow) { *g.FirstLSN = 1 }},
		{"out of order", "behind generation", 4, func(g *generationRow) { g.Generation = 2 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			ctx := t.Context()
			dir := makeStore(t, Options{})
			c, err := Open(ctx, Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Close(ctx); err != nil {
					t.Error(err)
				}
			}()
			l := newLog(t, c)
			l.publish(l.rotateMany(4)...)
			l.publishBase(l.stateNow().Timeline, l.compact(2, 1))
			b, err := c.CreateBranchPoint(ctx, "b", l.stateNow().Timeline)
			if err != nil {
				t.Fatal(err)
			}
			collectAll(t, c)
			if _, err := c.HistoryOf(ctx, b.RepresentationID); err != nil {
				t.Fatal(err)
			}
			tamper(t, c, shell(t, dir), func(ctx context.Context, tx *writeTx) error {
				row, err := getGeneration(ctx, tx, l.state.Shards[0].ID, x.number)
				if err != nil {
					return err
				}
				x.change(row)
				digest := row.digest(c.identity())
				_, err = tx.ExecContext(ctx, `UPDATE generations SET generation = ?, state = ?, first_lsn = ?, last_lsn = ?, digest = ? WHERE object_id = ?`,
					row.Generation, row.State, row.FirstLSN, row.LastLSN, digest[:], row.ObjectID)
				return err
			})
			_, err = c.HistoryOf(ctx, b.RepresentationID)
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), x.find) {
				t.Errorf("%v, want %s", err, x.find)
			}
		})
	}
}
