package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// newBaseSpecimen is a store that was compacted, with a few commits behind.
func newBaseSpecimen(t testing.TB, generationSize int64) *specimen {
	t.Helper()
	r := newCrashRun(t, vfs.NewMem(), generationSize, 1)
	s := r.open(t)
	compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() { must(t, s.Compact(t.Context(), nil)) })
	quiet(t, s)
	sp := &specimen{states: r.states, last: s.Durable().LSN(), id: s.id, closed: true}
	var err error
	sp.state, err = s.cat.State(context.Background())
	must(t, err)
	sp.state.IndexState.Segments = nil // which spare the reading of rows
	must(t, s.Close())
	sp.mem = cloneMem(t, r.mem)
	return sp
}

// Every bit of a base counts: a store with another one is refused, and the error
// names the file.
func TestBaseFlippedBits(t *testing.T) {
	for _, size := range []int64{1 << 10, 0} { // several files and one
		sp := newBaseSpecimen(t, size)
		if snap, err := sp.scan(); err != nil || snap.LSN() != sp.last {
			t.Fatalf("the undamaged store: %v", err)
		}
		flips := 0
		for _, b := range sp.state.Base {
			data := readFile(t, sp.mem, b.Path)
			file, err := sp.mem.Open(b.Path)
			must(t, err)
			for off := range int64(len(data)) {
				bit := off % 8
				_, err := file.WriteAt([]byte{data[off] ^ 1<<bit}, off)
				must(t, err)
				flips++
				sp.check(t, fmt.Sprintf("%s: bit %d of byte %d", b.Path, bit, off), b.Path, off, true)
				if t.Failed() {
					return
				}
				_, err = file.WriteAt(data[off:off+1], off)
				must(t, err)
			}
			for _, cut := range []int64{0, 8, int64(len(data)) / 2, int64(len(data)) - 1} {
				must(t, file.Truncate(cut))
				sp.check(t, fmt.Sprintf("%s cut at %d", b.Path, cut), b.Path, cut, true)
				_, err = file.WriteAt(data, 0)
				must(t, err)
			}
			must(t, file.Close())
		}
		t.Logf("%d files, %d bits flipped", len(sp.state.Base), flips)
	}
}

