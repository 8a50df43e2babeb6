package catalog

import (
	"context"

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
// Of a representation that is gone nothing is known.
func readVersion(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, head *headRow, entries []entryRow, before *IndexState, read int64) (*catchup.Read, error) {
	state := *before
	if read != head.RepresentationID {
		s, ok, err := indexStateOf(ctx, q, identity, read)
		if err != nil || !ok {
			return nil, err
		}
		state, entries = s, nil
	}
	if entries == nil {
		var err error
		if entries, err = readEntries(ctx, q, identity, read, 0); err != nil {
			return nil, err
		}
	}
	live, err := liveFragments(ctx, q, identity, read, entries)
	if err != nil {
		return nil, err
	}
	return &catchup.Read{Compacted: progressOf(state.Compacted), Fragments: live}, nil
}

// liveFragments are the fragments of each table in the base of a representation. One
// of which all rows are superseded counts only if its table has no other.
func liveFragments(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID int64, entries []entryRow) (map[int64]*roaring64.Bitmap, error) {
	p, err := split(representationID, entries)
	if err != nil {
		return nil, err
	}
	files, _, err := baseFiles(ctx, q, identity, p.bases)
	if err != nil {
		return nil, err
	}
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
		}
	}
	for table, b := range dead {
		if live[table] == nil {
			live[table] = b
		}
	}
	return live, nil
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
