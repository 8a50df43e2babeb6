package vfs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// byteModel says the same as mem_durable.go, one byte at a time and without
// sharing anything: it is the oracle for the content of one file.
type byteModel struct {
	cur, dur      []byte
	dirty, doomed map[int]bool
	shrunk        bool
	may           map[int]map[byte]bool // every value a byte had since it was last durable
}

func newByteModel() *byteModel {
	return &byteModel{dirty: map[int]bool{}, doomed: map[int]bool{}, may: map[int]map[byte]bool{}}
}

func (b *byteModel) note() {
	for i, v := range b.cur {
		if b.may[i] == nil {
			b.may[i] = map[byte]bool{0: true} // a hole
		}
		b.may[i][v] = true
	}
}

func (b *byteModel) write(p []byte, off int) {
	if len(p) == 0 {
		return
	}
	b.size(max(len(b.cur), off+len(p)), true)
	for i, v := range p {
		b.cur[off+i] = v
		b.dirty[off+i] = true
		delete(b.doomed, off+i)
	}
	b.note()
}

func (b *byteModel) size(n int, byWrite bool) {
	for i := n; i < len(b.cur); i++ {
		delete(b.dirty, i)
		delete(b.doomed, i)
		if b.may[i] != nil {
			b.may[i][0] = true // grown again, and the new bytes lost
		}
	}
	if n < len(b.dur) && n < len(b.cur) {
		b.shrunk = true
	}
	if n < len(b.cur) {
		b.cur = b.cur[:n:n]
	} else {
		b.cur = append(b.cur, make([]byte, n-len(b.cur))...)
	}
	if !byWrite {
		b.note()
	}
}

func (b *byteModel) sync(full bool) {
	size := len(b.dur)
	for i := range b.dirty {
		size = max(size, i+1)
	}
	if full || !b.shrunk && size == len(b.cur) {
		size, full = len(b.cur), true
	}
	next := make([]byte, size)
	copy(next, b.dur)
	for i := range next {
		if b.dirty[i] || full && !b.doomed[i] {
			next[i] = b.cur[i]
		}
	}
	b.dur = next
	b.dirty = map[int]bool{}
	b.may = map[int]map[byte]bool{}
	for i, v := range b.dur {
		b.may[i] = map[byte]bool{v: true}
		if b.doomed[i] || !full {
			b.may[i][0] = true
		}
	}
	if full {
		b.shrunk = false
	}
	if !full || len(b.doomed) > 0 {
		b.note()
	}
}

func (b *byteModel) failSync() {
	for i := range b.dirty {
		b.doomed[i] = true
	}
	b.dirty = map[int]bool{}
}

// check compares one image of the file.
func (b *byteModel) check(name string, got []byte) error {
	switch {
	case (name == "lost" || name == "synced") && !bytes.Equal(got, b.dur):
		return fmt.Errorf("%s: %q, want %q", name, got, b.dur)
	case (name == "kept" || name == "synced") && !bytes.Equal(got, b.cur):
		return fmt.Errorf("%s: %q, want %q", name, got, b.cur)
	}
	for i, v := range got {
		if !b.may[i][v] {
			return fmt.Errorf("%s: byte %d is %q, which it never was", name, i, v)
		}
	}
	return nil
}

// TestMemBytes compares every image after every operation on one file with the
// byte-wise model.
func TestMemBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMem()
		f := NewFault(m)
		file := create(t, f, "a", "")
		defer file.Close()
		ok(t, f.SyncDir("."))
		b := newByteModel()
		seed := rapid.Uint64().Draw(t, "seed")
		value := byte('a')
		position := rapid.SampledFrom([]int{0, 1, 5, 8, 500, 512, 520, 4090, 4096, 4100})
		sync := func(kind Kind, full bool) {
			call := file.SyncData
			if full {
				call = file.Sync
			}
			if rapid.IntRange(0, 3).Draw(t, "fail") == 0 {
				f.Fail(Rule{Kinds: kind})
				if call() == nil {
					t.Fatal("the sync did not fail")
				}
				f.Clear()
				b.failSync()
				return
			}
			ok(t, call())
			b.sync(full)
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				p := bytes.Repeat([]byte{value}, rapid.SampledFrom([]int{1, 3, 600}).Draw(t, "len"))
				value = 'a' + (value-'a'+1)%26
				off := position.Draw(t, "off")
				write(t, file, string(p), int64(off))
				b.write(p, off)
			},
			"truncate": func(t *rapid.T) {
				size := position.Draw(t, "size")
				ok(t, file.Truncate(int64(size)))
				b.size(size, false)
			},
			"preallocate": func(t *rapid.T) {
				size := position.Draw(t, "size")
				ok(t, file.Preallocate(int64(size)))
				b.size(max(size, len(b.cur)), false)
			},
			"sync":     func(*rapid.T) { sync(OpSync, true) },
			"syncdata": func(*rapid.T) { sync(OpSyncData, false) },
			"": func(t *rapid.T) {
				// The pieces, all applied, give what programs see; images
				// take that short cut.
				st := m.stateAt(m.Ops())
				c := crash{us: st.units(pageSize)}
				all := make([]int, len(c.us))
				for i := range all {
					all[i] = i
				}
				applied := st.lookup("a").content(c.us, all, c.all())
				if !bytes.Equal(applied.bytes(), b.cur) {
					t.Fatalf("all pieces give %q, want %q", applied.bytes(), b.cur)
				}
				for name, img := range m.CrashImages(m.Ops(), CrashOptions{Seed: seed, Max: 20}) {
					if err := b.check(name, []byte(content(t, img, "a"))); err != nil {
						t.Fatal(err)
					}
				}
			},
		})
	})
}

