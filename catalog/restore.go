package catalog

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
)

// RestoreRequest asks for the state of a branch point as the newest of a timeline.
type RestoreRequest struct {
	Head        Timeline // expected: ID, Revision and RepresentationID count
	BranchPoint string   // name; it may be of another timeline
	BranchID    int64    // expected, since a name may be given anew; 0 for whichever it is
	LSN         int64    // of the restore, greater than that of every commit of the timeline and of the branch point
}

// Restore publishes the state of a branch point anew, in one transaction: a world
// of its own, with the restore's LSN as its own and its schema's, and a
// representation of the same entries. Replay begins at each shard's first generation
// that is open, in which nothing is written yet, nor in those behind it up to the
// current one; all before are sealed, and the timeline
// lets go of what is passed over and of the head before. What was undone stays
// readable where a branch point retains it.
//
// A head that moved is an [ErrConflict], an unknown branch point an [ErrNotFound];
// a current generation that is not open, or an LSN that is not greater than all others,
// is refused with CodeGeneration.
func (c *Catalog) Restore(ctx context.Context, r RestoreRequest) (Timeline, error) {
	var restored Timeline
	err := c.write(ctx, "restore", func(ctx context.Context, tx *writeTx) error {
		if err := checkID("LSN", r.LSN); err != nil {
			return err
		}
		identity := c.identity()
		head, err := expectHead(ctx, tx, r.Head, identity)
		if err != nil {
			return err
		}
		source, err := readBranchPoint(ctx, tx, r.BranchPoint, identity)
		if err != nil {
			return err
		}
		if r.BranchID != 0 && r.BranchID != source.BranchID {
			return refuse(CodeUnknown, "", "branch point %q was deleted and made anew", r.BranchPoint)
		}
		if r.LSN <= source.LSN {
			return refuse(CodeGeneration, "", "a restore at LSN %d, branch point %q has commits up to %d", r.LSN, r.BranchPoint, source.LSN)
		}
		if err := checkRestored(ctx, tx, identity, head, source); err != nil {
			return err
		}
		passed, from, err := passedOver(ctx, tx, head, r.LSN, identity)
		if err != nil {
			return err
		}
		next, err := insertRestored(ctx, tx, head, source, r.LSN)
		if err != nil {
			return err
		}
		restored = next.timeline()
		return c.moveHead(ctx, tx, head, next, from, passed)
	})
	if err != nil {
		return Timeline{}, err
	}
	return restored, nil
}

// checkRestored refuses to take over a bookkeeping of indexes that is not known, or
// in which positions are not maintained when those of the head are: nobody has
// ever validated what it says.
func checkRestored(ctx context.Context, tx *writeTx, identity [16]byte, head *headRow, source *branchRow) error {
	was, err := readIndexState(ctx, tx, identity, head.IndexStateID)
	if err != nil {
		return err
	}
	is, err := readIndexState(ctx, tx, identity, source.IndexStateID)
	if err != nil {
		return err
	}
	if was.maintained() && !is.maintained() {
		return refuse(CodeIndex, "", "branch point %q is of a time when positions of indexes were not maintained; timeline %q maintains them", source.Name, head.Name)
	}
	return nil
}

// passedOver returns the generations that recovery would have replayed, and the one
// of each shard that replay is to begin with: a crash can leave several that nothing
// was written in. Every commit of the timeline must be older than the restore.
func passedOver(ctx context.Context, tx *writeTx, head *headRow, lsn int64, identity [16]byte) (passed []Generation, from []ShardGeneration, err error) {
	shards, err := shardsOf(ctx, tx, head.TimelineID, identity)
	if err != nil {
		return nil, nil, err
	}
	if lsn <= head.LSN {
		return nil, nil, refuse(CodeGeneration, "", "a restore at LSN %d, the head has commits up to %d", lsn, head.LSN)
	}
	for _, s := range shards {
		var rows []generationRow
		if err := tx.SelectContext(ctx, &rows, generationQuery+` WHERE g.shard_id = ? AND g.generation >= ? AND g.generation <= ? ORDER BY g.generation`,
			s.ID, s.ReplayFrom, s.CurrentGeneration); err != nil {
			return nil, nil, err
		}
		first := int64(0) // that is open: then all behind it are
		for i := range rows {
			g, err := rows[i].verified(identity)
			switch {
			case err != nil:
				return nil, nil, err
			case g.State == GenerationOpen:
				first = cmp.Or(first, g.Generation)
				continue
			case g.LastLSN >= lsn:
				return nil, nil, refuse(CodeGeneration, "", "a restore at LSN %d, generation %d of shard %d has commits up to %d", lsn, g.Generation, g.ShardID, g.LastLSN)
			}
			passed = append(passed, g)
		}
		if first == 0 {
			return nil, nil, refuse(CodeGeneration, "", "generation %d of shard %d is the current one and not open; a restore goes on in a fresh one", s.CurrentGeneration, s.ID)
		}
		if first > s.ReplayFrom {
			from = append(from, ShardGeneration{s.ID, first})
		}
	}
	return passed, from, nil
}

