package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Severity grades a Finding.
type Severity uint8

// Severities.
const (
	// Warning: nothing is lost or wrong, but it should not be there.
	Warning Severity = iota + 1
	// Damage: rows are lost or wrong, or will be after a restart.
	Damage
)

// String names the severity.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "damage"
}

// Finding is one violation that Check found.
type Finding struct {
	Severity Severity
	File     string // "" when it is about what is in memory
	Offset   int64
	Text     string
}

// String is one line.
func (f Finding) String() string {
	if f.File == "" {
		return fmt.Sprintf("%s: %s", f.Severity, f.Text)
	}
	return fmt.Sprintf("%s: %s at offset %d: %s", f.Severity, f.File, f.Offset, f.Text)
}

// checker is one run of Check.
type checker struct {
	ctx      context.Context
	s        *Store
	target   *root // what is checked: everything up to its LSN
	report   func(Finding)
	progress func(done, total int64)
	done     int64
	total    int64
	damage   int
	open     map[uint64]extent // of the objects that are not sealed
	offline  bool              // the store could not be opened: all there is, is checked
	synced   LSN               // what anything intact says was synced, when offline
	read     map[int64]bool    // sealed objects that were read, for whatever needs them
	seen     map[int64]bool    // representations that were replayed
}

// extent says how far an unsealed file must be intact.
type extent struct {
	appended  int64 // end of the last commit
	recovered int64 // end of what the last open found and synced
}

// Check verifies the store as of the newest durable commit, while it is in use,
// and reports all it finds wrong:
//
//   - every frame of every generation: checksum, form, place in its transaction;
//   - headers, footers, digests, extents and numbers against the catalog;
//   - the rows and schema in memory against a second replay of the log, in which
//     every commit's contribution is recomputed;
//   - the timeline's head against the state that the log gives at its commit;
//   - every index against the rows;
//   - every index segment: its file, its entries against the rows of the base, and what
//     its index is said to have caught up with;
//   - every branch point: its files, and the state that they give against its world;
//   - every other timeline: its files, and the state that they give against its head;
//     of one that is open its memory, too, as above;
//   - the catalog: SQLite's own integrity, the schema and every row that recovery
//     relies on, and what it shows of the tables and indexes;
//   - files that are missing or that nothing names.
//
// Findings are reported as they are found and not kept. The second replay needs
// the memory of a second copy of the rows of one timeline after another; everything
// else reads in blocks.
// progress, which may be nil, counts bytes of the log. The error is about Check
// itself: ctx ended, or the store was closed, the catalog or a directory could
// not be read.
//
// Open repairs what it may: a tail that was never acknowledged, files of an
// interrupted rotation, the catalog's tables of tables and indexes. Check sees
// what Open left. A store that Open refuses is for CheckFiles.
func (s *Store) Check(ctx context.Context, report func(Finding), progress func(done, total int64)) error {
	c := newChecker(ctx, s, report, progress)
	if ok, err := c.own(); err != nil || !ok {
		return err
	}
	return c.timelines()
}

func newChecker(ctx context.Context, s *Store, report func(Finding), progress func(done, total int64)) *checker {
	c := &checker{ctx: ctx, s: s, progress: progress, read: map[int64]bool{}, seen: map[int64]bool{}}
	c.report = func(f Finding) {
		if f.Severity == Damage {
			c.damage++
		}
		report(f)
	}
	return c
}

// own checks the own timeline and what all of them share. ok reports whether there may
// be others to be checked.
func (c *checker) own() (ok bool, err error) {
	s := c.s
	// Sealing changes files under the reader: it waits until Check is done.
	s.checks.RLock()
	defer s.checks.RUnlock()
	s.sealing.RLock()
	defer s.sealing.RUnlock()
	if s.reader != nil {
		return false, ErrReadOnly
	}
	if err := s.closed(); err != nil {
		return false, err
	}
	c.target = s.durable.Load()
	if s.opts.Memory {
		return false, c.tables()
	}
	state, ok, err := c.catalog()
	if err != nil {
		return false, err
	}
	if ok {
		if err := c.files(&state); err != nil {
			return false, err
		}
		if err := c.branches(); err != nil {
			return false, err
		}
		if err := c.projection(); err != nil {
			return false, err
		}
	}
	if err := c.tables(); err != nil {
		return false, err
	}
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
	if !ok {
		return false, nil // every file would be a stray
	}
	return true, c.strays()
}

