package engine

import (
	"io"
	"runtime"
)

// What works in the background for long lets others go first, every 0.1 ms or so: other
// goroutines, and whatever waits for the processor that it runs on. That may be the
// thread of a commit, or the one of the system that hands a commit's flush to the
// device; a scheduler that lets who runs finish his slice keeps both waiting for
// milliseconds. When nobody waits, it costs about a microsecond.
func breathe() {
	runtime.Gosched()
	yieldThread()
}

// calmReader breathes between reads, which are of moderate size.
type calmReader struct{ io.ReaderAt }

func (r calmReader) ReadAt(b []byte, off int64) (int, error) {
	breathe()
	return r.ReaderAt.ReadAt(b, off)
}
