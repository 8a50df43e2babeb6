package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// Sealing ends a generation: footer → truncate to the extent → sync file and
// directory → receipt in the catalog. All commits in the file are durable
// before, and nothing is appended to it any more. Each step can be done again,
// so the next open goes on wherever a crash interrupted.

// seal seals a generation and closes its file.
func (s *Store) seal(ctx context.Context, g *generation) error {
	// What lies behind the tail may be a part of a footer, of an attempt that
	// failed.
	c, err := s.census(g, g.tail)
	if err != nil {
		return err
	}
	footer, err := c.footer(g)
	if err != nil {
		return err
	}
	extent := c.end + int64(len(footer))
	if !c.footed {
		if err := g.reserve(int64(len(footer)), extent); err != nil {
			return fmt.Errorf("engine: sealing %s: %w", g.path, err)
		}
		if _, err := g.file.WriteAt(footer, c.end); err != nil {
			err = fmt.Errorf("engine: footer of %s: %w", g.path, err)
			if isFull(err) {
				err = fmt.Errorf("%w: %w", ErrFull, err)
			}
			return err
		}
	}
	if err := g.file.Truncate(extent); err != nil {
		return fmt.Errorf("engine: truncating %s: %w", g.path, err)
	}
	if err := g.file.Sync(); err != nil {
		return &syncError{g.path, err}
	}
	if err := s.syncEntries(path.Dir(g.path)); err != nil {
		return err
	}
	content, err := contentID(g.file, extent)
	if err != nil {
		return fmt.Errorf("engine: reading %s: %w", g.path, err)
	}
	tables := make([]catalog.TableRecords, len(c.seal.Records))
	for i, t := range c.seal.Records {
		tables[i] = catalog.TableRecords{TableID: int64(t.Table), Records: int64(t.Count)}
	}
	err = s.cat.SealGeneration(ctx, catalog.Seal{
		Tables:  tables,
		ShardID: int64(g.info.Shard), Generation: int64(g.number), ObjectID: int64(g.object),
		ContentID: content, Digest: c.seal.Digest, Extent: extent,
		FirstLSN: int64(c.first), LastLSN: int64(c.seal.LastLSN), Records: int64(c.records), Fingerprint: sumBytes(c.sum()),
	})
	if err != nil {
		return fmt.Errorf("engine: recording the seal of %s: %w", g.path, err)
	}
	s.mu.Lock()
	g.info.State, g.info.Bytes = catalog.GenerationSealed, extent
	g.native = c.sum()
	s.stats.Seals++
	f := g.file
	g.file = nil
	s.mu.Unlock()
	s.objects.sealed(g)
	s.event(Event{Kind: EventSealed, Generation: g.number, File: g.path, Bytes: extent, LSN: LSN(c.seal.LastLSN)})
	if err := f.Close(); err != nil {
		// All of it is durable and recorded: there is nothing to try again.
		s.event(Event{Kind: EventBackgroundFailed, File: g.path, Err: fmt.Errorf("engine: closing %s: %w", g.path, err)})
	}
	return nil
}

// census is what the footer of a generation says, taken from the file itself.
type census struct {
	seal    wal.Seal
	first   LSN
	records uint64
	end     int64 // where the footer is, or belongs
	footed  bool  // it is there
}

// census reads a file up to end, if it is so long: its frames are checked once more before
// the digest vouches for them.
func (s *Store) census(g *generation, end int64) (*census, error) {
	size, err := g.file.Size()
	if err != nil {
		return nil, fmt.Errorf("engine: size of %s: %w", g.path, err)
	}
	size = min(size, end)
	c := &census{end: g.start}
	tables := map[uint64]uint64{}
	sums := map[uint64]*wal.Contribution{}
	sc := wal.NewScanner(g.file, g.start, size, g.salt)
	for {
		fr, ok := sc.Next()
		if !ok {
			if err := sc.Stop().Error(); err != nil {
				return nil, corruptOrRead(g.path, sc.Stop())
			}
			break
		}
		if fr.Kind == wal.KindSeal {
			m, err := wal.DecodeSeal(fr)
			if err != nil {
				return nil, corruptIn(g.path, fr.Offset, err)
			}
			c.seal, c.footed = m, true
			break
		}
		if err := c.count(g, fr, tables, sums); err != nil {
			return nil, corruptIn(g.path, fr.Offset, err)
		}
		c.end = fr.End()
	}
	digest, err := digestOf(g.file, c.end)
	if err != nil {
		return nil, fmt.Errorf("engine: reading %s: %w", g.path, err)
	}
	found := wal.Seal{LastLSN: uint64(g.info.LastLSN), Digest: digest}
	for _, t := range slices.Sorted(maps.Keys(tables)) {
		found.Records = append(found.Records, wal.TableRecords{Table: t, Count: tables[t]})
	}
	for _, t := range slices.Sorted(maps.Keys(sums)) {
		found.Contributions = append(found.Contributions, *sums[t])
	}
	if c.footed {
		if err := sameSeal(&c.seal, &found); err != nil {
			return nil, corruptIn(g.path, c.end, err)
		}
	}
	c.seal = found
	return c, nil
}

