package catalog

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// ResolveTimeline settles the attempts to publish that were left behind on one
// timeline, as [Catalog.ResolvePublications] does with those of all, and returns how
// many there were. The caller knows that nobody publishes on it; others may on theirs,
// so it is one transaction: nobody else looks between its steps, and the storage domain
// need not be reconciling, which would refuse the others to let go of what they hold.
// Without such an attempt it writes nothing.
func (c *Catalog) ResolveTimeline(ctx context.Context, timeline string) (n int, err error) {
	const op = "resolve-timeline"
	list := func(ctx context.Context, q sqlx.QueryerContext) (open []attemptRow, err error) {
		err = sqlx.SelectContext(ctx, q, &open, attemptQuery+` WHERE state <> 'retired'
			AND timeline_id = (SELECT timeline_id FROM timelines WHERE name = ?) ORDER BY recovery_owner_id`, timeline)
		return open, err
	}
	err = c.read(ctx, op, func(ctx context.Context, tx *sqlx.Tx) error {
		open, err := list(ctx, tx)
		n = len(open)
		return err
	})
	if err != nil || n == 0 {
		return 0, err
	}
	err = c.write(ctx, op, func(ctx context.Context, tx *writeTx) error {
		open, err := list(ctx, tx)
		if err != nil {
			return err
		}
		n = len(open)
		for i := range open {
			if err := c.settle(ctx, tx, &open[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// settle takes one attempt through all steps.
func (c *Catalog) settle(ctx context.Context, tx *writeTx, a *attemptRow) (err error) {
	if _, err := suspect(ctx, tx, a); err != nil {
		return err
	}
	if a.State, err = stateOfAttempt(ctx, tx, a.Operation); err != nil {
		return err
	}
	if _, err := c.resolve(ctx, tx, a); err != nil {
		return err
	}
	if a.State, err = stateOfAttempt(ctx, tx, a.Operation); err != nil {
		return err
	}
	return retire(ctx, tx, a, a.State)
}
