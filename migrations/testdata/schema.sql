-- index indexes_by_schema on indexes
CREATE INDEX indexes_by_schema ON indexes(schema_id);

-- index indexes_by_table on indexes
CREATE INDEX indexes_by_table ON indexes(timeline_id, table_id);

-- index indexes_current on indexes
CREATE UNIQUE INDEX indexes_current ON indexes(timeline_id, index_id) WHERE until_version IS NULL;

-- index indexes_current_name on indexes
CREATE UNIQUE INDEX indexes_current_name ON indexes(timeline_id, name COLLATE NOCASE) WHERE until_version IS NULL;

-- index objects_by_attempt on objects
CREATE INDEX objects_by_attempt ON objects(attempt_id);

-- index objects_by_content on objects
CREATE INDEX objects_by_content ON objects(content_id) WHERE content_id IS NOT NULL;

-- index objects_by_state on objects
CREATE INDEX objects_by_state ON objects(state);

-- index owner_objects_reverse on owner_objects
CREATE INDEX owner_objects_reverse ON owner_objects(object_id);

-- index owner_representations_reverse on owner_representations
CREATE INDEX owner_representations_reverse ON owner_representations(representation_id);

-- index owners_by_state on owners
CREATE INDEX owners_by_state ON owners(state, kind);

-- index representations_by_index_state on representations
CREATE INDEX representations_by_index_state ON representations(index_state_id);

-- index representations_by_world on representations
CREATE INDEX representations_by_world ON representations(world_id);

-- index schema_contexts_by_version on schema_contexts
CREATE INDEX schema_contexts_by_version ON schema_contexts(schema_version);

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
  digest BLOB NOT NULL CHECK (length(digest) = 32),
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

-- table metadata_gc on metadata_gc
CREATE TABLE metadata_gc (
  singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
  active_operation BLOB REFERENCES never_row(x) DEFERRABLE INITIALLY DEFERRED
    CHECK (active_operation IS NULL OR length(active_operation) BETWEEN 1 AND 64)
) STRICT;

-- table never_row on never_row
CREATE TABLE never_row (x BLOB NOT NULL PRIMARY KEY CHECK (0)) STRICT;

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
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  UNIQUE (owner_id, kind)
) STRICT;

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
) STRICT;

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

-- trigger generations_no_delete on generations
CREATE TRIGGER generations_no_delete BEFORE DELETE ON generations WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: only collected rows leave, in a metadata-gc transaction'); END;

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
  SELECT RAISE(ABORT,'CAT-GENERATION an older generation is still open') WHERE NEW.state = 'sealed' AND OLD.state = 'open' AND EXISTS (
    SELECT 1 FROM generations WHERE shard_id = NEW.shard_id AND generation < NEW.generation AND state = 'open');
  SELECT RAISE(ABORT,'CAT-GENERATION commits overlap an older generation') WHERE NEW.state = 'sealed' AND OLD.state = 'open' AND EXISTS (
    SELECT 1 FROM generations WHERE shard_id = NEW.shard_id AND generation < NEW.generation AND last_lsn >= NEW.first_lsn);
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

-- trigger metadata_gc_no_delete on metadata_gc
CREATE TRIGGER metadata_gc_no_delete BEFORE DELETE ON metadata_gc
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY metadata_gc is permanent'); END;

-- trigger objects_claim on objects
CREATE TRIGGER objects_claim BEFORE UPDATE ON objects WHEN NEW.state = 'gc_claimed' AND OLD.state <> 'gc_claimed' BEGIN
  SELECT RAISE(ABORT,'CAT-GC frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-GC refused: object has a direct owner') WHERE EXISTS (SELECT 1 FROM owner_objects WHERE object_id = NEW.object_id);
END;

-- trigger objects_collected on objects
CREATE TRIGGER objects_collected BEFORE UPDATE ON objects WHEN NEW.state = 'collected' AND OLD.state <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-GC collected needs a finished deletion outcome'); END;

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

-- trigger owner_objects_delete on owner_objects
CREATE TRIGGER owner_objects_delete BEFORE DELETE ON owner_objects BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RETIRE the timeline still replays this generation') WHERE EXISTS (
    SELECT 1 FROM timelines t JOIN shards s ON s.timeline_id = t.timeline_id
      JOIN generations g ON g.shard_id = s.shard_id AND g.generation >= s.replay_from
    WHERE t.owner_id = OLD.owner_id AND g.object_id = OLD.object_id);
END;

-- trigger owner_objects_insert on owner_objects
CREATE TRIGGER owner_objects_insert BEFORE INSERT ON owner_objects BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_objects: the purpose of a root is fixed') WHERE EXISTS (
    SELECT 1 FROM owner_objects WHERE owner_id = NEW.owner_id AND object_id = NEW.object_id AND purpose <> NEW.purpose);
  SELECT RAISE(ABORT,'CAT-OWNER only a timeline roots an active generation') WHERE NEW.purpose = 'active'
    AND COALESCE((SELECT kind FROM owners WHERE owner_id = NEW.owner_id),'') <> 'timeline';
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
END;