// insertRestored inserts world and representation and returns the head that selects them.
func insertRestored(ctx context.Context, tx *writeTx, head *headRow, source *branchRow, lsn int64) (*headRow, error) {
	// One run of ids: schema context, world, cut, representation.
	first, err := tx.newIDs(ctx, 4)
	if err != nil {
		return nil, err
	}
	next := &headRow{TimelineID: head.TimelineID, Name: head.Name, OwnerID: head.OwnerID, CreatedAt: head.CreatedAt, Revision: head.Revision + 1,
		WorldID: first + 1, RepresentationID: first + 3, worldRow: source.worldRow}
	next.LSN, next.SchemaVersion, next.SchemaID = lsn, lsn, first
	if err := restoreSchema(ctx, tx, source.SchemaID, first, lsn); err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO worlds(world_id, admitted_cut_id, lsn, schema_id, live_count, composite_fingerprint, restored_from) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		next.WorldID, next.WorldID+1, lsn, next.SchemaID, next.LiveCount, next.Fingerprint, source.RepresentationID); err != nil {
		return nil, fmt.Errorf("worlds: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO representations(representation_id, world_id, index_state_id, layout_version, entry_count, contribution_sum) VALUES (?, ?, ?, ?, ?, ?)`,
		next.RepresentationID, next.WorldID, next.IndexStateID, next.LayoutVersion, next.EntryCount, next.ContributionSum); err != nil {
		return nil, fmt.Errorf("representations: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO representation_chunks(representation_id, ordinal, chunk_id, entries, first_position)
		SELECT ?, ordinal, chunk_id, entries, first_position FROM representation_chunks WHERE representation_id = ? ORDER BY ordinal`,
		next.RepresentationID, source.RepresentationID); err != nil {
		return nil, fmt.Errorf("representation_chunks: %w", err)
	}
	return next, nil
}

// restoreSchema inserts the context of the same definitions under a new version.
func restoreSchema(ctx context.Context, tx *writeTx, from, id, version int64) error {
	var descriptor []byte
	var old int64
	if err := tx.QueryRowxContext(ctx, `SELECT descriptor, schema_version FROM schema_contexts WHERE schema_id = ?`, from).Scan(&descriptor, &old); err != nil {
		return fmt.Errorf("schema context %d: %w", from, err)
	}
	definitions, ok := bytes.CutPrefix(descriptor, schemaPrefix(old))
	if !ok {
		return refuse(CodeCorrupt, "", "the descriptor of schema context %d does not begin with %q", from, schemaPrefix(old))
	}
	return insertSchemaContext(ctx, tx, id, version, append(schemaPrefix(version), definitions...))
}

// moveHead roots the new head, selects it, takes replay to the fresh generations
// and lets go of the rest: each guard looks at the step before.
func (c *Catalog) moveHead(ctx context.Context, tx *writeTx, head, next *headRow, from []ShardGeneration, passed []Generation) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?, ?)`, next.OwnerID, next.RepresentationID); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	if _, err := leaveMerge(ctx, tx, head); err != nil {
		return err
	}
	digest := next.digest(c.identity())
	result, err := tx.ExecContext(ctx, `UPDATE timelines SET head_world_id = ?, head_representation_id = ?, revision = ?, digest = ? WHERE timeline_id = ? AND revision = ?`,
		next.WorldID, next.RepresentationID, next.Revision, digest[:], head.TimelineID, head.Revision)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("timelines: %w", err)
	}
	for _, f := range from {
		if err := c.updateShard(ctx, tx, f.ShardID, func(s *shardRow) error { s.ReplayFrom = f.Generation; return nil }); err != nil {
			return fmt.Errorf("shards: %w", err)
		}
	}
	for i := range passed {
		if _, err := tx.ExecContext(ctx, `DELETE FROM owner_objects WHERE owner_id = ? AND object_id = ? AND purpose = 'active'`, head.OwnerID, passed[i].ObjectID); err != nil {
			return fmt.Errorf("owner_objects: %w", err)
		}
	}
	result, err = tx.ExecContext(ctx, `DELETE FROM owner_representations WHERE owner_id = ? AND representation_id = ?`, head.OwnerID, head.RepresentationID)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	if head.Others {
		if err := evictMerges(ctx, tx, 0); err != nil {
			return err
		}
	}
	return prune(ctx, tx, fmt.Appendf(nil, "restore/%d", next.RepresentationID), func() error {
		return pruneRepresentation(ctx, tx, head.RepresentationID)
	})
}
