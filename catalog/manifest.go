package catalog

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/jmoiron/sqlx"
)

// chunkEntries is how many entries a chunk of a manifest can have.
const chunkEntries = 256

// maxEntries is the most a manifest can have, as the schema says.
const maxEntries = 1 << 20

// Roles of entries.
const (
	roleBase   = "base"   // the entry is part of the state at one LSN; they come first
	roleMerged = "merged" // the base has what the entry's generation had; it adds nothing, is kept for indexes and never replayed
	roleUpdate = "update" // the entry adds the change between two cuts
)

// entryRow is one entry of a manifest, with the reference that makes it one of a
// representation's and the blob and object behind it.
type entryRow struct {
	ChunkID      int64  `db:"chunk_id"`
	Position     int64  `db:"position"` // within the chunk
	FactorID     int64  `db:"logical_factor_id"`
	BlobID       int64  `db:"blob_id"`
	Role         string `db:"contribution_role"`
	Contribution []byte `db:"contribution"`
	Digest       []byte `db:"digest"`

	Ordinal       int64  `db:"ordinal"`
	FirstPosition int64  `db:"first_position"`
	Layout        string `db:"layout"`
	ObjectID      int64  `db:"native_object_id"`
	ObjectState   string `db:"object_state"`

	live []liveRow // of a base entry
}

// entryQuery lists the entries of a representation from a position to before another
// one, in order. It skips whole chunks, so a part of a long manifest is read without
// the rest.
const entryQuery = `
	SELECT c.ordinal, c.first_position, e.chunk_id, e.position, e.logical_factor_id, e.blob_id, e.contribution_role, e.contribution, e.digest,
	       coalesce(b.layout, '') AS layout, coalesce(b.native_object_id, 0) AS native_object_id, coalesce(o.state, '') AS object_state
	FROM representation_chunks c
	CROSS JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries AND e.position >= ?2 - c.first_position AND e.position < ?3 - c.first_position
	LEFT JOIN blob_versions b ON b.blob_id = e.blob_id
	LEFT JOIN objects o ON o.object_id = b.native_object_id
	WHERE c.representation_id = ?1 AND c.first_position + c.entries > ?2 AND c.first_position < ?3
	ORDER BY c.ordinal, e.position`

// digest covers what the entry says of fragments, too. One that says nothing has the
// digest of entries before there was such a thing.
func (r *entryRow) digest(identity [16]byte) [32]byte {
	kind := "manifest-entry"
	if len(r.live) > 0 {
		kind = "manifest-entry-live"
	}
	d := newDigest(kind, identity)
	d.int(r.ChunkID)
	d.int(r.Position)
	d.int(r.FactorID)
	d.int(r.BlobID)
	d.text(r.Role)
	d.bytes(r.Contribution)
	for i := range r.live {
		r.live[i].addTo(d)
	}
	return d.sum()
}

// readEntries returns the entries of a representation from a position on. Each
// has its digest and its place, and a blob whose object is sealed.
func readEntries(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID, from int64) ([]entryRow, error) {
	return readSomeEntries(ctx, q, identity, representationID, from, math.MaxInt64)
}

// readBaseEntries returns the entries of a base, with which its manifest begins. It
// reads little more than these, however many generations are behind them.
func readBaseEntries(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID int64) (bases []entryRow, err error) {
	for {
		from := int64(len(bases))
		next, err := readSomeEntries(ctx, q, identity, representationID, from, from+chunkEntries)
		if err != nil {
			return nil, err
		}
		for i := range next {
			if next[i].Role != roleBase {
				return bases, nil
			}
			bases = append(bases, next[i])
		}
		if len(next) < chunkEntries {
			return bases, nil
		}
	}
}

