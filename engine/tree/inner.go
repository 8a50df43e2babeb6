package tree

import (
	"slices"
	"strings"
)

const (
	maxKids = 64 // of an inner node
	fewKids = 16 // and an inner node is joined with a neighbour
)

// inner is a node above leaves or above other inner nodes. All leaves of a tree
// are at the same depth.
type inner struct {
	own    *mark
	count  int      // entries below
	heads  []uint64 // heads[i] and tails[i] are not behind anything in kid i+1,
	tails  []string // and behind everything in kid i; tails in a keyed tree only
	leaves []*leaf
	kids   []*inner // if there are no leaves
}

// fan returns the number of kids, leaves or not.
func (n *inner) fan() int { return len(n.leaves) + len(n.kids) }

// child returns the kid that a key belongs into.
func child[K bytesLike](n *inner, keyed bool, head uint64, key K) int {
	lo, hi := 0, len(n.heads)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if h := n.heads[mid]; h < head || h == head && (!keyed || n.tails[mid] <= string(key)) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// roomy returns a copy of s with room for a few more.
func roomy[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return append(make([]T, 0, len(s)+8), s...)
}

func (n *inner) clone(own *mark) *inner {
	return &inner{own: own, count: n.count, heads: roomy(n.heads), tails: roomy(n.tails), leaves: roomy(n.leaves), kids: roomy(n.kids)}
}

// separate notes where kid i+1, which was just put there, begins.
func (n *inner) separate(i int, keyed bool, head uint64, tail string) {
	n.heads = slices.Insert(n.heads, i, head)
	if keyed {
		n.tails = slices.Insert(n.tails, i, tail)
	}
}

// drop takes out kid i+1, or with first kid i, of which only the other is left.
func (n *inner) drop(i int, first, keyed bool) {
	k := i + 1
	if first {
		k = i
	}
	if n.leaves != nil {
		n.leaves = slices.Delete(n.leaves, k, k+1)
	} else {
		n.kids = slices.Delete(n.kids, k, k+1)
	}
	n.heads = slices.Delete(n.heads, i, i+1)
	if keyed {
		n.tails = slices.Delete(n.tails, i, i+1)
	}
}

// split moves the upper kids into a new node and returns it with what separates
// the two. at is the kid that was added last: kids that are added at one end
// leave full nodes behind.
func (n *inner) split(at int, keyed bool) (right *inner, head uint64, tail string) {
	cut := n.fan() / 2
	switch at {
	case 1: // a kid is added behind the one that was split, or even two
		cut = n.fan() - maxKids
	case n.fan() - 1:
		cut = at
	}
	right = &inner{own: n.own, heads: roomy(n.heads[cut:])}
	head = n.heads[cut-1]
	if keyed {
		right.tails, tail = roomy(n.tails[cut:]), n.tails[cut-1]
		n.tails = roomy(n.tails[:cut-1])
	}
	n.heads = roomy(n.heads[:cut-1])
	if n.leaves != nil {
		right.leaves, n.leaves = roomy(n.leaves[cut:]), roomy(n.leaves[:cut])
	} else {
		right.kids, n.kids = roomy(n.kids[cut:]), roomy(n.kids[:cut])
	}
	right.recount()
	n.recount()
	return right, head, tail
}

func (n *inner) recount() {
	n.count = 0
	for _, l := range n.leaves {
		n.count += l.len()
	}
	for _, k := range n.kids {
		n.count += k.count
	}
}

// absorb appends the kids of the node behind it.
func (n *inner) absorb(r *inner, keyed bool, head uint64, tail string) {
	n.heads = append(append(n.heads, head), r.heads...)
	if keyed {
		n.tails = append(append(n.tails, tail), r.tails...)
	}
	n.leaves, n.kids = append(n.leaves, r.leaves...), append(n.kids, r.kids...)
	n.count += r.count
}

// begins returns what separates a leaf from the one before it: the head of its
// first entry and, if an entry before has the same head, a copy of the key. Most keys
// differ in their heads, and short strings that live long among others that do not
// would keep much memory in use.
func (l *leaf) begins(before *leaf) (head uint64, tail string) {
	if head = l.first; l.keyed && head == before.last {
		tail = strings.Clone(l.entry(0))
	}
	return head, tail
}
