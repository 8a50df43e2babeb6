package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// graphStore is a store with an index over a native, both registered and nobody's:
// the index depends on the native.
func graphStore(t *testing.T) (c *Catalog, db *sql.DB, native, index int64) {
	t.Helper()
	c = openStore(t, Options{Dir: makeStore(t, Options{})})
	job, err := c.StartJob(t.Context(), "compact", "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.ReserveObject(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SealBase(t.Context(), baseSealOf(r, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndJob(t.Context(), job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	native, index = r.ObjectID, fixFree
	db = shell(t, c.options.Dir)
	execute(t, db, `UPDATE catalog_info SET next_incarnation = 200, next_graph_seq = 100`,
		object(index, "index", 100, ""), sealing(index)[0], sealing(index)[1], objectUpdate(index, "graph_seq = 50"),
		fmt.Sprintf(`INSERT INTO object_edges VALUES (%d, %d, 'own_native')`, index, native),
		fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, index_object_id, native_count, augmented_count, registration_seq)
			VALUES (%d, 'IX02', %d, %d, 1, 1, 51)`, fixFree+1, native, index))
	return c, db, native, index
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestDependentsGoFirst: a claim of what another object depends on waits for that
// object's, and what is handed out is in an order that can be claimed.
func TestDependentsGoFirst(t *testing.T) {
	ctx := t.Context()
	c, db, native, index := graphStore(t)
	list, err := c.Garbage(ctx, 10)
	if err != nil || fmt.Sprint(idsOf(list)) != fmt.Sprint([]int64{index, native}) {
		t.Fatalf("garbage %v, %v", list, err)
	}
	if list, err = c.Garbage(ctx, 1); err != nil || len(list) != 1 || list[0].ID != index {
		t.Errorf("one of it: %v, %v", list, err)
	}
	if list, err = c.Claim(ctx, []int64{native}); err != nil || len(list) != 0 {
		t.Errorf("claimed %v, %v", list, err)
	}
	// A root on the dependent keeps both.
	execute(t, db, newOwner("cache"), fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'cache')`, fixFree, index))
	if list, err = c.Garbage(ctx, 10); err != nil || len(list) != 0 {
		t.Errorf("garbage %v, %v", list, err)
	}
	if list, err = c.Claim(ctx, []int64{native, index}); err != nil || len(list) != 0 {
		t.Errorf("claimed %v, %v", list, err)
	}
	execute(t, db, `DELETE FROM owner_objects WHERE purpose = 'cache'`)
	if list, err = c.Claim(ctx, []int64{native, index}); err != nil || fmt.Sprint(idsOf(list)) != fmt.Sprint([]int64{index, native}) {
		t.Errorf("claimed %v, %v", list, err)
	}
	if n := one64(t, c, `SELECT count(*) FROM claim_closure_audit`); n != 0 {
		t.Errorf("%d claims are not closed", n)
	}
	// Claimed, they may leave in any order: nothing reads one through the other any more.
	for _, id := range []int64{native, index} {
		if err := c.Collected(ctx, []int64{id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"object_edges", "blob_versions", "fragments", "seal_receipts", "gc_work"} {
		if n := one64(t, c, `SELECT count(*) FROM `+table); n != 0 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
	// Neither comes back.
	for _, id := range []int64{index, native} {
		if _, err := db.ExecContext(ctx, object(id, "kv", 120, "")); err == nil || guardCode(err.Error()) != CodeReuse {
			t.Errorf("object %d again: %v", id, err)
		}
	}
}

// TestClaimAndCollected: what is claimed stays so, what is collected is gone, and
// each may be said again.
func TestClaimAndCollected(t *testing.T) {
	ctx := t.Context()
	c := openStore(t, Options{Dir: makeStore(t, Options{})})
	l := newLog(t, c)
	l.publish(l.rotateMany(4)...)
	job := l.compact(3, 1)
	vain := l.compact(3, 1)
	l.publishBase(l.stateNow().Timeline, job)
	if err := c.EndJob(ctx, vain.job.ID, 0, 1, context.Canceled); err != nil {
		t.Fatal(err)
	}
	gens := l.stateNow().Generations
	garbage := []int64{gens[0].ObjectID, gens[1].ObjectID, gens[2].ObjectID, vain.base.Objects[0].ObjectID}
	// Everything that there is is asked for.
	all := append(idsOfObjects(t, c), 4711)
	for range 2 {
		list, err := c.Claim(ctx, all)
		if err != nil || len(list) != len(garbage) {
			t.Fatalf("claimed %v, %v", list, err)
		}
		for _, o := range list {
			if o.State != "gc_claimed" || o.Rooted || o.Path != ObjectPath(o.ID, KindKV) {
				t.Errorf("claimed %+v", o)
			}
		}
	}
	if n := one64(t, c, `SELECT count(*) FROM gc_intents WHERE claim_state = 'claimed' AND deletion_generation = 1 AND object_state = 'gc_claimed'`); n != 4 {
		t.Errorf("%d intents", n)
	}
	_, err := c.Claim(ctx, []int64{-1})
	wantCode(t, err, CodeRange)
	if list, err := c.Claim(ctx, nil); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	// Nothing can name them any more.
	db := shell(t, c.options.Dir)
	execute(t, db, newOwner("cache"))
	for _, s := range []string{
		fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'cache')`, fixFree, garbage[0]),
		fmt.Sprintf(`INSERT INTO owner_blobs SELECT %d, blob_id FROM blob_versions WHERE native_object_id = %d`, fixFree, garbage[0]),
	} {
		if _, err := db.ExecContext(ctx, s); err == nil || guardCode(err.Error()) != CodeAcquire {
			t.Errorf("%s: %v", s, err)
		}
	}
	// All or nothing.
	wantCode(t, c.Collected(ctx, append(garbage[:1:1], gens[3].ObjectID)), CodeGC)
	wantCode(t, c.Collected(ctx, append(garbage[:1:1], 4711)), CodeUnknown)
	wantCode(t, c.Collected(ctx, []int64{0}), CodeRange)
	if n := one64(t, c, `SELECT count(*) FROM objects WHERE state = 'gc_claimed'`); n != 4 {
		t.Errorf("%d claimed", n)
	}
	// The second and third generation wait for the first.
	for range 2 {
		if err := c.Collected(ctx, garbage[1:3]); err != nil {
			t.Fatal(err)
		}
		s := l.stateNow()
		if s.Generations[0].State != GenerationSealed || s.Generations[1].State != GenerationCollected || s.Generations[2].State != GenerationCollected || s.Generations[1].Registered {
			t.Errorf("%+v", s.Generations)
		}
		if list, err := c.Garbage(ctx, 10); err != nil || len(list) != 2 || list[0].State != "gc_claimed" {
			t.Errorf("garbage %v, %v", list, err)
		}
	}
	if list, err := c.Claim(ctx, garbage); err != nil || len(list) != 2 {
		t.Errorf("claimed %v, %v", list, err)
	}
	for range 2 {
		if err := c.Collected(ctx, garbage); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Collected(ctx, nil); err != nil {
		t.Error(err)
	}
	if s := l.stateNow(); s.Generations[0].Generation != 4 || !s.Generations[0].InHead {
		t.Errorf("%+v", s.Generations)
	}
	if n := one64(t, c, `SELECT count(*) FROM identity_tombstones`); n != 4 {
		t.Errorf("%d tombstones", n)
	}
	if objects, err := c.Objects(ctx); err != nil || len(objects) != 3 {
		t.Errorf("%+v, %v", objects, err)
	}
}

// TestNothingIsGarbage: a call that finds nothing to do commits nothing.
func TestNothingIsGarbage(t *testing.T) {
	ctx := t.Context()
	watch := &seamAt{}
	c := openStore(t, Options{Dir: compactedStore(t), Fault: watch.seam()})
	gone := one64(t, c, `SELECT min(object_id) FROM identity_tombstones`)
	before := len(watch.seen)
	if list, err := c.Garbage(ctx, 10); err != nil || list != nil {
		t.Errorf("%v, %v", list, err)
	}
	for _, ids := range [][]int64{nil, {gone}, idsOfObjects(t, c)} {
		if list, err := c.Claim(ctx, ids); err != nil || list != nil {
			t.Errorf("%v, %v", list, err)
		}
	}
	for _, ids := range [][]int64{nil, {gone}, {gone, gone}} {
		if err := c.Collected(ctx, ids); err != nil {
			t.Error(err)
		}
	}
	if len(watch.seen) != before {
		t.Errorf("commits: %v", watch.seen[before:])
	}
}

// TestCurrentGenerationStays: the shard's last row is where its numbers go on, even
// when a base covers it.
func TestCurrentGenerationStays(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	l := newLog(t, c)
	shard := s.Shards[0].ID
	seal := sealOf(s.Generations[0])
	if err := c.SealGeneration(ctx, seal); err != nil {
		t.Fatal(err)
	}
	l.reload()
	l.publish(ShardGeneration{shard, 1})
	l.publishBase(l.stateNow().Timeline, l.compact(10, 1))
	checkGarbageAgrees(t, c)
	if list, err := c.Garbage(ctx, 10); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := c.Claim(ctx, []int64{seal.ObjectID}); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := c.ReserveGeneration(ctx, shard, 2); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCurrentGeneration(ctx, shard, 2); err != nil {
		t.Fatal(err)
	}
	checkGarbageAgrees(t, c)
	if n := collectAll(t, c); n != 1 {
		t.Errorf("%d collected", n)
	}
	if _, err := c.ReserveGeneration(ctx, shard, 3); err != nil {
		t.Fatal(err)
	}
	if s := l.stateNow(); len(s.Generations) != 2 || s.Generations[0].Generation != 2 {
		t.Errorf("%+v", s.Generations)
	}
}

// TestQuarantinedGarbage: an object in quarantine is kept until an operation has
// proved what became of it.
func TestQuarantinedGarbage(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	edit(t, dir, `UPDATE catalog_info SET next_incarnation = 50`, object(fixFree, "kv", 40, ""), objectUpdate(fixFree, "state = 'quarantined'"))
	c := openStore(t, Options{Dir: dir})
	if list, err := c.Garbage(ctx, 10); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := c.Claim(ctx, []int64{fixFree}); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	edit(t, dir, objectUpdate(fixFree, "reconciled_by = x'01'"))
	checkGarbageAgrees(t, c)
	if n := collectAll(t, c); n != 1 {
		t.Errorf("%d collected", n)
	}
}

// TestClaimAgainstAcquisition: whichever commits first wins, and the other is refused.
func TestClaimAgainstAcquisition(t *testing.T) {
	ctx := t.Context()
	c := openStore(t, Options{Dir: makeStore(t, Options{})})
	db := shell(t, c.options.Dir)
	execute(t, db, `PRAGMA busy_timeout = 5000`, newOwner("cache"))
	for range 20 {
		job, err := c.StartJob(ctx, "compact", "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.ReserveObject(ctx, job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
			t.Fatal(err)
		}
		var claimed []Object
		var claimErr, acquireErr error
		var both sync.WaitGroup
		both.Go(func() { claimed, claimErr = c.Claim(ctx, []int64{r.ObjectID}) })
		both.Go(func() {
			_, acquireErr = db.ExecContext(ctx, fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'cache')`, fixFree, r.ObjectID))
		})
		both.Wait()
		if claimErr != nil || (len(claimed) == 1) == (acquireErr == nil) || acquireErr != nil && guardCode(acquireErr.Error()) != CodeAcquire {
			t.Fatalf("claimed %v, %v; acquired: %v", claimed, claimErr, acquireErr)
		}
	}
	execute(t, db, `DELETE FROM owner_objects WHERE purpose = 'cache'`)
	if n := collectAll(t, c); n != 20 {
		t.Errorf("%d collected", n)
	}
}

