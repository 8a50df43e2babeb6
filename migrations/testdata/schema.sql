-- index blob_by_native on blob_versions
CREATE INDEX blob_by_native ON blob_versions(native_object_id);

-- index blob_by_secondary on blob_versions
CREATE INDEX blob_by_secondary ON blob_versions(secondary_native_object_id);

-- index blob_by_target on blob_versions
CREATE INDEX blob_by_target ON blob_versions(main_target_blob_id);

-- index blob_one_bare_native on blob_versions
CREATE UNIQUE INDEX blob_one_bare_native ON blob_versions(native_object_id) WHERE index_object_id IS NULL;

-- index blob_one_per_index on blob_versions
CREATE UNIQUE INDEX blob_one_per_index ON blob_versions(index_object_id) WHERE index_object_id IS NOT NULL;

-- index branch_points_by_representation on branch_points
CREATE INDEX branch_points_by_representation ON branch_points(representation_id, world_id);

-- index branch_points_by_timeline on branch_points
CREATE INDEX branch_points_by_timeline ON branch_points(timeline_id);

-- index completed_merge_outputs_by_root on completed_merge_outputs
CREATE INDEX completed_merge_outputs_by_root ON completed_merge_outputs(owner_id, blob_id);

-- index completed_merge_waiting_by_merge on completed_merge_waiting
CREATE INDEX completed_merge_waiting_by_merge ON completed_merge_waiting(cache_key);

-- index completed_merges_by_schema on completed_merges
CREATE INDEX completed_merges_by_schema ON completed_merges(schema_id);

-- index gc_one_current_claim on gc_work
CREATE UNIQUE INDEX gc_one_current_claim ON gc_work(object_id) WHERE claim_state <> 'done';

-- index index_state_segments_by_object on index_state_segments
CREATE INDEX index_state_segments_by_object ON index_state_segments(object_id, index_state_id);

-- index indexes_by_schema on indexes
CREATE INDEX indexes_by_schema ON indexes(schema_id);

-- index indexes_by_table on indexes
CREATE INDEX indexes_by_table ON indexes(timeline_id, table_id);

-- index indexes_current on indexes
CREATE UNIQUE INDEX indexes_current ON indexes(timeline_id, index_id) WHERE until_version IS NULL;

-- index indexes_current_name on indexes
CREATE UNIQUE INDEX indexes_current_name ON indexes(timeline_id, name COLLATE NOCASE) WHERE until_version IS NULL;

-- index jobs_by_state on jobs
CREATE INDEX jobs_by_state ON jobs(state);

-- index manifest_entries_by_blob on manifest_entries
CREATE INDEX manifest_entries_by_blob ON manifest_entries(blob_id);

-- index manifest_entries_by_factor on manifest_entries
CREATE INDEX manifest_entries_by_factor ON manifest_entries(logical_factor_id);

-- index object_edges_reverse on object_edges
CREATE INDEX object_edges_reverse ON object_edges(target_object_id, source_object_id);

-- index objects_by_attempt on objects
CREATE INDEX objects_by_attempt ON objects(attempt_id);

-- index objects_by_content on objects
CREATE INDEX objects_by_content ON objects(content_id) WHERE content_id IS NOT NULL;

-- index objects_by_state on objects
CREATE INDEX objects_by_state ON objects(state);

-- index one_open_attempt_per_timeline on publication_attempts
CREATE UNIQUE INDEX one_open_attempt_per_timeline ON publication_attempts(timeline_id) WHERE state IN ('attempting','unknown');

-- index owner_blobs_reverse on owner_blobs
CREATE INDEX owner_blobs_reverse ON owner_blobs(blob_id);

-- index owner_objects_reverse on owner_objects
CREATE INDEX owner_objects_reverse ON owner_objects(object_id);

-- index owner_representations_reverse on owner_representations
CREATE INDEX owner_representations_reverse ON owner_representations(representation_id);

-- index owners_by_session on owners
CREATE INDEX owners_by_session ON owners(session_id) WHERE session_id IS NOT NULL;

-- index owners_by_state on owners
CREATE INDEX owners_by_state ON owners(state, kind);

-- index publication_attempts_expected on publication_attempts
CREATE INDEX publication_attempts_expected ON publication_attempts(expected_representation_id) WHERE state <> 'retired';

-- index publication_attempts_open on publication_attempts
CREATE INDEX publication_attempts_open ON publication_attempts(recovery_owner_id) WHERE state <> 'retired';

-- index representation_chunks_by_chunk on representation_chunks
CREATE INDEX representation_chunks_by_chunk ON representation_chunks(chunk_id, entries);

-- index representations_by_index_state on representations
CREATE INDEX representations_by_index_state ON representations(index_state_id);

-- index representations_by_world on representations
CREATE INDEX representations_by_world ON representations(world_id);

-- index schema_contexts_by_version on schema_contexts
CREATE INDEX schema_contexts_by_version ON schema_contexts(schema_version);

-- index sessions_by_state on sessions
CREATE INDEX sessions_by_state ON sessions(state);

-- index shards_by_parent on shards
CREATE INDEX shards_by_parent ON shards(parent_shard_id) WHERE parent_shard_id IS NOT NULL;

-- index tables_by_schema on tables
CREATE INDEX tables_by_schema ON tables(schema_id);

-- index tables_current on tables
CREATE UNIQUE INDEX tables_current ON tables(timeline_id, table_id) WHERE until_version IS NULL;

-- index tables_current_name on tables
CREATE UNIQUE INDEX tables_current_name ON tables(timeline_id, name COLLATE NOCASE) WHERE until_version IS NULL;

-- index timelines_by_head on timelines
CREATE INDEX timelines_by_head ON timelines(head_representation_id, head_world_id);

-- index worlds_by_cut on worlds
CREATE INDEX worlds_by_cut ON worlds(admitted_cut_id);

-- index worlds_by_schema on worlds
CREATE INDEX worlds_by_schema ON worlds(schema_id);

-- table blob_versions on blob_versions
CREATE TABLE blob_versions (                -- native: a generation or fragment; IX02, IX03: an index chain read from disk
  blob_id INTEGER NOT NULL PRIMARY KEY CHECK (blob_id BETWEEN 1 AND 4611686018427387903),
  layout TEXT NOT NULL CHECK (layout IN ('native','IX02','IX03')),
  native_object_id INTEGER NOT NULL,
  native_kind TEXT NOT NULL DEFAULT 'kv' CHECK (native_kind = 'kv'),
  index_object_id INTEGER,
  index_kind TEXT NOT NULL DEFAULT 'index' CHECK (index_kind = 'index'),
  main_target_blob_id INTEGER REFERENCES blob_versions(blob_id),
  secondary_native_object_id INTEGER,
  secondary_kind TEXT NOT NULL DEFAULT 'kv' CHECK (secondary_kind = 'kv'),
  native_count INTEGER NOT NULL CHECK (native_count BETWEEN 0 AND 4611686018427387903),
  main_borrowed_count INTEGER NOT NULL DEFAULT 0 CHECK (main_borrowed_count BETWEEN 0 AND 4611686018427387903),
  secondary_borrowed_count INTEGER NOT NULL DEFAULT 0 CHECK (secondary_borrowed_count BETWEEN 0 AND 4611686018427387903),
  augmented_count INTEGER NOT NULL CHECK (augmented_count BETWEEN 0 AND 4611686018427387903),
  registration_seq INTEGER NOT NULL UNIQUE CHECK (registration_seq BETWEEN 1 AND 4611686018427387903),  -- from next_graph_seq
  FOREIGN KEY (native_object_id, native_kind) REFERENCES objects(object_id, kind),
  FOREIGN KEY (index_object_id, index_kind) REFERENCES objects(object_id, kind),
  FOREIGN KEY (secondary_native_object_id, secondary_kind) REFERENCES objects(object_id, kind),
  CHECK ((layout = 'native') = (index_object_id IS NULL)),
  CHECK (layout <> 'native' OR (main_target_blob_id IS NULL AND secondary_native_object_id IS NULL)),
  CHECK (layout <> 'IX02' OR secondary_native_object_id IS NULL),
  CHECK (main_target_blob_id IS NOT NULL OR main_borrowed_count = 0),
  CHECK (secondary_native_object_id IS NOT NULL OR secondary_borrowed_count = 0),
  CHECK (augmented_count = native_count + main_borrowed_count + secondary_borrowed_count),
  CHECK (main_target_blob_id IS NULL OR main_target_blob_id <> blob_id)
) STRICT;

-- table branch_points on branch_points
CREATE TABLE branch_points (
  branch_id INTEGER NOT NULL PRIMARY KEY CHECK (branch_id BETWEEN 1 AND 4611686018427387903),
  name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255),
  owner_id INTEGER NOT NULL UNIQUE,
  owner_kind TEXT NOT NULL DEFAULT 'branch_point' CHECK (owner_kind = 'branch_point'),
  -- where it was made; a description, no reference: the branch point may outlive the timeline
  timeline_id INTEGER NOT NULL CHECK (timeline_id BETWEEN 1 AND 4611686018427387903),
  timeline TEXT NOT NULL CHECK (length(timeline) BETWEEN 1 AND 255),
  world_id INTEGER NOT NULL,
  representation_id INTEGER NOT NULL,
  created_at TEXT NOT NULL CHECK (length(created_at) BETWEEN 20 AND 35),
  digest BLOB NOT NULL CHECK (length(digest) = 32),                       -- over the row, its world and its representation
  FOREIGN KEY (owner_id, owner_kind) REFERENCES owners(owner_id, kind),
  FOREIGN KEY (representation_id, world_id) REFERENCES representations(representation_id, world_id),
  FOREIGN KEY (owner_id, representation_id)
    REFERENCES owner_representations(owner_id, representation_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;

-- table catalog_info on catalog_info
CREATE TABLE catalog_info (
  singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
  catalog_identity BLOB NOT NULL CHECK (length(catalog_identity) = 16),
  created_version INTEGER NOT NULL CHECK (created_version >= 1),         -- catalog version that made the store
  created_at TEXT NOT NULL CHECK (length(created_at) BETWEEN 20 AND 35),
  policy BLOB NOT NULL CHECK (length(policy) BETWEEN 1 AND 4096),        -- canonical P, exact bytes
  policy_unit TEXT NOT NULL CHECK (policy_unit IN ('byte','bit')),
  policy_group_size INTEGER NOT NULL CHECK (policy_group_size BETWEEN 1 AND 65535),
  policy_block_size INTEGER NOT NULL CHECK (policy_block_size BETWEEN 1 AND 65535),
  policy_value_layout TEXT NOT NULL CHECK (length(policy_value_layout) BETWEEN 1 AND 64),
  policy_interpretation INTEGER NOT NULL CHECK (policy_interpretation >= 1),
  algebra TEXT NOT NULL CHECK (length(algebra) BETWEEN 1 AND 64),
  -- settings fixed at creation
  shards INTEGER NOT NULL CHECK (shards BETWEEN 1 AND 64),
  index_catchup TEXT NOT NULL CHECK (index_catchup IN ('required','legacy')),
  generation_size INTEGER NOT NULL CHECK (generation_size BETWEEN 1 AND 4611686018427387903),
  -- allocator state: only ever increases (trigger)
  next_id INTEGER NOT NULL DEFAULT 1 CHECK (next_id BETWEEN 1 AND 4611686018427387903),
  next_incarnation INTEGER NOT NULL DEFAULT 1 CHECK (next_incarnation BETWEEN 1 AND 4611686018427387903),
  next_graph_seq INTEGER NOT NULL DEFAULT 1 CHECK (next_graph_seq BETWEEN 1 AND 4611686018427387903),
  next_accept_seq INTEGER NOT NULL DEFAULT 1 CHECK (next_accept_seq BETWEEN 1 AND 4611686018427387903),
  -- explicit limits, charged by the adapter and by triggers
  max_context_bytes INTEGER NOT NULL DEFAULT 65536 CHECK (max_context_bytes BETWEEN 1 AND 16777216),
  max_representation_entries INTEGER NOT NULL DEFAULT 4096 CHECK (max_representation_entries BETWEEN 1 AND 1048576),
  max_retire_edges_per_tx INTEGER NOT NULL DEFAULT 256 CHECK (max_retire_edges_per_tx BETWEEN 1 AND 65536)
) STRICT;

-- table catalog_migrations on catalog_migrations
CREATE TABLE catalog_migrations (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);

-- table completed_merge_outputs on completed_merge_outputs
CREATE TABLE completed_merge_outputs (
  cache_key BLOB NOT NULL,
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 1048575),         -- place in the base, dense
  owner_id INTEGER NOT NULL,                                              -- the merge's: it roots the blob as long as the row is there
  blob_id INTEGER NOT NULL,
  contribution BLOB NOT NULL CHECK (length(contribution) BETWEEN 1 AND 64),
  PRIMARY KEY (cache_key, ordinal),
  FOREIGN KEY (cache_key, owner_id) REFERENCES completed_merges(cache_key, owner_id) DEFERRABLE INITIALLY DEFERRED,
  FOREIGN KEY (owner_id, blob_id) REFERENCES owner_blobs(owner_id, blob_id) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

-- table completed_merge_waiting on completed_merge_waiting
CREATE TABLE completed_merge_waiting (
  timeline_id INTEGER NOT NULL PRIMARY KEY REFERENCES timelines(timeline_id),
  cache_key BLOB NOT NULL REFERENCES completed_merges(cache_key)
) STRICT;

-- table completed_merges on completed_merges
CREATE TABLE completed_merges (
  cache_key BLOB NOT NULL PRIMARY KEY CHECK (length(cache_key) = 32),     -- SHA-256 over the next three; a lookup compares these, too
  recipe BLOB NOT NULL CHECK (length(recipe) BETWEEN 1 AND 256),
  ordered_inputs BLOB NOT NULL CHECK (length(ordered_inputs) BETWEEN 1 AND 1048576),
  schema_id INTEGER NOT NULL REFERENCES schema_contexts(schema_id),
  owner_id INTEGER NOT NULL UNIQUE,
  owner_kind TEXT NOT NULL DEFAULT 'cache' CHECK (owner_kind = 'cache'),
  last_output INTEGER NOT NULL CHECK (last_output BETWEEN 0 AND 1048575),  -- its ordinal: with it, all are there
  digest BLOB NOT NULL CHECK (length(digest) = 32),                       -- over the row and its outputs
  UNIQUE (cache_key, owner_id),
  FOREIGN KEY (owner_id, owner_kind) REFERENCES owners(owner_id, kind),
  FOREIGN KEY (cache_key, last_output) REFERENCES completed_merge_outputs(cache_key, ordinal) DEFERRABLE INITIALLY DEFERRED
) STRICT;

-- table entry_fragments on entry_fragments
CREATE TABLE entry_fragments (
  chunk_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 1048575),                  -- of the fragment in its object
  live_rows INTEGER NOT NULL CHECK (live_rows BETWEEN 0 AND 4611686018427387903),
  sum BLOB CHECK (sum IS NULL OR length(sum) BETWEEN 1 AND 64),                    -- of the live rows, NULL: unknown
  deleted BLOB CHECK (deleted IS NULL OR length(deleted) BETWEEN 1 AND 1073741823),  -- ordinals of superseded rows, a roaring bitmap; NULL: none
  PRIMARY KEY (chunk_id, position, ordinal),
  FOREIGN KEY (chunk_id, position) REFERENCES manifest_entries(chunk_id, position)
) STRICT, WITHOUT ROWID;

-- table fragments on fragments
CREATE TABLE fragments (
  fragment_id INTEGER NOT NULL PRIMARY KEY CHECK (fragment_id BETWEEN 1 AND 4611686018427387903),
  object_id INTEGER NOT NULL REFERENCES objects(object_id),
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 1048575),         -- place in the object, dense
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 0 AND 4611686018427387903),  -- 0: the schema
  lsn INTEGER NOT NULL CHECK (lsn BETWEEN 1 AND 4611686018427387903),     -- the state that the rows are of
  rows INTEGER NOT NULL CHECK (rows BETWEEN 0 AND 4611686018427387903),   -- of the schema: its frames
  digest BLOB NOT NULL CHECK (length(digest) = 32),                       -- covers the object's seal, too
  UNIQUE (object_id, ordinal),
  UNIQUE (object_id, table_id)
) STRICT;

-- table gc_work on gc_work
CREATE TABLE gc_work (
  object_id INTEGER NOT NULL REFERENCES objects(object_id),
  deletion_generation INTEGER NOT NULL CHECK (deletion_generation BETWEEN 1 AND 4611686018427387903),
  claim_state TEXT NOT NULL DEFAULT 'claimed'
    CHECK (claim_state IN ('claimed','unlinking','unlinked','synced','done','uncertain')),
  error TEXT,
  outcome TEXT CHECK (outcome IS NULL OR outcome IN ('unlinked','already_absent')),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  PRIMARY KEY (object_id, deletion_generation),
  CHECK ((claim_state = 'done') = (outcome IS NOT NULL)),
  CHECK (claim_state <> 'uncertain' OR error IS NOT NULL)
) STRICT, WITHOUT ROWID;

-- table generation_tables on generation_tables
CREATE TABLE generation_tables (
  object_id INTEGER NOT NULL REFERENCES objects(object_id),
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  records INTEGER NOT NULL CHECK (records BETWEEN 1 AND 4611686018427387903),
  PRIMARY KEY (object_id, table_id)
) STRICT, WITHOUT ROWID;

