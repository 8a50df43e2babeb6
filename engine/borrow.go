package engine

import (
	"fmt"
	"sync"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// unknownFrame is how much is read of a record whose size is not known: deltas
// name the offset of the record before them, not its size.
const unknownFrame = 512

// window is a piece of a file that was read ahead. Records are cut out of its text
// and go on pointing into it.
type window struct {
	slot uint32
	base int64
	buf  []byte // what text is a copy of; reused
	text string
}

// scratch are buffers for single records, which are copied out of them.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// keepScratch is the largest one that is kept.
const keepScratch = 64 << 10

// borrow reads the record at a place and verifies it: a frame of that file and
// offset whose CRC is right. A size of 0 is unknown. The payload belongs to the
// caller. Every read of a row of a keys table comes through here.
func (o *objects) borrow(slot uint32, off int64, size uint32, w *window) (wal.Frame, error) {
	o.reads.Add(1)
	ob, err := o.at(slot)
	if err != nil {
		return wal.Frame{}, err
	}
	if w != nil && w.slot == slot && off >= w.base && off < w.base+int64(len(w.buf)) {
		if f, _, why := ob.check.Frame(w.buf[off-w.base:], w.text[off-w.base:], off); why == wal.End {
			return f, nil
		} // else the window ends here, or is older than the record: the file has the last word
	}
	need := int64(size)
	if need == 0 {
		need = unknownFrame
	}
	buf := scratch.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= keepScratch {
			scratch.Put(buf)
		}
	}()
	for {
		if int64(cap(*buf)) < need {
			*buf = make([]byte, need)
		}
		b := (*buf)[:need]
		n, err := o.readAt(ob, b, off)
		if err != nil {
			return wal.Frame{}, err
		}
		f, more, why := ob.check.Frame(b[:n], "", off)
		if why == wal.Truncated && int64(n) == need && more > need {
			if size != 0 {
				why = wal.BadLength // a longer frame than the one that was written here
			} else {
				need = more
				continue
			}
		}
		return f, o.damage(ob, off, why)
	}
}

// damage says what is wrong with a frame, nil when nothing is. Behind a failed
// sync the file that was being written may not hold what was acknowledged before
// it was synced, as it is without sync=full: that is no damage but what a crash
// would have taken, too.
func (o *objects) damage(ob *object, off int64, why wal.Reason) error {
	if why == wal.End {
		return nil
	}
	if r := ob.reader.Load(); o.poisoned != nil && r != nil && r.own == nil {
		if cause := o.poisoned(); cause != nil {
			return fmt.Errorf("%w: a row was not synced, and %s has no record of it at %d: %s", cause, ob.path, off, why)
		}
	}
	return &CorruptError{File: ob.path, Offset: off, Reason: why.String() + ", where a row's record should be"}
}

// ahead reads a piece of a file into the window. A failure leaves it empty: the
// records are then read one by one, and whoever has the bad one says so.
func (o *objects) ahead(w *window, slot uint32, from int64, n int) {
	b := w.buf[:0]
	*w = window{slot: slot, base: from}
	ob, err := o.at(slot)
	if err != nil {
		return
	}
	if cap(b) < n {
		b = make([]byte, n)
	}
	if n, err = o.readAt(ob, b[:n], from); err == nil {
		w.buf, w.text = b[:n], string(b[:n])
	}
}
