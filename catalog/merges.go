package catalog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Two timelines that read the same representation, a fork and its parent as a
// rule, would make the same base of it. So the first one leaves word of what it made
// (merges_keep.go), and the second one adopts that: files of its own are not written.
//
// What they have in common is decided by exact bytes: the entries of the head in
// their order, the commit they are read up to, the schema, and the recipe by which
// the base is made. Fingerprints are never asked.

// Limits of what is kept of a merge; a larger one is not shared.
const (
	maxRecipe      = 256     // bytes
	maxMergeInputs = 1 << 20 // bytes
)

// MergeRequest asks for the base that somebody made of the whole of a head.
type MergeRequest struct {
	Head   Timeline // expected: ID, Revision and RepresentationID count
	LSN    int64    // of the base; only that of the head can be met
	Recipe string   // how the base is made, see [Base]
}

// mergeRow is a merge that was completed.
type mergeRow struct {
	Key        []byte `db:"cache_key"`
	Recipe     []byte `db:"recipe"`
	Inputs     []byte `db:"ordered_inputs"`
	SchemaID   int64  `db:"schema_id"`
	OwnerID    int64  `db:"owner_id"`
	LastOutput int64  `db:"last_output"`
	Digest     []byte `db:"digest"`
}

const mergeQuery = `SELECT cache_key, recipe, ordered_inputs, schema_id, owner_id, last_output, digest FROM completed_merges`

// mergeOutput is one base object of a merge, with what the catalog has of it.
type mergeOutput struct {
	Key          []byte `db:"cache_key"`
	Ordinal      int64  `db:"ordinal"`
	BlobID       int64  `db:"blob_id"`
	Contribution []byte `db:"contribution"`
	Layout       string `db:"layout"`
	ObjectID     int64  `db:"native_object_id"`
	State        string `db:"state"`
}

const outputQuery = `
	SELECT m.cache_key, m.ordinal, m.blob_id, m.contribution, coalesce(b.layout, '') AS layout, coalesce(b.native_object_id, 0) AS native_object_id, coalesce(o.state, '') AS state
	FROM completed_merge_outputs m LEFT JOIN blob_versions b ON b.blob_id = m.blob_id LEFT JOIN objects o ON o.object_id = b.native_object_id`

// mergeInputs is the canonical text of what a base is made of: the commit up to
// which it is read, and the entries in their order. It returns nil when it is too long.
func mergeInputs(lsn int64, entries []entryRow) []byte {
	b := fmt.Appendf(nil, "inputs/1 lsn=%d", lsn)
	for i := range entries {
		e := &entries[i]
		if e.Role == roleMerged {
			continue // the base before has it
		}
		if b = fmt.Appendf(b, " %d:%s:%x", e.ObjectID, e.Role, e.Contribution); len(b) > maxMergeInputs {
			return nil
		}
		for j := range e.live {
			if l := &e.live[j]; l.Deleted != nil {
				b = fmt.Appendf(b, ":%d-%x", l.Ordinal, l.Deleted)
			}
		}
		if len(b) > maxMergeInputs {
			return nil
		}
	}
	return b
}

// key finds the row; what decides is the rest of it.
func (r *mergeRow) key(identity [16]byte) [32]byte {
	d := newDigest("merge-key", identity)
	d.bytes(r.Recipe)
	d.bytes(r.Inputs)
	d.int(r.SchemaID)
	return d.sum()
}

func (r *mergeRow) digest(identity [16]byte, outputs []mergeOutput) [32]byte {
	d := newDigest("merge", identity)
	d.bytes(r.Key)
	d.int(r.OwnerID)
	d.int(r.LastOutput)
	for i := range outputs {
		d.int(outputs[i].BlobID)
		d.bytes(outputs[i].Contribution)
	}
	return d.sum()
}

// mergeOf is the row that the base of the whole of a head would have, nil when it
// is none to share.
func mergeOf(head *headRow, recipe string, entries []entryRow, identity [16]byte) *mergeRow {
	r := &mergeRow{Recipe: []byte(recipe), Inputs: mergeInputs(head.LSN, entries), SchemaID: head.SchemaID}
	if len(recipe) == 0 || len(recipe) > maxRecipe || r.Inputs == nil {
		return nil
	}
	key := r.key(identity)
	r.Key = key[:]
	return r
}

// found returns the stored row that is exactly r, with its outputs, nil when there
// is none.
func (r *mergeRow) found(ctx context.Context, q sqlx.QueryerContext, identity [16]byte) (*mergeRow, []mergeOutput, error) {
	var stored mergeRow
	err := sqlx.GetContext(ctx, q, &stored, mergeQuery+` WHERE cache_key = ?`, r.Key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !bytes.Equal(stored.Recipe, r.Recipe) || !bytes.Equal(stored.Inputs, r.Inputs) || stored.SchemaID != r.SchemaID:
		return nil, nil, nil
	}
	outputs, err := stored.outputs(ctx, q, identity)
	if err != nil {
		return nil, nil, err
	}
	return &stored, outputs, nil
}

