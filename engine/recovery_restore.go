package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
)

// A restore publishes the state of a branch point anew, at an LSN of its own: what was
// committed between the two is not of the timeline any more. So its log has a gap, from
// the last commit that the branch point has to the restore, and the commits behind the
// restore go on from there.
//
// The gap lies in what a head contains, or at its end: between two generations, since
// all shards are cut before a restore. That nothing of the state is missing there, the
// comparison with the head's count and fingerprint tells.

// passes names the head that the replay has to pass.
func (r *recovery) passes(head *catalog.Timeline) {
	r.head, r.sealed, r.schema = head, LSN(head.LSN), LSN(head.SchemaVersion)
}

// adopt lets the shards' logs also have generations of shards of other timelines, by
// their ordinals.
func (r *recovery) adopt(ordinals map[int64]int64) error {
	for id, ordinal := range ordinals {
		if ordinal < 0 || ordinal >= int64(len(r.shards)) {
			return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf("shard %d has ordinal %d of %d", id, ordinal, len(r.shards))}
		}
		l := r.shards[ordinal]
		l.also = append(l.also, uint64(id))
	}
	return nil
}

// order puts what a head contains before what it does not, and in the order of commits:
// after restores, generations of several timelines may follow one another in any way.
func (l *shardLog) order() {
	slices.SortStableFunc(l.files, func(a, b *logFile) int {
		switch {
		case a.cat.InHead && b.cat.InHead:
			return cmp.Compare(a.cat.FirstLSN, b.cat.FirstLSN)
		case a.cat.InHead:
			return -1
		case b.cat.InHead:
			return 1
		}
		return 0
	})
}

// inherit takes the generations that a head has of other timelines.
func (r *recovery) inherit(generations []catalog.Generation, ordinals map[int64]int64) error {
	if err := r.adopt(ordinals); err != nil {
		return err
	}
	for _, c := range generations {
		l := r.log(uint64(c.ShardID)) // the catalog has an ordinal for each
		g := newGeneration(c)
		g.native = sumOf(c.Fingerprint)
		l.files = append(l.files, &logFile{generation: g, cat: c})
	}
	return nil
}

// skipUndone takes the replay over the gap of a restore, to the restore's LSN, and
// reports whether it stands before one: every shard is between two files, or behind its
// last one, and what comes next is later than the next commit.
func (r *recovery) skipUndone() (bool, error) {
	if r.last >= r.sealed {
		return false, nil
	}
	to := r.sealed
	for _, l := range r.shards {
		if l.at == len(l.files) {
			continue
		}
		f := l.files[l.at]
		if f.info.LastLSN != 0 {
			return false, nil // in the middle of it
		}
		if !f.cat.InHead {
			continue // begins behind the head
		}
		first := LSN(f.cat.FirstLSN)
		if first <= r.last+1 {
			return false, nil
		}
		to = min(to, first-1)
	}
	if to == r.sealed && r.schema != to {
		return false, nil // it was no restore that left the state: something is missing
	}
	r.last = to
	r.replay.restored(to)
	for _, l := range r.shards {
		l.cut = max(l.cut, to)
	}
	return true, r.compareHead()
}

// restored goes on behind a restore: the definitions are those of before, under a
// version of their own, so that nobody takes what was read since for them.
func (r *replay) restored(lsn LSN) {
	r.lsn = lsn
	r.defs = r.defs.at(uint64(lsn))
}

// at is the same schema under another version.
func (s *Schema) at(version uint64) *Schema { return newSchema(version, s.objects) }
