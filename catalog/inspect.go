package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// views a person may ask for, in the order they are useful.
var views = []string{
	"store_settings", "timeline_heads", "branch_point_worlds", "current_tables", "current_indexes", "generation_files", "base_files",
	"job_progress", "unresolved_publications", "manifest", "manifest_audit", "representation_entries", "representation_closure",
	"representation_blockers", "object_states", "blob_objects", "owner_pins", "reader_pins", "live_object_roots", "live_object_closure", "reachable_objects",
	"shared_merges", "relied_indexes", "index_segments", "index_catchup", "exclusion_watermarks", "retirable_generations", "apparently_unowned_objects", "gc_candidates", "gc_intents", "claim_closure_audit", "dependency_closure",
}

// Views lists the inspection views.
func Views() []string { return slices.Clone(views) }

// Listing is what a view shows, as text.
type Listing struct {
	Columns []string
	Rows    [][]string // NULL is ""
}

// Inspect reads one of the inspection views. It pins nothing: what it shows may
// be gone a moment later.
func (c *Catalog) Inspect(ctx context.Context, view string) (Listing, error) {
	const op = "inspect"
	if !slices.Contains(views, view) {
		return Listing{}, refuse(CodeUnknown, op, "no view %q; there are %v", view, views)
	}
	var l Listing
	err := c.read(ctx, op, func(ctx context.Context, tx *sqlx.Tx) error {
		rows, err := tx.QueryxContext(ctx, `SELECT * FROM `+view)
		if err != nil {
			return err
		}
		defer rows.Close()
		if l.Columns, err = rows.Columns(); err != nil {
			return err
		}
		for rows.Next() {
			values, err := rows.SliceScan()
			if err != nil {
				return err
			}
			row := make([]string, len(values))
			for i, v := range values {
				if v != nil {
					row[i] = fmt.Sprint(v)
				}
			}
			l.Rows = append(l.Rows, row)
		}
		return rows.Err()
	})
	if err != nil {
		return Listing{}, err
	}
	return l, nil
}
