package catalog

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// History is what reads one representation: a state as its files hold it.
type History struct {
	WorldID          int64
	RepresentationID int64
	LSN              int64 // last commit of the state, 0: none
	LiveCount        int64
	Fingerprint      []byte
	SchemaVersion    int64 // LSN of the schema the world was cut with

	Base    []BaseFile // in the order of the manifest
	BaseLSN int64      // the state that Base holds, 0 without one
	// Generations are those behind the base, in the order of the manifest, all
	// sealed. Some may be of the shards of a timeline that this one was forked from.
	Generations  []Generation
	ShardOrdinal map[int64]int64 // of every shard that Generations and Retained name, by its id
	// Retained are generations that the base contains and that are not retired yet, in
	// the order of the manifest. They are never replayed; an index that has not caught
	// up reads them.
	Retained   []Generation
	IndexState IndexState
}

// HistoryOf reads what a representation is made of and verifies it row by row. A
// head or branch point that selects it must have its digest. It pins nothing: a
// caller reads files of a representation that something retains meanwhile. One
// that does not exist is an [ErrNotFound].
func (c *Catalog) HistoryOf(ctx context.Context, representationID int64) (History, error) {
	var h History
	err := c.read(ctx, "history", func(ctx context.Context, tx *sqlx.Tx) (err error) {
		h, err = readHistory(ctx, tx, c.identity(), representationID)
		return err
	})
	if err != nil {
		return History{}, err
	}
	return h, nil
}

func readHistory(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID int64) (History, error) {
	var worlds []struct {
		WorldID int64 `db:"world_id"`
		worldRow
	}
	if err := sqlx.SelectContext(ctx, q, &worlds, `SELECT w.world_id, `+worldColumns+`
		FROM representations r JOIN worlds w ON w.world_id = r.world_id JOIN schema_contexts c ON c.schema_id = w.schema_id
		WHERE r.representation_id = ?`, representationID); err != nil {
		return History{}, err
	}
	if len(worlds) == 0 {
		return History{}, refuse(CodeUnknown, "", "no representation %d with its world", representationID)
	}
	w := &worlds[0]
	if err := checkSelectors(ctx, q, identity, representationID); err != nil {
		return History{}, err
	}
	p, err := readManifest(ctx, q, identity, representationID, &w.worldRow)
	if err != nil {
		return History{}, err
	}
	h := History{WorldID: w.WorldID, RepresentationID: representationID, LSN: w.LSN, LiveCount: w.LiveCount, Fingerprint: w.Fingerprint,
		SchemaVersion: w.SchemaVersion, ShardOrdinal: map[int64]int64{}}
	if h.Base, h.BaseLSN, err = baseFiles(ctx, q, identity, p.bases); err != nil {
		return History{}, err
	}
	if h.BaseLSN > h.LSN {
		return History{}, refuse(CodeCorrupt, "", "representation %d has a base of LSN %d, its world has commits up to %d", representationID, h.BaseLSN, h.LSN)
	}
	if h.Generations, err = h.generations(ctx, q, identity, p.updates, roleUpdate); err != nil {
		return History{}, err
	}
	if h.Retained, err = h.generations(ctx, q, identity, p.merged, roleMerged); err != nil {
		return History{}, err
	}
	if h.IndexState, err = readIndexState(ctx, q, identity, w.IndexStateID); err != nil {
		return History{}, err
	}
	return h, h.ordinals(ctx, q, identity)
}

// checkSelectors compares the heads and branch points of a representation with
// their digests, which cover its row and its world's.
func checkSelectors(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID int64) error {
	var heads []headRow
	if err := sqlx.SelectContext(ctx, q, &heads, headQuery+` WHERE t.head_representation_id = ?`, representationID); err != nil {
		return err
	}
	for i := range heads {
		if err := checkDigest("timeline", heads[i].TimelineID, heads[i].Digest, heads[i].digest(identity)); err != nil {
			return err
		}
	}
	var branches []branchRow
	if err := sqlx.SelectContext(ctx, q, &branches, branchQuery+` WHERE b.representation_id = ?`, representationID); err != nil {
		return err
	}
	for i := range branches {
		if err := branches[i].verify(identity); err != nil {
			return err
		}
	}
	return nil
}