func (c *census) count(g *generation, fr wal.Frame, tables map[uint64]uint64, sums map[uint64]*wal.Contribution) error {
	switch fr.Kind {
	case wal.KindPut, wal.KindDelta, wal.KindTombstone:
		// The table is the first field of all three.
		table, n := binary.Uvarint([]byte(fr.Payload[:min(len(fr.Payload), binary.MaxVarintLen64)]))
		if n <= 0 {
			return damaged(fr.Offset, "%s without a table", fr.Kind)
		}
		tables[table]++
	case wal.KindCommit:
		m, err := wal.DecodeCommit(fr, g.salt)
		if err != nil {
			return err
		}
		if c.first == 0 {
			c.first = LSN(m.LSN)
		}
		c.records += m.Records
		for _, k := range m.Contributions {
			if sums[k.Table] == nil {
				sums[k.Table] = &wal.Contribution{Table: k.Table}
			}
			sums[k.Table].Rows += k.Rows
			sums[k.Table].Sum = sums[k.Table].Sum.Add(k.Sum)
		}
	}
	return nil
}

// sameSeal compares a footer with what the file holds.
func sameSeal(footer, found *wal.Seal) error {
	switch {
	case footer.Digest != found.Digest:
		return fmt.Errorf("the footer's digest is %x, the bytes before it have %x", footer.Digest, found.Digest)
	case footer.LastLSN != found.LastLSN:
		return fmt.Errorf("the footer's last LSN is %d, the file's %d", footer.LastLSN, found.LastLSN)
	case !slices.Equal(footer.Records, found.Records):
		return fmt.Errorf("the footer counts records %v, the file has %v", footer.Records, found.Records)
	case !slices.Equal(footer.Contributions, found.Contributions):
		return fmt.Errorf("the footer has contributions %v, the file %v", footer.Contributions, found.Contributions)
	}
	return nil
}

func (c *census) footer(g *generation) ([]byte, error) {
	b := wal.NewBuilder(g.salt, c.end, nil)
	if err := b.Seal(&c.seal); err != nil {
		return nil, fmt.Errorf("engine: footer of %s: %w", g.path, err)
	}
	return b.Bytes(), nil
}

// sum is the sum of all contributions.
func (c *census) sum() (sum row.Sum) {
	for _, k := range c.seal.Contributions {
		sum = sum.Add(k.Sum)
	}
	return sum
}

// digestOf is the SHA-256 of the first n bytes.
func digestOf(r io.ReaderAt, n int64) ([32]byte, error) {
	return hashOf(sha256.New(), r, n)
}

// contentID identifies an object of rows by kind, policy, extent and bytes.
func contentID(r io.ReaderAt, extent int64) ([32]byte, error) {
	return contentIDOf(catalog.KindKV, r, extent)
}

func contentIDOf(kind string, r io.ReaderAt, extent int64) ([32]byte, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", kind, catalog.DefaultPolicy())
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(extent))
	h.Write(b[:])
	return hashOf(h, r, extent)
}

func hashOf(h hash.Hash, r io.ReaderAt, n int64) (sum [32]byte, err error) {
	if got, err := io.CopyBuffer(h, io.NewSectionReader(calmReader{r}, 0, n), make([]byte, max(1, min(n, wal.BlockSize)))); err != nil {
		return sum, err
	} else if got != n {
		return sum, io.ErrUnexpectedEOF
	}
	h.Sum(sum[:0])
	return sum, nil
}

// corruptOrRead turns the stop of a scan into an error.
func corruptOrRead(file string, stop wal.Stop) error {
	err := stop.Error()
	var bad *wal.CorruptError
	if errors.As(err, &bad) {
		return corruptIn(file, stop.Offset, err)
	}
	return fmt.Errorf("engine: reading %s at %d: %w", file, stop.Offset, err)
}
