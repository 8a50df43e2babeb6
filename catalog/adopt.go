package catalog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// States of an attempt to publish, and of its operation.
const (
	attemptPrepared   = "prepared"
	attemptAttempting = "attempting"
	attemptUnknown    = "unknown"
	attemptCommitted  = "committed"
	attemptConflict   = "conflict"
	attemptRolledBack = "rolled_back"
	attemptRetired    = "retired"

	operationPrepared  = "prepared"
	operationCommitted = "committed"
	operationConflict  = "conflict"
	operationAbandoned = "abandoned"
)

// Begin records that the adoption is about to be tried.
func (p *Prepared) Begin(ctx context.Context) (*Attempting, error) {
	err := p.c.write(ctx, "begin-publication", func(ctx context.Context, tx *writeTx) error {
		return step(ctx, tx, p.operation, attemptPrepared, attemptAttempting)
	})
	if err != nil {
		return nil, err
	}
	return &Attempting{p.attempt}, nil
}

// Adopt makes the candidate the head and records the outcome, in one transaction:
// the head moves by one revision, each shard's replay_from moves behind the
// contained generations, and the timeline lets go of the head before and of the
// generations that it now has through the new one.
//
// A head that is not the expected one any more stays; that it was observed is
// recorded, and the error is an [ErrConflict] with a [*ConflictError]. Inputs
// that changed since Prepare, or do not add up, are refused and nothing is
// recorded. In both cases [Attempting.Abandon] lets go of what is retained.
func (a *Attempting) Adopt(ctx context.Context) (*Adopted, error) {
	adopted := &Adopted{attempt: a.attempt}
	var conflict *ConflictError
	err := a.c.write(ctx, "adopt-publication", func(ctx context.Context, tx *writeTx) error {
		head, err := readHead(ctx, tx, a.publication.TimelineID, a.c.identity())
		if err != nil {
			return err
		}
		if err := a.recheck(ctx, tx); err != nil {
			return err
		}
		if conflict = a.publication.conflict(head); conflict != nil {
			outcome := fmt.Appendf(nil, "conflict/1 revision=%d representation=%d world=%d", head.Revision, head.RepresentationID, head.WorldID)
			return a.settle(ctx, tx, operationConflict, outcome, attemptConflict)
		}
		next, cut, err := a.adopt(ctx, tx, head)
		if err != nil {
			return err
		}
		adopted.Head, adopted.Lost, adopted.Retired = next.timeline(), cut.lost, cut.retired
		outcome := fmt.Appendf(nil, "publish/1 revision=%d representation=%d world=%d", next.Revision, next.RepresentationID, next.WorldID)
		return a.settle(ctx, tx, operationCommitted, outcome, attemptCommitted)
	})
	if err != nil {
		return nil, err
	}
	if conflict != nil {
		return nil, &Error{Code: CodeConflict, Op: "adopt-publication", Err: conflict}
	}
	return adopted, nil
}

// recheck refuses an operation that is over or is another one.
func (a *Attempting) recheck(ctx context.Context, tx *writeTx) error {
	var request []byte
	var status string
	err := tx.QueryRowxContext(ctx, `SELECT request, status FROM operations WHERE operation_id = ?`, a.operation).Scan(&request, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return refuse(CodeUnknown, "", "no operation %x", a.operation)
	}
	if err != nil {
		return err
	}
	if status != operationPrepared {
		return refuse(CodeState, "", "operation %x is %s already", a.operation, status)
	}
	if !bytes.Equal(request, a.publication.request()) {
		return refuse(CodeImmutable, "", "operation %x has another request", a.operation)
	}
	return nil
}

// settle records the outcome of the operation and of its attempt.
func (a *attempt) settle(ctx context.Context, tx *writeTx, status string, outcome []byte, state string) error {
	var committedAt any
	if status == operationCommitted {
		committedAt = timestamp(a.c.options.Now())
	}
	result, err := tx.ExecContext(ctx, `UPDATE operations SET status = ?, outcome = ?, committed_at = ? WHERE operation_id = ? AND status = 'prepared'`,
		status, outcome, committedAt, a.operation)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("operations: %w", err)
	}
	return step(ctx, tx, a.operation, attemptAttempting, state)
}

