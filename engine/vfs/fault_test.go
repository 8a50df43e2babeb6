package vfs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// program uses every operation once and stops at the first error.
func program(f FS) (err error) {
	step := func(e error) bool {
		err = e
		return e == nil
	}
	file, e := f.Create("a")
	if !step(e) {
		return err
	}
	defer func() { err = first(err, file.Close()) }()
	_, e = file.WriteAt([]byte("0123456789"), 0)
	if !step(e) || !step(file.Preallocate(20)) || !step(file.SyncData()) || !step(file.Truncate(15)) || !step(file.Sync()) {
		return err
	}
	if _, e = file.ReadAt(make([]byte, 4), 2); !step(e) {
		return err
	}
	if _, e = file.Size(); !step(e) {
		return err
	}
	m, e := file.Map()
	if !step(e) {
		return err
	}
	_, e = m.ReadAt(make([]byte, 4), 2)
	if e = first(e, m.Close()); !step(e) {
		return err
	}
	l, e := f.Lock("LOCK")
	if !step(e) {
		return err
	}
	defer func() { err = first(err, l.Close()) }()
	if !step(l.Write([]byte("me"))) {
		return err
	}
	if _, e = l.Read(); !step(e) {
		return err
	}
	if _, _, e = f.PeekLock("LOCK"); !step(e) {
		return err
	}
	if !step(f.Mkdir("d")) || !step(f.Link("a", "d/a")) || !step(f.Rename("a", "b")) || !step(f.SyncDir("d")) || !step(f.Remove("d/a")) {
		return err
	}
	if _, e = f.List("d"); !step(e) {
		return err
	}
	if _, e = f.Stat("b"); !step(e) {
		return err
	}
	for _, open := range []func(string) (File, error){f.Open, f.OpenRead} {
		again, e := open("b")
		if !step(e) || !step(again.Close()) {
			return err
		}
	}
	return nil
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// TestFaultLoop fails every operation of the program in turn, before and after
// it was done: each is reported, each leaves nothing open, and together they
// are all kinds there are.
func TestFaultLoop(t *testing.T) {
	for _, after := range []bool{false, true} {
		failed := Kind(0)
		n := 1
		for ; ; n++ {
			m := NewMem()
			f := NewFault(m, Rule{N: n, After: after, Err: errors.ErrUnsupported})
			var at Op
			f.SetHook(func(op Op) error {
				if op.N == n {
					at = op
				}
				return nil
			})
			err := program(f)
			if open := m.OpenFiles(); len(open) > 0 {
				t.Fatalf("operation %d (%s): left open %q", n, at, open)
			}
			if f.Injected() == 0 {
				ok(t, err)
				if f.Ops() != n-1 {
					t.Errorf("%d operations, but the loop ended at %d", f.Ops(), n)
				}
				break
			}
			wantErr(t, err, errors.ErrUnsupported)
			if pe, isPath := errors.AsType[*fs.PathError](err); !isPath || pe.Op != at.Kind.String() || pe.Path != at.Name {
				t.Errorf("operation %d (%s) fails with %v", n, at, err)
			}
			failed |= at.Kind
		}
		if failed != AllOps {
			t.Errorf("never failed: %s", AllOps&^failed)
		}
	}
}

// TestFaultRules checks how rules choose operations.
func TestFaultRules(t *testing.T) {
	outcome := func(r Rule) string {
		f := NewFault(NewMem(), r)
		file, err := f.Create("a")
		ok(t, err)
		other, err := f.Create("b")
		ok(t, err)
		var b strings.Builder
		for range 4 {
			for _, file := range []File{file, other} {
				if _, err := file.WriteAt([]byte("x"), 0); err != nil {
					b.WriteString("W")
				} else {
					b.WriteString("w")
				}
				if file.SyncData() != nil {
					b.WriteString("S")
				} else {
					b.WriteString("s")
				}
			}
		}
		if want := strings.Count(b.String(), "W") + strings.Count(b.String(), "S"); f.Injected() != want {
			t.Errorf("%d injected, %d seen", f.Injected(), want)
		}
		if f.Ops() != 18 || f.Count(OpWrite) != 8 || f.Count(SyncOps) != 8 || f.Count(OpCreate|OpWrite) != 10 {
			t.Errorf("counts %d, %d, %d, %d", f.Ops(), f.Count(OpWrite), f.Count(SyncOps), f.Count(OpCreate|OpWrite))
		}
		return b.String()
	}
	onB := func(op Op) bool { return op.Name == "b" }
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{N: 100}, "wswswswswswswsws"},
		{Rule{N: 3}, "Wswswswswswswsws"},
		{Rule{Kinds: OpWrite}, "WsWsWsWsWsWsWsWs"},
		{Rule{Kinds: OpWrite, N: 3}, "wswsWswswswswsws"},
		{Rule{Kinds: SyncOps, N: 2, Sticky: true}, "wswSwSwSwSwSwSwS"},
		{Rule{Kinds: SyncOps | OpWrite, Match: onB, N: 3}, "wswswsWswswswsws"},
		{Rule{Kinds: OpWrite, Match: onB, N: 2, Sticky: true}, "wswswsWswsWswsWs"},
	} {
		if got := outcome(c.rule); got != c.want {
			t.Errorf("%+v: %s, want %s", c.rule, got, c.want)
		}
	}
}

