package engine

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// forged is a store with a keys table, to whose log frames are appended that the
// engine does not write.
type forged struct {
	o       Options
	mem     *vfs.Mem
	g       generation
	shard   uint64
	lsn     LSN
	table   uint64
	version uint64
	head    rowPlace // of row 1
	other   rowPlace // of row 2
}

func newForged(t *testing.T) *forged { return newForgedBehind(t, false) }

// newForgedBehind is newForged for the log behind a base with index segments, if compacted.
func newForgedBehind(t *testing.T, compacted bool) *forged {
	mem := vfs.NewMem()
	f := &forged{mem: mem, o: Options{Dir: t.TempDir(), FS: mem, Create: true, Shards: 1}}
	s, err := Open(t.Context(), f.o)
	must(t, err)
	update(t, s, createKeys("k", 4))
	update(t, s, all(put("k", 1, 1, "one", strings.Repeat("w", 80), 0), put("k", 2, 2, "two", strings.Repeat("w", 80), 0)))
	wait(t, s, update(t, s, put("k", 1, 1, "one", strings.Repeat("w", 80), 1)))
	if compacted {
		must(t, s.Compact(t.Context(), nil))
		if n := len(stateOf(t, s).IndexState.Segments); n != 3 {
			t.Fatalf("%d segments", n)
		}
	}
	f.head, _ = newestOf(t, s, "k", 1)
	f.other, _ = newestOf(t, s, "k", 2)
	def := tableOf(s, "k").def
	f.table, f.version, f.lsn, f.shard = uint64(def.ID), def.Version, s.Durable().LSN(), s.shards[0].id
	must(t, s.Close())
	g := s.shards[0].gen
	f.g = generation{path: g.path, salt: g.salt}
	file, err := mem.OpenRead(g.path)
	must(t, err)
	defer file.Close()
	sc := wal.NewScanner(file, g.start, g.allocated, g.salt)
	for _, ok := sc.Next(); ok; _, ok = sc.Next() {
	}
	f.g.tail = sc.Offset()
	return f
}

// append writes a transaction behind the log and returns the offset of its first
// frame.
func (f *forged) append(t *testing.T, records uint64, claims []wal.Contribution, frames func(b *wal.Builder) error) int64 {
	t.Helper()
	b := wal.NewBuilder(f.g.salt, f.g.tail, nil)
	must(t, frames(b))
	c := wal.Commit{LSN: uint64(f.lsn + 1), Records: records, Participants: []wal.Participant{{Shard: f.shard}}, Contributions: claims}
	c.Participants[0].End = uint64(b.Offset() + wal.CommitSize(&c))
	must(t, b.Commit(&c))
	file, err := f.mem.Open(f.g.path)
	must(t, err)
	defer file.Close()
	_, err = file.WriteAt(b.Bytes(), f.g.tail)
	must(t, err)
	return f.g.tail
}

