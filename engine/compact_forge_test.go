package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// forgery is a base of one file that is written anew with other rows, with the
// length, digest and counts that it had: what the catalog says of it is not how it
// is told.
type forgery struct {
	salt   wal.Salt
	start  int64
	schema []wal.Schema
	rows   []wal.Put
	seal   wal.Seal
}

func readBase(t *testing.T, fs vfs.FS, path string) (f forgery) {
	t.Helper()
	file, err := fs.OpenRead(path)
	must(t, err)
	defer func() { must(t, file.Close()) }()
	size, err := file.Size()
	must(t, err)
	h, start, err := wal.ReadHeader(file, size)
	must(t, err)
	f.salt, f.start = h.Salt, start
	sc := wal.NewScanner(file, start, size, h.Salt)
	for fr, ok := sc.Next(); ok; fr, ok = sc.Next() {
		switch fr.Kind {
		case wal.KindSchema:
			m, err := wal.DecodeSchema(fr)
			must(t, err)
			f.schema = append(f.schema, wal.Schema{Op: m.Op, Body: strings.Clone(m.Body)})
		case wal.KindPut:
			m, err := wal.DecodePut(fr)
			must(t, err)
			m.Rec = row.Record(strings.Clone(string(m.Rec)))
			f.rows = append(f.rows, m)
		case wal.KindSeal:
			f.seal, err = wal.DecodeSeal(fr)
			must(t, err)
		}
	}
	return f
}

func (f *forgery) write(t *testing.T, fs vfs.FS, path string) (size int64) {
	t.Helper()
	b := wal.NewBuilder(f.salt, f.start, nil)
	for _, m := range f.schema {
		must(t, b.Schema(m))
	}
	for _, m := range f.rows {
		must(t, b.Put(m.Table, m.Version, m.Rowid, m.Rec))
	}
	must(t, b.Seal(&f.seal))
	file, err := fs.Open(path)
	must(t, err)
	must(t, file.Truncate(f.start))
	_, err = file.WriteAt(b.Bytes(), f.start)
	must(t, err)
	must(t, file.Close())
	return f.start + int64(len(b.Bytes()))
}

