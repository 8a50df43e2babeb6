package catalog

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// chain registers n blobs, each of an index that goes on in the one before it, and
// a representation of the last, which the timeline main roots.
func chain(tb testing.TB, c *Catalog, n int64) (representation int64) {
	tb.Helper()
	ctx := context.Background()
	s, err := c.State(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	err = c.write(ctx, "chain", func(ctx context.Context, tx *writeTx) error {
		first, err := tx.newIDs(ctx, 3*n+2)
		if err != nil {
			return err
		}
		var incarnation, sequence int64
		if err := tx.QueryRowxContext(ctx, `UPDATE catalog_info SET next_incarnation = next_incarnation + 2 * ?1, next_graph_seq = next_graph_seq + 3 * ?1
			RETURNING next_incarnation - 2 * ?1, next_graph_seq - 3 * ?1`, n).Scan(&incarnation, &sequence); err != nil {
			return err
		}
		attempt := randomID()
		run := func(query string, args ...any) {
			if err == nil {
				_, err = tx.ExecContext(ctx, query, args...)
			}
		}
		object := func(id int64, kind string, number, position int64) {
			run(`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) VALUES (?, ?, ?, ?, ?)`, id, kind, number, attempt[:], ObjectPath(id, kind))
			run(`INSERT INTO seal_receipts SELECT ?, catalog_identity, ?, 'fsync', 1, 7, zeroblob(32) FROM catalog_info`, id, attempt[:])
			run(`UPDATE objects SET state = 'sealed', content_id = zeroblob(32), byte_extent = 7, logical_extent = 7, integrity_digest = zeroblob(32),
				lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, id)
			run(`UPDATE objects SET graph_seq = ?, lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, position, id)
		}
		for i := range n {
			native, index, blob := first+3*i, first+3*i+1, first+3*i+2
			object(native, KindKV, incarnation+2*i, sequence+3*i)
			object(index, KindIndex, incarnation+2*i+1, sequence+3*i+1)
			run(`INSERT INTO object_edges VALUES (?, ?, 'own_native')`, index, native)
			var target any
			if i > 0 {
				run(`INSERT INTO object_edges VALUES (?1, ?2, 'main_native'), (?1, ?3, 'main_index')`, index, native-3, index-3)
				target = blob - 3
			}
			run(`INSERT INTO blob_versions(blob_id, layout, native_object_id, index_object_id, main_target_blob_id, native_count, augmented_count, registration_seq)
				VALUES (?, 'IX02', ?, ?, ?, 1, 1, ?)`, blob, native, index, target, sequence+3*i+2)
		}
		last, chunk := first+3*n-1, first+3*n+1
		representation = first + 3*n
		run(`INSERT INTO worlds(world_id, admitted_cut_id, lsn, schema_id, live_count, composite_fingerprint) VALUES (?1, ?1, 1, ?2, 0, ?3)`, representation, s.Timeline.SchemaID, emptySum)
		run(`INSERT INTO representations VALUES (?1, ?1, ?2, 1, 1, ?3)`, representation, s.IndexState.ID, emptySum)
		run(`INSERT INTO manifest_entries VALUES (?, 0, ?, ?, 'update', ?, zeroblob(32))`, chunk, last-2, last, emptySum)
		run(`INSERT INTO representation_chunks VALUES (?, 0, ?, 1, 0)`, representation, chunk)
		run(`INSERT INTO owner_representations VALUES (?, ?)`, s.Timeline.OwnerID, representation)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return representation
}

// claimChain lets go of a chain and claims it in batches; it returns how long each
// claim took.
func claimChain(tb testing.TB, c *Catalog, representation int64, batch int) (took []time.Duration) {
	tb.Helper()
	ctx := context.Background()
	err := c.write(ctx, "let-go", func(ctx context.Context, tx *writeTx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM owner_representations WHERE representation_id = ?`, representation)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	garbage, _, err := c.Explain(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	for part := range slices.Chunk(idsOf(garbage), batch) {
		start := time.Now()
		claimed, err := c.Claim(ctx, part)
		took = append(took, time.Since(start))
		if err != nil || len(claimed) != len(part) {
			tb.Fatal(len(claimed), err)
		}
	}
	return took
}

// BenchmarkPinChain pins and releases a representation whose closure is a chain of
// blobs, and then claims the chain in batches of 256 objects; the metrics are the
// milliseconds of a claim, the median and the longest.
func BenchmarkPinChain(b *testing.B) {
	for _, n := range []int64{200, 2_000, 20_000} {
		b.Run(fmt.Sprintf("blobs=%d", n), func(b *testing.B) {
			_, c, _ := benchStore(b)
			ctx := b.Context()
			representation := chain(b, c, n)
			s, err := c.OpenSession(ctx, someProcess)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				pin, err := c.Pin(ctx, s.ID, representation, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Unpin(ctx, pin.OwnerID); err != nil {
					b.Fatal(err)
				}
			}
			took := claimChain(b, c, representation, 256)
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "claim-p50-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "claim-max-ms")
			if err := c.Close(ctx); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// TestPinOfAChain: a pin of the end keeps all of the chain, and a quarantine
// anywhere in it refuses the next pin; as claims do, from the dependents on.
func TestPinOfAChain(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	representation := chain(t, c, 50)
	s, err := c.OpenSession(ctx, someProcess)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := c.Pin(ctx, s.ID, representation, nil)
	if err != nil {
		t.Fatal(err)
	}
	garbage, kept, err := c.Explain(ctx)
	if err != nil || len(garbage) != 0 || len(kept) != 101 {
		t.Errorf("%d garbage, %d kept, %v", len(garbage), len(kept), err)
	}
	for _, k := range kept {
		if claimed, err := c.Claim(ctx, []int64{k.ID}); err != nil || len(claimed) != 0 {
			t.Fatalf("object %d under the pin: %+v, %v", k.ID, claimed, err)
		}
	}
	first := one64(t, c, `SELECT object_id FROM objects WHERE graph_seq IS NOT NULL ORDER BY graph_seq LIMIT 1`)
	edit(t, dir, objectUpdate(first, "state = 'quarantined'"))
	if n := one64(t, c, fmt.Sprintf(`SELECT count(*) FROM representation_blockers WHERE representation_id = %d`, representation)); n != 1 {
		t.Errorf("%d blockers", n)
	}
	_, err = c.Pin(ctx, s.ID, representation, nil)
	wantCode(t, err, CodeAcquire)
	edit(t, dir, objectUpdate(first, "state = 'sealed', reconciled_by = x'01'"))
	if _, err := c.Pin(ctx, s.ID, representation, nil); err != nil {
		t.Error(err)
	}
	if err := c.CloseSession(ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	if pins, err := c.Pins(ctx); err != nil || len(pins) != 0 || pin.OwnerID == 0 {
		t.Errorf("%+v, %v", pins, err)
	}
	claimChain(t, c, representation, 7)
	if n := one64(t, c, `SELECT count(*) FROM claim_closure_audit`); n != 0 {
		t.Errorf("%d findings of the audit", n)
	}
}
