package catalog

import "context"

// ReserveGeneration is [Catalog.ReserveGenerations] of one generation.
func (c *Catalog) ReserveGeneration(ctx context.Context, shardID, generation int64) (Generation, error) {
	gs, err := c.ReserveGenerations(ctx, ShardGeneration{shardID, generation})
	if err != nil {
		return Generation{}, err
	}
	return gs[0], nil
}

// BumpEpoch is [Catalog.BumpEpochs] of one shard.
func (c *Catalog) BumpEpoch(ctx context.Context, shardID int64) (int64, error) {
	epochs, err := c.BumpEpochs(ctx, shardID)
	if err != nil {
		return 0, err
	}
	return epochs[0], nil
}

// SetCurrentGeneration is [Catalog.SetCurrentGenerations] of one shard.
func (c *Catalog) SetCurrentGeneration(ctx context.Context, shardID, generation int64) error {
	return c.SetCurrentGenerations(ctx, ShardGeneration{shardID, generation})
}
