package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/tidemarkdb/tidemark/catalog"
)

// onlyLease is the number of the lease of a history: it has one.
const onlyLease = 1

// historyObjects are those that a history is read through.
func (s *Store) historyObjects() *objects {
	o := newObjects(s.fs)
	o.keys, o.shared = true, &s.histories.readers
	return o
}

// readHistory reads the state that a representation holds, and nothing else than the
// files that it names. budget bounds its memory, 0 for none.
func (s *Store) readHistory(ctx context.Context, o *objects, known *catalog.History, budget int64) (*root, error) {
	_, state, err := s.replayHistory(ctx, o, known, budget)
	if err != nil {
		return nil, err
	}
	state.lease = o.lease.Load()
	o.lease.current.Store(nil) // from now on only the state and its tables have it
	return state, nil
}

// replayHistory reads the state that a representation holds through some objects,
// which say whether all tables are keys tables.
func (s *Store) replayHistory(ctx context.Context, o *objects, known *catalog.History, budget int64) (_ *recovery, _ *root, err error) {
	shards, err := strconv.Atoi(s.settings["shards"])
	if err != nil {
		return nil, nil, fmt.Errorf("engine: number of shards: %w", err)
	}
	ended := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.closed()
	}
	r := newRecovery(s, o, shards)
	r.limit, r.ended = LSN(known.LSN), ended
	r.sealed, r.schema = LSN(known.LSN), LSN(known.SchemaVersion)
	r.replay.budget, r.replay.source = budget, s.opts.BudgetSource
	defer func() {
		if cerr := r.closeFiles(); err == nil && cerr != nil {
			err = fmt.Errorf("engine: closing files of a branch point: %w", cerr)
		}
	}()
	if err := r.openHistory(known); err != nil {
		return nil, nil, err
	}
	if o == s.objects { // else it is to be proven row by row
		r.useSegments(known.IndexState.Segments)
	}
	if err := r.merge(); err != nil {
		return nil, nil, err
	}
	if err := r.whole(known); err != nil {
		return nil, nil, err
	}
	if o != s.objects { // which others read through, too
		o.ended = ended
	}
	state, err := r.replay.root()
	if o != s.objects {
		o.ended = nil
	}
	if err != nil {
		return nil, nil, notMade(r.anyPath(), err)
	}
	if budget != 0 && state.memory > budget {
		return nil, nil, state.noMemory(budget)
	}
	state.content = new(content)
	return r, state, nil
}

// openHistory opens the files of a representation and checks their headers.
func (r *recovery) openHistory(known *catalog.History) error {
	s, o := r.s, r.replay.objects
	if err := baseIsOf(known.Base, known.BaseLSN); err != nil {
		return err
	}
	for _, c := range known.Base {
		f := newBaseLog(c)
		r.base = append(r.base, f)
		if err := s.open(f.generation, s.fs.OpenRead); err != nil {
			return err
		}
		o.addSealed(f.generation)
	}
	r.from = LSN(known.BaseLSN)
	for i, l := range r.shards {
		l.shard = &shard{ordinal: i}
	}
	if err := r.adopt(known.ShardOrdinal); err != nil {
		return err
	}
	for _, c := range known.Generations {
		l := r.log(uint64(c.ShardID))
		if l == nil {
			return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf("no ordinal of shard %d", c.ShardID)}
		}
		c.InHead = true
		f := &logFile{generation: newGeneration(c), cat: c}
		l.files = append(l.files, f)
		if err := s.open(f.generation, s.fs.OpenRead); err != nil {
			return err
		}
		o.addSealed(f.generation)
		f.end = f.start
		if n := len(l.files); n > 1 && l.files[n-2].info.Shard == f.info.Shard && l.files[n-2].epoch > f.epoch {
			return &CorruptError{File: f.path, Reason: fmt.Sprintf("writer epoch %d follows epoch %d", f.epoch, l.files[n-2].epoch)}
		}
	}
	return nil
}

// whole holds what was read against the world: all of each file, and nothing else.
func (r *recovery) whole(known *catalog.History) error {
	if r.last < r.limit {
		for _, l := range r.shards {
			for _, f := range l.files {
				if f.seal != nil {
					continue
				}
				if err := r.look(f, r.last+1); err != nil {
					return err
				}
			}
		}
		return r.missing()
	}
	for _, l := range r.shards {
		if l.at < len(l.files) {
			f := l.files[l.at]
			return &CorruptError{File: f.path, Offset: f.end, Reason: fmt.Sprintf("more than commits up to %d, of which the world is", known.LSN)}
		}
	}
	if t := r.replay.totals(); r.last != LSN(known.LSN) || t.rows != known.LiveCount || t.sum != sumOf(known.Fingerprint) {
		return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf(
			"world %d has %d rows and fingerprint %x at commit %d, the files of representation %d give %d and %x at commit %d",
			known.WorldID, known.LiveCount, sumOf(known.Fingerprint), known.LSN, known.RepresentationID, t.rows, t.sum, r.last)}
	}
	if v := r.replay.defs.version; v != uint64(known.SchemaVersion) {
		return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf(
			"world %d has schema %d, the files of representation %d give %d", known.WorldID, known.SchemaVersion, known.RepresentationID, v)}
	}
	return nil
}

// missing tells where the commit behind the last one should be.
func (r *recovery) missing() error {
	name := catalog.FileName
	for _, l := range r.shards {
		if len(l.files) > 0 {
			f, stop := r.place()
			return &CorruptError{File: f.path, Offset: stop.Offset, Reason: fmt.Sprintf("%s, where commit %d should be", stop.Reason, r.last+1)}
		}
	}
	return &CorruptError{File: name, Reason: fmt.Sprintf("no file has commit %d", r.last+1)}
}

// anyPath names a file when it is not known which one is meant.
func (r *recovery) anyPath() string {
	for _, l := range r.shards {
		if name := l.lastPath(); name != "" {
			return name
		}
	}
	if n := len(r.base); n > 0 {
		return r.base[n-1].path
	}
	return catalog.FileName
}

// closeFiles closes what was only read.
func (r *recovery) closeFiles() error {
	var errs []error
	for _, f := range r.base {
		errs = append(errs, f.closeRead())
	}
	for _, l := range r.shards {
		for _, f := range l.files {
			errs = append(errs, f.closeRead())
		}
	}
	return errors.Join(errs...)
}

func (g *generation) closeRead() error {
	if g.file == nil {
		return nil
	}
	f := g.file
	g.file = nil
	return f.Close()
}

// noMemory is the error of a state that does not fit a budget.
func (r *root) noMemory(budget int64) *MemoryError {
	e := &MemoryError{Estimate: r.memory, Budget: budget}
	for _, t := range r.tables {
		if n := t.ResidentBytes(); e.Largest == nil || n > e.Bytes {
			e.Largest, e.Rows, e.Bytes = t.def, t.Len(), n
		}
	}
	return e
}