// readSomeEntries is readEntries of those before a position.
func readSomeEntries(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID, from, to int64) ([]entryRow, error) {
	var rows []entryRow
	if err := sqlx.SelectContext(ctx, q, &rows, entryQuery, representationID, from, to); err != nil {
		return nil, err
	}
	if err := readLive(ctx, q, representationID, from, to, rows); err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		if want := from + int64(i); r.FirstPosition+r.Position != want {
			return nil, refuse(CodeCorrupt, "", "representation %d has no entry at position %d", representationID, want)
		}
		if err := checkDigest("manifest entry of factor", r.FactorID, r.Digest, r.digest(identity)); err != nil {
			return nil, err
		}
		if r.ObjectState != "sealed" {
			return nil, refuse(CodeCorrupt, "", "representation %d: object %d of factor %d is %q, must be sealed", representationID, r.ObjectID, r.FactorID, r.ObjectState)
		}
	}
	return rows, nil
}

// sumOf adds the contributions of entries.
func sumOf(sum []byte, entries []entryRow) (_ []byte, err error) {
	for i := range entries {
		if sum, err = addSums(sum, entries[i].Contribution); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// parts are the entries of a manifest in their order: the base, the generations that it
// contains and that are retained, and those to be read behind it.
type parts struct{ bases, merged, updates []entryRow }

// readManifest verifies the manifest of a representation: as many entries as declared,
// no factor twice, its parts in their order, and contributions that add up to the
// fingerprint of the world.
func readManifest(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, representationID int64, w *worldRow) (p parts, err error) {
	entries, err := readEntries(ctx, q, identity, representationID, 0)
	if err != nil {
		return p, err
	}
	if int64(len(entries)) != w.EntryCount {
		return p, refuse(CodeCorrupt, "", "representation %d declares %d entries and has %d", representationID, w.EntryCount, len(entries))
	}
	sum, err := sumOf(emptySum, entries)
	if err != nil {
		return p, err
	}
	if !bytes.Equal(sum, w.ContributionSum) || !bytes.Equal(sum, w.Fingerprint) {
		return p, refuse(CodeCorrupt, "", "the entries of representation %d add up to %x, it declares %x, its world has %x", representationID, sum, w.ContributionSum, w.Fingerprint)
	}
	factors := make(map[int64]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		if factors[e.FactorID] {
			return p, refuse(CodeCorrupt, "", "representation %d has factor %d twice", representationID, e.FactorID)
		}
		factors[e.FactorID] = true
	}
	return split(representationID, entries)
}

// split parts the entries of a manifest.
func split(representationID int64, entries []entryRow) (p parts, err error) {
	bases, merged := 0, 0
	for i := range entries {
		switch e := &entries[i]; e.Role {
		case roleBase:
			if bases != i {
				return p, refuse(CodeCorrupt, "", "representation %d has base object %d behind generations", representationID, e.ObjectID)
			}
			bases++
		case roleMerged:
			if bases+merged != i {
				return p, refuse(CodeCorrupt, "", "representation %d has retained object %d behind generations that are to be read", representationID, e.ObjectID)
			}
			if !bytes.Equal(e.Contribution, emptySum) {
				return p, refuse(CodeCorrupt, "", "representation %d has retained object %d, which contributes %x", representationID, e.ObjectID, e.Contribution)
			}
			merged++
		}
	}
	behind := bases + merged
	return parts{entries[:bases:bases], entries[bases:behind:behind], entries[behind:]}, nil
}

// manifest verifies the head's manifest and marks the generations it contains.
func (s *State) manifest(ctx context.Context, q sqlx.QueryerContext, h *headRow, identity [16]byte) error {
	p, err := readManifest(ctx, q, identity, h.RepresentationID, &h.worldRow)
	if err != nil {
		return err
	}
	replayFrom := make(map[int64]int64, len(s.Shards))
	for _, shard := range s.Shards {
		replayFrom[shard.ID] = shard.ReplayFrom
	}
	generations := make(map[int64]*Generation, len(s.Generations))
	for i := range s.Generations {
		generations[s.Generations[i].ObjectID] = &s.Generations[i]
	}
	var foreign []entryRow // generations of timelines that this one was forked from, or restored to
	for i := range p.updates {
		e := &p.updates[i]
		g := generations[e.ObjectID]
		if e.Role != roleUpdate || g == nil {
			foreign = append(foreign, *e)
			continue
		}
		if err := e.stands(g, roleUpdate); err != nil {
			return err
		}
		if g.Generation >= replayFrom[g.ShardID] {
			return refuse(CodeCorrupt, "", "generation %d of shard %d is in the head and to be replayed from %d", g.Generation, g.ShardID, replayFrom[g.ShardID])
		}
		g.InHead = true
	}
	if err := s.base(ctx, q, p.bases, identity); err != nil {
		return err
	}
	return s.inherit(ctx, q, h.RepresentationID, foreign, p.merged, identity)
}

// inherit verifies what the head has of other timelines, and what it retains.
func (s *State) inherit(ctx context.Context, q sqlx.QueryerContext, representationID int64, entries, merged []entryRow, identity [16]byte) error {
	if len(entries)+len(merged) == 0 {
		return nil
	}
	h := History{RepresentationID: representationID, LSN: s.Timeline.LSN, BaseLSN: s.BaseLSN, ShardOrdinal: map[int64]int64{}}
	var err error
	if h.Generations, err = h.generations(ctx, q, identity, entries, roleUpdate); err != nil {
		return err
	}
	if h.Retained, err = h.generations(ctx, q, identity, merged, roleMerged); err != nil {
		return err
	}
	if err := h.ordinals(ctx, q, identity); err != nil {
		return err
	}
	s.Inherited, s.Retained, s.ShardOrdinal = h.Generations, h.Retained, h.ShardOrdinal
	for i := range s.Inherited {
		s.Inherited[i].InHead = true
	}
	return nil
}

// checkForeign refuses entries of objects that are no generation of any shard.
func checkForeign(ctx context.Context, q sqlx.QueryerContext, representationID int64, objects []int64) error {
	if len(objects) == 0 {
		return nil
	}
	var lost []int64
	if err := sqlx.SelectContext(ctx, q, &lost, `SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM generations WHERE object_id = value) LIMIT 1`, idText(objects)); err != nil {
		return err
	}
	if len(lost) > 0 {
		return refuse(CodeCorrupt, "", "representation %d has object %d, which is neither a base's nor a generation", representationID, lost[0])
	}
	return nil
}

// base verifies the base of the head. The generations that the head still has lie
// behind it.
func (s *State) base(ctx context.Context, q sqlx.QueryerContext, entries []entryRow, identity [16]byte) (err error) {
	if s.Base, s.BaseLSN, err = baseFiles(ctx, q, identity, entries); err != nil {
		return err
	}
	if s.BaseLSN > s.Timeline.LSN {
		return refuse(CodeCorrupt, "", "the base is of LSN %d, its timeline %q has commits up to %d", s.BaseLSN, s.Timeline.Name, s.Timeline.LSN)
	}
	for i := range s.Generations {
		if g := &s.Generations[i]; g.InHead && g.FirstLSN <= s.BaseLSN {
			return refuse(CodeCorrupt, "", "generation %d of shard %d is in the head and has commits from %d, the base is of LSN %d", g.Generation, g.ShardID, g.FirstLSN, s.BaseLSN)
		}
	}
	return nil
}

// stands checks that an entry is the one that g gets: its native blob, under its
// object's id. What it contributes is the publication's to say.
func (r *entryRow) stands(g *Generation, role string) error {
	if r.Role != role || r.Layout != layoutNative || r.FactorID != g.ObjectID || r.ObjectID != g.ObjectID {
		return refuse(CodeCorrupt, "", "the entry of generation %d of shard %d is %s of factor %d, object %d; must be of object %d",
			g.Generation, g.ShardID, r.Role, r.FactorID, r.ObjectID, g.ObjectID)
	}
	return nil
}

// chunkRef is one row of representation_chunks.
type chunkRef struct {
	Ordinal       int64 `db:"ordinal"`
	ChunkID       int64 `db:"chunk_id"`
	Entries       int64 `db:"entries"`
	FirstPosition int64 `db:"first_position"`
}

// appendManifest gives representation to the manifest of representation from and
// more entries at its end. All chunks of from are shared; its last one grows
// unless another candidate did that first, with entries of its own.
func appendManifest(ctx context.Context, tx *writeTx, identity [16]byte, from, to int64, entries []entryRow) error {
	var refs []chunkRef
	if err := tx.SelectContext(ctx, &refs, `SELECT ordinal, chunk_id, entries, first_position FROM representation_chunks
		WHERE representation_id = ? ORDER BY ordinal DESC LIMIT 1`, from); err != nil {
		return err
	}
	var last chunkRef // of no entries when there is none to go on with
	if len(refs) == 1 {
		last = refs[0]
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO representation_chunks(representation_id, ordinal, chunk_id, entries, first_position)
		SELECT ?, ordinal, chunk_id, entries, first_position FROM representation_chunks WHERE representation_id = ? AND ordinal < ? ORDER BY ordinal`,
		to, from, last.Ordinal); err != nil {
		return err
	}
	insert, err := tx.PreparexContext(ctx, insertEntry)
	if err != nil {
		return err
	}
	defer insert.Close()
	room := false
	if last.Entries > 0 {
		if room, err = last.share(ctx, tx, &entries); err != nil {
			return err
		}
	}
	for {
		for room && len(entries) > 0 && last.Entries < chunkEntries {
			e := &entries[0]
			e.ChunkID, e.Position = last.ChunkID, last.Entries
			if err := e.insert(ctx, tx, insert, identity); err != nil {
				return err
			}
			last.Entries++
			entries = entries[1:]
		}
		if last.Entries > 0 {
			if _, err := tx.ExecContext(ctx, `INSERT INTO representation_chunks(representation_id, ordinal, chunk_id, entries, first_position) VALUES (?, ?, ?, ?, ?)`,
				to, last.Ordinal, last.ChunkID, last.Entries, last.FirstPosition); err != nil {
				return err
			}
		}
		if len(entries) == 0 {
			return nil
		}
		next := chunkRef{FirstPosition: last.FirstPosition + last.Entries}
		if last.Entries > 0 {
			next.Ordinal = last.Ordinal + 1
		}
		if next.ChunkID, err = tx.newID(ctx); err != nil {
			return err
		}
		last, room = next, true
	}
}

// share takes over what stands behind the reference in its chunk as far as it is
// what is to come, which is so when an attempt is made again, and tells whether
// the chunk may grow behind that.
func (r *chunkRef) share(ctx context.Context, tx *writeTx, entries *[]entryRow) (room bool, err error) {
	var tail []entryRow
	if err := tx.SelectContext(ctx, &tail, `SELECT chunk_id, position, logical_factor_id, blob_id, contribution_role, contribution, digest
		FROM manifest_entries WHERE chunk_id = ? AND position >= ? ORDER BY position`, r.ChunkID, r.Entries); err != nil {
		return false, err
	}
	for i := range tail {
		if len(*entries) == 0 || !tail[i].equal(&(*entries)[0]) {
			return false, nil
		}
		*entries = (*entries)[1:]
		r.Entries++
	}
	return true, nil
}

func (r *entryRow) equal(o *entryRow) bool {
	return r.FactorID == o.FactorID && r.BlobID == o.BlobID && r.Role == o.Role && bytes.Equal(r.Contribution, o.Contribution) &&
		slices.EqualFunc(r.live, o.live, func(a, b liveRow) bool { return a.equal(&b) })
}

const insertEntry = `INSERT INTO manifest_entries(chunk_id, position, logical_factor_id, blob_id, contribution_role, contribution, digest)
	VALUES (?, ?, ?, ?, ?, ?, ?)`

// insert inserts an entry where it says, and what it says of fragments.
func (r *entryRow) insert(ctx context.Context, tx *writeTx, insert *sqlx.Stmt, identity [16]byte) error {
	digest := r.digest(identity)
	if _, err := insert.ExecContext(ctx, r.ChunkID, r.Position, r.FactorID, r.BlobID, r.Role, r.Contribution, digest[:]); err != nil {
		return err
	}
	return r.insertLive(ctx, tx)
}
