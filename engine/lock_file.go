package engine

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemarkdb/tidemark/catalog"
)

// LOCK is held by the process that writes, and tells the others how far the log of
// each of its timelines is durable, after each sync:
//
//	pid      12345
//	lsn                   67
//	lsn                    8 "draft"
//	sum 89abcdef
//
// The timeline main has no name there. The contents are written in place and not
// synced, so whoever reads them beside that may see some of both: the sum, a CRC-32C
// of what is before it, tells. What a process that ended has left is still true, as
// long as the next one has not written: nothing durable is taken back, and the next
// one writes before it changes anything else than its own log.

var lockTable = crc32.MakeTable(crc32.Castagnoli)

const lockSum = "sum "

// lockContents is what LOCK holds.
func lockContents(pid int, told map[string]LSN) []byte {
	b := fmt.Appendf(nil, "pid %10d\n", pid)
	if lsn, ok := told[catalog.MainTimeline]; ok {
		b = fmt.Appendf(b, "lsn %20d\n", lsn)
	}
	names := make([]string, 0, len(told))
	for name := range told {
		if name != catalog.MainTimeline {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		b = fmt.Appendf(b, "lsn %20d %q\n", told[name], name)
	}
	return fmt.Appendf(b, "%s%08x\n", lockSum, crc32.Checksum(b, lockTable))
}

// parseLock returns what LOCK tells of each timeline, nothing when nobody has written
// it yet; false for contents that are not whole.
func parseLock(contents []byte) (told map[string]LSN, whole bool) {
	if len(contents) == 0 {
		return nil, true
	}
	text := string(contents)
	at := strings.LastIndex(text, "\n"+lockSum) + 1
	if at == 0 || text[at:] != fmt.Sprintf("%s%08x\n", lockSum, crc32.Checksum(contents[:at], lockTable)) {
		return nil, false
	}
	told = map[string]LSN{}
	for line := range strings.Lines(text[:at]) {
		rest, found := strings.CutPrefix(line, "lsn ")
		if !found {
			continue
		}
		number, name, named := strings.Cut(strings.TrimSpace(rest), " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, false
		}
		timeline := catalog.MainTimeline
		if named {
			if timeline, err = strconv.Unquote(name); err != nil {
				return nil, false
			}
		}
		told[timeline] = LSN(n)
	}
	return told, true
}

// lockLook is one look at LOCK.
type lockLook struct {
	contents string
	held     bool // a process writes, or is about to
	whole    bool
	told     LSN  // of the timeline that was asked for
	known    bool // it is told of
}

// lookAtLock reads LOCK.
func (s *Store) lookAtLock() (l lockLook, err error) {
	contents, held, err := s.fs.PeekLock(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return lockLook{whole: true}, nil
	}
	if err != nil {
		return l, fmt.Errorf("engine: looking at %s: %w", lockName, err)
	}
	l.contents, l.held = string(contents), held
	told, whole := parseLock(contents)
	l.whole = whole
	l.told, l.known = told[s.opts.Timeline]
	return l, nil
}
