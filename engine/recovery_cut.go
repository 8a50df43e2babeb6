package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// evidence is what lies intact behind the place a scan stopped at.
type evidence struct {
	file   *logFile
	first  wal.CommitAt // the first commit
	found  bool
	end    int64 // behind the last commit or close mark
	synced LSN   // highest LSN that one of them says was synced
}

// cutAt decides, after file i was replayed until its first frame that is not
// intact, whether the log ends there. It compares LSNs, which are dense: only
// when the next commit of the log is not where it has to be, something is
// missing.
func (r *recovery) cutAt(i int) (cut bool, err error) {
	f := r.files[i]
	missing := r.last + 1
	var behind evidence
	if f.seal == nil {
		if behind, err = r.behind(f, f.stop.Offset); err != nil {
			return false, err
		}
	}
	if behind.found && LSN(behind.first.Commit.LSN) < missing {
		return false, &CorruptError{File: f.path, Offset: behind.first.Offset, Reason: fmt.Sprintf(
			"commit %d lies behind commit %d", behind.first.Commit.LSN, r.last)}
	}
	if !behind.found && behind.synced < missing {
		next, err := r.next(i)
		if err != nil {
			return false, err
		}
		if next.found {
			behind = next
			switch at := LSN(next.first.Commit.LSN); {
			case at == missing:
				return false, nil
			case at < missing:
				return false, &CorruptError{File: next.file.path, Offset: next.first.Offset, Reason: fmt.Sprintf(
					"commit %d lies behind commit %d", at, r.last)}
			}
		}
	}
	return true, r.judge(i, missing, behind)
}

// next returns what the file after i begins with, if it holds a commit at all.
// Files behind an empty one are empty, too, or cutAt finds the hole.
func (r *recovery) next(i int) (evidence, error) {
	for ; i+1 < len(r.files); i++ {
		f := r.files[i+1]
		e, err := r.behind(f, f.start)
		if err != nil || e.found {
			return e, err
		}
	}
	return evidence{}, nil
}

// judge tells damage from an unsynced tail: commit missing is not whole in
// file i, although later ones may be.
func (r *recovery) judge(i int, missing LSN, behind evidence) error {
	f := r.files[i]
	if behind.file == f {
		f.dropped = max(f.stop.Offset, behind.end)
	}
	footer, err := findSeal(f, f.stop.Offset, missing)
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", f.path, err)
	}
	synced := max(behind.synced, footer)
	for _, later := range r.files[i+1:] {
		e, err := r.behind(later, later.start)
		if err != nil {
			return err
		}
		later.dropped = e.end
		synced = max(synced, e.synced)
		if later.sealed() {
			synced = max(synced, LSN(later.cat.LastLSN))
		}
	}
	reason := f.stop.Reason.String()
	switch {
	case synced >= missing:
		f, stop := locate(f, &behind)
		return &CorruptError{File: f.path, Offset: stop.Offset, Reason: fmt.Sprintf(
			"%s, where commit %d should be, and a later record says that it was synced up to %d", stop.Reason, missing, synced)}
	case behind.file == f && behind.found && onlyMarkLost(f, behind.first, missing):
		return &CorruptError{File: f.path, Offset: f.stop.Offset, Reason: fmt.Sprintf(
			"%s in a close mark: commit %d behind it is whole", reason, missing)}
	}
	return nil
}

// locate finds where the missing commit should be, when the next one is in
// another file: there, unless that file begins with a whole transaction.
func locate(f *logFile, next *evidence) (*logFile, wal.Stop) {
	if next.file == f || !next.found {
		return f, f.stop
	}
	sc := wal.NewScanner(next.file.file, next.file.start, next.first.Offset, next.file.salt)
	records := uint64(0)
	for fr, ok := sc.Next(); ok; fr, ok = sc.Next() {
		if fr.Kind != wal.KindCloseMark {
			records++
		}
	}
	if f.seal == nil && sc.Offset() == next.first.Offset && records == next.first.Commit.Records {
		return f, f.stop
	}
	return next.file, sc.Stop()
}

// onlyMarkLost reports whether the frame at the stop can only have been a
// close mark. A close mark is synced before anything is appended behind it, so
// a bad one in front of a whole transaction is no unsynced tail.
func onlyMarkLost(f *logFile, first wal.CommitAt, missing LSN) bool {
	if LSN(first.Commit.LSN) != missing || f.stop.Offset != f.end {
		return false
	}
	sc := wal.NewScanner(f.file, f.end+closeMarkSize, f.allocated, f.salt)
	for n := uint64(0); ; n++ {
		fr, ok := sc.Next()
		if !ok || fr.Offset > first.Offset {
			return false
		}
		if fr.Offset == first.Offset {
			return n == first.Commit.Records
		}
	}
}

// behind collects what is intact in a file from an offset on.
func (r *recovery) behind(f *logFile, from int64) (evidence, error) {
	e := evidence{file: f}
	for c, err := range wal.FindCommits(f.file, from, f.allocated, f.salt) {
		if err != nil {
			var bad *wal.CorruptError
			if errors.As(err, &bad) {
				return e, corruptIn(f.path, from, err)
			}
			return e, fmt.Errorf("engine: reading %s: %w", f.path, err)
		}
		e.end, e.synced = c.End, max(e.synced, LSN(c.Synced()))
		if c.Kind == wal.KindCommit && !e.found {
			e.first, e.found = c, true
		}
	}
	return e, nil
}

// findSeal looks for an intact footer behind an offset and returns its LSN, 0
// when there is none. A footer is written when all of its file is synced. It
// begins with its LSN, which dismisses nearly every place that looks like one.
func findSeal(f *logFile, from int64, least LSN) (LSN, error) {
	const (
		kindAt  = 8
		lsnAt   = 9
		need    = lsnAt + 8
		maxSpan = 1 << 32 // more commits than a file can hold
	)
	buf := make([]byte, wal.BlockSize)
	for off := (from + wal.Align - 1) &^ (wal.Align - 1); off+need <= f.allocated; {
		b := buf[:min(int64(len(buf)), f.allocated-off)]
		if _, err := f.file.ReadAt(b, off); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for ; len(b) >= need; b, off = b[wal.Align:], off+wal.Align {
			lsn := LSN(binary.LittleEndian.Uint64(b[lsnAt:]))
			if wal.Kind(b[kindAt]) != wal.KindSeal || lsn < least || lsn-least > maxSpan {
				continue
			}
			fr, ok := wal.NewScanner(f.file, off, f.allocated, f.salt).Next()
			if !ok || fr.Kind != wal.KindSeal {
				continue
			}
			if m, err := wal.DecodeSeal(fr); err == nil {
				return LSN(m.LastLSN), nil
			}
		}
	}
	return 0, nil
}
