package engine

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// openBaseFiles opens the files of the base to be checked.
func (c *checker) openBaseFiles(r *recovery, state *catalog.State) error {
	r.from = LSN(state.BaseLSN)
	for _, b := range state.Base {
		f := newBaseLog(b)
		if err := c.s.open(f.generation, c.s.fs.OpenRead); err != nil {
			if f.file != nil {
				_ = f.file.Close() // it was only read
			}
			if err = c.found(err); err != nil {
				return err
			}
			continue
		}
		if c.offline {
			c.s.objects.add(f.generation)
		} else {
			c.s.objects.look(f.generation)
		}
		if !c.covered(f.generation) {
			c.total += f.allocated
		}
		r.base = append(r.base, f)
	}
	return nil
}

// baseFile checks the frames of one file of the base, and the file as a whole
// against its footer and the catalog. What its rows are, the replay finds.
func (c *checker) baseFile(f *baseLog) error {
	damage := func(offset int64, text string) { c.report(Finding{Damage, f.path, offset, text}) }
	sc := wal.NewScanner(f.file, f.start, f.allocated, f.salt)
	f.end = f.start
	for {
		fr, ok := sc.Next()
		if !ok {
			stop := sc.Stop()
			if stop.Reason == wal.ReadFailed {
				return fmt.Errorf("engine: reading %s at %d: %w", f.path, stop.Offset, stop.Err)
			}
			damage(stop.Offset, fmt.Sprintf("%s, in a file of the base", stop.Reason))
			return nil
		}
		if err := c.tick(fr.End() - fr.Offset); err != nil {
			return err
		}
		if fr.Kind == wal.KindSeal {
			break
		}
		f.end = fr.End()
	}
	digest, err := digestOf(f.file, f.end)
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", f.path, err)
	}
	content, err := contentID(f.file, f.allocated)
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", f.path, err)
	}
	if want := f.want.IntegrityDigest; digest != want {
		damage(f.end, fmt.Sprintf("digest of the file: %x, in %s: %x", digest, catalog.FileName, want))
	}
	if want := f.want.ContentID; content != want {
		damage(f.end, fmt.Sprintf("content id of the file: %x, in %s: %x", content, catalog.FileName, want))
	}
	whole := !slices.ContainsFunc(f.known.fragments, func(x fragment) bool { return x.deleted != nil })
	if whole && !bytes.Equal(f.want.Sum, f.want.Fingerprint) {
		c.report(Finding{Damage, catalog.FileName, 0, fmt.Sprintf("%s contributes %x to the head, and its rows add up to %x", f.path, f.want.Sum, f.want.Fingerprint)})
	}
	return nil
}

// same reports whether two records of a table's tree are the same row: of a keys
// table they are locators, which a compaction changes.
func (c *checker) same(have *Table, a string, want *Table, b string, rowid int64) (bool, error) {
	if a == b || have.src == nil || want.src == nil {
		return a == b, nil
	}
	x, _, err := have.Get(rowid)
	if err != nil {
		return false, err
	}
	y, _, err := want.Get(rowid)
	return x == y, err
}
