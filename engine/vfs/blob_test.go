package vfs

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestBlob compares blobs and their clones with plain slices, over offsets
// around the page and node bounds.
func TestBlob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pair struct {
			b    *blob
			want []byte
		}
		all := []pair{{b: &blob{}}}
		offsets := rapid.Custom(func(t *rapid.T) int {
			bound := rapid.SampledFrom([]int{0, pageSize, 3 * pageSize, nodeSize}).Draw(t, "bound")
			return max(0, bound+rapid.IntRange(-9, 9).Draw(t, "delta"))
		})
		resize := func(p *pair, size int) {
			if size < len(p.want) {
				p.want = bytes.Clone(p.want[:size])
			} else {
				p.want = append(bytes.Clone(p.want), make([]byte, size-len(p.want))...)
			}
		}
		one := func(t *rapid.T) *pair { return &all[rapid.IntRange(0, len(all)-1).Draw(t, "which")] }
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				p, off := one(t), offsets.Draw(t, "off")
				data := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "byte"))}, rapid.SampledFrom([]int{0, 1, 20, 5000}).Draw(t, "len"))
				p.b.writeAt(data, int64(off))
				if len(data) > 0 {
					resize(p, max(len(p.want), off+len(data)))
					copy(p.want[off:], data)
				}
			},
			"resize": func(t *rapid.T) {
				p, size := one(t), offsets.Draw(t, "size")
				p.b.resize(int64(size))
				resize(p, size)
			},
			"clone": func(t *rapid.T) {
				if len(all) < 6 {
					p := one(t)
					c := p.b.clone()
					all = append(all, pair{&c, bytes.Clone(p.want)})
				}
			},
			"copy": func(t *rapid.T) {
				src, dst := one(t), one(t)
				lo := offsets.Draw(t, "lo")
				hi := max(lo, offsets.Draw(t, "hi"))
				if src == dst || lo == hi {
					return
				}
				dst.b.copyFrom(src.b, int64(lo), int64(hi))
				resize(dst, max(len(dst.want), hi))
				clear(dst.want[lo:hi])
				if lo < len(src.want) {
					copy(dst.want[lo:hi], src.want[lo:])
				}
			},
			"": func(t *rapid.T) {
				for i, p := range all {
					if got := p.b.bytes(); !bytes.Equal(got, p.want) {
						t.Fatalf("blob %d: %d bytes, want %d, or other content", i, len(got), len(p.want))
					}
				}
			},
		})
	})
}

// TestBlobShares checks that a clone costs the pages that are changed, not the
// file.
func TestBlobShares(t *testing.T) {
	var b blob
	b.writeAt(bytes.Repeat([]byte{1}, 1<<20), 0)
	c := b.clone()
	c.writeAt([]byte{2}, 70_000)
	differ := 0
	for off := int64(0); off < b.size; off += pageSize {
		if b.page(off) != c.page(off) {
			differ++
		}
	}
	if differ != 1 {
		t.Errorf("%d pages differ after a write into one", differ)
	}
}

// TestSpans compares sets of bytes with bitmaps.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		var s spans
		var want [n]bool
		t.Repeat(map[string]func(*rapid.T){
			"add or sub": func(t *rapid.T) {
				lo, hi := rapid.IntRange(0, n).Draw(t, "lo"), rapid.IntRange(0, n).Draw(t, "hi")
				before := append(spans(nil), s...)
				add := rapid.Bool().Draw(t, "add")
				old := s
				if add {
					s = s.add(int64(lo), int64(hi))
				} else {
					s = s.sub(int64(lo), int64(hi))
				}
				for i := range before {
					if old[i] != before[i] {
						t.Fatal("the receiver changed")
					}
				}
				for i := lo; i < hi; i++ {
					want[i] = add
				}
			},
			"": func(t *rapid.T) {
				var got [n]bool
				for i, x := range s {
					if x.lo >= x.hi || i > 0 && s[i-1].hi >= x.lo {
						t.Fatalf("not canonical: %v", s)
					}
					for k := x.lo; k < x.hi; k++ {
						got[k] = true
					}
				}
				if got != want {
					t.Fatalf("%v holds other bytes than %v", s, want)
				}
			},
		})
	})
}
