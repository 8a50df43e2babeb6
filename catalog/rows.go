package catalog

import (
	"bytes"
)

// Rows as stored. Each knows its digest; check compares it with the stored one.

type headRow struct {
	TimelineID       int64  `db:"timeline_id"`
	Name             string `db:"name"`
	OwnerID          int64  `db:"owner_id"`
	WorldID          int64  `db:"head_world_id"`
	RepresentationID int64  `db:"head_representation_id"`
	Revision         int64  `db:"revision"`
	CreatedAt        string `db:"created_at"`
	Digest           []byte `db:"digest"`
	Rooted           bool   `db:"rooted"`
	Others           bool   `db:"others"` // there are other timelines
	worldRow                // the head's digest covers it
}

// worldRow is a world with a representation of it.
type worldRow struct {
	LSN             int64  `db:"lsn"`
	SchemaID        int64  `db:"schema_id"`
	SchemaVersion   int64  `db:"schema_version"`
	LiveCount       int64  `db:"live_count"`
	Fingerprint     []byte `db:"composite_fingerprint"`
	IndexStateID    int64  `db:"index_state_id"`
	LayoutVersion   int64  `db:"layout_version"`
	EntryCount      int64  `db:"entry_count"`
	ContributionSum []byte `db:"contribution_sum"`
}

const worldColumns = `w.lsn, w.schema_id, c.schema_version, w.live_count, w.composite_fingerprint,
	       r.index_state_id, r.layout_version, r.entry_count, r.contribution_sum`

func (r *worldRow) addTo(d digester) {
	d.int(r.LSN)
	d.int(r.SchemaID)
	d.int(r.SchemaVersion)
	d.int(r.LiveCount)
	d.bytes(r.Fingerprint)
	d.int(r.IndexStateID)
	d.int(r.LayoutVersion)
	d.int(r.EntryCount)
	d.bytes(r.ContributionSum)
}

const headQuery = `
	SELECT t.timeline_id, t.name, t.owner_id, t.head_world_id, t.head_representation_id, t.revision, t.created_at, t.digest,
	       ` + worldColumns + `,
	       EXISTS (SELECT 1 FROM owner_representations o WHERE o.owner_id = t.owner_id AND o.representation_id = r.representation_id) AS rooted,
	       EXISTS (SELECT 1 FROM timelines o WHERE o.timeline_id <> t.timeline_id) AS others
	FROM timelines t
	JOIN representations r ON r.representation_id = t.head_representation_id AND r.world_id = t.head_world_id
	JOIN worlds w ON w.world_id = r.world_id
	JOIN schema_contexts c ON c.schema_id = w.schema_id`

func (r *headRow) digest(identity [16]byte) [32]byte {
	d := newDigest("head", identity)
	d.int(r.TimelineID)
	d.text(r.Name)
	d.int(r.OwnerID)
	d.int(r.WorldID)
	d.int(r.RepresentationID)
	d.int(r.Revision)
	d.text(r.CreatedAt)
	r.worldRow.addTo(d)
	return d.sum()
}

type shardRow struct {
	ID                int64  `db:"shard_id"`
	TimelineID        int64  `db:"timeline_id"`
	Ordinal           int64  `db:"ordinal"`
	ParentShardID     *int64 `db:"parent_shard_id"`
	ParentGeneration  *int64 `db:"parent_generation"`
	WriterEpoch       int64  `db:"writer_epoch"`
	CurrentGeneration int64  `db:"current_generation"`
	ReplayFrom        int64  `db:"replay_from"`
	Revision          int64  `db:"revision"`
	Digest            []byte `db:"digest"`
}

const shardQuery = `
	SELECT shard_id, timeline_id, ordinal, parent_shard_id, parent_generation, writer_epoch, current_generation, replay_from, revision, digest
	FROM shards`

func (r *shardRow) digest(identity [16]byte) [32]byte {
	d := newDigest("shard", identity)
	d.int(r.ID)
	d.int(r.TimelineID)
	d.int(r.Ordinal)
	d.optional(r.ParentShardID)
	d.optional(r.ParentGeneration)
	d.int(r.WriterEpoch)
	d.int(r.CurrentGeneration)
	d.int(r.ReplayFrom)
	d.int(r.Revision)
	return d.sum()
}

type generationRow struct {
	ShardID    int64  `db:"shard_id"`
	Generation int64  `db:"generation"`
	ObjectID   int64  `db:"object_id"`
	State      string `db:"state"`
	FirstLSN   *int64 `db:"first_lsn"`
	LastLSN    *int64 `db:"last_lsn"`
	Records    *int64 `db:"records"`
	Revision   int64  `db:"revision"`
	Digest     []byte `db:"digest"`
	Tables     []byte `db:"tables_digest"` // nil: it is not known of which tables it has records

	// of the object; its identity and seal are in the generation's digest
	Kind            string `db:"kind"`
	Path            string `db:"relative_path"`
	Attempt         []byte `db:"attempt_id"`
	ObjectState     string `db:"object_state"`
	ObjectRevision  int64  `db:"lifecycle_revision"`
	ByteExtent      *int64 `db:"byte_extent"`
	ContentID       []byte `db:"content_id"`
	IntegrityDigest []byte `db:"integrity_digest"`
	Fingerprint     []byte `db:"native_fingerprint"`
	BlobID          *int64 `db:"blob_id"` // nil until it is registered
}

const generationQuery = `
	SELECT g.shard_id, g.generation, g.object_id, g.state, g.first_lsn, g.last_lsn, g.records, g.revision, g.digest, g.tables_digest,
	       o.kind, o.relative_path, o.attempt_id, o.state AS object_state, o.lifecycle_revision,
	       o.byte_extent, o.content_id, o.integrity_digest, o.native_fingerprint,
	       (SELECT b.blob_id FROM blob_versions b WHERE b.native_object_id = g.object_id AND b.index_object_id IS NULL) AS blob_id
	FROM generations g JOIN objects o ON o.object_id = g.object_id`

func (r *generationRow) digest(identity [16]byte) [32]byte {
	d := newDigest("generation", identity)
	d.int(r.ShardID)
	d.int(r.Generation)
	d.int(r.ObjectID)
	d.text(r.State)
	d.optional(r.FirstLSN)
	d.optional(r.LastLSN)
	d.optional(r.Records)
	d.int(r.Revision)
	d.text(r.Kind)
	d.text(r.Path)
	d.bytes(r.Attempt)
	d.optional(r.ByteExtent)
	d.bytes(r.ContentID)
	d.bytes(r.IntegrityDigest)
	d.bytes(r.Fingerprint)
	if r.Tables != nil { // others have the digest of generations before there was any
		d.bytes(r.Tables)
	}
	return d.sum()
}

// checkDigest compares a stored digest with the computed one.
func checkDigest(what string, id int64, stored []byte, computed [32]byte) error {
	if !bytes.Equal(stored, computed[:]) {
		return refuse(CodeDigest, "", "%s %d: stored digest %x, the row has %x", what, id, stored, computed)
	}
	return nil
}
