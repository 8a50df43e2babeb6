package engine

import (
	"context"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
)

// IndexCatchup says how far an index has caught up with the log of a shard.
type IndexCatchup struct {
	Index      string // "primary" for the one of row ids, as in the views of the catalog
	Table      string
	Shard      int64
	Compacted  int64 // newest generation that the base contains
	CaughtUp   int64 // newest one whose rows the index is known to hold, 0 for none
	Maintained bool  // positions are maintained in the timeline; where not, nobody knows CaughtUp
}

// primaryName is what a primary index is called where indexes are listed. The view
// relied_indexes has it, too.
const primaryName = "primary"

// Lag is how many compacted generations the index is not known to hold. They stay until
// it does, as far as they have rows of its table.
func (c IndexCatchup) Lag() int64 { return c.Compacted - c.CaughtUp }

// IndexCatchup lists every index of the durable tables with every shard of which
// something was compacted: table after table, of each the primary index first.
func (s *Store) IndexCatchup(ctx context.Context) ([]IndexCatchup, error) {
	if s.opts.Memory {
		return nil, nil
	}
	state, err := s.cat.StateOf(ctx, s.opts.Timeline)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	position := map[catalog.IndexPosition]int64{}
	for _, p := range state.IndexState.CaughtUp {
		position[catalog.IndexPosition{IndexID: p.IndexID, ShardID: p.ShardID}] = p.Generation
	}
	maintained := catchupMode(&state) == indexCatchupRequired
	var list []IndexCatchup
	for _, w := range indexesOf(s.synced.Load().schema) {
		for _, c := range state.IndexState.Compacted {
			name := primaryName
			if w.ix != nil {
				name = w.ix.Name
			}
			list = append(list, IndexCatchup{
				Index: name, Table: w.def.Name, Shard: c.ShardID, Compacted: c.Generation,
				CaughtUp: position[catalog.IndexPosition{IndexID: w.IndexID, ShardID: c.ShardID}], Maintained: maintained,
			})
		}
	}
	return list, nil
}
