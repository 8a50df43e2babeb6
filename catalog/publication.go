package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Publication is a cut to become the head of a timeline.
type Publication struct {
	TimelineID             int64
	ExpectedRevision       int64 // the head it was built against
	ExpectedRepresentation int64
	LSN                    int64      // last commit of the cut
	Schema                 Projection // definitions at the cut
	LiveCount              int64      // rows at the cut
	Fingerprint            []byte     // 16 bytes, of the whole cut
	// Generations are the registered ones the head does not contain yet, in order
	// of their cut, then of their shard. Per shard they go on where the head ends.
	Generations []Contribution
	// Base makes it a compaction: the same world, read from base objects up to an
	// LSN. Generations must be empty; LSN, LiveCount, Fingerprint and Schema are
	// the head's and ignored.
	Base *Base
	// Index makes it one of indexes: the same world and base, read with other
	// segments. Everything else is as with Base. An update that would change nothing
	// at all is an [ErrNothing], and nothing is written.
	Index *IndexUpdate
}

// Contribution is what a generation adds to the fingerprint of a world: the sum
// of its commits' contributions, less what its schema changes took away (the
// rows of a dropped table go with it and have no records). It differs from the
// object's native fingerprint by the latter only.
type Contribution struct {
	ShardGeneration
	Sum []byte // 16 bytes
}

func (p *Publication) check() error {
	errs := []error{checkID("timeline", p.TimelineID), checkCounter("revision", p.ExpectedRevision), checkID("representation", p.ExpectedRepresentation)}
	if p.Index != nil {
		if errs = append(errs, p.Index.check()); p.Base != nil || len(p.Generations) > 0 {
			errs = append(errs, refuse(CodeIndex, "", "a publication of indexes with generations or a base"))
		}
		return errors.Join(errs...)
	}
	if p.Base != nil {
		if errs = append(errs, p.Base.check()); len(p.Generations) > 0 {
			errs = append(errs, refuse(CodeGeneration, "", "a publication of a base with generations"))
		}
		return errors.Join(errs...)
	}
	errs = append(errs, checkCounter("LSN", p.LSN), checkCounter("live count", p.LiveCount), p.Schema.check())
	if len(p.Fingerprint) != sumBytes {
		errs = append(errs, refuse(CodeEncoding, "", "fingerprint has %d bytes, must have %d", len(p.Fingerprint), sumBytes))
	}
	if len(p.Generations) == 0 {
		errs = append(errs, refuse(CodeGeneration, "", "a publication without a generation"))
	}
	return errors.Join(errs...)
}

// request is the canonical text of a publication, which its operation keeps.
func (p *Publication) request() []byte {
	if p.Index != nil {
		return p.Index.request(p)
	}
	if p.Base != nil {
		return p.Base.request(p)
	}
	b := fmt.Appendf(nil, "publish/1 timeline=%d revision=%d representation=%d lsn=%d schema=%q rows=%d fingerprint=%x generations=",
		p.TimelineID, p.ExpectedRevision, p.ExpectedRepresentation, p.LSN, schemaDescriptor(p.Schema), p.LiveCount, p.Fingerprint)
	for i, g := range p.Generations {
		if i > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, "%d:%d:%x", g.ShardID, g.Generation, g.Sum)
	}
	return b
}

// attempt is what the typed states of one publication share.
type attempt struct {
	c           *Catalog
	publication Publication
	operation   []byte
	owner       int64 // recovery owner
	candidate   int64 // representation
}

// Operation is the id under which the catalog keeps request and outcome.
func (a *attempt) Operation() []byte { return bytes.Clone(a.operation) }

// Prepared is a publication whose candidate is in the catalog and retained, as
// the head it was built against is. Nothing has changed for readers.
type Prepared struct{ attempt }

// Attempting is a publication whose adoption may be under way: after a crash
// only the catalog knows how it ended.
type Attempting struct{ attempt }

// Adopted is a publication that is the head, or was.
type Adopted struct {
	attempt
	Head Timeline
	// Lost are the positions of indexes that this publication withdrew or lowered, as
	// they were. They are to be logged: generations stay longer because of it.
	Lost []IndexPosition
	// Retired are the generations that it left out.
	Retired []Generation
}

// Prepare inserts the world and the representation of a publication, which shares
// the head's manifest, with a recovery owner that retains both representations
// and the new blobs, and the operation with its attempt, in one transaction.
//
// It refuses a head that is not the expected one ([ErrConflict]), generations
// that are not registered, not the next ones of their shard or not all that the
// cut has (CodeGeneration), and a fingerprint that the head's and the
// generations' do not add up to (CodeSum).
func (c *Catalog) Prepare(ctx context.Context, p Publication) (*Prepared, error) {
	prepared := &Prepared{attempt{c: c, publication: p}}
	err := c.write(ctx, "prepare-publication", func(ctx context.Context, tx *writeTx) error {
		if err := p.check(); err != nil {
			return err
		}
		head, err := readHead(ctx, tx, p.TimelineID, c.identity())
		if err != nil {
			return err
		}
		if conflict := p.conflict(head); conflict != nil {
			return &Error{Code: CodeConflict, Err: conflict}
		}
		cut, err := readCut(ctx, tx, &p, head, c.identity())
		if err != nil {
			return err
		}
		return prepared.insert(ctx, tx, head, cut)
	})
	if err != nil {
		return nil, err
	}
	return prepared, nil
}

