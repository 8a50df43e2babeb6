package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// findings runs Check and returns what it found, as text.
func findings(t *testing.T, s *Store) []Finding {
	t.Helper()
	var found []Finding
	must(t, s.Check(t.Context(), func(f Finding) { found = append(found, f) }, nil))
	return found
}

// TestCheckFindsDamage flips one byte of every frame, under an open store, and
// expects a finding that names the frame; and none once it is flipped back.
func TestCheckFindsDamage(t *testing.T) { overShards(t, checkFindsDamage) }

func checkFindsDamage(t *testing.T, shards int) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 1 << 10, Shards: shards})
	for k := range 7 {
		wait(t, s, update(t, s, step(k, "a")))
	}
	quiet(t, s)
	if found := findings(t, s); len(found) > 0 {
		t.Fatalf("an undamaged store: %v", found)
	}
	tried := 0
	for _, g := range s.GenerationInfos() {
		if g.FirstLSN == 0 {
			continue
		}
		data := readFile(t, m, g.File)
		h, start, err := wal.ReadHeader(strings.NewReader(string(data)), int64(len(data)))
		must(t, err)
		places := []wal.Frame{{Kind: wal.KindHeader, Payload: string(make([]byte, start-9))}}
		for sc := wal.NewScanner(strings.NewReader(string(data)), start, int64(len(data)), h.Salt); ; {
			fr, ok := sc.Next()
			if !ok {
				break
			}
			places = append(places, fr)
		}
		f, err := m.Open(g.File)
		must(t, err)
		for _, fr := range places {
			for _, off := range []int64{fr.Offset, fr.Offset + 5, fr.Offset + 8, fr.Offset + 8 + int64(len(fr.Payload))} {
				_, err = f.WriteAt([]byte{data[off] ^ 0x10}, off)
				must(t, err)
				found := findings(t, s)
				named := false
				for _, x := range found {
					named = named || x.Severity == Damage && x.File == g.File && x.Offset == fr.Offset
				}
				if !named {
					t.Errorf("%s: byte %d of the %s at %d: %v", g.File, off, fr.Kind, fr.Offset, found)
				}
				_, err = f.WriteAt(data[off:off+1], off)
				must(t, err)
				tried++
			}
		}
		must(t, f.Close())
	}
	if found := findings(t, s); len(found) > 0 {
		t.Errorf("after repair: %v", found)
	}
	t.Logf("%d bytes changed", tried)
}

// TestCheckFindsAll goes on behind a damage: two of them are two findings.
func TestCheckFindsAll(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, Shards: 1})
	wait(t, s, update(t, s, createTable("t")))
	var ends []int64
	for i := range int64(6) {
		wait(t, s, update(t, s, put("t", i, i, "x")))
		ends = append(ends, s.GenerationInfos()[0].Bytes)
	}
	path := s.GenerationInfos()[0].File
	data := readFile(t, m, path)
	f, err := m.Open(path)
	must(t, err)
	for _, at := range []int64{ends[0], ends[3]} {
		_, err = f.WriteAt([]byte{data[at+10] ^ 1}, at+10)
		must(t, err)
	}
	found := findings(t, s)
	if len(found) != 2 || found[0].Offset != ends[0] || found[1].Offset != ends[3] {
		t.Errorf("%v, damaged are %d and %d", found, ends[0], ends[3])
	}
	for _, at := range []int64{ends[0], ends[3]} {
		_, err = f.WriteAt(data[at+10:at+11], at+10)
		must(t, err)
	}
	must(t, f.Close())
}

// TestCheckComparesMemory tampers with the rows and indexes in memory.
func TestCheckComparesMemory(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, all(put("t", 1, 1, "a"), put("t", 2, 2, "b"))))
	good := s.durable.Load()
	id := s.Durable().Schema().Lookup("t").Table.ID
	tamper := map[string]func(t *Table){
		"in memory and not in the log": func(t *Table) { t.rows.Set(3, testRecord(3, "c")) },
		"in the log and not in memory": func(t *Table) { t.rows.Delete(2) },
		"in memory, 03":                func(t *Table) { t.rows.Set(1, testRecord(1, "z")) },
		"no entry for row":             func(t *Table) { t.indexes[0] = new(indexTree) },
		"fingerprint":                  func(t *Table) { t.sum = t.sum.Add(row.Sum{1, 0}) },
	}
	for want, change := range tamper {
		bad := *good
		bad.tables = append([]*Table(nil), good.tables...)
		slot, _ := good.schema.slot(id)
		table := *good.tables[slot]
		table.rows = table.rows.IsoCopy()
		table.indexes = append([]*indexTree(nil), table.indexes...)
		change(&table)
		bad.tables[slot] = &table
		s.durable.Store(&bad)
		found := findings(t, s)
		hit := false
		for _, f := range found {
			hit = hit || f.Severity == Damage && strings.Contains(f.Text, want)
		}
		if !hit {
			t.Errorf("%s: found %v", want, found)
		}
	}
	s.durable.Store(good)
}

