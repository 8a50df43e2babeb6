package catalog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestObjectPath(t *testing.T) {
	for _, c := range []struct {
		id   int64
		kind string
		want string
	}{
		{0x1a2b, KindKV, "objects/2b/1a/0000000000001a2b.kv"},
		{1, KindIndex, "objects/01/00/0000000000000001.index"},
		{MaxID, KindKV, "objects/ff/ff/3fffffffffffffff.kv"},
	} {
		if got := ObjectPath(c.id, c.kind); got != c.want {
			t.Errorf("ObjectPath(%#x, %q) = %q, want %q", c.id, c.kind, got, c.want)
		}
	}
	// The schema's expression is the same function.
	db := shell(t, makeStore(t, Options{}))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		id := 1 + rng.Int64N(MaxID)>>rng.IntN(60)
		var got string
		if err := db.QueryRowContext(t.Context(), `SELECT 'objects/' || substr(printf('%016x',?1),15,2) || '/' || substr(printf('%016x',?1),13,2) || '/' || printf('%016x',?1) || '.kv'`, id).
			Scan(&got); err != nil {
			t.Fatal(err)
		}
		if want := ObjectPath(id, KindKV); got != want {
			t.Fatalf("id %#x: SQL %q, Go %q", id, got, want)
		}
	}
}