// ENG-AT-32: frames that are intact and cannot be what the engine wrote refuse
// the open, with the file and the offset, as damage.
func TestKeysForgedFrames(t *testing.T) {
	col := []wal.DeltaColumn{{Ordinal: 3, Value: row.IntValue(2)}}
	sum := row.Sum{1, 1}
	for _, tc := range []struct {
		name, want string
		rows       int64
		behind     bool // the damage is found at the commit
		frames     func(f *forged, b *wal.Builder) error
	}{
		{"wrong back offset", "as its base", 0, false, func(f *forged, b *wal.Builder) error {
			return b.Delta(&wal.Delta{Table: f.table, Version: f.version, Rowid: 1, Prev: uint64(f.other.off), Columns: col})
		}},
		{"older record of the row", "as its base", 0, false, func(f *forged, b *wal.Builder) error {
			return b.Delta(&wal.Delta{Table: f.table, Version: f.version, Rowid: 2, Prev: uint64(f.head.off), Columns: col})
		}},
		{"delta of no row", "does not exist", 0, false, func(f *forged, b *wal.Builder) error {
			return b.Delta(&wal.Delta{Table: f.table, Version: f.version, Rowid: 9, Prev: uint64(f.head.off), Columns: col})
		}},
		{"delta of too many columns", "column 4 of 4", 0, false, func(f *forged, b *wal.Builder) error {
			return b.Delta(&wal.Delta{Table: f.table, Version: f.version, Rowid: 2, Prev: uint64(f.other.off),
				Columns: []wal.DeltaColumn{{Ordinal: 4}}})
		}},
		{"empty delta", "no column", 0, false, func(f *forged, b *wal.Builder) error {
			return b.Delta(&wal.Delta{Table: f.table, Version: f.version, Rowid: 2, Prev: uint64(f.other.off)})
		}},
		{"second insert of a row", "claims 1 rows", 1, true, func(f *forged, b *wal.Builder) error {
			return b.Put(f.table, f.version, 2, testRecord(2, "again", "", 0))
		}},
		{"tombstone of no row", "does not exist", -1, false, func(f *forged, b *wal.Builder) error {
			return b.Tombstone(f.table, f.version, 9)
		}},
		{"no such table", "does not exist", 1, false, func(f *forged, b *wal.Builder) error {
			return b.Put(f.table+99, f.version, 3, testRecord(3))
		}},
		{"too many columns", "columns", 1, false, func(f *forged, b *wal.Builder) error {
			return b.Put(f.table, f.version, 3, testRecord(3, "x", "", 0, 1))
		}},
		{"short payload", "", 1, false, func(f *forged, b *wal.Builder) error {
			return b.Put(f.table, f.version, 3, testRecord(3, "x")[:3])
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newForged(t)
			size := 0
			at := f.append(t, 1, []wal.Contribution{{Table: f.table, Rows: tc.rows, Sum: sum}}, func(b *wal.Builder) error {
				err := tc.frames(f, b)
				size = b.Len()
				return err
			})
			if tc.behind {
				at += int64(size)
			}
			f.refused(t, at, tc.want)
		})
	}
}

// refused opens the store, which must fail with damage at an offset.
func (f *forged) refused(t *testing.T, at int64, want string) {
	t.Helper()
	s, err := Open(t.Context(), f.o)
	if err == nil {
		must(t, s.Close())
	}
	var bad *CorruptError
	if !errors.As(err, &bad) || bad.File != f.g.path || bad.Offset != at || !strings.Contains(bad.Reason, want) {
		t.Fatalf("%v; want damage of %s at %d with %q", err, f.g.path, at, want)
	}
	if open := f.mem.OpenFiles(); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
	found := 0
	must(t, CheckFiles(t.Context(), f.o, func(x Finding) {
		if x.Severity == Damage {
			found++
		}
	}, nil))
	if found == 0 {
		t.Error("CheckFiles finds nothing")
	}
}