func TestCheckProgressAndCancel(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m})
	wait(t, s, update(t, s, createTable("t")))
	for i := range int64(4) {
		wait(t, s, update(t, s, put("t", i, i, strings.Repeat("x", 1<<20))))
	}
	last, calls := int64(0), 0
	must(t, s.Check(t.Context(), func(f Finding) { t.Error(f) }, func(done, total int64) {
		if done < last || done > total {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
		calls++
	}))
	if calls < 4 {
		t.Errorf("%d reports of progress", calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Check(ctx, func(f Finding) { t.Error(f) }, func(done, total int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled check: %v", err)
	}
}

// TestCheckOfSealedFile changes the size of a sealed file, and hides it.
func TestCheckOfSealedFile(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 1 << 10})
	for k := range 4 {
		wait(t, s, update(t, s, step(k, "a")))
	}
	wait(t, s, update(t, s, put("t0", 77, 7, strings.Repeat("y", 1000))))
	wait(t, s, update(t, s, put("t0", 78, 7, "z")))
	quiet(t, s)
	g := s.GenerationInfos()[0]
	data := readFile(t, m, g.File)
	for what, bad := range map[string][]byte{
		"longer":  append(append([]byte(nil), data...), make([]byte, 8)...),
		"shorter": data[:len(data)-8],
	} {
		writeFile(t, m, g.File, bad)
		if found := findings(t, s); len(found) == 0 || found[0].File != g.File {
			t.Errorf("%s file: %v", what, found)
		}
	}
	writeFile(t, m, g.File, data)
	must(t, m.Rename(g.File, "hidden"))
	if found := findings(t, s); len(found) == 0 || found[0].File != g.File || !strings.Contains(found[0].Text, "missing") {
		t.Errorf("missing file: %v", found)
	}
	must(t, m.Rename("hidden", g.File))
}

// TestCheckOfCloseMark damages the close marks that the last open found: no row
// is lost with one as long as nothing stands behind it.
func TestCheckOfCloseMark(t *testing.T) { overShards(t, checkOfCloseMark) }

func checkOfCloseMark(t *testing.T, shards int) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Create: true, Shards: shards}
	s, err := Open(t.Context(), o)
	must(t, err)
	for k := range 8 {
		wait(t, s, update(t, s, step(k, "a")))
	}
	must(t, s.Close())
	marks := map[string]int64{}
	for _, sh := range s.shards {
		marks[sh.gen.path] = sh.gen.tail - closeMarkSize
	}
	s, err = Open(t.Context(), o)
	must(t, err)
	flip := func(path string, off int64) {
		f, err := m.Open(path)
		must(t, err)
		b := make([]byte, 1)
		_, err = f.ReadAt(b, off)
		must(t, err)
		_, err = f.WriteAt([]byte{b[0] ^ 0x10}, off)
		must(t, err)
		must(t, f.Close())
	}
	expect := func(severity Severity) {
		t.Helper()
		for path, mark := range marks {
			for off := mark; off < mark+closeMarkSize; off++ {
				flip(path, off)
				found := findings(t, s)
				if len(found) == 0 || found[0].Severity != severity || found[0].File != path || found[0].Offset != mark {
					t.Errorf("byte %d of the mark at %d of %s: %v", off-mark, mark, path, found)
				}
				flip(path, off)
			}
		}
	}
	if found := findings(t, s); len(found) > 0 || len(marks) != shards {
		t.Fatalf("%d marks: %v", len(marks), found)
	}
	expect(Warning)
	wait(t, s, update(t, s, step(8, "b"))) // in the first shard
	if shards == 1 {
		expect(Damage)
	}
	must(t, s.Close())
}
