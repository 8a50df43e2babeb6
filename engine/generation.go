package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// generation is one file of the log.
//
// Its life: the catalog reserves it ("unborn": there may be a file or not, and
// what it holds means nothing) → the file is made with a synced header under
// synced directories, and the catalog names it current ("born": a missing file
// or a bad header is damage from here on) → transactions are appended → the
// next one takes over → it is sealed once its last commit is durable.
type generation struct {
	number uint64
	object uint64
	path   string
	epoch  uint64 // of the writer that made the file
	salt   wal.Salt
	file   vfs.File // nil once sealed and closed
	slot   uint32   // in Store.objects, once the file was made or opened
	start  int64    // end of the header
	least  LSN      // no commit before it lies in the file

	gone bool // the base stands for it; guarded by Store.mu once the store is open

	recovered int64 // end of what the open found in the file, all of it synced

	// The write end, guarded by the write lock.
	tail      int64 // where the next frame goes
	allocated int64 // size of the file
	step      int64 // last preallocation step
	marked    bool  // the last frame is a close mark

	// Guarded by Store.mu.
	batch *batch // the last one with bytes in the file
	info  GenerationInfo
	// What the file contributes to the fingerprint of the store: the sum of its
	// commits' contributions, known once it is sealed, and what its schema
	// changes took away.
	native, lost row.Sum
}

// Preallocation grows in steps that double, so that a small store stays small
// and a busy one rarely extends its file.
const (
	firstStep = 64 << 10
	lastStep  = 4 << 20
	pageSize  = 4 << 10
)

func newGeneration(c catalog.Generation) *generation {
	return &generation{
		number: uint64(c.Generation),
		object: uint64(c.ObjectID),
		path:   c.Path,
		info: GenerationInfo{
			Shard: uint64(c.ShardID), Generation: uint64(c.Generation), Object: uint64(c.ObjectID),
			File: c.Path, State: c.State,
		},
	}
}

// reserve makes sure that n bytes from the tail on are backed by storage, and
// that the next sync of them need not write the file's size. Without room it
// returns ErrFull and the file is as before. limit is the size the generation
// should end at.
func (g *generation) reserve(n, limit int64) error {
	need := g.tail + n
	if need+closeMarkSize <= g.allocated {
		return nil
	}
	step := min(max(2*g.step, firstStep), lastStep)
	size := max(min(g.allocated+step, limit), need+closeMarkSize)
	size = (size + pageSize - 1) &^ (pageSize - 1)
	err := g.file.Preallocate(size)
	if err == nil {
		g.step, g.allocated = step, size
		return nil
	}
	if need <= g.allocated {
		return nil // only the comfort failed
	}
	if isFull(err) {
		if err = g.file.Preallocate(need); err == nil {
			g.allocated = need
			return nil
		}
	}
	if isFull(err) {
		return fmt.Errorf("%w: %d bytes in %s: %w", ErrFull, n, g.path, err)
	}
	return fmt.Errorf("engine: preallocating %s: %w", g.path, err)
}

// withFull makes an error that comes of a lack of space an ErrFull.
func withFull(err error) error {
	if err != nil && isFull(err) && !errors.Is(err, ErrFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, catalog.ErrFull)
}

// header is the first frame of a file made by this process.
func (s *Store) header(g *generation, first LSN) *wal.Header {
	return &wal.Header{
		Format:      wal.Format,
		StoreID:     s.id,
		ShardID:     g.info.Shard,
		Generation:  g.number,
		ObjectID:    g.object,
		WriterEpoch: g.epoch,
		Salt:        g.salt,
		FirstLSN:    uint64(first),
	}
}

