package wal

import (
	"encoding/binary"
	"io"
	"iter"
)

// CommitAt is an intact commit or close mark found by FindCommits.
type CommitAt struct {
	Offset    int64
	End       int64 // behind the frame
	Kind      Kind  // KindCommit or KindCloseMark
	Commit    Commit
	CloseMark CloseMark
}

// LSN returns the LSN the frame carries.
func (c *CommitAt) LSN() uint64 {
	if c.Kind == KindCloseMark {
		return c.CloseMark.LSN
	}
	return c.Commit.LSN
}

// Synced returns the highest LSN the frame claims to have been synced.
func (c *CommitAt) Synced() uint64 {
	if c.Kind == KindCloseMark {
		return c.CloseMark.LSN
	}
	return c.Commit.SyncedLSN
}

// FindCommits looks at every multiple of Align from offset from to the end of
// the file for intact commits and close marks. After a hole in the log they
// tell whether what lies in the hole was ever durable.
//
// Both kinds begin with salt xor offset, so nearly every place is dismissed by
// nine bytes, and a file full of plausible lengths costs no more than one of
// zeros. A failed read ends the search with its error; so does an intact
// frame that does not decode.
func FindCommits(r io.ReaderAt, from, size int64, salt Salt) iter.Seq2[CommitAt, error] {
	return func(yield func(CommitAt, error) bool) {
		s := NewScanner(r, from, size, salt)
		word := binary.LittleEndian.Uint64(salt[:])
		const least = prefix + 1 + 8
		for off := (from + Align - 1) &^ (Align - 1); off+least <= size; {
			b, ok := s.window(off, least)
			if !ok {
				yield(CommitAt{}, s.stop.Error())
				return
			}
			hit := false
			for ; len(b) >= least; b, off = b[Align:], off+Align {
				if k := Kind(b[prefix]); k != KindCommit && k != KindCloseMark {
					continue
				}
				if binary.LittleEndian.Uint64(b[prefix+1:]) == word^uint64(off) {
					hit = true
					break
				}
			}
			if !hit {
				continue
			}
			f, ok := s.frameAt(off)
			if !ok {
				if s.stop.Reason == ReadFailed {
					yield(CommitAt{}, s.stop.Error())
					return
				}
				off += Align
				continue
			}
			off = f.End()
			c, err := decodeAt(f, salt)
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func decodeAt(f Frame, salt Salt) (c CommitAt, err error) {
	c = CommitAt{Offset: f.Offset, End: f.End(), Kind: f.Kind}
	if f.Kind == KindCommit {
		c.Commit, err = DecodeCommit(f, salt)
	} else {
		c.CloseMark, err = DecodeCloseMark(f, salt)
	}
	return c, err
}
