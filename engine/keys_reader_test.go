package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// pin makes a store read its sealed files in one way only: by its clock every
// read waits for a disk, or none does. It must come before the first read.
func pin(s *Store, w way) {
	p := &s.objects.pace
	p.state.Store(uint32(w))
	var ticks atomic.Int64
	p.now = func() time.Time {
		if w == byMapping {
			return time.Time{}
		}
		return time.Time{}.Add(time.Duration(ticks.Add(1)) * time.Second)
	}
}

// swing makes a store change its way of reading after every few reads.
func swing(s *Store) {
	var asked atomic.Int64
	s.objects.pace.now = func() time.Time {
		n := asked.Add(1)
		if n/(4*sampleWindow)%2 == 0 {
			return time.Time{}.Add(time.Duration(n) * time.Second)
		}
		return time.Time{}
	}
}

// newSealed is a store on fs with rows 1 to n of a keys table k in a sealed file.
func newSealed(t *testing.T, fs vfs.FS, n int) *Store {
	t.Helper()
	s := openStore(t, Options{FS: fs, Shards: 1})
	update(t, s, createKeys("k", 2))
	wait(t, s, update(t, s, func(tx *Tx) error {
		for i := 1; i <= n; i++ {
			if err := put("k", int64(i), i, fmt.Sprint("text ", i))(tx); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Checkpoint(t.Context(), nil))
	return s
}

// readRows reads rows 1 to n, until as many were read, each by its id.
func readRows(t *testing.T, s *Store, n, times int) {
	t.Helper()
	table := tableOf(s, "k")
	for i := range times {
		id := i%n + 1
		if rec, found, err := table.Get(int64(id)); err != nil || !found || rec != testRecord(id, fmt.Sprint("text ", id)) {
			t.Fatalf("row %d: %x, %t, %v", id, rec, found, err)
		}
	}
}

// A sealed file is mapped, is read through a handle while reads are slow, and is
// mapped again when they are not. Nothing stays open.
func TestKeysReadersChangeOver(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	s := newSealed(t, fault, 20)
	const window = sampleEvery * sampleWindow
	for round := range 3 {
		for _, w := range []way{byMapping, byHandle} {
			// The clock of the other way brings the change.
			if pin(s, w); round > 0 || w != byMapping {
				s.objects.pace.state.Store(uint32(1 - w))
			}
			readRows(t, s, 20, 2*window)
			mapped, read := fault.Count(vfs.OpMapRead), fault.Count(vfs.OpRead)
			readRows(t, s, 20, window)
			mapped, read = fault.Count(vfs.OpMapRead)-mapped, fault.Count(vfs.OpRead)-read
			if w == byMapping && (mapped != window || read != 0) || w == byHandle && (mapped != 0 || read != window) {
				t.Fatalf("round %d, way %d: %d reads by the mapping, %d by a handle", round, w, mapped, read)
			}
			if n := s.objects.handles.Load(); n != int32(w) {
				t.Fatalf("round %d, way %d: %d handles", round, w, n)
			}
		}
	}
	must(t, s.Close())
	checkLeaks(t, mem)
}

// What fails when a file changes over fails no read: the file is read on as it
// was, until the way changes again.
func TestKeysReadersStay(t *testing.T) {
	for _, tc := range []struct {
		from way
		rule vfs.Rule
	}{
		{byMapping, vfs.Rule{Kinds: vfs.OpOpenRead}},
		{byHandle, vfs.Rule{Kinds: vfs.OpOpenRead}},
		{byHandle, vfs.Rule{Kinds: vfs.OpMap}},
		{byHandle, vfs.Rule{Kinds: vfs.OpMap, After: true}},
		{byMapping, vfs.Rule{Kinds: vfs.OpOpenRead, After: true}},
	} {
		mem := vfs.NewMem()
		fault := vfs.NewFault(mem)
		s := newSealed(t, fault, 5)
		pin(s, tc.from)
		readRows(t, s, 5, 5)
		fault.Fail(tc.rule)
		pin(s, 1-tc.from)
		readRows(t, s, 5, 50)
		if n := fault.Injected(); n != 1 {
			t.Errorf("%+v: it was tried %d times", tc, n)
		}
		if n := s.objects.handles.Load(); n != int32(tc.from) {
			t.Errorf("%+v: %d handles", tc, n)
		}
		fault.Clear()
		pin(s, tc.from) // this it has
		readRows(t, s, 5, 5)
		pin(s, 1-tc.from)
		readRows(t, s, 5, 5)
		if n := s.objects.handles.Load(); n != int32(1-tc.from) {
			t.Errorf("%+v: %d handles at the end", tc, n)
		}
		// What was left and cannot be closed well fails no read either.
		fault.Fail(vfs.Rule{Kinds: vfs.OpUnmap | vfs.OpClose})
		pin(s, tc.from)
		if tc.from == byHandle { // a mapping needs its file closed
			readRows(t, s, 5, 5)
		}
		fault.Clear()
		must(t, s.Close())
		checkLeaks(t, mem)
	}
}

// When as many handles are open as may be, further files are mapped.
func TestKeysHandlesAreBounded(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	s := newSealed(t, fault, 5)
	pin(s, byHandle)
	s.objects.handles.Store(mostHandles)
	readRows(t, s, 5, 20)
	if n, maps := s.objects.handles.Load(), fault.Count(vfs.OpMap); n != mostHandles || maps != 1 {
		t.Errorf("%d handles, mapped %d times", n, maps)
	}
	s.objects.handles.Store(mostHandles - 1)
	pin(s, byMapping)
	readRows(t, s, 5, 5)
	pin(s, byHandle)
	readRows(t, s, 5, 5)
	if n := s.objects.handles.Load(); n != mostHandles {
		t.Errorf("%d handles", n)
	}
	must(t, s.Close())
	if n := s.objects.handles.Load(); n != mostHandles-1 {
		t.Errorf("%d handles after Close", n)
	}
}

// Close waits for a file that is changing over, whose old mapping may have
// readers in it.
func TestKeysCloseWaitsForAChangeOver(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	s := newSealed(t, fault, 5)
	pin(s, byMapping)
	readRows(t, s, 5, 5)
	pin(s, byHandle)
	entered, leave := make(chan struct{}), make(chan struct{})
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpUnmap {
			close(entered)
			<-leave
		}
		return nil
	})
	table, read, closed := tableOf(s, "k"), make(chan error, 1), make(chan error, 1)
	go func() {
		_, _, err := table.Get(1)
		read <- err
	}()
	<-entered
	go func() {
		closed <- s.objects.close() // what Store.Close begins with
	}()
	eventually(t, "the store closes", s.objects.closed.Load)
	select {
	case err := <-closed:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	must(t, <-closed)
	if err := <-read; err != nil && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	fault.Clear()
	must(t, s.Close())
	checkLeaks(t, mem)
}

// Readers go on while files are sealed and change over under them, and end with
// ErrClosed.
func TestKeysReadersBesideChangeOvers(t *testing.T) {
	t.Run("os", func(t *testing.T) { testBesideChangeOvers(t, vfs.OS(t.TempDir())) })
	t.Run("mem", func(t *testing.T) { testBesideChangeOvers(t, vfs.NewMem()) })
}

func testBesideChangeOvers(t *testing.T, fs vfs.FS) {
	fault := vfs.NewFault(fs)
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), FS: fault, Create: true, Shards: 2, GenerationSize: 8 << 10, Sync: SyncOff})
	must(t, err)
	swing(s)
	const rows = 40
	wait(t, s, update(t, s, createKeys("k", 3)))
	wait(t, s, update(t, s, func(tx *Tx) error {
		for i := range rows {
			if err := put("k", int64(i), i, "text 0", strings.Repeat("w", 60))(tx); err != nil {
				return err
			}
		}
		return nil
	}))
	var rounds atomic.Int64
	ended := make(chan error)
	const readers = 4
	for range readers {
		go func() {
			for {
				table := tableOf(s, "k")
				for i := range int64(rows) {
					rec, found, err := table.Get(i)
					if err == nil && (!found || rec.Column(0).Int() != i) {
						err = fmt.Errorf("row %d: %x, %t", i, rec, found)
					}
					if err != nil {
						ended <- err
						return
					}
				}
				rounds.Add(1)
			}
		}()
	}
	changes, before := 0, s.objects.pace.way()
	for n := 0; n < 40 || changes < 4; n++ {
		update(t, s, put("k", int64(n%rows), n%rows, fmt.Sprintf("text %d", n), strings.Repeat("w", 60)))
		seen := rounds.Load()
		eventually(t, "readers go on", func() bool { return rounds.Load() > seen })
		if w := s.objects.pace.way(); w != before {
			before = w
			changes++
		}
	}
	must(t, s.Close())
	for range readers {
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("a reader ended with %v", err)
		}
	}
	if n := s.objects.handles.Load(); n != 0 {
		t.Errorf("%d handles are left", n)
	}
	if opened, closed := fault.Count(vfs.OpMap), fault.Count(vfs.OpUnmap); opened != closed || opened == 0 {
		t.Errorf("%d mappings were made and %d ended", opened, closed)
	}
	checkLeaks(t, fs)
}
