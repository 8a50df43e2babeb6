package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jmoiron/sqlx"
)

// Kept is an object that stays, with the reasons.
type Kept struct {
	Object
	Reasons []Retainer
}

// Retainer is a reason for an object to stay.
type Retainer struct {
	OwnerID   int64  // 0: no owner needs to retain it
	OwnerKind string // timeline, branch_point, reader, job, round, cache or recovery; log or quarantine without an owner
	Name      string // of the timeline, branch point, session or job
	Via       string // the root through which the owner reaches it: a representation, blob or object; of quarantine: the cause
}

// ownerQuarantine is the kind of reason of what waits to be reconciled.
const ownerQuarantine = "quarantine"

// String spells a reason for a person.
func (r Retainer) String() string {
	if r.OwnerKind == ownerQuarantine {
		if r.Name == "" {
			return "in quarantine: " + r.Via
		}
		return "in quarantine, written by job " + r.Name + ": " + r.Via
	}
	s := r.OwnerKind
	if r.Name != "" {
		s += " " + r.Name
	}
	if r.Via != "" {
		s += ", through " + r.Via
	}
	return s
}

// Explain lists the objects that are garbage, as [Catalog.Garbage] does, and those
// that are not with every reason. It is what one snapshot of the catalog says; a
// claim decides.
func (c *Catalog) Explain(ctx context.Context) (garbage []Object, kept []Kept, err error) {
	err = c.read(ctx, "explain", func(ctx context.Context, tx *sqlx.Tx) error {
		garbage, kept = nil, nil
		g, err := readGraph(ctx, tx)
		if err != nil {
			return err
		}
		reasons, err := g.retainers(ctx, tx)
		if err != nil {
			return err
		}
		var list []Object
		if err := tx.SelectContext(ctx, &list, `SELECT `+objectColumns+` FROM objects o WHERE o.state <> 'collected'
			ORDER BY o.state = 'gc_claimed' DESC, o.graph_seq IS NULL DESC, o.graph_seq DESC, o.object_id`); err != nil {
			return err
		}
		for _, o := range list {
			k := Kept{Object: o}
			for i := range reasons {
				if reasons[i].reaches.Contains(uint64(o.ID)) {
					k.Reasons = append(k.Reasons, reasons[i].Retainer)
					k.Rooted = k.Rooted || reasons[i].OwnerID != 0
				}
			}
			if len(k.Reasons) == 0 {
				garbage = append(garbage, o)
			} else {
				kept = append(kept, k)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(kept, func(a, b Kept) int { return cmp.Compare(a.ID, b.ID) })
	return garbage, kept, nil
}

// reason is a retainer with the objects that it reaches.
type reason struct {
	Retainer
	reaches *roaring64.Bitmap
}

// ownerNames names every owner for a person.
const ownerNames = `SELECT o.owner_id, coalesce(t.name, b.name, 'session ' || o.session_id || ' of pid ' || s.pid, j.kind || ' ' || j.job_id,
		(SELECT 'for timeline ' || group_concat(x.name, ', ') FROM completed_merges m JOIN completed_merge_waiting w ON w.cache_key = m.cache_key
			JOIN timelines x ON x.timeline_id = w.timeline_id WHERE m.owner_id = o.owner_id), '') AS name
	FROM owners o LEFT JOIN timelines t ON t.owner_id = o.owner_id LEFT JOIN branch_points b ON b.owner_id = o.owner_id
	LEFT JOIN sessions s ON s.session_id = o.session_id LEFT JOIN jobs j ON j.owner_id = o.owner_id`

// retainers returns the roots of every owner with their closures, by owner, and
// what stays without one.
func (g *graph) retainers(ctx context.Context, tx *sqlx.Tx) ([]reason, error) {
	var roots []struct {
		OwnerID int64  `db:"owner_id"`
		Kind    string `db:"kind"`
		Name    string `db:"name"`
		What    string `db:"what"`
		ID      int64  `db:"id"`
	}
	if err := tx.SelectContext(ctx, &roots, `SELECT o.owner_id, o.kind, n.name, x.what, x.id FROM (SELECT owner_id, 'representation' AS what, representation_id AS id FROM owner_representations
			UNION ALL SELECT owner_id, 'blob', blob_id FROM owner_blobs
			UNION ALL SELECT owner_id, 'object', object_id FROM owner_objects) x
		JOIN owners o ON o.owner_id = x.owner_id JOIN (`+ownerNames+`) n ON n.owner_id = o.owner_id ORDER BY o.owner_id, x.what DESC, x.id`); err != nil {
		return nil, err
	}
	var list []reason
	representations := make(map[int64]*roaring64.Bitmap) // their closures: several owners may root one
	for _, r := range roots {
		var reaches *roaring64.Bitmap
		switch r.What {
		case "object":
			reaches = g.closure(roaring64.BitmapOf(uint64(r.ID)), roaring64.New())
		case "blob":
			reaches = g.closure(roaring64.New(), roaring64.BitmapOf(uint64(r.ID)))
		default:
			if reaches = representations[r.ID]; reaches == nil {
				blobs, err := blobsOf(ctx, tx, r.ID)
				if err != nil {
					return nil, err
				}
				segments, err := segmentsIn(ctx, tx, r.ID)
				if err != nil {
					return nil, err
				}
				reaches = g.closure(segments, blobs)
				representations[r.ID] = reaches
			}
		}
		list = append(list, reason{Retainer{r.OwnerID, r.Kind, r.Name, fmt.Sprintf("%s %d", r.What, r.ID)}, reaches})
	}
	list = append(list, reason{Retainer{OwnerKind: "log", Via: "the generation that a shard goes on in"}, bitmapOf(g.current)})
	var quarantined []Quarantined
	if err := tx.SelectContext(ctx, &quarantined, quarantinedQuery+` ORDER BY o.object_id`); err != nil {
		return nil, err
	}
	for i := range quarantined {
		list = append(list, reason{quarantined[i].retainer(), roaring64.BitmapOf(uint64(quarantined[i].ID))})
	}
	return list, nil
}

// retainer is quarantine as a reason to stay.
func (q *Quarantined) retainer() Retainer {
	r := Retainer{OwnerKind: ownerQuarantine, Via: "nothing has proven what became of it"}
	if q.JobID != 0 {
		r.Name = fmt.Sprintf("%s %d", q.JobKind, q.JobID)
	}
	if q.Cause != "" {
		r.Via = q.Cause
	}
	return r
}

// segmentsIn are the segments in the index state of a representation.
func segmentsIn(ctx context.Context, tx *sqlx.Tx, representationID int64) (*roaring64.Bitmap, error) {
	var text string
	if err := tx.GetContext(ctx, &text, `SELECT json_group_array(s.object_id) FROM representations r
		CROSS JOIN index_state_segments s ON s.index_state_id = r.index_state_id WHERE r.representation_id = ?`, representationID); err != nil {
		return nil, err
	}
	return bitmapOf(parseIDs(text)), nil
}

// blobsOf are the blobs in the manifest of a representation.
func blobsOf(ctx context.Context, tx *sqlx.Tx, representationID int64) (*roaring64.Bitmap, error) {
	var text string
	if err := tx.GetContext(ctx, &text, `SELECT json_group_array(e.blob_id) FROM representation_chunks c
		CROSS JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries WHERE c.representation_id = ?`, representationID); err != nil {
		return nil, err
	}
	return bitmapOf(parseIDs(text)), nil
}
