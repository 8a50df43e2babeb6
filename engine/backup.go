package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Backup writes a backup of the store to the directory dest, which must not exist,
// be empty, or hold a backup of this store that was not finished: that one goes on.
// The backup holds every commit that was acknowledged before the call, and every
// branch point; readers and writers go on meanwhile. It runs as a job, with dest as
// its target. progress, which may be nil, counts bytes of files.
//
// The log is cut and the cut made the head; then the catalog is copied, and the job
// retains exactly what the copy names, so that no file of it goes; the copy is left
// with timelines and branch points; each file is copied and held against its digest;
// and the copy becomes a catalog of its own. It is a backup when the file BACKUP is
// there. A failure at any point leaves the store as it was. An index segment that is damaged,
// missing or unreadable is no failure: it is left out, which an event tells.
func (s *Store) Backup(ctx context.Context, dest string, progress func(done, total int64)) error {
	_, err := s.RunJob(ctx, JobRequest{Kind: JobBackup, Target: dest, Progress: progress})
	return err
}

// backup is one run of a job of kind backup.
type backup struct {
	s           *Store
	job         int64
	to          *site
	lockTimeout time.Duration
	settled     map[string]bool // timelines of which the head has what was to be backed up
}

// backupTo is the work of a job.
func (s *Store) backupTo(ctx context.Context, job int64, dest string, lockTimeout time.Duration, progress func(done, total int64)) error {
	ctx, cancel := s.jobContext(ctx)
	defer cancel()
	to, err := siteAt(dest)
	if err != nil {
		return err
	}
	if s.opts.backupFS != nil {
		to.fs, to.real = s.opts.backupFS(dest)
	}
	b := &backup{s: s, job: job, to: to, lockTimeout: lockTimeout, settled: map[string]bool{}}
	err = b.run(ctx, progress)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return withFull(err)
}

func (b *backup) run(ctx context.Context, progress func(done, total int64)) (err error) {
	if err := b.outside(); err != nil {
		return err
	}
	// Looked at before anything is made there, and once more when it is ours.
	if err := b.usable(); err != nil {
		return err
	}
	if err := makeDir(b.to.dir); err != nil {
		return err
	}
	lock, err := b.to.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := b.usable(); err != nil {
		return err
	}
	source := hexOf(b.s.id)
	if err := b.to.writeManifest(backupPartial, &manifest{Format: backupFormat, Source: source}); err != nil {
		return err
	}
	for _, s := range b.s.home.usable() {
		if err := b.settle(ctx, s); err != nil {
			return err
		}
	}
	contents, err := b.catalog(ctx)
	if err != nil {
		return err
	}
	c := &copier{ctx: ctx, from: b.s.fs, to: b.to.fs, progress: progress, leave: b.leave}
	if err := c.objects(contents.Objects); err != nil {
		return err
	}
	if len(c.left) > 0 {
		if contents, err = catalog.LeaveSegments(ctx, filepath.Join(b.to.dir, partialCatalog), c.left); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	return b.finish(ctx, &contents, source)
}

// leave tells of an index segment that cannot be copied. The backup has none in its
// place, which the first index job of a store that is restored from it writes; where it is
// in use here, the next index job does.
func (b *backup) leave(o *catalog.CopiedObject, err error) {
	b.s.event(Event{Kind: EventSegmentLeftOut, File: o.Path, Bytes: o.ByteExtent, Err: err})
	for _, s := range b.s.home.usable() {
		s.spoiledNow(o.ID)
	}
}

// outside refuses a destination in the store's own directory.
func (b *backup) outside() error {
	dir, err := filepath.Abs(b.s.opts.Dir)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if b.to.within(dir) {
		return &BackupError{Dir: b.to.dir, Reason: "is in the directory of the store", Hint: "name a directory elsewhere, best on another disk"}
	}
	return b.to.outsideStores()
}

// usable refuses a directory that holds anything but the beginning of a backup of
// this store.
func (b *backup) usable() error {
	names, err := b.to.names()
	if err != nil || len(names) == 0 {
		return err
	}
	has := map[string]bool{}
	for _, name := range names {
		has[name] = true
	}
	const elsewhere = "name another directory, one that does not exist or is empty"
	switch {
	case has[backupManifest]:
		return &BackupError{Dir: b.to.dir, Reason: "holds a backup that is complete", Hint: elsewhere}
	case len(names) == 1 && names[0] == backupPartial+".new":
		return nil // it got no further
	case !has[backupPartial]:
		return &BackupError{Dir: b.to.dir, Reason: fmt.Sprintf("is not empty (there is %s) and no backup", names[0]), Hint: elsewhere}
	}
	m, err := b.to.readManifest(backupPartial)
	if err != nil {
		return err
	}
	if m.Source != hexOf(b.s.id) {
		return &BackupError{Dir: b.to.dir, Reason: "holds the beginning of a backup of another store", Hint: elsewhere}
	}
	return nil
}

// settle makes everything that was acknowledged on a timeline part of its head.
func (b *backup) settle(ctx context.Context, s *Store) error {
	if b.settled[s.opts.Timeline] {
		return nil
	}
	err := s.checkpoint(ctx, b.lockTimeout, nil)
	if err != nil && s != b.s && errors.Is(err, ErrClosed) {
		return nil // what it left in no head is found in the copy of the catalog
	}
	b.settled[s.opts.Timeline] = err == nil
	return err
}

// settleClosed does it with a timeline that is not open here, or was closed.
func (b *backup) settleClosed(ctx context.Context, timeline string) (err error) {
	if s := b.s.home.named(timeline); s != nil {
		return b.settle(ctx, s)
	}
	s, err := b.s.openTimeline(ctx, timeline, Options{NoCompaction: true}, true)
	if errors.Is(err, ErrTimelineOpen) {
		return nil // just now; the next look will meet it
	}
	if err != nil {
		return fmt.Errorf("engine: opening timeline %q: %w", timeline, err)
	}
	err = b.settle(ctx, s)
	return errors.Join(err, s.Close())
}

// finish makes the copy of the catalog one of its own, gives it its name and writes
// BACKUP.
func (b *backup) finish(ctx context.Context, contents *catalog.Copied, source string) error {
	now := b.s.opts.Now()
	identity, err := catalog.RenewCopy(ctx, filepath.Join(b.to.dir, partialCatalog), now)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	sum, size, err := copyCatalog(ctx, b.to.real, partialCatalog, nil, "")
	if err != nil {
		return err
	}
	if err := b.to.renameCatalog(partialCatalog); err != nil {
		return err
	}
	m := manifest{
		Format: backupFormat, Source: source, Identity: hexOf(identity), CreatedAt: now.UTC().Format(time.RFC3339Nano),
		Timelines: contents.Timelines, BranchPoints: contents.BranchPoints,
		Objects: len(contents.Objects), Bytes: contents.Bytes(), CatalogBytes: size, CatalogSHA256: hexOf(sum),
	}
	if err := b.to.writeManifest(backupManifest, &m); err != nil {
		return err
	}
	if err := b.to.fs.Remove(backupPartial); err != nil {
		// It is a backup: a name that is left says nothing against that.
		b.s.event(Event{Kind: EventBackgroundFailed, File: backupPartial, Err: err})
	}
	return nil
}
