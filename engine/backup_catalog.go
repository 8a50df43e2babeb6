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
)

// backupPause is between two looks at timelines that are opened or closed meanwhile.
const backupPause = 10 * time.Millisecond

// copyAttempts is how often the catalog is copied while others change it. When each
// time something of the copy was gone before it could be retained, they wait for the
// next one.
const copyAttempts = 3

// catalog copies the catalog, retains what the copy names, and leaves in it what
// belongs in a backup. When it shows that commits of a timeline are in no head, that
// is changed and another copy made.
func (b *backup) catalog(ctx context.Context) (catalog.Copied, error) {
	file := filepath.Join(b.to.dir, partialCatalog)
	for {
		if err := b.copyCatalog(ctx, file); err != nil {
			return catalog.Copied{}, err
		}
		contents, behind, err := catalog.PruneCopy(ctx, file)
		if err != nil {
			return catalog.Copied{}, fmt.Errorf("engine: %w", err)
		}
		late, err := b.late(behind)
		if err != nil || len(late) == 0 {
			return contents, err
		}
		for _, timeline := range late {
			if err := b.settleClosed(ctx, timeline); err != nil {
				return catalog.Copied{}, err
			}
		}
		// One that is just being opened or closed is met again.
		select {
		case <-time.After(backupPause):
		case <-ctx.Done():
			return catalog.Copied{}, ctx.Err()
		}
	}
}

// copyCatalog copies the catalog and retains what the copy names.
func (b *backup) copyCatalog(ctx context.Context, file string) error {
	for attempt := 1; ; attempt++ {
		// A run that was interrupted behind the renaming has left it under that name.
		for _, name := range []string{partialCatalog, catalog.FileName} {
			if err := b.to.removeCatalog(name); err != nil {
				return err
			}
		}
		err := b.s.copyForJob(ctx, b.job, file, attempt > copyAttempts)
		if err == nil || attempt > copyAttempts || !errors.Is(err, catalog.ErrConflict) {
			return err
		}
	}
}

// copyForJob copies the catalog to a file and retains what the copy names. Unless it
// keeps others from changing the catalog meanwhile, it fails with catalog.ErrConflict
// when that was gone.
func (s *Store) copyForJob(ctx context.Context, job int64, file string, alone bool) error {
	if alone {
		if err := s.cat.CopyForJob(ctx, job, file); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
		return nil
	}
	if err := catalog.Copy(ctx, s.opts.Dir, file); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	ids, err := catalog.RetainedBy(ctx, file)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if err := s.cat.RetainForJob(ctx, job, ids); err != nil {
		return fmt.Errorf("engine: retaining what is to be copied: %w", err)
	}
	return nil
}

// late lists the timelines that were not settled and have commits that are in no
// head. Of the others what is behind the head is younger than the call.
func (b *backup) late(behind []catalog.CopiedLog) (late []string, err error) {
	for _, l := range behind {
		if b.settled[l.Timeline] || slices.Contains(late, l.Timeline) {
			continue
		}
		err := b.s.holdsCommits(l.Path)
		var found *CorruptError
		switch {
		case errors.As(err, &found):
			late = append(late, l.Timeline)
		case err != nil:
			return nil, err
		case l.Born:
			// A file that was there and is not any more was published, compacted and
			// collected since: what it had is in a head that is younger than the copy.
			if _, err := b.s.fs.Stat(l.Path); errors.Is(err, fs.ErrNotExist) {
				late = append(late, l.Timeline)
			} else if err != nil {
				return nil, fmt.Errorf("engine: %w", err)
			}
		}
	}
	return late, nil
}
