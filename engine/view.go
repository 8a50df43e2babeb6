package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A view is what a process that does not write reads a timeline from: the files of
// one acquisition, replayed as recovery does, but that nothing is changed. It goes on
// with the tails of its files as the writer says that they are durable, and takes
// the next files of the log; so a state costs the commits since the last one. When
// the head begins with other files than the view, there is a new view.
//
// All its states have one lease. When that has ended, nobody reads a row through the
// view any more, and its pin goes.
type view struct {
	s       *Store // of its own: shards, files and objects are this view's
	r       *recovery
	state   catalog.State
	pin     catalog.Pin
	objects *objects
	lease   *lease
	cut     bool // it ends where recovery would cut the log, not at a commit that was told of
}

// errBehind: the files that are known do not reach the commit that is durable.
var errBehind = errors.New("engine: the log goes on in files that are not known")

// growing is a file that is read while it is written to, or sealed, which cuts it off:
// what is not there reads as what nobody has written yet.
type growing struct{ vfs.File }

func (f growing) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	if err != nil && errors.Is(err, io.EOF) {
		clear(b[n:])
		return len(b), nil
	}
	return n, err
}

// openView reads the state of a reading: up to a commit, or as far as the head goes if
// that is further, or with cut to where recovery would cut the log. After an error the
// pin is the caller's.
func (s *Store) openView(known *catalog.Reading, to LSN, cut bool, ended func() error) (_ *view, _ *root, err error) {
	v := &view{state: known.State, pin: known.Pin, cut: cut}
	v.s = newStore(s.opts, s.home)
	v.s.endWork()
	v.objects = v.s.objects
	v.lease = v.objects.lease.Load()
	defer func() {
		if err != nil {
			err = errors.Join(err, v.close())
		}
	}()
	if v.r, err = v.s.openLog(&v.state); err != nil {
		return nil, nil, err
	}
	v.r.tails, v.r.ended = true, ended
	v.r.limit = max(to, LSN(v.state.Timeline.LSN))
	if v.cut {
		v.r.limit = ^LSN(0)
	}
	if err := v.r.merge(); err != nil {
		return nil, nil, err
	}
	if v.cut {
		err = v.r.judge()
	} else if v.r.last < v.r.limit {
		err = fmt.Errorf("%w: %w", errBehind, v.missing())
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := v.made()
	if err != nil {
		return nil, nil, err
	}
	return v, r, nil
}

// missing is the error of a log that ends before what is known to be durable.
func (v *view) missing() error {
	for _, l := range v.r.shards {
		for _, f := range l.files {
			if f.seal == nil {
				if err := v.r.look(f, v.r.last+1); err != nil {
					return err
				}
			}
		}
	}
	return v.r.missing()
}

// made returns the state that was replayed, and lets go of files that are read to
// their end.
func (v *view) made() (*root, error) {
	state, err := v.r.replay.root()
	if err != nil {
		return nil, notMade(v.r.anyPath(), err)
	}
	if err := state.checkLimits(); err != nil {
		return nil, err
	}
	if err := v.s.checkBudget(state); err != nil {
		return nil, err
	}
	state.content, state.lease = new(content), v.lease
	var errs []error
	for _, f := range v.r.base {
		errs = append(errs, f.closeRead())
	}
	for _, l := range v.r.shards {
		for _, f := range l.files {
			if f.seal != nil && f.sealed() {
				v.objects.sealed(f.generation)
				errs = append(errs, f.closeRead())
			}
		}
	}
	return state, errors.Join(errs...)
}

// advance reads on to a commit. After an error other than errBehind the view is of no
// use.
func (v *view) advance(to LSN, ended func() error) (*root, error) {
	r := v.r
	r.limit, r.ended, r.marks, r.lacks, v.cut = to, ended, 0, nil, false
	r.replay.follows = true
	for _, l := range r.shards {
		l.sc, l.tx, l.kind = nil, l.tx[:0], 0
		l.at = slices.IndexFunc(l.files, func(f *logFile) bool { return f.seal == nil })
		if l.at < 0 {
			l.at = len(l.files)
		}
		for _, f := range l.files[l.at:] {
			size, err := f.file.Size()
			if err != nil {
				return nil, fmt.Errorf("engine: size of %s: %w", f.path, err)
			}
			f.allocated, f.scanned = size, false
		}
	}
	if err := r.goOn(); err != nil {
		return nil, err
	}
	if r.last < r.limit {
		return nil, errBehind
	}
	return v.made()
}

// extend takes the files that a later reading has behind those of the view. It reports
// false when that one begins with other files or leaves some out: then a compaction or
// a restore came between, and the view cannot go on.
func (v *view) extend(known *catalog.Reading) (bool, error) {
	now := &known.State
	if !slices.EqualFunc(v.state.Base, now.Base, func(a, b catalog.BaseFile) bool { return a.ObjectID == b.ObjectID }) {
		return false, nil
	}
	used := map[int64]*catalog.Generation{}
	for i := range now.Generations {
		if g := &now.Generations[i]; now.Replayed(g) {
			used[g.ObjectID] = g
		}
	}
	for i := range now.Inherited {
		used[now.Inherited[i].ObjectID] = &now.Inherited[i]
	}
	r := v.r
	have := map[int64]bool{}
	for _, l := range r.shards {
		for _, f := range l.files {
			g := used[int64(f.object)]
			if g == nil {
				return false, nil
			}
			f.cat, have[g.ObjectID] = *g, true
		}
	}
	for _, c := range now.Generations {
		l := r.log(uint64(c.ShardID))
		if l == nil {
			return false, nil
		}
		sh := &now.Shards[l.ordinal]
		if used[c.ObjectID] == nil || have[c.ObjectID] || c.Generation > sh.CurrentGeneration {
			continue
		}
		f := &logFile{generation: newGeneration(c), cat: c}
		f.native = sumOf(c.Fingerprint)
		if err := v.s.open(f.generation, v.s.fs.OpenRead); err != nil {
			return false, errors.Join(err, f.closeRead())
		}
		v.objects.add(f.generation)
		f.end = f.start
		l.files = append(l.files, f)
		v.s.gens = append(v.s.gens, f.generation)
	}
	if head := &now.Timeline; LSN(head.LSN) > r.last {
		r.head = head
	}
	v.state = *now
	return true, nil
}

// end lets go of all that only the newest view needs.
func (v *view) end() {
	v.r, v.lease = nil, nil
	v.objects.lease.current.Store(nil)
}

// over reports that nobody reads through the view any more.
func (v *view) over() bool { return v.r == nil && v.objects.lease.over(onlyLease) }

// close closes the files of a view, of which nothing can be read any more.
func (v *view) close() error {
	errs := []error{v.objects.close()}
	for _, list := range [][]*generation{v.s.gens, generationsOf(v.s.base)} {
		for _, g := range list {
			errs = append(errs, g.closeRead())
		}
	}
	return errors.Join(errs...)
}

// infos are what the store tells of its files.
func (v *view) infos() []*generation {
	list := make([]*generation, len(v.s.gens))
	for i, g := range v.s.gens {
		list[i] = &generation{number: g.number, object: g.object, path: g.path, info: g.info, gone: g.gone}
	}
	return list
}
