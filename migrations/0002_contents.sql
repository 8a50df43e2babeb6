-- +goose Up
-- Contents: schema contexts, objects and their seals, worlds, index states, representations.

PRAGMA user_version = 2;

CREATE TABLE schema_contexts (
  schema_id INTEGER NOT NULL PRIMARY KEY CHECK (schema_id BETWEEN 1 AND 4611686018427387903),
  schema_version INTEGER NOT NULL CHECK (schema_version BETWEEN 0 AND 4611686018427387903),  -- LSN of the DDL that made it, 0: empty store
  sort_version INTEGER NOT NULL CHECK (sort_version >= 1),
  codec_version INTEGER NOT NULL CHECK (codec_version >= 1),
  hash_version INTEGER NOT NULL CHECK (hash_version >= 1),
  category_version INTEGER NOT NULL CHECK (category_version >= 1),
  descriptor BLOB NOT NULL CHECK (length(descriptor) BETWEEN 1 AND 65536)
) STRICT;
CREATE INDEX schema_contexts_by_version ON schema_contexts(schema_version);

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
CREATE INDEX objects_by_state ON objects(state);
CREATE INDEX objects_by_attempt ON objects(attempt_id);
CREATE INDEX objects_by_content ON objects(content_id) WHERE content_id IS NOT NULL;

CREATE TABLE identity_tombstones (          -- identity history that outlives the objects row
  object_id INTEGER NOT NULL PRIMARY KEY CHECK (object_id BETWEEN 1 AND 4611686018427387903),
  relative_path TEXT NOT NULL UNIQUE CHECK (relative_path =
    'objects/' || substr(printf('%016x',object_id),15,2) || '/' || substr(printf('%016x',object_id),13,2) || '/' || printf('%016x',object_id) || '.' || kind),
  incarnation INTEGER NOT NULL UNIQUE CHECK (incarnation BETWEEN 1 AND 4611686018427387903),
  kind TEXT NOT NULL CHECK (kind IN ('kv','index'))
) STRICT;

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

CREATE TABLE worlds (
  world_id INTEGER NOT NULL PRIMARY KEY CHECK (world_id BETWEEN 1 AND 4611686018427387903),
  admitted_cut_id INTEGER NOT NULL CHECK (admitted_cut_id BETWEEN 1 AND 4611686018427387903),
  lsn INTEGER NOT NULL CHECK (lsn BETWEEN 0 AND 4611686018427387903),                          -- last commit of the cut, 0: none
  schema_id INTEGER NOT NULL REFERENCES schema_contexts(schema_id),
  live_count INTEGER NOT NULL CHECK (live_count BETWEEN 0 AND 4611686018427387903),
  composite_fingerprint BLOB NOT NULL CHECK (length(composite_fingerprint) BETWEEN 1 AND 64)   -- deliberately NOT unique
) STRICT;
CREATE INDEX worlds_by_cut ON worlds(admitted_cut_id);
CREATE INDEX worlds_by_schema ON worlds(schema_id);

CREATE TABLE index_states (                 -- immutable snapshot of all index bookkeeping
  index_state_id INTEGER NOT NULL PRIMARY KEY CHECK (index_state_id BETWEEN 1 AND 4611686018427387903),
  reader_features INTEGER NOT NULL CHECK (reader_features BETWEEN 0 AND 4611686018427387903),
  writer_features INTEGER NOT NULL CHECK (writer_features BETWEEN 0 AND 4611686018427387903),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  -- 128: index_catchup is maintained and a missing entry means "not caught up"; both words or none
  CHECK ((reader_features & 128) = (writer_features & 128))
) STRICT;

CREATE TABLE representations (
  representation_id INTEGER NOT NULL PRIMARY KEY CHECK (representation_id BETWEEN 1 AND 4611686018427387903),
  world_id INTEGER NOT NULL REFERENCES worlds(world_id),
  index_state_id INTEGER NOT NULL REFERENCES index_states(index_state_id),
  layout_version INTEGER NOT NULL CHECK (layout_version >= 1),
  entry_count INTEGER NOT NULL CHECK (entry_count BETWEEN 0 AND 1048576),                      -- freezes the manifest
  contribution_sum BLOB NOT NULL CHECK (length(contribution_sum) BETWEEN 1 AND 64),
  UNIQUE (representation_id, world_id)
) STRICT;
CREATE INDEX representations_by_world ON representations(world_id);
CREATE INDEX representations_by_index_state ON representations(index_state_id);

-- Insert-once rows. INSERT OR REPLACE deletes without DELETE triggers unless recursive_triggers is on,
-- hence a duplicate guard on every table. A NULL rowid arrives here as -1 and is refused as unreserved.

