package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A compaction writes anew the rows that the generations it replaces have a record
// of, whatever became of them since: these are the touched rows. What they are now
// is in the state of the cut; here only their ids are gathered, 8 bytes a record at
// most while a file is read and 16 bytes a row behind it.

// replacedBy lists the generations that a base of the cut stands for, in log order
// for each shard, and per shard the newest of them. The caller holds mu.
func (s *Store) replacedBy(lsn LSN) (gens []*generation, steps []catalog.ShardGeneration) {
	newest := map[uint64]uint64{}
	for _, g := range s.gens {
		if g.info.State == catalog.GenerationSealed && g.info.LastLSN <= lsn && !g.gone {
			gens = append(gens, g)
			newest[g.info.Shard] = max(newest[g.info.Shard], g.number)
		}
	}
	// A fork also has generations of its parent's shards.
	for _, id := range slices.Sorted(maps.Keys(newest)) {
		steps = append(steps, catalog.ShardGeneration{ShardID: int64(id), Generation: int64(newest[id])})
	}
	return gens, steps
}

// touchedRows returns the ids of the rows, per table, that have a record in some
// generations: each once, ascending.
func (s *Store) touchedRows(ctx context.Context, gens []*generation, rate *byteRate) (map[TableID][]int64, error) {
	touched := map[TableID][]int64{}
	sorted := map[TableID]int{} // how many there were when they were sorted last
	for _, g := range gens {
		if err := s.touchedIn(ctx, g, rate, touched); err != nil {
			return nil, err
		}
		// Not behind each of many small files: what is sorted already would be again.
		for id, list := range touched {
			if len(list) > 2*sorted[id] {
				slices.Sort(list)
				touched[id] = slices.Compact(list)
				sorted[id] = len(touched[id])
			}
		}
	}
	for id, list := range touched {
		slices.Sort(list)
		touched[id] = slices.Compact(list)
	}
	return touched, nil
}

// touchedIn adds the rows of one file.
func (s *Store) touchedIn(ctx context.Context, g *generation, rate *byteRate, touched map[TableID][]int64) error {
	// Of one that a restore took up again, nothing was read since the open.
	copied := *g
	g = &copied
	err := s.open(g, s.fs.OpenRead)
	file := g.file
	if file != nil {
		defer func() { _ = file.Close() }() // it was only read
	}
	if err != nil {
		return err
	}
	sc := wal.NewScanner(ratedReader{file, ctx, rate}, g.start, g.info.Bytes, g.salt)
	for {
		fr, ok := sc.Next()
		if !ok {
			if stop := sc.Stop(); !stop.Clean() {
				return corruptOrRead(g.path, stop)
			}
			return &CorruptError{File: g.path, Offset: sc.Offset(), Reason: "no footer in a sealed generation"}
		}
		switch fr.Kind {
		case wal.KindPut, wal.KindDelta, wal.KindTombstone:
			ids, err := wal.CutRow(fr)
			if err != nil {
				return corruptIn(g.path, fr.Offset, err)
			}
			touched[TableID(ids.Table)] = append(touched[TableID(ids.Table)], ids.Rowid)
		case wal.KindSeal:
			if fr.End() != g.info.Bytes {
				return &CorruptError{File: g.path, Offset: fr.Offset, Reason: fmt.Sprintf("the footer ends at %d, the file was sealed as %d", fr.End(), g.info.Bytes)}
			}
			return nil
		}
	}
}
