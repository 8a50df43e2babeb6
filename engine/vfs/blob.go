package vfs

// A blob is the content of one simulated file: a sparse two-level array of
// pages that is copied lazily. A clone costs O(1); afterwards both sides copy a
// page (and the array node above it) the first time they change it.
//
// Ownership: a page, node or top slice may be changed in place only by the
// blob whose token it carries. clone gives both blobs fresh tokens, so from
// then on what they share belongs to neither and is immutable. Clones may
// therefore be read and written by different goroutines without a lock; one
// blob is guarded by its file system's mutex.
type blob struct {
	own    *token
	topOwn *token
	top    []*blobNode // may be shorter than size needs: missing nodes are zeros
	size   int64
}

const (
	pageSize  = 4096
	nodePages = 64
	nodeSize  = pageSize * nodePages
)

// token is not empty: pointers to distinct empty values may be equal.
type token struct{ _ byte }

type blobNode struct {
	own   *token
	pages [nodePages]*blobPage // nil: zeros
}

type blobPage struct {
	own *token
	b   [pageSize]byte
}

func (b *blob) clone() blob {
	b.own = new(token)
	return blob{own: new(token), top: b.top, size: b.size}
}

// share is clone for a blob that nobody changes any more: it leaves the
// receiver alone, so several goroutines may call it.
func (b *blob) share() blob {
	return blob{own: new(token), top: b.top, size: b.size}
}

// page returns the page that holds off for reading, or nil for zeros.
func (b *blob) page(off int64) *blobPage {
	i := off / nodeSize
	if i >= int64(len(b.top)) || b.top[i] == nil {
		return nil
	}
	return b.top[i].pages[off%nodeSize/pageSize]
}

// ownPage returns the page that holds off for changing.
func (b *blob) ownPage(off int64) *blobPage {
	i := int(off / nodeSize)
	if b.own == nil {
		b.own = new(token)
	}
	if b.topOwn != b.own || i >= len(b.top) {
		top := make([]*blobNode, max(len(b.top), i+1))
		copy(top, b.top)
		b.top, b.topOwn = top, b.own
	}
	n := b.top[i]
	switch {
	case n == nil:
		n = &blobNode{own: b.own}
	case n.own != b.own:
		n = &blobNode{own: b.own, pages: n.pages}
	}
	b.top[i] = n
	j := off % nodeSize / pageSize
	p := n.pages[j]
	switch {
	case p == nil:
		p = &blobPage{own: b.own}
	case p.own != b.own:
		p = &blobPage{own: b.own, b: p.b}
	}
	n.pages[j] = p
	return p
}

// readAt copies from off and returns how many bytes lie before the end.
func (b *blob) readAt(p []byte, off int64) int {
	if off >= b.size {
		return 0
	}
	p = p[:min(int64(len(p)), b.size-off)]
	for n := 0; n < len(p); {
		at := off + int64(n)
		in := at % pageSize
		chunk := p[n:min(len(p), n+int(pageSize-in))]
		if page := b.page(at); page != nil {
			copy(chunk, page.b[in:])
		} else {
			clear(chunk)
		}
		n += len(chunk)
	}
	return len(p)
}

// writeAt writes all of p and extends the size.
func (b *blob) writeAt(p []byte, off int64) {
	if len(p) == 0 {
		return
	}
	for n := 0; n < len(p); {
		at := off + int64(n)
		n += copy(b.ownPage(at).b[at%pageSize:], p[n:])
	}
	b.size = max(b.size, off+int64(len(p)))
}

// resize cuts, or extends with zeros. What is cut reads as zeros when the file
// grows again.
func (b *blob) resize(size int64) {
	if size < b.size {
		if in := size % pageSize; in != 0 && b.page(size) != nil {
			clear(b.ownPage(size).b[in:])
		}
		from := (size + pageSize - 1) / pageSize * pageSize // first page to drop
		for at := from; at%nodeSize != 0; at += pageSize {
			if b.page(at) != nil {
				b.ownPage(at)
				b.top[at/nodeSize].pages[at%nodeSize/pageSize] = nil
			}
		}
		if keep := (from + nodeSize - 1) / nodeSize; keep < int64(len(b.top)) {
			// The slice may be shared; cutting it shares its front only, and
			// appending past it always copies (see ownPage).
			b.top = b.top[:keep:keep]
		}
	}
	b.size = size
}

// copyFrom makes [lo, hi) equal to src's bytes (zeros behind src's end) and
// extends the size to hi.
func (b *blob) copyFrom(src *blob, lo, hi int64) {
	buf := make([]byte, min(hi-lo, 64<<10))
	for lo < hi {
		chunk := buf[:min(int64(len(buf)), hi-lo)]
		clear(chunk[src.readAt(chunk, lo):])
		b.writeAt(chunk, lo)
		lo += int64(len(chunk))
	}
}

// bytes returns a copy of the whole content.
func (b *blob) bytes() []byte {
	p := make([]byte, b.size)
	b.readAt(p, 0)
	return p
}