-- trigger owner_representations_insert on owner_representations
CREATE TRIGGER owner_representations_insert BEFORE INSERT ON owner_representations BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  -- representation_entries does not exist yet: only an empty manifest is complete
  SELECT RAISE(ABORT,'CAT-MANIFEST representation is incomplete') WHERE
    (SELECT entry_count FROM representations WHERE representation_id = NEW.representation_id) <> 0;
END;

-- trigger owner_representations_no_update on owner_representations
CREATE TRIGGER owner_representations_no_update BEFORE UPDATE ON owner_representations
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_representations: roots are added or removed, never edited'); END;

-- trigger owners_insert on owners
CREATE TRIGGER owners_insert BEFORE INSERT ON owners BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE owners: identity already used') WHERE EXISTS (SELECT 1 FROM owners WHERE owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR owners: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.owner_id >= 1 AND NEW.owner_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SESSION only a live session acquires') WHERE NEW.kind = 'reader';
  SELECT RAISE(ABORT,'CAT-STATE owners start active') WHERE NEW.state <> 'active' OR NEW.revision <> 0;
END;

-- trigger owners_no_delete on owners
CREATE TRIGGER owners_no_delete BEFORE DELETE ON owners WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'released'
  BEGIN SELECT RAISE(ABORT,'CAT-RETIRE only released owners leave, in a metadata-gc transaction'); END;

-- trigger owners_update on owners
CREATE TRIGGER owners_update BEFORE UPDATE ON owners BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE owners: identity is fixed') WHERE NEW.owner_id<>OLD.owner_id OR NEW.kind<>OLD.kind;
  SELECT RAISE(ABORT,'CAT-REVISION owners') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-STATE owners: transition refused') WHERE NEW.state <> OLD.state AND NOT (
    (OLD.state='active' AND NEW.state='retiring') OR (OLD.state='retiring' AND NEW.state='released'));
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE NEW.state <> OLD.state AND (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-SELECTED owner is still selected by a timeline') WHERE NEW.state = 'retiring' AND OLD.state = 'active' AND
    EXISTS (SELECT 1 FROM timelines WHERE owner_id = OLD.owner_id);
  SELECT RAISE(ABORT,'CAT-RETIRE owner still holds roots') WHERE NEW.state = 'released' AND OLD.state <> 'released' AND (
    EXISTS (SELECT 1 FROM owner_representations WHERE owner_id = OLD.owner_id)
    OR EXISTS (SELECT 1 FROM owner_objects WHERE owner_id = OLD.owner_id));
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

-- trigger representations_no_delete on representations
CREATE TRIGGER representations_no_delete BEFORE DELETE ON representations WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE representations: delete needs a metadata-gc transaction'); END;

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
END;

-- trigger storage_domain_no_delete on storage_domain
CREATE TRIGGER storage_domain_no_delete BEFORE DELETE ON storage_domain
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY storage_domain is permanent'); END;

-- trigger storage_domain_step on storage_domain
CREATE TRIGGER storage_domain_step BEFORE UPDATE ON storage_domain WHEN NEW.revision <> OLD.revision + 1
  BEGIN SELECT RAISE(ABORT,'CAT-REVISION storage_domain'); END;

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
END;

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
  FROM objects o WHERE o.state IN ('reserved','sealed','quarantined')
   AND NOT EXISTS (SELECT 1 FROM reachable_objects r WHERE r.object_id = o.object_id);

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

-- view generation_files on generation_files
CREATE VIEW generation_files AS
  SELECT t.name AS timeline, s.shard_id, s.ordinal, g.generation, g.object_id, g.state, g.first_lsn, g.last_lsn, g.records,
         o.byte_extent, o.relative_path, g.generation = s.current_generation AS is_current, g.generation >= s.replay_from AS is_replayed
  FROM generations g JOIN shards s ON s.shard_id = g.shard_id JOIN timelines t ON t.timeline_id = s.timeline_id
    JOIN objects o ON o.object_id = g.object_id;

-- view live_object_roots on live_object_roots
CREATE VIEW live_object_roots(owner_id, object_id) AS
  SELECT o.owner_id, x.object_id FROM owners o JOIN owner_objects x ON x.owner_id = o.owner_id WHERE o.state <> 'released';

-- view object_states on object_states
CREATE VIEW object_states AS
  SELECT state, kind, count(*) AS objects, sum(byte_extent) AS recorded_bytes FROM objects GROUP BY state, kind;

-- view owner_pins on owner_pins
CREATE VIEW owner_pins AS
  SELECT o.owner_id, o.kind, o.state, t.name AS timeline,
    (SELECT count(*) FROM owner_representations x WHERE x.owner_id = o.owner_id) AS representations,
    (SELECT count(*) FROM owner_objects x WHERE x.owner_id = o.owner_id) AS objects
  FROM owners o LEFT JOIN timelines t ON t.owner_id = o.owner_id;

-- view reachable_objects on reachable_objects
CREATE VIEW reachable_objects(object_id) AS
  SELECT DISTINCT object_id FROM live_object_roots;

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

