package catalog

import (
	"cmp"
	"context"
	"slices"

	"github.com/jmoiron/sqlx"
)

// Reached is an object that another one leads to over edges.
type Reached struct {
	ObjectID int64
	Depth    int64 // edges on the shortest way; 0 for the root itself
}

// closureQuery hands over the edges that a root leads to. It follows each once,
// where dependency_closure makes a row for every depth at which an object is met,
// for every root there is.
const closureQuery = `WITH RECURSIVE reached(id) AS (
		SELECT object_id FROM objects WHERE object_id = ?1
		UNION SELECT e.target_object_id FROM reached r CROSS JOIN object_edges e ON e.source_object_id = r.id)
	SELECT (SELECT count(*) FROM objects WHERE object_id = ?1),
		(SELECT json_group_array(json_array(e.source_object_id, e.target_object_id)) FROM reached r CROSS JOIN object_edges e ON e.source_object_id = r.id)`

// ObjectClosure lists the objects that a root leads to over edges, and the root: what
// dependency_closure has of it, nearest first and by id where they are equally far.
// An unknown root has none.
func (c *Catalog) ObjectClosure(ctx context.Context, root int64) (list []Reached, err error) {
	err = c.read(ctx, "object-closure", func(ctx context.Context, tx *sqlx.Tx) error {
		var known bool
		var edges string
		if err := tx.QueryRowxContext(ctx, closureQuery, root).Scan(&known, &edges); err != nil {
			return err
		}
		list = nil
		if known {
			list = closureOf(root, parseIDs(edges))
		}
		return nil
	})
	return list, err
}

// closureOf follows edges, each a source and a target, breadth first.
func closureOf(root int64, edges []int64) []Reached {
	targets := make(map[int64][]int64)
	for i := 0; i+1 < len(edges); i += 2 {
		targets[edges[i]] = append(targets[edges[i]], edges[i+1])
	}
	seen := map[int64]bool{root: true}
	list := []Reached{{ObjectID: root}}
	for i := 0; i < len(list); i++ {
		for _, id := range targets[list[i].ObjectID] {
			if !seen[id] {
				seen[id] = true
				list = append(list, Reached{id, list[i].Depth + 1})
			}
		}
	}
	slices.SortFunc(list, func(a, b Reached) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.ObjectID, b.ObjectID))
	})
	return list
}
