package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// evidence is what lies intact behind the place where the replay of a file
// ended.
type evidence struct {
	first  wal.CommitAt // the first commit
	found  bool
	end    int64 // behind the last commit or close mark
	synced LSN   // highest LSN that one of them, or a footer, says was synced
}

// judge tells damage from an unsynced tail, after everything before the first
// commit that is not whole was replayed. LSNs are dense over all shards:
// whatever is intact behind the place where the replay of a file ended comes
// later than the missing commit.
func (r *recovery) judge() error {
	missing := r.last + 1
	synced := LSN(r.head.LSN) // what a head contains was synced
	for _, l := range r.shards {
		for _, f := range l.files {
			if f.seal != nil {
				f.dropped = f.end
				continue // replayed to its footer
			}
			if err := r.look(f, missing); err != nil {
				return err
			}
			if first := &f.behind.first; f.behind.found && LSN(first.Commit.LSN) < missing {
				return &CorruptError{File: f.path, Offset: first.Offset, Reason: fmt.Sprintf(
					"commit %d lies behind commit %d", first.Commit.LSN, r.last)}
			}
			synced = max(synced, f.behind.synced)
			if f.sealed() {
				synced = max(synced, LSN(f.cat.LastLSN))
			}
		}
	}
	if synced >= missing {
		f, stop := r.place()
		return &CorruptError{File: f.path, Offset: stop.Offset, Reason: fmt.Sprintf(
			"%s, where commit %d should be, and a later record says that it was synced up to %d", stop.Reason, missing, synced)}
	}
	for _, l := range r.shards {
		for _, f := range l.files {
			if f.seal == nil && onlyMarkLost(f) {
				return &CorruptError{File: f.path, Offset: f.stop.Offset, Reason: fmt.Sprintf(
					"%s in a close mark: commit %d behind it is whole", f.stop.Reason, f.behind.first.Commit.LSN)}
			}
		}
	}
	return nil
}

// look collects the evidence in a file.
func (r *recovery) look(f *logFile, missing LSN) error {
	e, err := r.behind(f, f.end)
	if err != nil {
		return err
	}
	footer, err := findSeal(f, f.end, missing)
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", f.path, err)
	}
	e.synced = max(e.synced, footer)
	f.behind, f.dropped = e, max(f.stop.Offset, e.end)
	return nil
}

// place finds where the missing commit should be: in the shard that lacks it,
// if another one has it and names them, else in the one that looks worst.
func (r *recovery) place() (*logFile, wal.Stop) {
	if r.lacks != nil && len(r.lacks.files) > 0 {
		return r.lacks.place()
	}
	worst, most := r.shards[0], -1 // one with a file: a commit was found somewhere
	for _, l := range r.shards {
		for _, f := range l.files {
			score := 0
			switch {
			case f.seal != nil || !f.scanned:
			case f.dirty():
				score = 4
			case f.behind.found:
				score = 3
			case f.stop.Offset > f.end:
				score = 2
			case l.kind != wal.KindCommit:
				score = 1 // it has nothing later
			}
			if score > most {
				worst, most = l, score
			}
		}
	}
	return worst.place()
}

// dirty reports whether the scan of a file stopped at something that is not
// the end of a log.
func (f *logFile) dirty() bool {
	if !f.stop.Clean() {
		return true
	}
	// A length of zero has a frame's CRC behind it when only the length was lost.
	var word [2 * wal.Align]byte
	n, err := f.file.ReadAt(word[:], f.stop.Offset)
	return (err == nil || errors.Is(err, io.EOF)) && word != [len(word)]byte{} && n > 0
}

// place finds where the next commit of a shard should be: at the end of the
// last file that was replayed in part, or at the start of a later one, when
// that does not begin with a whole transaction.
func (l *shardLog) place() (*logFile, wal.Stop) {
	at := 0
	for i, f := range l.files {
		if f.info.LastLSN != 0 {
			at = i
		}
	}
	if l.files[at].seal != nil && at+1 < len(l.files) {
		at++
	}
	f := l.files[at]
	if f.scanned && (f.dirty() || f.behind.found) {
		return f, f.stop
	}
	for _, later := range l.files[at+1:] {
		if later.scanned && later.dirty() {
			return later, later.stop
		}
		if !later.behind.found {
			continue
		}
		sc := wal.NewScanner(later.file, later.start, later.behind.first.Offset, later.salt)
		records := uint64(0)
		for fr, ok := sc.Next(); ok; fr, ok = sc.Next() {
			if fr.Kind != wal.KindCloseMark {
				records++
			}
		}
		if sc.Offset() != later.behind.first.Offset || records != later.behind.first.Commit.Records {
			return later, sc.Stop()
		}
		break
	}
	return f, f.stop
}

// onlyMarkLost reports whether the frame at the stop can only have been a
// close mark: a whole transaction follows where the mark would end, and none
// fits in between. A close mark is synced before anything is appended behind
// it, so a bad one in front of a transaction is no unsynced tail.
func onlyMarkLost(f *logFile) bool {
	first := f.behind.first
	if !f.scanned || !f.behind.found || f.stop.Clean() || f.stop.Offset != f.end {
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
	e := evidence{}
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
	buf := make([]byte, max(need, min(f.allocated-from, wal.BlockSize)))
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
