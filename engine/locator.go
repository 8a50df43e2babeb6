package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// maxHops is the longest chain of deltas in front of a full row (K): a row is
// read with at most maxHops+1 records. It does not depend on the table.
const maxHops = 16

// rowPlace is where the newest record of a row of a resident=keys table is.
//
// A filed row has a frame in a file of the log; off, size and hops describe that
// frame. A staged one was written by the transaction at hand, which holds its
// record; off is its position in the transaction's list, and size the length of its
// locator.
type rowPlace struct {
	off  int64  // of the frame in its file; a multiple of wal.Align
	size uint32 // of the frame, with its padding
	slot uint32 // of the file in Store.objects
	hops uint8  // deltas up to the full row, the frame itself included
	kind placeKind
}

type placeKind uint8

const (
	noPlace placeKind = iota
	filed
	staged
)

// A locator is a place as the tree of a keys table stores it in the place of a
// record. It is in memory only: slots mean nothing to another process.
//
//	filed:  u8 hops  uvarint slot  uvarint offset/8  uvarint size/8
//	staged: 0xff  position, in 6 to 8 bytes
//
// Every place has one spelling, so equal locators are equal places. A staged one is
// about as long as the filed one that takes its place, for which a full leaf of the
// tree has no room else.
const stagedMark = 0xff

// The lengths of staged locators.
const minStaged, maxStaged = 7, 9

// maxLocator is the longest locator.
const maxLocator = 1 + 3*binary.MaxVarintLen64

// appendLocator appends the locator of a place.
func appendLocator(dst []byte, p rowPlace) []byte {
	if p.kind == staged {
		var at [8]byte
		binary.LittleEndian.PutUint64(at[:], uint64(p.off))
		return append(append(dst, stagedMark), at[:p.size-1]...)
	}
	dst = binary.AppendUvarint(append(dst, p.hops), uint64(p.slot))
	dst = binary.AppendUvarint(dst, uint64(p.off)/wal.Align)
	return binary.AppendUvarint(dst, uint64(p.size)/wal.Align)
}

// parseLocator reads a locator. Only memory that was overwritten makes it fail.
func parseLocator(s string) (p rowPlace, err error) {
	if s == "" {
		return rowPlace{}, badLocator(s)
	}
	head, s := s[0], s[1:]
	if head == stagedMark {
		var at [8]byte
		copy(at[:], s)
		off := int64(binary.LittleEndian.Uint64(at[:]))
		if size := len(s) + 1; size < minStaged || size > maxStaged || off < 0 {
			return rowPlace{}, badLocator(s)
		}
		return rowPlace{kind: staged, off: off, size: uint32(len(s) + 1)}, nil
	}
	slot, rest := locatorNumber(s)
	s = s[len(s)-max(rest, 0):]
	off, rest2 := locatorNumber(s)
	s = s[len(s)-max(rest2, 0):]
	size, rest3 := locatorNumber(s)
	if head > maxHops || rest < 0 || rest2 < 0 || rest3 != 0 ||
		slot > math.MaxUint32 || off > math.MaxInt64/wal.Align || size == 0 || size > math.MaxUint32/wal.Align {
		return rowPlace{}, badLocator(s)
	}
	return rowPlace{kind: filed, hops: head, slot: uint32(slot), off: int64(off) * wal.Align, size: uint32(size) * wal.Align}, nil
}

// locatorNumber reads a number in its shortest form and tells how many bytes
// follow, -1 when there is none.
func locatorNumber(s string) (v uint64, rest int) {
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		b := s[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if n := (bits.Len64(v|1) + 6) / 7; n != i+1 || i == binary.MaxVarintLen64-1 && b > 1 {
				return 0, -1
			}
			return v, len(s) - i - 1
		}
	}
	return 0, -1
}

func badLocator(s string) error { return fmt.Errorf("engine: bad locator %x in memory", s) }
