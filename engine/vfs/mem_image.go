package vfs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// A unit is the smallest thing a crash image keeps or loses: a change of
// directory entries, a change of a size, or the part of a write that lies in
// one block.
type unit struct {
	seq int // units of one operation share it
	// Either dir is set, or file and piece, with [lo, hi) for a write.
	dir    *dirPiece
	file   *node
	piece  *filePiece
	lo, hi int64
}

func (u *unit) isWrite() bool { return u.dir == nil && u.piece.kind == OpWrite }

func (u *unit) String() string {
	switch {
	case u.dir != nil:
		return u.dir.text
	case u.piece.kind == OpWrite:
		return fmt.Sprintf("write %s [%d,%d)", u.piece.name, u.lo, u.hi)
	default:
		return fmt.Sprintf("%s %s size=%d", u.piece.kind, u.piece.name, u.piece.size)
	}
}

// units lists what is not durable in s, in the order of the operations.
func (s *state) units(block int64) []unit {
	var us []unit
	for i := range s.pend {
		us = append(us, unit{seq: s.pend[i].seq, dir: &s.pend[i]})
	}
	for _, n := range s.files() {
		for i := range n.pend {
			p := &n.pend[i]
			if p.kind != OpWrite {
				us = append(us, unit{seq: p.seq, file: n, piece: p})
				continue
			}
			for lo, end := p.off, p.off+int64(len(p.data)); lo < end; {
				hi := min(end, (lo/block+1)*block)
				us = append(us, unit{seq: p.seq, file: n, piece: p, lo: lo, hi: hi})
				lo = hi
			}
		}
	}
	slices.SortStableFunc(us, func(a, b unit) int { return cmp.Compare(a.seq, b.seq) })
	return us
}

// files lists every file that some crash can show, by id.
func (s *state) files() []*node {
	seen := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, c := range n.ents {
			walk(c)
		}
		for _, c := range n.dents {
			walk(c)
		}
	}
	walk(s.root)
	for _, p := range s.pend {
		walk(p.dir)
		walk(p.node)
		walk(p.from)
	}
	var files []*node
	for n := range seen {
		if !n.dir {
			files = append(files, n)
		}
	}
	slices.SortFunc(files, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	return files
}

// A choice says what an image keeps of each unit: nothing (nil), or byte
// ranges of a write, or everything.
type choice []spans

// whole is the choice for a unit that is kept. The range of a unit that is not
// a write only has to be something.
func (u *unit) whole() spans {
	if u.isWrite() {
		return spans{{u.lo, u.hi}}
	}
	return spans{{0, 1}}
}

func (u *unit) keptWhole(s spans) bool {
	if u.isWrite() {
		return len(s) == 1 && s[0] == span{u.lo, u.hi}
	}
	return s != nil
}

// image builds the state that a crash leaves when it keeps exactly the chosen
// parts of us, the units of s. Everything in it is durable.
func (s *state) image(us []unit, keep choice) *state {
	ents := map[*node]map[string]*node{} // directories whose entries differ from the durable ones
	of := func(d *node) map[string]*node {
		if ents[d] == nil {
			ents[d] = maps.Clone(d.dents)
		}
		return ents[d]
	}
	kept := map[*node][]int{}  // units of each file
	losers := map[*node]bool{} // files that lose something
	for i := range us {
		u := &us[i]
		if u.dir == nil && !u.keptWhole(keep[i]) {
			losers[u.file] = true
		}
		if keep[i] == nil {
			continue
		}
		if u.dir == nil {
			kept[u.file] = append(kept[u.file], i)
			continue
		}
		p := u.dir
		if p.kind == OpRemove {
			if es := of(p.dir); es[p.name] == p.node {
				delete(es, p.name)
			}
			continue
		}
		if p.from != nil {
			if es := of(p.from); es[p.fromName] == p.node {
				delete(es, p.fromName)
			}
		}
		of(p.dir)[p.name] = p.node
	}

	made := map[*node]*node{}
	img := &state{next: s.next}
	var build func(old *node) *node
	build = func(old *node) *node {
		if n := made[old]; n != nil {
			return n
		}
		n := &node{id: old.id, dir: old.dir}
		made[old] = n
		if !old.dir {
			// Keeping everything gives what programs see, without a copy.
			if losers[old] {
				n.dur = old.content(us, kept[old], keep)
			} else {
				n.dur = old.cur.clone()
			}
			n.cur = n.dur.clone()
			return n
		}
		src := old.dents
		if es := ents[old]; es != nil {
			src = es
		}
		n.ents = make(map[string]*node, len(src))
		for name, c := range src {
			n.ents[name] = build(c)
		}
		n.dents = maps.Clone(n.ents)
		return n
	}
	img.root = build(s.root)
	return img
}

// content is the durable content with the kept units (indexes into us) applied
// in order.
func (n *node) content(us []unit, kept []int, keep choice) blob {
	b := n.dur.clone()
	for _, i := range kept {
		p := us[i].piece
		switch {
		case p.meta != nil:
			b = p.meta.share()
		case p.kind == OpWrite:
			for _, x := range keep[i] {
				b.writeAt(p.data[x.lo-p.off:x.hi-p.off], x.lo)
			}
		default:
			b.resize(p.size)
		}
	}
	return b
}
