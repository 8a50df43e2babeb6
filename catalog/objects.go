package catalog

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// Object is one row of objects: a file of the store, past ones included.
type Object struct {
	ID          int64  `db:"object_id"`
	Kind        string `db:"kind"`
	Incarnation int64  `db:"incarnation"`
	Path        string `db:"relative_path"`
	State       string `db:"state"` // reserved, sealed, quarantined, gc_claimed or collected
	ByteExtent  int64  `db:"byte_extent"`
	Rooted      bool   `db:"rooted"` // some owner that still retains has a root that reaches it
}

// Objects lists every object, by id. A file below objects/ that is not listed
// belongs to a creation that was never finished. Like any browsing it pins
// nothing.
func (c *Catalog) Objects(ctx context.Context) ([]Object, error) {
	var list []Object
	err := c.read(ctx, "objects", func(ctx context.Context, tx *sqlx.Tx) error {
		return tx.SelectContext(ctx, &list, `
			SELECT o.object_id, o.kind, o.incarnation, o.relative_path, o.state, coalesce(o.byte_extent, 0) AS byte_extent,
			       o.object_id IN (SELECT object_id FROM reachable_objects) AS rooted
			FROM objects o ORDER BY o.object_id`)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