// conflict compares the head with the expected one.
func (p *Publication) conflict(head *headRow) *ConflictError {
	if head.Revision == p.ExpectedRevision && head.RepresentationID == p.ExpectedRepresentation {
		return nil
	}
	return &ConflictError{
		ExpectedRevision: p.ExpectedRevision, ExpectedRepresentation: p.ExpectedRepresentation,
		ObservedRevision: head.Revision, ObservedRepresentation: head.RepresentationID, ObservedWorld: head.WorldID,
	}
}

// readHead reads a timeline's head and compares it with its digest.
func readHead(ctx context.Context, q sqlx.QueryerContext, timelineID int64, identity [16]byte) (*headRow, error) {
	var heads []headRow
	if err := sqlx.SelectContext(ctx, q, &heads, headQuery+` WHERE t.timeline_id = ?`, timelineID); err != nil {
		return nil, err
	}
	if len(heads) == 0 {
		return nil, refuse(CodeUnknown, "", "no timeline %d", timelineID)
	}
	return &heads[0], checkDigest("timeline", timelineID, heads[0].Digest, heads[0].digest(identity))
}

// cut is what a publication adds to the head.
type cut struct {
	generations []Generation
	entries     []entryRow      // one for each, or for each new object of a base
	replayFrom  map[int64]int64 // of the shards that go on, by their id
	sum         []byte          // the head's and the generations' contributions

	whole     bool       // it is of the head's world, and manifest is all of its entries
	manifest  []entryRow // those of the head have their chunk and position
	replaced  []entryRow // of the head, by a base
	shareable bool       // the base is of the whole head and keeps none of its objects

	state   IndexState // of the new head; without an id it is to be inserted
	lost    []IndexPosition
	retired []Generation
}

// readCut checks what is to be published against the head.
func readCut(ctx context.Context, q sqlx.QueryerContext, p *Publication, head *headRow, identity [16]byte) (*cut, error) {
	if p.Index != nil {
		return readIndexUpdate(ctx, q, p.Index, head, identity)
	}
	if p.Base != nil {
		return readBase(ctx, q, p.Base, head, identity)
	}
	return readGenerations(ctx, q, p, head, identity)
}

// readGenerations checks the generations of a publication against the log's rows:
// it must have exactly those with commits up to its LSN that the head does not
// have.
func readGenerations(ctx context.Context, q sqlx.QueryerContext, p *Publication, head *headRow, identity [16]byte) (*cut, error) {
	var shards []shardRow
	if err := sqlx.SelectContext(ctx, q, &shards, shardQuery+` WHERE timeline_id = ?`, p.TimelineID); err != nil {
		return nil, err
	}
	next := make(map[int64]int64, len(shards))
	for i := range shards {
		s := &shards[i]
		if err := checkDigest("shard", s.ID, s.Digest, s.digest(identity)); err != nil {
			return nil, err
		}
		next[s.ID] = s.ReplayFrom
	}
	var rows []generationRow
	if err := sqlx.SelectContext(ctx, q, &rows, generationQuery+`
		JOIN shards s ON s.shard_id = g.shard_id WHERE s.timeline_id = ? AND g.generation >= s.replay_from`, p.TimelineID); err != nil {
		return nil, err
	}
	byName := make(map[ShardGeneration]*generationRow, len(rows))
	for i := range rows {
		byName[ShardGeneration{rows[i].ShardID, rows[i].Generation}] = &rows[i]
	}
	c := &cut{sum: head.ContributionSum, replayFrom: map[int64]int64{}}
	last := head.LSN
	for _, name := range p.Generations {
		row := byName[name.ShardGeneration]
		if row == nil || name.Generation != next[name.ShardID] {
			return nil, refuse(CodeGeneration, "", "generation %d of shard %d is not the next one that the head of timeline %d lacks", name.Generation, name.ShardID, p.TimelineID)
		}
		g, err := row.verified(identity)
		if err != nil {
			return nil, err
		}
		if row.State != GenerationSealed || row.BlobID == nil {
			return nil, refuse(CodeGeneration, "", "generation %d of shard %d is %s and must be sealed and registered", name.Generation, name.ShardID, row.State)
		}
		last = max(last, g.LastLSN)
		if c.sum, err = addSums(c.sum, name.Sum); err != nil {
			return nil, err
		}
		next[name.ShardID]++
		c.replayFrom[name.ShardID] = next[name.ShardID]
		c.generations = append(c.generations, g)
		c.entries = append(c.entries, entryRow{FactorID: g.ObjectID, BlobID: *row.BlobID, Role: roleUpdate, Contribution: name.Sum, Layout: layoutNative, ObjectID: g.ObjectID})
	}
	if last != p.LSN {
		return nil, refuse(CodeGeneration, "", "the cut is at LSN %d, head and generations have commits up to %d", p.LSN, last)
	}
	for i := range rows {
		r := &rows[i]
		if r.Generation >= next[r.ShardID] && r.State == GenerationSealed && deref(r.FirstLSN) <= p.LSN && deref(r.LastLSN) >= deref(r.FirstLSN) {
			return nil, refuse(CodeGeneration, "", "generation %d of shard %d has commit %d, the cut is at %d and does not contain it", r.Generation, r.ShardID, deref(r.FirstLSN), p.LSN)
		}
	}
	if !bytes.Equal(c.sum, p.Fingerprint) {
		return nil, refuse(CodeSum, "", "head and generations add up to %x, the cut has %x", c.sum, p.Fingerprint)
	}
	before, err := readIndexState(ctx, q, identity, head.IndexStateID)
	if err != nil {
		return nil, err
	}
	after := before
	after.current(&p.Schema)
	return c, c.derive(ctx, q, identity, head, nil, before, after, head.RepresentationID)
}

