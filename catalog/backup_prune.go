package catalog

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// PruneCopy leaves in the copy in file what its timelines and branch points need,
// and returns what that names. Sessions, pins, jobs, attempts to publish, merges to
// share and intents to remove files are of the live store; so is what its log holds behind
// the heads: there each shard goes on in a generation of its own, whose file is to
// be made. behind are the generations of the live store that this is left out of.
func PruneCopy(ctx context.Context, file string) (c Copied, behind []CopiedLog, err error) {
	err = rewriteCopy(ctx, pruneCopy, file, func(ctx context.Context, tx *sqlx.Tx, info *infoRow) error {
		var state string
		if err := tx.GetContext(ctx, &state, `SELECT state FROM storage_domain`); err != nil {
			return err
		}
		if state != "normal" {
			return refuse(CodeGC, "", "frozen: storage domain is %s", state)
		}
		var live Copied
		if err := live.read(ctx, tx); err != nil {
			return err
		}
		behind = live.Logs
		// Each row that stays is held against its digest before anything is changed:
		// what is damaged here is no backup.
		if err := redigest(ctx, tx, info.identity(), info.identity()); err != nil {
			return err
		}
		for _, text := range pruning {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		p := pruner{ctx: ctx, tx: tx, identity: info.identity()}
		if err := p.shards(); err != nil {
			return err
		}
		for _, text := range pruningLast {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		c.Identity = info.identity()
		return c.read(ctx, tx)
	})
	return c, behind, err
}

// pruning removes what is not reached from a head or a branch point.
var pruning = []string{
	`CREATE TEMP TABLE kept_roots AS SELECT owner_id, head_representation_id AS representation_id FROM timelines
		UNION SELECT owner_id, representation_id FROM branch_points`,
	`CREATE TEMP TABLE kept_objects(object_id INTEGER PRIMARY KEY)`,
	`INSERT INTO kept_objects
		WITH RECURSIVE blobs(blob_id) AS (
			SELECT e.blob_id FROM representation_chunks c JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries
				WHERE c.representation_id IN (SELECT representation_id FROM kept_roots)
			UNION SELECT b.main_target_blob_id FROM blobs JOIN blob_versions b ON b.blob_id = blobs.blob_id WHERE b.main_target_blob_id IS NOT NULL),
		objects(object_id) AS (
			SELECT native_object_id FROM blob_versions WHERE blob_id IN (SELECT blob_id FROM blobs)
			UNION SELECT index_object_id FROM blob_versions WHERE blob_id IN (SELECT blob_id FROM blobs) AND index_object_id IS NOT NULL
			UNION SELECT secondary_native_object_id FROM blob_versions WHERE blob_id IN (SELECT blob_id FROM blobs) AND secondary_native_object_id IS NOT NULL
			UNION SELECT s.object_id FROM representations r JOIN index_state_segments s ON s.index_state_id = r.index_state_id
				WHERE r.representation_id IN (SELECT representation_id FROM kept_roots)
			UNION SELECT e.target_object_id FROM objects x JOIN object_edges e ON e.source_object_id = x.object_id)
		SELECT object_id FROM objects`,
	`DELETE FROM completed_merge_waiting`,
	`DELETE FROM completed_merge_outputs`,
	`DELETE FROM completed_merges`,
	`DELETE FROM jobs`,
	`DELETE FROM publication_attempts`,
	`DELETE FROM operations WHERE kind <> 'user'`,
	`DELETE FROM gc_work`,
	`DELETE FROM owner_objects`,
	`DELETE FROM owner_blobs`,
	`DELETE FROM owner_representations WHERE (owner_id, representation_id) NOT IN (SELECT owner_id, representation_id FROM kept_roots)`,
	`DELETE FROM owners WHERE owner_id NOT IN (SELECT owner_id FROM kept_roots)`,
	`DELETE FROM sessions`,
	`DELETE FROM representation_chunks WHERE representation_id NOT IN (SELECT representation_id FROM kept_roots)`,
	`DELETE FROM manifest_entries WHERE NOT EXISTS (
		SELECT 1 FROM representation_chunks c WHERE c.chunk_id = manifest_entries.chunk_id AND c.entries > manifest_entries.position)`,
	`DELETE FROM entry_fragments WHERE NOT EXISTS (
		SELECT 1 FROM manifest_entries e WHERE e.chunk_id = entry_fragments.chunk_id AND e.position = entry_fragments.position)`,
	`DELETE FROM representations WHERE representation_id NOT IN (SELECT representation_id FROM kept_roots)`,
	`DELETE FROM worlds WHERE world_id NOT IN (SELECT world_id FROM representations)`,
	`DELETE FROM index_states WHERE index_state_id NOT IN (SELECT index_state_id FROM representations)`,
	`DELETE FROM index_state_segments WHERE index_state_id NOT IN (SELECT index_state_id FROM index_states)`,
	`DELETE FROM index_state_compacted WHERE index_state_id NOT IN (SELECT index_state_id FROM index_states)`,
	`DELETE FROM index_state_catchup WHERE index_state_id NOT IN (SELECT index_state_id FROM index_states)`,
	`DELETE FROM segments WHERE object_id NOT IN (SELECT object_id FROM kept_objects)`,
	`DELETE FROM generation_tables WHERE object_id NOT IN (SELECT object_id FROM kept_objects)`,
	`DELETE FROM fragments WHERE object_id NOT IN (SELECT object_id FROM kept_objects)`,
	`DELETE FROM seal_receipts WHERE object_id NOT IN (SELECT object_id FROM kept_objects)`,
	`DELETE FROM object_edges WHERE source_object_id NOT IN (SELECT object_id FROM kept_objects)`,
	`DELETE FROM blob_versions WHERE native_object_id NOT IN (SELECT object_id FROM kept_objects)
		OR index_object_id IS NOT NULL AND index_object_id NOT IN (SELECT object_id FROM kept_objects)`,
	// What the tables say of a schema that is younger than the head is in the log.
	`DELETE FROM tables WHERE version > (SELECT w.lsn FROM timelines t JOIN worlds w ON w.world_id = t.head_world_id WHERE t.timeline_id = tables.timeline_id)`,
	`DELETE FROM indexes WHERE version > (SELECT w.lsn FROM timelines t JOIN worlds w ON w.world_id = t.head_world_id WHERE t.timeline_id = indexes.timeline_id)`,
	`UPDATE tables SET until_version = NULL WHERE until_version > (SELECT w.lsn FROM timelines t JOIN worlds w ON w.world_id = t.head_world_id WHERE t.timeline_id = tables.timeline_id)`,
	`UPDATE indexes SET until_version = NULL WHERE until_version > (SELECT w.lsn FROM timelines t JOIN worlds w ON w.world_id = t.head_world_id WHERE t.timeline_id = indexes.timeline_id)`,
	`DELETE FROM schema_contexts WHERE schema_id NOT IN (SELECT schema_id FROM worlds)
		AND schema_id NOT IN (SELECT schema_id FROM tables) AND schema_id NOT IN (SELECT schema_id FROM indexes)`,
}

// pruningLast removes the objects that no row needs any more. Their numbers are not
// given out again.
var pruningLast = []string{
	`INSERT INTO identity_tombstones(object_id, relative_path, incarnation, kind)
		SELECT object_id, relative_path, incarnation, kind FROM objects
		WHERE object_id NOT IN (SELECT object_id FROM kept_objects) AND object_id NOT IN (SELECT object_id FROM generations)`,
	`DELETE FROM objects WHERE object_id NOT IN (SELECT object_id FROM kept_objects) AND object_id NOT IN (SELECT object_id FROM generations)`,
	`DROP TABLE temp.kept_roots`,
	`DROP TABLE temp.kept_objects`,
}

// pruner takes the generations behind the heads out of a copy.
type pruner struct {
	ctx      context.Context
	tx       *sqlx.Tx
	identity [16]byte
}

func (p *pruner) shards() error {
	var rows []shardRow
	if err := p.tx.SelectContext(p.ctx, &rows, shardQuery+` ORDER BY shard_id`); err != nil {
		return err
	}
	var kept []int64
	if err := p.tx.SelectContext(p.ctx, &kept, `SELECT object_id FROM kept_objects`); err != nil {
		return err
	}
	keep := make(map[int64]bool, len(kept))
	for _, id := range kept {
		keep[id] = true
	}
	for i := range rows {
		if err := p.shard(&rows[i], keep); err != nil {
			return err
		}
	}
	return nil
}

// shard leaves those generations of a shard that are read and, between them, the
// numbers of those that are not, as collected; and lets it go on in the first one
// that the head does not contain.
func (p *pruner) shard(s *shardRow, keep map[int64]bool) error {
	var rows []generationRow
	if err := p.tx.SelectContext(p.ctx, &rows, generationQuery+` WHERE g.shard_id = ? ORDER BY g.generation`, s.ID); err != nil {
		return err
	}
	begun := false
	for i := range rows {
		r := &rows[i]
		if keep[r.ObjectID] && r.Generation >= s.ReplayFrom {
			return refuse(CodeCorrupt, "", "shard %d is replayed from generation %d and a representation has its generation %d", s.ID, s.ReplayFrom, r.Generation)
		}
		begun = begun || keep[r.ObjectID]
		var err error
		switch {
		case keep[r.ObjectID], r.Generation < s.ReplayFrom && begun && r.State == GenerationCollected:
		case r.Generation < s.ReplayFrom && begun:
			err = p.collected(r)
		default:
			err = p.exec(`DELETE FROM generations WHERE shard_id = ? AND generation = ?`, r.ShardID, r.Generation)
		}
		if err != nil {
			return err
		}
	}
	return p.goOn(s)
}

// collected makes a generation that is not read one whose file is gone.
func (p *pruner) collected(r *generationRow) error {
	if r.State != GenerationSealed {
		return refuse(CodeCorrupt, "", "generation %d of shard %d is before the head and %s", r.Generation, r.ShardID, r.State)
	}
	if err := p.exec(`UPDATE objects SET state = 'collected', lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, r.ObjectID); err != nil {
		return err
	}
	r.State = GenerationCollected
	r.Revision++
	digest := r.digest(p.identity)
	return p.exec(`UPDATE generations SET state = 'collected', revision = ?, digest = ? WHERE shard_id = ? AND generation = ?`,
		r.Revision, digest[:], r.ShardID, r.Generation)
}

// goOn reserves the generation that a shard goes on in.
func (p *pruner) goOn(s *shardRow) error {
	var next struct {
		ID          int64 `db:"next_id"`
		Incarnation int64 `db:"next_incarnation"`
	}
	if err := p.tx.GetContext(p.ctx, &next, `SELECT next_id, next_incarnation FROM catalog_info`); err != nil {
		return err
	}
	if err := p.exec(`UPDATE catalog_info SET next_id = next_id + 1, next_incarnation = next_incarnation + 1`); err != nil {
		return err
	}
	attempt := randomID()
	row := generationRow{ShardID: s.ID, Generation: s.ReplayFrom, ObjectID: next.ID, State: GenerationOpen, Kind: KindKV,
		Path: ObjectPath(next.ID, KindKV), Attempt: attempt[:]}
	if err := p.exec(`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) VALUES (?, ?, ?, ?, ?)`,
		row.ObjectID, row.Kind, next.Incarnation, row.Attempt, row.Path); err != nil {
		return err
	}
	if err := p.exec(`INSERT INTO owner_objects(owner_id, object_id, purpose) SELECT owner_id, ?, 'active' FROM timelines WHERE timeline_id = ?`, row.ObjectID, s.TimelineID); err != nil {
		return err
	}
	digest := row.digest(p.identity)
	if err := p.exec(`INSERT INTO generations(shard_id, generation, object_id, digest) VALUES (?, ?, ?, ?)`, row.ShardID, row.Generation, row.ObjectID, digest[:]); err != nil {
		return err
	}
	s.CurrentGeneration = row.Generation
	digest = s.digest(p.identity)
	return p.exec(`UPDATE shards SET current_generation = ?, digest = ? WHERE shard_id = ?`, s.CurrentGeneration, digest[:], s.ID)
}

func (p *pruner) exec(query string, args ...any) error {
	if _, err := p.tx.ExecContext(p.ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}
