package catalog

import (
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jmoiron/sqlx"

	"github.com/tidemarkdb/tidemark/catalog/catchup"
)

// derive completes the index state of a publication: this is the one place where the
// positions of indexes come from, whatever is published. before is the head's state;
// after has the segments and the progress that the publication is to have. entries
// are the head's manifest, nil if it was not read; read is the representation that the
// publication was built from.
func (c *cut) derive(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, head *headRow, entries []entryRow, before, after IndexState, read int64) error {
	prior := positionsOf(&before)
	after.sort()
	if after.maintained() {
		segments, tables := segmentsOf(&after)
		committed := progressOf(after.Compacted)
		var version *catchup.Read
		was, _ := segmentsOf(&before)
		// What an index keeps is known without a look at what was read: one that has other
		// segments keeps nothing.
		if canEarn(segments, catchup.Derive(was, segments, tables, prior, committed, nil), committed) {
			var err error
			if version, err = readVersion(ctx, q, identity, head, entries, &before, read); err != nil {
				return err
			}
		}
		next := catchup.Derive(was, segments, tables, prior, committed, version)
		for _, l := range catchup.Lost(prior, next) {
			c.lost = append(c.lost, IndexPosition{l.Index, l.Shard, int64(l.From)})
		}
		after.CaughtUp = nil
		for index, shards := range next {
			for shard, generation := range shards {
				if generation > 0 {
					after.CaughtUp = append(after.CaughtUp, IndexPosition{index, shard, int64(generation)})
				}
			}
		}
		after.sort()
	}
	// A state that says the same is the same one.
	after.ID = 0
	if after.equal(&before) {
		after.ID = before.ID
	}
	c.state = after
	return nil
}

// canEarn reports whether any index keeps less than what is compacted. As a rule none
// does, and then nobody reads what the head is made of.
func canEarn(segments catchup.Segments, kept catchup.Positions, committed catchup.Progress) bool {
	for index := range segments {
		for shard, generation := range committed {
			if kept[index][shard] < generation {
				return true
			}
		}
	}
	return false
}

// readVersion is what a publication read: progress, and the fragments that were live.
// Of a representation that is gone nothing is known. entries are the head's; nil: they
// were not read yet, and its base is all that is.
//
// What was read proves nothing of a table of which the head lacks a fragment by now:
// its rows went to another fragment, or are those of a state that was restored since.
func readVersion(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, head *headRow, entries []entryRow, before *IndexState, read int64) (_ *catchup.Read, err error) {
	if entries == nil {
		if entries, err = readBaseEntries(ctx, q, identity, head.RepresentationID); err != nil {
			return nil, err
		}
	}
	live, all, err := liveFragments(ctx, q, identity, head.RepresentationID, entries)
	if err != nil {
		return nil, err
	}
	if read == head.RepresentationID {
		return &catchup.Read{Compacted: progressOf(before.Compacted), Fragments: live}, nil
	}
	state, ok, err := indexStateOf(ctx, q, identity, read)
	if err != nil || !ok {
		return nil, err
	}
	if entries, err = readBaseEntries(ctx, q, identity, read); err != nil {
		return nil, err
	}
	then, _, err := liveFragments(ctx, q, identity, read, entries)
	if err != nil {
		return nil, err
	}
	for table, b := range then {
		if !roaring64.AndNot(b, all).IsEmpty() {
			delete(then, table)
		}
	}
	return &catchup.Read{Compacted: progressOf(state.Compacted), Fragments: then}, nil
}

// liveFragments are the fragments of each table in the base of a representation, and
// all of them. One of which all rows are superseded counts as live only if its table
// has no other.
func liveFragments(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID int64, entries []entryRow) (live map[int64]*roaring64.Bitmap, all *roaring64.Bitmap, err error) {
	p, err := split(representationID, entries)
	if err != nil {
		return nil, nil, err
	}
	files, _, err := baseFiles(ctx, q, identity, p.bases)
	if err != nil {
		return nil, nil, err
	}
	all = roaring64.New()
	live, dead := map[int64]*roaring64.Bitmap{}, map[int64]*roaring64.Bitmap{}
	for i := range files {
		f := &files[i]
		for j, x := range f.Fragments {
			if x.TableID == 0 {
				continue
			}
			into := live
			if x.Rows > 0 && f.Live[j].Rows == 0 {
				into = dead
			}
			if into[x.TableID] == nil {
				into[x.TableID] = roaring64.New()
			}
			into[x.TableID].Add(uint64(f.FragmentIDs[j]))
			all.Add(uint64(f.FragmentIDs[j]))
		}
	}
	for table, b := range dead {
		if live[table] == nil {
			live[table] = b
		}
	}
	return live, all, nil
}

// leave takes fragments from the segments that cover them: those that had live rows
// and that the base to come does not have. Their rows are in other fragments then, so
// an index that had them has not caught up with the generations that they came from
// (R19): what it stands for is less, which ends its position until it has the others.
func (s *IndexState) leave(files []BaseFile, bases []entryRow) {
	gone := roaring64.New()
	for i := range files {
		f := &files[i]
		if slices.ContainsFunc(bases, func(e entryRow) bool { return e.ObjectID == f.ObjectID }) {
			continue
		}
		for j := range f.Fragments {
			if f.Live[j].Rows > 0 {
				gone.Add(uint64(f.FragmentIDs[j]))
			}
		}
	}
	s.Segments = slices.Clone(s.Segments)
	for i := range s.Segments {
		if x := &s.Segments[i]; x.Fragments.Intersects(gone) {
			x.Fragments = roaring64.AndNot(x.Fragments, gone)
		}
	}
}

func segmentsOf(s *IndexState) (catchup.Segments, map[int64]int64) {
	segments, tables := catchup.Segments{}, map[int64]int64{}
	for i := range s.Segments {
		x := &s.Segments[i]
		segments[x.IndexID] = append(segments[x.IndexID], catchup.Segment{Object: x.ObjectID, Fragments: x.Fragments})
		tables[x.IndexID] = x.TableID
	}
	return segments, tables
}

func positionsOf(s *IndexState) catchup.Positions {
	p := catchup.Positions{}
	for _, c := range s.CaughtUp {
		if p[c.IndexID] == nil {
			p[c.IndexID] = map[int64]uint64{}
		}
		p[c.IndexID][c.ShardID] = uint64(c.Generation)
	}
	return p
}

func progressOf(list []ShardGeneration) catchup.Progress {
	p := make(catchup.Progress, len(list))
	for _, c := range list {
		p[c.ShardID] = uint64(c.Generation)
	}
	return p
}

// current leaves out the segments of indexes that a schema does not have.
func (s *IndexState) current(p *Projection) {
	tables, relied := map[int64]bool{}, map[IndexRef]bool{}
	for _, t := range p.Tables {
		if t.Until == 0 && t.Durable {
			tables[t.ID] = true
			relied[IndexRef{t.ID, t.ID}] = true
		}
	}
	for _, i := range p.Indexes {
		if i.Until == 0 && tables[i.TableID] {
			relied[IndexRef{i.ID, i.TableID}] = true
		}
	}
	var kept []Segment
	for i := range s.Segments {
		if relied[s.Segments[i].IndexRef] {
			kept = append(kept, s.Segments[i])
		}
	}
	s.Segments = kept
}