// TestFaultWrites checks short writes and writes that are done and reported as
// failed.
func TestFaultWrites(t *testing.T) {
	m := NewMem()
	f := NewFault(m)
	file := create(t, f, "a", "..........")
	defer file.Close()
	for _, c := range []struct {
		rule Rule
		n    int
		want string
	}{
		{Rule{}, 0, ".........."},
		{Rule{Short: 3}, 3, "012......."},
		{Rule{Short: 100}, 5, "01234....."},
		{Rule{After: true}, 5, "01234....."},
	} {
		write(t, file, "..........", 0)
		c.rule.Kinds = OpWrite
		f.Fail(c.rule)
		n, err := file.WriteAt([]byte("01234"), 0)
		wantErr(t, err, syscall.EIO)
		if n != c.n {
			t.Errorf("%+v: wrote %d bytes, want %d", c.rule, n, c.n)
		}
		f.Clear()
		wantContent(t, m, "a", c.want)
	}
}

// TestFaultSync checks that a failed sync reaches the files of a Mem through
// any stack of wrappers, once and sticky.
func TestFaultSync(t *testing.T) {
	m := NewMem()
	f := NewFault(NewTrace(NewFault(m)))
	file := create(t, f, "a", "")
	defer file.Close()
	ok(t, f.SyncDir("."))
	lost := func() string {
		for _, img := range m.CrashImages(m.Ops(), CrashOptions{}) {
			return content(t, img, "a")
		}
		return "no image"
	}
	f.Fail(Rule{Kinds: OpSyncData, N: 1})
	write(t, file, "one", 0)
	wantErr(t, file.SyncData(), syscall.EIO)
	ok(t, file.SyncData())
	if got := lost(); got != "" {
		t.Errorf("a good sync after the failed one kept %q", got)
	}
	write(t, file, "one", 0)
	ok(t, file.SyncData())
	if got := lost(); got != "one" {
		t.Errorf("written again and synced: %q", got)
	}
	f.Fail(Rule{Kinds: OpSync | OpSyncData, N: 2, Sticky: true})
	write(t, file, "two", 0)
	ok(t, file.Sync())
	for range 3 {
		write(t, file, "bad", 0)
		wantErr(t, file.Sync(), syscall.EIO)
	}
	if got := lost(); got != "two" {
		t.Errorf("under a sticky failure: %q", got)
	}
	var failed []string
	for _, op := range m.Journal() {
		if op.Failed {
			failed = append(failed, op.String())
		}
	}
	if want := []string{"syncdata a failed", "sync a failed", "sync a failed", "sync a failed"}; !slices.Equal(failed, want) {
		t.Errorf("the journal has %q", failed)
	}
}

// TestFaultSpace checks the quota.
func TestFaultSpace(t *testing.T) {
	m := leakChecked(t, NewMem())
	f := NewFault(m)
	file := create(t, f, "a", "0123456789") // before the limit
	defer file.Close()
	f.SetSpace(100)
	space := func(want int64) {
		t.Helper()
		if got := f.Space(); got != want {
			t.Fatalf("%d bytes left, want %d", got, want)
		}
	}
	write(t, file, "xxxxx", 0) // no growth
	space(100)
	ok(t, file.Preallocate(60))
	space(50)
	wantErr(t, file.Preallocate(111), syscall.ENOSPC)
	wantErr(t, file.Truncate(111), syscall.ENOSPC)
	wantSize(t, file, 60)
	space(50)
	n, err := file.WriteAt(make([]byte, 100), 50)
	wantErr(t, err, syscall.ENOSPC)
	if n != 60 {
		t.Errorf("wrote %d bytes of those that fit, want 60", n)
	}
	wantSize(t, file, 110)
	space(0)
	write(t, file, "still fits", 100)
	n, err = file.WriteAt([]byte("x"), 110)
	wantErr(t, err, syscall.ENOSPC)
	if n != 0 {
		t.Errorf("wrote %d bytes without room", n)
	}
	n, err = file.WriteAt([]byte("behind a hole"), 500)
	wantErr(t, err, syscall.ENOSPC)
	if n != 0 {
		t.Errorf("wrote %d bytes behind a hole without room", n)
	}
	if got := f.Injected(); got != 5 {
		t.Errorf("%d injected, want 5", got)
	}
	ok(t, file.Truncate(80))
	space(30)

	// The last name gives back the bytes.
	ok(t, f.Link("a", "b"))
	ok(t, f.Link("b", "c"))
	ok(t, f.Rename("b", "bb"))
	ok(t, f.Rename("bb", "c")) // one file: nothing happens
	ok(t, f.Remove("a"))
	ok(t, f.Remove("bb"))
	space(30)
	ok(t, f.Remove("c"))
	space(110)
	put(t, f, "x", strings.Repeat("x", 40))
	put(t, f, "y", strings.Repeat("y", 30))
	space(40)
	ok(t, f.Rename("x", "y")) // takes the place of y
	space(70)
	wantErr(t, f.Remove("none"), fs.ErrNotExist)
	ok(t, f.Mkdir("d"))
	ok(t, f.Remove("d"))
	space(70)
	f.SetSpace(-1)
	put(t, f, "z", strings.Repeat("z", 1000))
}

// TestFaultHook checks that the hook is asked first, without a lock, and may
// block: a second operation goes on meanwhile.
func TestFaultHook(t *testing.T) {
	f := NewFault(NewMem(), Rule{Kinds: OpSync, Err: syscall.EIO})
	file := create(t, f, "a", "A")
	defer file.Close()
	asked, release := make(chan struct{}), make(chan struct{})
	refusal := errors.New("refused by the hook")
	f.SetHook(func(op Op) error {
		switch op.Kind {
		case OpSyncData:
			close(asked)
			<-release
		case OpSync:
			return refusal
		}
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := file.SyncData(); err != nil {
			t.Error(err)
		}
	})
	<-asked
	write(t, file, "B", 1)
	if f.Count(OpSyncData) != 1 {
		t.Error("the sync is not counted")
	}
	wantErr(t, file.Sync(), refusal)
	close(release)
	wg.Wait()
}
