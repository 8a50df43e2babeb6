package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestCompact runs a store through two compactions, with generations before,
// between and after, and collects what they replaced.
func TestCompact(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	for range 3 {
		l.publish(l.rotate()...)
	}
	before := l.stateNow()
	if before.BaseLSN != 0 || before.Base != nil {
		t.Errorf("a base: %+v", before.Base)
	}
	first := l.compact(2, 2)
	head := l.publishBase(before.Timeline, first)
	after := l.stateNow()
	if head.WorldID != before.Timeline.WorldID || head.RepresentationID == before.Timeline.RepresentationID || head.LSN != 3 || head.Revision != before.Timeline.Revision+1 ||
		!bytes.Equal(head.Fingerprint, before.Timeline.Fingerprint) || head.LiveCount != before.Timeline.LiveCount || head.SchemaID != before.Timeline.SchemaID {
		t.Errorf("head %+v, was %+v", head, before.Timeline)
	}
	if fmt.Sprint(after.Timeline) != fmt.Sprint(head) || fmt.Sprint(after.Shards) != fmt.Sprint(before.Shards) {
		t.Errorf("state %+v after %+v", after, before)
	}
	checkBaseFiles(t, after, first)
	for _, g := range after.Generations {
		if g.InHead != (g.Generation == 3) {
			t.Errorf("generation %+v", g)
		}
	}
	if n := collectAll(t, c); n != 4 {
		t.Errorf("%d objects collected", n)
	}
	l.publish(l.rotate()...)
	second := l.compact(4, 1)
	l.publishBase(l.stateNow().Timeline, second)
	if n := collectAll(t, c); n != 6 {
		t.Errorf("%d objects collected", n)
	}
	last := l.stateNow()
	checkBaseFiles(t, last, second)
	for i, g := range last.Generations {
		if g.Generation != 5 || g.InHead || i > 1 {
			t.Errorf("generation %+v", g)
		}
	}
	l.publish(l.rotate()...)
	// What is left is what is needed.
	for query, want := range map[string]int64{
		`SELECT count(*) FROM objects`:                5, // the base, two generations in the head, two open ones
		`SELECT count(*) FROM blob_versions`:          3,
		`SELECT count(*) FROM seal_receipts`:          3,
		`SELECT count(*) FROM fragments`:              3,
		`SELECT count(*) FROM gc_work`:                0,
		`SELECT count(*) FROM identity_tombstones`:    10,
		`SELECT count(*) FROM worlds`:                 1,
		`SELECT count(*) FROM representations`:        1,
		`SELECT count(*) FROM manifest_entries`:       3,
		`SELECT count(*) FROM owner_objects`:          2,
		`SELECT count(*) FROM owner_blobs`:            0,
		`SELECT count(*) FROM manifest_audit`:         0,
		`SELECT count(*) FROM gc_candidates`:          0,
		`SELECT count(*) FROM base_files`:             3,
		`SELECT min(generation) FROM generations`:     5,
		`SELECT count(*) FROM representation_closure`: 3,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if err := ctx.Err(); err != nil {
		t.Fatal(err)
	}
}

// stateNow reads the state.
func (l *log) stateNow() State {
	l.t.Helper()
	s, err := l.c.StateOf(context.Background(), l.name)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// checkBaseFiles expects the base of the head to be what a job wrote.
func checkBaseFiles(t *testing.T, s State, b baseJob) {
	t.Helper()
	if s.BaseLSN != b.base.LSN || len(s.Base) != len(b.base.Objects) {
		t.Fatalf("base of LSN %d: %+v", s.BaseLSN, s.Base)
	}
	for i, f := range s.Base {
		r := b.reserved[i]
		seal := baseSealOf(r, b.base.LSN, i)
		if f.ObjectID != r.ObjectID || f.Path != r.Path || f.Path != ObjectPath(r.ObjectID, KindKV) || f.Attempt != r.Attempt || f.LSN != seal.LSN || f.Records != seal.records() ||
			f.ByteExtent != seal.Extent || f.ContentID != seal.ContentID || f.IntegrityDigest != seal.Digest || !bytes.Equal(f.Fingerprint, seal.Fingerprint) ||
			!bytes.Equal(f.Sum, b.base.Objects[i].Sum) || !slices.Equal(f.Fragments, seal.Fragments) {
			t.Errorf("base file %d is %+v, was %+v of %+v", i, f, seal, r)
		}
	}
}

// TestCompactManifest: whatever is kept, the manifest is the base and then the kept
// entries in their order; whole chunks at the end are shared.
func TestCompactManifest(t *testing.T) {
	for _, x := range []struct {
		generations, replaced, bases int
		want                         string
	}{
		{3, 3, 1, "[2×1]"},
		{3, 1, 2, "[2×4]"},
		{chunkEntries, chunkEntries, 1, "[2×1]"},
		{chunkEntries + 3, chunkEntries, 1, "[3×1 2×3]"},         // the second chunk is kept whole
		{chunkEntries + 3, chunkEntries - 2, 1, "[3×3 2×3]"},     // and two of the first
		{2*chunkEntries + 3, chunkEntries + 1, 1, "[4×256 3×3]"}, // all but one of the second
		{2*chunkEntries + 3, 2 * chunkEntries, 300, "[4×256 5×44 3×3]"},
		{2*chunkEntries + 3, 1, 2, "[4×256 5×1 2×256 3×3]"},
	} {
		t.Run(fmt.Sprintf("%d-%d-%d", x.generations, x.replaced, x.bases), func(t *testing.T) {
			c, _ := newStore(t, Creation{})
			l := newLog(t, c)
			l.publish(l.rotateMany(x.generations)...)
			before := l.stateNow()
			a, err := l.prepare(ptr(l.compact(int64(x.replaced), x.bases)).publication(before.Timeline)).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(chunks(t, c, a.candidate)); got != x.want {
				t.Errorf("chunks %s, want %s", got, x.want)
			}
			if _, err := a.Adopt(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := one64(t, c, `SELECT count(*) FROM manifest_audit`); n != 0 {
				t.Errorf("%d problems", n)
			}
			if _, err := c.ResolvePublications(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := l.stateNow()
			var want []int64
			for _, f := range s.Base {
				want = append(want, f.ObjectID)
			}
			for _, g := range s.Generations {
				if g.InHead != (g.Generation > int64(x.replaced) && g.Generation <= int64(x.generations)) {
					t.Errorf("generation %+v", g)
				}
				if g.InHead {
					want = append(want, g.ObjectID)
				}
			}
			var got []int64
			if err := c.reads.Select(&got, `SELECT logical_factor_id FROM representation_entries ORDER BY position`); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) || len(got) != x.bases+x.generations-x.replaced {
				t.Errorf("manifest %v, want %v", got, want)
			}
			// The log goes on behind it.
			l.publish(l.rotateMany(2)...)
			if n := len(l.stateNow().Base); n != x.bases {
				t.Errorf("%d base objects", n)
			}
		})
	}
}

// TestSharedChunksAreWhole: a chunk of which an entry is replaced is not shared, also
// when an earlier one is kept, as a generation without a commit can make it.
func TestSharedChunksAreWhole(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotateMany(chunkEntries + 3)...)
	head := l.stateNow().Timeline
	undo := errors.New("undone")
	err := c.write(t.Context(), "test", func(ctx context.Context, tx *writeTx) error {
		kept, err := readEntries(ctx, tx, c.identity(), head.RepresentationID, 0)
		if err != nil {
			return err
		}
		kept = slices.Delete(kept, chunkEntries+1, chunkEntries+2)
		to, err := tx.newID(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO representations SELECT ?, world_id, index_state_id, layout_version, ?, contribution_sum FROM representations`, to, len(kept)); err != nil {
			return err
		}
		if err := layManifest(ctx, tx, c.identity(), head.RepresentationID, to, slices.Clone(kept)); err != nil {
			return err
		}
		laid, err := readEntries(ctx, tx, c.identity(), to, 0)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(laid, kept, func(a, b entryRow) bool { return a.equal(&b) }) {
			t.Errorf("%d entries laid, of %d", len(laid), len(kept))
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

// TestCompactEmptyGenerations: a generation without a commit is covered by a base
// of the commit before it.
func TestCompactEmptyGenerations(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotate()...)
	shard := s.Shards[0].ID
	empty := ShardGeneration{shard, 2}
	if _, err := c.ReserveGeneration(ctx, shard, 3); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCurrentGeneration(ctx, shard, 3); err != nil {
		t.Fatal(err)
	}
	g := l.stateNow().Generations[1]
	seal := Seal{ShardID: shard, Generation: 2, ObjectID: g.ObjectID, Extent: 64, FirstLSN: 2, LastLSN: 1, Fingerprint: emptySum}
	if err := c.SealGeneration(ctx, seal); err != nil {
		t.Fatal(err)
	}
	l.publish(empty)
	l.next[shard] = 3
	l.publish(l.rotate()...)
	l.publishBase(l.stateNow().Timeline, l.compact(1, 1))
	for _, g := range l.stateNow().Generations {
		if g.InHead != (g.Generation == 3) {
			t.Errorf("%+v", g)
		}
	}
	if n := collectAll(t, c); n != 2 {
		t.Errorf("%d collected", n)
	}
}

// TestCompactKeepsSecondHead: what another owner retains is neither pruned nor
// garbage, and goes when that owner lets go.
func TestCompactKeepsSecondHead(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotateMany(2)...)
	old := l.stateNow().Timeline
	db := shell(t, c.options.Dir)
	run := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	run(fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'round')`, fixFree),
		fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, old.RepresentationID))
	l.publish(l.rotateMany(2)...)
	l.publishBase(l.stateNow().Timeline, l.compact(4, 1))
	// Generations 1 and 2 stay, and so does the row of what comes behind them.
	if n := collectAll(t, c); n != 2 {
		t.Errorf("%d collected", n)
	}
	s := l.stateNow()
	var states []string
	for _, g := range s.Generations {
		states = append(states, fmt.Sprint(g.Generation, g.State))
	}
	if got := fmt.Sprint(states); got != "[1sealed 2sealed 3collected 4collected 5open]" {
		t.Error(got)
	}
	if n := one64(t, c, `SELECT count(*) FROM blob_versions`); n != 3 {
		t.Errorf("%d blobs", n)
	}
	// The representation is nobody's now, and leaves with the first of its objects.
	run(fmt.Sprintf(`DELETE FROM owner_representations WHERE owner_id = %d`, fixFree))
	if n := collectAll(t, c); n != 2 {
		t.Errorf("%d collected", n)
	}
	if s = l.stateNow(); len(s.Generations) != 1 || s.Generations[0].Generation != 5 {
		t.Errorf("%+v", s.Generations)
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM objects`:             2,
		`SELECT count(*) FROM representations`:     1,
		`SELECT count(*) FROM worlds`:              1,
		`SELECT count(*) FROM identity_tombstones`: 4,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}
