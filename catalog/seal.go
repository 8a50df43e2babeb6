package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// Seal describes a generation whose file is complete, synced and named.
type Seal struct {
	ShardID    int64
	Generation int64
	ObjectID   int64
	ContentID  [32]byte // SHA-256 over kind, policy, extent and all bytes up to extent
	Digest     [32]byte // the footer's, SHA-256 of the bytes before it
	Extent     int64    // bytes
	FirstLSN   int64
	LastLSN    int64 // FirstLSN-1 when the generation holds no commit
	Records    int64
	// Fingerprint is the 16-byte sum of the generation's contributions, for diagnosis.
	Fingerprint []byte
	// Tables are those with records in it, in any order; nil: nothing is known, and it
	// counts as having records of every table.
	Tables []TableRecords
}

// TableRecords is how many records of a table a generation has.
type TableRecords struct{ TableID, Records int64 }

func (s *Seal) check() error {
	errs := []error{
		checkID("shard", s.ShardID), checkID("generation", s.Generation), checkID("object", s.ObjectID),
		checkCounter("extent", s.Extent), checkID("first LSN", s.FirstLSN), checkCounter("last LSN", s.LastLSN), checkCounter("records", s.Records),
	}
	if len(s.Fingerprint) != len(emptySum) {
		errs = append(errs, refuse(CodeEncoding, "", "fingerprint has %d bytes, must have %d", len(s.Fingerprint), len(emptySum)))
	}
	var records int64
	for i, t := range s.Tables {
		errs = append(errs, checkID("table", t.TableID), checkID("records", t.Records))
		if slices.ContainsFunc(s.Tables[:i], func(o TableRecords) bool { return o.TableID == t.TableID }) {
			errs = append(errs, refuse(CodeGeneration, "", "the seal names table %d twice", t.TableID))
		}
		if records += t.Records; records < 0 || records > s.Records {
			errs = append(errs, refuse(CodeGeneration, "", "the generation has %d records, its tables have more", s.Records))
			break
		}
	}
	return errors.Join(errs...)
}

// sorted are the tables by id.
func (s *Seal) sorted() []TableRecords {
	list := slices.Clone(s.Tables)
	slices.SortFunc(list, func(a, b TableRecords) int { return cmp.Compare(a.TableID, b.TableID) })
	return list
}

// SealGeneration records, in one transaction, that both barriers of the file
// completed (receipt), that the object is sealed, and that its generation is.
// The caller has synced the file and its directory. Sealing again with the same
// values changes nothing; with others it is refused.
func (c *Catalog) SealGeneration(ctx context.Context, s Seal) error {
	return c.write(ctx, "seal-generation", func(ctx context.Context, tx *writeTx) error {
		if err := s.check(); err != nil {
			return err
		}
		row, err := getGeneration(ctx, tx, s.ShardID, s.Generation)
		if err != nil {
			return err
		}
		if row == nil {
			return refuse(CodeUnknown, "", "shard %d has no generation %d", s.ShardID, s.Generation)
		}
		if _, err := row.verified(c.identity()); err != nil {
			return err
		}
		if row.ObjectID != s.ObjectID {
			return refuse(CodeImmutable, "", "generation %d of shard %d is object %d, not %d", s.Generation, s.ShardID, row.ObjectID, s.ObjectID)
		}
		if row.State != GenerationOpen {
			if s.describes(row) {
				return errUnchanged
			}
			return refuse(CodeImmutable, "", "generation %d of shard %d was sealed with other values", s.Generation, s.ShardID)
		}
		return c.seal(ctx, tx, row, &s)
	})
}

// describes tells whether a sealed row was sealed by the same values.
func (s *Seal) describes(r *generationRow) bool {
	if digest := tablesDigest(s.ObjectID, s.sorted()); s.Tables != nil && r.Tables != nil && !bytes.Equal(r.Tables, digest[:]) {
		return false
	}
	return deref(r.FirstLSN) == s.FirstLSN && deref(r.LastLSN) == s.LastLSN && deref(r.Records) == s.Records && deref(r.ByteExtent) == s.Extent &&
		bytes.Equal(r.ContentID, s.ContentID[:]) && bytes.Equal(r.IntegrityDigest, s.Digest[:]) && bytes.Equal(r.Fingerprint, s.Fingerprint)
}

func (c *Catalog) seal(ctx context.Context, tx *writeTx, row *generationRow, s *Seal) error {
	identity := c.identity()
	if err := sealObject(ctx, tx, identity, row.Attempt, row.ObjectRevision, &objectSeal{s.ObjectID, s.ContentID, s.Digest, s.Extent, s.Fingerprint}); err != nil {
		return err
	}
	row.State, row.FirstLSN, row.LastLSN, row.Records = GenerationSealed, &s.FirstLSN, &s.LastLSN, &s.Records
	row.ByteExtent, row.ContentID, row.IntegrityDigest, row.Fingerprint = &s.Extent, s.ContentID[:], s.Digest[:], s.Fingerprint
	if s.Tables != nil {
		tables := s.sorted()
		for _, t := range tables {
			if _, err := tx.ExecContext(ctx, `INSERT INTO generation_tables(object_id, table_id, records) VALUES (?, ?, ?)`, s.ObjectID, t.TableID, t.Records); err != nil {
				return fmt.Errorf("generation_tables: %w", err)
			}
		}
		digest := tablesDigest(s.ObjectID, tables)
		row.Tables = digest[:]
	}
	row.Revision++
	digest := row.digest(identity)
	result, err := tx.ExecContext(ctx, `
		UPDATE generations SET state = 'sealed', first_lsn = ?, last_lsn = ?, records = ?, revision = ?, digest = ?, tables_digest = ?
		WHERE shard_id = ? AND generation = ? AND revision = ?`,
		s.FirstLSN, s.LastLSN, s.Records, row.Revision, digest[:], row.Tables, s.ShardID, s.Generation, row.Revision-1)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("generations: %w", err)
	}
	return nil
}

// objectSeal is what a seal says of the file itself.
type objectSeal struct {
	id          int64
	contentID   [32]byte
	digest      [32]byte
	extent      int64
	fingerprint []byte
}

// sealObject inserts the receipt of a reserved object's file and makes the object
// sealed.
func sealObject(ctx context.Context, tx *writeTx, identity [16]byte, attempt []byte, revision int64, s *objectSeal) error {
	if _, err := tx.ExecContext(ctx, `
		INSERT INTO seal_receipts(object_id, backing_catalog, attempt_id, barrier, directory_synced, byte_extent, integrity_digest)
		VALUES (?, ?, ?, ?, 1, ?, ?)`, s.id, identity[:], attempt, barrier(), s.extent, s.digest[:]); err != nil {
		return fmt.Errorf("seal_receipts: %w", err)
	}
	result, err := tx.ExecContext(ctx, `
		UPDATE objects SET state = 'sealed', content_id = ?, byte_extent = ?, logical_extent = ?, integrity_digest = ?, native_fingerprint = ?,
			lifecycle_revision = lifecycle_revision + 1
		WHERE object_id = ? AND lifecycle_revision = ? AND state = 'reserved'`,
		s.contentID[:], s.extent, s.extent, s.digest[:], s.fingerprint, s.id, revision)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	return nil
}

// barrier names the system call behind a data sync on this system.
func barrier() string {
	if runtime.GOOS == "darwin" {
		return "f_fullfsync"
	}
	return "fsync"
}