// generations puts the generations of entries of a role together, in their order.
func (h *History) generations(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, entries []entryRow, role string) (list []Generation, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(entries))
	for i := range entries {
		ids[i] = entries[i].ObjectID
	}
	var rows []generationRow
	if err := sqlx.SelectContext(ctx, q, &rows, generationQuery+` WHERE g.object_id IN (SELECT value FROM json_each(?))`, idText(ids)); err != nil {
		return nil, err
	}
	by := make(map[int64]*generationRow, len(rows))
	for i := range rows {
		by[rows[i].ObjectID] = &rows[i]
	}
	last := make(map[int64]int64) // generation, by shard
	for i := range entries {
		row := by[entries[i].ObjectID]
		if row == nil {
			return nil, checkForeign(ctx, q, h.RepresentationID, []int64{entries[i].ObjectID})
		}
		g, err := row.verified(identity)
		if err != nil {
			return nil, err
		}
		if err := entries[i].stands(&g, role); err != nil {
			return nil, err
		}
		switch {
		case g.State != GenerationSealed:
			return nil, refuse(CodeCorrupt, "", "representation %d has generation %d of shard %d, which is %s", h.RepresentationID, g.Generation, g.ShardID, g.State)
		case role == roleMerged && g.LastLSN > h.BaseLSN:
			return nil, refuse(CodeCorrupt, "", "representation %d has a base of LSN %d and retains generation %d of shard %d with commits up to %d",
				h.RepresentationID, h.BaseLSN, g.Generation, g.ShardID, g.LastLSN)
		case role == roleUpdate && (g.FirstLSN <= h.BaseLSN || g.LastLSN > h.LSN):
			return nil, refuse(CodeCorrupt, "", "representation %d is of LSN %d on a base of %d and has generation %d of shard %d with commits %d to %d",
				h.RepresentationID, h.LSN, h.BaseLSN, g.Generation, g.ShardID, g.FirstLSN, g.LastLSN)
		case g.Generation <= last[g.ShardID]:
			return nil, refuse(CodeCorrupt, "", "representation %d has generation %d of shard %d behind generation %d", h.RepresentationID, g.Generation, g.ShardID, last[g.ShardID])
		}
		last[g.ShardID] = g.Generation
		list = append(list, g)
	}
	return list, nil
}

// ordinals looks the shards of the generations up.
func (h *History) ordinals(ctx context.Context, q sqlx.QueryerContext, identity [16]byte) error {
	var ids []int64
	for _, id := range h.shardIDs() {
		if h.ShardOrdinal[id] == 0 {
			h.ShardOrdinal[id] = 1
			ids = append(ids, id)
		}
	}
	var rows []shardRow
	if err := sqlx.SelectContext(ctx, q, &rows, shardQuery+` WHERE shard_id IN (SELECT value FROM json_each(?))`, idText(ids)); err != nil {
		return err
	}
	if len(rows) != len(ids) {
		return refuse(CodeCorrupt, "", "representation %d has generations of %d shards, of which %d exist", h.RepresentationID, len(ids), len(rows))
	}
	for i := range rows {
		if err := checkDigest("shard", rows[i].ID, rows[i].Digest, rows[i].digest(identity)); err != nil {
			return err
		}
		h.ShardOrdinal[rows[i].ID] = rows[i].Ordinal
	}
	return nil
}

func (h *History) shardIDs() (ids []int64) {
	for _, list := range [][]Generation{h.Generations, h.Retained} {
		for i := range list {
			ids = append(ids, list[i].ShardID)
		}
	}
	return ids
}