// insert writes the rows of a prepared publication, in the order the guards want.
func (p *Prepared) insert(ctx context.Context, tx *writeTx, head *headRow, cut *cut) error {
	pub := &p.publication
	// One run of ids: representation, owner.
	first, err := tx.newIDs(ctx, 2)
	if err != nil {
		return err
	}
	p.candidate, p.owner = first, first+1
	id := randomID()
	p.operation = id[:]
	request := pub.request()
	digest := sha256.Sum256(request)
	worldID := head.WorldID
	if !cut.whole {
		if worldID, err = insertWorld(ctx, tx, pub); err != nil {
			return err
		}
	}
	if cut.state.ID == 0 {
		if err := insertIndexState(ctx, tx, p.c.identity(), &cut.state); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO representations(representation_id, world_id, index_state_id, layout_version, entry_count, contribution_sum) VALUES (?, ?, ?, ?, ?, ?)`,
		p.candidate, worldID, cut.state.ID, head.LayoutVersion, cut.length(head), cut.sum); err != nil {
		return fmt.Errorf("representations: %w", err)
	}
	if cut.whole {
		err = layManifest(ctx, tx, p.c.identity(), head.RepresentationID, p.candidate, cut.manifest)
	} else {
		err = appendManifest(ctx, tx, p.c.identity(), head.RepresentationID, p.candidate, cut.entries)
	}
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owners(owner_id, kind) VALUES (?, 'recovery')`, p.owner); err != nil {
		return fmt.Errorf("owners: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?1, ?2), (?1, ?3)`,
		p.owner, head.RepresentationID, p.candidate); err != nil {
		return fmt.Errorf("owner_representations: %w", err)
	}
	if err := rootBlobs(ctx, tx, p.owner, cut.entries); err != nil {
		return fmt.Errorf("owner_blobs: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO operations(operation_id, kind, request, request_digest, expected_revision, status, created_at)
		VALUES (?, 'publish', ?, ?, ?, 'prepared', ?)`, p.operation, request, digest[:], pub.ExpectedRevision, timestamp(p.c.options.Now())); err != nil {
		return fmt.Errorf("operations: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO publication_attempts(operation_id, timeline_id, expected_representation_id, expected_revision,
		candidate_representation_id, recovery_owner_id) VALUES (?, ?, ?, ?, ?, ?)`,
		p.operation, pub.TimelineID, pub.ExpectedRepresentation, pub.ExpectedRevision, p.candidate, p.owner); err != nil {
		return fmt.Errorf("publication_attempts: %w", err)
	}
	return nil
}

// length of the manifest that the cut makes of the head's.
func (c *cut) length(head *headRow) int64 {
	if c.whole {
		return int64(len(c.manifest))
	}
	return head.EntryCount + int64(len(c.entries))
}

// insertWorld inserts the world that a publication is of.
func insertWorld(ctx context.Context, tx *writeTx, p *Publication) (id int64, err error) {
	schemaID, _, err := schemaContext(ctx, tx, p.Schema)
	if err != nil {
		return 0, err
	}
	// One run of ids: world, cut.
	if id, err = tx.newIDs(ctx, 2); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO worlds(world_id, admitted_cut_id, lsn, schema_id, live_count, composite_fingerprint) VALUES (?, ?, ?, ?, ?, ?)`,
		id, id+1, p.LSN, schemaID, p.LiveCount, p.Fingerprint); err != nil {
		return 0, fmt.Errorf("worlds: %w", err)
	}
	return id, nil
}

func rootBlobs(ctx context.Context, tx *writeTx, owner int64, entries []entryRow) error {
	insert, err := tx.PreparexContext(ctx, `INSERT INTO owner_blobs(owner_id, blob_id) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for i := range entries {
		if _, err := insert.ExecContext(ctx, owner, entries[i].BlobID); err != nil {
			return err
		}
	}
	return nil
}