// tables checks that what is in memory agrees with itself.
func (c *checker) tables() error {
	for _, t := range c.target.tables {
		if err := c.ended(); err != nil {
			return err
		}
		err := t.verify(!c.s.opts.Memory, func(text string) { c.report(Finding{Damage, "", 0, text}) }, c.found)
		if err != nil {
			return err
		}
	}
	return nil
}

// ended reports that the check must stop: its context ended or the store was
// closed.
func (c *checker) ended() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return c.s.closed()
}

func (c *checker) files(state *catalog.State) error {
	defer c.cover(state)
	r := newRecovery(c.s, c.s.objects, len(state.Shards))
	r.limit = c.target.lsn
	r.passes(&state.Timeline)
	for i, sh := range state.Shards {
		r.shards[i].shard, r.shards[i].cat = &shard{id: uint64(sh.ID), ordinal: i}, sh
	}
	defer func() {
		for _, l := range r.shards {
			for _, f := range l.files {
				_ = f.file.Close() // it was only read
			}
		}
		for _, f := range r.base {
			_ = f.file.Close() // it was only read
		}
	}()
	if err := c.openBaseFiles(r, state); err != nil {
		return err
	}
	c.open = map[uint64]extent{}
	c.s.mu.Lock()
	for _, g := range c.s.gens {
		c.open[g.object] = extent{g.info.Bytes, g.recovered}
	}
	c.s.mu.Unlock()
	if err := r.adopt(state.ShardOrdinal); err != nil {
		return c.found(err)
	}
	for _, g := range state.Inherited {
		if err := c.openFile(r.log(uint64(g.ShardID)), g); err != nil {
			return err
		}
	}
	for _, g := range state.Generations {
		l := r.log(uint64(g.ShardID))
		if g.State == catalog.GenerationCollected || g.Generation < l.cat.ReplayFrom && !g.InHead || g.Generation > l.cat.CurrentGeneration || l.cat.WriterEpoch == 0 {
			continue // gone, not to be read, or reserved: recovery knows why
		}
		if err := c.openFile(l, g); err != nil {
			return err
		}
	}
	for _, l := range r.shards {
		l.order()
	}
	if c.offline {
		if err := c.claims(r); err != nil {
			return err
		}
	}
	for _, f := range r.base {
		if c.covered(f.generation) {
			continue
		}
		if err := c.baseFile(f); err != nil {
			return err
		}
	}
	last := r.from
	for _, l := range r.shards {
		lsn := r.from
		for _, f := range l.files {
			// What a restore undid is missing in between.
			if f.cat.InHead {
				lsn = max(lsn, LSN(f.cat.FirstLSN)-1)
			} else {
				lsn = max(lsn, r.sealed)
			}
			if c.covered(f.generation) {
				lsn = LSN(f.cat.LastLSN)
				continue
			}
			var err error
			if lsn, err = c.file(r, l, f, lsn); err != nil {
				return err
			}
		}
		lsn = max(lsn, r.sealed)
		last = max(last, lsn)
	}
	if c.offline {
		if err := c.judge(r); err != nil || c.damage > 0 {
			return err
		}
		return c.segments("", state.Base, &state.IndexState, state.Retained, r.replay.defs)
	}
	if last != c.target.lsn && len(r.shards) == 1 { // of several, the replay finds what is missing where
		c.report(Finding{Damage, "", 0, fmt.Sprintf("the log holds commits up to %d, the state is of commit %d", last, c.target.lsn)})
	}
	if c.damage > 0 {
		return nil // a replay would only fail where a finding is already
	}
	if err := c.replay(r); err != nil || c.damage > 0 {
		return err
	}
	return c.segments("", state.Base, &state.IndexState, state.Retained, r.replay.defs, c.target.schema)
}

// found reports an error about bytes and returns any other.
func (c *checker) found(err error) error {
	var bad *CorruptError
	if errors.As(err, &bad) {
		c.report(Finding{Damage, bad.File, bad.Offset, bad.Reason})
		return nil
	}
	return err
}

func (c *checker) strays() error {
	strays, err := c.s.strays(c.ctx)
	if err != nil {
		return err
	}
	for _, p := range strays {
		c.report(Finding{Warning, p, 0, "the catalog does not name this file"})
	}
	return nil
}
