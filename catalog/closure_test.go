package catalog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// viewClosure is what the view says of a root.
func viewClosure(t *testing.T, c *Catalog, root int64) (list []Reached) {
	t.Helper()
	rows, err := c.reads.QueryContext(t.Context(), `SELECT object_id, depth FROM dependency_closure WHERE root_object_id = ? ORDER BY depth, object_id`, root)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Reached
		if err := rows.Scan(&r.ObjectID, &r.Depth); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func closure(t *testing.T, c *Catalog, root int64) []Reached {
	t.Helper()
	list, err := c.ObjectClosure(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestObjectClosure holds what a root leads to against the view, for every object
// of a graph of random edges: objects that are met at several depths, ones that lead
// nowhere and some that nothing leads to.
func TestObjectClosure(t *testing.T) {
	c := unchecked(t)
	const n = 24
	first := objectsWithout(t, c, n)
	rng := rand.New(rand.NewPCG(1, uint64(first)))
	edges := 0
	err := c.write(t.Context(), "edges", func(ctx context.Context, tx *writeTx) error {
		for a := range int64(n) {
			for b := range a {
				if rng.IntN(4) > 0 {
					continue
				}
				edges++
				if _, err := tx.ExecContext(ctx, `INSERT INTO object_edges VALUES (?, ?, 'value')`, first+a, first+b); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	farthest := int64(0)
	for id := first; id < first+n; id++ {
		got, want := closure(t, c, id), viewClosure(t, c, id)
		if !slices.Equal(got, want) {
			t.Errorf("object %d of %d edges: %v, the view has %v", id, edges, got, want)
		}
		farthest = max(farthest, got[len(got)-1].Depth)
	}
	if farthest < 2 {
		t.Errorf("the farthest object is %d edges away", farthest)
	}
	for _, id := range []int64{first + n + 1000, 0, -1} {
		if got := closure(t, c, id); got != nil {
			t.Errorf("object %d that is not there leads to %v", id, got)
		}
	}
}

// TestObjectClosureDeep follows a chain of blobs, each of which leads to two objects
// of the one before.
func TestObjectClosureDeep(t *testing.T) {
	const n = 1000
	c := unchecked(t)
	representation := chain(t, c, n)
	top := one64(t, c, `SELECT b.index_object_id FROM representation_entries e JOIN blob_versions b ON b.blob_id = e.blob_id WHERE e.representation_id = ?`, representation)
	got := closure(t, c, top)
	if len(got) != 2*n || got[0] != (Reached{ObjectID: top}) || got[len(got)-1].Depth != n-1 {
		t.Fatalf("%d objects, from %v to %v", len(got), got[0], got[len(got)-1])
	}
	for i, r := range got[1:] {
		if want := int64(max(i+1, 2) / 2); r.Depth != want {
			t.Fatalf("object %d of %d is %v, want depth %d", i+1, len(got), r, want)
		}
	}
	// What leads to the lower half is no part of it.
	half := top - 3*n/2
	if got := closure(t, c, half); len(got) != n || slices.ContainsFunc(got, func(r Reached) bool { return r.ObjectID > half }) {
		t.Errorf("%d objects from the middle", len(got))
	}
}

// unchecked opens a catalog whose objects need not be a store's.
func unchecked(t *testing.T) *Catalog {
	t.Helper()
	c, err := Open(t.Context(), Options{Dir: makeStore(t, Options{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// objectsWithout makes objects without edges that could have some: each may lead to
// those before it.
func objectsWithout(t *testing.T, c *Catalog, n int64) (first int64) {
	t.Helper()
	err := c.write(t.Context(), "objects", func(ctx context.Context, tx *writeTx) (err error) {
		if first, err = tx.newIDs(ctx, n); err != nil {
			return err
		}
		var incarnation, sequence int64
		if err := tx.QueryRowxContext(ctx, `UPDATE catalog_info SET next_incarnation = next_incarnation + ?1, next_graph_seq = next_graph_seq + ?1
			RETURNING next_incarnation - ?1, next_graph_seq - ?1`, n).Scan(&incarnation, &sequence); err != nil {
			return err
		}
		attempt := randomID()
		for i := range n {
			id := first + i
			for _, s := range []struct {
				query string
				args  []any
			}{
				{`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) VALUES (?, ?, ?, ?, ?)`, []any{id, KindIndex, incarnation + i, attempt[:], ObjectPath(id, KindIndex)}},
				{`INSERT INTO seal_receipts SELECT ?, catalog_identity, ?, 'fsync', 1, 7, zeroblob(32) FROM catalog_info`, []any{id, attempt[:]}},
				{`UPDATE objects SET state = 'sealed', content_id = zeroblob(32), byte_extent = 7, logical_extent = 7, integrity_digest = zeroblob(32),
					lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, []any{id}},
				{`UPDATE objects SET graph_seq = ?, lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, []any{sequence + i, id}},
			} {
				if _, err := tx.ExecContext(ctx, s.query, s.args...); err != nil {
					return fmt.Errorf("%s: %w", s.query, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}
