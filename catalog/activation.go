package catalog

import (
	"context"
	"fmt"
)

// ActivateIndexCatchup has the positions of a timeline's indexes maintained from now
// on: both feature words get the bit, in one transaction that touches nothing else of
// the head and has no way back. Where they are maintained already it changes nothing,
// and positions stay. It needs no expected head, so a publication that landed before is
// no conflict; one that was prepared before meets one.
//
// A timeline with recorded compaction progress is refused with CodeIndex: what indexes
// held when it was recorded was never validated. A restore of a branch point from
// before the progress is the way to reset it.
func (c *Catalog) ActivateIndexCatchup(ctx context.Context, timeline string) (Timeline, error) {
	var head Timeline
	err := c.write(ctx, "activate-index-catchup", func(ctx context.Context, tx *writeTx) error {
		id, err := timelineNamed(ctx, tx, timeline)
		if err != nil {
			return err
		}
		if id == 0 {
			return refuse(CodeUnknown, "", "no timeline %q", timeline)
		}
		identity := c.identity()
		was, err := readHead(ctx, tx, id, identity)
		if err != nil {
			return err
		}
		state, err := readIndexState(ctx, tx, identity, was.IndexStateID)
		if err != nil {
			return err
		}
		if head = was.timeline(); state.maintained() {
			return errUnchanged
		}
		if len(state.Compacted) > 0 {
			return refuse(CodeIndex, "", "timeline %q has compaction progress of %d shards from before positions of indexes were maintained: restore a branch point from before it first", timeline, len(state.Compacted))
		}
		next, err := activated(ctx, tx, identity, was, state)
		if err != nil {
			return err
		}
		head = next.timeline()
		return c.moveHead(ctx, tx, was, next, nil, nil)
	})
	if err != nil {
		return Timeline{}, err
	}
	return head, nil
}

// activated inserts a representation of the same world and entries as a head's, with an
// index state in which positions are maintained and there is none, and returns the
// head that selects it.
func activated(ctx context.Context, tx *writeTx, identity [16]byte, head *headRow, state IndexState) (*headRow, error) {
	state.ReaderFeatures |= FeatureIndexCatchup
	state.WriterFeatures |= FeatureIndexCatchup
	state.CaughtUp = nil
	if err := insertIndexState(ctx, tx, identity, &state); err != nil {
		return nil, err
	}
	next := *head
	next.Revision++
	next.IndexStateID = state.ID
	var err error
	if next.RepresentationID, err = tx.newID(ctx); err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO representations(representation_id, world_id, index_state_id, layout_version, entry_count, contribution_sum) VALUES (?, ?, ?, ?, ?, ?)`,
		next.RepresentationID, next.WorldID, next.IndexStateID, next.LayoutVersion, next.EntryCount, next.ContributionSum); err != nil {
		return nil, fmt.Errorf("representations: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO representation_chunks(representation_id, ordinal, chunk_id, entries, first_position)
		SELECT ?, ordinal, chunk_id, entries, first_position FROM representation_chunks WHERE representation_id = ? ORDER BY ordinal`,
		next.RepresentationID, head.RepresentationID); err != nil {
		return nil, fmt.Errorf("representation_chunks: %w", err)
	}
	return &next, nil
}
