package engine

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A segment that goes bad while the store is open is found by the next index job, which
// writes it anew: what shows without reading it by any job, the rest by one that somebody
// asked for.
func TestIndexJobFindsDamage(t *testing.T) {
	mem := vfs.NewMem()
	told := 0
	s := openStore(t, Options{FS: mem, GenerationSize: 4 << 10, NoCompaction: true, Events: func(e Event) {
		if e.Kind == EventSegmentDamaged {
			told++
		}
		nothingFails(t)(e)
	}})
	wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), manyRows("k", 60, "k"), manyRows("a", 40, "a"))))
	must(t, s.Compact(t.Context(), nil))
	for _, d := range []struct {
		what   string
		auto   bool
		damage func(g *catalog.Segment)
	}{
		{"missing", true, func(g *catalog.Segment) { must(t, mem.Remove(g.Path)) }},
		{"cut off", true, func(g *catalog.Segment) { resize(t, mem, g.Path, g.Extent-8) }},
		{"a bit", false, func(g *catalog.Segment) { flipAt(t, mem, g.Path, g.Extent/2) }},
	} {
		for i, g := range stateOf(t, s).IndexState.Segments {
			told = 0
			d.damage(&g)
			if d.auto {
				_, err := s.RunJob(t.Context(), JobRequest{Kind: JobIndex, auto: true})
				must(t, err)
			} else {
				must(t, indexJob(s, ""))
			}
			now := stateOf(t, s).IndexState.Segments
			if slices.ContainsFunc(now, func(x catalog.Segment) bool { return x.ObjectID == g.ObjectID }) || told != 1 {
				t.Errorf("%s, segment %d: it is still in the head, or told %d times", d.what, i, told)
			}
			caughtUp(t, s)
		}
		checkStore(t, s)
	}
}

// Nothing is planned for a segment of whose fragments none is left but to let go of it.
func TestPlanOfNothingLeft(t *testing.T) {
	s := indexed(t, 40)
	_, segments := written(t, s)
	p := planOf(t, s).plan
	for _, g := range segments {
		w := &indexWork{IndexRef: g.IndexRef}
		g.Fragments = roaring64.BitmapOf(1 << 40)
		must(t, s.planIndex(t.Context(), p, w, []catalog.Segment{g}, nil, false))
		if w.left != 1 || w.writes() || len(w.keep) > 0 {
			t.Errorf("%+v", w)
		}
	}
}

// Segments of very different sizes are merged, too, when they are too many.
func TestToMergeBoundsSegments(t *testing.T) {
	var have []segmentInUse
	for live := int64(1); len(have) < 3*maxSegments; live *= 4 {
		have = append(have, segmentInUse{Segment: catalog.Segment{Entries: live}, live: live})
		kept := 0
		for _, take := range toMerge(0, true, have) {
			if !take {
				kept++
			}
		}
		if kept > maxSegments {
			t.Errorf("%d segments of %d are kept, and one is written", kept, len(have))
		}
	}
}

// A row that is deleted when a segment is written has no entry in it.
func TestDeletedRowsHaveNoEntry(t *testing.T) {
	s := indexed(t, 60)
	w := planOf(t, s)
	rows := int64(0)
	for _, x := range w.plan.fragments {
		if x.rows > 2 {
			x.deleted = roaring.BitmapOf(0, uint32(x.rows-1))
			rows -= 2
		}
		rows += x.rows
	}
	must(t, w.gather(nil))
	for _, x := range w.plan.indexes {
		if n := int64(len(x.rows.entries)); n != rows || rows != 60-2*int64(len(w.plan.fragments)) {
			t.Errorf("%s: %d entries of %d rows", x.name(), n, rows)
		}
	}
}

