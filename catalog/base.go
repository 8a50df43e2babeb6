package catalog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Reservation is the identity of an object that is to be written.
type Reservation struct {
	ObjectID int64
	Path     string // below the store directory, with forward slashes
	Attempt  [16]byte
}

// ReserveObject commits the identity of a kv object that a running job will
// write, before its file exists. The job's owner roots it (purpose output) until
// the job ends; what nothing else retains by then is garbage.
func (c *Catalog) ReserveObject(ctx context.Context, jobID int64) (Reservation, error) {
	return c.reserveOutput(ctx, "reserve-object", jobID, KindKV)
}

func (c *Catalog) reserveOutput(ctx context.Context, op string, jobID int64, kind string) (Reservation, error) {
	var r Reservation
	err := c.write(ctx, op, func(ctx context.Context, tx *writeTx) error {
		if err := checkID("job", jobID); err != nil {
			return err
		}
		owner, err := runningOwner(ctx, tx, jobID)
		if err != nil {
			return err
		}
		if r.ObjectID, r.Attempt, err = reserveObject(ctx, tx, kind); err != nil {
			return err
		}
		r.Path = ObjectPath(r.ObjectID, kind)
		if _, err := tx.ExecContext(ctx, `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'output')`, owner, r.ObjectID); err != nil {
			return fmt.Errorf("owner_objects: %w", err)
		}
		return nil
	})
	if err != nil {
		return Reservation{}, err
	}
	return r, nil
}

// reserveObject inserts an object with a new id, incarnation and attempt.
func reserveObject(ctx context.Context, tx *writeTx, kind string) (id int64, attempt [16]byte, err error) {
	if id, err = tx.newID(ctx); err != nil {
		return 0, attempt, err
	}
	incarnation, err := tx.newIncarnation(ctx)
	if err != nil {
		return 0, attempt, err
	}
	attempt = randomID()
	if _, err := tx.ExecContext(ctx, `INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) VALUES (?, ?, ?, ?, ?)`,
		id, kind, incarnation, attempt[:], ObjectPath(id, kind)); err != nil {
		return 0, attempt, fmt.Errorf("objects: %w", err)
	}
	return id, attempt, nil
}

// runningOwner returns the owner of a job that is running.
func runningOwner(ctx context.Context, tx *writeTx, jobID int64) (owner int64, err error) {
	var state string
	err = tx.QueryRowxContext(ctx, `SELECT state, owner_id FROM jobs WHERE job_id = ?`, jobID).Scan(&state, &owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, refuse(CodeUnknown, "", "no job %d", jobID)
	case err != nil:
		return 0, err
	case state != JobRunning:
		return 0, refuse(CodeState, "", "job %d is %s, not running", jobID, state)
	}
	return owner, nil
}

// BaseSeal describes a base object whose file is complete, synced and named.
type BaseSeal struct {
	ObjectID    int64
	ContentID   [32]byte // SHA-256 over kind, policy, extent and all bytes up to extent
	Digest      [32]byte // the footer's, SHA-256 of the bytes before it
	Extent      int64    // bytes
	LSN         int64    // the state that its rows are of, at least 1
	Fingerprint []byte   // 16 bytes, the sum of its rows
	Fragments   []Fragment
}

// Fragment is the run of one table's rows in a base object.
type Fragment struct {
	TableID int64 // 0: the schema
	Rows    int64 // of the schema: its frames
}

func (s *BaseSeal) check() error {
	errs := []error{checkID("object", s.ObjectID), checkCounter("extent", s.Extent), checkID("LSN", s.LSN)}
	if len(s.Fingerprint) != sumBytes {
		errs = append(errs, refuse(CodeEncoding, "", "fingerprint has %d bytes, must have %d", len(s.Fingerprint), sumBytes))
	}
	if len(s.Fragments) == 0 {
		errs = append(errs, refuse(CodeFragment, "", "object %d has no fragment", s.ObjectID))
	}
	tables := make(map[int64]bool, len(s.Fragments))
	var records int64
	for _, f := range s.Fragments {
		errs = append(errs, checkCounter("table", f.TableID), checkCounter("rows", f.Rows))
		if tables[f.TableID] {
			errs = append(errs, refuse(CodeFragment, "", "object %d has two fragments of table %d", s.ObjectID, f.TableID))
		}
		tables[f.TableID] = true
		if records += f.Rows; records < 0 || records > MaxID {
			return errors.Join(append(errs, checkCounter("records", MaxID+1))...)
		}
	}
	return errors.Join(errs...)
}