// TestGarbageOfGraphs compares Garbage with the views on graphs of all kinds of rows.
func TestGarbageOfGraphs(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	c, err := Open(t.Context(), Options{Dir: makeStore(t, Options{})})
	if err != nil {
		t.Fatal(err)
	}
	const objects = 30
	for range 10 {
		id := func() int64 { return fixFree + random.Int64N(objects) }
		withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
			var statements []string
			add := func(format string, args ...any) { statements = append(statements, fmt.Sprintf(format, args...)) }
			for _, table := range []string{"object_edges", "owner_blobs", "manifest_entries", "representation_chunks"} {
				add(`DELETE FROM %s`, table)
			}
			add(`DELETE FROM owner_objects WHERE object_id >= %d`, fixFree)
			add(`DELETE FROM owner_representations WHERE representation_id >= %d`, fixFree)
			add(`DELETE FROM representations WHERE representation_id >= %d`, fixFree)
			add(`UPDATE blob_versions SET main_target_blob_id = NULL`)
			add(`DELETE FROM blob_versions`)
			add(`DELETE FROM objects WHERE object_id >= %d`, fixFree)
			add(`DELETE FROM owners WHERE owner_id >= %d`, fixFree)
			add(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'cache')`, fixFree)
			kinds := make([]string, objects)
			for i := range kinds {
				kinds[i] = []string{"kv", "kv", "index"}[random.IntN(3)]
				state := []string{"reserved", "sealed", "sealed", "sealed", "quarantined", "gc_claimed", "collected"}[random.IntN(7)]
				evidence, descriptor := "NULL", "NULL"
				if random.IntN(2) == 0 {
					evidence = "x'01'"
				}
				if state == "sealed" {
					descriptor = "zeroblob(32)"
				}
				n := "NULL"
				if state == "sealed" {
					n = "1"
				}
				add(`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path, state, reconciled_by, content_id, byte_extent, logical_extent, integrity_digest)
					VALUES (%d, '%s', %d, zeroblob(16), '%s', '%s', %s, %s, %s, %s, %s)`, fixFree+i, kinds[i], 1000+i, ObjectPath(int64(fixFree+i), kinds[i]), state, evidence, descriptor, n, n, descriptor)
			}
			for range random.IntN(2 * objects) {
				if a, b := id(), id(); a > b {
					add(`INSERT OR IGNORE INTO object_edges VALUES (%d, %d, 'value')`, a, b)
				}
			}
			of := func(kind string) int64 {
				for {
					if i := random.IntN(objects); kinds[i] == kind {
						return int64(fixFree + i)
					}
				}
			}
			blobs := random.IntN(objects)
			for i := range blobs {
				layout, index, secondary := "native", "NULL", "NULL"
				if random.IntN(3) == 0 {
					layout, index = "IX03", fmt.Sprint(of("index"))
					if random.IntN(2) == 0 {
						secondary = fmt.Sprint(of("kv"))
					}
				}
				add(`INSERT OR IGNORE INTO blob_versions(blob_id, layout, native_object_id, index_object_id, secondary_native_object_id, native_count, augmented_count, registration_seq)
					VALUES (%d, '%s', %d, %s, %s, 0, 0, %d)`, 2000+i, layout, of("kv"), index, secondary, i+1)
			}
			for range random.IntN(5) {
				add(`INSERT OR IGNORE INTO owner_objects VALUES (%d, %d, 'cache')`, fixFree, id())
			}
			for range random.IntN(5) {
				add(`INSERT OR IGNORE INTO owner_blobs SELECT %d, blob_id FROM blob_versions WHERE blob_id = %d`, fixFree, 2000+random.IntN(objects))
			}
			// Two representations share a chunk, and one of them may be retained.
			add(`INSERT INTO manifest_entries SELECT 3000, row_number() OVER () - 1, blob_id, blob_id, 'update', zeroblob(16), zeroblob(32) FROM blob_versions`)
			for i := range 2 {
				add(`INSERT INTO representations SELECT %d, world_id, index_state_id, 1, 0, zeroblob(16) FROM representations WHERE representation_id = %d`, fixFree+i, fixRepresentation)
				add(`INSERT INTO representation_chunks SELECT %d, 0, 3000, %d, 0`, fixFree+i, 1+random.IntN(objects))
				if random.IntN(2) == 0 {
					add(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, fixFree+i)
				}
			}
			for _, s := range statements {
				if _, err := tx.ExecContext(ctx, s); err != nil {
					return fmt.Errorf("%s: %w", s, err)
				}
			}
			return nil
		})
		checkGarbageAgrees(t, c)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