// step moves an attempt from one state to another.
func step(ctx context.Context, tx *writeTx, operation []byte, from, to string) error {
	result, err := tx.ExecContext(ctx, `UPDATE publication_attempts SET state = ?, revision = revision + 1 WHERE operation_id = ? AND state = ?`, to, operation, from)
	if err != nil {
		return fmt.Errorf("publication_attempts: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	state, err := stateOfAttempt(ctx, tx, operation)
	if err != nil {
		return err
	}
	return refuse(CodeState, "", "the attempt %x is %s, must be %s", operation, state, from)
}

func stateOfAttempt(ctx context.Context, tx *writeTx, operation []byte) (state string, err error) {
	err = tx.GetContext(ctx, &state, `SELECT state FROM publication_attempts WHERE operation_id = ?`, operation)
	if errors.Is(err, sql.ErrNoRows) {
		return "", refuse(CodeUnknown, "", "no attempt %x to publish", operation)
	}
	return state, err
}

// adopt moves the head. Everything the candidate was made of is read again.
func (a *Attempting) adopt(ctx context.Context, tx *writeTx, head *headRow) (*headRow, *cut, error) {
	identity := a.c.identity()
	cut, err := readCut(ctx, tx, &a.publication, head, identity)
	if err != nil {
		return nil, nil, err
	}
	next, err := a.next(ctx, tx, head)
	if err != nil {
		return nil, nil, err
	}
	if err := a.checkCandidate(ctx, tx, head, next, cut); err != nil {
		return nil, nil, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?, ?)`, head.OwnerID, a.candidate); err != nil {
		return nil, nil, fmt.Errorf("owner_representations: %w", err)
	}
	left, err := leaveMerge(ctx, tx, head)
	if err != nil {
		return nil, nil, err
	}
	digest := next.digest(identity)
	result, err := tx.ExecContext(ctx, `UPDATE timelines SET head_world_id = ?, head_representation_id = ?, revision = ?, digest = ? WHERE timeline_id = ? AND revision = ?`,
		next.WorldID, next.RepresentationID, next.Revision, digest[:], head.TimelineID, head.Revision)
	if err := expectOneRow(result, err); err != nil {
		return nil, nil, fmt.Errorf("timelines: %w", err)
	}
	// Head, replay_from, roots: each guard looks at the step before.
	for shardID, from := range cut.replayFrom {
		if err := a.c.updateShard(ctx, tx, shardID, func(s *shardRow) error { s.ReplayFrom = from; return nil }); err != nil {
			return nil, nil, fmt.Errorf("shards: %w", err)
		}
	}
	if err := a.release(ctx, tx, head, cut); err != nil {
		return nil, nil, err
	}
	switch {
	case a.publication.Base != nil:
		err = a.c.keepMerge(ctx, tx, head, a.publication.Base, cut)
	case left:
		err = evictMerges(ctx, tx, 0)
	}
	return next, cut, err
}

// release drops the roots that the new head makes superfluous.
func (a *Attempting) release(ctx context.Context, tx *writeTx, head *headRow, cut *cut) error {
	drop, err := tx.PreparexContext(ctx, `DELETE FROM owner_objects WHERE owner_id = ? AND object_id = ? AND purpose = 'active'`)
	if err != nil {
		return err
	}
	defer drop.Close()
	for i := range cut.generations {
		if _, err := drop.ExecContext(ctx, head.OwnerID, cut.generations[i].ObjectID); err != nil {
			return fmt.Errorf("owner_objects: %w", err)
		}
	}
	result, err := tx.ExecContext(ctx, `DELETE FROM owner_representations WHERE owner_id = ? AND representation_id = ?`, head.OwnerID, head.RepresentationID)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	return nil
}

// next is the head as it will be: the timeline's row with the candidate's world.
func (a *Attempting) next(ctx context.Context, tx *writeTx, head *headRow) (*headRow, error) {
	var rows []headRow
	if err := tx.SelectContext(ctx, &rows, `
		SELECT w.world_id AS head_world_id, r.representation_id AS head_representation_id, w.lsn, w.schema_id, c.schema_version, w.live_count,
		       w.composite_fingerprint, r.index_state_id, r.layout_version, r.entry_count, r.contribution_sum
		FROM representations r JOIN worlds w ON w.world_id = r.world_id JOIN schema_contexts c ON c.schema_id = w.schema_id
		WHERE r.representation_id = ?`, a.candidate); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, refuse(CodeUnknown, "", "no representation %d with its world", a.candidate)
	}
	next := &rows[0]
	next.TimelineID, next.Name, next.OwnerID, next.CreatedAt, next.Revision = head.TimelineID, head.Name, head.OwnerID, head.CreatedAt, head.Revision+1
	return next, nil
}

// checkCandidate verifies what Prepare inserted: the world is the publication's,
// the manifest is the head's and then the new entries, and all adds up.
func (a *Attempting) checkCandidate(ctx context.Context, tx *writeTx, head, next *headRow, cut *cut) error {
	if err := a.checkState(ctx, tx, next, cut); err != nil {
		return err
	}
	if cut.whole {
		return a.checkWhole(ctx, tx, head, next, cut)
	}
	p := &a.publication
	if next.LSN != p.LSN || next.LiveCount != p.LiveCount || next.SchemaVersion != p.Schema.SchemaVersion ||
		next.EntryCount != head.EntryCount+int64(len(cut.entries)) {
		return refuse(CodeCorrupt, "", "representation %d and its world are not what was prepared", a.candidate)
	}
	var parted int64
	if err := tx.GetContext(ctx, &parted, `
		SELECT count(*) FROM representation_chunks h WHERE h.representation_id = ? AND NOT EXISTS (
			SELECT 1 FROM representation_chunks c WHERE c.representation_id = ? AND c.ordinal = h.ordinal AND c.chunk_id = h.chunk_id
				AND c.first_position = h.first_position AND c.entries >= h.entries)`, head.RepresentationID, a.candidate); err != nil {
		return err
	}
	if parted != 0 {
		return refuse(CodeCorrupt, "", "representation %d does not begin with the head's manifest", a.candidate)
	}
	entries, err := readEntries(ctx, tx, a.c.identity(), a.candidate, head.EntryCount)
	if err != nil {
		return err
	}
	if len(entries) != len(cut.entries) {
		return refuse(CodeManifest, "", "representation %d adds %d entries, the cut has %d", a.candidate, len(entries), len(cut.entries))
	}
	sum, err := sumOf(head.ContributionSum, entries)
	if err != nil {
		return err
	}
	for _, want := range [][]byte{next.ContributionSum, next.Fingerprint, p.Fingerprint} {
		if !bytes.Equal(sum, want) {
			return refuse(CodeSum, "", "the entries of representation %d add up to %x, not to %x", a.candidate, sum, want)
		}
	}
	for i := range entries {
		if err := entries[i].stands(&cut.generations[i], roleUpdate); err != nil {
			return err
		}
		if !bytes.Equal(entries[i].Contribution, cut.entries[i].Contribution) {
			return refuse(CodeCorrupt, "", "entry %d of representation %d contributes %x, was prepared with %x",
				entries[i].Position, a.candidate, entries[i].Contribution, cut.entries[i].Contribution)
		}
	}
	return checkFactors(ctx, tx, a.candidate, head.EntryCount)
}

// checkState verifies that the candidate has the index state that follows from what
// is published.
func (a *Attempting) checkState(ctx context.Context, tx *writeTx, next *headRow, cut *cut) error {
	if cut.state.ID == next.IndexStateID {
		return nil // it was read and verified
	}
	s, err := readIndexState(ctx, tx, a.c.identity(), next.IndexStateID)
	if err != nil {
		return err
	}
	if cut.state.ID != 0 || !s.equal(&cut.state) {
		return refuse(CodeCorrupt, "", "representation %d has index state %d, which is not what follows from what is published", a.candidate, next.IndexStateID)
	}
	return nil
}

// checkFactors refuses a factor of the entries from a position on that the
// manifest has elsewhere, too. The ones before were checked when they were new.
func checkFactors(ctx context.Context, tx *writeTx, representationID, from int64) error {
	var factors []int64
	if err := tx.SelectContext(ctx, &factors, `
		SELECT e.logical_factor_id
		FROM representation_chunks c
		CROSS JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries AND e.position >= ?2 - c.first_position
		CROSS JOIN manifest_entries o ON o.logical_factor_id = e.logical_factor_id AND (o.chunk_id, o.position) <> (e.chunk_id, e.position)
		CROSS JOIN representation_chunks d ON d.representation_id = c.representation_id AND d.chunk_id = o.chunk_id AND d.entries > o.position
		WHERE c.representation_id = ?1 AND c.first_position + c.entries > ?2 LIMIT 1`, representationID, from); err != nil {
		return err
	}
	if len(factors) > 0 {
		return refuse(CodeManifest, "", "representation %d has factor %d twice", representationID, factors[0])
	}
	return nil
}