// What no single frame shows is found when all rows are read: a chain that is
// too long, rows that do not add up to what the commits claimed, equal keys.
func TestKeysForgedRows(t *testing.T) {
	t.Run("claims", func(t *testing.T) {
		f := newForged(t)
		f.append(t, 1, []wal.Contribution{{Table: f.table, Sum: row.Sum{1, 2}}}, func(b *wal.Builder) error {
			return b.Put(f.table, f.version, 2, testRecord(2, "changed", "", 0))
		})
		f.refused(t, 0, "add up to")
	})
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprint("equal keys, compacted ", compacted), func(t *testing.T) {
			f := newForgedBehind(t, compacted)
			was, now := testRecord(2, "two", strings.Repeat("w", 80), 0), testRecord(1, "two", strings.Repeat("w", 80), 0)
			ids := []uint32{1, 2, 3, 4}
			sum := row.RowSum(f.table, 2, ids, now, -1, nil).Sub(row.RowSum(f.table, 2, ids, was, -1, nil))
			at := f.append(t, 1, []wal.Contribution{{Table: f.table, Sum: sum}}, func(b *wal.Builder) error {
				return b.Put(f.table, f.version, 2, now)
			})
			if !compacted {
				f.refused(t, at, "equal in unique index")
				return
			}
			// One of the rows is in the base. It is they that are wrong, not the segments.
			_, err := Open(t.Context(), f.o)
			var bad *CorruptError
			if !errors.As(err, &bad) || !strings.Contains(bad.Reason, "rows 1 and 2") || !strings.Contains(bad.Reason, "equal in unique index") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("no contribution", func(t *testing.T) {
		f := newForged(t)
		at := f.append(t, 1, nil, func(b *wal.Builder) error {
			return b.Put(f.table, f.version, 3, testRecord(3, "new", "", 0))
		})
		frame := wal.PutSize(f.table, f.version, 3, testRecord(3, "new", "", 0))
		f.refused(t, at+frame, "no contribution")
	})
	t.Run("too long a chain", func(t *testing.T) {
		f := newForged(t)
		last, prev := int64(0), f.other.off
		f.append(t, maxHops+1, []wal.Contribution{{Table: f.table, Sum: row.Sum{1, 1}}}, func(b *wal.Builder) error {
			for n := range maxHops + 1 {
				last = b.Offset()
				err := b.Delta(&wal.Delta{Table: f.table, Version: f.version, Rowid: 2, Prev: uint64(prev),
					Columns: []wal.DeltaColumn{{Ordinal: 3, Value: row.IntValue(int64(n))}}})
				if err != nil {
					return err
				}
				prev = last
			}
			return nil
		})
		f.refused(t, last, "behind 16 others")
	})
}

// A bit that flips in a file of a store in use, sealed or not, makes a read fail
// with the file and the offset, and never gives another row.
func TestKeysFlippedBits(t *testing.T) {
	for _, w := range []way{byMapping, byHandle} {
		t.Run(fmt.Sprint("way ", w), func(t *testing.T) { testKeysFlippedBits(t, w) })
	}
}

func testKeysFlippedBits(t *testing.T, w way) {
	mem := vfs.NewMem()
	mem.SetJournalLimit(0)
	o := Options{Dir: t.TempDir(), FS: mem, Create: true, Shards: 1}
	s, err := Open(t.Context(), o)
	must(t, err)
	pin(s, w)
	update(t, s, createKeys("k", 4))
	for n := range 4 { // chains of three links, in a sealed file and in the active one
		wait(t, s, update(t, s, all(put("k", 1, 1, fmt.Sprint("sealed ", n), strings.Repeat("w", 40), 0))))
	}
	must(t, s.Checkpoint(t.Context(), nil))
	for n := range 4 {
		wait(t, s, update(t, s, all(put("k", 2, 2, fmt.Sprint("active ", n), strings.Repeat("w", 40), 0))))
	}
	table := tableOf(s, "k")
	for rowid := int64(1); rowid <= 2; rowid++ {
		p, _ := newestOf(t, s, "k", rowid)
		if p.hops != 3 {
			t.Fatalf("row %d: %d hops", rowid, p.hops)
		}
		want, _, err := table.Get(rowid)
		must(t, err)
		ob, err := s.objects.at(p.slot)
		must(t, err)
		file, err := mem.Open(ob.path)
		must(t, err)
		bits := int64(0)
		var frames []rowPlace
		for hop, at := p.hops, p.off; ; hop-- {
			f, err := s.objects.borrow(p.slot, at, 0, nil)
			must(t, err)
			frames = append(frames, rowPlace{off: at, size: uint32(f.End() - at)})
			if hop == 0 {
				break
			}
			d, err := wal.DecodeDelta(f)
			must(t, err)
			at = int64(d.Prev)
		}
		for _, f := range frames {
			for bit := rowid; bit < int64(f.size)*8; bit += 11 { // all places in a byte, by and by
				var b [1]byte
				at := f.off + bit/8
				_, err := file.ReadAt(b[:], at)
				must(t, err)
				flipped := []byte{b[0] ^ 1<<(bit%8)}
				_, err = file.WriteAt(flipped, at)
				must(t, err)
				rec, _, err := table.Get(rowid)
				var bad *CorruptError
				if !errors.As(err, &bad) || bad.File != ob.path || bad.Offset != f.off || rec != "" {
					t.Fatalf("bit %d of the frame at %d: %x, %v", bit, f.off, rec, err)
				}
				if _, err := table.Scan(rowid, rowid, false).Next(make([]Entry, 2)); !errors.As(err, &bad) {
					t.Fatalf("bit %d of the frame at %d, scanned: %v", bit, f.off, err)
				}
				_, err = file.WriteAt(b[:], at)
				must(t, err)
				bits++
			}
		}
		if rec, _, err := table.Get(rowid); err != nil || rec != want {
			t.Fatalf("after all: %x, %v", rec, err)
		}
		must(t, file.Close())
		t.Logf("row %d: %d bits", rowid, bits)
	}
	must(t, s.Close())
}

// FuzzLocator: what parses is spelled as it was, and nothing panics.
func FuzzLocator(f *testing.F) {
	for _, p := range []rowPlace{
		{kind: staged, off: 300, size: minStaged}, {kind: staged, off: 1 << 40, size: maxStaged}, {kind: filed, off: 8, size: 16, slot: 1}, {kind: filed, off: 1 << 40, size: 1 << 30, slot: 1 << 20, hops: maxHops},
	} {
		f.Add(appendLocator(nil, p))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseLocator(string(b))
		if err != nil {
			return
		}
		if again := appendLocator(nil, p); string(again) != string(b) {
			t.Fatalf("%x is %+v, which is %x", b, p, again)
		}
	})
}