// outputs reads and verifies what a merge made.
func (r *mergeRow) outputs(ctx context.Context, q sqlx.QueryerContext, identity [16]byte) ([]mergeOutput, error) {
	var outputs []mergeOutput
	if err := sqlx.SelectContext(ctx, q, &outputs, outputQuery+` WHERE m.cache_key = ? ORDER BY m.ordinal`, r.Key); err != nil {
		return nil, err
	}
	return outputs, r.verify(identity, outputs)
}

func (r *mergeRow) verify(identity [16]byte, outputs []mergeOutput) error {
	if key := r.key(identity); !bytes.Equal(r.Key, key[:]) {
		return refuse(CodeDigest, "", "the merge of owner %d has key %x, its inputs %x", r.OwnerID, r.Key, key)
	}
	if err := checkDigest("merge of owner", r.OwnerID, r.Digest, r.digest(identity, outputs)); err != nil {
		return err
	}
	if int64(len(outputs)) != r.LastOutput+1 {
		return refuse(CodeCorrupt, "", "the merge of owner %d declares %d outputs and has %d", r.OwnerID, r.LastOutput+1, len(outputs))
	}
	for i := range outputs {
		if outputs[i].Ordinal != int64(i) || outputs[i].Layout != layoutNative {
			return refuse(CodeCorrupt, "", "output %d of the merge of owner %d is %q at %d", i, r.OwnerID, outputs[i].Layout, outputs[i].Ordinal)
		}
	}
	return nil
}

// RetainMerge looks for the base that another timeline made of exactly what the
// head of this one is made of, and roots its objects for a running job, in one
// transaction: from then on nothing can take them away until the job ends. The files
// are in the order of the base, each with what it contributes, also by fragments where
// an entry of another timeline still says so; [Base] takes them like new objects of
// one's own. Without such a base, or when the head moved, ok is false and
// nothing was written. One that is not whole any more is an [ErrNotAcquirable].
func (c *Catalog) RetainMerge(ctx context.Context, r MergeRequest, jobID int64) (files []BaseFile, ok bool, err error) {
	const op = "retain-merge"
	if err := errors.Join(checkID("job", jobID), checkID("LSN", r.LSN)); err != nil {
		return nil, false, wrap(op, err)
	}
	// As a rule it waits for none, which costs no turn of the writer.
	var waits bool
	err = c.read(ctx, op, func(ctx context.Context, tx *sqlx.Tx) error {
		return tx.GetContext(ctx, &waits, `SELECT EXISTS (SELECT 1 FROM completed_merge_waiting WHERE timeline_id = ?)`, r.Head.ID)
	})
	if err != nil || !waits {
		return nil, false, err
	}
	err = c.write(ctx, op, func(ctx context.Context, tx *writeTx) error {
		files, err = c.retainMerge(ctx, tx, &r, jobID)
		if err == nil && files == nil {
			return errUnchanged
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return files, files != nil, nil
}

func (c *Catalog) retainMerge(ctx context.Context, tx *writeTx, r *MergeRequest, jobID int64) ([]BaseFile, error) {
	identity := c.identity()
	owner, err := runningOwner(ctx, tx, jobID)
	if err != nil {
		return nil, err
	}
	head, err := readHead(ctx, tx, r.Head.ID, identity)
	if err != nil {
		return nil, err
	}
	if r.LSN != head.LSN || (&Publication{ExpectedRevision: r.Head.Revision, ExpectedRepresentation: r.Head.RepresentationID}).conflict(head) != nil {
		return nil, nil
	}
	entries, err := readEntries(ctx, tx, identity, head.RepresentationID, 0)
	if err != nil {
		return nil, err
	}
	if int64(len(entries)) != head.EntryCount {
		return nil, refuse(CodeCorrupt, "", "representation %d declares %d entries and has %d", head.RepresentationID, head.EntryCount, len(entries))
	}
	want := mergeOf(head, r.Recipe, entries, identity)
	if want == nil {
		return nil, nil
	}
	_, outputs, err := want.found(ctx, tx, identity)
	if err != nil || outputs == nil {
		return nil, err
	}
	base := make([]entryRow, len(outputs))
	for i := range outputs {
		o := &outputs[i]
		if o.State != "sealed" {
			return nil, refuse(CodeAcquire, "", "object %d of a merge is %s", o.ObjectID, o.State)
		}
		base[i] = entryRow{FactorID: o.ObjectID, BlobID: o.BlobID, Role: roleBase, Contribution: o.Contribution, Layout: o.Layout, ObjectID: o.ObjectID}
		if _, err := tx.ExecContext(ctx, `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'cache') ON CONFLICT DO NOTHING`, owner, o.ObjectID); err != nil {
			return nil, fmt.Errorf("owner_objects: %w", err)
		}
	}
	if err := wholeLive(ctx, tx, identity, base); err != nil {
		return nil, err
	}
	files, lsn, err := baseFiles(ctx, tx, identity, base)
	if err == nil && lsn != head.LSN {
		err = refuse(CodeCorrupt, "", "a merge up to LSN %d has objects of LSN %d", head.LSN, lsn)
	}
	return files, err
}
