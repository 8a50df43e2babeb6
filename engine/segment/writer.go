package segment

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
)

// Appender is where a Writer writes to, from offset 0 on and without gaps: a vfs.File.
type Appender interface{ io.WriterAt }

// writeSize is how much is written at once, unless a block is longer.
const writeSize = 256 << 10

// Summary is what Finish has to tell of a file.
type Summary struct {
	Extent  int64
	Entries int64
	Digest  [32]byte // SHA-256 of all bytes before the footer, which has it, too
}

// Writer writes a segment. After an error the file is of no use, and every further call
// returns that error.
type Writer struct {
	f    Appender
	h    Header
	salt salt
	sum  hash.Hash
	off  int64  // of buf in the file
	buf  []byte // not yet written: whole frames, and the block being built
	err  error

	dir     []byte // entries of the directory
	dirRow  int64  // first row id of the last block in it, or
	lastSep []byte // its separator
	blocks  uint64
	entries uint64

	// Of the block being built.
	block    int    // its place in buf
	count    uint64 // its entries, 0: there is none
	keys     int    // bytes of its keys
	firstRow int64
	sep      []byte

	lastRow int64 // of the last entry
	lastKey []byte
	primary primaryState
	place   placeState
}

// NewWriter begins a file.
func NewWriter(f Appender, h Header) (*Writer, error) {
	var s salt
	if _, err := rand.Read(s[:]); err != nil {
		return nil, fmt.Errorf("segment: salt: %w", err)
	}
	return newWriter(f, h, s)
}

func newWriter(f Appender, h Header, s salt) (*Writer, error) {
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("segment: %w", err)
	}
	h.Fragments = append([]uint64(nil), h.Fragments...)
	w := &Writer{f: f, h: h, salt: s, sum: sha256.New()}
	w.buf = h.append(make([]byte, frameHead, writeSize+BlockSize+BlockSize/2), s)
	if int64(len(w.buf)) > maxPayload {
		return nil, fmt.Errorf("segment: %d fragments are too many", len(h.Fragments))
	}
	sealFrame(s, 0, frameHeader, w.buf)
	return w, nil
}

// fail makes an error the last one.
func (w *Writer) fail(err error) error {
	w.err = err
	return err
}

// AddPrimary adds the entry of a row. Row ids are strictly ascending.
func (w *Writer) AddPrimary(e PrimaryEntry) error {
	switch {
	case w.err != nil:
		return w.err
	case w.h.Kind != Primary:
		return w.fail(fmt.Errorf("segment: a primary entry for a %v segment", w.h.Kind))
	case int64(e.Fragment) >= int64(len(w.h.Fragments)):
		return w.fail(fmt.Errorf("segment: row %d is in fragment %d of %d", e.Rowid, e.Fragment, len(w.h.Fragments)))
	case e.Offset < 0 || e.Offset%align != 0 || e.Size == 0 || e.Size%align != 0 || e.Offset/align > maxOffset-int64(e.Size/align):
		return w.fail(fmt.Errorf("segment: frame of row %d: %d bytes at %d", e.Rowid, e.Size, e.Offset))
	case w.entries > 0 && e.Rowid <= w.lastRow:
		return w.fail(fmt.Errorf("segment: row %d behind row %d", e.Rowid, w.lastRow))
	}
	if w.count > 0 {
		end, before := len(w.buf), w.primary
		w.buf = w.primary.append(w.buf, &e)
		if len(w.buf)-w.block-frameHead > BlockSize {
			w.buf, w.primary = w.buf[:end], before
			if err := w.endBlock(); err != nil {
				return err
			}
		}
	}
	if w.count == 0 {
		w.beginBlock()
		w.firstRow = e.Rowid
		w.buf = appendVarint(w.buf, e.Rowid)
		w.primary = primaryStart(e.Rowid)
		w.buf = w.primary.append(w.buf, &e)
	}
	w.count++
	w.entries++
	w.lastRow = e.Rowid
	return nil
}

