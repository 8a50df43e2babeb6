package tree

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"pgregory.net/rapid"
)

// check verifies what must hold of every tree.
func check(t interface{ Fatalf(string, ...any) }, b *base) {
	if b.root == nil {
		return
	}
	bytes, over := 0, 0
	checkLeaf := func(l *leaf) {
		bytes, over = bytes+int(l.live), over+b.over(l)
		if !b.keyed {
			bytes -= l.len() * (int(l.width) - minHead)
		}
		live := 0
		for i := range l.len() {
			live += l.size(i)
			if i > 0 && (l.head(i-1) > l.head(i) || l.head(i-1) == l.head(i) && (!b.keyed || l.entry(i-1) >= l.entry(i))) {
				t.Fatalf("entry %d of a leaf is not behind the one before", i)
			}
		}
		if live != int(l.live) || live > 3*maxBytes && l.len() > 1 || l.keyed != b.keyed {
			t.Fatalf("a leaf of %d entries with %d bytes counts %d", l.len(), live, l.live)
		}
		if l.len() > 0 && (l.first != l.head(0) || l.last != l.head(l.len()-1)) {
			t.Fatalf("a leaf begins with %x and ends with %x", l.first, l.last)
		}
		if l.len() == 0 && len(b.root.kids)+len(b.root.leaves) > 1 {
			t.Fatalf("an empty leaf")
		}
	}
	var walk func(n *inner) (depth int)
	walk = func(n *inner) int {
		sum, deep := 0, 0
		if n.fan() != len(n.heads)+1 || b.keyed && len(n.tails) != len(n.heads) || n.fan() > maxKids || n.kids != nil && n.leaves != nil {
			t.Fatalf("%d kids and %d leaves with %d heads and %d tails", len(n.kids), len(n.leaves), len(n.heads), len(n.tails))
		}
		for i := range n.fan() {
			first := n
			if n.leaves != nil {
				checkLeaf(n.leaves[i])
				sum += n.leaves[i].len()
			} else {
				sum += n.kids[i].count
				if d := walk(n.kids[i]) + 1; i > 0 && d != deep {
					t.Fatalf("leaves at depth %d and %d", deep, d)
				} else {
					deep = d
				}
				for first = n.kids[i]; first.leaves == nil; {
					first = first.kids[0]
				}
			}
			if i == 0 {
				continue
			}
			l := first.leaves[0]
			if n.leaves != nil {
				l = n.leaves[i]
			}
			if head, key := l.head(0), l.entry(0); head < n.heads[i-1] || b.keyed && head == n.heads[i-1] && key < n.tails[i-1] {
				t.Fatalf("kid %d begins before its separator", i)
			}
			before := n
			if n.leaves == nil {
				for before = n.kids[i-1]; before.leaves == nil; {
					before = before.kids[len(before.kids)-1]
				}
				l = before.leaves[len(before.leaves)-1]
			} else {
				l = n.leaves[i-1]
			}
			if head, key := l.head(l.len()-1), l.entry(l.len()-1); head > n.heads[i-1] || head == n.heads[i-1] && (!b.keyed || key >= n.tails[i-1]) {
				t.Fatalf("kid %d begins before the end of the one before", i)
			}
		}
		if sum != n.count {
			t.Fatalf("a node counts %d of %d", n.count, sum)
		}
		return deep
	}
	walk(b.root)
	if b.size.bytes != bytes || b.size.over != over {
		t.Fatalf("counts %d and %d bytes, has %d and %d", b.size.bytes, b.size.over, bytes, over)
	}
}

func sortedIDs(m map[int64]row.Record) []int64 { return slices.Sorted(maps.Keys(m)) }

// same compares a tree with a map, by every way of reading.
func same(t *rapid.T, r *Rows, m map[int64]row.Record) {
	check(t, &r.t)
	ids := sortedIDs(m)
	if r.Len() != len(ids) {
		t.Fatalf("%d rows, want %d", r.Len(), len(ids))
	}
	it, back := r.Iter(), r.Iter()
	for i, id := range ids {
		if !it.Next() || it.Key() != id || it.Value() != m[id] {
			t.Fatalf("row %d is not %d", i, id)
		}
		if rid, rec, ok := r.GetAt(i); !ok || rid != id || rec != m[id] {
			t.Fatalf("GetAt(%d) is %d, want %d", i, rid, id)
		}
		if !back.Prev() || back.Key() != ids[len(ids)-1-i] {
			t.Fatalf("row %d from the end", i)
		}
	}
	if it.Next() || back.Prev() {
		t.Fatalf("rows behind the last")
	}
	if id, rec, ok := r.Max(); ok != (len(ids) > 0) || ok && (id != ids[len(ids)-1] || rec != m[id]) {
		t.Fatalf("Max is %d, %v", id, ok)
	}
	for range 5 {
		from := rapid.Int64Range(-2100, 2100).Draw(t, "from")
		at := sort.Search(len(ids), func(i int) bool { return ids[i] >= from })
		got := []int64{}
		r.Ascend(from, func(id int64, rec row.Record) bool {
			if rec != m[id] {
				t.Fatalf("Ascend gives row %d another record", id)
			}
			got = append(got, id)
			return len(got) < 100
		})
		if want := ids[at:min(len(ids), at+100)]; !slices.Equal(got, want) {
			t.Fatalf("Ascend(%d): %v, want %v", from, got, want)
		}
		it := r.Iter()
		if ok := it.SeekGE(from); ok != (at < len(ids)) || ok && it.Key() != ids[at] {
			t.Fatalf("SeekGE(%d)", from)
		} else if ok {
			if ok = it.Prev(); ok != (at > 0) || ok && it.Key() != ids[at-1] {
				t.Fatalf("Prev behind SeekGE(%d)", from)
			}
		}
	}
}

