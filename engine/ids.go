package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidemarkdb/tidemark/catalog"
)

// idBlock is how many ids are reserved at once. A crash or close forgets the
// rest of a block; there are 2^62.
const idBlock = 1024

// idBlocks gives out table and index ids from blocks that the catalog reserved
// ahead, so that a schema change under the write lock does not call the
// catalog: when half of a block is left, the housekeeper fetches the next.
type idBlocks struct {
	cat *catalog.Catalog
	low func() // asks for refill

	mu         sync.Mutex
	next, end  uint64 // of the block in use
	spare      uint64 // first id of the block reserved ahead, 0 for none
	refillable bool   // low was not called since the last refill
}

// NextID returns an id that was never returned before, in any process.
func (b *idBlocks) NextID() (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == b.end {
		if b.spare == 0 {
			first, err := b.reserve(context.Background())
			if err != nil {
				return 0, err
			}
			b.spare = first
		}
		b.next, b.end, b.spare = b.spare, b.spare+idBlock, 0
	}
	id := b.next
	b.next++
	if b.spare == 0 && b.end-b.next <= idBlock/2 && b.refillable {
		b.refillable = false
		b.low()
	}
	return id, nil
}

// refill reserves a block ahead.
func (b *idBlocks) refill(ctx context.Context) error {
	first, err := b.reserve(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refillable = true
	if err != nil {
		return err
	}
	if b.spare == 0 {
		b.spare = first
	}
	return nil
}

func (b *idBlocks) reserve(ctx context.Context) (uint64, error) {
	first, err := b.cat.ReserveIDs(ctx, idBlock)
	if err != nil {
		return 0, fmt.Errorf("engine: reserving ids: %w", err)
	}
	return uint64(first), nil
}

// lowOnIDs is called under the write lock; the housekeeper does the rest.
func (s *Store) lowOnIDs() {
	s.mu.Lock()
	s.chores.refill = true
	s.chores.work.Signal()
	s.mu.Unlock()
}