-- table generations on generations
CREATE TABLE generations (
  shard_id INTEGER NOT NULL REFERENCES shards(shard_id),
  generation INTEGER NOT NULL CHECK (generation BETWEEN 1 AND 4611686018427387903),
  object_id INTEGER NOT NULL UNIQUE,
  object_kind TEXT NOT NULL DEFAULT 'kv' CHECK (object_kind = 'kv'),
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open','sealed','collected')),      -- about the file only
  first_lsn INTEGER CHECK (first_lsn IS NULL OR first_lsn BETWEEN 1 AND 4611686018427387903),
  last_lsn INTEGER CHECK (last_lsn IS NULL OR last_lsn BETWEEN 0 AND 4611686018427387903),
  records INTEGER CHECK (records IS NULL OR records BETWEEN 0 AND 4611686018427387903),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  digest BLOB NOT NULL CHECK (length(digest) = 32), tables_digest BLOB CHECK (tables_digest IS NULL OR (length(tables_digest) = 32 AND state <> 'open')),
  PRIMARY KEY (shard_id, generation),
  FOREIGN KEY (object_id, object_kind) REFERENCES objects(object_id, kind),
  CHECK ((state = 'open') = (first_lsn IS NULL)),
  CHECK ((first_lsn IS NULL) = (last_lsn IS NULL)),
  CHECK ((first_lsn IS NULL) = (records IS NULL)),
  CHECK (last_lsn IS NULL OR last_lsn >= first_lsn - 1)                                   -- first - 1: no commit
) STRICT, WITHOUT ROWID;

-- table identity_tombstones on identity_tombstones
CREATE TABLE identity_tombstones (          -- identity history that outlives the objects row
  object_id INTEGER NOT NULL PRIMARY KEY CHECK (object_id BETWEEN 1 AND 4611686018427387903),
  relative_path TEXT NOT NULL UNIQUE CHECK (relative_path =
    'objects/' || substr(printf('%016x',object_id),15,2) || '/' || substr(printf('%016x',object_id),13,2) || '/' || printf('%016x',object_id) || '.' || kind),
  incarnation INTEGER NOT NULL UNIQUE CHECK (incarnation BETWEEN 1 AND 4611686018427387903),
  kind TEXT NOT NULL CHECK (kind IN ('kv','index'))
) STRICT;

-- table index_state_catchup on index_state_catchup
CREATE TABLE index_state_catchup (          -- a missing row says that the index has not caught up
  index_state_id INTEGER NOT NULL REFERENCES index_states(index_state_id),
  index_id INTEGER NOT NULL CHECK (index_id BETWEEN 1 AND 4611686018427387903),
  shard_id INTEGER NOT NULL CHECK (shard_id BETWEEN 1 AND 4611686018427387903),
  generation INTEGER NOT NULL CHECK (generation BETWEEN 1 AND 4611686018427387903),
  PRIMARY KEY (index_state_id, index_id, shard_id)
) STRICT, WITHOUT ROWID;

-- table index_state_compacted on index_state_compacted
CREATE TABLE index_state_compacted (
  index_state_id INTEGER NOT NULL REFERENCES index_states(index_state_id),
  shard_id INTEGER NOT NULL CHECK (shard_id BETWEEN 1 AND 4611686018427387903),
  generation INTEGER NOT NULL CHECK (generation BETWEEN 1 AND 4611686018427387903),
  PRIMARY KEY (index_state_id, shard_id)
) STRICT, WITHOUT ROWID;

-- table index_state_segments on index_state_segments
CREATE TABLE index_state_segments (
  index_state_id INTEGER NOT NULL REFERENCES index_states(index_state_id),
  index_id INTEGER NOT NULL CHECK (index_id BETWEEN 1 AND 4611686018427387903),
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 1048575),                  -- place in the index, dense
  object_id INTEGER NOT NULL REFERENCES segments(object_id),
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  fragments BLOB NOT NULL CHECK (length(fragments) BETWEEN 1 AND 16777216),        -- that the segment stands for: those of its seal, or fewer
  PRIMARY KEY (index_state_id, index_id, ordinal),
  UNIQUE (index_state_id, object_id)
) STRICT, WITHOUT ROWID;

-- table index_states on index_states
CREATE TABLE index_states (                 -- immutable snapshot of all index bookkeeping
  index_state_id INTEGER NOT NULL PRIMARY KEY CHECK (index_state_id BETWEEN 1 AND 4611686018427387903),
  reader_features INTEGER NOT NULL CHECK (reader_features BETWEEN 0 AND 4611686018427387903),
  writer_features INTEGER NOT NULL CHECK (writer_features BETWEEN 0 AND 4611686018427387903),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  -- 128: index_catchup is maintained and a missing entry means "not caught up"; both words or none
  CHECK ((reader_features & 128) = (writer_features & 128))
) STRICT;

