package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

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
	for _, l := range r.shards {
		for _, f := range l.files {
			if f.sealed() {
				continue
			}
			if err := r.repairFile(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recovery) repairFile(f *logFile) error {
	if dropped := max(f.dropped-f.end, 0); dropped > 0 || !f.stop.Clean() {
		r.s.stats.DroppedBytes += dropped
		r.s.event(Event{Kind: EventTailDropped, Generation: f.number, File: f.path, Offset: f.end, Bytes: dropped, Err: f.stop.Error()})
	}
	if err := f.file.Truncate(f.end); err != nil {
		return fmt.Errorf("engine: truncating %s: %w", f.path, err)
	}
	f.tail, f.allocated, f.recovered = f.end, f.end, f.end
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
	return r.s.syncEntries(path.Dir(f.path))
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

// strays lists the object files that the catalog does not name.
func (s *Store) strays(ctx context.Context) ([]string, error) {
	found, err := s.unfamiliar()
	if err != nil || len(found) == 0 {
		return nil, err
	}
	// Looked up behind the directories: a name is the catalog's before it is there.
	objects, err := s.cat.Objects(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	named := make(map[string]bool, len(objects))
	for _, o := range objects {
		named[o.Path] = true
	}
	return slices.DeleteFunc(found, func(p string) bool { return named[p] }), nil
}

// unfamiliar lists the object files that are not of this timeline's log.
func (s *Store) unfamiliar() ([]string, error) {
	s.mu.Lock()
	named := make(map[string]bool, len(s.gens))
	for _, list := range [][]*generation{s.gens, generationsOf(s.base)} {
		for _, g := range list {
			named[g.path] = true
		}
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
func (s *Store) removeStrays(ctx context.Context) error {
	strays, err := s.strays(ctx)
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
	s.entries.take()
	defer s.entries.give()
	for _, p := range strays {
		if err := s.removeStray(p); err != nil {
			return err
		}
		s.event(Event{Kind: EventStrayRemoved, File: p})
	}
	return nil
}

// removeStray removes a file durably. Another timeline collects, too, and may have
// removed it with its directory.
func (s *Store) removeStray(p string) error {
	if err := s.fs.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine: removing %s: %w", p, err)
	}
	if err := s.fs.SyncDir(path.Dir(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &syncError{path.Dir(p), err}
	}
	return nil
}
