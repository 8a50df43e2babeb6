package tree

import "github.com/tidemarkdb/tidemark/engine/row"

// Diff calls f with every row that is not the same in r and in to, in the order of
// row ids, until it says no: with the record in r and the one in to, of which one
// is empty where there is no row. It reports whether f never did.
//
// What the two have in common is passed over node by node: of a tree and a copy of
// it that was written to, the paths to what was written are read, whatever their
// size.
func (r *Rows) Diff(to *Rows, f func(id int64, before, after row.Record) bool) bool {
	d := differ{a: frontOf(&r.t), b: frontOf(&to.t), f: f}
	return d.run()
}

// differ goes over two trees side by side.
type differ struct {
	a, b  front
	f     func(id int64, before, after row.Record) bool
	steps int // for tests
}

// front is what is left of a tree, the first part last.
type front []part

// part is a subtree, or what is left of a leaf from entry at on.
type part struct {
	n      *inner
	l      *leaf
	at     int
	height int // of n; 0: a leaf
}

func frontOf(t *base) front {
	if t.root == nil {
		return nil
	}
	height := 1
	for n := t.root; n.leaves == nil; n = n.kids[0] {
		height++
	}
	return front{{n: t.root, height: height}}
}

// first returns the first part, nil at the end.
func (f front) first() *part {
	if len(f) == 0 {
		return nil
	}
	return &f[len(f)-1]
}

func (f *front) drop() { *f = (*f)[:len(*f)-1] }

// open puts what is below the first part in its place.
func (f *front) open() {
	p := *f.first()
	f.drop()
	for i := len(p.n.kids) - 1; i >= 0; i-- {
		*f = append(*f, part{n: p.n.kids[i], height: p.height - 1})
	}
	for i := len(p.n.leaves) - 1; i >= 0; i-- {
		*f = append(*f, part{l: p.n.leaves[i]})
	}
}

// run compares. The higher one of two first parts is opened, so that two of one
// height meet where the trees have one in common, however they differ before it.
func (d *differ) run() bool {
	for {
		d.steps++
		a, b := d.a.first(), d.b.first()
		switch {
		case a == nil && b == nil:
			return true
		case a != nil && b != nil && *a == *b:
			d.a.drop()
			d.b.drop()
		case a != nil && a.height > 0 && (b == nil || a.height >= b.height):
			d.a.open()
		case b != nil && b.height > 0:
			d.b.open()
		default:
			if !d.leaves(a, b) {
				return false
			}
		}
	}
}

// leaves compares two leaves up to the end of one of them, or goes over the only
// one there is.
func (d *differ) leaves(a, b *part) bool {
	for {
		aEnds, bEnds := a == nil || a.at == a.l.len(), b == nil || b.at == b.l.len()
		if a != nil && aEnds {
			d.a.drop()
		}
		if b != nil && bEnds {
			d.b.drop()
		}
		if a != nil && aEnds || b != nil && bEnds {
			return true
		}
		var id int64
		var before, after row.Record
		ofA := bEnds || !aEnds && a.l.head(a.at) <= b.l.head(b.at)
		ofB := aEnds || !bEnds && b.l.head(b.at) <= a.l.head(a.at)
		if ofB {
			id, after = rowid(b.l.head(b.at)), row.Record(b.l.entry(b.at))
			b.at++
		}
		if ofA {
			id, before = rowid(a.l.head(a.at)), row.Record(a.l.entry(a.at))
			a.at++
		}
		if before != after && !d.f(id, before, after) {
			return false
		}
	}
}