-- table indexes on indexes
CREATE TABLE indexes (
  timeline_id INTEGER NOT NULL REFERENCES timelines(timeline_id),
  index_id INTEGER NOT NULL CHECK (index_id BETWEEN 1 AND 4611686018427387903),
  version INTEGER NOT NULL CHECK (version BETWEEN 0 AND 4611686018427387903),
  until_version INTEGER CHECK (until_version IS NULL OR until_version BETWEEN 1 AND 4611686018427387903),
  schema_id INTEGER NOT NULL REFERENCES schema_contexts(schema_id),
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  name TEXT NOT NULL,
  sql TEXT,                                                                               -- NULL: automatic index of a constraint
  origin TEXT NOT NULL CHECK (origin IN ('c','u','pk')),
  is_unique INTEGER NOT NULL CHECK (is_unique IN (0,1)),
  columns TEXT NOT NULL,                                                                  -- as written in a CREATE INDEX
  PRIMARY KEY (timeline_id, index_id, version),
  CHECK (until_version IS NULL OR until_version > version),
  CHECK ((origin = 'c') = (sql IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- table jobs on jobs
CREATE TABLE jobs (
  job_id INTEGER NOT NULL PRIMARY KEY CHECK (job_id BETWEEN 1 AND 4611686018427387903),
  kind TEXT NOT NULL CHECK (kind IN ('checkpoint','compact','index','gc','verify','backup','rebuild')),
  target TEXT NOT NULL,                                                   -- "": the whole store
  recipe_version INTEGER NOT NULL CHECK (recipe_version >= 1),
  recipe BLOB NOT NULL CHECK (length(recipe) BETWEEN 1 AND 65536),
  owner_id INTEGER NOT NULL UNIQUE,
  owner_kind TEXT NOT NULL DEFAULT 'job' CHECK (owner_kind = 'job'),
  state TEXT NOT NULL DEFAULT 'ready'
    CHECK (state IN ('ready','running','paused','quarantined','done','failed','cancelled')),
  attempt_generation INTEGER NOT NULL DEFAULT 1 CHECK (attempt_generation BETWEEN 1 AND 4611686018427387903),
  work_reserved INTEGER NOT NULL DEFAULT 0 CHECK (work_reserved BETWEEN 0 AND 4611686018427387903),
  work_consumed INTEGER NOT NULL DEFAULT 0 CHECK (work_consumed BETWEEN 0 AND 4611686018427387903),
  started_at TEXT CHECK (started_at IS NULL OR length(started_at) BETWEEN 20 AND 35),
  ended_at TEXT CHECK (ended_at IS NULL OR length(ended_at) BETWEEN 20 AND 35),
  error TEXT,
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  FOREIGN KEY (owner_id, owner_kind) REFERENCES owners(owner_id, kind),
  CHECK (work_consumed <= work_reserved),
  CHECK (state = 'ready' OR state = 'cancelled' OR started_at IS NOT NULL),
  CHECK ((state IN ('done','failed','cancelled')) = (ended_at IS NOT NULL)),
  CHECK (state <> 'failed' OR error IS NOT NULL)
) STRICT;

-- table manifest_entries on manifest_entries
CREATE TABLE manifest_entries (
  chunk_id INTEGER NOT NULL CHECK (chunk_id BETWEEN 1 AND 4611686018427387903),
  position INTEGER NOT NULL CHECK (position BETWEEN 0 AND 255),           -- within the chunk, dense
  logical_factor_id INTEGER NOT NULL CHECK (logical_factor_id BETWEEN 1 AND 4611686018427387903),
  blob_id INTEGER NOT NULL REFERENCES blob_versions(blob_id),
  contribution_role TEXT NOT NULL CHECK (contribution_role IN ('base','update','merged')),
  contribution BLOB NOT NULL CHECK (length(contribution) BETWEEN 1 AND 64),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  PRIMARY KEY (chunk_id, position),
  UNIQUE (chunk_id, logical_factor_id)
) STRICT, WITHOUT ROWID;

-- table metadata_gc on metadata_gc
CREATE TABLE metadata_gc (
  singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
  active_operation BLOB REFERENCES never_row(x) DEFERRABLE INITIALLY DEFERRED
    CHECK (active_operation IS NULL OR length(active_operation) BETWEEN 1 AND 64)
) STRICT;

-- table never_row on never_row
CREATE TABLE never_row (x BLOB NOT NULL PRIMARY KEY CHECK (0)) STRICT;

-- table object_edges on object_edges
CREATE TABLE object_edges (
  source_object_id INTEGER NOT NULL REFERENCES objects(object_id),
  target_object_id INTEGER NOT NULL REFERENCES objects(object_id),
  role TEXT NOT NULL CHECK (role IN ('own_native','main_native','main_index','secondary_native','value','arrow')),
  PRIMARY KEY (source_object_id, target_object_id, role),
  CHECK (source_object_id <> target_object_id)
) STRICT, WITHOUT ROWID;

-- table objects on objects
CREATE TABLE objects (
  object_id INTEGER NOT NULL PRIMARY KEY CHECK (object_id BETWEEN 1 AND 4611686018427387903),
  kind TEXT NOT NULL CHECK (kind IN ('kv','index')),
  incarnation INTEGER NOT NULL UNIQUE CHECK (incarnation BETWEEN 1 AND 4611686018427387903),
  attempt_id BLOB NOT NULL CHECK (length(attempt_id) = 16),
  -- the path is a function of (id, kind); the column cannot name anything else
  relative_path TEXT NOT NULL UNIQUE CHECK (relative_path =
    'objects/' || substr(printf('%016x',object_id),15,2) || '/' || substr(printf('%016x',object_id),13,2) || '/' || printf('%016x',object_id) || '.' || kind),
  state TEXT NOT NULL DEFAULT 'reserved'
    CHECK (state IN ('reserved','sealed','quarantined','gc_claimed','collected')),
  lifecycle_revision INTEGER NOT NULL DEFAULT 0 CHECK (lifecycle_revision BETWEEN 0 AND 4611686018427387903),
  content_id BLOB CHECK (content_id IS NULL OR length(content_id) = 32),
  byte_extent INTEGER CHECK (byte_extent IS NULL OR byte_extent BETWEEN 0 AND 4611686018427387903),
  logical_extent INTEGER CHECK (logical_extent IS NULL OR logical_extent BETWEEN 0 AND 4611686018427387903),  -- in catalog_info.policy_unit
  integrity_digest BLOB CHECK (integrity_digest IS NULL OR length(integrity_digest) = 32),
  native_fingerprint BLOB CHECK (native_fingerprint IS NULL OR (kind = 'kv' AND length(native_fingerprint) BETWEEN 1 AND 64)),
  graph_seq INTEGER UNIQUE CHECK (graph_seq IS NULL OR graph_seq BETWEEN 1 AND 4611686018427387903),
  reconciled_by BLOB CHECK (reconciled_by IS NULL OR length(reconciled_by) BETWEEN 1 AND 64),  -- operation that proved a quarantined object
  UNIQUE (object_id, kind),
  CHECK ((content_id IS NULL) = (byte_extent IS NULL)),
  CHECK ((content_id IS NULL) = (logical_extent IS NULL)),
  CHECK ((content_id IS NULL) = (integrity_digest IS NULL)),
  CHECK (native_fingerprint IS NULL OR content_id IS NOT NULL),
  CHECK (state <> 'sealed' OR content_id IS NOT NULL),
  CHECK (state <> 'reserved' OR content_id IS NULL),
  CHECK (graph_seq IS NULL OR content_id IS NOT NULL)
) STRICT;

-- table operations on operations
CREATE TABLE operations (
  operation_id BLOB NOT NULL PRIMARY KEY CHECK (length(operation_id) BETWEEN 1 AND 64),
  kind TEXT NOT NULL CHECK (length(kind) BETWEEN 1 AND 64),
  request BLOB NOT NULL,                                                  -- exact canonical descriptor: THE replay equality
  request_digest BLOB NOT NULL CHECK (length(request_digest) = 32),       -- quick mismatch check only
  expected_revision INTEGER CHECK (expected_revision IS NULL OR expected_revision BETWEEN 0 AND 4611686018427387903),
  outcome BLOB,
  status TEXT NOT NULL CHECK (status IN ('prepared','committed','conflict','abandoned')),
  created_at TEXT NOT NULL CHECK (length(created_at) BETWEEN 20 AND 35),
  committed_at TEXT CHECK (committed_at IS NULL OR length(committed_at) BETWEEN 20 AND 35),
  CHECK ((status IN ('committed','conflict')) = (outcome IS NOT NULL)),
  CHECK ((status = 'committed') = (committed_at IS NOT NULL))
) STRICT;

-- table owner_blobs on owner_blobs
CREATE TABLE owner_blobs (
  owner_id INTEGER NOT NULL REFERENCES owners(owner_id),
  blob_id INTEGER NOT NULL REFERENCES blob_versions(blob_id),
  PRIMARY KEY (owner_id, blob_id)
) STRICT, WITHOUT ROWID;

-- table owner_objects on owner_objects
CREATE TABLE owner_objects (
  owner_id INTEGER NOT NULL REFERENCES owners(owner_id),
  object_id INTEGER NOT NULL REFERENCES objects(object_id),
  -- active: a log generation of the owning timeline, from its reservation until a head contains it
  purpose TEXT NOT NULL CHECK (purpose IN ('output','sealed_range','quarantine','cache','candidate','active')),
  PRIMARY KEY (owner_id, object_id)
) STRICT, WITHOUT ROWID;

-- table owner_representations on owner_representations
CREATE TABLE owner_representations (
  owner_id INTEGER NOT NULL REFERENCES owners(owner_id),
  representation_id INTEGER NOT NULL REFERENCES representations(representation_id),
  PRIMARY KEY (owner_id, representation_id)
) STRICT, WITHOUT ROWID;

-- table owners on owners
CREATE TABLE owners (
  owner_id INTEGER NOT NULL PRIMARY KEY CHECK (owner_id BETWEEN 1 AND 4611686018427387903),
  kind TEXT NOT NULL CHECK (kind IN ('timeline','branch_point','reader','job','round','cache','recovery')),
  state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active','retiring','released')),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903), session_id INTEGER REFERENCES sessions(session_id)
  CHECK (kind <> 'reader' OR session_id IS NOT NULL) CHECK (kind IN ('reader','cache') OR session_id IS NULL),
  UNIQUE (owner_id, kind)
) STRICT;

-- table publication_attempts on publication_attempts
CREATE TABLE publication_attempts (
  operation_id BLOB NOT NULL PRIMARY KEY REFERENCES operations(operation_id),
  timeline_id INTEGER NOT NULL REFERENCES timelines(timeline_id),
  -- Both representations are retained by the recovery owner until the outcome is established; a retired
  -- attempt may outlive them, hence no reference.
  expected_representation_id INTEGER NOT NULL CHECK (expected_representation_id BETWEEN 1 AND 4611686018427387903),
  expected_revision INTEGER NOT NULL CHECK (expected_revision BETWEEN 0 AND 4611686018427387903),
  candidate_representation_id INTEGER NOT NULL UNIQUE CHECK (candidate_representation_id BETWEEN 1 AND 4611686018427387903),
  recovery_owner_id INTEGER NOT NULL UNIQUE,
  recovery_kind TEXT NOT NULL DEFAULT 'recovery' CHECK (recovery_kind = 'recovery'),
  state TEXT NOT NULL DEFAULT 'prepared'
    CHECK (state IN ('prepared','attempting','unknown','committed','conflict','rolled_back','retired')),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  FOREIGN KEY (recovery_owner_id, recovery_kind) REFERENCES owners(owner_id, kind)
) STRICT;

-- table representation_chunks on representation_chunks
CREATE TABLE representation_chunks (
  representation_id INTEGER NOT NULL REFERENCES representations(representation_id),
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 1048575),
  chunk_id INTEGER NOT NULL CHECK (chunk_id BETWEEN 1 AND 4611686018427387903),
  entries INTEGER NOT NULL CHECK (entries BETWEEN 1 AND 256),
  first_position INTEGER NOT NULL CHECK (first_position BETWEEN 0 AND 1048575),  -- sum of the entries of the references before it
  PRIMARY KEY (representation_id, ordinal),
  UNIQUE (representation_id, chunk_id)
) STRICT, WITHOUT ROWID;

-- table representations on representations
CREATE TABLE representations (
  representation_id INTEGER NOT NULL PRIMARY KEY CHECK (representation_id BETWEEN 1 AND 4611686018427387903),
  world_id INTEGER NOT NULL REFERENCES worlds(world_id),
  index_state_id INTEGER NOT NULL REFERENCES index_states(index_state_id),
  layout_version INTEGER NOT NULL CHECK (layout_version >= 1),
  entry_count INTEGER NOT NULL CHECK (entry_count BETWEEN 0 AND 1048576),                      -- freezes the manifest
  contribution_sum BLOB NOT NULL CHECK (length(contribution_sum) BETWEEN 1 AND 64),
  UNIQUE (representation_id, world_id)
) STRICT;

-- table runtime_diagnostics on runtime_diagnostics
CREATE TABLE runtime_diagnostics (          -- append-only: which library really ran
  diag_id INTEGER PRIMARY KEY AUTOINCREMENT,
  opened_at TEXT NOT NULL CHECK (length(opened_at) BETWEEN 20 AND 35),
  sqlite_version TEXT NOT NULL CHECK (length(sqlite_version) >= 1),
  sqlite_source_id TEXT NOT NULL CHECK (length(sqlite_source_id) >= 1),
  host TEXT NOT NULL,
  note TEXT
) STRICT;

-- table schema_contexts on schema_contexts
CREATE TABLE schema_contexts (
  schema_id INTEGER NOT NULL PRIMARY KEY CHECK (schema_id BETWEEN 1 AND 4611686018427387903),
  schema_version INTEGER NOT NULL CHECK (schema_version BETWEEN 0 AND 4611686018427387903),  -- LSN of the DDL that made it, 0: empty store
  sort_version INTEGER NOT NULL CHECK (sort_version >= 1),
  codec_version INTEGER NOT NULL CHECK (codec_version >= 1),
  hash_version INTEGER NOT NULL CHECK (hash_version >= 1),
  category_version INTEGER NOT NULL CHECK (category_version >= 1),
  descriptor BLOB NOT NULL CHECK (length(descriptor) BETWEEN 1 AND 65536)
) STRICT;

-- table seal_receipts on seal_receipts
CREATE TABLE seal_receipts (                -- one per (object, backing catalog)
  object_id INTEGER NOT NULL CHECK (object_id BETWEEN 1 AND 4611686018427387903),
  backing_catalog BLOB NOT NULL CHECK (length(backing_catalog) = 16),
  attempt_id BLOB NOT NULL CHECK (length(attempt_id) = 16),
  barrier TEXT NOT NULL CHECK (barrier IN ('fsync','f_fullfsync')),
  directory_synced INTEGER NOT NULL CHECK (directory_synced = 1),
  byte_extent INTEGER NOT NULL CHECK (byte_extent BETWEEN 0 AND 4611686018427387903),
  integrity_digest BLOB NOT NULL CHECK (length(integrity_digest) = 32),
  PRIMARY KEY (object_id, backing_catalog),
  FOREIGN KEY (object_id) REFERENCES objects(object_id)
) STRICT, WITHOUT ROWID;

-- table segments on segments
CREATE TABLE segments (
  object_id INTEGER NOT NULL PRIMARY KEY,
  object_kind TEXT NOT NULL DEFAULT 'index' CHECK (object_kind = 'index'),
  index_id INTEGER NOT NULL CHECK (index_id BETWEEN 1 AND 4611686018427387903),    -- of a primary index: the table's id
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  fragments BLOB NOT NULL CHECK (length(fragments) BETWEEN 1 AND 16777216),        -- set of fragment ids, a 64-bit roaring bitmap
  entries INTEGER NOT NULL CHECK (entries BETWEEN 0 AND 4611686018427387903),
  digest BLOB NOT NULL CHECK (length(digest) = 32),                                -- covers the object's seal, too
  FOREIGN KEY (object_id, object_kind) REFERENCES objects(object_id, kind)
) STRICT;

-- table sessions on sessions
CREATE TABLE sessions (
  session_id INTEGER NOT NULL PRIMARY KEY CHECK (session_id BETWEEN 1 AND 4611686018427387903),
  boot_id TEXT NOT NULL CHECK (length(boot_id) = 36),
  pid INTEGER NOT NULL CHECK (pid BETWEEN 1 AND 4611686018427387903),
  pid_namespace INTEGER NOT NULL CHECK (pid_namespace BETWEEN 0 AND 4611686018427387903),
  start_ticks INTEGER NOT NULL CHECK (start_ticks BETWEEN 0 AND 4611686018427387903),     -- since boot
  state TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live','uncertain','closed','dead')),
  death_evidence TEXT CHECK (death_evidence IS NULL OR death_evidence IN ('boot_changed','pid_absent','start_mismatch','pidfd_exit')),
  observed_heartbeat TEXT CHECK (observed_heartbeat IS NULL OR length(observed_heartbeat) BETWEEN 20 AND 35),
  started_at TEXT NOT NULL CHECK (length(started_at) BETWEEN 20 AND 35),
  ended_at TEXT CHECK (ended_at IS NULL OR length(ended_at) BETWEEN 20 AND 35),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  CHECK ((state = 'dead') = (death_evidence IS NOT NULL)),
  CHECK ((state IN ('closed','dead')) = (ended_at IS NOT NULL))
) STRICT;

-- table shards on shards
CREATE TABLE shards (
  shard_id INTEGER NOT NULL PRIMARY KEY CHECK (shard_id BETWEEN 1 AND 4611686018427387903),
  timeline_id INTEGER NOT NULL REFERENCES timelines(timeline_id),
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 63),
  parent_shard_id INTEGER REFERENCES shards(shard_id),
  parent_generation INTEGER CHECK (parent_generation IS NULL OR parent_generation BETWEEN 1 AND 4611686018427387903),
  writer_epoch INTEGER NOT NULL DEFAULT 0 CHECK (writer_epoch BETWEEN 0 AND 4611686018427387903),
  current_generation INTEGER NOT NULL CHECK (current_generation BETWEEN 1 AND 4611686018427387903),
  replay_from INTEGER NOT NULL CHECK (replay_from BETWEEN 1 AND 4611686018427387903),     -- first generation the head does not contain
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  UNIQUE (timeline_id, ordinal),
  FOREIGN KEY (shard_id, current_generation) REFERENCES generations(shard_id, generation) DEFERRABLE INITIALLY DEFERRED,
  CHECK ((parent_shard_id IS NULL) = (parent_generation IS NULL)),
  CHECK (parent_generation IS NULL OR replay_from > parent_generation),
  CHECK (parent_shard_id IS NULL OR parent_shard_id <> shard_id)
) STRICT;

-- table storage_domain on storage_domain
CREATE TABLE storage_domain (               -- 'reconciling' freezes retirement and GC
  domain_id INTEGER NOT NULL PRIMARY KEY CHECK (domain_id = 1),
  state TEXT NOT NULL DEFAULT 'normal' CHECK (state IN ('normal','reconciling')),
  reason TEXT,
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  CHECK ((state = 'reconciling') = (reason IS NOT NULL))
) STRICT;

-- table store_lineage on store_lineage
CREATE TABLE store_lineage (
  catalog_identity BLOB NOT NULL PRIMARY KEY CHECK (length(catalog_identity) = 16),
  since TEXT NOT NULL CHECK (length(since) BETWEEN 20 AND 35)
) STRICT, WITHOUT ROWID;

-- table tables on tables
CREATE TABLE tables (
  timeline_id INTEGER NOT NULL REFERENCES timelines(timeline_id),
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  version INTEGER NOT NULL CHECK (version BETWEEN 0 AND 4611686018427387903),             -- LSN of the DDL that made this definition
  until_version INTEGER CHECK (until_version IS NULL OR until_version BETWEEN 1 AND 4611686018427387903),
  schema_id INTEGER NOT NULL REFERENCES schema_contexts(schema_id),                       -- context that recorded the row
  name TEXT NOT NULL,                                                                     -- "" is a legal name in SQLite
  sql TEXT NOT NULL,
  columns INTEGER NOT NULL CHECK (columns BETWEEN 0 AND 32767),
  durable INTEGER NOT NULL CHECK (durable IN (0,1)),
  resident TEXT NOT NULL CHECK (resident IN ('all','keys')),
  strict INTEGER NOT NULL CHECK (strict IN (0,1)),
  without_rowid INTEGER NOT NULL CHECK (without_rowid IN (0,1)),
  auto_increment INTEGER NOT NULL CHECK (auto_increment IN (0,1)),
  PRIMARY KEY (timeline_id, table_id, version),
  CHECK (until_version IS NULL OR until_version > version)
) STRICT, WITHOUT ROWID;

-- table timelines on timelines
CREATE TABLE timelines (
  timeline_id INTEGER NOT NULL PRIMARY KEY CHECK (timeline_id BETWEEN 1 AND 4611686018427387903),
  name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255),
  owner_id INTEGER NOT NULL UNIQUE,
  owner_kind TEXT NOT NULL DEFAULT 'timeline' CHECK (owner_kind = 'timeline'),
  head_world_id INTEGER NOT NULL,
  head_representation_id INTEGER NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  created_at TEXT NOT NULL CHECK (length(created_at) BETWEEN 20 AND 35),
  digest BLOB NOT NULL CHECK (length(digest) = 32),                       -- over the head; SQLite pages have no checksum
  FOREIGN KEY (owner_id, owner_kind) REFERENCES owners(owner_id, kind),
  FOREIGN KEY (head_representation_id, head_world_id) REFERENCES representations(representation_id, world_id),
  FOREIGN KEY (owner_id, head_representation_id)
    REFERENCES owner_representations(owner_id, representation_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;

-- table worlds on worlds
CREATE TABLE worlds (
  world_id INTEGER NOT NULL PRIMARY KEY CHECK (world_id BETWEEN 1 AND 4611686018427387903),
  admitted_cut_id INTEGER NOT NULL CHECK (admitted_cut_id BETWEEN 1 AND 4611686018427387903),
  lsn INTEGER NOT NULL CHECK (lsn BETWEEN 0 AND 4611686018427387903),                          -- last commit of the cut, 0: none
  schema_id INTEGER NOT NULL REFERENCES schema_contexts(schema_id),
  live_count INTEGER NOT NULL CHECK (live_count BETWEEN 0 AND 4611686018427387903),
  composite_fingerprint BLOB NOT NULL CHECK (length(composite_fingerprint) BETWEEN 1 AND 64)   -- deliberately NOT unique
, restored_from INTEGER CHECK (restored_from IS NULL OR restored_from BETWEEN 1 AND 4611686018427387903)) STRICT;

-- trigger blob_versions_insert on blob_versions
CREATE TRIGGER blob_versions_insert BEFORE INSERT ON blob_versions BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE blob_versions: identity already used') WHERE
    EXISTS (SELECT 1 FROM blob_versions WHERE blob_id = NEW.blob_id)
    OR EXISTS (SELECT 1 FROM blob_versions WHERE index_object_id = NEW.index_object_id)
    OR (NEW.index_object_id IS NULL AND EXISTS (SELECT 1 FROM blob_versions WHERE native_object_id = NEW.native_object_id AND index_object_id IS NULL));
  SELECT RAISE(ABORT,'CAT-ALLOCATOR blob_versions: id or registration was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.blob_id >= 1 AND NEW.blob_id < (SELECT next_id FROM catalog_info), 0)
    OR NOT COALESCE(NEW.registration_seq < (SELECT next_graph_seq FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-BLOB every object must be sealed') WHERE EXISTS (
    SELECT 1 FROM objects WHERE object_id IN (NEW.native_object_id, NEW.index_object_id, NEW.secondary_native_object_id) AND state <> 'sealed');
  SELECT RAISE(ABORT,'CAT-BLOB objects need a graph position') WHERE EXISTS (
    SELECT 1 FROM objects WHERE object_id IN (NEW.native_object_id, NEW.index_object_id) AND graph_seq IS NULL);
  SELECT RAISE(ABORT,'CAT-BLOB target must be registered first') WHERE NEW.main_target_blob_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM blob_versions WHERE blob_id = NEW.main_target_blob_id AND registration_seq < NEW.registration_seq);
  SELECT RAISE(ABORT,'CAT-BLOB an indexed layout needs an indexed target') WHERE NEW.main_target_blob_id IS NOT NULL AND
    (SELECT index_object_id FROM blob_versions WHERE blob_id = NEW.main_target_blob_id) IS NULL;
  -- exact role agreement between the row and the edge set of its index object
  SELECT RAISE(ABORT,'CAT-BLOB edge set disagrees with the blob row') WHERE NEW.index_object_id IS NOT NULL AND (
    NOT EXISTS (SELECT 1 FROM object_edges WHERE source_object_id = NEW.index_object_id AND target_object_id = NEW.native_object_id AND role = 'own_native')
    OR (NEW.main_target_blob_id IS NOT NULL AND (
         NOT EXISTS (SELECT 1 FROM object_edges e JOIN blob_versions t ON t.blob_id = NEW.main_target_blob_id
                     WHERE e.source_object_id = NEW.index_object_id AND e.target_object_id = t.native_object_id AND e.role = 'main_native')
      OR NOT EXISTS (SELECT 1 FROM object_edges e JOIN blob_versions t ON t.blob_id = NEW.main_target_blob_id
                     WHERE e.source_object_id = NEW.index_object_id AND e.target_object_id = t.index_object_id AND e.role = 'main_index')))
    OR (NEW.secondary_native_object_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM object_edges
          WHERE source_object_id = NEW.index_object_id AND target_object_id = NEW.secondary_native_object_id AND role = 'secondary_native'))
    OR (SELECT count(*) FROM object_edges WHERE source_object_id = NEW.index_object_id AND role IN ('own_native','main_native','main_index','secondary_native'))
       <> 1 + 2*(NEW.main_target_blob_id IS NOT NULL) + (NEW.secondary_native_object_id IS NOT NULL));
END;

-- trigger blob_versions_no_delete on blob_versions
CREATE TRIGGER blob_versions_no_delete BEFORE DELETE ON blob_versions WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE blob_versions: delete needs a metadata-gc transaction'); END;

-- trigger blob_versions_no_update on blob_versions
CREATE TRIGGER blob_versions_no_update BEFORE UPDATE ON blob_versions
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE blob_versions: rows are inserted once'); END;

-- trigger branch_points_insert on branch_points
CREATE TRIGGER branch_points_insert BEFORE INSERT ON branch_points BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE branch_points: identity already used') WHERE EXISTS (
    SELECT 1 FROM branch_points WHERE branch_id = NEW.branch_id OR name = NEW.name OR owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR branch_points: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.branch_id >= 1 AND NEW.branch_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-OWNER a branch point needs an active owner') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'active') <> 'active';
END;

-- trigger branch_points_no_update on branch_points
CREATE TRIGGER branch_points_no_update BEFORE UPDATE ON branch_points
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE branch_points: rows are inserted once'); END;

-- trigger catalog_info_no_delete on catalog_info
CREATE TRIGGER catalog_info_no_delete BEFORE DELETE ON catalog_info
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY catalog_info is permanent'); END;

-- trigger catalog_info_no_replace on catalog_info
CREATE TRIGGER catalog_info_no_replace BEFORE INSERT ON catalog_info WHEN EXISTS (SELECT 1 FROM catalog_info)
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY exactly one catalog identity'); END;

-- trigger catalog_info_update on catalog_info
CREATE TRIGGER catalog_info_update BEFORE UPDATE ON catalog_info BEGIN
  SELECT RAISE(ABORT,'CAT-IDENTITY catalog identity, policy and creation settings are fixed') WHERE
    NEW.singleton<>OLD.singleton OR NEW.catalog_identity<>OLD.catalog_identity
    OR NEW.created_version<>OLD.created_version OR NEW.created_at<>OLD.created_at OR NEW.policy<>OLD.policy
    OR NEW.policy_unit<>OLD.policy_unit OR NEW.policy_group_size<>OLD.policy_group_size OR NEW.policy_block_size<>OLD.policy_block_size
    OR NEW.policy_value_layout<>OLD.policy_value_layout OR NEW.policy_interpretation<>OLD.policy_interpretation OR NEW.algebra<>OLD.algebra
    OR NEW.shards<>OLD.shards OR NEW.index_catchup<>OLD.index_catchup OR NEW.generation_size<>OLD.generation_size;
  SELECT RAISE(ABORT,'CAT-ALLOCATOR allocators never go back') WHERE
    NEW.next_id<OLD.next_id OR NEW.next_incarnation<OLD.next_incarnation
    OR NEW.next_graph_seq<OLD.next_graph_seq OR NEW.next_accept_seq<OLD.next_accept_seq;
END;

-- trigger completed_merge_outputs_delete on completed_merge_outputs
CREATE TRIGGER completed_merge_outputs_delete BEFORE DELETE ON completed_merge_outputs
  WHEN EXISTS (SELECT 1 FROM completed_merges WHERE cache_key = OLD.cache_key)
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merge_outputs: an output leaves behind its merge'); END;

-- trigger completed_merge_outputs_insert on completed_merge_outputs
CREATE TRIGGER completed_merge_outputs_insert BEFORE INSERT ON completed_merge_outputs BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE completed_merge_outputs: identity already used') WHERE
    EXISTS (SELECT 1 FROM completed_merge_outputs WHERE cache_key = NEW.cache_key AND ordinal = NEW.ordinal);
  SELECT RAISE(ABORT,'CAT-MERGE outputs of a merge are inserted in order') WHERE
    NEW.ordinal <> COALESCE((SELECT max(ordinal) + 1 FROM completed_merge_outputs WHERE cache_key = NEW.cache_key), 0);
  SELECT RAISE(ABORT,'CAT-MERGE the merge does not have so many outputs') WHERE
    NEW.ordinal > (SELECT last_output FROM completed_merges WHERE cache_key = NEW.cache_key);
  SELECT RAISE(ABORT,'CAT-MERGE the owner of the merge must root the output first') WHERE
    NOT EXISTS (SELECT 1 FROM owner_blobs WHERE owner_id = NEW.owner_id AND blob_id = NEW.blob_id);
  SELECT RAISE(ABORT,'CAT-MERGE an output is a base object that is sealed') WHERE NOT EXISTS (
    SELECT 1 FROM blob_versions b JOIN objects o ON o.object_id = b.native_object_id AND o.state = 'sealed'
      JOIN fragments f ON f.object_id = o.object_id WHERE b.blob_id = NEW.blob_id AND b.layout = 'native');
END;

-- trigger completed_merge_outputs_no_update on completed_merge_outputs
CREATE TRIGGER completed_merge_outputs_no_update BEFORE UPDATE ON completed_merge_outputs
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merge_outputs: rows are inserted once'); END;

-- trigger completed_merge_waiting_insert on completed_merge_waiting
CREATE TRIGGER completed_merge_waiting_insert BEFORE INSERT ON completed_merge_waiting
  WHEN EXISTS (SELECT 1 FROM completed_merge_waiting WHERE timeline_id = NEW.timeline_id)
  BEGIN SELECT RAISE(ABORT,'CAT-DUPLICATE completed_merge_waiting: the timeline waits for a merge already'); END;

-- trigger completed_merge_waiting_no_update on completed_merge_waiting
CREATE TRIGGER completed_merge_waiting_no_update BEFORE UPDATE ON completed_merge_waiting
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merge_waiting: rows are added or removed, never edited'); END;

-- trigger completed_merges_insert on completed_merges
CREATE TRIGGER completed_merges_insert BEFORE INSERT ON completed_merges BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE completed_merges: identity already used') WHERE
    EXISTS (SELECT 1 FROM completed_merges WHERE cache_key = NEW.cache_key OR owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-OWNER a merge needs an active owner') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'active') <> 'active';
END;

-- trigger completed_merges_no_update on completed_merges
CREATE TRIGGER completed_merges_no_update BEFORE UPDATE ON completed_merges
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merges: rows are inserted once'); END;

-- trigger entry_fragments_delete on entry_fragments
CREATE TRIGGER entry_fragments_delete BEFORE DELETE ON entry_fragments BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE entry_fragments: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-MANIFEST a representation still has the entry') WHERE EXISTS (
    SELECT 1 FROM representation_chunks WHERE chunk_id = OLD.chunk_id AND entries > OLD.position);
END;

-- trigger entry_fragments_insert on entry_fragments
CREATE TRIGGER entry_fragments_insert BEFORE INSERT ON entry_fragments BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE entry_fragments: identity already used') WHERE
    EXISTS (SELECT 1 FROM entry_fragments WHERE chunk_id = NEW.chunk_id AND position = NEW.position AND ordinal = NEW.ordinal);
  SELECT RAISE(ABORT,'CAT-MANIFEST what is live of an entry is fixed once a representation has it') WHERE EXISTS (
    SELECT 1 FROM representation_chunks WHERE chunk_id = NEW.chunk_id AND entries > NEW.position);
  SELECT RAISE(ABORT,'CAT-MANIFEST fragments of an entry are inserted in order') WHERE
    NEW.ordinal <> COALESCE((SELECT max(ordinal) + 1 FROM entry_fragments WHERE chunk_id = NEW.chunk_id AND position = NEW.position), 0);
  SELECT RAISE(ABORT,'CAT-MANIFEST only a fragment of a base entry has live rows, at most all') WHERE NOT EXISTS (
    SELECT 1 FROM manifest_entries e JOIN blob_versions b ON b.blob_id = e.blob_id
      JOIN fragments f ON f.object_id = b.native_object_id AND f.ordinal = NEW.ordinal AND f.rows >= NEW.live_rows
    WHERE e.chunk_id = NEW.chunk_id AND e.position = NEW.position AND e.contribution_role = 'base');
END;

-- trigger entry_fragments_no_update on entry_fragments
CREATE TRIGGER entry_fragments_no_update BEFORE UPDATE ON entry_fragments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE entry_fragments: rows are inserted once'); END;

-- trigger fragments_delete on fragments
CREATE TRIGGER fragments_delete BEFORE DELETE ON fragments WHEN (SELECT active_operation FROM metadata_gc) IS NULL
    OR COALESCE((SELECT state FROM objects WHERE object_id = OLD.object_id),'') <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE fragments: only those of collected objects leave, in a metadata-gc transaction'); END;

-- trigger fragments_insert on fragments
CREATE TRIGGER fragments_insert BEFORE INSERT ON fragments BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE fragments: identity already used') WHERE
    EXISTS (SELECT 1 FROM fragments WHERE fragment_id = NEW.fragment_id)
    OR EXISTS (SELECT 1 FROM fragments WHERE object_id = NEW.object_id AND ordinal = NEW.ordinal)
    OR EXISTS (SELECT 1 FROM fragments WHERE object_id = NEW.object_id AND table_id = NEW.table_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR fragments: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.fragment_id >= 1 AND NEW.fragment_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-FRAGMENT the object must be a sealed kv') WHERE NOT EXISTS (
    SELECT 1 FROM objects WHERE object_id = NEW.object_id AND kind = 'kv' AND state = 'sealed');
  SELECT RAISE(ABORT,'CAT-FRAGMENT the object is a generation of the log') WHERE EXISTS (
    SELECT 1 FROM generations WHERE object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-FRAGMENT the fragments of an object are fixed once it is registered in a blob') WHERE EXISTS (
    SELECT 1 FROM blob_versions WHERE native_object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-FRAGMENT fragments of an object are inserted in order') WHERE
    NEW.ordinal <> COALESCE((SELECT max(ordinal) + 1 FROM fragments WHERE object_id = NEW.object_id), 0);
  SELECT RAISE(ABORT,'CAT-FRAGMENT the fragments of an object are of one LSN') WHERE EXISTS (
    SELECT 1 FROM fragments WHERE object_id = NEW.object_id AND ordinal = 0 AND lsn <> NEW.lsn);
END;

-- trigger fragments_no_update on fragments
CREATE TRIGGER fragments_no_update BEFORE UPDATE ON fragments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE fragments: rows are inserted once'); END;

-- trigger gc_work_insert on gc_work
CREATE TRIGGER gc_work_insert BEFORE INSERT ON gc_work BEGIN
  SELECT RAISE(ABORT,'CAT-GC intent needs a claimed object') WHERE COALESCE((SELECT state FROM objects WHERE object_id = NEW.object_id),'') <> 'gc_claimed';
  SELECT RAISE(ABORT,'CAT-GC one current claim per object') WHERE EXISTS (SELECT 1 FROM gc_work WHERE object_id = NEW.object_id AND claim_state <> 'done');
  SELECT RAISE(ABORT,'CAT-GC deletion generation must advance') WHERE NEW.deletion_generation <= COALESCE((SELECT max(deletion_generation) FROM gc_work WHERE object_id = NEW.object_id),0);
  SELECT RAISE(ABORT,'CAT-STATE gc_work starts claimed') WHERE NEW.claim_state <> 'claimed' OR NEW.revision <> 0;
END;

-- trigger gc_work_no_delete on gc_work
CREATE TRIGGER gc_work_no_delete BEFORE DELETE ON gc_work WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.claim_state <> 'done'
  BEGIN SELECT RAISE(ABORT,'CAT-GC deletion intents are preserved'); END;

-- trigger gc_work_update on gc_work
CREATE TRIGGER gc_work_update BEFORE UPDATE ON gc_work BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE gc_work identity') WHERE NEW.object_id<>OLD.object_id OR NEW.deletion_generation<>OLD.deletion_generation;
  SELECT RAISE(ABORT,'CAT-REVISION gc_work') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-STATE gc_work: transition refused') WHERE NEW.claim_state <> OLD.claim_state AND NOT (
       (OLD.claim_state='claimed'   AND NEW.claim_state IN ('unlinking','uncertain'))
    OR (OLD.claim_state='unlinking' AND NEW.claim_state IN ('unlinked','uncertain'))
    OR (OLD.claim_state='unlinked'  AND NEW.claim_state IN ('synced','uncertain'))
    OR (OLD.claim_state='synced'    AND NEW.claim_state IN ('done','uncertain'))
    OR (OLD.claim_state='uncertain' AND NEW.claim_state IN ('unlinking','unlinked','synced')));
END;

-- trigger generation_tables_delete on generation_tables
CREATE TRIGGER generation_tables_delete BEFORE DELETE ON generation_tables WHEN (SELECT active_operation FROM metadata_gc) IS NULL
    OR COALESCE((SELECT state FROM objects WHERE object_id = OLD.object_id),'') <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generation_tables: only those of collected objects leave, in a metadata-gc transaction'); END;

-- trigger generation_tables_insert on generation_tables
CREATE TRIGGER generation_tables_insert BEFORE INSERT ON generation_tables BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE generation_tables: identity already used') WHERE
    EXISTS (SELECT 1 FROM generation_tables WHERE object_id = NEW.object_id AND table_id = NEW.table_id);
  SELECT RAISE(ABORT,'CAT-GENERATION the tables of a generation are fixed when it is sealed') WHERE NOT EXISTS (
    SELECT 1 FROM generations WHERE object_id = NEW.object_id AND state = 'open');
END;

-- trigger generation_tables_no_update on generation_tables
CREATE TRIGGER generation_tables_no_update BEFORE UPDATE ON generation_tables
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generation_tables: rows are inserted once'); END;

-- trigger generations_delete on generations
CREATE TRIGGER generations_delete BEFORE DELETE ON generations BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: only collected rows leave, or those of a dropped timeline, in a metadata-gc transaction') WHERE
    (SELECT active_operation FROM metadata_gc) IS NULL OR (OLD.state <> 'collected' AND EXISTS (
      SELECT 1 FROM shards s JOIN timelines t ON t.timeline_id = s.timeline_id
        JOIN owner_representations r ON r.owner_id = t.owner_id AND r.representation_id = t.head_representation_id
      WHERE s.shard_id = OLD.shard_id));
  SELECT RAISE(ABORT,'CAT-GENERATION a retained representation has the generation') WHERE OLD.state <> 'collected' AND EXISTS (
    SELECT 1 FROM blob_versions b CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
      CROSS JOIN representation_chunks c ON c.chunk_id = e.chunk_id AND c.entries > e.position
      CROSS JOIN owner_representations o ON o.representation_id = c.representation_id
    WHERE b.native_object_id = OLD.object_id);
  SELECT RAISE(ABORT,'CAT-GENERATION an older generation of the shard is still there') WHERE EXISTS (
    SELECT 1 FROM generations WHERE shard_id = OLD.shard_id AND generation < OLD.generation);
END;

-- trigger generations_insert on generations
CREATE TRIGGER generations_insert BEFORE INSERT ON generations BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE generations: identity already used') WHERE EXISTS (
    SELECT 1 FROM generations WHERE (shard_id = NEW.shard_id AND generation = NEW.generation) OR object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-GENERATION numbers are dense in a shard') WHERE NEW.generation <> COALESCE(
    (SELECT max(generation) + 1 FROM generations WHERE shard_id = NEW.shard_id),
    (SELECT parent_generation + 1 FROM shards WHERE shard_id = NEW.shard_id), 1);
  SELECT RAISE(ABORT,'CAT-STATE generations start open, on a reserved object') WHERE NEW.state <> 'open' OR NEW.revision <> 0
    OR COALESCE((SELECT state FROM objects WHERE object_id = NEW.object_id),'') <> 'reserved';
  SELECT RAISE(ABORT,'CAT-GENERATION the object must be rooted by its timeline first') WHERE NOT EXISTS (
    SELECT 1 FROM shards s JOIN timelines t ON t.timeline_id = s.timeline_id JOIN owner_objects o ON o.owner_id = t.owner_id
    WHERE s.shard_id = NEW.shard_id AND o.object_id = NEW.object_id AND o.purpose = 'active');
END;

-- trigger generations_tables on generations
CREATE TRIGGER generations_tables BEFORE UPDATE ON generations WHEN NEW.tables_digest IS NOT OLD.tables_digest
    AND NOT (OLD.state = 'open' AND NEW.state = 'sealed')
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: the tables of a generation are fixed when it is sealed'); END;

-- trigger generations_update on generations
CREATE TRIGGER generations_update BEFORE UPDATE ON generations BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: identity is fixed') WHERE NEW.shard_id<>OLD.shard_id OR NEW.generation<>OLD.generation
    OR NEW.object_id<>OLD.object_id;
  SELECT RAISE(ABORT,'CAT-REVISION generations: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-STATE generations: transition refused') WHERE NEW.state <> OLD.state AND NOT (
    (OLD.state='open' AND NEW.state='sealed') OR (OLD.state='sealed' AND NEW.state='collected'));
  SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: sealed descriptor is fixed') WHERE OLD.first_lsn IS NOT NULL AND (
    NEW.first_lsn IS NOT OLD.first_lsn OR NEW.last_lsn IS NOT OLD.last_lsn OR NEW.records IS NOT OLD.records);
  SELECT RAISE(ABORT,'CAT-SEAL generation and object are sealed together') WHERE NEW.state = 'sealed' AND OLD.state = 'open'
    AND (SELECT state FROM objects WHERE object_id = NEW.object_id) <> 'sealed';
  SELECT RAISE(ABORT,'CAT-GENERATION an older generation is still open') WHERE NEW.state = 'sealed' AND OLD.state = 'open' AND 'open' = (
    SELECT state FROM generations WHERE shard_id = NEW.shard_id AND generation < NEW.generation ORDER BY generation DESC LIMIT 1);
  SELECT RAISE(ABORT,'CAT-GENERATION commits overlap an older generation') WHERE NEW.state = 'sealed' AND OLD.state = 'open' AND NEW.first_lsn <= (
    SELECT last_lsn FROM generations WHERE shard_id = NEW.shard_id AND generation < NEW.generation ORDER BY generation DESC LIMIT 1);
  SELECT RAISE(ABORT,'CAT-STATE generations: the object was not collected') WHERE NEW.state = 'collected' AND OLD.state = 'sealed'
    AND (SELECT state FROM objects WHERE object_id = NEW.object_id) <> 'collected';
