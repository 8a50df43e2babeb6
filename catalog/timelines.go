package catalog

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Timelines lists the timelines, by name. Each has its digest.
func (c *Catalog) Timelines(ctx context.Context) ([]Timeline, error) {
	var list []Timeline
	err := c.read(ctx, "timelines", func(ctx context.Context, tx *sqlx.Tx) error {
		var rows []headRow
		if err := tx.SelectContext(ctx, &rows, headQuery+` ORDER BY t.name`); err != nil {
			return err
		}
		for i := range rows {
			if err := checkDigest("timeline", rows[i].TimelineID, rows[i].Digest, rows[i].digest(c.identity())); err != nil {
				return err
			}
			list = append(list, rows[i].timeline())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// timelineNamed returns the id of a timeline, 0 when there is none.
func timelineNamed(ctx context.Context, tx *writeTx, name string) (id int64, err error) {
	err = tx.GetContext(ctx, &id, `SELECT coalesce((SELECT timeline_id FROM timelines WHERE name = ?), 0)`, name)
	return id, err
}

// ForkRequest asks for a timeline that begins with the state of another one, or of
// a branch point.
type ForkRequest struct {
	Name        string
	From        Timeline // expected head: ID, Revision and RepresentationID count; ignored with a BranchPoint
	BranchPoint string   // name, "" for From
}

// Fork makes a timeline in one transaction that touches no file: it selects the
// representation that it begins with, under a root of its own, and each of its
// shards goes on with the numbers of its parent's generations. Their first ones
// are reserved; the caller makes their files. The active generations of the parent
// are sealed and published before, or the new timeline does not have what is in
// them. A name that is taken is an [ErrExists], a head that moved an [ErrConflict].
//
// From a branch point whose timeline was dropped the shards have no parent.
func (c *Catalog) Fork(ctx context.Context, r ForkRequest) (Timeline, error) {
	var made Timeline
	err := c.write(ctx, "fork", func(ctx context.Context, tx *writeTx) error {
		if err := checkName("timeline", r.Name); err != nil {
			return err
		}
		identity := c.identity()
		head, parent, err := forkedFrom(ctx, tx, &r, identity)
		if err != nil {
			return err
		}
		taken, err := timelineNamed(ctx, tx, r.Name)
		if err != nil {
			return err
		}
		if taken != 0 {
			return refuse(CodeExists, "", "there is a timeline %q already", r.Name)
		}
		// One run of ids: timeline, owner.
		first, err := tx.newIDs(ctx, 2)
		if err != nil {
			return err
		}
		// The new timeline goes on with the same bookkeeping of indexes, which must be known.
		if _, err := readIndexState(ctx, tx, identity, head.IndexStateID); err != nil {
			return err
		}
		head.TimelineID, head.OwnerID, head.Name, head.Revision, head.CreatedAt = first, first+1, r.Name, 0, timestamp(c.options.Now())
		made = head.timeline()
		return c.fork(ctx, tx, head, parent, identity)
	})
	if err != nil {
		return Timeline{}, err
	}
	return made, nil
}

// forkedFrom returns the state to begin with and the timeline of the parent shards,
// 0 for none.
func forkedFrom(ctx context.Context, tx *writeTx, r *ForkRequest, identity [16]byte) (head *headRow, parent int64, err error) {
	if r.BranchPoint == "" {
		head, err := expectHead(ctx, tx, r.From, identity)
		return head, r.From.ID, err
	}
	b, err := readBranchPoint(ctx, tx, r.BranchPoint, identity)
	if err != nil {
		return nil, 0, err
	}
	if err := tx.GetContext(ctx, &parent, `SELECT coalesce((SELECT timeline_id FROM timelines WHERE timeline_id = ?), 0)`, b.TimelineID); err != nil {
		return nil, 0, err
	}
	return &headRow{WorldID: b.WorldID, RepresentationID: b.RepresentationID, Others: true, worldRow: b.worldRow}, parent, nil
}

// fork writes the rows of a new timeline, in the order the guards want them.
func (c *Catalog) fork(ctx context.Context, tx *writeTx, head *headRow, parent int64, identity [16]byte) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO owners(owner_id, kind) VALUES (?, 'timeline')`, head.OwnerID); err != nil {
		return fmt.Errorf("owners: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?, ?)`, head.OwnerID, head.RepresentationID); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	if err := head.insertTimeline(ctx, tx, identity); err != nil {
		return err
	}
	if head.Others {
		if err := inheritWaiting(ctx, tx, head); err != nil {
			return err
		}
	}
	shards, err := shardsOf(ctx, tx, parent, identity)
	if err != nil {
		return err
	}
	var count int64
	if err := tx.GetContext(ctx, &count, `SELECT shards FROM catalog_info`); err != nil {
		return err
	}
	for ordinal := range count {
		s := shardRow{TimelineID: head.TimelineID, Ordinal: ordinal}
		if p := shards[ordinal]; p != nil {
			// A parent of which nothing is sealed has no generation before its
			// first one, but numbers begin at 1.
			last := max(p.ReplayFrom-1, 1)
			s.ParentShardID, s.ParentGeneration = &p.ID, &last
		}
		if err := createShard(ctx, tx, identity, s); err != nil {
			return err
		}
	}
	return nil
}

// shardsOf returns the verified shards of a timeline, by ordinal.
func shardsOf(ctx context.Context, q sqlx.QueryerContext, timelineID int64, identity [16]byte) (map[int64]*shardRow, error) {
	var rows []shardRow
	if err := sqlx.SelectContext(ctx, q, &rows, shardQuery+` WHERE timeline_id = ? ORDER BY ordinal`, timelineID); err != nil {
		return nil, err
	}
	by := make(map[int64]*shardRow, len(rows))
	for i := range rows {
		s := &rows[i]
		if err := checkDigest("shard", s.ID, s.Digest, s.digest(identity)); err != nil {
			return nil, err
		}
		by[s.Ordinal] = s
	}
	return by, nil
}
