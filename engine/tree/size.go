package tree

// size is what a tree knows of the memory it takes: the bytes of its entries, and
// what its leaves take beside them, both kept up to date by every write.
//
// The latter goes up and down by whole leaves, so it is told spread over the
// entries: each counts for a share, and the shares are dealt anew when they have
// come to differ from what there is. In between, a row that is deleted gives back
// exactly what another one of its size takes.
type size struct {
	bytes int // of entries
	over  int // what leaves take beside them
	share int // of an entry in over, in 1/64 bytes
}

const (
	// leafBytes is what a leaf takes beside its block and order. nodeBytes is its
	// place in the node above, keyBytes that of an index, and bufferBytes the head
	// of its block.
	leafBytes                        = 96
	nodeBytes, keyBytes, bufferBytes = 24, 40, 32
	// fullShare is the share of an entry in a leaf that is nearly full, which is
	// mostly its place in the order.
	fullShare = 64 * 3
	// LeastRow is what a row takes beside its record in the fullest leaf there can be:
	// the shortest head, the length of the record in one byte, its place in the order.
	LeastRow = minHead + 1 + 2
	// sizeSlack is the part of all memory by which shares and what there is may
	// differ, and leafSlack what they may differ by in any case.
	sizeSlack, leafSlack = 32, maxBytes
)

// weigh notes that entries that take so many bytes more, or less, are there.
func (t *base) weigh(bytes int) {
	s := &t.size
	s.bytes += bytes
	n := t.len()
	if s.share == 0 {
		s.share = fullShare
	}
	slack := (s.bytes+s.over)/sizeSlack + leafSlack
	if d := s.over - n*s.share/64; (d > slack || d < -slack) && n > 0 {
		s.share = 64 * s.over / n
	}
}

// memory estimates the bytes that the tree takes, those it has in common with
// copies of it included.
func (t *base) memory() int64 {
	n := t.len()
	if n == 0 {
		return 0
	}
	return int64(leafBytes) + int64(t.size.bytes) + int64(n)*int64(t.size.share)/64
}

// Slack is by how much the estimates of so many trees, of all those bytes, may differ
// from what the same entries are estimated to take in other leaves.
func Slack(trees int, bytes int64) int64 { return bytes/sizeSlack + int64(trees)*leafSlack }

// Memory estimates the bytes of memory that the rows take.
func (r *Rows) Memory() int64 { return r.t.memory() }

// Memory estimates the bytes of memory that the entries take.
func (k *Keys) Memory() int64 { return k.t.memory() }

// costOf estimates what one more entry of so many bytes takes.
func (t *base) costOf(keyed bool, bytes int) int64 {
	share := t.size.share
	if share == 0 {
		share = fullShare
	}
	return int64(cost(keyed, bytes) + (share+63)/64)
}

// Cost estimates the bytes of memory that one more row takes, with a record of so
// many bytes.
func (r *Rows) Cost(bytes int) int64 { return r.t.costOf(false, bytes) }

// Cost estimates the bytes of memory that one more entry of so many bytes takes.
func (k *Keys) Cost(bytes int) int64 { return k.t.costOf(true, bytes) }

// over is what a leaf takes beside what is written of its entries.
func (t *base) over(l *leaf) int {
	n := leafBytes + nodeBytes + 2*cap(l.order) - int(l.live)
	if !t.keyed {
		n += l.len() * (int(l.width) - minHead)
	} else {
		n += keyBytes - nodeBytes
	}
	switch size := len(l.data); {
	case l.buf != nil:
		n += bufferBytes + l.buf.Cap()
	case size > maxBytes*8/9 && size <= maxBytes:
		n += maxBytes
	default: // the rest is lost to the sizes that memory comes in
		n += size + size/16
	}
	return n
}

// overBelow is over of all leaves below a node.
func (t *base) overBelow(n *inner) (sum int) {
	for _, k := range n.kids {
		sum += t.overBelow(k)
	}
	for _, l := range n.leaves {
		sum += t.over(l)
	}
	return sum
}
