-- +goose Up
-- The log's files: shards and generations. The schema's projection: tables and indexes.

PRAGMA user_version = 4;

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
CREATE INDEX shards_by_parent ON shards(parent_shard_id) WHERE parent_shard_id IS NOT NULL;

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

-- tables and indexes are a projection of the log: what the log acknowledged must never be refused here, so
-- ids are not checked against the allocator and rows may be rewritten. until_version IS NULL: current.
CREATE TABLE tables (
  timeline_id INTEGER NOT NULL REFERENCES timelines(timeline_id),
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  version INTEGER NOT NULL CHECK (version BETWEEN 0 AND 4611686018427387903),             -- LSN of the DDL that made this definition
  until_version INTEGER CHECK (until_version IS NULL OR until_version BETWEEN 1 AND 4611686018427387903),
  schema_id INTEGER NOT NULL REFERENCES schema_contexts(schema_id),                       -- context that recorded the row
  name TEXT NOT NULL CHECK (length(name) >= 1),
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
CREATE UNIQUE INDEX tables_current ON tables(timeline_id, table_id) WHERE until_version IS NULL;
CREATE UNIQUE INDEX tables_current_name ON tables(timeline_id, name COLLATE NOCASE) WHERE until_version IS NULL;
CREATE INDEX tables_by_schema ON tables(schema_id);

CREATE TABLE indexes (
  timeline_id INTEGER NOT NULL REFERENCES timelines(timeline_id),
  index_id INTEGER NOT NULL CHECK (index_id BETWEEN 1 AND 4611686018427387903),
  version INTEGER NOT NULL CHECK (version BETWEEN 0 AND 4611686018427387903),
  until_version INTEGER CHECK (until_version IS NULL OR until_version BETWEEN 1 AND 4611686018427387903),
  schema_id INTEGER NOT NULL REFERENCES schema_contexts(schema_id),
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  name TEXT NOT NULL CHECK (length(name) >= 1),
  sql TEXT,                                                                               -- NULL: automatic index of a constraint
  origin TEXT NOT NULL CHECK (origin IN ('c','u','pk')),
  is_unique INTEGER NOT NULL CHECK (is_unique IN (0,1)),
  columns TEXT NOT NULL CHECK (length(columns) >= 1),                                     -- as written in a CREATE INDEX
  PRIMARY KEY (timeline_id, index_id, version),
  CHECK (until_version IS NULL OR until_version > version),
  CHECK ((origin = 'c') = (sql IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX indexes_current ON indexes(timeline_id, index_id) WHERE until_version IS NULL;
CREATE UNIQUE INDEX indexes_current_name ON indexes(timeline_id, name COLLATE NOCASE) WHERE until_version IS NULL;
CREATE INDEX indexes_by_table ON indexes(timeline_id, table_id);
CREATE INDEX indexes_by_schema ON indexes(schema_id);

-- +goose StatementBegin
CREATE TRIGGER shards_insert BEFORE INSERT ON shards BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE shards: identity already used') WHERE EXISTS (
    SELECT 1 FROM shards WHERE shard_id = NEW.shard_id OR (timeline_id = NEW.timeline_id AND ordinal = NEW.ordinal));
  SELECT RAISE(ABORT,'CAT-ALLOCATOR shards: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.shard_id >= 1 AND NEW.shard_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SHARD ordinal is outside the store''s shard count') WHERE NEW.ordinal >= (SELECT shards FROM catalog_info);
  SELECT RAISE(ABORT,'CAT-SHARD a shard starts with writer epoch 0 at revision 0') WHERE NEW.writer_epoch <> 0 OR NEW.revision <> 0;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER shards_update BEFORE UPDATE ON shards BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE shards: identity is fixed') WHERE NEW.shard_id<>OLD.shard_id OR NEW.timeline_id<>OLD.timeline_id
    OR NEW.ordinal<>OLD.ordinal OR NEW.parent_shard_id IS NOT OLD.parent_shard_id OR NEW.parent_generation IS NOT OLD.parent_generation;
  SELECT RAISE(ABORT,'CAT-REVISION shards: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-SHARD the writer epoch advances by one') WHERE NEW.writer_epoch NOT IN (OLD.writer_epoch, OLD.writer_epoch + 1);
  SELECT RAISE(ABORT,'CAT-SHARD generations only advance') WHERE NEW.current_generation < OLD.current_generation OR NEW.replay_from < OLD.replay_from;
  SELECT RAISE(ABORT,'CAT-SHARD the current generation is not reserved') WHERE NOT EXISTS (
    SELECT 1 FROM generations WHERE shard_id = NEW.shard_id AND generation = NEW.current_generation);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER shards_no_delete BEFORE DELETE ON shards WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE shards: delete needs a metadata-gc transaction'); END;
-- +goose StatementEnd

-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER generations_no_delete BEFORE DELETE ON generations WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: only collected rows leave, in a metadata-gc transaction'); END;
-- +goose StatementEnd

-- Roots of a generation that recovery would replay may not be dropped: the head does not contain it yet.
-- +goose StatementBegin
CREATE TRIGGER owner_objects_delete BEFORE DELETE ON owner_objects BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RETIRE the timeline still replays this generation') WHERE EXISTS (
    SELECT 1 FROM timelines t JOIN shards s ON s.timeline_id = t.timeline_id
      JOIN generations g ON g.shard_id = s.shard_id AND g.generation >= s.replay_from
    WHERE t.owner_id = OLD.owner_id AND g.object_id = OLD.object_id);
END;
-- +goose StatementEnd