// Random writes in several patterns give what a map gives, and copies keep what
// they had.
func TestRowsLikeMap(t *testing.T) {
	defer func(n int) { fewSorted = n }(fewSorted)
	rapid.Check(t, func(t *rapid.T) {
		fewSorted = rapid.SampledFrom([]int{1, 1 << 12}).Draw(t, "few")
		r, m := new(Rows), map[int64]row.Record{}
		type copied struct {
			r *Rows
			m map[int64]row.Record
		}
		var copies []copied
		record := func() row.Record {
			n := rapid.SampledFrom([]int{0, 3, 20, 20, 20, 250, 5000, 70_000}).Draw(t, "size")
			return row.Record(strings.Repeat(string(rune('a'+rapid.IntRange(0, 25).Draw(t, "c"))), n))
		}
		next := int64(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			n := rapid.IntRange(1, 300).Draw(t, "n")
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 9: // other records for rows, some of which are not there
				rec := record()
				every := rapid.IntRange(1, 20).Draw(t, "every")
				var list []Change
				for i, id := range sortedIDs(m) {
					if i%every == 0 && len(list) < 500_000/(len(rec)+1) {
						list = append(list, Change{id, rec})
						m[id] = rec
					}
					if _, there := m[id+1]; !there && i%7 == 0 {
						list = append(list, Change{id + 1, rec})
					}
				}
				slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Rowid, b.Rowid) })
				r.Replace(list)
			case 0, 1: // ascending
				rec := record()
				for range min(n, 1_000_000/(len(rec)+1)) {
					next++
					r.Set(next, rec)
					m[next] = rec
				}
			case 2: // descending
				rec := record()
				lo := int64(-2000)
				if ids := sortedIDs(m); len(ids) > 0 {
					lo = ids[0]
				}
				for range min(n, 1_000_000/(len(rec)+1)) {
					lo--
					r.Set(lo, rec)
					m[lo] = rec
				}
			case 3:
				for range n {
					id, rec := rapid.Int64Range(-2000, 2000).Draw(t, "id"), record()
					old, had := r.Set(id, rec)
					if want, ok := m[id]; ok != had || old != want {
						t.Fatalf("Set(%d) replaced %v, want %v", id, had, ok)
					}
					m[id] = rec
				}
			case 4, 5:
				ids := sortedIDs(m)
				if rapid.Bool().Draw(t, "run") && len(ids) > 0 {
					at := rapid.IntRange(0, len(ids)-1).Draw(t, "at")
					ids = ids[at:min(len(ids), at+n)]
				} else {
					ids = ids[:0]
					for range n {
						ids = append(ids, rapid.Int64Range(-2000, 2000).Draw(t, "id"))
					}
				}
				for _, id := range ids {
					old, had := r.Delete(id)
					if want, ok := m[id]; ok != had || old != want {
						t.Fatalf("Delete(%d): %v, want %v", id, had, ok)
					}
					delete(m, id)
					if rec, ok := r.Get(id); ok {
						t.Fatalf("row %d after its end: %q", id, rec)
					}
				}
			case 6: // back to a copy
				if len(copies) > 0 {
					c := rapid.SampledFrom(copies).Draw(t, "copy")
					r, m = c.r.IsoCopy(), maps.Clone(c.m)
				}
			case 7: // many changes at once
				changes := map[int64]row.Record{}
				for range n {
					id, rec := rapid.Int64Range(-2000, 2000).Draw(t, "id"), record()
					changes[id] = rec
					if m[id] = rec; rec == "" {
						delete(m, id)
					}
				}
				var list []Change
				for _, id := range sortedIDs(changes) {
					list = append(list, Change{id, changes[id]})
				}
				r.Merge(list)
			default:
				copies = append(copies, copied{r, maps.Clone(m)})
				r = r.IsoCopy()
			}
		}
		same(t, r, m)
		for _, c := range copies {
			same(t, c.r, c.m)
		}
	})
}

