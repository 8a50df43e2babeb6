package catalog

import (
	"context"
	"fmt"
)

// Creation holds what is fixed when a store is made.
type Creation struct {
	Shards         int    // 1..64, default 1
	GenerationSize int64  // bytes, default 64 MiB
	IndexCatchup   string // required (default) or legacy
}

func (n Creation) withDefaults() (Creation, error) {
	if n.Shards == 0 {
		n.Shards = 1
	}
	if n.GenerationSize == 0 {
		n.GenerationSize = 64 << 20
	}
	if n.IndexCatchup == "" {
		n.IndexCatchup = "required"
	}
	if n.Shards < 1 || n.Shards > 64 {
		return n, refuse(CodeRange, "initialize", "shards %d is outside 1..64", n.Shards)
	}
	if n.IndexCatchup != "required" && n.IndexCatchup != "legacy" {
		return n, refuse(CodeEncoding, "initialize", "index_catchup %q is neither required nor legacy", n.IndexCatchup)
	}
	if err := checkID("generation_size", n.GenerationSize); err != nil {
		return n, wrap("initialize", err)
	}
	return n, nil
}

// Initialize makes the content of a new store in one transaction: identity and
// policy, an empty world with its representation and index state as head of
// the main timeline, and for each shard the first generation, reserved and
// rooted. On a store that has it all it only returns the state.
func (c *Catalog) Initialize(ctx context.Context, creation Creation) (State, error) {
	creation, err := creation.withDefaults()
	if err != nil {
		return State{}, err
	}
	created := false
	err = c.write(ctx, "initialize", func(ctx context.Context, tx *writeTx) error {
		info, err := readInfo(ctx, tx)
		if err != nil {
			return err
		}
		if info != nil {
			return errUnchanged
		}
		created = true
		return c.create(ctx, tx, creation)
	})
	if err != nil {
		return State{}, err
	}
	if err := c.loadInfo(ctx, created); err != nil {
		return State{}, err
	}
	return c.State(ctx)
}

func (c *Catalog) create(ctx context.Context, tx *writeTx, creation Creation) error {
	identity := randomID()
	now := timestamp(c.options.Now())
	p := DefaultPolicy()
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO catalog_info(singleton, catalog_identity, created_version, created_at, policy, policy_unit, policy_group_size,
			policy_block_size, policy_value_layout, policy_interpretation, algebra, shards, index_catchup, generation_size,
			max_representation_entries)
		VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		identity[:], c.Info().Version, now, p.Bytes(), p.Unit, p.GroupSize, p.BlockSize, p.ValueLayout, p.Interpretation,
		algebra, creation.Shards, creation.IndexCatchup, creation.GenerationSize, maxEntries); err != nil {
		return fmt.Errorf("catalog_info: %w", err)
	}
	if err := c.recordRuntime(ctx, tx, "created"); err != nil {
		return err
	}
	// One run of ids: schema, world, cut, index state, representation, owner, timeline.
	first, err := tx.newIDs(ctx, 7)
	if err != nil {
		return err
	}
	schemaID, worldID, cutID, indexStateID := first, first+1, first+2, first+3
	representationID, ownerID, timelineID := first+4, first+5, first+6

	if err := insertSchemaContext(ctx, tx, schemaID, 0, schemaDescriptor(Projection{})); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO worlds(world_id, admitted_cut_id, lsn, schema_id, live_count, composite_fingerprint)
		VALUES (?, ?, 0, ?, 0, ?)`, worldID, cutID, schemaID, emptySum); err != nil {
		return fmt.Errorf("worlds: %w", err)
	}
	features := int64(0)
	if creation.IndexCatchup == "required" {
		features = FeatureIndexCatchup
	}
	indexState := indexStateRow{ID: indexStateID, ReaderFeatures: features, WriterFeatures: features}
	digest := indexState.digest(identity)
	if _, err := tx.ExecContext(ctx, `INSERT INTO index_states(index_state_id, reader_features, writer_features, digest)
		VALUES (?, ?, ?, ?)`, indexStateID, features, features, digest[:]); err != nil {
		return fmt.Errorf("index_states: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO representations(representation_id, world_id, index_state_id, layout_version, entry_count, contribution_sum)
		VALUES (?, ?, ?, 1, 0, ?)`, representationID, worldID, indexStateID, emptySum); err != nil {
		return fmt.Errorf("representations: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owners(owner_id, kind) VALUES (?, 'timeline')`, ownerID); err != nil {
		return fmt.Errorf("owners: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?, ?)`, ownerID, representationID); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	head := headRow{
		TimelineID: timelineID, Name: MainTimeline, OwnerID: ownerID, WorldID: worldID, RepresentationID: representationID, CreatedAt: now,
		worldRow: worldRow{SchemaID: schemaID, Fingerprint: emptySum, IndexStateID: indexStateID, LayoutVersion: 1, ContributionSum: emptySum},
	}
	if err := head.insertTimeline(ctx, tx, identity); err != nil {
		return err
	}
	for ordinal := range int64(creation.Shards) {
		if err := createShard(ctx, tx, identity, shardRow{TimelineID: timelineID, Ordinal: ordinal}); err != nil {
			return err
		}
	}
	return nil
}

// insertTimeline inserts the timeline of a head.
func (r *headRow) insertTimeline(ctx context.Context, tx *writeTx, identity [16]byte) error {
	digest := r.digest(identity)
	if _, err := tx.ExecContext(ctx, `INSERT INTO timelines(timeline_id, name, owner_id, head_world_id, head_representation_id, created_at, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, r.TimelineID, r.Name, r.OwnerID, r.WorldID, r.RepresentationID, r.CreatedAt, digest[:]); err != nil {
		return fmt.Errorf("timelines: %w", err)
	}
	return nil
}

// createShard inserts a shard with its first generation, which follows its
// parent's last one that its head contains.
func createShard(ctx context.Context, tx *writeTx, identity [16]byte, s shardRow) (err error) {
	if s.ID, err = tx.newID(ctx); err != nil {
		return err
	}
	first := deref(s.ParentGeneration) + 1
	s.CurrentGeneration, s.ReplayFrom = first, first
	digest := s.digest(identity)
	if _, err := tx.ExecContext(ctx, `INSERT INTO shards(shard_id, timeline_id, ordinal, parent_shard_id, parent_generation, current_generation, replay_from, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, s.ID, s.TimelineID, s.Ordinal, s.ParentShardID, s.ParentGeneration, first, first, digest[:]); err != nil {
		return fmt.Errorf("shards: %w", err)
	}
	_, err = reserveGeneration(ctx, tx, identity, s.ID, first)
	return err
}