END;

-- trigger identity_tombstones_no_delete on identity_tombstones
CREATE TRIGGER identity_tombstones_no_delete BEFORE DELETE ON identity_tombstones
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE identity_tombstones: never deleted'); END;

-- trigger identity_tombstones_no_replace on identity_tombstones
CREATE TRIGGER identity_tombstones_no_replace BEFORE INSERT ON identity_tombstones
  WHEN EXISTS (SELECT 1 FROM identity_tombstones WHERE object_id = NEW.object_id)
  BEGIN SELECT RAISE(ABORT,'CAT-DUPLICATE identity_tombstones: identity already used'); END;

-- trigger identity_tombstones_no_update on identity_tombstones
CREATE TRIGGER identity_tombstones_no_update BEFORE UPDATE ON identity_tombstones
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE identity_tombstones: rows are inserted once'); END;

-- trigger index_state_catchup_delete on index_state_catchup
CREATE TRIGGER index_state_catchup_delete BEFORE DELETE ON index_state_catchup BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_catchup: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-INDEX the index state of a representation is kept whole') WHERE EXISTS (SELECT 1 FROM representations WHERE index_state_id = OLD.index_state_id);
END;

-- trigger index_state_catchup_insert on index_state_catchup
CREATE TRIGGER index_state_catchup_insert BEFORE INSERT ON index_state_catchup BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE index_state_catchup: identity already used') WHERE
    EXISTS (SELECT 1 FROM index_state_catchup WHERE index_state_id = NEW.index_state_id AND index_id = NEW.index_id AND shard_id = NEW.shard_id);
  SELECT RAISE(ABORT,'CAT-INDEX an index state is complete once a representation has it') WHERE
    EXISTS (SELECT 1 FROM representations WHERE index_state_id = NEW.index_state_id);
  SELECT RAISE(ABORT,'CAT-INDEX positions are not maintained in this index state') WHERE
    COALESCE((SELECT reader_features & 128 FROM index_states WHERE index_state_id = NEW.index_state_id), 0) = 0;
  SELECT RAISE(ABORT,'CAT-INDEX an index catches up with what is compacted only') WHERE
    NEW.generation > COALESCE((SELECT generation FROM index_state_compacted WHERE index_state_id = NEW.index_state_id AND shard_id = NEW.shard_id), 0);
  SELECT RAISE(ABORT,'CAT-INDEX an index without a segment has no position') WHERE NOT EXISTS (
    SELECT 1 FROM index_state_segments WHERE index_state_id = NEW.index_state_id AND index_id = NEW.index_id);
END;

-- trigger index_state_catchup_no_update on index_state_catchup
CREATE TRIGGER index_state_catchup_no_update BEFORE UPDATE ON index_state_catchup
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_catchup: rows are inserted once'); END;

-- trigger index_state_compacted_delete on index_state_compacted
CREATE TRIGGER index_state_compacted_delete BEFORE DELETE ON index_state_compacted BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_compacted: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-INDEX the index state of a representation is kept whole') WHERE EXISTS (SELECT 1 FROM representations WHERE index_state_id = OLD.index_state_id);
END;