// Keys of equal heads, of none and of prefixes of each other are kept apart.
func TestKeysLikeMap(t *testing.T) {
	defer func(n int) { fewSorted = n }(fewSorted)
	rapid.Check(t, func(t *rapid.T) {
		fewSorted = rapid.SampledFrom([]int{1, 1 << 12}).Draw(t, "few")
		k, m := new(Keys), map[string]bool{}
		type copied struct {
			k *Keys
			m map[string]bool
		}
		var copies []copied
		key := rapid.Custom(func(t *rapid.T) string {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return string(binary.BigEndian.AppendUint64(nil, uint64(rapid.IntRange(0, 500).Draw(t, "n"))))
			case 1:
				return "the same head " + fmt.Sprint(rapid.IntRange(0, 300).Draw(t, "n"))
			case 2:
				return strings.Repeat("\x00", rapid.IntRange(0, 12).Draw(t, "n"))
			}
			return strings.Repeat("ab\xff", rapid.IntRange(0, 900).Draw(t, "n"))
		})
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			n := rapid.IntRange(1, 200).Draw(t, "n")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				for range n {
					e := key.Draw(t, "key")
					k.Set([]byte(e))
					m[e] = true
				}
			case 2:
				for range n {
					e := key.Draw(t, "key")
					if had := k.Delete([]byte(e)); had != m[e] {
						t.Fatalf("Delete(%q): %v", e, had)
					}
					delete(m, e)
				}
			case 3: // all of them anew
				s := NewSorter(len(m))
				for e := range m {
					s.Add([]byte(e))
				}
				k, _, _ = s.Keys(nil)
			default:
				copies = append(copies, copied{k, maps.Clone(m)})
				k = k.IsoCopy()
			}
		}
		compare := func(k *Keys, m map[string]bool) {
			check(t, &k.t)
			want := slices.Sorted(maps.Keys(m))
			var got []string
			for it := k.Iter(); it.Next(); {
				got = append(got, it.Key())
			}
			if !slices.Equal(got, want) || k.Len() != len(want) {
				t.Fatalf("%d keys, %d by counting, want %d", len(got), k.Len(), len(want))
			}
			for i, e := range want {
				if at, ok := k.GetAt(i); !ok || at != e || !k.Has([]byte(e)) {
					t.Fatalf("GetAt(%d) is %q, want %q", i, at, e)
				}
			}
			for range 5 {
				from := key.Draw(t, "from")
				at := sort.SearchStrings(want, from)
				it := k.Iter()
				if ok := it.SeekGE(from); ok != (at < len(want)) || ok && it.Key() != want[at] {
					t.Fatalf("SeekGE(%q)", from)
				}
			}
		}
		compare(k, m)
		for _, c := range copies {
			compare(c.k, c.m)
		}
	})
}

// Ascending and descending entries leave full leaves.
func TestLeavesAreFull(t *testing.T) {
	const n = 100_000
	for name, id := range map[string]func(int) int64{
		"up":   func(i int) int64 { return int64(i) },
		"down": func(i int) int64 { return -int64(i) },
		"ends": func(i int) int64 { return int64(i%2*2-1) * math.MaxInt32 * int64(i) },
	} {
		var r Rows
		for i := range n {
			r.Set(id(i), "a record of twenty bytes")
		}
		check(t, &r.t)
		leaves, bytes := 0, 0
		var walk func(n *inner)
		walk = func(n *inner) {
			for _, l := range n.leaves {
				leaves, bytes = leaves+1, bytes+int(l.live)
			}
			for _, k := range n.kids {
				walk(k)
			}
		}
		walk(r.t.root)
		if fill := float64(bytes) / float64(leaves) / maxBytes; fill < 0.9 {
			t.Errorf("%s: leaves are filled to %.0f%%", name, fill*100)
		}
	}
}