// A base file that ends among its rows is damage, not the end of them.
func TestFragmentScanOfPart(t *testing.T) {
	s := indexed(t, 60)
	f := planOf(t, s).plan.files[0]
	size := f.info.Bytes
	data := readFile(t, s.fs, f.path)
	for _, at := range []int64{size - 1, size * 3 / 4, size / 2} {
		// From the end of a frame on there is room that nothing was written to.
		part := slices.Clone(data)
		sc := wal.NewScanner(strings.NewReader(string(data)), f.start, size, f.salt)
		end := f.start
		for fr, ok := sc.Next(); ok && fr.End() <= at; fr, ok = sc.Next() {
			end = fr.End()
		}
		clear(part[end:])
		writeFile(t, s.fs, f.path, part)
		rows := 0
		scan := fragmentScan{s: s, file: f, ended: func() error { return nil }, row: func(int, uint32, wal.RowIDs, wal.Frame) error { rows++; return nil }}
		var bad *CorruptError
		if err := scan.run(); !errors.As(err, &bad) && at != size-1 || rows == 0 {
			t.Errorf("%d of %d bytes: %d rows, %v", end, size, rows, err)
		}
		writeFile(t, s.fs, f.path, data)
	}
}

// A segment has as many bytes as it was sealed with, not one more.
func TestSegmentWithMoreBytes(t *testing.T) {
	s := indexed(t, 20)
	_, segments := written(t, s)
	for _, g := range segments {
		resize(t, s.fs.(*vfs.Mem), g.Path, g.Extent+8)
		var bad *CorruptError
		if r, err := s.openSegment(&g); !errors.As(err, &bad) || bad.File != g.Path {
			t.Errorf("%v, %v", r, err)
		}
		resize(t, s.fs.(*vfs.Mem), g.Path, g.Extent)
		r, err := s.openSegment(&g)
		must(t, err)
		must(t, r.close())
	}
}

// Segments that an earlier process did not come to write are written behind an open,
// although nothing waits for them.
func TestIndexMissingAtOpen(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, Create: true, NoCompaction: true, Events: nothingFails(t)}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
	must(t, s.Compact(t.Context(), nil))
	caughtUp(t, s)
	wait(t, s, update(t, s, createIndex("k", "later", 1)))
	must(t, s.Close())
	o.NoCompaction = false
	s, err = Open(t.Context(), o)
	must(t, err)
	if n := len(stateOf(t, s).Retained); n > 0 {
		t.Errorf("%d generations are retained", n)
	}
	eventually(t, "the index to be written", func() bool { return len(segmentsOf(t, s, "later")) == 1 })
	eventually(t, "the job to end", func() bool {
		list, err := s.Jobs(t.Context())
		must(t, err)
		return list[len(list)-1].State == catalog.JobDone
	})
	caughtUp(t, s)
	checkStore(t, s)
	must(t, s.Close())
}

// A file that is made has its entry, and those of the directories above it, on the medium
// before anything is written to it.
func TestCreateFileSyncs(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, NoCompaction: true})
	name := catalog.ObjectPath(1<<20, catalog.KindIndex)
	var synced []string
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncDir {
			synced = append(synced, op.Name)
		}
		return nil
	})
	all := []string{path.Dir(name), path.Dir(path.Dir(name)), objectsDir, "."}
	created := func(want ...string) {
		t.Helper()
		synced = nil
		file, err := s.createFile(name)
		must(t, err)
		must(t, file.Close())
		if !slices.Equal(synced, want) {
			t.Errorf("%q are synced, and not %q", synced, want)
		}
	}
	clear(s.lasting)
	created(all...)
	created(all[0]) // in the place of what the first one left: the directories above last
	must(t, s.unlink(&catalog.Object{ID: 1 << 20, Path: name}))
	created(all[:3]...) // a directory went with its only file
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncDir && op.Name == all[1] {
			return syscall.EIO
		}
		return nil
	})
	delete(s.lasting, all[0])
	if _, err := s.createFile(name); !errors.As(err, new(*syncError)) || s.lasting[all[0]] {
		t.Errorf("without a sync of the directory above: %v, it lasts: %t", err, s.lasting[all[0]])
	}
	f.SetHook(nil)
	f.Fail(vfs.Rule{Kinds: vfs.OpSyncDir})
	if _, err := s.createFile(name); !errors.As(err, new(*syncError)) {
		t.Errorf("without a sync: %v", err)
	}
	f.Clear()
	must(t, s.fs.Remove(name))
}
