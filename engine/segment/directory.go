package segment

import (
	"encoding/binary"
	"io"
	"slices"
	"sort"
	"strings"
)

// footer ends a file.
type footer struct {
	entries   uint64
	directory int64 // offset
	digest    [32]byte
}

// footerSize is the size of the footer's frame.
const footerSize = frameHead + 8 + 8 + 32

func appendFooter(p []byte, f footer) []byte {
	p = binary.LittleEndian.AppendUint64(p, f.entries)
	p = binary.LittleEndian.AppendUint64(p, uint64(f.directory))
	return append(p, f.digest[:]...)
}

// readFooter reads the footer of a file of that size whose header ends at start.
func readFooter(r io.ReaderAt, s salt, start, extent int64) (f footer, err error) {
	at := extent - footerSize
	if at < start {
		return f, corrupt(extent, "too short for a footer")
	}
	b, err := readAt(r, at, footerSize)
	if err != nil {
		return f, err
	}
	if b, err = openFrame(s, at, frameFooter, b); err != nil {
		return f, err
	}
	f.entries = binary.LittleEndian.Uint64(b)
	f.directory = int64(binary.LittleEndian.Uint64(b[8:]))
	f.digest = [32]byte(b[16:])
	if f.directory < start || f.directory > at-frameHead {
		return f, corrupt(at, "impossible place of the directory")
	}
	return f, nil
}

// directory is where the blocks are.
type directory struct {
	blocks []block
	seps   []string // of a secondary segment: the separators of the blocks
}

// block is what the directory knows of a block.
type block struct {
	off, size int64 // of its frame
	entries   uint64
	row       int64 // of a primary segment: row id of the first entry
}

// appendFirstRow appends the row id of a block's first entry, relative to that of the
// block before.
func appendFirstRow(p []byte, first bool, last, row int64) []byte {
	if first {
		return appendVarint(p, row)
	}
	return appendUvarint(p, uint64(row)-uint64(last))
}

// readDirectory reads the directory of a file whose header ends at start.
func readDirectory(r io.ReaderAt, s salt, kind Kind, f footer, start, end int64) (d directory, err error) {
	b, err := readAt(r, f.directory, end-f.directory)
	if err != nil {
		return d, err
	}
	if b, err = openFrame(s, f.directory, frameDirectory, b); err != nil {
		return d, err
	}
	if !d.decode(b, kind, start) {
		return d, corrupt(f.directory, "impossible directory")
	}
	behind, entries := start, uint64(0)
	if n := len(d.blocks); n > 0 {
		behind = d.blocks[n-1].off + d.blocks[n-1].size
	}
	for _, x := range d.blocks {
		entries += x.entries
	}
	switch {
	case behind != f.directory:
		return d, corrupt(f.directory, "the blocks of the directory end at offset %d", behind)
	case entries != f.entries:
		return d, corrupt(f.directory, "the blocks of the directory have %d entries, the footer says %d", entries, f.entries)
	}
	return d, nil
}

// decode decodes the payload; false if it is none. A block has no more entries than bytes,
// and a separator is no longer than its block: what is allocated is bounded by the file.
func (d *directory) decode(b []byte, kind Kind, start int64) bool {
	n, at := uvarint(b, 0)
	if n > uint64(len(b)) {
		return false
	}
	d.blocks = make([]block, n)
	var sep []byte
	if kind == Secondary {
		d.seps = make([]string, n)
	}
	for i := range d.blocks {
		var size, entries, row, same, more uint64
		size, at = uvarint(b, at)
		entries, at = uvarint(b, at)
		if size <= frameHead || size-frameHead > maxPayload || entries == 0 || entries > size || entries > 1 && size > frameHead+BlockSize {
			return false
		}
		x := &d.blocks[i]
		*x = block{off: start, size: int64(size), entries: entries}
		if start += int64(size); start < 0 {
			return false
		}
		if kind == Primary {
			row, at = uvarint(b, at)
			if x.row = unzigzag(row); i > 0 {
				x.row = int64(uint64(d.blocks[i-1].row) + row)
			}
			if i > 0 && x.row <= d.blocks[i-1].row {
				return false
			}
			continue
		}
		same, at = uvarint(b, at)
		more, at = uvarint(b, at)
		if at > len(b) || more > uint64(len(b)-at) || same > uint64(len(sep)) || same+more > size || (same+more == 0) != (i == 0) {
			return false
		}
		// Shared is all that is, and the separator is greater than the one before.
		if i > 0 && (more == 0 || same < uint64(len(sep)) && b[at] <= sep[same]) {
			return false
		}
		sep = append(sep[:same], b[at:at+int(more)]...)
		at += int(more)
		d.seps[i] = string(sep)
	}
	return at == len(b)
}

// findRow returns the block that has a row id if any has, from block on.
func (d *directory) findRow(row int64, from int) int {
	n := sort.Search(len(d.blocks)-from, func(i int) bool { return d.blocks[from+i].row > row })
	return from + max(n-1, 0)
}

// findKey returns the block that has a key if any has, from block on.
func (d *directory) findKey(key string, from int) int {
	n, found := slices.BinarySearchFunc(d.seps[from:], key, strings.Compare)
	if !found {
		n--
	}
	return from + max(n, 0)
}