-- trigger index_state_compacted_insert on index_state_compacted
CREATE TRIGGER index_state_compacted_insert BEFORE INSERT ON index_state_compacted BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE index_state_compacted: identity already used') WHERE
    EXISTS (SELECT 1 FROM index_state_compacted WHERE index_state_id = NEW.index_state_id AND shard_id = NEW.shard_id);
  SELECT RAISE(ABORT,'CAT-INDEX an index state is complete once a representation has it') WHERE
    EXISTS (SELECT 1 FROM representations WHERE index_state_id = NEW.index_state_id);
END;

-- trigger index_state_compacted_no_update on index_state_compacted
CREATE TRIGGER index_state_compacted_no_update BEFORE UPDATE ON index_state_compacted
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_compacted: rows are inserted once'); END;

-- trigger index_state_segments_delete on index_state_segments
CREATE TRIGGER index_state_segments_delete BEFORE DELETE ON index_state_segments BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_segments: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-INDEX the index state of a representation is kept whole') WHERE EXISTS (SELECT 1 FROM representations WHERE index_state_id = OLD.index_state_id);
END;

-- trigger index_state_segments_insert on index_state_segments
CREATE TRIGGER index_state_segments_insert BEFORE INSERT ON index_state_segments BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE index_state_segments: identity already used') WHERE
    EXISTS (SELECT 1 FROM index_state_segments WHERE index_state_id = NEW.index_state_id AND index_id = NEW.index_id AND ordinal = NEW.ordinal)
    OR EXISTS (SELECT 1 FROM index_state_segments WHERE index_state_id = NEW.index_state_id AND object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-INDEX an index state is complete once a representation has it') WHERE
    EXISTS (SELECT 1 FROM representations WHERE index_state_id = NEW.index_state_id);
  SELECT RAISE(ABORT,'CAT-INDEX segments of an index are inserted in order') WHERE
    NEW.ordinal <> COALESCE((SELECT max(ordinal) + 1 FROM index_state_segments WHERE index_state_id = NEW.index_state_id AND index_id = NEW.index_id), 0);
  SELECT RAISE(ABORT,'CAT-INDEX a segment is of the index that it was sealed for') WHERE NOT EXISTS (
    SELECT 1 FROM segments WHERE object_id = NEW.object_id AND index_id = NEW.index_id AND table_id = NEW.table_id);
  SELECT RAISE(ABORT,'CAT-INDEX a segment must be sealed') WHERE NOT EXISTS (
    SELECT 1 FROM objects WHERE object_id = NEW.object_id AND state = 'sealed');
END;

-- trigger index_state_segments_no_update on index_state_segments
CREATE TRIGGER index_state_segments_no_update BEFORE UPDATE ON index_state_segments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_segments: rows are inserted once'); END;

-- trigger index_states_insert on index_states
CREATE TRIGGER index_states_insert BEFORE INSERT ON index_states BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE index_states: identity already used') WHERE EXISTS (SELECT 1 FROM index_states WHERE index_state_id = NEW.index_state_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR index_states: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.index_state_id >= 1 AND NEW.index_state_id < (SELECT next_id FROM catalog_info), 0);
END;

-- trigger index_states_no_delete on index_states
CREATE TRIGGER index_states_no_delete BEFORE DELETE ON index_states WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_states: delete needs a metadata-gc transaction'); END;

-- trigger index_states_no_update on index_states
CREATE TRIGGER index_states_no_update BEFORE UPDATE ON index_states
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_states: rows are inserted once'); END;

-- trigger jobs_insert on jobs
CREATE TRIGGER jobs_insert BEFORE INSERT ON jobs BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE jobs: identity already used') WHERE EXISTS (SELECT 1 FROM jobs WHERE job_id = NEW.job_id OR owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR jobs: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.job_id >= 1 AND NEW.job_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-STATE jobs start ready') WHERE NEW.state <> 'ready' OR NEW.attempt_generation <> 1 OR NEW.work_consumed <> 0 OR NEW.revision <> 0;
  SELECT RAISE(ABORT,'CAT-OWNER a job needs an active owner') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'active') <> 'active';
END;

-- trigger jobs_no_delete on jobs
CREATE TRIGGER jobs_no_delete BEFORE DELETE ON jobs WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state NOT IN ('done','failed','cancelled')
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE jobs: only rows that are over leave, in a metadata-gc transaction'); END;

-- trigger jobs_update on jobs
CREATE TRIGGER jobs_update BEFORE UPDATE ON jobs BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE jobs: recipe is fixed') WHERE NEW.job_id<>OLD.job_id OR NEW.kind<>OLD.kind OR NEW.target<>OLD.target
    OR NEW.recipe_version<>OLD.recipe_version OR NEW.recipe<>OLD.recipe OR NEW.owner_id<>OLD.owner_id;
  SELECT RAISE(ABORT,'CAT-REVISION jobs') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-STATE jobs: a job that is over never changes') WHERE OLD.state IN ('done','failed','cancelled');
  SELECT RAISE(ABORT,'CAT-STATE jobs: transition refused') WHERE NEW.state <> OLD.state AND NOT (
       (OLD.state='ready'       AND NEW.state IN ('running','cancelled'))
    OR (OLD.state='running'     AND NEW.state IN ('paused','quarantined','done','failed','cancelled'))
    OR (OLD.state='paused'      AND NEW.state IN ('running','cancelled'))
    OR (OLD.state='quarantined' AND NEW.state IN ('ready','failed','cancelled')));
  SELECT RAISE(ABORT,'CAT-JOB attempt generation never goes back and never skips') WHERE NEW.attempt_generation NOT IN (OLD.attempt_generation, OLD.attempt_generation + 1);
  SELECT RAISE(ABORT,'CAT-JOB leaving quarantine needs a fresh attempt generation') WHERE
    OLD.state='quarantined' AND NEW.state='ready' AND NEW.attempt_generation = OLD.attempt_generation;
  SELECT RAISE(ABORT,'CAT-JOB work counters never go back') WHERE NEW.work_consumed < OLD.work_consumed;
END;

-- trigger manifest_entries_delete on manifest_entries
CREATE TRIGGER manifest_entries_delete BEFORE DELETE ON manifest_entries BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE manifest_entries: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-MANIFEST a representation still has the entry') WHERE EXISTS (
    SELECT 1 FROM representation_chunks WHERE chunk_id = OLD.chunk_id AND entries > OLD.position);
END;

-- trigger manifest_entries_insert on manifest_entries
CREATE TRIGGER manifest_entries_insert BEFORE INSERT ON manifest_entries BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE manifest_entries: identity already used') WHERE
    EXISTS (SELECT 1 FROM manifest_entries WHERE chunk_id = NEW.chunk_id AND position = NEW.position)
    OR EXISTS (SELECT 1 FROM manifest_entries WHERE chunk_id = NEW.chunk_id AND logical_factor_id = NEW.logical_factor_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR manifest_entries: chunk id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.chunk_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-MANIFEST positions of a chunk are inserted in order') WHERE
    NEW.position <> COALESCE((SELECT max(position) + 1 FROM manifest_entries WHERE chunk_id = NEW.chunk_id), 0);
  SELECT RAISE(ABORT,'CAT-MANIFEST blob objects must be sealed') WHERE EXISTS (
    SELECT 1 FROM blob_versions b JOIN objects o ON o.object_id IN (b.native_object_id, b.index_object_id, b.secondary_native_object_id)
    WHERE b.blob_id = NEW.blob_id AND o.state <> 'sealed');
  SELECT RAISE(ABORT,'CAT-MANIFEST a base entry needs an object with fragments') WHERE NEW.contribution_role = 'base' AND NOT EXISTS (
    SELECT 1 FROM blob_versions b JOIN fragments f ON f.object_id = b.native_object_id WHERE b.blob_id = NEW.blob_id);
  SELECT RAISE(ABORT,'CAT-MANIFEST an object with fragments is a base') WHERE NEW.contribution_role <> 'base' AND EXISTS (
    SELECT 1 FROM blob_versions b JOIN fragments f ON f.object_id = b.native_object_id WHERE b.blob_id = NEW.blob_id);
END;

-- trigger manifest_entries_no_update on manifest_entries
CREATE TRIGGER manifest_entries_no_update BEFORE UPDATE ON manifest_entries
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE manifest_entries: rows are inserted once'); END;

-- trigger metadata_gc_no_delete on metadata_gc
CREATE TRIGGER metadata_gc_no_delete BEFORE DELETE ON metadata_gc
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY metadata_gc is permanent'); END;

-- trigger object_edges_insert on object_edges
CREATE TRIGGER object_edges_insert BEFORE INSERT ON object_edges BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE object_edges: identity already used') WHERE EXISTS (
    SELECT 1 FROM object_edges WHERE source_object_id = NEW.source_object_id AND target_object_id = NEW.target_object_id AND role = NEW.role);
  SELECT RAISE(ABORT,'CAT-GRAPH both ends must be sealed') WHERE
    COALESCE((SELECT state FROM objects WHERE object_id = NEW.source_object_id),'') <> 'sealed'
    OR COALESCE((SELECT state FROM objects WHERE object_id = NEW.target_object_id),'') <> 'sealed';
  -- acyclic by construction: an edge always points to an earlier graph position
  SELECT RAISE(ABORT,'CAT-GRAPH edge must point to an earlier registered object (cycle or unregistered target)') WHERE NOT COALESCE(
    (SELECT graph_seq FROM objects WHERE object_id = NEW.source_object_id) > (SELECT graph_seq FROM objects WHERE object_id = NEW.target_object_id), 0);
  SELECT RAISE(ABORT,'CAT-GRAPH wrong object kind for role') WHERE
       (NEW.role IN ('own_native','main_native','main_index','secondary_native') AND (SELECT kind FROM objects WHERE object_id = NEW.source_object_id) <> 'index')
    OR (NEW.role IN ('own_native','main_native','secondary_native') AND (SELECT kind FROM objects WHERE object_id = NEW.target_object_id) <> 'kv')
    OR (NEW.role = 'main_index' AND (SELECT kind FROM objects WHERE object_id = NEW.target_object_id) <> 'index');
  SELECT RAISE(ABORT,'CAT-GRAPH edge set is frozen once the object is registered in a blob') WHERE
    EXISTS (SELECT 1 FROM blob_versions WHERE index_object_id = NEW.source_object_id)
    OR (NEW.role IN ('value','arrow') AND EXISTS (SELECT 1 FROM blob_versions WHERE native_object_id = NEW.source_object_id));
END;

-- trigger object_edges_no_delete on object_edges
CREATE TRIGGER object_edges_no_delete BEFORE DELETE ON object_edges WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE object_edges: delete needs a metadata-gc transaction'); END;

-- trigger object_edges_no_update on object_edges
CREATE TRIGGER object_edges_no_update BEFORE UPDATE ON object_edges
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE object_edges: rows are inserted once'); END;

-- trigger objects_claim on objects
CREATE TRIGGER objects_claim BEFORE UPDATE ON objects WHEN NEW.state = 'gc_claimed' AND OLD.state <> 'gc_claimed' BEGIN
  SELECT RAISE(ABORT,'CAT-GC frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-GC refused: object has a direct owner') WHERE EXISTS (SELECT 1 FROM owner_objects WHERE object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-GC refused: an unclaimed object depends on it') WHERE EXISTS (
    SELECT 1 FROM object_edges e JOIN objects s ON s.object_id = e.source_object_id
    WHERE e.target_object_id = NEW.object_id AND s.state NOT IN ('gc_claimed','collected'));
  SELECT RAISE(ABORT,'CAT-GC refused: a retained blob uses it') WHERE EXISTS (
    SELECT 1 FROM blob_versions b WHERE (b.native_object_id = NEW.object_id OR b.index_object_id = NEW.object_id OR b.secondary_native_object_id = NEW.object_id)
      AND (EXISTS (SELECT 1 FROM owner_blobs o WHERE o.blob_id = b.blob_id)
        OR EXISTS (SELECT 1 FROM manifest_entries e CROSS JOIN representation_chunks c ON c.chunk_id = e.chunk_id AND c.entries > e.position
             CROSS JOIN owner_representations o ON o.representation_id = c.representation_id WHERE e.blob_id = b.blob_id)));
  SELECT RAISE(ABORT,'CAT-GC refused: a retained representation reads it as a segment') WHERE EXISTS (
    SELECT 1 FROM index_state_segments s CROSS JOIN representations r ON r.index_state_id = s.index_state_id
      CROSS JOIN owner_representations o ON o.representation_id = r.representation_id WHERE s.object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-GC refused: the log goes on in it') WHERE EXISTS (
    SELECT 1 FROM generations g JOIN shards s ON s.shard_id = g.shard_id
    WHERE g.object_id = NEW.object_id AND (g.generation >= s.current_generation OR g.state = 'open'));
END;

-- trigger objects_collected on objects
CREATE TRIGGER objects_collected BEFORE UPDATE ON objects WHEN NEW.state = 'collected' AND OLD.state <> 'collected' BEGIN
  SELECT RAISE(ABORT,'CAT-GC collected needs a finished deletion outcome') WHERE NOT EXISTS (
    SELECT 1 FROM gc_work WHERE object_id = NEW.object_id AND claim_state = 'done');
END;

-- trigger objects_delete on objects
CREATE TRIGGER objects_delete BEFORE DELETE ON objects BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE objects: only collected rows leave, in a metadata-gc transaction, with a tombstone') WHERE
    OLD.state <> 'collected' OR (SELECT active_operation FROM metadata_gc) IS NULL
    OR NOT EXISTS (SELECT 1 FROM identity_tombstones WHERE object_id = OLD.object_id AND relative_path = OLD.relative_path AND incarnation = OLD.incarnation);
END;

-- trigger objects_insert on objects
CREATE TRIGGER objects_insert BEFORE INSERT ON objects BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE objects: identity already used') WHERE EXISTS (
    SELECT 1 FROM objects WHERE object_id = NEW.object_id OR incarnation = NEW.incarnation);
  SELECT RAISE(ABORT,'CAT-REUSE identity, path or incarnation belongs to a collected object') WHERE EXISTS (
    SELECT 1 FROM identity_tombstones WHERE object_id = NEW.object_id OR relative_path = NEW.relative_path OR incarnation = NEW.incarnation);
  SELECT RAISE(ABORT,'CAT-STATE objects start reserved') WHERE NEW.state <> 'reserved' OR NEW.graph_seq IS NOT NULL OR NEW.lifecycle_revision <> 0;
  SELECT RAISE(ABORT,'CAT-ALLOCATOR objects: id or incarnation was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.object_id >= 1 AND NEW.object_id < (SELECT next_id FROM catalog_info), 0)
    OR NOT COALESCE(NEW.incarnation < (SELECT next_incarnation FROM catalog_info), 0);
END;

-- trigger objects_update on objects
CREATE TRIGGER objects_update BEFORE UPDATE ON objects BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE objects: identity is fixed at reservation') WHERE
    NEW.object_id<>OLD.object_id OR NEW.kind<>OLD.kind OR NEW.incarnation<>OLD.incarnation
    OR NEW.attempt_id<>OLD.attempt_id OR NEW.relative_path<>OLD.relative_path;
  SELECT RAISE(ABORT,'CAT-REVISION objects: expected lifecycle revision + 1') WHERE NEW.lifecycle_revision <> OLD.lifecycle_revision + 1;
  SELECT RAISE(ABORT,'CAT-IMMUTABLE objects: sealed descriptor is fixed') WHERE OLD.content_id IS NOT NULL AND (
    NEW.content_id IS NOT OLD.content_id OR NEW.byte_extent IS NOT OLD.byte_extent OR NEW.logical_extent IS NOT OLD.logical_extent
    OR NEW.integrity_digest IS NOT OLD.integrity_digest OR NEW.native_fingerprint IS NOT OLD.native_fingerprint);
  SELECT RAISE(ABORT,'CAT-STATE objects: descriptor is set only by sealing') WHERE
    OLD.content_id IS NULL AND NEW.content_id IS NOT NULL AND NEW.state <> 'sealed';
  SELECT RAISE(ABORT,'CAT-STATE objects: graph position is set once, on a sealed object') WHERE
    NEW.graph_seq IS NOT OLD.graph_seq AND (OLD.graph_seq IS NOT NULL OR NEW.state <> 'sealed'
      OR NOT COALESCE(NEW.graph_seq < (SELECT next_graph_seq FROM catalog_info), 0));
  SELECT RAISE(ABORT,'CAT-STATE objects: transition refused') WHERE NEW.state <> OLD.state AND NOT (
       (OLD.state='reserved'    AND NEW.state IN ('sealed','quarantined','gc_claimed'))
    OR (OLD.state='sealed'      AND NEW.state IN ('quarantined','gc_claimed'))
    OR (OLD.state='quarantined' AND NEW.state IN ('sealed','gc_claimed'))
    OR (OLD.state='gc_claimed'  AND NEW.state = 'collected'));
  SELECT RAISE(ABORT,'CAT-RECOVERY quarantined objects leave quarantine only with recovery evidence') WHERE
    OLD.state='quarantined' AND NEW.state<>'quarantined' AND NEW.reconciled_by IS NULL;
  SELECT RAISE(ABORT,'CAT-SEAL a seal receipt with completed barriers must exist first') WHERE
    NEW.state='sealed' AND OLD.state<>'sealed' AND NOT EXISTS (SELECT 1 FROM seal_receipts s, catalog_info c
      WHERE s.object_id = NEW.object_id AND s.backing_catalog = c.catalog_identity AND s.attempt_id = NEW.attempt_id
        AND s.byte_extent = NEW.byte_extent AND s.integrity_digest = NEW.integrity_digest);
END;

-- trigger operations_insert on operations
CREATE TRIGGER operations_insert BEFORE INSERT ON operations BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE operations: compare request bytes, then replay the outcome') WHERE EXISTS (
    SELECT 1 FROM operations WHERE operation_id = NEW.operation_id);