// A base whose frames are intact and are not what the engine writes is refused.
func TestBaseForged(t *testing.T) {
	sp := newBaseSpecimen(t, 0)
	b := sp.state.Base[0]
	data := readFile(t, sp.mem, b.Path)
	var frames []wal.Frame
	file, err := sp.mem.Open(b.Path)
	must(t, err)
	h, start, err := wal.ReadHeader(file, int64(len(data)))
	must(t, err)
	sc := wal.NewScanner(file, start, int64(len(data)), h.Salt)
	for fr, ok := sc.Next(); ok; fr, ok = sc.Next() {
		frames = append(frames, fr)
	}
	schemas := 0
	for schemas < len(frames) && frames[schemas].Kind == wal.KindSchema {
		schemas++
	}
	write := func(b *wal.Builder, fr wal.Frame) {
		switch fr.Kind {
		case wal.KindSchema:
			m, err := wal.DecodeSchema(fr)
			must(t, err)
			must(t, b.Schema(m))
		case wal.KindPut:
			m, err := wal.DecodePut(fr)
			must(t, err)
			must(t, b.Put(m.Table, m.Version, m.Rowid, m.Rec))
		case wal.KindSeal:
			m, err := wal.DecodeSeal(fr)
			must(t, err)
			must(t, b.Seal(&m))
		}
	}
	swap := func(i, k int) func([]wal.Frame) []wal.Frame {
		return func(f []wal.Frame) []wal.Frame { f[i], f[k] = f[k], f[i]; return f }
	}
	without := func(i int) func([]wal.Frame) []wal.Frame {
		return func(f []wal.Frame) []wal.Frame { return append(f[:i:i], f[i+1:]...) }
	}
	last := len(frames) - 1
	for name, change := range map[string]func([]wal.Frame) []wal.Frame{
		"a row left out":             without(schemas),
		"rows out of order":          swap(schemas, schemas+1),
		"a row twice":                func(f []wal.Frame) []wal.Frame { return append(f[:schemas+1:schemas+1], f[schemas:]...) },
		"an object left out":         without(1),
		"the begin of the schema":    without(0),
		"objects before their count": swap(0, 1),
		"a row before the schema":    swap(0, schemas),
		"no schema":                  func(f []wal.Frame) []wal.Frame { return f[schemas:] },
		"a schema behind":            func(f []wal.Frame) []wal.Frame { return append(f[:last:last], f[0], f[last]) },
		"no footer":                  without(last),
		"nothing but the footer":     func(f []wal.Frame) []wal.Frame { return f[last:] },
	} {
		w := wal.NewBuilder(h.Salt, start, nil)
		for _, fr := range change(append([]wal.Frame(nil), frames...)) {
			write(w, fr)
		}
		must(t, file.Truncate(start))
		_, err := file.WriteAt(w.Bytes(), start)
		must(t, err)
		_, err = sp.scan()
		var bad *CorruptError
		if !errors.As(err, &bad) || bad.File != b.Path {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, file.Truncate(0))
	_, err = file.WriteAt(data, 0)
	must(t, err)
	_, err = sp.scan()
	must(t, err)
	must(t, file.Close())
}

// CheckFiles and Check find what is wrong with a base.
func TestCheckOfBase(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Create: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	compactScript(s, func(f func(*Tx) error) { wait(t, s, update(t, s, f)) }, func() { must(t, s.Compact(t.Context(), nil)) })
	path := s.base[0].path
	if found := findings(t, s); len(found) > 0 {
		t.Errorf("of a sound store: %v", found)
	}
	data := readFile(t, m, path)
	file, err := m.Open(path)
	must(t, err)
	flip := int64(len(data) / 2)
	_, err = file.WriteAt([]byte{data[flip] ^ 4}, flip)
	must(t, err)
	if found := findings(t, s); len(found) == 0 || found[0].File != path || found[0].Severity != Damage {
		t.Errorf("of a flipped bit: %v", found)
	}
	must(t, s.Close())
	// Rows that index segments stand for are not read at open.
	if again, err := Open(t.Context(), o); err == nil {
		must(t, again.Close())
	} else if !strings.Contains(err.Error(), path) {
		t.Errorf("open: %v", err)
	}
	if found := findingsOf(t, o); len(found) == 0 || found[0].File != path {
		t.Errorf("offline: %v", found)
	}
	must(t, file.Close())
	must(t, m.Remove(path))
	if found := findingsOf(t, o); len(found) == 0 || found[0].File != path {
		t.Errorf("of a missing file: %v", found)
	}
	file, err = m.Create(path)
	must(t, err)
	_, err = file.WriteAt(data, 0)
	must(t, err)
	must(t, file.Close())
	if found := findingsOf(t, o); len(found) > 0 {
		t.Errorf("of the file put back: %v", found)
	}
}

// FuzzBaseSchema: whatever is taken comes out again as it went in.
func FuzzBaseSchema(f *testing.F) {
	s, err := CreateTable{Def: func() *TableDef {
		def := testTable("t", 3)
		def.ID, def.Durable = 7, true
		def.Indexes = []*IndexDef{testIndex("t_c1", true, 1)}
		def.Indexes[0].ID = 8
		return def
	}()}.alter(newSchema(0, nil), 3)
	must(f, err)
	s, err = CreateObject{Object: Object{Kind: KindView, Name: "v", SQL: "CREATE VIEW v"}}.alter(s, 5)
	must(f, err)
	frames := baseSchemaFrames(s)
	for _, fr := range frames {
		f.Add(fr.Op, []byte(fr.Body))
	}
	f.Fuzz(func(t *testing.T, op uint8, body []byte) {
		var b baseSchema
		if op == opBaseObject {
			must(t, b.take(wal.Schema{Op: opBaseSchema, Body: frames[0].Body}))
		}
		fr := wal.Schema{Op: op, Body: string(body)}
		if b.take(fr) != nil {
			return
		}
		if op == opBaseSchema {
			b.left = 0
		}
		again := baseSchemaFrames(b.schema())
		if got := again[len(again)-1]; op == opBaseObject && got.Body != string(body) {
			t.Errorf("%x comes out as %x", body, got.Body)
		}
	})
}

// A base's schema is the schema, whatever was done to come to it.
func TestBaseSchema(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	g := newGenerator(rand.New(rand.NewPCG(*crashSeed, 21)))
	for range 200 {
		_, err := tryUpdate(s, g.change)
		if err != nil {
			t.Fatal(err)
		}
		schema := s.Head().Schema()
		var b baseSchema
		for _, f := range baseSchemaFrames(schema) {
			if b.done() {
				t.Fatal("done before the last frame")
			}
			must(t, b.take(f))
		}
		if !b.done() || b.schema().version != schema.version || !reflect.DeepEqual(b.schema().objects, schema.objects) {
			for i, o := range schema.objects {
				t.Logf("%+v %+v, want %+v %+v", b.objects.objects[i], b.objects.objects[i].Table, o, o.Table)
			}
			t.Fatalf("schema %d comes out as another", schema.version)
		}
	}
}