-- +goose StatementBegin
CREATE TRIGGER schema_contexts_no_update BEFORE UPDATE ON schema_contexts
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE schema_contexts: rows are inserted once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER schema_contexts_insert BEFORE INSERT ON schema_contexts BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE schema_contexts: identity already used') WHERE EXISTS (SELECT 1 FROM schema_contexts WHERE schema_id = NEW.schema_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR schema_contexts: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.schema_id >= 1 AND NEW.schema_id < (SELECT next_id FROM catalog_info), 0);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER schema_contexts_no_delete BEFORE DELETE ON schema_contexts WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE schema_contexts: delete needs a metadata-gc transaction'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER worlds_no_update BEFORE UPDATE ON worlds
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE worlds: rows are inserted once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER worlds_insert BEFORE INSERT ON worlds BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE worlds: identity already used') WHERE EXISTS (SELECT 1 FROM worlds WHERE world_id = NEW.world_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR worlds: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.world_id >= 1 AND NEW.world_id < (SELECT next_id FROM catalog_info), 0)
    OR NOT COALESCE(NEW.admitted_cut_id < (SELECT next_id FROM catalog_info), 0);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER worlds_no_delete BEFORE DELETE ON worlds WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE worlds: delete needs a metadata-gc transaction'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER index_states_no_update BEFORE UPDATE ON index_states
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_states: rows are inserted once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER index_states_insert BEFORE INSERT ON index_states BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE index_states: identity already used') WHERE EXISTS (SELECT 1 FROM index_states WHERE index_state_id = NEW.index_state_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR index_states: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.index_state_id >= 1 AND NEW.index_state_id < (SELECT next_id FROM catalog_info), 0);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER index_states_no_delete BEFORE DELETE ON index_states WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_states: delete needs a metadata-gc transaction'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER representations_no_update BEFORE UPDATE ON representations
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE representations: rows are inserted once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER representations_insert BEFORE INSERT ON representations BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE representations: identity already used') WHERE EXISTS (
    SELECT 1 FROM representations WHERE representation_id = NEW.representation_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR representations: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.representation_id >= 1 AND NEW.representation_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-LIMIT too many representation entries') WHERE
    NEW.entry_count > (SELECT max_representation_entries FROM catalog_info);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER representations_no_delete BEFORE DELETE ON representations WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE representations: delete needs a metadata-gc transaction'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER identity_tombstones_no_update BEFORE UPDATE ON identity_tombstones
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE identity_tombstones: rows are inserted once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER identity_tombstones_no_replace BEFORE INSERT ON identity_tombstones
  WHEN EXISTS (SELECT 1 FROM identity_tombstones WHERE object_id = NEW.object_id)
  BEGIN SELECT RAISE(ABORT,'CAT-DUPLICATE identity_tombstones: identity already used'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER identity_tombstones_no_delete BEFORE DELETE ON identity_tombstones
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE identity_tombstones: never deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER seal_receipts_no_update BEFORE UPDATE ON seal_receipts
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE seal_receipts: rows are inserted once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER seal_receipts_insert BEFORE INSERT ON seal_receipts BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE seal_receipts: identity already used') WHERE EXISTS (
    SELECT 1 FROM seal_receipts WHERE object_id = NEW.object_id AND backing_catalog = NEW.backing_catalog);
  -- a receipt of another catalog proves nothing here, so only this catalog's own are checked against the reservation
  SELECT RAISE(ABORT,'CAT-SEAL receipt does not match the reservation') WHERE
    NEW.backing_catalog IS (SELECT catalog_identity FROM catalog_info) AND NOT EXISTS (
      SELECT 1 FROM objects WHERE object_id = NEW.object_id AND attempt_id = NEW.attempt_id AND state IN ('reserved','quarantined'));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER seal_receipts_no_delete BEFORE DELETE ON seal_receipts WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE seal_receipts: delete needs a metadata-gc transaction'); END;
-- +goose StatementEnd

-- Objects: identity is committed before the file exists, sealing is one transition.

-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER objects_delete BEFORE DELETE ON objects BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE objects: only collected rows leave, in a metadata-gc transaction, with a tombstone') WHERE
    OLD.state <> 'collected' OR (SELECT active_operation FROM metadata_gc) IS NULL
    OR NOT EXISTS (SELECT 1 FROM identity_tombstones WHERE object_id = OLD.object_id AND relative_path = OLD.relative_path AND incarnation = OLD.incarnation);
END;
-- +goose StatementEnd