END;

-- trigger operations_no_delete on operations
CREATE TRIGGER operations_no_delete BEFORE DELETE ON operations WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE operations: delete needs a metadata-gc transaction'); END;

-- trigger operations_update on operations
CREATE TRIGGER operations_update BEFORE UPDATE ON operations BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE operations: request is fixed') WHERE NEW.operation_id<>OLD.operation_id OR NEW.kind<>OLD.kind OR NEW.request<>OLD.request
    OR NEW.request_digest<>OLD.request_digest OR NEW.expected_revision IS NOT OLD.expected_revision OR NEW.created_at<>OLD.created_at;
  SELECT RAISE(ABORT,'CAT-STATE operations: outcome is final') WHERE OLD.status <> 'prepared';
END;

-- trigger owner_blobs_delete on owner_blobs
CREATE TRIGGER owner_blobs_delete BEFORE DELETE ON owner_blobs BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
END;

-- trigger owner_blobs_insert on owner_blobs
CREATE TRIGGER owner_blobs_insert BEFORE INSERT ON owner_blobs BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  SELECT RAISE(ABORT,'CAT-ACQUIRE an object of this blob is not acquirable') WHERE EXISTS (
    SELECT 1 FROM blob_versions b JOIN objects o ON o.object_id IN (b.native_object_id, b.index_object_id, b.secondary_native_object_id)
    WHERE b.blob_id = NEW.blob_id AND o.state <> 'sealed');
END;

-- trigger owner_blobs_no_update on owner_blobs
CREATE TRIGGER owner_blobs_no_update BEFORE UPDATE ON owner_blobs
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_blobs: roots are added or removed, never edited'); END;

-- trigger owner_objects_delete on owner_objects
CREATE TRIGGER owner_objects_delete BEFORE DELETE ON owner_objects BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RETIRE the timeline still replays this generation') WHERE EXISTS (
    SELECT 1 FROM generations g JOIN shards s ON s.shard_id = g.shard_id AND g.generation >= s.replay_from
      JOIN timelines t ON t.timeline_id = s.timeline_id
    WHERE g.object_id = OLD.object_id AND t.owner_id = OLD.owner_id);
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
END;

-- trigger owner_objects_insert on owner_objects
CREATE TRIGGER owner_objects_insert BEFORE INSERT ON owner_objects BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_objects: the purpose of a root is fixed') WHERE EXISTS (
    SELECT 1 FROM owner_objects WHERE owner_id = NEW.owner_id AND object_id = NEW.object_id AND purpose <> NEW.purpose);
  SELECT RAISE(ABORT,'CAT-OWNER only a timeline or a reader roots an active generation') WHERE NEW.purpose = 'active'
    AND COALESCE((SELECT kind FROM owners WHERE owner_id = NEW.owner_id),'') NOT IN ('timeline','reader');
  SELECT RAISE(ABORT,'CAT-ACQUIRE object is claimed or collected') WHERE (SELECT state FROM objects WHERE object_id = NEW.object_id) IN ('gc_claimed','collected');
  SELECT RAISE(ABORT,'CAT-ACQUIRE quarantined objects take quarantine or recovery roots only') WHERE
    (SELECT state FROM objects WHERE object_id = NEW.object_id) = 'quarantined' AND NEW.purpose <> 'quarantine';
END;

-- trigger owner_objects_no_update on owner_objects
CREATE TRIGGER owner_objects_no_update BEFORE UPDATE ON owner_objects
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_objects: roots are added or removed, never edited'); END;

-- trigger owner_representations_delete on owner_representations
CREATE TRIGGER owner_representations_delete BEFORE DELETE ON owner_representations BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
END;

-- trigger owner_representations_insert on owner_representations
CREATE TRIGGER owner_representations_insert BEFORE INSERT ON owner_representations BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  SELECT RAISE(ABORT,'CAT-MANIFEST representation is incomplete') WHERE
    (SELECT entry_count FROM representations WHERE representation_id = NEW.representation_id) <> COALESCE((
      SELECT first_position + entries FROM representation_chunks WHERE representation_id = NEW.representation_id ORDER BY ordinal DESC LIMIT 1), 0);
  SELECT RAISE(ABORT,'CAT-ACQUIRE an object of this representation is not acquirable') WHERE EXISTS (
    SELECT 1 FROM objects o CROSS JOIN blob_versions b ON (b.native_object_id = o.object_id OR b.index_object_id = o.object_id OR b.secondary_native_object_id = o.object_id)
      CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
      CROSS JOIN representation_chunks c ON c.representation_id = NEW.representation_id AND c.chunk_id = e.chunk_id AND c.entries > e.position
    WHERE o.state IN ('quarantined','gc_claimed','collected'));
  SELECT RAISE(ABORT,'CAT-ACQUIRE a segment of this representation is not acquirable') WHERE EXISTS (
    SELECT 1 FROM objects o CROSS JOIN index_state_segments s ON s.object_id = o.object_id
      CROSS JOIN representations r ON r.representation_id = NEW.representation_id AND r.index_state_id = s.index_state_id
    WHERE o.state IN ('quarantined','gc_claimed','collected'));
  SELECT RAISE(ABORT,'CAT-ACQUIRE an object that this representation depends on is quarantined') WHERE
    (SELECT kind FROM owners WHERE owner_id = NEW.owner_id) IN ('reader','branch_point') AND EXISTS (
      WITH RECURSIVE up(object_id) AS (
        SELECT object_id FROM objects WHERE state = 'quarantined'
        UNION SELECT g.source_object_id FROM up CROSS JOIN object_edges g ON g.target_object_id = up.object_id)
      SELECT 1 FROM up CROSS JOIN blob_versions b ON (b.native_object_id = up.object_id OR b.index_object_id = up.object_id OR b.secondary_native_object_id = up.object_id)
        CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
        CROSS JOIN representation_chunks c ON c.representation_id = NEW.representation_id AND c.chunk_id = e.chunk_id AND c.entries > e.position);
END;

-- trigger owner_representations_no_update on owner_representations
CREATE TRIGGER owner_representations_no_update BEFORE UPDATE ON owner_representations
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_representations: roots are added or removed, never edited'); END;

-- trigger owners_insert on owners
CREATE TRIGGER owners_insert BEFORE INSERT ON owners BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE owners: identity already used') WHERE EXISTS (SELECT 1 FROM owners WHERE owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR owners: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.owner_id >= 1 AND NEW.owner_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SESSION only a live session acquires') WHERE (NEW.kind = 'reader' OR NEW.session_id IS NOT NULL)
    AND COALESCE((SELECT state FROM sessions WHERE session_id = NEW.session_id),'') <> 'live';
  SELECT RAISE(ABORT,'CAT-STATE owners start active') WHERE NEW.state <> 'active' OR NEW.revision <> 0;
END;

-- trigger owners_no_delete on owners
CREATE TRIGGER owners_no_delete BEFORE DELETE ON owners WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'released'
  BEGIN SELECT RAISE(ABORT,'CAT-RETIRE only released owners leave, in a metadata-gc transaction'); END;

-- trigger owners_update on owners
CREATE TRIGGER owners_update BEFORE UPDATE ON owners BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE owners: identity is fixed') WHERE NEW.owner_id<>OLD.owner_id OR NEW.kind<>OLD.kind OR NEW.session_id IS NOT OLD.session_id;
  SELECT RAISE(ABORT,'CAT-REVISION owners') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-STATE owners: transition refused') WHERE NEW.state <> OLD.state AND NOT (
    (OLD.state='active' AND NEW.state='retiring') OR (OLD.state='retiring' AND NEW.state='released'));
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE NEW.state <> OLD.state AND (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-SELECTED owner is still selected by a timeline or branch point') WHERE NEW.state = 'retiring' AND OLD.state = 'active' AND (
    EXISTS (SELECT 1 FROM timelines WHERE owner_id = OLD.owner_id) OR EXISTS (SELECT 1 FROM branch_points WHERE owner_id = OLD.owner_id));
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE NEW.state = 'retiring' AND OLD.state = 'active' AND OLD.kind = 'recovery' AND EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
  SELECT RAISE(ABORT,'CAT-JOB owner of a job that is not over') WHERE NEW.state = 'retiring' AND OLD.state = 'active' AND OLD.kind = 'job' AND EXISTS (
    SELECT 1 FROM jobs WHERE owner_id = OLD.owner_id AND state NOT IN ('done','failed','cancelled'));
  SELECT RAISE(ABORT,'CAT-RETIRE owner still holds roots') WHERE NEW.state = 'released' AND OLD.state <> 'released' AND (
    EXISTS (SELECT 1 FROM owner_representations WHERE owner_id = OLD.owner_id)
    OR EXISTS (SELECT 1 FROM owner_blobs WHERE owner_id = OLD.owner_id)
    OR EXISTS (SELECT 1 FROM owner_objects WHERE owner_id = OLD.owner_id));
END;

-- trigger publication_attempts_insert on publication_attempts
CREATE TRIGGER publication_attempts_insert BEFORE INSERT ON publication_attempts BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE publication_attempts: identity already used') WHERE EXISTS (
    SELECT 1 FROM publication_attempts WHERE operation_id = NEW.operation_id OR recovery_owner_id = NEW.recovery_owner_id
      OR candidate_representation_id = NEW.candidate_representation_id);
  SELECT RAISE(ABORT,'CAT-RECOVERY recovery owner must already retain the expected head') WHERE NOT EXISTS (
    SELECT 1 FROM owner_representations WHERE owner_id = NEW.recovery_owner_id AND representation_id = NEW.expected_representation_id);
  SELECT RAISE(ABORT,'CAT-RECOVERY recovery owner must already retain the candidate') WHERE NOT EXISTS (
    SELECT 1 FROM owner_representations WHERE owner_id = NEW.recovery_owner_id AND representation_id = NEW.candidate_representation_id);
  SELECT RAISE(ABORT,'CAT-STATE publication attempts start prepared') WHERE NEW.state <> 'prepared' OR NEW.revision <> 0
    OR COALESCE((SELECT status FROM operations WHERE operation_id = NEW.operation_id),'') <> 'prepared';
END;

-- trigger publication_attempts_no_delete on publication_attempts
CREATE TRIGGER publication_attempts_no_delete BEFORE DELETE ON publication_attempts WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'retired'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE publication_attempts: only retired rows leave, in a metadata-gc transaction'); END;

-- trigger publication_attempts_update on publication_attempts
CREATE TRIGGER publication_attempts_update BEFORE UPDATE ON publication_attempts BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE publication_attempts: identity is fixed') WHERE NEW.operation_id<>OLD.operation_id OR NEW.timeline_id<>OLD.timeline_id
    OR NEW.expected_representation_id<>OLD.expected_representation_id OR NEW.expected_revision<>OLD.expected_revision
    OR NEW.candidate_representation_id<>OLD.candidate_representation_id OR NEW.recovery_owner_id<>OLD.recovery_owner_id;
  SELECT RAISE(ABORT,'CAT-REVISION publication_attempts') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-STATE publication_attempts: transition refused') WHERE NEW.state <> OLD.state AND NOT (
       (OLD.state='prepared'   AND NEW.state IN ('attempting','rolled_back'))
    OR (OLD.state='attempting' AND NEW.state IN ('committed','conflict','unknown'))
    OR (OLD.state='unknown'    AND NEW.state IN ('committed','rolled_back','conflict'))
    OR (OLD.state IN ('committed','conflict','rolled_back') AND NEW.state='retired'));
  SELECT RAISE(ABORT,'CAT-PUBLISH committed attempt must name the selected head or a later revision') WHERE NEW.state='committed' AND OLD.state<>'committed' AND (
    NOT EXISTS (SELECT 1 FROM representations WHERE representation_id = NEW.candidate_representation_id)
    OR (SELECT revision FROM timelines WHERE timeline_id = NEW.timeline_id) <= NEW.expected_revision
    OR COALESCE((SELECT status FROM operations WHERE operation_id = NEW.operation_id),'') <> 'committed');
  SELECT RAISE(ABORT,'CAT-PUBLISH outcome of the attempt is not what the operation recorded') WHERE
       (NEW.state='conflict' AND OLD.state<>'conflict' AND COALESCE((SELECT status FROM operations WHERE operation_id = NEW.operation_id),'') <> 'conflict')
    OR (NEW.state='rolled_back' AND OLD.state<>'rolled_back' AND COALESCE((SELECT status FROM operations WHERE operation_id = NEW.operation_id),'') <> 'abandoned');
  SELECT RAISE(ABORT,'CAT-RECOVERY a retired attempt needs a released recovery owner') WHERE NEW.state='retired' AND OLD.state<>'retired'
    AND COALESCE((SELECT state FROM owners WHERE owner_id = NEW.recovery_owner_id),'') <> 'released';
END;

-- trigger representation_chunks_delete on representation_chunks
CREATE TRIGGER representation_chunks_delete BEFORE DELETE ON representation_chunks BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE representation_chunks: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-MANIFEST the manifest of a retained representation is kept whole') WHERE EXISTS (
    SELECT 1 FROM owner_representations WHERE representation_id = OLD.representation_id);
END;

-- trigger representation_chunks_insert on representation_chunks
CREATE TRIGGER representation_chunks_insert BEFORE INSERT ON representation_chunks BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE representation_chunks: identity already used') WHERE
    EXISTS (SELECT 1 FROM representation_chunks WHERE representation_id = NEW.representation_id AND ordinal = NEW.ordinal)
    OR EXISTS (SELECT 1 FROM representation_chunks WHERE representation_id = NEW.representation_id AND chunk_id = NEW.chunk_id);
  SELECT RAISE(ABORT,'CAT-MANIFEST chunk references are inserted in order') WHERE
    NEW.ordinal <> COALESCE((SELECT max(ordinal) + 1 FROM representation_chunks WHERE representation_id = NEW.representation_id), 0)
    OR NEW.first_position <> COALESCE((SELECT first_position + entries FROM representation_chunks
         WHERE representation_id = NEW.representation_id ORDER BY ordinal DESC LIMIT 1), 0);
  SELECT RAISE(ABORT,'CAT-MANIFEST the chunk does not have so many entries') WHERE
    NEW.entries > COALESCE((SELECT max(position) + 1 FROM manifest_entries WHERE chunk_id = NEW.chunk_id), 0);
  SELECT RAISE(ABORT,'CAT-MANIFEST position outside the declared manifest') WHERE
    NEW.first_position + NEW.entries > (SELECT entry_count FROM representations WHERE representation_id = NEW.representation_id);
END;

-- trigger representation_chunks_no_update on representation_chunks
CREATE TRIGGER representation_chunks_no_update BEFORE UPDATE ON representation_chunks
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE representation_chunks: rows are inserted once'); END;

-- trigger representations_delete on representations
CREATE TRIGGER representations_delete BEFORE DELETE ON representations BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE representations: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-RECOVERY an attempt that is not retired names the representation') WHERE
    EXISTS (SELECT 1 FROM publication_attempts WHERE candidate_representation_id = OLD.representation_id AND state <> 'retired')
    OR EXISTS (SELECT 1 FROM publication_attempts WHERE expected_representation_id = OLD.representation_id AND state <> 'retired');
END;

-- trigger representations_insert on representations
CREATE TRIGGER representations_insert BEFORE INSERT ON representations BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE representations: identity already used') WHERE EXISTS (
    SELECT 1 FROM representations WHERE representation_id = NEW.representation_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR representations: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.representation_id >= 1 AND NEW.representation_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-LIMIT too many representation entries') WHERE
    NEW.entry_count > (SELECT max_representation_entries FROM catalog_info);
END;

-- trigger representations_no_update on representations
CREATE TRIGGER representations_no_update BEFORE UPDATE ON representations
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE representations: rows are inserted once'); END;

-- trigger runtime_diagnostics_no_delete on runtime_diagnostics
CREATE TRIGGER runtime_diagnostics_no_delete BEFORE DELETE ON runtime_diagnostics
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE runtime_diagnostics: never deleted'); END;

-- trigger runtime_diagnostics_no_replace on runtime_diagnostics
CREATE TRIGGER runtime_diagnostics_no_replace BEFORE INSERT ON runtime_diagnostics
  WHEN EXISTS (SELECT 1 FROM runtime_diagnostics WHERE diag_id = NEW.diag_id)
  BEGIN SELECT RAISE(ABORT,'CAT-DUPLICATE runtime_diagnostics: identity already used'); END;

-- trigger runtime_diagnostics_no_update on runtime_diagnostics
CREATE TRIGGER runtime_diagnostics_no_update BEFORE UPDATE ON runtime_diagnostics
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE runtime_diagnostics: rows are inserted once'); END;

-- trigger schema_contexts_insert on schema_contexts
CREATE TRIGGER schema_contexts_insert BEFORE INSERT ON schema_contexts BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE schema_contexts: identity already used') WHERE EXISTS (SELECT 1 FROM schema_contexts WHERE schema_id = NEW.schema_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR schema_contexts: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.schema_id >= 1 AND NEW.schema_id < (SELECT next_id FROM catalog_info), 0);
END;

