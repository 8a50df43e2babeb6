package engine

import (
	"context"
	"errors"

	"github.com/tidemarkdb/tidemark/catalog"
)

// CheckFiles reports what is wrong with a store that Open refuses as damaged,
// all of it, of all timelines, where Open tells of the first: the catalog, headers, frames, footers
// and digests of every generation, files that are missing or that nothing names.
// It takes the store's lock and opens the catalog as Open does, which settles what
// an earlier process left undone there; to the log it writes nothing.
//
// Rows are not compared, as there are none in memory. An unsealed file's end
// that nothing intact says was ever synced is no finding.
func CheckFiles(ctx context.Context, o Options, report func(Finding), progress func(done, total int64)) (err error) {
	o.Create = false
	if err := o.Validate(); err != nil {
		return err
	}
	o = o.withDefaults()
	s := newStore(o, newHome(o.FS))
	defer func() { err = errors.Join(err, s.abandon(ctx)) }()
	c := newChecker(ctx, s, report, progress)
	c.target, c.offline = everything(s), true
	if err := s.takeLock(); err != nil {
		if errors.Is(err, catalog.ErrCorrupt) {
			return c.catalogFound(err)
		}
		return err
	}
	if _, err := s.openCatalog(ctx); err != nil {
		return c.catalogFound(err)
	}
	state, ok, err := c.catalog()
	if err != nil || !ok {
		return err
	}
	if err := c.files(&state); err != nil {
		return err
	}
	if err := c.branches(); err != nil {
		return err
	}
	if err := c.strays(); err != nil {
		return err
	}
	return c.timelines()
}

// everything is a target behind all commits, of a timeline that is not open.
func everything(s *Store) *root {
	r := emptyRoot(s.objects)
	r.lsn = ^LSN(0)
	return r
}

// judge replays what the files hold when each for itself is sound: what is
// missing between them is found here, and what no row can be made of.
func (c *checker) judge(r *recovery) error {
	if c.damage > 0 {
		return nil
	}
	r.limit = ^LSN(0)
	c.rewind(r)
	err := r.merge()
	if err == nil {
		err = r.judge()
	}
	if err == nil {
		_, err = r.replay.root()
		if err != nil {
			err = notMade("", err)
		}
	}
	return c.found(err)
}

// claims finds the highest LSN that anything intact in any file says was synced.
func (c *checker) claims(r *recovery) error {
	for _, l := range r.shards {
		for _, f := range l.files {
			if f.sealed() {
				c.synced = max(c.synced, LSN(f.cat.LastLSN))
				continue
			}
			e, err := r.behind(f, f.start)
			if err == nil {
				err = c.ended()
			}
			if err = c.found(err); err != nil {
				return err
			}
			c.synced = max(c.synced, e.synced)
		}
	}
	return nil
}

// wasSynced reports whether what a shard lacks between two of its commits was
// durable once. Of several shards it is not known which commits these were.
func (c *checker) wasSynced(r *recovery, last, next LSN) bool {
	if len(r.shards) == 1 {
		return last < c.synced
	}
	return next <= c.synced
}
