package engine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

func TestInfos(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 4 << 10})
	wait(t, s, update(t, s, all(createTable("a"), createTable("b"))))
	wait(t, s, update(t, s, all(put("b", 1, 1, "x"), put("b", 2, 2, "y"))))
	infos := s.TableInfos(s.Durable())
	want := []TableInfo{
		{Table: infos[0].Table, Name: "a", Durable: true, Indexes: []string{"a_c1"}},
		{Table: infos[1].Table, Name: "b", Durable: true, Rows: 2, Indexes: []string{"b_c1"}, LogBytes: 2 * 24},
	}
	for i := range infos { // which tests of the trees hold against memory
		if (infos[i].ResidentBytes > 0) != (infos[i].Rows > 0) {
			t.Errorf("%+v", infos[i])
		}
		infos[i].ResidentBytes = 0
	}
	if !reflect.DeepEqual(infos, want) {
		t.Errorf("%+v", infos)
	}
	gens := s.GenerationInfos()
	if len(gens) != 1 || gens[0].Records != 4 || gens[0].FirstLSN != 1 || gens[0].LastLSN != 2 || gens[0].State != catalog.GenerationOpen || gens[0].Bytes != s.gens[0].tail {
		t.Errorf("%+v", gens)
	}
	m := s.Metrics()
	if m.Commits != 2 || m.Synced != 2 || m.Records != 4 || m.Head != 2 || m.Durable != 2 || m.LogBytes == 0 || m.MeanBatch() != 1 {
		t.Errorf("%v", m)
	}
	if got := s.Settings()["shards"]; got != "1" {
		t.Errorf("settings %v", s.Settings())
	}
}

// TestLogBytes counts the same while the store runs and when it is opened.
func TestLogBytes(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
	s := openStore(t, o)
	wait(t, s, update(t, s, all(createTable("a"), createTable("b"), createTable("c"))))
	for i := range int64(20) {
		wait(t, s, update(t, s, all(put("a", i, 1, "x"), put("b", i, 2, strings.Repeat("y", int(i))), put("a", i, 3, "changed"))))
	}
	wait(t, s, update(t, s, all(remove("a", 1), remove("b", 1), remove("b", 2))))
	before := s.TableInfos(s.Durable())
	if before[0].LogBytes == 0 || before[1].LogBytes == 0 || before[2].LogBytes != 0 {
		t.Errorf("%+v", before)
	}
	must(t, s.Close())
	s, err := Open(t.Context(), o)
	must(t, err)
	after := s.TableInfos(s.Durable())
	for i := range after { // loaded trees are fuller
		after[i].ResidentBytes = before[i].ResidentBytes
	}
	if !reflect.DeepEqual(after, before) {
		t.Errorf("%+v after reopen, before %+v", after, before)
	}
	must(t, s.Close())
}

// TestEvents follows what an operator is told over a life of a store.
func TestEvents(t *testing.T) {
	events := make(chan Event, 100)
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 1 << 10, Create: true, Now: fixedClock,
		Events: func(e Event) {
			if e.Time != fixedClock() {
				t.Errorf("%v at %v", e, e.Time)
			}
			events <- e
		}}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, put("t", 1, 1, strings.Repeat("x", 1200))))
	quiet(t, s)
	wait(t, s, update(t, s, put("t", 2, 2, "y")))
	must(t, s.Close())
	close(events)
	seen := map[string]int{}
	for e := range events {
		seen[e.Kind.String()]++
	}
	want := map[string]int{"recovered": 1, "schema projected": 2, "generation ready": 1, "rotated": 1, "sealed": 1, "published": 1}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
}

func TestEventText(t *testing.T) {
	e := Event{Kind: EventTailDropped, Generation: 2, File: "f.kv", Offset: 8, Bytes: 16, LSN: 3, Err: ErrFull}
	if got, want := e.String(), `tail dropped generation=2 file=f.kv offset=8 bytes=16 lsn=3 err="engine: no space for the transaction"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := EventKind(99).String(); got != "event 99" {
		t.Errorf("%s", got)
	}
}

// TestProjection reads what a person sees in the catalog.
func TestProjection(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	lsn := update(t, s, createTable("t"))
	wait(t, s, lsn)
	s.mu.Lock()
	projected, waiting := s.chores.projected, len(s.chores.awaiting)
	s.mu.Unlock()
	if projected != s.Durable().Schema() || waiting != 0 || s.ddls.Load() != 0 {
		t.Errorf("acknowledged before the projection; %d waiting", waiting)
	}
	p := projection(s.Durable().Schema())
	if p.SchemaVersion != int64(lsn) || len(p.Tables) != 1 || p.Tables[0].Name != "t" || p.Tables[0].Resident != "all" ||
		len(p.Indexes) != 1 || p.Indexes[0].Columns != "c1" || p.Indexes[0].Origin != "c" {
		t.Errorf("%+v", p)
	}
}

func TestIDBlocks(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	seen := map[uint64]bool{}
	for range 3*idBlock + 5 {
		id, err := s.ids.NextID()
		must(t, err)
		if seen[id] || id == 0 {
			t.Fatalf("id %d twice", id)
		}
		seen[id] = true
	}
}
