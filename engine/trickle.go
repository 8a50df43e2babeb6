package engine

import "github.com/tidemarkdb/tidemark/engine/vfs"

// A device serves one after the other what it was given. A commit is one block and a
// flush, and when a file of many megabytes is synced at once, both wait behind all of
// it: milliseconds. So whoever writes a large file beside commits lets it go to the
// medium as it grows, in pieces that are each a moment, and its sync finds little left.

// tricklePiece is how much of a file is under way at once. Smaller ones cost more calls,
// larger ones more of the commits beside.
const tricklePiece = 128 << 10

// trickled is a file that is written from its start to its end, and synced then.
type trickled struct {
	vfs.File
	sent int64 // what lies before is on its way, or there
}

// trickle lets a file that was just made be written back as it grows.
func trickle(f vfs.File) vfs.File { return &trickled{File: f} }

// WriteAt has one caller at a time.
func (t *trickled) WriteAt(p []byte, off int64) (int, error) {
	n, err := t.File.WriteAt(p, off)
	for end := off + int64(n); end-t.sent >= tricklePiece; t.sent += tricklePiece {
		t.File.WriteBack(t.sent, tricklePiece)
	}
	return n, err
}
