package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Restore makes a store in the directory dir, which must not exist or be empty, of
// the backup in another one. Every file is held against its digest as it is copied.
// The store is one of its own, with an identity that no other has; it is there when
// its catalog has its name, which is the last step: until then nothing opens the
// directory, and another Restore of the same backup goes on in it. progress, which
// may be nil, counts bytes of files.
func Restore(ctx context.Context, backup, dir string, progress func(done, total int64)) error {
	from, err := siteAt(backup)
	if err != nil {
		return err
	}
	to, err := siteAt(dir)
	if err != nil {
		return err
	}
	return restoreFrom(ctx, from, to, progress)
}

func restoreFrom(ctx context.Context, from, to *site, progress func(done, total int64)) (err error) {
	m, err := from.complete()
	if err != nil {
		return err
	}
	if to.within(from.dir) {
		return &BackupError{Dir: to.dir, Reason: "is in the directory of the backup", Hint: "name a directory elsewhere"}
	}
	if err := to.outsideStores(); err != nil {
		return err
	}
	if err := to.restorable(); err != nil {
		return err
	}
	if err := makeDir(to.dir); err != nil {
		return err
	}
	lock, err := to.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := to.restorable(); err != nil {
		return err
	}
	if err := to.removeCatalog(newCatalog); err != nil {
		return err
	}
	sum, size, err := copyCatalog(ctx, from.real, catalog.FileName, to.real, newCatalog)
	if errors.Is(err, fs.ErrNotExist) {
		return &BackupError{Dir: from.dir, Reason: "has no " + catalog.FileName, Hint: "use another backup"}
	}
	if err != nil {
		return err
	}
	if size != m.CatalogBytes || hexOf(sum) != m.CatalogSHA256 {
		return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf("its %d bytes have digest %x; %s says %d and %s", size, sum, backupManifest, m.CatalogBytes, m.CatalogSHA256)}
	}
	// The name tells that a restore is under way here, before any file does.
	if err := to.real.SyncDir("."); err != nil {
		return &syncError{to.dir, err}
	}
	return withFull(restoreFiles(ctx, from, to, progress))
}

func restoreFiles(ctx context.Context, from, to *site, progress func(done, total int64)) error {
	file := filepath.Join(to.dir, newCatalog)
	contents, err := catalog.ReadCopy(ctx, file)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	c := &copier{ctx: ctx, from: from.fs, to: to.fs, progress: progress}
	if err := c.objects(contents.Objects); err != nil {
		return err
	}
	identity, err := catalog.RenewCopy(ctx, file, time.Now())
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if err := makeLogs(to, identity, contents.Logs); err != nil {
		return err
	}
	return to.renameCatalog(newCatalog)
}

// makeLogs makes the files that the logs go on in.
func makeLogs(to *site, identity [16]byte, logs []catalog.CopiedLog) error {
	s := newStore(Options{Dir: to.dir, FS: to.fs}.withDefaults(), newHome(to.fs))
	defer s.endWork()
	s.id = identity
	for _, l := range logs {
		g := newGeneration(catalog.Generation{ShardID: l.ShardID, Generation: l.Generation, ObjectID: l.ObjectID, Path: l.Path, State: catalog.GenerationOpen})
		if err := s.make(g, uint64(l.Epoch), LSN(l.LSN)+1); err != nil {
			return err
		}
		if err := g.file.Close(); err != nil {
			return fmt.Errorf("engine: closing %s: %w", l.Path, err)
		}
	}
	return nil
}

// complete reads what BACKUP says of a backup.
func (p *site) complete() (manifest, error) {
	m, err := p.readManifest(backupManifest)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if _, err := p.fs.Stat(backupPartial); err == nil {
		return m, &BackupError{Dir: p.dir, Reason: "is a backup that was not finished", Hint: "run the backup again, which goes on with it"}
	}
	return m, &BackupError{Dir: p.dir, Reason: "is no backup: it has no file " + backupManifest, Hint: "name a directory that tidemark backup wrote"}
}

// restorable refuses a directory that holds anything but the beginning of a restore.
func (p *site) restorable() error {
	names, err := p.names()
	if err != nil || len(names) == 0 {
		return err
	}
	for _, name := range names {
		if name == newCatalog {
			return nil
		}
	}
	return &BackupError{Dir: p.dir, Reason: fmt.Sprintf("is not empty: there is %s", names[0]), Hint: "name a directory that does not exist or is empty"}
}

// refuseMetadata refuses a catalog whose files are not there at all: a copy of
// catalog.db alone, which is a backup of the metadata and of no row.
func (s *Store) refuseMetadata(state *catalog.State) error {
	var needed []string
	for i := range state.Base {
		needed = append(needed, state.Base[i].Path)
	}
	for i := range state.Generations {
		g := &state.Generations[i]
		j := slices.IndexFunc(state.Shards, func(sh catalog.Shard) bool { return sh.ID == g.ShardID })
		if sh := &state.Shards[j]; sh.WriterEpoch > 0 && g.Generation <= sh.CurrentGeneration && (g.InHead || g.Generation >= sh.ReplayFrom) {
			needed = append(needed, g.Path)
		}
	}
	for _, name := range needed {
		if _, err := s.fs.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return nil // what else is wrong, recovery tells
		}
	}
	if len(needed) == 0 {
		return nil
	}
	if others, err := objectFiles(s.fs); err == nil && len(others) > 0 {
		return nil // of another timeline: it is files that are missing, not all of them
	}
	return &CorruptError{File: needed[0], Reason: fmt.Sprintf(
		"metadata backup: files are missing, all %d that %s names; put the directory objects beside it, or restore a whole backup", len(needed), catalog.FileName)}
}

// objectFiles lists the files of objects in a place.
func objectFiles(files vfs.FS) ([]string, error) {
	s := &Store{home: newHome(files)}
	return s.unfamiliar()
}