// What is no damage is not called so: a sealed file that was cut under its
// mapping, and one that cannot be opened.
func TestKeysFailedReads(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	o := Options{Dir: t.TempDir(), FS: fault, Create: true, Shards: 1}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createKeys("k", 2), put("k", 1, 1, "one"), put("k", 2, 2, "two"))))
	must(t, s.Checkpoint(t.Context(), nil))
	table := tableOf(s, "k")
	fault.Fail(vfs.Rule{Kinds: vfs.OpMap, N: 1})
	var bad *CorruptError
	if _, _, err := table.Get(1); err == nil || errors.As(err, &bad) {
		t.Fatalf("a file that cannot be mapped: %v", err)
	}
	fault.Clear()
	wantRow(t, table, 1, testRecord(1, "one"))
	p, _ := newestOf(t, s, "k", 2)
	ob, err := s.objects.at(p.slot)
	must(t, err)
	data := readFile(t, fault, ob.path)
	writeFile(t, fault, ob.path, data[:p.off])
	if rec, _, err := table.Get(2); !errors.Is(err, vfs.ErrPageFault) || !errors.As(err, &bad) || bad.File != ob.path || bad.Offset != p.off || rec != "" {
		t.Fatalf("a file that was cut: %x, %v", rec, err)
	}
	writeFile(t, fault, ob.path, data)
	wantRow(t, table, 2, testRecord(2, "two"))

	// The same through a handle.
	pin(s, byHandle)
	wantRow(t, table, 1, testRecord(1, "one"))
	fault.Fail(vfs.Rule{Kinds: vfs.OpRead, N: 1})
	if rec, _, err := table.Get(2); !errors.Is(err, syscall.EIO) || errors.As(err, &bad) || rec != "" {
		t.Fatalf("a read that failed: %x, %v", rec, err)
	}
	wantRow(t, table, 2, testRecord(2, "two"))
	writeFile(t, fault, ob.path, data[:p.off])
	if rec, _, err := table.Get(2); !errors.As(err, &bad) || bad.File != ob.path || bad.Offset != p.off || rec != "" {
		t.Fatalf("a file that was cut: %x, %v", rec, err)
	}
	writeFile(t, fault, ob.path, data)
	wantRow(t, table, 2, testRecord(2, "two"))
	must(t, s.Close())
}

// An intact record of another row is never taken for the one that was asked for.
func TestKeysWrongPlace(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	update(t, s, createKeys("k", 4))
	wait(t, s, update(t, s, all(put("k", 1, 1, "one", strings.Repeat("w", 40), 0), put("k", 2, 2, "two", strings.Repeat("w", 40), 0))))
	wait(t, s, update(t, s, put("k", 3, 3, "three", strings.Repeat("w", 40), 0)))
	wait(t, s, update(t, s, put("k", 3, 3, "three", strings.Repeat("w", 40), 1))) // a delta
	table := tableOf(s, "k")
	for rowid := int64(1); rowid <= 3; rowid++ {
		for other := int64(1); other <= 3; other++ {
			loc, _ := table.rows.Get(other)
			rec, err := table.src.row(table.def, rowid, loc)
			var bad *CorruptError
			if damaged := errors.As(err, &bad) && rec == ""; damaged != (rowid != other) {
				t.Errorf("row %d at the place of row %d: %x, %v", rowid, other, rec, err)
			}
		}
	}
}