-- trigger schema_contexts_no_delete on schema_contexts
CREATE TRIGGER schema_contexts_no_delete BEFORE DELETE ON schema_contexts WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE schema_contexts: delete needs a metadata-gc transaction'); END;

-- trigger schema_contexts_no_update on schema_contexts
CREATE TRIGGER schema_contexts_no_update BEFORE UPDATE ON schema_contexts
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE schema_contexts: rows are inserted once'); END;

-- trigger seal_receipts_insert on seal_receipts
CREATE TRIGGER seal_receipts_insert BEFORE INSERT ON seal_receipts BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE seal_receipts: identity already used') WHERE EXISTS (
    SELECT 1 FROM seal_receipts WHERE object_id = NEW.object_id AND backing_catalog = NEW.backing_catalog);
  -- a receipt of another catalog proves nothing here, so only this catalog's own are checked against the reservation
  SELECT RAISE(ABORT,'CAT-SEAL receipt does not match the reservation') WHERE
    NEW.backing_catalog IS (SELECT catalog_identity FROM catalog_info) AND NOT EXISTS (
      SELECT 1 FROM objects WHERE object_id = NEW.object_id AND attempt_id = NEW.attempt_id AND state IN ('reserved','quarantined'));
END;

-- trigger seal_receipts_no_delete on seal_receipts
CREATE TRIGGER seal_receipts_no_delete BEFORE DELETE ON seal_receipts WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE seal_receipts: delete needs a metadata-gc transaction'); END;

-- trigger seal_receipts_no_update on seal_receipts
CREATE TRIGGER seal_receipts_no_update BEFORE UPDATE ON seal_receipts
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE seal_receipts: rows are inserted once'); END;

-- trigger segments_delete on segments
CREATE TRIGGER segments_delete BEFORE DELETE ON segments WHEN (SELECT active_operation FROM metadata_gc) IS NULL
    OR COALESCE((SELECT state FROM objects WHERE object_id = OLD.object_id),'') <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE segments: only those of collected objects leave, in a metadata-gc transaction'); END;

-- trigger segments_insert on segments
CREATE TRIGGER segments_insert BEFORE INSERT ON segments BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE segments: identity already used') WHERE EXISTS (SELECT 1 FROM segments WHERE object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-INDEX the object must be a sealed index') WHERE NOT EXISTS (
    SELECT 1 FROM objects WHERE object_id = NEW.object_id AND kind = 'index' AND state = 'sealed');
  SELECT RAISE(ABORT,'CAT-INDEX the object is the index of a blob') WHERE EXISTS (SELECT 1 FROM blob_versions WHERE index_object_id = NEW.object_id);
END;

-- trigger segments_no_update on segments
CREATE TRIGGER segments_no_update BEFORE UPDATE ON segments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE segments: rows are inserted once'); END;

-- trigger sessions_insert on sessions
CREATE TRIGGER sessions_insert BEFORE INSERT ON sessions BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE sessions: identity already used') WHERE EXISTS (SELECT 1 FROM sessions WHERE session_id = NEW.session_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR sessions: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.session_id >= 1 AND NEW.session_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SESSION a session starts live') WHERE NEW.state <> 'live' OR NEW.revision <> 0;
END;

-- trigger sessions_no_delete on sessions
CREATE TRIGGER sessions_no_delete BEFORE DELETE ON sessions WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state IN ('live','uncertain')
  BEGIN SELECT RAISE(ABORT,'CAT-SESSION only closed and dead sessions leave, in a metadata-gc transaction'); END;

-- trigger sessions_update on sessions
CREATE TRIGGER sessions_update BEFORE UPDATE ON sessions BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE sessions: the process is fixed') WHERE NEW.session_id<>OLD.session_id OR NEW.boot_id<>OLD.boot_id
    OR NEW.pid<>OLD.pid OR NEW.pid_namespace<>OLD.pid_namespace OR NEW.start_ticks<>OLD.start_ticks OR NEW.started_at<>OLD.started_at;
  SELECT RAISE(ABORT,'CAT-REVISION sessions: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-SESSION closed and dead are final') WHERE OLD.state IN ('closed','dead');
  SELECT RAISE(ABORT,'CAT-SESSION a session that is closed has released its owners') WHERE NEW.state = 'closed' AND EXISTS (
    SELECT 1 FROM owners WHERE session_id = OLD.session_id AND state <> 'released');
END;

-- trigger shards_insert on shards
CREATE TRIGGER shards_insert BEFORE INSERT ON shards BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE shards: identity already used') WHERE EXISTS (
    SELECT 1 FROM shards WHERE shard_id = NEW.shard_id OR (timeline_id = NEW.timeline_id AND ordinal = NEW.ordinal));
  SELECT RAISE(ABORT,'CAT-ALLOCATOR shards: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.shard_id >= 1 AND NEW.shard_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SHARD ordinal is outside the store''s shard count') WHERE NEW.ordinal >= (SELECT shards FROM catalog_info);
  SELECT RAISE(ABORT,'CAT-SHARD a shard starts with writer epoch 0 at revision 0') WHERE NEW.writer_epoch <> 0 OR NEW.revision <> 0;
END;

-- trigger shards_no_delete on shards
CREATE TRIGGER shards_no_delete BEFORE DELETE ON shards WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE shards: delete needs a metadata-gc transaction'); END;

-- trigger shards_update on shards
CREATE TRIGGER shards_update BEFORE UPDATE ON shards BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE shards: identity is fixed') WHERE NEW.shard_id<>OLD.shard_id OR NEW.timeline_id<>OLD.timeline_id
    OR NEW.ordinal<>OLD.ordinal OR NEW.parent_shard_id IS NOT OLD.parent_shard_id OR NEW.parent_generation IS NOT OLD.parent_generation;
  SELECT RAISE(ABORT,'CAT-REVISION shards: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-SHARD the writer epoch advances by one') WHERE NEW.writer_epoch NOT IN (OLD.writer_epoch, OLD.writer_epoch + 1);
  SELECT RAISE(ABORT,'CAT-SHARD generations only advance') WHERE NEW.current_generation < OLD.current_generation OR NEW.replay_from < OLD.replay_from;
  SELECT RAISE(ABORT,'CAT-SHARD the current generation is not reserved') WHERE NOT EXISTS (
    SELECT 1 FROM generations WHERE shard_id = NEW.shard_id AND generation = NEW.current_generation);
  SELECT RAISE(ABORT,'CAT-SHARD replay starts at most one behind the current generation') WHERE NEW.replay_from > OLD.replay_from
    AND NEW.replay_from > NEW.current_generation + 1;
  SELECT RAISE(ABORT,'CAT-SHARD the head does not contain a generation that replay would pass over') WHERE NEW.replay_from > OLD.replay_from AND EXISTS (
    SELECT 1 FROM generations g WHERE g.shard_id = NEW.shard_id AND g.generation >= OLD.replay_from AND g.generation < NEW.replay_from AND NOT EXISTS (
      SELECT 1 FROM timelines t CROSS JOIN blob_versions b ON b.native_object_id = g.object_id
        CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
        CROSS JOIN representation_chunks c ON c.representation_id = t.head_representation_id AND c.chunk_id = e.chunk_id AND c.entries > e.position
      WHERE t.timeline_id = NEW.timeline_id)
    AND NOT EXISTS (
      SELECT 1 FROM timelines t CROSS JOIN worlds w ON w.world_id = t.head_world_id
      WHERE t.timeline_id = NEW.timeline_id AND w.restored_from IS NOT NULL AND g.state <> 'open' AND g.last_lsn < w.lsn));
END;

-- trigger storage_domain_no_delete on storage_domain
CREATE TRIGGER storage_domain_no_delete BEFORE DELETE ON storage_domain
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY storage_domain is permanent'); END;

-- trigger storage_domain_step on storage_domain
CREATE TRIGGER storage_domain_step BEFORE UPDATE ON storage_domain WHEN NEW.revision <> OLD.revision + 1
  BEGIN SELECT RAISE(ABORT,'CAT-REVISION storage_domain'); END;

-- trigger store_lineage_insert on store_lineage
CREATE TRIGGER store_lineage_insert BEFORE INSERT ON store_lineage BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE store_lineage: identity already used') WHERE EXISTS (
    SELECT 1 FROM store_lineage WHERE catalog_identity = NEW.catalog_identity);
  SELECT RAISE(ABORT,'CAT-IDENTITY lineage names other catalogs') WHERE NEW.catalog_identity IS (SELECT catalog_identity FROM catalog_info);
END;

-- trigger store_lineage_no_delete on store_lineage
CREATE TRIGGER store_lineage_no_delete BEFORE DELETE ON store_lineage
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY lineage is permanent'); END;

-- trigger store_lineage_no_update on store_lineage
CREATE TRIGGER store_lineage_no_update BEFORE UPDATE ON store_lineage
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE store_lineage: rows are inserted once'); END;

-- trigger timelines_delete on timelines
CREATE TRIGGER timelines_delete BEFORE DELETE ON timelines BEGIN
  SELECT RAISE(ABORT,'CAT-IDENTITY the timeline main is permanent') WHERE OLD.name = 'main';
  SELECT RAISE(ABORT,'CAT-IMMUTABLE timelines: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
END;

-- trigger timelines_insert on timelines
CREATE TRIGGER timelines_insert BEFORE INSERT ON timelines BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE timelines: identity already used') WHERE EXISTS (SELECT 1 FROM timelines WHERE timeline_id = NEW.timeline_id OR name = NEW.name);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR timelines: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.timeline_id >= 1 AND NEW.timeline_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-REVISION timelines start at revision 0') WHERE NEW.revision <> 0;
END;

-- trigger timelines_update on timelines
CREATE TRIGGER timelines_update BEFORE UPDATE ON timelines BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE timelines: identity is fixed') WHERE NEW.timeline_id<>OLD.timeline_id OR NEW.name<>OLD.name
    OR NEW.owner_id<>OLD.owner_id OR NEW.created_at<>OLD.created_at;
  SELECT RAISE(ABORT,'CAT-REVISION timelines: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-PUBLISH a restore is younger than every commit of its timeline') WHERE NEW.head_world_id <> OLD.head_world_id AND EXISTS (
    SELECT 1 FROM worlds w WHERE w.world_id = NEW.head_world_id AND w.restored_from IS NOT NULL AND (
      w.lsn <= (SELECT lsn FROM worlds WHERE world_id = OLD.head_world_id)
      OR EXISTS (SELECT 1 FROM shards s JOIN generations g ON g.shard_id = s.shard_id WHERE s.timeline_id = NEW.timeline_id AND g.last_lsn >= w.lsn)));
END;

-- trigger timelines_waiting on timelines
CREATE TRIGGER timelines_waiting BEFORE UPDATE ON timelines WHEN NEW.head_representation_id <> OLD.head_representation_id
    AND EXISTS (SELECT 1 FROM completed_merge_waiting WHERE timeline_id = OLD.timeline_id)
  BEGIN SELECT RAISE(ABORT,'CAT-MERGE the timeline waits for a merge of the head that it is to leave'); END;

-- trigger worlds_insert on worlds
CREATE TRIGGER worlds_insert BEFORE INSERT ON worlds BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE worlds: identity already used') WHERE EXISTS (SELECT 1 FROM worlds WHERE world_id = NEW.world_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR worlds: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.world_id >= 1 AND NEW.world_id < (SELECT next_id FROM catalog_info), 0)
    OR NOT COALESCE(NEW.admitted_cut_id < (SELECT next_id FROM catalog_info), 0);
END;

-- trigger worlds_no_delete on worlds
CREATE TRIGGER worlds_no_delete BEFORE DELETE ON worlds WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE worlds: delete needs a metadata-gc transaction'); END;

-- trigger worlds_no_update on worlds
CREATE TRIGGER worlds_no_update BEFORE UPDATE ON worlds
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE worlds: rows are inserted once'); END;

-- view apparently_unowned_objects on apparently_unowned_objects
CREATE VIEW apparently_unowned_objects AS
  SELECT o.object_id, o.kind, o.state, o.incarnation, o.relative_path, o.byte_extent
  FROM objects o WHERE o.state IN ('reserved','sealed','quarantined') AND o.object_id NOT IN (SELECT object_id FROM reachable_objects);

-- view base_files on base_files
CREATE VIEW base_files AS
  SELECT t.name AS timeline, e.position, o.object_id, o.relative_path AS path, o.byte_extent AS bytes, f.lsn, f.table_id, n.name AS table_name, f.rows,
    COALESCE((SELECT x.live_rows FROM representation_chunks c JOIN entry_fragments x ON x.chunk_id = c.chunk_id AND x.position = e.position - c.first_position AND x.ordinal = f.ordinal
      WHERE c.representation_id = e.representation_id AND e.position >= c.first_position AND e.position < c.first_position + c.entries), f.rows) AS live_rows, f.fragment_id
  FROM timelines t JOIN representation_entries e ON e.representation_id = t.head_representation_id AND e.contribution_role = 'base'
    JOIN blob_versions b ON b.blob_id = e.blob_id JOIN objects o ON o.object_id = b.native_object_id JOIN fragments f ON f.object_id = o.object_id
    LEFT JOIN tables n ON n.timeline_id = t.timeline_id AND n.table_id = f.table_id AND n.until_version IS NULL
  ORDER BY t.name, e.position, f.ordinal;

-- view blob_objects on blob_objects
CREATE VIEW blob_objects(blob_id, object_id) AS
  SELECT blob_id, native_object_id FROM blob_versions
  UNION ALL SELECT blob_id, index_object_id FROM blob_versions WHERE index_object_id IS NOT NULL
  UNION ALL SELECT blob_id, secondary_native_object_id FROM blob_versions WHERE secondary_native_object_id IS NOT NULL;

-- view branch_point_worlds on branch_point_worlds
CREATE VIEW branch_point_worlds AS
  SELECT b.name, b.timeline, b.world_id, b.representation_id, w.lsn, w.live_count, lower(hex(w.composite_fingerprint)) AS fingerprint,
         r.entry_count, b.owner_id, b.created_at, EXISTS (SELECT 1 FROM timelines t WHERE t.timeline_id = b.timeline_id) AS timeline_exists
  FROM branch_points b JOIN worlds w ON w.world_id = b.world_id JOIN representations r ON r.representation_id = b.representation_id;

-- view claim_closure_audit on claim_closure_audit
CREATE VIEW claim_closure_audit AS          -- claims are upward closed: empty when sound
  SELECT e.source_object_id, s.state AS source_state, e.target_object_id, t.state AS target_state
  FROM object_edges e JOIN objects s ON s.object_id = e.source_object_id JOIN objects t ON t.object_id = e.target_object_id
  WHERE t.state IN ('gc_claimed','collected') AND s.state NOT IN ('gc_claimed','collected');

-- view current_indexes on current_indexes
CREATE VIEW current_indexes AS
  SELECT l.name AS timeline, i.index_id, i.name, t.name AS table_name, i.version, i.is_unique, i.origin, i.columns, i.sql
  FROM indexes i JOIN timelines l ON l.timeline_id = i.timeline_id
    LEFT JOIN tables t ON t.timeline_id = i.timeline_id AND t.table_id = i.table_id AND t.until_version IS NULL
  WHERE i.until_version IS NULL;

-- view current_tables on current_tables
CREATE VIEW current_tables AS
  SELECT l.name AS timeline, t.table_id, t.name, t.version, t.columns, t.durable, t.resident, t.strict, t.without_rowid, t.auto_increment,
    (SELECT count(*) FROM indexes i WHERE i.timeline_id = t.timeline_id AND i.table_id = t.table_id AND i.until_version IS NULL) AS indexes, t.sql
  FROM tables t JOIN timelines l ON l.timeline_id = t.timeline_id WHERE t.until_version IS NULL;

-- view dependency_closure on dependency_closure
CREATE VIEW dependency_closure(root_object_id, object_id, depth) AS
  WITH RECURSIVE c(root, object_id, depth) AS (
    SELECT object_id, object_id, 0 FROM objects
    UNION
    SELECT c.root, e.target_object_id, c.depth + 1 FROM c JOIN object_edges e ON e.source_object_id = c.object_id WHERE c.depth < 100000)
  SELECT root, object_id, min(depth) FROM c GROUP BY root, object_id;

-- view exclusion_watermarks on exclusion_watermarks
CREATE VIEW exclusion_watermarks(timeline, table_name, shard_id, generation) AS
  SELECT timeline, table_name, shard_id, min(COALESCE(caught_up_generation, 0)) FROM index_catchup GROUP BY timeline, table_id, shard_id;

-- view gc_candidates on gc_candidates
CREATE VIEW gc_candidates AS                -- in claimable order: dependents first
  SELECT o.object_id, o.kind, o.state, o.graph_seq, o.byte_extent, o.relative_path FROM objects o
  WHERE (o.state IN ('reserved','sealed') OR o.state = 'quarantined' AND o.reconciled_by IS NOT NULL)
    AND o.object_id NOT IN (SELECT object_id FROM reachable_objects)
    AND NOT EXISTS (SELECT 1 FROM generations g JOIN shards s ON s.shard_id = g.shard_id
      WHERE g.object_id = o.object_id AND (g.generation >= s.current_generation OR g.state = 'open'))
  ORDER BY o.graph_seq IS NULL DESC, o.graph_seq DESC;