// records is the number of frames in the object's fragments.
func (s *BaseSeal) records() (n int64) {
	for _, f := range s.Fragments {
		n += f.Rows
	}
	return n
}

// SealBase records, in one transaction, that both barriers of the file completed
// (receipt), that the object is sealed, what its fragments are, its place in the
// graph and its blob. The caller has synced the file and its directory. Sealing
// again with the same values changes nothing; with others it is refused.
func (c *Catalog) SealBase(ctx context.Context, s BaseSeal) error {
	return c.write(ctx, "seal-base", func(ctx context.Context, tx *writeTx) error {
		if err := s.check(); err != nil {
			return err
		}
		row, err := getBaseObject(ctx, tx, s.ObjectID)
		switch {
		case err != nil:
			return err
		case row == nil:
			return refuse(CodeUnknown, "", "no object %d", s.ObjectID)
		case row.Kind != KindKV || row.Generation:
			return refuse(CodeFragment, "", "object %d is no base object", s.ObjectID)
		case row.State == "sealed":
			return c.sealedAlready(ctx, tx, &s, row)
		case row.State != "reserved":
			return refuse(CodeState, "", "object %d is %s, must be reserved", s.ObjectID, row.State)
		case !row.Rooted:
			return refuse(CodeAcquire, "", "nothing roots object %d any more", s.ObjectID)
		}
		return c.sealBase(ctx, tx, row, &s)
	})
}

// sealedAlready tells whether an object was sealed by the same values.
func (c *Catalog) sealedAlready(ctx context.Context, tx *writeTx, s *BaseSeal, row *baseObjectRow) error {
	rows, err := readFragments(ctx, tx, c.identity(), s.ObjectID)
	if err != nil {
		return err
	}
	fragments := rows[s.ObjectID]
	same := deref(row.ByteExtent) == s.Extent && bytes.Equal(row.ContentID, s.ContentID[:]) && bytes.Equal(row.IntegrityDigest, s.Digest[:]) &&
		bytes.Equal(row.Fingerprint, s.Fingerprint) && len(fragments) == len(s.Fragments)
	for i := 0; same && i < len(fragments); i++ {
		f := &fragments[i]
		same = f.LSN == s.LSN && f.TableID == s.Fragments[i].TableID && f.Rows == s.Fragments[i].Rows
	}
	if !same {
		return refuse(CodeImmutable, "", "object %d was sealed with other values", s.ObjectID)
	}
	return errUnchanged
}

// sealBase writes the rows, in the order the guards want them.
func (c *Catalog) sealBase(ctx context.Context, tx *writeTx, row *baseObjectRow, s *BaseSeal) error {
	identity := c.identity()
	if err := sealObject(ctx, tx, identity, row.Attempt, row.Revision, &objectSeal{s.ObjectID, s.ContentID, s.Digest, s.Extent, s.Fingerprint}); err != nil {
		return err
	}
	row.State, row.ByteExtent, row.ContentID, row.IntegrityDigest, row.Fingerprint = "sealed", &s.Extent, s.ContentID[:], s.Digest[:], s.Fingerprint
	first, err := tx.newIDs(ctx, int64(len(s.Fragments)))
	if err != nil {
		return err
	}
	insert, err := tx.PreparexContext(ctx, `INSERT INTO fragments(fragment_id, object_id, ordinal, table_id, lsn, rows, digest) VALUES (?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for i, f := range s.Fragments {
		r := fragmentRow{ID: first + int64(i), ObjectID: s.ObjectID, Ordinal: int64(i), TableID: f.TableID, LSN: s.LSN, Rows: f.Rows,
			Fragments: int64(len(s.Fragments)), baseObjectRow: *row}
		digest := r.digest(identity)
		if _, err := insert.ExecContext(ctx, r.ID, r.ObjectID, r.Ordinal, r.TableID, r.LSN, r.Rows, digest[:]); err != nil {
			return fmt.Errorf("fragments: %w", err)
		}
	}
	_, err = registerObject(ctx, tx, s.ObjectID, row.Revision+1, s.records())
	return err
}
