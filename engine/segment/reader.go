package segment

import (
	"context"
	"crypto/sha256"
	"io"
)

// Reader reads a segment.
type Reader struct {
	r      io.ReaderAt
	extent int64
	start  int64 // end of the header
	salt   salt
	header Header
	footer footer
	dir    directory
}

// Open reads header, footer and directory of a file of that size, and compares the header
// with the wanted one: the file may cover more fragments than are wanted, which then are
// dead for the caller. Damage is a *CorruptError, a newer format ErrNewer.
func Open(r io.ReaderAt, extent int64, want Header) (*Reader, error) {
	x := &Reader{r: r, extent: extent}
	if err := x.open(&want); err != nil {
		return nil, ofObject(err, want.Object)
	}
	return x, nil
}

func (r *Reader) open(want *Header) (err error) {
	if r.header, r.salt, r.start, err = readHeader(r.r, r.extent); err != nil {
		return err
	}
	if err := r.header.wants(want); err != nil {
		return err
	}
	if r.footer, err = readFooter(r.r, r.salt, r.start, r.extent); err != nil {
		return err
	}
	r.dir, err = readDirectory(r.r, r.salt, r.header.Kind, r.footer, r.start, r.extent-footerSize)
	return err
}

// Header returns the file's header, to which places refer. It is not to be changed.
func (r *Reader) Header() Header { return r.header }

// Entries returns how many entries there are.
func (r *Reader) Entries() int64 { return int64(r.footer.entries) }

// Extent returns the size of the file.
func (r *Reader) Extent() int64 { return r.extent }

// Digest returns the digest that the footer has. Verify compares it with the file.
func (r *Reader) Digest() [32]byte { return r.footer.digest }

// read reads a block in the memory of buf and returns the memory and the payload in it.
func (r *Reader) read(i int, buf []byte) (mem, payload []byte, err error) {
	x := &r.dir.blocks[i]
	if cap(buf) > 4*BlockSize && x.size < BlockSize {
		buf = nil // a long block is rare
	}
	if mem, err = readInto(r.r, buf, x.off, x.size); err != nil {
		return nil, nil, ofObject(err, r.header.Object)
	}
	if payload, err = openFrame(r.salt, x.off, frameEntries, mem); err != nil {
		return nil, nil, ofObject(err, r.header.Object)
	}
	return mem, payload, nil
}

// corrupt says that a block is damaged at a position of its payload.
func (r *Reader) corrupt(block, at int, format string, args ...any) error {
	return ofObject(corrupt(r.dir.blocks[block].off+frameHead+int64(at), format, args...), r.header.Object)
}

// Verify reads the whole file: every block is what a Writer writes, and the digest is
// that of the file.
func (r *Reader) Verify(ctx context.Context) error {
	sum := sha256.New()
	head := func(off, n int64) error {
		b, err := readAt(r.r, off, n)
		sum.Write(b)
		return ofObject(err, r.header.Object)
	}
	if err := head(0, r.start); err != nil {
		return err
	}
	pi := PrimaryIter{r: r, from: minRow}
	si := SecondaryIter{r: r}
	for i := range r.dir.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.header.Kind == Primary {
			for pi.next(); pi.left > 0 && pi.err == nil; pi.next() {
			}
			sum.Write(pi.buf)
		} else {
			si.load(i)
			sum.Write(si.buf)
		}
		if pi.err != nil {
			return pi.err
		}
		if si.err != nil {
			return si.err
		}
	}
	if err := head(r.footer.directory, r.extent-footerSize-r.footer.directory); err != nil {
		return err
	}
	if [32]byte(sum.Sum(nil)) != r.footer.digest {
		return ofObject(corrupt(r.extent-footerSize, "the digest is of other contents"), r.header.Object)
	}
	return nil
}

// Lookup returns the entry of a row, false if there is none. For many rows in order, SeekTo
// of one iterator is cheaper.
func (r *Reader) Lookup(rowid int64) (PrimaryEntry, bool, error) {
	it := r.Primary(rowid)
	if !it.Next() || it.e.Rowid != rowid {
		return PrimaryEntry{}, false, it.err
	}
	return it.e, true, nil
}
