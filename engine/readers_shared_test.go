package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// However many branch points are read, a file that they share is mapped once, and
// closed when the last of them is let go of.
func TestHistoriesShareFiles(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	s := openStore(t, Options{FS: fault})
	wait(t, s, update(t, s, createTable("t")))
	const points = 12
	for i := range int64(points) {
		wait(t, s, update(t, s, put("t", i, i, "x")))
		branch(t, s, fmt.Sprint("b", i))
	}
	before := fault.Count(vfs.OpMap)
	var snaps []*Snapshot
	for i := range points {
		snap, err := s.At(t.Context(), fmt.Sprint("b", i))
		must(t, err)
		if rows := dump(snap); rows == "" {
			t.Errorf("branch point %d is empty", i)
		}
		snaps = append(snaps, snap)
	}
	files := map[string]bool{}
	for _, g := range s.GenerationInfos() {
		files[g.File] = true
	}
	r := &s.histories.readers
	if n := fault.Count(vfs.OpMap) - before; n == 0 || n > len(files) {
		t.Errorf("%d branch points of %d files mapped %d", points, len(files), n)
	}
	if n := len(r.open); n == 0 || n > len(files) {
		t.Errorf("%d files are open", n)
	}
	for _, snap := range snaps {
		dump(snap) // all of them can still be read
	}
	must(t, s.Close())
	if n := len(r.open); n > 0 || r.handles.Load() != 0 {
		t.Errorf("after Close %d files and %d handles are open", n, r.handles.Load())
	}
	if open := mem.OpenFiles(); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
}

func TestSharedReader(t *testing.T) {
	mem := vfs.NewMem()
	f, err := mem.Create("f")
	must(t, err)
	_, err = f.WriteAt([]byte("rows"), 0)
	must(t, err)
	must(t, f.Close())
	var all sharedReaders
	opened := 0
	get := func(handle bool) *sharedReader {
		r, err := all.acquire("f", handle, func() (*objectReader, error) {
			opened++
			f, err := mem.OpenRead("f")
			if err != nil {
				return nil, err
			}
			return &objectReader{ReaderAt: f, own: f, handle: handle}, nil
		})
		must(t, err)
		return r
	}
	a, b, c := get(false), get(false), get(true)
	if opened != 2 || all.handles.Load() != 1 {
		t.Errorf("opened %d times, %d handles", opened, all.handles.Load())
	}
	buf := make([]byte, 4)
	must(t, a.Close())
	if err := a.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
	if _, err := a.ReadAt(buf, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read behind Close: %v", err)
	}
	if _, err := b.ReadAt(buf, 0); err != nil || string(buf) != "rows" {
		t.Errorf("the other one reads %q, %v", buf, err)
	}
	must(t, b.Close())
	must(t, c.Close())
	if open := mem.OpenFiles(); len(open) > 0 || len(all.open) > 0 || all.handles.Load() != 0 {
		t.Errorf("still open: %v", open)
	}
	if get(false); opened != 3 {
		t.Errorf("opened %d times", opened)
	}
}
