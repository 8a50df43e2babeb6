package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// openFile opens a file to be checked.
func (c *checker) openFile(l *shardLog, g catalog.Generation) error {
	f := &logFile{generation: newGeneration(g), cat: g}
	err := c.s.open(f.generation, c.s.fs.OpenRead)
	if err == nil && f.info.Shard == l.id && f.epoch > uint64(l.cat.WriterEpoch) {
		err = &CorruptError{File: f.path, Reason: fmt.Sprintf("written at epoch %d, the catalog knows %d", f.epoch, l.cat.WriterEpoch)}
	}
	if err != nil {
		if f.file != nil {
			_ = f.file.Close() // it was only read
		}
		return c.found(err)
	}
	if !f.sealed() && !c.offline {
		// Behind the last commit there is room, and at times a frame that is
		// being written.
		x := c.open[f.object]
		f.recovered = x.recovered
		f.allocated = min(f.allocated, max(f.start, x.appended, x.recovered))
	}
	if c.offline {
		c.s.objects.add(f.generation)
	} else {
		// A file that the store does not know yet holds no row, and is not
		// Check's to be read through.
		c.s.objects.look(f.generation)
	}
	if !c.covered(f.generation) {
		c.total += f.allocated
	}
	l.files = append(l.files, f)
	return nil
}

// file checks the frames of one generation, on their own and as parts of
// transactions, up to the target's LSN or to the footer. last is the shard's
// last commit before the file; the last one in it is returned. Behind a bad
// frame the check goes on with the next intact commit.
//
// Of several shards none need have the target's commit. What a shard has behind
// it may be being written: it is not looked at, and a bad frame with nothing
// older behind it is left to the replay of all shards.
func (c *checker) file(r *recovery, l *shardLog, f *logFile, last LSN) (LSN, error) {
	damage := func(offset int64, text string) { c.report(Finding{Damage, f.path, offset, text}) }
	before := c.damage
	from, records := f.start, uint64(0)
	// What lies behind is not durable, or being written.
	more := func() bool { return f.sealed() || last < c.target.lsn || from < f.recovered }
	for from < f.allocated && more() {
		sc := wal.NewScanner(f.file, from, f.allocated, f.salt)
		beyond := false
		for f.seal == nil && more() {
			fr, ok := sc.Next()
			if !ok {
				break
			}
			if err := c.tick(fr.End() - fr.Offset); err != nil {
				return last, err
			}
			if beyond = c.beyond(f, fr); beyond {
				break
			}
			if err := f.decode(fr); err != nil {
				damage(fr.Offset, reasonOf(err))
			}
			switch fr.Kind {
			case wal.KindCommit:
				last = c.commit(r, l, f, fr, last, records)
				records, f.end = 0, fr.End()
			case wal.KindCloseMark:
				c.closeMark(r, f, fr, last, records)
				f.end = fr.End()
			case wal.KindSeal:
				if records > 0 {
					damage(fr.Offset, fmt.Sprintf("footer behind %d records without a commit", records))
				}
				f.end = fr.Offset
			case wal.KindHeader:
				damage(fr.Offset, "a second header")
			default:
				records++
			}
			from = fr.End()
		}
		if beyond || f.seal != nil || !more() {
			break
		}
		stop := sc.Stop()
		if stop.Reason == wal.ReadFailed {
			return last, fmt.Errorf("engine: reading %s at %d: %w", f.path, stop.Offset, stop.Err)
		}
		next, err := c.resync(f, stop.Offset)
		if err != nil {
			return last, err
		}
		text := fmt.Sprintf("%s, behind commit %d", stop.Reason, last)
		if next == nil {
			switch {
			case stop.Offset < f.recovered && stop.Offset >= c.open[f.object].appended:
				// Nothing but a close mark can have been there.
				c.report(Finding{Warning, f.path, stop.Offset, text})
			case f.sealed() || stop.Offset < f.recovered || !stop.Clean() && len(r.shards) == 1 && !c.offline:
				damage(stop.Offset, text)
			}
			break
		}
		if c.offline && !f.sealed() && !c.wasSynced(r, last, LSN(next.Commit.LSN)) {
			break // an unsynced tail, for all that is known
		}
		damage(stop.Offset, fmt.Sprintf("%s: nothing is readable up to commit %d at %d", stop.Reason, next.Commit.LSN, next.Offset))
		last, from, records = LSN(next.Commit.LSN), next.End, 0
	}
	if f.sealed() && c.damage == before {
		return last, c.sealedFile(f)
	}
	return last, nil
}

// beyond reports whether a frame is a commit that came after the target.
func (c *checker) beyond(f *logFile, fr wal.Frame) bool {
	if fr.Kind != wal.KindCommit || f.sealed() {
		return false
	}
	m, err := wal.DecodeCommit(fr, f.salt)
	return err == nil && LSN(m.LSN) > c.target.lsn
}

