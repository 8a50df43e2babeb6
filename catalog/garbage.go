package catalog

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jmoiron/sqlx"
)

// Garbage lists up to limit objects that no root reaches: reserved, sealed, or
// quarantined with evidence of what became of them; and, first of all, those that
// are claimed and not recorded as collected yet. Dependents come before what they
// depend on, as they must be claimed. A generation that the log goes on in, or
// behind, is none. It is no authority to remove a file; a claim is.
func (c *Catalog) Garbage(ctx context.Context, limit int) ([]Object, error) {
	var list []Object
	err := c.read(ctx, "garbage", func(ctx context.Context, tx *sqlx.Tx) error {
		g, err := readGraph(ctx, tx)
		if err != nil {
			return err
		}
		text := idText(g.garbage(limit))
		if text == "[]" {
			return nil
		}
		return tx.SelectContext(ctx, &list, `SELECT `+objectColumns+` FROM objects o WHERE o.object_id IN (SELECT value FROM json_each(?))
			ORDER BY o.state = 'gc_claimed' DESC, o.graph_seq IS NULL DESC, o.graph_seq DESC, o.object_id LIMIT ?`, text, limit)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// graph is what decides which objects are reached. It says what the views
// gc_candidates and reachable_objects say, many times as fast: every open asks.
type graph struct {
	claimed, free  []int64 // objects that are claimed, and that could be
	current        []int64 // objects that the log goes on in
	objects, blobs []int64 // that are rooted, the objects also through index states, the blobs through manifests
	bare, natives  []int64 // blobs of one object each, and those
	indexed        []int64 // blob, native, index and secondary object of each other blob
	edges          []int64 // source and target of each

	targets map[int64][]int64 // of the edges, by source, once they were followed
}

// graphQuery hands the graph over as texts: a row for each of ten thousand objects
// would take ten times as long. Indexes answer it but for the manifests.
const graphQuery = `SELECT
	(SELECT json_group_array(object_id) FROM objects WHERE state = 'gc_claimed'),
	(SELECT json_group_array(object_id) FROM objects WHERE state IN ('reserved','sealed')),
	(SELECT json_group_array(object_id) FROM objects WHERE state = 'quarantined' AND reconciled_by IS NOT NULL),
	(SELECT json_group_array(g.object_id) FROM shards s CROSS JOIN generations g ON g.shard_id = s.shard_id AND g.generation >= s.current_generation),
	(SELECT json_group_array(object_id) FROM (SELECT object_id FROM owner_objects
		UNION ALL SELECT s.object_id FROM (SELECT DISTINCT r.index_state_id FROM owner_representations o JOIN representations r ON r.representation_id = o.representation_id) x
			CROSS JOIN index_state_segments s ON s.index_state_id = x.index_state_id)),
	(SELECT json_group_array(blob_id) FROM owner_blobs),
	(SELECT json_group_array(e.blob_id) FROM (
		SELECT chunk_id, max(entries) AS entries FROM representation_chunks WHERE representation_id IN (SELECT representation_id FROM owner_representations) GROUP BY chunk_id) c
		CROSS JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries),
	(SELECT json_group_array(blob_id) FROM (SELECT blob_id FROM blob_versions WHERE index_object_id IS NULL ORDER BY native_object_id)),
	(SELECT json_group_array(native_object_id) FROM (SELECT native_object_id FROM blob_versions WHERE index_object_id IS NULL ORDER BY native_object_id)),
	(SELECT json_group_array(json_array(blob_id, native_object_id, index_object_id, coalesce(secondary_native_object_id, 0))) FROM blob_versions WHERE index_object_id IS NOT NULL),
	(SELECT json_group_array(json_array(source_object_id, target_object_id)) FROM object_edges)`

func readGraph(ctx context.Context, tx *sqlx.Tx) (*graph, error) {
	var g graph
	var reconciled, entries []int64
	into := []*[]int64{&g.claimed, &g.free, &reconciled, &g.current, &g.objects, &g.blobs, &entries, &g.bare, &g.natives, &g.indexed, &g.edges}
	texts := make([]string, len(into))
	dest := make([]any, len(into))
	for i := range texts {
		dest[i] = &texts[i]
	}
	if err := tx.QueryRowxContext(ctx, graphQuery).Scan(dest...); err != nil {
		return nil, err
	}
	for i, list := range into {
		*list = parseIDs(texts[i])
	}
	g.free, g.blobs = append(g.free, reconciled...), append(g.blobs, entries...)
	return &g, nil
}

// garbage lists the claimed objects and those that could be and are not reached.
// Without edges any of them may go first, so limit are enough.
func (g *graph) garbage(limit int) []int64 {
	keep := g.closure(bitmapOf(g.objects), bitmapOf(g.blobs))
	keep.Or(bitmapOf(g.current))
	list := g.claimed
	for _, id := range g.free {
		if len(g.edges) == 0 && len(list) >= limit {
			break
		}
		if !keep.Contains(uint64(id)) {
			list = append(list, id)
		}
	}
	return list
}

// closure is what objects and blobs reach, and the objects. It changes objects.
func (g *graph) closure(objects, blobs *roaring64.Bitmap) *roaring64.Bitmap {
	natives := make([]uint64, 0, blobs.GetCardinality())
	for i, id := range g.bare {
		if blobs.Contains(uint64(id)) {
			natives = append(natives, uint64(g.natives[i]))
		}
	}
	objects.AddMany(natives)
	for i := 0; i+3 < len(g.indexed); i += 4 {
		if b := g.indexed[i : i+4]; blobs.Contains(uint64(b[0])) {
			for _, id := range b[1:] {
				if id != 0 {
					objects.Add(uint64(id))
				}
			}
		}
	}
	g.follow(objects)
	return objects
}

// bitmapOf is the set of ids.
func bitmapOf(ids []int64) *roaring64.Bitmap {
	list := make([]uint64, len(ids))
	for i, id := range ids {
		list[i] = uint64(id)
	}
	return roaring64.BitmapOf(list...)
}

// parseIDs reads the numbers of a JSON array, whatever its nesting.
func parseIDs(text string) (ids []int64) {
	var id int64
	inside := false
	for i := range len(text) {
		if c := text[i]; c >= '0' && c <= '9' {
			id, inside = 10*id+int64(c-'0'), true
			continue
		}
		if inside {
			ids = append(ids, id)
		}
		id, inside = 0, false
	}
	return ids
}

// follow adds what is reached over edges.
func (g *graph) follow(reached *roaring64.Bitmap) {
	if len(g.edges) == 0 {
		return
	}
	if g.targets == nil {
		g.targets = make(map[int64][]int64)
		for i := 0; i+1 < len(g.edges); i += 2 {
			g.targets[g.edges[i]] = append(g.targets[g.edges[i]], g.edges[i+1])
		}
	}
	queue := reached.ToArray()
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, target := range g.targets[int64(id)] {
			if reached.CheckedAdd(uint64(target)) {
				queue = append(queue, uint64(target))
			}
		}
	}
}