// AddSecondary adds a key, which is not kept. Keys are strictly ascending.
func (w *Writer) AddSecondary(key []byte, p Place, null bool) error {
	switch {
	case w.err != nil:
		return w.err
	case w.h.Kind != Secondary:
		return w.fail(fmt.Errorf("segment: a secondary entry for a %v segment", w.h.Kind))
	case int64(p.Fragment) >= int64(len(w.h.Fragments)):
		return w.fail(fmt.Errorf("segment: key %x is in fragment %d of %d", brief(key), p.Fragment, len(w.h.Fragments)))
	case int64(len(key)) > MaxKey:
		return w.fail(fmt.Errorf("segment: key of %d bytes", len(key)))
	}
	n := shared(w.lastKey, key)
	if w.entries > 0 && (n == len(key) || n < len(w.lastKey) && key[n] < w.lastKey[n]) {
		return w.fail(fmt.Errorf("segment: key %x behind key %x", brief(key), brief(w.lastKey)))
	}
	if w.count > 0 {
		end, before := len(w.buf), w.place
		fits := w.keys+len(key) <= BlockKeys
		if fits {
			w.buf = w.place.append(w.buf, key, n, p, null)
			fits = len(w.buf)-w.block-frameHead <= BlockSize
		}
		if !fits {
			w.buf, w.place = w.buf[:end], before
			if err := w.endBlock(); err != nil {
				return err
			}
		}
	}
	if w.count == 0 {
		w.beginBlock()
		w.sep = w.sep[:0]
		if w.entries > 0 {
			w.sep = append(w.sep, key[:n+1]...)
		}
		w.place = placeStart()
		w.buf = w.place.append(w.buf, key, 0, p, null)
	}
	w.count++
	w.entries++
	w.keys += len(key)
	w.lastKey = append(w.lastKey[:n], key[n:]...)
	return nil
}

// brief is enough of a key for a message.
func brief(key []byte) []byte { return key[:min(len(key), 64)] }

func (w *Writer) beginBlock() {
	w.block, w.keys = len(w.buf), 0
	w.buf = append(w.buf, make([]byte, frameHead)...)
}

// endBlock completes the block being built and enters it into the directory.
func (w *Writer) endBlock() error {
	frame := w.buf[w.block:]
	sealFrame(w.salt, w.off+int64(w.block), frameEntries, frame)
	w.dir = appendUvarint(w.dir, uint64(len(frame)))
	w.dir = appendUvarint(w.dir, w.count)
	if w.h.Kind == Primary {
		w.dir = appendFirstRow(w.dir, w.blocks == 0, w.dirRow, w.firstRow)
		w.dirRow = w.firstRow
	} else {
		n := shared(w.lastSep, w.sep)
		w.dir = appendUvarint(w.dir, uint64(n))
		w.dir = appendUvarint(w.dir, uint64(len(w.sep)-n))
		w.dir = append(w.dir, w.sep[n:]...)
		w.lastSep = append(w.lastSep[:n], w.sep[n:]...)
	}
	w.blocks++
	w.count = 0
	if len(w.buf) < writeSize {
		return nil
	}
	return w.flush()
}

// flush writes the buffer, which ends in a whole frame.
func (w *Writer) flush() error {
	if _, err := w.f.WriteAt(w.buf, w.off); err != nil {
		return w.fail(fmt.Errorf("segment: writing %d bytes at offset %d: %w", len(w.buf), w.off, err))
	}
	w.sum.Write(w.buf)
	w.off += int64(len(w.buf))
	w.buf = w.buf[:0]
	if cap(w.buf) > 4*writeSize {
		w.buf = nil
	}
	return nil
}

// Finish completes the file and tells of it. The caller syncs it.
func (w *Writer) Finish() (Summary, error) {
	if w.err != nil {
		return Summary{}, w.err
	}
	if w.count > 0 {
		if err := w.endBlock(); err != nil {
			return Summary{}, err
		}
	}
	at := len(w.buf)
	dirAt := w.off + int64(at)
	w.buf = appendUvarint(append(w.buf, make([]byte, frameHead)...), w.blocks)
	w.buf = append(w.buf, w.dir...)
	if int64(len(w.buf)-at) > maxPayload {
		return Summary{}, w.fail(fmt.Errorf("segment: directory of %d bytes", len(w.buf)-at))
	}
	sealFrame(w.salt, dirAt, frameDirectory, w.buf[at:])
	if err := w.flush(); err != nil {
		return Summary{}, err
	}
	s := Summary{Entries: int64(w.entries), Digest: [32]byte(w.sum.Sum(nil))}
	w.buf = append(w.buf, make([]byte, frameHead)...)
	w.buf = appendFooter(w.buf, footer{entries: w.entries, directory: dirAt, digest: s.Digest})
	sealFrame(w.salt, w.off, frameFooter, w.buf)
	if err := w.flush(); err != nil {
		return Summary{}, err
	}
	s.Extent = w.off
	w.err = fmt.Errorf("segment: the segment of object %d is finished", w.h.Object)
	return s, nil
}