// Leaves among many are of one size, whatever the order and the transactions that
// filled them, and a copy goes on in the memory of the original.
func TestLeavesShareMemory(t *testing.T) {
	var k Keys
	r := rand.New(rand.NewPCG(1, 2))
	for _, i := range r.Perm(20_000) {
		if i%20 == 0 {
			k = *k.IsoCopy()
		}
		k.Set(fmt.Appendf(nil, "%06d and some bytes", i))
	}
	check(t, &k.t)
	leaves := func(k *Keys) map[*strings.Builder]bool {
		all := map[*strings.Builder]bool{}
		var walk func(n *inner)
		walk = func(n *inner) {
			for _, l := range n.leaves {
				all[l.buf] = true
				if l.buf == nil || l.buf.Cap() != maxBytes {
					t.Errorf("a leaf of %d entries with memory of its own size", l.len())
				}
			}
			for _, n := range n.kids {
				walk(n)
			}
		}
		walk(k.t.root)
		return all
	}
	before := leaves(&k)
	c := k.IsoCopy()
	for i := 0; i < 20_000; i += 400 {
		c.Set(fmt.Appendf(nil, "%06d and others", i))
	}
	after, moved := leaves(c), 0
	for b := range after {
		if !before[b] {
			moved++
		}
	}
	if moved > len(after)/2 {
		t.Errorf("%d of %d leaves were written anew", moved, len(after))
	}
}

// A record that is longer than a leaf takes the place of a short one: it gets a leaf
// of its own, also where the node above is full.
func TestLongRecordAmongShort(t *testing.T) {
	const n = 30_000
	short, long := row.Record("a record of twenty bytes"), row.Record(strings.Repeat("x", 70_000))
	for at := 1; at < n; at += 2909 {
		var r Rows
		for i := range n {
			r.Set(int64(i), short)
		}
		for i := 0; i < 2*at && i < 600; i += 3 { // of neighbouring leaves, and often of one
			old, had := r.Set(int64((at+i*7)%n), long)
			if !had || old != short && old != long {
				t.Fatalf("row %d was of %d bytes", at, len(old))
			}
			if i%60 == 0 {
				check(t, &r.t)
			}
		}
		check(t, &r.t)
		if r.Len() != n {
			t.Fatalf("%d rows", r.Len())
		}
	}
}

// A sorter of many entries, which several processors sort, makes full leaves, and
// asks about all neighbours.
func TestSorter(t *testing.T) {
	const n = 50_000
	for _, begin := range []string{"", "a long text that all begin with "} {
		s := NewSorter(n)
		r := rand.New(rand.NewPCG(1, 2))
		for _, i := range r.Perm(n) {
			s.Add(fmt.Appendf(nil, "%s%08d", begin, i))
		}
		var asked atomic.Int64
		k, _, ok := s.Keys(func(before, entry string) bool {
			asked.Add(1)
			return before < entry
		})
		if !ok || asked.Load() != n-1 {
			t.Fatalf("asked %d times, %v", asked.Load(), ok)
		}
		check(t, &k.t)
		i := 0
		for it := k.Iter(); it.Next(); i++ {
			if want := fmt.Sprintf("%s%08d", begin, i); it.Key() != want {
				t.Fatalf("entry %d is %q, want %q", i, it.Key(), want)
			}
		}
		if i != n {
			t.Fatalf("%d entries", i)
		}
	}
	// The first two that are refused are told, wherever they are sorted.
	defer func(n int) { fewSorted = n }(fewSorted)
	for _, fewSorted = range []int{1, 4, 1 << 12} {
		for no := range 32 {
			s := NewSorter(0)
			for i := range 32 {
				s.Add([]byte{byte(31 - i)})
			}
			_, refused, ok := s.Keys(func(_, entry string) bool { return int(entry[0]) < no })
			if want := max(1, no); ok || refused != [2]string{string(rune(want - 1)), string(rune(want))} {
				t.Fatalf("from %d on is refused: %v, %q", no, ok, refused)
			}
		}
	}
}

// A copy is read while the tree it was made from is written to.
func TestReadersBesideWriter(t *testing.T) {
	var r Rows
	for i := range 5000 {
		r.Set(int64(i), "before")
	}
	w := r.IsoCopy()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				n := 0
				r.Ascend(0, func(id int64, rec row.Record) bool {
					if rec != "before" {
						t.Errorf("row %d is %q", id, rec)
					}
					n++
					return true
				})
				if n != 5000 {
					t.Errorf("%d rows", n)
				}
			}
		})
	}
	for i := range 20_000 {
		w.Set(int64(i%7000), "after")
		w.Delete(int64(i % 3000))
	}
	wg.Wait()
}

// Keys are read while a copy is made and written to.
func TestKeyReadersBesideWriter(t *testing.T) {
	var k Keys
	for i := range 3000 {
		k.SetString(fmt.Sprintf("key %05d", i))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				it, n := k.Iter(), 0
				for ok := it.SeekGE("key 01000"); ok; ok = it.Next() {
					n++
				}
				if n != 2000 {
					t.Errorf("%d keys", n)
				}
			}
		})
	}
	for range 5 {
		w := k.IsoCopy()
		for i := range 2000 {
			w.SetString(fmt.Sprintf("key %05d b", i))
			w.Delete([]byte(fmt.Sprintf("key %05d", i)))
		}
	}
	wg.Wait()
}
