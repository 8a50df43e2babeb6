package tree

import "unsafe"

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
	// leafBytes is what a leaf takes by itself, in the size that memory comes in
	// for it, and loadedBytes one of those that are made together.
	leafBytes   = 1024
	loadedBytes = 8192 / loadLeaves
	// nodeBytes is its place in the node above, keyBytes that of an index, which
	// has the first key there, and bufferBytes the head of its bytes.
	nodeBytes, keyBytes, bufferBytes = 24, 72, 32
	// fullShare is the share of an entry in a leaf that is nearly full.
	fullShare = 64 * (leafBytes + nodeBytes) / (maxEntries * 7 / 8)
	// sizeSlack is the part of all memory by which shares and what there is may
	// differ, and leafSlack what they may differ by in any case.
	sizeSlack, leafSlack = 32, 8 * leafBytes
)

// weigh notes that entries of so many bytes more, or less, are there.
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

// Memory estimates the bytes of memory that the rows take.
func (r *Rows) Memory() int64 { return r.t.memory() }

// Memory estimates the bytes of memory that the entries take.
func (k *Keys) Memory() int64 { return k.t.memory() }

// over is what a leaf takes beside the bytes of its entries.
func (t *base) over(l *leaf) int {
	n := nodeBytes
	if t.keyed {
		n = keyBytes
	}
	if l.loaded {
		n += loadedBytes
	} else {
		n += leafBytes
	}
	switch {
	case l.buf != nil:
		n += bufferBytes + l.buf.Cap() - l.live
	case l.loaded:
		n += len(l.data) - l.live
	default: // the rest is lost to the sizes that memory comes in
		n += len(l.data) - l.live + len(l.data)/16
	}
	if l.wide != nil {
		n += int(unsafe.Sizeof(*l.wide))
	}
	return n
}
