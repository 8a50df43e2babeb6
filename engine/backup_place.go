package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A backup is a directory with
//
//	BACKUP       what makes it one, written last: format, identity, counts, and the
//	             digest of catalog.db, which has the digests of all files
//	catalog.db   a catalog of its own, of what timelines and branch points need
//	objects/…    the sealed files that it names
//	LOCK         held by whoever writes it
//
// While it is being written it has BACKUP.partial and no BACKUP, and the catalog has
// another name. Nothing opens a directory with either of the two as a store: to open
// one is to change it.
const (
	backupManifest = "BACKUP"
	backupPartial  = "BACKUP.partial"
	partialCatalog = "catalog.partial" // in a backup
	newCatalog     = "catalog.restoring"
	backupFormat   = 1
)

// ErrBackup: the directory is not one that the backup can go to, or the restore come
// from, or it is a backup and no store. It comes as a *BackupError.
var ErrBackup = errors.New("engine: backup")

// BackupError refuses a directory for a backup or a restore.
type BackupError struct {
	Dir    string
	Reason string
	Hint   string // what to do
}

// Error names the directory and what is wrong with it.
func (e *BackupError) Error() string { return fmt.Sprintf("engine: %s %s", e.Dir, e.Reason) }

// Is matches ErrBackup.
func (e *BackupError) Is(target error) bool { return target == ErrBackup }

// manifest is what BACKUP holds, and the first two fields BACKUP.partial.
type manifest struct {
	Format        int    `json:"format"`
	Source        string `json:"source"`             // identity of the store it was made of
	Identity      string `json:"identity,omitempty"` // of catalog.db
	CreatedAt     string `json:"created_at,omitempty"`
	Timelines     int    `json:"timelines,omitempty"`
	BranchPoints  int    `json:"branch_points"`
	Objects       int    `json:"objects"`
	Bytes         int64  `json:"bytes"` // of the objects
	CatalogBytes  int64  `json:"catalog_bytes,omitempty"`
	CatalogSHA256 string `json:"catalog_sha256,omitempty"`
}

// site is a directory that a backup or a restored store is in. SQLite's files are
// always on the real disk.
type site struct {
	dir  string
	fs   vfs.FS
	real vfs.FS
}

func siteAt(dir string) (*site, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	files := vfs.OS(abs)
	return &site{dir: abs, fs: files, real: files}, nil
}

// names lists what is in the directory, but for the lock.
func (p *site) names() (names []string, err error) {
	for _, f := range []vfs.FS{p.fs, p.real} {
		list, err := f.List(".")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("engine: listing %s: %w", p.dir, err)
		}
		for _, name := range list {
			if name != lockName && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// within reports whether the place is a directory or lies below it, whatever links
// lead there.
func (p *site) within(dir string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(p.dir))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// outsideStores refuses a place in the directory of a store or a backup, where
// everything belongs to that.
func (p *site) outsideStores() error {
	path := resolved(p.dir)
	for dir := filepath.Dir(path); dir != path; path, dir = dir, filepath.Dir(dir) {
		files := vfs.OS(dir)
		_, noCatalog := files.Stat(catalog.FileName)
		_, noLock := files.Stat(lockName)
		if noCatalog == nil && noLock == nil {
			return &BackupError{Dir: p.dir, Reason: "is in " + dir + ", which is a store or a backup", Hint: "name a directory outside of it"}
		}
	}
	return nil
}

// resolved resolves the links of a path, of which the end may not exist.
func resolved(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

// readManifest reads BACKUP or BACKUP.partial.
func (p *site) readManifest(name string) (m manifest, err error) {
	f, err := p.fs.OpenRead(name)
	if err != nil {
		return m, fmt.Errorf("engine: opening %s: %w", name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return m, fmt.Errorf("engine: size of %s: %w", name, err)
	}
	const most = 1 << 16
	text := make([]byte, min(size, most))
	if n, err := f.ReadAt(text, 0); n < len(text) {
		return m, fmt.Errorf("engine: reading %s: %w", name, err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, &BackupError{Dir: p.dir, Reason: fmt.Sprintf("has a %s that is none: %v", name, err), Hint: "make the backup anew in another directory"}
	}
	if m.Format > backupFormat {
		return m, fmt.Errorf("engine: %s in %s has format %d, this program knows %d: %w", name, p.dir, m.Format, backupFormat, ErrNewer)
	}
	return m, nil
}

// writeManifest writes it so that it is there whole or not at all, durably.
func (p *site) writeManifest(name string, m *manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	temporary := name + ".new"
	if err := p.fs.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine: removing %s: %w", temporary, err)
	}
	f, err := p.fs.Create(temporary)
	if err != nil {
		return fmt.Errorf("engine: creating %s: %w", temporary, err)
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("engine: writing %s: %w", temporary, err)
	}
	if err := p.fs.Rename(temporary, name); err != nil {
		return fmt.Errorf("engine: renaming %s: %w", temporary, err)
	}
	if err := p.fs.SyncDir("."); err != nil {
		return &syncError{p.dir, err}
	}
	return nil
}

// removeCatalog removes a catalog that is not in use, with what SQLite may have left
// beside it.
func (p *site) removeCatalog(name string) error {
	for _, n := range []string{name, name + "-journal", name + "-wal", name + "-shm"} {
		if err := p.real.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("engine: removing %s: %w", n, err)
		}
	}
	return nil
}

// renameCatalog gives a catalog the name under which it counts.
func (p *site) renameCatalog(from string) error {
	if err := p.real.Rename(from, catalog.FileName); err != nil {
		return fmt.Errorf("engine: renaming %s: %w", from, err)
	}
	if err := p.real.SyncDir("."); err != nil {
		return &syncError{p.dir, err}
	}
	return nil
}

// lock keeps others from writing there.
func (p *site) lock() (vfs.Lock, error) {
	lock, err := p.fs.Lock(lockName)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: locking: %w", err)
	}
	return lock, nil
}

// refuseBackup refuses to open as a store what is a backup, or the beginning of one,
// or of a restore.
func refuseBackup(dir string) error {
	for _, c := range []struct{ name, reason, hint string }{
		{backupManifest, "is a backup, and to open it would change it", "tidemark restore BACKUP DIR makes a store of it"},
		{backupPartial, "is a backup that was not finished", "run the backup again, which goes on with it"},
		{newCatalog, "is the beginning of a restore", "run the restore again, which goes on with it"},
	} {
		if info, err := vfs.OS(dir).Stat(c.name); err == nil && !info.Dir { // what else is wrong shows when it is opened
			return &BackupError{Dir: dir, Reason: c.reason, Hint: c.hint}
		}
	}
	return nil
}

// hexOf spells an identity or a digest.
func hexOf[B [16]byte | [32]byte](b B) string { return fmt.Sprintf("%x", b) }
