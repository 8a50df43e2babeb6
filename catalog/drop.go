package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// DropTimeline removes a timeline with its shards, generations and projection, in
// one transaction. Its files are objects without a root from then on, for
// collection. The timeline main is refused with CodeIdentity; one that something
// needs is an [ErrInUse] with an [*InUseError] that names it: a timeline that was
// forked from it, a publication, or whoever retains one of its generations. An
// unknown name is an [ErrNotFound].
func (c *Catalog) DropTimeline(ctx context.Context, name string) error {
	return c.write(ctx, "drop-timeline", func(ctx context.Context, tx *writeTx) error {
		if name == MainTimeline {
			return refuse(CodeIdentity, "", "the timeline %s is permanent", name)
		}
		id, err := timelineNamed(ctx, tx, name)
		if err != nil {
			return err
		}
		if id == 0 {
			return refuse(CodeUnknown, "", "no timeline %q", name)
		}
		head, err := readHead(ctx, tx, id, c.identity())
		if err != nil {
			return err
		}
		use, err := userOf(ctx, tx, head)
		if err != nil {
			return err
		}
		if use != nil {
			use.Timeline = name
			return &Error{Code: CodeInUse, Err: use}
		}
		if _, err := leaveMerge(ctx, tx, head); err != nil {
			return err
		}
		if err := evictMerges(ctx, tx, head.TimelineID); err != nil {
			return err
		}
		return drop(ctx, tx, head)
	})
}

// userOf names something that needs a timeline, nil for nothing.
func userOf(ctx context.Context, tx *writeTx, head *headRow) (*InUseError, error) {
	const generations = `generations g JOIN shards s ON s.shard_id = g.shard_id`
	for _, query := range []string{
		`SELECT '` + UserFork + `' AS kind, t.name, 'timeline "' || t.name || '" was forked from it' AS by FROM shards p JOIN shards s ON s.parent_shard_id = p.shard_id
			JOIN timelines t ON t.timeline_id = s.timeline_id WHERE p.timeline_id = ?1 AND ?2`,
		`SELECT '' AS kind, '' AS name, 'a publication is under way' AS by FROM publication_attempts WHERE timeline_id = ?1 AND state <> 'retired' AND ?2`,
		`SELECT o.kind, n.name, o.kind || ' "' || n.name || '" retains generation ' || g.generation || ' of its shard ' || g.shard_id AS by FROM ` + generations + `
			CROSS JOIN blob_versions b ON b.native_object_id = g.object_id CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
			CROSS JOIN representation_chunks c ON c.chunk_id = e.chunk_id AND c.entries > e.position
			CROSS JOIN owner_representations x ON x.representation_id = c.representation_id AND x.owner_id <> ?2
			JOIN owners o ON o.owner_id = x.owner_id JOIN (` + ownerNames + `) n ON n.owner_id = o.owner_id WHERE s.timeline_id = ?1`,
		`SELECT o.kind, n.name, o.kind || ' "' || n.name || '" retains generation ' || g.generation || ' of its shard ' || g.shard_id AS by FROM ` + generations + `
			JOIN owner_objects x ON x.object_id = g.object_id AND x.owner_id <> ?2
			JOIN owners o ON o.owner_id = x.owner_id JOIN (` + ownerNames + `) n ON n.owner_id = o.owner_id WHERE s.timeline_id = ?1`,
	} {
		var use InUseError
		err := tx.GetContext(ctx, &use, query+` LIMIT 1`, head.TimelineID, head.OwnerID)
		if err == nil {
			return &use, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	return nil, nil
}

// drop removes the rows of a timeline that nothing needs. The root of its head goes
// first: that is how the guards know that it is being dropped.
func drop(ctx context.Context, tx *writeTx, head *headRow) error {
	var schemas []int64
	if err := tx.SelectContext(ctx, &schemas, `SELECT schema_id FROM tables WHERE timeline_id = ?1 UNION SELECT schema_id FROM indexes WHERE timeline_id = ?1`, head.TimelineID); err != nil {
		return err
	}
	var attempts []attemptRow
	if err := tx.SelectContext(ctx, &attempts, attemptQuery+` WHERE timeline_id = ?`, head.TimelineID); err != nil {
		return err
	}
	// Rows of collected generations wait for those before them.
	var collected []int64
	if err := tx.SelectContext(ctx, &collected, `SELECT g.object_id FROM generations g JOIN shards s ON s.shard_id = g.shard_id
		WHERE s.timeline_id = ? AND g.state = 'collected'`, head.TimelineID); err != nil {
		return err
	}
	return prune(ctx, tx, fmt.Appendf(nil, "drop-timeline/%d", head.TimelineID), func() error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM owner_representations WHERE owner_id = ?`, head.OwnerID); err != nil {
			return fmt.Errorf("owner_representations: %w", err)
		}
		for i := range attempts {
			if err := attempts[i].remove(ctx, tx); err != nil {
				return err
			}
		}
		for _, query := range []string{
			`DELETE FROM tables WHERE timeline_id = ?`,
			`DELETE FROM indexes WHERE timeline_id = ?`,
			`DELETE FROM generations WHERE shard_id IN (SELECT shard_id FROM shards WHERE timeline_id = ?)`,
			`DELETE FROM shards WHERE timeline_id = ?`,
			`DELETE FROM timelines WHERE timeline_id = ?`,
		} {
			if _, err := tx.ExecContext(ctx, query, head.TimelineID); err != nil {
				return err
			}
		}
		if err := dropAllRoots(ctx, tx, head.OwnerID); err != nil {
			return err
		}
		if err := releaseOwner(ctx, tx, head.OwnerID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM owners WHERE owner_id = ?`, head.OwnerID); err != nil {
			return err
		}
		if err := pruneRepresentation(ctx, tx, head.RepresentationID); err != nil {
			return err
		}
		if err := pruneObjects(ctx, tx, idText(collected)); err != nil {
			return err
		}
		for _, id := range schemas {
			if _, err := tx.ExecContext(ctx, `DELETE FROM schema_contexts WHERE`+unreferenced, id); err != nil {
				return err
			}
		}
		return nil
	})
}