// A base whose rows are not what its footer says, or whose footer says what cannot
// be, is refused, although the catalog has the same of it.
func TestBaseForgedRows(t *testing.T) {
	sp := newBaseSpecimen(t, 0)
	b := &sp.state.Base[0]
	was := *b
	honest := readBase(t, sp.mem, b.Path)
	first, last := honest.rows[0].Table, honest.rows[len(honest.rows)-1].Table
	if first == last {
		t.Fatal("rows of one table alone")
	}
	parallel := baseParallel
	defer func() { baseParallel = parallel }()
	for _, c := range []struct {
		name, reason string
		late         bool // found when all has been read: no file is named
		change       func(f *forgery)
	}{
		{"nothing", "", false, func(f *forgery) {}},
		{"a row of a keys table left out", "rows in a fragment", false, func(f *forgery) { f.rows = f.rows[1:] }},
		{"a row left out", "rows in a fragment", false, func(f *forgery) { f.rows = f.rows[:len(f.rows)-1] }},
		{"a row that is another", "rows and sum", false, func(f *forgery) {
			f.rows[len(f.rows)-1].Rec = f.rows[len(f.rows)-2].Rec
		}},
		{"a row of a keys table that is another", "which add up to", true, func(f *forgery) { f.rows[0].Rec = f.rows[1].Rec }},
		{"a row that is no record", "put: row: not a record", false, func(f *forgery) { f.rows[len(f.rows)-1].Rec = "\x02\x02\x00\x05" }},
		{"a row of a keys table that is no record", "put: row: not a record", false, func(f *forgery) { f.rows[0].Rec = "\x02\x02\x00\x05" }},
		{"a row that is too wide", "has 50 columns", false, func(f *forgery) {
			f.rows[len(f.rows)-1].Rec = row.Record(row.AppendRecord(nil, make([]row.Value, 50)))
		}},
		{"a row of a keys table that is too wide", "has 50 columns", false, func(f *forgery) {
			f.rows[0].Rec = row.Record(row.AppendRecord(nil, make([]row.Value, 50)))
		}},
		{"a row by another definition", "by definition", false, func(f *forgery) { f.rows[len(f.rows)-1].Version++ }},
		{"rows out of order", "behind row", false, func(f *forgery) { f.rows[0], f.rows[1] = f.rows[1], f.rows[0] }},
		{"a table that the footer does not name", "has no fragment", false, func(f *forgery) {
			f.seal.Records, f.seal.Contributions = f.seal.Records[:1], f.seal.Contributions[:1]
		}},
		{"a count that is another", "the footer has", false, func(f *forgery) { f.seal.Contributions[0].Rows++ }},
	} {
		f := honest
		f.rows = append([]wal.Put(nil), honest.rows...)
		f.seal.Records = append([]wal.TableRecords(nil), honest.seal.Records...)
		f.seal.Contributions = append([]wal.Contribution(nil), honest.seal.Contributions...)
		c.change(&f)
		*b = was
		b.ByteExtent = f.write(t, sp.mem, b.Path)
		b.Fragments = b.Fragments[:1:1]
		for _, x := range f.seal.Records {
			b.Fragments = append(b.Fragments, catalog.Fragment{TableID: int64(x.Table), Rows: int64(x.Count)})
		}
		for _, baseParallel = range []int64{parallel, 0} {
			snap, err := sp.scan()
			if c.reason == "" {
				if err != nil || snap.LSN() != sp.last {
					t.Fatalf("%s changed: %v", c.name, err)
				}
				continue
			}
			var bad *CorruptError
			if named := errors.As(err, &bad) && bad.File == b.Path; err == nil || !named && !c.late || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// A file of a base is what the catalog says of it, in every respect.
func TestBaseMatches(t *testing.T) {
	fresh := func() *baseLog {
		f := newBaseLog(catalog.BaseFile{
			ObjectID: 1, Path: "objects/a.kv", ByteExtent: 100, LSN: 7, IntegrityDigest: [32]byte{1},
			Fragments: []catalog.Fragment{{Rows: 2}, {TableID: 5, Rows: 3}},
		})
		f.end, f.allocated, f.least, f.schema = 100, 100, 7, 2
		f.seal = &wal.Seal{LastLSN: 7, Digest: [32]byte{1}, Records: []wal.TableRecords{{Table: 5, Count: 3}}}
		return f
	}
	must(t, fresh().matches())
	for name, change := range map[string]func(f *baseLog){
		"a footer before the end":     func(f *baseLog) { f.end = 90 },
		"bytes behind the footer":     func(f *baseLog) { f.allocated = 101 },
		"another extent":              func(f *baseLog) { f.end, f.allocated = 90, 90 },
		"another digest":              func(f *baseLog) { f.seal.Digest[0]++ },
		"a footer of another commit":  func(f *baseLog) { f.seal.LastLSN++ },
		"a header of another commit":  func(f *baseLog) { f.least++ },
		"another number of rows":      func(f *baseLog) { f.seal.Records[0].Count++ },
		"another table":               func(f *baseLog) { f.seal.Records[0].Table++ },
		"a table more":                func(f *baseLog) { f.want.Fragments = f.want.Fragments[:1] },
		"a schema of another length":  func(f *baseLog) { f.schema++ },
		"a schema that nobody names":  func(f *baseLog) { f.want.Fragments = f.want.Fragments[1:] },
		"a schema that is not there":  func(f *baseLog) { f.schema = 0 },
		"rows that are not there":     func(f *baseLog) { f.seal.Records = nil },
		"all of it of another commit": func(f *baseLog) { f.seal.LastLSN, f.least = 8, 8 },
	} {
		f := fresh()
		if change(f); f.matches() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// A check computes digest and content of a base's files anew: frames that are sound
// and are others than those that were sealed are found.
func TestCheckOfForgedBase(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Create: true, NoCompaction: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	compactScript(s, func(f func(*Tx) error) { wait(t, s, update(t, s, f)) }, func() { must(t, s.Compact(t.Context(), nil)) })
	path := s.base[0].path
	honest := readBase(t, m, path)
	f := honest
	f.rows = append([]wal.Put(nil), honest.rows...)
	f.rows[0].Rec, f.rows[1].Rec = f.rows[1].Rec, f.rows[0].Rec // as long as before
	f.write(t, m, path)
	found := findings(t, s)
	for _, want := range []string{"digest of the file", "content id of the file"} {
		n := 0
		for _, x := range found {
			if x.File == path && x.Severity == Damage && strings.Contains(x.Text, want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d findings of %q: %v", n, want, found)
		}
	}
	honest.write(t, m, path)
	if found := findings(t, s); len(found) > 0 {
		t.Errorf("of what was there before: %v", found)
	}
	must(t, s.Close())
}

// A store whose catalog says something else of its base than the base is refused.
func TestBaseOfAnotherSeal(t *testing.T) {
	sp := newBaseSpecimen(t, 0)
	if snap, err := sp.scan(); err != nil || snap.LSN() != sp.last {
		t.Fatalf("the store as it is: %v", err)
	}
	b := &sp.state.Base[0]
	was := *b
	for name, change := range map[string]func(){
		"extent":   func() { b.ByteExtent++ },
		"digest":   func() { b.IntegrityDigest[3]++ },
		"commit":   func() { b.LSN--; sp.state.BaseLSN-- },
		"rows":     func() { b.Fragments[1].Rows++ },
		"fragment": func() { b.Fragments = b.Fragments[:1] },
	} {
		*b, sp.state.BaseLSN = was, was.LSN
		b.Fragments = append([]catalog.Fragment(nil), was.Fragments...)
		change()
		_, err := sp.scan()
		var bad *CorruptError
		if !errors.As(err, &bad) || bad.File != b.Path {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// A row of a keys table that is read from its record of some time before is another
// than the log's, and a check says so; one whose record is in the base and, as the
// replay of the log finds it, in a generation is the same.
func TestCheckOfKeysBesideABase(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 5, "k"))))
	must(t, s.Compact(t.Context(), nil))
	before, ok := tableOf(s, "k").rows.Get(1)
	if !ok {
		t.Fatal("no row 1")
	}
	wait(t, s, update(t, s, put("k", 1, 1, "now")))
	must(t, s.Checkpoint(t.Context(), nil))
	quiet(t, s)
	if found := findings(t, s); len(found) > 0 {
		t.Fatalf("of a sound store: %v", found)
	}
	s.mu.Lock()
	head, durable := s.head.Load(), s.durable.Load()
	wrong := *tableOf(s, "k")
	wrong.rows = wrong.rows.IsoCopy()
	wrong.rows.Set(1, before)
	s.head.Store(head.with([]*Table{&wrong}))
	s.durable.Store(s.head.Load())
	s.mu.Unlock()
	found := findings(t, s)
	s.head.Store(head)
	s.durable.Store(durable)
	n := 0
	for _, f := range found {
		if strings.Contains(f.Text, "in memory,") && strings.Contains(f.Text, "in the log") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("findings: %v", found)
	}
}
