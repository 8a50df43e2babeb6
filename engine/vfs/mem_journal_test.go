package vfs

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestJournal checks numbers, the hook, and that each state is rebuilt across
// many segments, with writes to files that lost their names.
func TestJournal(t *testing.T) {
	m := leakChecked(t, NewMem())
	var hooked []string
	m.OnOp(func(op Op) { hooked = append(hooked, fmt.Sprint(op.N, " ", op)) })
	var states []string
	note := func() { states = append(states, tree(t, m)) }
	note()
	a := create(t, m, "a", "")
	note()
	nameless := create(t, m, "b", "")
	note()
	ok(t, m.Remove("b"))
	note()
	for i := range 3 * segmentOps {
		write(t, a, fmt.Sprint(i), int64(i))
		note()
		write(t, nameless, "nobody sees this", 0)
		note()
		if i == segmentOps {
			// New names for the old ones, while the old file is still open.
			put(t, m, "b", "")
			note()
		}
	}
	ok(t, nameless.Sync())
	note()
	ok(t, a.Close())
	ok(t, nameless.Close())

	if m.Ops() != len(states)-1 || m.FirstOp() != 0 {
		t.Fatalf("%d operations, first %d, want %d and 0", m.Ops(), m.FirstOp(), len(states)-1)
	}
	journal := m.Journal()
	if len(journal) != m.Ops() || len(hooked) != m.Ops() {
		t.Fatalf("the journal has %d operations, the hook saw %d of %d", len(journal), len(hooked), m.Ops())
	}
	for i, op := range journal {
		if op.N != i+1 || hooked[i] != fmt.Sprint(op.N, " ", op) || op.Kind&MutatingOps == 0 {
			t.Fatalf("operation %d: journal %d %s, hook %s", i+1, op.N, op, hooked[i])
		}
	}
	for n, want := range states {
		at := m.At(n)
		if got := tree(t, at); got != want {
			t.Fatalf("after operation %d:\n%swant\n%s", n, got, want)
		}
	}
	if m.At(-1) != nil || m.At(len(states)) != nil {
		t.Error("a state outside of the journal")
	}
	// A rebuilt state goes on counting, and what was pending stays in order.
	at := m.At(10)
	put(t, at, "more", "more")
	if at.FirstOp() != 10 || at.Ops() != 12 || at.Journal()[1].N != 12 {
		t.Errorf("rebuilt: first %d, last %d", at.FirstOp(), at.Ops())
	}
	if got := tree(t, at.At(10)); got != states[10] {
		t.Errorf("rebuilt twice:\n%s", got)
	}
}

// TestJournalNoOps checks that what changes nothing has no number.
func TestJournalNoOps(t *testing.T) {
	m := leakChecked(t, NewMem())
	f := create(t, m, "a", "12345")
	ok(t, m.Mkdir("d"))
	before := m.Ops()
	_, err := f.WriteAt(nil, 100)
	ok(t, err)
	ok(t, f.Truncate(5))
	ok(t, f.Preallocate(3))
	ok(t, m.Mkdir("d"))
	ok(t, m.Rename("a", "a"))
	_, _ = m.Create("a")
	_ = m.Remove("none")
	_ = m.Rename("none", "b")
	tree(t, m)
	if m.Ops() != before {
		t.Errorf("numbered: %v", m.Journal()[before:])
	}
	ok(t, f.Close())
}

// TestJournalLimit checks that old operations are forgotten, and only they.
func TestJournalLimit(t *testing.T) {
	const limit = 1 << 20
	m := leakChecked(t, NewMem())
	m.SetJournalLimit(limit)
	f := create(t, m, "a", "")
	ok(t, m.SyncDir("."))
	big := strings.Repeat("x", 10_000)
	for i := range 2000 {
		write(t, f, big, int64(i%10)*10_000)
		if i%10 == 9 {
			ok(t, f.SyncData())
		}
	}
	ok(t, f.Close())
	first := m.FirstOp()
	if first == 0 || first == m.Ops() {
		t.Fatalf("kept %d…%d", first, m.Ops())
	}
	bytes := 0
	for i, op := range m.Journal() {
		if op.N != first+1+i {
			t.Fatalf("operation %d follows %d", op.N, first+i)
		}
		bytes += len(op.Data)
	}
	if bytes > 2*limit {
		t.Errorf("the journal holds %d bytes", bytes)
	}
	if m.At(first-1) != nil {
		t.Error("a forgotten state was rebuilt")
	}
	for _, n := range []int{first, first + 1, m.Ops()} {
		at := m.At(n)
		if at == nil {
			t.Fatalf("no state %d in %d…%d", n, first, m.Ops())
		}
		if got := content(t, at, "a"); len(got) != 100_000 {
			t.Errorf("state %d holds %d bytes", n, len(got))
		}
	}
}

// TestMemWhileWorking takes images, states and the journal while other
// goroutines write; it is for the race detector, and each image must hold
// whole writes (every byte of a block has one value) when only whole
// operations are lost.
func TestMemWhileWorking(t *testing.T) {
	m := leakChecked(t, NewMem())
	f := create(t, m, "a", strings.Repeat("\x00", 4*512))
	ok(t, f.Sync())
	ok(t, m.SyncDir("."))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				p := []byte(strings.Repeat(string(rune('a'+i%26)), 512))
				if _, err := f.WriteAt(p, int64(w)*512); err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					if err := f.SyncData(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 30 {
		n := m.Ops()
		for name, img := range m.CrashImages(n, CrashOptions{Mixtures: 2, Max: 5}) {
			got := content(t, img, "a")
			for w := range 4 {
				block := got[w*512 : (w+1)*512]
				if strings.Count(block, block[:1]) != 512 {
					t.Errorf("%s: block %d is mixed", name, w)
				}
			}
			put(t, img, "b", "work on the image")
		}
		m.Journal()
	}
	close(stop)
	wg.Wait()
	ok(t, f.Close())
}

// BenchmarkCrashImages measures images of a store-like directory: ten files,
// one of 100 KB with a few unsynced writes.
func BenchmarkCrashImages(b *testing.B) {
	m := NewMem()
	for i := range 10 {
		put(b, m, fmt.Sprint("file", i), strings.Repeat("x", 10_000))
	}
	f := create(b, m, "log", strings.Repeat("x", 100_000))
	ok(b, f.Sync())
	ok(b, m.SyncDir("."))
	for i := range 5 {
		write(b, f, strings.Repeat("y", 700), 50_000+int64(i)*700)
	}
	n := 0
	for b.Loop() {
		for _, img := range m.CrashImages(m.Ops(), CrashOptions{}) {
			if f, err := img.Open("log"); err == nil {
				write(b, f, "retry", 50_000)
				ok(b, f.SyncData())
				ok(b, f.Close())
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "images/s")
}