func TestReserveIDs(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	used := map[int64]bool{}
	for id := range s.Generations[0].ObjectID {
		used[id+1] = true // a new store uses them without a gap
	}
	last := int64(0)
	for _, n := range []int64{1, 1, 500, 1, 600, 1024, 1, 5000, 1} {
		first, err := c.ReserveIDs(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		for id := first; id < first+n; id++ {
			if used[id] {
				t.Fatalf("id %d was handed out twice", id)
			}
			used[id] = true
		}
		last = max(last, first+n-1)
	}
	for _, n := range []int64{0, -1, MaxID, MaxID - 10} {
		_, err := c.ReserveIDs(ctx, n)
		wantCode(t, err, CodeRange)
	}
	var next int64
	if err := c.reads.GetContext(ctx, &next, `SELECT next_id FROM catalog_info`); err != nil || next <= last {
		t.Errorf("next_id %d after id %d, %v", next, last, err)
	}
}

// TestReserveIDsUsesBlocks: most calls reach no COMMIT.
func TestReserveIDsUsesBlocks(t *testing.T) {
	ctx := t.Context()
	watch := &seamAt{}
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir, Fault: watch.seam()})
	before := len(watch.seen)
	for range 2 * idBlock {
		if _, err := c.ReserveIDs(ctx, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(watch.seen) - before; got != 2 {
		t.Errorf("%d commits for %d ids", got, 2*idBlock)
	}
	// A large run leaves the block in use alone.
	first, err := c.ReserveIDs(ctx, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReserveIDs(ctx, 2*idBlock); err != nil {
		t.Fatal(err)
	}
	if next, err := c.ReserveIDs(ctx, 1); err != nil || next != first+10 {
		t.Errorf("the block was thrown away: %d after %d, %v", next, first+9, err)
	}
}

func TestIDSpaceEnds(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	edit(t, dir, fmt.Sprintf(`UPDATE catalog_info SET next_id = %d`, int64(MaxID-idBlock)))
	c := openStore(t, Options{Dir: dir})
	if first, err := c.ReserveIDs(ctx, idBlock); err != nil || first != MaxID-idBlock {
		t.Errorf("last block: %d, %v", first, err)
	}
	_, err := c.ReserveIDs(ctx, 1)
	wantCode(t, err, CodeRange)
}

func TestCounter(t *testing.T) {
	for v, ok := range map[uint64]bool{0: true, MaxID: true, MaxID + 1: false, 1 << 63: false, 1<<64 - 1: false} {
		got, err := Counter("records", v)
		if ok != (err == nil) || ok && uint64(got) != v {
			t.Errorf("Counter(%d) = %d, %v", v, got, err)
		}
		if !ok {
			wantCode(t, err, CodeRange)
		}
	}
}

// TestSeveralShards: what is done for several shards in one call is done for
// all of them or for none.
func TestSeveralShards(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{Shards: 3})
	var ids []int64
	var second, third []ShardGeneration
	for _, shard := range s.Shards {
		ids = append(ids, shard.ID)
		second, third = append(second, ShardGeneration{shard.ID, 2}), append(third, ShardGeneration{shard.ID, 3})
	}
	epochs, err := c.BumpEpochs(ctx, ids...)
	if err != nil || fmt.Sprint(epochs) != "[1 1 1]" {
		t.Errorf("epochs %v, %v", epochs, err)
	}
	_, err = c.BumpEpochs(ctx, ids[0], 4711)
	wantCode(t, err, CodeUnknown)
	gs, err := c.ReserveGenerations(ctx, second[1], second[0])
	if err != nil || len(gs) != 2 || gs[0].ShardID != ids[1] || gs[1].ShardID != ids[0] {
		t.Fatalf("%+v, %v", gs, err)
	}
	_, err = c.ReserveGenerations(ctx, third[0], third[2]) // the last one has no second
	wantCode(t, err, CodeGeneration)
	again, err := c.ReserveGenerations(ctx, second...) // two of them are there
	if err != nil || fmt.Sprint(again[:2]) != fmt.Sprint([]Generation{gs[1], gs[0]}) || again[2].Generation != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	wantCode(t, c.SetCurrentGenerations(ctx, second[0], third[1]), CodeShard)
	for range 2 {
		if err := c.SetCurrentGenerations(ctx, second[:2]...); err != nil {
			t.Fatal(err)
		}
	}
	state, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{2, 2, 1} {
		if got := state.Shards[i]; got.CurrentGeneration != want || got.WriterEpoch != 1 {
			t.Errorf("shard %d: %+v", i, got)
		}
	}
	if len(state.Generations) != 6 {
		t.Errorf("%d generations", len(state.Generations))
	}
}

func TestGenerations(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	shard, first := s.Shards[0].ID, s.Generations[0]

	again, err := c.ReserveGeneration(ctx, shard, 1)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("reserving what exists: %+v, %v", again, err)
	}
	second, err := c.ReserveGeneration(ctx, shard, 2)
	if err != nil || second.State != GenerationOpen || second.ObjectID == first.ObjectID || second.Attempt == first.Attempt {
		t.Fatalf("second: %+v, %v", second, err)
	}
	for _, bad := range []struct {
		shard, generation int64
		code              Code
	}{
		{shard, 4, CodeGeneration}, {shard, 0, CodeRange}, {shard, -1, CodeRange}, {0, 1, CodeRange}, {shard, MaxID + 1, CodeRange}, {4711, 1, CodeUnknown},
	} {
		_, err := c.ReserveGeneration(ctx, bad.shard, bad.generation)
		wantCode(t, err, bad.code)
	}

	wantCode(t, c.SetCurrentGeneration(ctx, shard, 3), CodeShard)
	wantCode(t, c.SetCurrentGeneration(ctx, shard, 0), CodeRange)
	wantCode(t, c.SetCurrentGeneration(ctx, 4711, 1), CodeUnknown)
	for range 2 {
		if err := c.SetCurrentGeneration(ctx, shard, 2); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, c.SetCurrentGeneration(ctx, shard, 1), CodeShard)

	seal := sealOf(first)
	wantCode(t, c.SealGeneration(ctx, sealOf(second)), CodeGeneration) // out of order
	for range 2 {
		if err := c.SealGeneration(ctx, seal); err != nil {
			t.Fatal(err)
		}
	}
	other := seal
	other.Records++
	wantCode(t, c.SealGeneration(ctx, other), CodeImmutable)
	other = sealOf(second)
	other.FirstLSN, other.LastLSN = seal.LastLSN, seal.LastLSN+1
	wantCode(t, c.SealGeneration(ctx, other), CodeGeneration) // overlap
	other = sealOf(second)
	other.ObjectID = first.ObjectID
	wantCode(t, c.SealGeneration(ctx, other), CodeImmutable)
	other = sealOf(second)
	other.Generation = 9
	wantCode(t, c.SealGeneration(ctx, other), CodeUnknown)

	state, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := state.Generations[0]
	if got.State != GenerationSealed || got.FirstLSN != seal.FirstLSN || got.LastLSN != seal.LastLSN || got.Records != seal.Records ||
		got.ByteExtent != seal.Extent || got.ContentID != seal.ContentID || got.IntegrityDigest != seal.Digest || string(got.Fingerprint) != string(seal.Fingerprint) {
		t.Errorf("sealed: %+v", got)
	}
	if state.Generations[1].State != GenerationOpen || state.Shards[0].CurrentGeneration != 2 || state.Shards[0].ReplayFrom != 1 {
		t.Errorf("state: %+v %+v", state.Shards, state.Generations[1])
	}
	// Both generations stay rooted: the head contains neither.
	objects, err := c.Objects(ctx)
	if err != nil || len(objects) != 2 {
		t.Fatalf("objects: %+v, %v", objects, err)
	}
	for i, o := range objects {
		if !o.Rooted || o.Path != state.Generations[i].Path || o.Kind != KindKV || o.Incarnation != int64(i+1) {
			t.Errorf("object: %+v", o)
		}
	}
}

