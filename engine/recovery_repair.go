package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// repair makes every file that is not sealed end at the cut, durably.
//
// It never takes away what it may not: a file is only overwritten with the
// bytes it has. Overwriting matters although the bytes are there: after a
// failed sync the page cache shows them as clean while the disk may lack them,
// and only bytes written again are part of the next sync.
func (r *recovery) repair() error {
	for _, f := range r.files {
		if f.sealed() {
			continue
		}
		if dropped := max(f.dropped-f.end, 0); dropped > 0 || !f.stop.Clean() {
			r.s.stats.DroppedBytes += dropped
			r.s.event(Event{Kind: EventTailDropped, Generation: f.number, File: f.path, Offset: f.end, Bytes: dropped, Err: f.stop.Error()})
		}
		if err := f.file.Truncate(f.end); err != nil {
			return fmt.Errorf("engine: truncating %s: %w", f.path, err)
		}
		f.tail, f.allocated = f.end, f.end
		if f.seal == nil {
			// Writes to come must not change the size. Without room for that
			// the store still opens; a transaction will get ErrFull.
			if err := f.reserve(0, r.s.log.limit); err != nil && !isFull(err) {
				return err
			}
		}
		if err := f.rewrite(f.synced, f.end); err != nil {
			return fmt.Errorf("engine: writing %s again: %w", f.path, err)
		}
		if err := f.file.Sync(); err != nil {
			return &syncError{f.path, err}
		}
		if err := r.s.syncDirs(path.Dir(f.path)); err != nil {
			return err
		}
	}
	return nil
}

// rewrite writes the bytes of a range over themselves.
func (f *logFile) rewrite(from, to int64) error {
	buf := make([]byte, min(to-from, wal.BlockSize))
	for from < to {
		b := buf[:min(to-from, int64(len(buf)))]
		if n, err := f.file.ReadAt(b, from); n < len(b) {
			return err
		}
		if _, err := f.file.WriteAt(b, from); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return nil
}

// finish makes what was reserved and not made, takes the new writer epoch, and
// gives every generation its place.
func (r *recovery) finish(ctx context.Context, current int64) error {
	s := r.s
	for _, f := range r.unborn {
		if err := s.checkUnborn(f); err != nil {
			return err
		}
		if err := s.make(f.generation, r.last+1); err != nil {
			return err
		}
	}
	epoch, err := s.cat.BumpEpoch(ctx, int64(s.shard))
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if uint64(epoch) != s.epoch {
		return fmt.Errorf("engine: writer epoch is %d, expected %d: the catalog was written by another program", epoch, s.epoch)
	}
	open := make([]*logFile, 0, 2)
	for _, f := range r.files {
		if f.sealed() {
			if err := f.close(); err != nil {
				return err
			}
			continue
		}
		open = append(open, f)
	}
	open = append(open, r.unborn...)
	if n := len(open); n > 0 && open[n-1].cat.Generation > current {
		if err := s.cat.SetCurrentGeneration(ctx, int64(s.shard), open[n-1].cat.Generation); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	return r.place(ctx, open)
}

// place finds the active generation: the last one with a commit, unless its
// footer is written. The ones before it are sealed, the ones behind it wait
// for their turn.
func (r *recovery) place(ctx context.Context, open []*logFile) error {
	s := r.s
	active := 0
	for i, f := range open {
		if f.info.LastLSN != 0 {
			active = i
			if f.seal != nil {
				active++
			}
		}
	}
	for _, f := range open[:min(active, len(open))] {
		if err := s.seal(ctx, f.generation); err != nil {
			return err
		}
	}
	if active >= len(open) {
		g, err := s.born(ctx, s.lastGeneration()+1)
		if err != nil {
			return err
		}
		s.gens = append(s.gens, g)
		s.log.gen = g
		return nil
	}
	s.log.gen = open[active].generation
	for _, f := range open[active+1:] {
		s.chores.ready = append(s.chores.ready, f.generation)
	}
	return nil
}

func (g *generation) close() error {
	f := g.file
	g.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("engine: closing %s: %w", g.path, err)
	}
	return nil
}

// checkUnborn refuses to make a file anew that holds commits.
func (s *Store) checkUnborn(f *logFile) error {
	err := s.holdsCommits(f.path)
	var c *CorruptError
	if errors.As(err, &c) {
		c.Reason += " although the catalog never named it current: catalog.db is older than the log"
	}
	return err
}

// holdsCommits returns a *CorruptError when a file that should hold nothing
// holds an intact commit. A file that is missing or no log holds none.
func (s *Store) holdsCommits(name string) error {
	f, err := s.fs.OpenRead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("engine: opening %s: %w", name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("engine: size of %s: %w", name, err)
	}
	h, start, err := wal.ReadHeader(f, size)
	var bad *wal.CorruptError
	if errors.As(err, &bad) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("engine: header of %s: %w", name, err)
	}
	for c, err := range wal.FindCommits(f, start, size, h.Salt) {
		if err != nil {
			return fmt.Errorf("engine: reading %s: %w", name, err)
		}
		if c.Kind == wal.KindCommit {
			return &CorruptError{File: name, Offset: c.Offset, Reason: fmt.Sprintf("commit %d is in this file", c.Commit.LSN)}
		}
	}
	return nil
}

// strays lists the object files that are not of the log.
func (s *Store) strays() ([]string, error) {
	s.mu.Lock()
	named := make(map[string]bool, len(s.gens))
	for _, g := range s.gens {
		named[g.path] = true
	}
	s.mu.Unlock()
	var found []string
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		names, err := s.fs.List(dir)
		if err != nil {
			return fmt.Errorf("engine: listing %s: %w", dir, err)
		}
		for _, name := range names {
			p := path.Join(dir, name)
			info, err := s.fs.Stat(p)
			if err != nil {
				return fmt.Errorf("engine: %w", err)
			}
			switch {
			case info.Dir && depth < 2:
				if err := walk(p, depth+1); err != nil {
					return err
				}
			case !info.Dir && isObject(name) && !named[p]:
				found = append(found, p)
			}
		}
		return nil
	}
	err := walk(objectsDir, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}

const objectsDir = "objects"

// isObject reports whether a base name is one that the engine gives.
func isObject(name string) bool {
	const digits = 16
	if len(name) < digits {
		return false
	}
	for _, c := range name[:digits] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	ext := name[digits:]
	return ext == "."+catalog.KindKV || ext == "."+catalog.KindIndex
}

// removeStrays removes what an interrupted creation left. A name is committed
// to the catalog before its file is made, so a file with commits that the
// catalog does not know means that the catalog is not the one of these files:
// then nothing is removed and the open is refused.
func (s *Store) removeStrays() error {
	strays, err := s.strays()
	if err != nil {
		return err
	}
	for _, p := range strays {
		err := s.holdsCommits(p)
		var c *CorruptError
		if errors.As(err, &c) {
			c.Reason += ", which catalog.db does not name: it is missing, older, or of another store"
		}
		if err != nil {
			return err
		}
	}
	for _, p := range strays {
		if err := s.fs.Remove(p); err != nil {
			return fmt.Errorf("engine: removing %s: %w", p, err)
		}
		if err := s.fs.SyncDir(path.Dir(p)); err != nil {
			return &syncError{path.Dir(p), err}
		}
		s.event(Event{Kind: EventStrayRemoved, File: p})
	}
	return nil
}