// decode checks the form of a frame by decoding it. It keeps the footer.
func (f *logFile) decode(fr wal.Frame) (err error) {
	switch fr.Kind {
	case wal.KindSchema:
		var s wal.Schema
		if s, err = wal.DecodeSchema(fr); err == nil {
			_, _, err = decodeChange(s.Op, []byte(s.Body))
		}
	case wal.KindPut:
		_, err = wal.DecodePut(fr)
	case wal.KindDelta:
		_, err = wal.DecodeDelta(fr)
	case wal.KindTombstone:
		_, err = wal.DecodeTombstone(fr)
	case wal.KindCommit:
		_, err = wal.DecodeCommit(fr, f.salt)
	case wal.KindCloseMark:
		_, err = wal.DecodeCloseMark(fr, f.salt)
	case wal.KindSeal:
		var m wal.Seal
		if m, err = wal.DecodeSeal(fr); err == nil {
			f.seal = &m
		}
	}
	return err
}

func reasonOf(err error) string {
	var bad *wal.CorruptError
	if errors.As(err, &bad) {
		return bad.Reason
	}
	return err.Error()
}

// commit checks a commit's place and returns its LSN.
func (c *checker) commit(r *recovery, l *shardLog, f *logFile, fr wal.Frame, last LSN, records uint64) LSN {
	m, err := wal.DecodeCommit(fr, f.salt)
	if err != nil {
		return last // reported by decode
	}
	damage := func(format string, args ...any) {
		c.report(Finding{Damage, f.path, fr.Offset, fmt.Sprintf(format, args...)})
	}
	if LSN(m.LSN) <= last || len(r.shards) == 1 && LSN(m.LSN) != last+1 && (!c.offline || c.wasSynced(r, last, LSN(m.LSN))) {
		damage("commit %d follows commit %d", m.LSN, last)
	}
	if m.Records != records {
		damage("commit %d claims %d records, there are %d", m.LSN, m.Records, records)
	}
	if !r.participates(l, &m, uint64(fr.End())) {
		damage("commit %d names participants %v, its frame ends at %d of shard %d", m.LSN, m.Participants, fr.End(), l.id)
	}
	f.info.committed(LSN(m.LSN), m.Records, fr.End())
	return LSN(m.LSN)
}

func (c *checker) closeMark(r *recovery, f *logFile, fr wal.Frame, last LSN, records uint64) {
	m, err := wal.DecodeCloseMark(fr, f.salt)
	if err == nil && (LSN(m.LSN) < last || LSN(m.LSN) != last && len(r.shards) == 1 || records > 0) {
		c.report(Finding{Damage, f.path, fr.Offset, fmt.Sprintf("close mark of LSN %d behind commit %d and %d open records", m.LSN, last, records)})
	}
}

// resync finds the next intact commit behind a bad frame, if one is durable.
func (c *checker) resync(f *logFile, from int64) (*wal.CommitAt, error) {
	for at, err := range wal.FindCommits(f.file, from, f.allocated, f.salt) {
		if err != nil {
			return nil, c.found(corruptIn(f.path, from, err))
		}
		if at.Kind == wal.KindCommit {
			if LSN(at.Commit.LSN) > c.target.lsn {
				return nil, nil
			}
			return &at, nil
		}
	}
	return nil, nil
}

// sealedFile checks a sealed file as a whole: what its footer says, and what
// the catalog recorded when it was sealed.
func (c *checker) sealedFile(f *logFile) error {
	footer := f.seal
	f.seal = nil
	found, err := c.s.census(f.generation, math.MaxInt64)
	if err != nil {
		return c.found(err)
	}
	if err := sameSeal(footer, &found.seal); err != nil {
		c.report(Finding{Damage, f.path, f.end, err.Error()})
	}
	content, err := contentID(f.file, f.allocated)
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", f.path, err)
	}
	want := &f.cat
	for _, d := range []struct {
		what      string
		same      bool
		have, cat any
	}{
		{"bytes", f.allocated == want.ByteExtent, f.allocated, want.ByteExtent},
		{"first LSN", found.first == LSN(want.FirstLSN), found.first, want.FirstLSN},
		{"last LSN", found.seal.LastLSN == uint64(want.LastLSN), found.seal.LastLSN, want.LastLSN},
		{"records", found.records == uint64(want.Records), found.records, want.Records},
		{"digest", found.seal.Digest == want.IntegrityDigest, found.seal.Digest, want.IntegrityDigest},
		{"content id", content == want.ContentID, content, want.ContentID},
		{"fingerprint", bytes.Equal(sumBytes(found.sum()), want.Fingerprint), sumBytes(found.sum()), want.Fingerprint},
	} {
		if !d.same {
			c.report(Finding{Damage, f.path, f.end, fmt.Sprintf("%s of the file: %x, in %s: %x", d.what, d.have, catalog.FileName, d.cat)})
		}
	}
	return nil
}

// tick reports progress and ends the check with its context.
func (c *checker) tick(n int64) error {
	const every = 1 << 20
	if was := c.done; was/every != (was+n)/every {
		if err := c.ended(); err != nil {
			return err
		}
		if c.progress != nil {
			c.progress(was+n, c.total)
		}
	}
	c.done += n
	return nil
}
