package engine

import (
	"context"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
)

// finish makes what was reserved and not made, takes the new writer epochs, and
// gives every generation its place.
func (r *recovery) finish(ctx context.Context) error {
	s := r.s
	ids := make([]int64, len(r.shards))
	for i, l := range r.shards {
		ids[i] = int64(l.id)
		for _, f := range l.unborn {
			if err := s.checkUnborn(f); err != nil {
				return err
			}
			if err := s.make(f.generation, l.epoch, r.last+1); err != nil {
				return err
			}
			s.objects.add(f.generation)
		}
	}
	epochs, err := s.cat.BumpEpochs(ctx, ids...)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	open := make([][]*logFile, len(r.shards))
	var current []catalog.ShardGeneration
	for i, l := range r.shards {
		if uint64(epochs[i]) != l.epoch {
			return fmt.Errorf("engine: writer epoch is %d, expected %d: the catalog was written by another program", epochs[i], l.epoch)
		}
		for _, f := range l.files {
			if !f.sealed() {
				open[i] = append(open[i], f)
				continue
			}
			l.cut = max(l.cut, f.info.LastLSN)
			if err := f.close(); err != nil {
				return err
			}
		}
		open[i] = append(open[i], l.unborn...)
		if n := len(open[i]); n > 0 && open[i][n-1].cat.Generation > l.cat.CurrentGeneration {
			current = append(current, catalog.ShardGeneration{ShardID: ids[i], Generation: open[i][n-1].cat.Generation})
		}
	}
	if len(current) > 0 {
		if err := s.cat.SetCurrentGenerations(ctx, current...); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	for _, f := range r.base {
		if err := f.close(); err != nil {
			return err
		}
	}
	return r.settle(ctx, open)
}

// settle gives the open files their places: those that the log has left are
// sealed, the next one is active, the ones behind it wait for their turn.
func (r *recovery) settle(ctx context.Context, open [][]*logFile) error {
	s := r.s
	active := r.active(open)
	var lacking []*shard
	for i, l := range r.shards {
		for _, f := range open[i][:active[i]] {
			if err := s.seal(ctx, f.generation); err != nil {
				return err
			}
		}
		if active[i] == len(open[i]) {
			lacking = append(lacking, l.shard)
			continue
		}
		l.gen = open[i][active[i]].generation
		for _, f := range open[i][active[i]+1:] {
			l.ready = append(l.ready, f.generation)
		}
	}
	gens, err := s.born(ctx, lacking)
	for i, g := range gens {
		lacking[i].gen = g
	}
	return err
}

// active finds the active generation of each shard: the last one with a commit,
// unless its footer is written or the shards were cut behind it. It returns a
// position in the shard's open files, which may be the one behind them.
//
// Shards rotate together, but a crash shows only what was written since: a
// shard may have a commit in its next file while another has none. The files
// that were left all end at or before the cut, so one that begins at or before
// the end of such a file was cut there, too. Going on in it would put commits
// of both sides of the cut into one file.
func (r *recovery) active(open [][]*logFile) []int {
	active := make([]int, len(open))
	cut := LSN(0)
	for i, files := range open {
		cut = max(cut, r.shards[i].cut)
		for k, f := range files {
			if f.info.LastLSN != 0 {
				active[i] = k
				if f.seal != nil {
					active[i]++
				}
			}
		}
		for _, f := range files[:active[i]] {
			cut = max(cut, f.info.LastLSN)
		}
	}
	for again := true; again; {
		again = false
		for i, files := range open {
			if active[i] == len(files) {
				continue
			}
			f := files[active[i]]
			if f.info.LastLSN != 0 && f.info.FirstLSN <= cut {
				active[i]++
				cut, again = max(cut, f.info.LastLSN), true
			}
		}
	}
	return active
}