// make creates the file of an unborn generation. What an interrupted attempt
// left is removed, and the fresh salt makes sure that no byte of it passes for
// a frame. When make returns, header and directory entries are synced. A failed
// sync is a *syncError: the caller must not retry.
func (s *Store) make(g *generation, epoch uint64, first LSN) (err error) {
	g.epoch = epoch
	if _, err := rand.Read(g.salt[:]); err != nil {
		return fmt.Errorf("engine: salt of %s: %w", g.path, err)
	}
	b := wal.NewBuilder(g.salt, 0, nil)
	if err := b.Header(s.header(g, first)); err != nil {
		return err
	}
	// A failed sync of a directory is told once, and to whoever asked: he must be the
	// one who made the entry.
	s.entries.take()
	defer s.entries.give()
	if err := s.mkdirs(path.Dir(g.path)); err != nil {
		return fmt.Errorf("engine: directory of %s: %w", g.path, err)
	}
	f, err := s.fs.Create(g.path)
	if errors.Is(err, fs.ErrExist) {
		// Not cut and used again: a new entry is part of the next sync of the
		// directory, the old one may have missed the last.
		if err := s.fs.Remove(g.path); err != nil {
			return fmt.Errorf("engine: creating %s: %w", g.path, err)
		}
		f, err = s.fs.Create(g.path)
	}
	if err != nil {
		return fmt.Errorf("engine: creating %s: %w", g.path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first cause counts
		}
	}()
	if _, err := f.WriteAt(b.Bytes(), 0); err != nil {
		return fmt.Errorf("engine: header of %s: %w", g.path, err)
	}
	if err := f.Sync(); err != nil {
		return &syncError{g.path, err}
	}
	if err := s.syncDirs(path.Dir(g.path)); err != nil {
		return err
	}
	g.file, g.start, g.tail, g.allocated = f, b.Offset(), b.Offset(), b.Offset()
	return nil
}

// mkdirs makes dir and the directories above it.
func (s *Store) mkdirs(dir string) error {
	if dir == "." {
		return nil
	}
	if err := s.mkdirs(path.Dir(dir)); err != nil {
		return err
	}
	return s.fs.Mkdir(dir)
}

// syncDirs syncs dir, and the directories above it that hold an entry which is not
// known to last, also those that existed before: an earlier process may have died
// between making and syncing them. The caller has his turn at entries.
func (s *Store) syncDirs(dir string) error {
	for below := ""; ; below, dir = dir, path.Dir(dir) {
		if !s.lasting[below] {
			if err := s.fs.SyncDir(dir); err != nil {
				return &syncError{dir, err}
			}
			if below != "" {
				s.lasting[below] = true
			}
		}
		if dir == "." {
			return nil
		}
	}
}

// open opens the file of a born generation, for writing or reading, and checks
// its header.
func (s *Store) open(g *generation, how func(name string) (vfs.File, error)) error {
	f, err := opened(g.path, how)
	if err != nil {
		return err
	}
	g.file = f
	g.allocated, err = f.Size()
	if err != nil {
		return fmt.Errorf("engine: size of %s: %w", g.path, err)
	}
	h, start, err := wal.ReadHeader(f, g.allocated)
	if err != nil {
		return headerError(g.path, err)
	}
	g.epoch, g.salt, g.least, g.start, g.tail = h.WriterEpoch, h.Salt, LSN(h.FirstLSN), start, start
	if g.info.State == catalog.GenerationSealed && slices.Contains(s.lineage, h.StoreID) {
		h.StoreID = s.id // its bytes are older than the store, and came with a backup
	}
	return checkHeader(g, &h, s.id, g.info.Shard)
}

// opened opens a file that the catalog names.
func opened(name string, how func(name string) (vfs.File, error)) (vfs.File, error) {
	f, err := how(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptError{File: name, Reason: "the file is missing", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("engine: opening %s: %w", name, err)
	}
	return f, nil
}

// headerError tells damage from a file that a later version wrote and from a
// failed read.
func headerError(file string, err error) error {
	var c *wal.CorruptError
	if errors.As(err, &c) {
		return corruptIn(file, 0, err)
	}
	return fmt.Errorf("engine: header of %s: %w", file, err)
}

// checkHeader refuses a file that is not the one the catalog names.
func checkHeader(g *generation, h *wal.Header, store [16]byte, shard uint64) error {
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"store", h.StoreID, store},
		{"shard", h.ShardID, shard},
		{"generation", h.Generation, g.number},
		{"object", h.ObjectID, g.object},
	} {
		if c.got != c.want {
			return &CorruptError{File: g.path, Reason: fmt.Sprintf("header of %s %v, the catalog says %v", c.what, c.got, c.want)}
		}
	}
	return nil
}

// syncEntries is syncDirs for who has made no entry himself since he took his turn.
func (s *Store) syncEntries(dir string) error {
	s.entries.take()
	defer s.entries.give()
	return s.syncDirs(dir)
}

// syncError marks a sync that failed: what it should have made durable may be
// lost although the file still shows it, so nothing may be built on it.
type syncError struct {
	name string
	err  error
}

func (e *syncError) Error() string { return fmt.Sprintf("engine: sync of %s: %v", e.name, e.err) }

func (e *syncError) Unwrap() error { return e.err }