// TestMemNames runs random operations on names and files, and checks for every
// moment, from the journal alone: that the state is rebuilt, that the image
// that keeps all is that state, that images are whole file systems with
// nothing left to lose, that they are the same in each run, and that a file
// whose name was durable and that was never removed or replaced has one.
func TestMemNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMem()
		names := []string{"a", "b", "c", "d", "d/a", "d/b", "e", "e/a", "d/f", "d/f/a"}
		name := rapid.SampledFrom(names)
		var states []string // after each operation
		states = append(states, tree(t, m))
		serial := 0
		steps := rapid.IntRange(1, 40).Draw(t, "steps")
		for range steps {
			// Most operations do not succeed on most states; those are no-ops.
			n, to := name.Draw(t, "name"), name.Draw(t, "to")
			serial++
			before := m.Ops()
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0, 1:
				if f, err := m.Create(n); err == nil {
					states = append(states, tree(t, m))
					write(t, f, fmt.Sprint("file ", serial), 0)
					ok(t, f.Close())
				}
			case 2:
				_ = m.Mkdir(n)
			case 3, 4:
				_ = m.Rename(n, to)
			case 5:
				_ = m.Link(n, to)
			case 6:
				_ = m.Remove(n)
			case 7:
				if f, err := m.Open(n); err == nil {
					ok(t, f.Sync())
					ok(t, f.Close())
				}
			case 8:
				_ = m.SyncDir(n)
			case 9:
				ok(t, m.SyncDir("."))
			}
			for m.Ops() > before && len(states) <= m.Ops() {
				states = append(states, tree(t, m))
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		for n, want := range states {
			at := m.At(n)
			if at.Ops() != n || tree(t, at) != want {
				t.Fatalf("after %d: rebuilt\n%swant\n%s", n, tree(t, at), want)
			}
			var first, second, third []string
			for name, img := range m.CrashImages(n, CrashOptions{Seed: seed}) {
				text := tree(t, img)
				first = append(first, name+"\n"+text)
				if (name == "kept" || name == "synced") && text != want {
					t.Fatalf("after %d, %s:\n%swant\n%s", n, name, text, want)
				}
				for inner, again := range img.CrashImages(0, CrashOptions{}) {
					if inner != "synced" || tree(t, again) != text {
						t.Fatalf("after %d, %s: an image has something to lose: %s", n, name, inner)
					}
				}
			}
			for name, img := range m.CrashImages(n, CrashOptions{Seed: seed}) {
				second = append(second, name+"\n"+tree(t, img))
			}
			for name, img := range at.CrashImages(n, CrashOptions{Seed: seed}) {
				third = append(third, name+"\n"+tree(t, img))
			}
			if a, b := strings.Join(first, "\n"), strings.Join(second, "\n"); a != b {
				t.Fatalf("after %d: images differ between runs:\n%s\n---\n%s", n, a, b)
			}
			// The rebuilt one has no journal before n, so it knows of no
			// write to cut; none of these is longer than a sector.
			if a, b := strings.Join(first, "\n"), strings.Join(third, "\n"); a != b {
				t.Fatalf("after %d: images of the rebuilt state differ:\n%s\n---\n%s", n, a, b)
			}
		}
		// With everything synced nothing can be lost.
		var syncAll func(dir string)
		syncAll = func(dir string) {
			entries, err := m.List(dir)
			ok(t, err)
			for _, e := range entries {
				if dir != "." {
					e = dir + "/" + e
				}
				if info, err := m.Stat(e); err != nil {
					t.Fatal(err)
				} else if info.Dir {
					syncAll(e)
					continue
				}
				f, err := m.Open(e)
				ok(t, err)
				ok(t, f.Sync())
				ok(t, f.Close())
			}
			ok(t, m.SyncDir(dir))
		}
		syncAll(".")
		for name, img := range m.CrashImages(m.Ops(), CrashOptions{}) {
			if tree(t, img) != tree(t, m) {
				t.Fatalf("all is synced, and %s is\n%swant\n%s", name, tree(t, img), tree(t, m))
			}
		}
	})
}