func TestSealValues(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	for name, change := range map[string]func(*Seal){
		"extent":             func(s *Seal) { s.Extent = -1 },
		"extent above":       func(s *Seal) { s.Extent = MaxID + 1 },
		"first LSN":          func(s *Seal) { s.FirstLSN = 0 },
		"last LSN":           func(s *Seal) { s.LastLSN = -1 },
		"records":            func(s *Seal) { s.Records = -1 },
		"shard":              func(s *Seal) { s.ShardID = 0 },
		"generation":         func(s *Seal) { s.Generation = 0 },
		"object":             func(s *Seal) { s.ObjectID = 0 },
		"no fingerprint":     func(s *Seal) { s.Fingerprint = nil },
		"short fingerprint":  func(s *Seal) { s.Fingerprint = make([]byte, 15) },
		"last before first":  func(s *Seal) { s.FirstLSN, s.LastLSN = 10, 8 },
		"longer fingerprint": func(s *Seal) { s.Fingerprint = make([]byte, 17) },
	} {
		seal := sealOf(s.Generations[0])
		change(&seal)
		err := c.SealGeneration(ctx, seal)
		want := CodeRange
		switch {
		case strings.Contains(name, "fingerprint"):
			want = CodeEncoding
		case name == "last before first":
			want = CodeCheck
		}
		wantCode(t, err, want)
		if errors.Is(err, ErrPoisoned) {
			t.Fatalf("%s poisoned: %v", name, err)
		}
	}
	// A generation without a commit is legal.
	seal := sealOf(s.Generations[0])
	seal.FirstLSN, seal.LastLSN, seal.Records, seal.Extent = 1, 0, 0, 64
	if err := c.SealGeneration(ctx, seal); err != nil {
		t.Error(err)
	}
}

func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	e := &Error{Code: CodeIO, Op: "seal", OutcomeUnknown: true, Err: cause}
	if got := e.Error(); got != "catalog: seal: outcome unknown: CAT-IO: cause" {
		t.Error(got)
	}
	if got := (&Error{Code: CodeClosed, Op: "x"}).Error(); got != "catalog: x: CAT-CLOSED" {
		t.Error(got)
	}
	if !errors.Is(e, cause) || !errors.Is(e, CodeIO) || errors.Is(e, CodeBusy) || !errors.Is(e, ErrOutcomeUnknown) || errors.Is(e, ErrCorrupt) {
		t.Error("Is")
	}
	for _, c := range []Code{CodeCorrupt, CodeDigest, CodeSchema} {
		if !errors.Is(&Error{Code: c}, ErrCorrupt) {
			t.Errorf("%s is not ErrCorrupt", c)
		}
	}
	for text, want := range map[string]Code{
		"constraint failed: CAT-GC frozen: x (1811)": "CAT-GC", "CAT-": "", "": "", "concat-x CAT-A9": "CAT-A", "no code": "",
	} {
		if got := guardCode(text); got != want {
			t.Errorf("guardCode(%q) = %q", text, got)
		}
	}
}