-- view gc_intents on gc_intents
CREATE VIEW gc_intents AS
  SELECT g.object_id, g.deletion_generation, g.claim_state, g.outcome, g.error, o.state AS object_state, o.relative_path, o.incarnation
  FROM gc_work g JOIN objects o ON o.object_id = g.object_id;

-- view generation_files on generation_files
CREATE VIEW generation_files AS
  SELECT t.name AS timeline, s.shard_id, s.ordinal, g.generation, g.object_id, g.state, g.first_lsn, g.last_lsn, g.records,
         o.byte_extent, o.relative_path, g.generation = s.current_generation AS is_current, g.generation >= s.replay_from AS is_replayed
  FROM generations g JOIN shards s ON s.shard_id = g.shard_id JOIN timelines t ON t.timeline_id = s.timeline_id
    JOIN objects o ON o.object_id = g.object_id;

-- view index_catchup on index_catchup
CREATE VIEW index_catchup(timeline, index_name, table_name, index_id, table_id, shard_id, compacted_generation, caught_up_generation, lag) AS
  SELECT timeline, index_name, table_name, index_id, table_id, shard_id, compacted, caught_up, compacted - caught_up FROM (
    SELECT l.name AS timeline, i.index_name, i.table_name, i.index_id, i.table_id, c.shard_id, c.generation AS compacted,
      CASE WHEN s.reader_features & 128 THEN COALESCE((SELECT p.generation FROM index_state_catchup p
        WHERE p.index_state_id = s.index_state_id AND p.index_id = i.index_id AND p.shard_id = c.shard_id), 0) END AS caught_up
    FROM timelines l JOIN representations r ON r.representation_id = l.head_representation_id
      JOIN index_states s ON s.index_state_id = r.index_state_id
      JOIN index_state_compacted c ON c.index_state_id = s.index_state_id
      JOIN relied_indexes i ON i.timeline_id = l.timeline_id);

-- view index_segments on index_segments
CREATE VIEW index_segments AS
  SELECT l.name AS timeline, s.index_id, COALESCE(i.index_name, '') AS index_name, COALESCE(i.table_name, '') AS table_name, s.ordinal, s.object_id,
    o.relative_path AS path, o.byte_extent AS bytes, x.entries
  FROM timelines l JOIN representations r ON r.representation_id = l.head_representation_id
    JOIN index_state_segments s ON s.index_state_id = r.index_state_id JOIN segments x ON x.object_id = s.object_id
    JOIN objects o ON o.object_id = s.object_id LEFT JOIN relied_indexes i ON i.timeline_id = l.timeline_id AND i.index_id = s.index_id
  ORDER BY l.name, s.index_id, s.ordinal;

-- view job_progress on job_progress
CREATE VIEW job_progress AS
  SELECT job_id, kind, target, state, attempt_generation, work_consumed, work_reserved, started_at, ended_at, error FROM jobs;

-- view live_object_closure on live_object_closure
CREATE VIEW live_object_closure(owner_id, object_id, depth) AS
  WITH RECURSIVE c(owner_id, object_id, depth) AS (
    SELECT owner_id, object_id, 0 FROM live_object_roots
    UNION
    SELECT c.owner_id, e.target_object_id, c.depth + 1 FROM c JOIN object_edges e ON e.source_object_id = c.object_id WHERE c.depth < 100000)
  SELECT owner_id, object_id, min(depth) FROM c GROUP BY owner_id, object_id;

-- view live_object_roots on live_object_roots
CREATE VIEW live_object_roots(owner_id, object_id) AS
  SELECT o.owner_id, x.object_id FROM owners o JOIN owner_objects x ON x.owner_id = o.owner_id WHERE o.state <> 'released'
  UNION
  SELECT o.owner_id, b.object_id FROM owners o JOIN owner_blobs x ON x.owner_id = o.owner_id JOIN blob_objects b ON b.blob_id = x.blob_id
   WHERE o.state <> 'released'
  UNION
  SELECT o.owner_id, b.object_id FROM owners o JOIN owner_representations x ON x.owner_id = o.owner_id
    JOIN representation_entries e ON e.representation_id = x.representation_id JOIN blob_objects b ON b.blob_id = e.blob_id WHERE o.state <> 'released'
  UNION
  SELECT o.owner_id, s.object_id FROM owners o JOIN owner_representations x ON x.owner_id = o.owner_id
    JOIN representations r ON r.representation_id = x.representation_id JOIN index_state_segments s ON s.index_state_id = r.index_state_id WHERE o.state <> 'released';

-- view manifest on manifest
CREATE VIEW manifest AS
  SELECT e.representation_id, e.position, e.logical_factor_id, e.contribution_role, lower(hex(e.contribution)) AS contribution,
         b.layout, b.blob_id, b.native_object_id, b.index_object_id, b.main_target_blob_id,
         b.native_count, b.main_borrowed_count, b.secondary_borrowed_count, b.augmented_count
  FROM representation_entries e JOIN blob_versions b ON b.blob_id = e.blob_id;

-- view manifest_audit on manifest_audit
CREATE VIEW manifest_audit(representation_id, chunk_id, problem) AS   -- empty when sound
  SELECT r.representation_id, NULL, printf('declares %d entries, has %d', r.entry_count, COALESCE(sum(c.entries), 0))
    FROM representations r LEFT JOIN representation_chunks c ON c.representation_id = r.representation_id
    GROUP BY r.representation_id HAVING r.entry_count <> COALESCE(sum(c.entries), 0)
  UNION ALL
  SELECT c.representation_id, c.chunk_id, 'a chunk reference is out of order' FROM (
    SELECT *, row_number() OVER w - 1 AS place, sum(entries) OVER w - entries AS before FROM representation_chunks
    WINDOW w AS (PARTITION BY representation_id ORDER BY ordinal)) c WHERE c.ordinal <> c.place OR c.first_position <> c.before
  UNION ALL
  SELECT c.representation_id, c.chunk_id, printf('takes %d entries of a chunk of %d', c.entries, COALESCE(e.n, 0))
    FROM representation_chunks c LEFT JOIN (SELECT chunk_id, count(*) AS n FROM manifest_entries GROUP BY chunk_id) e ON e.chunk_id = c.chunk_id
    WHERE c.entries > COALESCE(e.n, 0)
  UNION ALL
  SELECT NULL, chunk_id, printf('has %d entries up to position %d', count(*), max(position)) FROM manifest_entries
    GROUP BY chunk_id HAVING count(*) <> max(position) + 1
  UNION ALL
  SELECT representation_id, NULL, printf('has factor %d %d times', logical_factor_id, count(*)) FROM representation_entries
    GROUP BY representation_id, logical_factor_id HAVING count(*) > 1
  UNION ALL
  SELECT representation_id, NULL, printf('has %d base entries up to position %d', count(*), max(position)) FROM representation_entries
    WHERE contribution_role = 'base' GROUP BY representation_id HAVING count(*) <> max(position) + 1
  UNION ALL
  SELECT representation_id, NULL, printf('has %d base and merged entries up to position %d', count(*), max(position)) FROM representation_entries
    WHERE contribution_role IN ('base','merged') GROUP BY representation_id HAVING count(*) <> max(position) + 1
  UNION ALL
  SELECT representation_id, NULL, printf('has base objects of LSN %d and %d, in this order, and must say what is live of an older one', before, lsn) FROM (
    SELECT c.representation_id, f.lsn, lag(f.lsn) OVER (PARTITION BY c.representation_id ORDER BY c.first_position + e.position) AS before,
      EXISTS (SELECT 1 FROM entry_fragments x WHERE x.chunk_id = e.chunk_id AND x.position = e.position) AS known
    FROM representation_chunks c JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries
      JOIN blob_versions b ON b.blob_id = e.blob_id JOIN fragments f ON f.object_id = b.native_object_id AND f.ordinal = 0
    WHERE e.contribution_role = 'base') WHERE lsn > before OR lsn < before AND NOT known
  UNION ALL
  SELECT e.representation_id, NULL, printf('begins with base object %d, which does not begin with the schema', b.native_object_id)
    FROM representation_entries e JOIN blob_versions b ON b.blob_id = e.blob_id JOIN fragments f ON f.object_id = b.native_object_id AND f.ordinal = 0
    WHERE e.contribution_role = 'base' AND e.position = 0 AND f.table_id <> 0
  UNION ALL
  SELECT e.representation_id, NULL, printf('has base object %d, which has no fragment', b.native_object_id)
    FROM representation_entries e JOIN blob_versions b ON b.blob_id = e.blob_id
    WHERE e.contribution_role = 'base' AND NOT EXISTS (SELECT 1 FROM fragments f WHERE f.object_id = b.native_object_id)
  UNION ALL
  SELECT NULL, e.chunk_id, printf('knows what is live of %d fragments of object %d, which has %d', x.n, b.native_object_id,
      (SELECT count(*) FROM fragments f WHERE f.object_id = b.native_object_id))
    FROM (SELECT chunk_id, position, count(*) AS n FROM entry_fragments GROUP BY chunk_id, position) x
      JOIN manifest_entries e ON e.chunk_id = x.chunk_id AND e.position = x.position JOIN blob_versions b ON b.blob_id = e.blob_id
    WHERE x.n <> (SELECT count(*) FROM fragments f WHERE f.object_id = b.native_object_id);

-- view object_states on object_states
CREATE VIEW object_states AS
  SELECT state, kind, count(*) AS objects, sum(byte_extent) AS recorded_bytes FROM objects GROUP BY state, kind;

-- view owner_pins on owner_pins
CREATE VIEW owner_pins AS
  SELECT o.owner_id, o.kind, o.state, COALESCE(t.name, b.timeline) AS timeline, b.name AS branch_point, o.session_id, s.state AS session_state,
    (SELECT count(*) FROM owner_representations x WHERE x.owner_id = o.owner_id) AS representations,
    (SELECT count(*) FROM owner_blobs x WHERE x.owner_id = o.owner_id) AS blobs,
    (SELECT count(*) FROM owner_objects x WHERE x.owner_id = o.owner_id) AS objects
  FROM owners o LEFT JOIN timelines t ON t.owner_id = o.owner_id LEFT JOIN branch_points b ON b.owner_id = o.owner_id
    LEFT JOIN sessions s ON s.session_id = o.session_id;

-- view reachable_objects on reachable_objects
CREATE VIEW reachable_objects(object_id) AS
  WITH RECURSIVE r(object_id) AS (
    SELECT object_id FROM live_object_roots
    UNION
    SELECT e.target_object_id FROM r JOIN object_edges e ON e.source_object_id = r.object_id)
  SELECT object_id FROM r;

-- view reader_pins on reader_pins
CREATE VIEW reader_pins AS
  SELECT o.owner_id, o.session_id, s.state AS session_state, s.pid, s.pid_namespace, s.start_ticks, s.boot_id, s.started_at, s.observed_heartbeat,
         x.representation_id, w.lsn, (SELECT count(*) FROM owner_objects y WHERE y.owner_id = o.owner_id) AS objects
  FROM owners o JOIN sessions s ON s.session_id = o.session_id
    LEFT JOIN owner_representations x ON x.owner_id = o.owner_id LEFT JOIN representations r ON r.representation_id = x.representation_id
    LEFT JOIN worlds w ON w.world_id = r.world_id
  WHERE o.kind = 'reader' AND o.state <> 'released';

-- view relied_indexes on relied_indexes
CREATE VIEW relied_indexes(timeline_id, index_id, table_id, index_name, table_name) AS
  SELECT timeline_id, table_id, table_id, 'primary', name FROM tables WHERE until_version IS NULL AND durable = 1
  UNION ALL
  SELECT i.timeline_id, i.index_id, i.table_id, i.name, t.name FROM indexes i
    JOIN tables t ON t.timeline_id = i.timeline_id AND t.table_id = i.table_id AND t.until_version IS NULL AND t.durable = 1
  WHERE i.until_version IS NULL;

-- view representation_blockers on representation_blockers
CREATE VIEW representation_blockers AS
  SELECT c.representation_id, c.object_id, o.state, o.kind, o.relative_path
  FROM representation_closure c JOIN objects o ON o.object_id = c.object_id WHERE o.state <> 'sealed';

-- view representation_closure on representation_closure
CREATE VIEW representation_closure(representation_id, object_id) AS
  WITH RECURSIVE c(representation_id, object_id) AS (
    SELECT e.representation_id, b.object_id FROM representation_entries e JOIN blob_objects b ON b.blob_id = e.blob_id
    UNION SELECT r.representation_id, s.object_id FROM representations r JOIN index_state_segments s ON s.index_state_id = r.index_state_id
    UNION SELECT c.representation_id, g.target_object_id FROM c JOIN object_edges g ON g.source_object_id = c.object_id)
  SELECT representation_id, object_id FROM c;

-- view representation_entries on representation_entries
CREATE VIEW representation_entries(representation_id, position, logical_factor_id, blob_id, contribution_role, contribution) AS
  SELECT c.representation_id, c.first_position + e.position, e.logical_factor_id, e.blob_id, e.contribution_role, e.contribution
  FROM representation_chunks c JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries;

-- view retirable_generations on retirable_generations
CREATE VIEW retirable_generations(timeline, shard_id, generation, object_id, retirable, why) AS
  SELECT timeline, shard_id, generation, object_id, why IS NULL,
    COALESCE(why, 'every index has caught up with it: the next publication of indexes leaves it out, unless rows of it are still being read')
  FROM (
    SELECT l.name AS timeline, g.shard_id, g.generation, g.object_id, CASE
      WHEN e.contribution_role <> 'merged' OR COALESCE(c.generation, 0) < g.generation
        THEN printf('it is not compacted: the base has generations of its shard up to %d', COALESCE(c.generation, 0))
      WHEN s.reader_features & 128 = 0 THEN 'how far indexes have caught up is not maintained in this timeline'
      ELSE (
        SELECT printf('index %s of table %s has caught up with generations up to %d only', i.index_name, i.table_name, COALESCE(p.generation, 0))
        FROM relied_indexes i LEFT JOIN index_state_catchup p ON p.index_state_id = s.index_state_id AND p.index_id = i.index_id AND p.shard_id = g.shard_id
        WHERE i.timeline_id = l.timeline_id AND COALESCE(p.generation, 0) < g.generation
          AND (g.tables_digest IS NULL OR EXISTS (SELECT 1 FROM generation_tables x WHERE x.object_id = g.object_id AND x.table_id = i.table_id))
        ORDER BY COALESCE(p.generation, 0), i.index_id LIMIT 1)
      END AS why
    FROM timelines l JOIN representations r ON r.representation_id = l.head_representation_id
      JOIN index_states s ON s.index_state_id = r.index_state_id
      JOIN representation_entries e ON e.representation_id = r.representation_id AND e.contribution_role <> 'base'
      JOIN blob_versions b ON b.blob_id = e.blob_id JOIN generations g ON g.object_id = b.native_object_id
      LEFT JOIN index_state_compacted c ON c.index_state_id = s.index_state_id AND c.shard_id = g.shard_id);

-- view shared_merges on shared_merges
CREATE VIEW shared_merges AS
  SELECT lower(hex(m.cache_key)) AS merge, CAST(m.recipe AS TEXT) AS recipe, m.schema_id, m.owner_id, o.ordinal,
    x.object_id, x.relative_path AS path, x.byte_extent AS bytes,
    (SELECT group_concat(name, ', ') FROM (SELECT t.name FROM completed_merge_waiting w JOIN timelines t ON t.timeline_id = w.timeline_id
      WHERE w.cache_key = m.cache_key ORDER BY t.name)) AS waiting
  FROM completed_merges m JOIN completed_merge_outputs o ON o.cache_key = m.cache_key
    JOIN blob_versions b ON b.blob_id = o.blob_id JOIN objects x ON x.object_id = b.native_object_id;

-- view store_settings on store_settings
CREATE VIEW store_settings AS
  SELECT 'shards' AS name, CAST(shards AS TEXT) AS value FROM catalog_info
  UNION ALL SELECT 'index_catchup', index_catchup FROM catalog_info
  UNION ALL SELECT 'generation_size', CAST(generation_size AS TEXT) FROM catalog_info
  UNION ALL SELECT 'created_at', created_at FROM catalog_info
  UNION ALL SELECT 'catalog_identity', lower(hex(catalog_identity)) FROM catalog_info;

-- view timeline_heads on timeline_heads
CREATE VIEW timeline_heads AS
  SELECT t.name, t.revision, t.head_world_id AS world_id, t.head_representation_id AS representation_id, r.index_state_id,
         w.lsn, w.live_count, lower(hex(w.composite_fingerprint)) AS fingerprint, r.entry_count, t.owner_id, t.created_at
  FROM timelines t JOIN worlds w ON w.world_id = t.head_world_id
    JOIN representations r ON r.representation_id = t.head_representation_id;

-- view unresolved_publications on unresolved_publications
CREATE VIEW unresolved_publications AS
  SELECT lower(hex(p.operation_id)) AS operation, t.name AS timeline, p.state, p.expected_revision, t.revision AS current_revision,
    p.expected_representation_id, p.candidate_representation_id, p.recovery_owner_id, o.created_at
  FROM publication_attempts p JOIN timelines t ON t.timeline_id = p.timeline_id JOIN operations o ON o.operation_id = p.operation_id
  WHERE p.state IN ('prepared','attempting','unknown');

