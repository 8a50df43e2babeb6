-- +goose Up
-- +goose StatementBegin
-- Publication: the graph of objects, manifests that share what did not change, operations and
-- attempts, jobs. Conventions as in the first file.

PRAGMA user_version = 2;

-- A manifest is made of shared chunks, so its length costs a publication next to nothing.
UPDATE catalog_info SET max_representation_entries = 1048576;

-- ===== the exact graph: edges between objects, blobs =====

CREATE TABLE object_edges (
  source_object_id INTEGER NOT NULL REFERENCES objects(object_id),
  target_object_id INTEGER NOT NULL REFERENCES objects(object_id),
  role TEXT NOT NULL CHECK (role IN ('own_native','main_native','main_index','secondary_native','value','arrow')),
  PRIMARY KEY (source_object_id, target_object_id, role),
  CHECK (source_object_id <> target_object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_edges_reverse ON object_edges(target_object_id, source_object_id);

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
CREATE UNIQUE INDEX blob_one_per_index ON blob_versions(index_object_id) WHERE index_object_id IS NOT NULL;
CREATE UNIQUE INDEX blob_one_bare_native ON blob_versions(native_object_id) WHERE index_object_id IS NULL;
CREATE INDEX blob_by_native ON blob_versions(native_object_id);
CREATE INDEX blob_by_target ON blob_versions(main_target_blob_id);
CREATE INDEX blob_by_secondary ON blob_versions(secondary_native_object_id);

CREATE TABLE owner_blobs (
  owner_id INTEGER NOT NULL REFERENCES owners(owner_id),
  blob_id INTEGER NOT NULL REFERENCES blob_versions(blob_id),
  PRIMARY KEY (owner_id, blob_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX owner_blobs_reverse ON owner_blobs(blob_id);

CREATE TRIGGER object_edges_no_update BEFORE UPDATE ON object_edges
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE object_edges: rows are inserted once'); END;
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
CREATE TRIGGER object_edges_no_delete BEFORE DELETE ON object_edges WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE object_edges: delete needs a metadata-gc transaction'); END;

CREATE TRIGGER blob_versions_no_update BEFORE UPDATE ON blob_versions
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE blob_versions: rows are inserted once'); END;
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
CREATE TRIGGER blob_versions_no_delete BEFORE DELETE ON blob_versions WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE blob_versions: delete needs a metadata-gc transaction'); END;

-- ===== manifests: entries in chunks, which representations share =====

-- A representation's manifest is a list of chunk references, each standing for the first entries of a chunk.
-- A chunk only grows at its end, so a representation that appends to its predecessor refers to the same chunks,
-- and a publication inserts its new entries and the references, whatever the manifest's length.

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
CREATE INDEX manifest_entries_by_blob ON manifest_entries(blob_id);
CREATE INDEX manifest_entries_by_factor ON manifest_entries(logical_factor_id);

CREATE TABLE representation_chunks (
  representation_id INTEGER NOT NULL REFERENCES representations(representation_id),
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 1048575),
  chunk_id INTEGER NOT NULL CHECK (chunk_id BETWEEN 1 AND 4611686018427387903),
  entries INTEGER NOT NULL CHECK (entries BETWEEN 1 AND 256),
  first_position INTEGER NOT NULL CHECK (first_position BETWEEN 0 AND 1048575),  -- sum of the entries of the references before it
  PRIMARY KEY (representation_id, ordinal),
  UNIQUE (representation_id, chunk_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX representation_chunks_by_chunk ON representation_chunks(chunk_id, entries);

CREATE TRIGGER manifest_entries_no_update BEFORE UPDATE ON manifest_entries
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE manifest_entries: rows are inserted once'); END;
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
END;
CREATE TRIGGER manifest_entries_delete BEFORE DELETE ON manifest_entries BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE manifest_entries: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-MANIFEST a representation still has the entry') WHERE EXISTS (
    SELECT 1 FROM representation_chunks WHERE chunk_id = OLD.chunk_id AND entries > OLD.position);
END;

CREATE TRIGGER representation_chunks_no_update BEFORE UPDATE ON representation_chunks
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE representation_chunks: rows are inserted once'); END;
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
CREATE TRIGGER representation_chunks_delete BEFORE DELETE ON representation_chunks BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE representation_chunks: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-MANIFEST the manifest of a retained representation is kept whole') WHERE EXISTS (
    SELECT 1 FROM owner_representations WHERE representation_id = OLD.representation_id);
END;

-- ===== operations, attempts to publish, jobs =====

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
CREATE UNIQUE INDEX one_open_attempt_per_timeline ON publication_attempts(timeline_id) WHERE state IN ('attempting','unknown');
CREATE INDEX publication_attempts_open ON publication_attempts(recovery_owner_id) WHERE state <> 'retired';
CREATE INDEX publication_attempts_expected ON publication_attempts(expected_representation_id) WHERE state <> 'retired';

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
CREATE INDEX jobs_by_state ON jobs(state);

CREATE TRIGGER operations_insert BEFORE INSERT ON operations BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE operations: compare request bytes, then replay the outcome') WHERE EXISTS (
    SELECT 1 FROM operations WHERE operation_id = NEW.operation_id);
END;
CREATE TRIGGER operations_update BEFORE UPDATE ON operations BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE operations: request is fixed') WHERE NEW.operation_id<>OLD.operation_id OR NEW.kind<>OLD.kind OR NEW.request<>OLD.request
    OR NEW.request_digest<>OLD.request_digest OR NEW.expected_revision IS NOT OLD.expected_revision OR NEW.created_at<>OLD.created_at;
  SELECT RAISE(ABORT,'CAT-STATE operations: outcome is final') WHERE OLD.status <> 'prepared';
END;
CREATE TRIGGER operations_no_delete BEFORE DELETE ON operations WHEN (SELECT active_operation FROM metadata_gc) IS NULL
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE operations: delete needs a metadata-gc transaction'); END;

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
CREATE TRIGGER publication_attempts_no_delete BEFORE DELETE ON publication_attempts WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'retired'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE publication_attempts: only retired rows leave, in a metadata-gc transaction'); END;

CREATE TRIGGER jobs_insert BEFORE INSERT ON jobs BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE jobs: identity already used') WHERE EXISTS (SELECT 1 FROM jobs WHERE job_id = NEW.job_id OR owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR jobs: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.job_id >= 1 AND NEW.job_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-STATE jobs start ready') WHERE NEW.state <> 'ready' OR NEW.attempt_generation <> 1 OR NEW.work_consumed <> 0 OR NEW.revision <> 0;
  SELECT RAISE(ABORT,'CAT-OWNER a job needs an active owner') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'active') <> 'active';
END;
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
CREATE TRIGGER jobs_no_delete BEFORE DELETE ON jobs WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state NOT IN ('done','failed','cancelled')
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE jobs: only rows that are over leave, in a metadata-gc transaction'); END;

-- ===== roots: what now also retains, and what may let go =====

DROP TRIGGER owners_update;
CREATE TRIGGER owners_update BEFORE UPDATE ON owners BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE owners: identity is fixed') WHERE NEW.owner_id<>OLD.owner_id OR NEW.kind<>OLD.kind;
  SELECT RAISE(ABORT,'CAT-REVISION owners') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-STATE owners: transition refused') WHERE NEW.state <> OLD.state AND NOT (
    (OLD.state='active' AND NEW.state='retiring') OR (OLD.state='retiring' AND NEW.state='released'));
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE NEW.state <> OLD.state AND (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-SELECTED owner is still selected by a timeline') WHERE NEW.state = 'retiring' AND OLD.state = 'active' AND
    EXISTS (SELECT 1 FROM timelines WHERE owner_id = OLD.owner_id);
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE NEW.state = 'retiring' AND OLD.state = 'active' AND OLD.kind = 'recovery' AND EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
  SELECT RAISE(ABORT,'CAT-JOB owner of a job that is not over') WHERE NEW.state = 'retiring' AND OLD.state = 'active' AND OLD.kind = 'job' AND EXISTS (
    SELECT 1 FROM jobs WHERE owner_id = OLD.owner_id AND state NOT IN ('done','failed','cancelled'));
  SELECT RAISE(ABORT,'CAT-RETIRE owner still holds roots') WHERE NEW.state = 'released' AND OLD.state <> 'released' AND (
    EXISTS (SELECT 1 FROM owner_representations WHERE owner_id = OLD.owner_id)
    OR EXISTS (SELECT 1 FROM owner_blobs WHERE owner_id = OLD.owner_id)
    OR EXISTS (SELECT 1 FROM owner_objects WHERE owner_id = OLD.owner_id));
END;

DROP TRIGGER owner_representations_insert;
CREATE TRIGGER owner_representations_insert BEFORE INSERT ON owner_representations BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  -- references are dense, so the last one tells how many entries there are
  SELECT RAISE(ABORT,'CAT-MANIFEST representation is incomplete') WHERE
    (SELECT entry_count FROM representations WHERE representation_id = NEW.representation_id) <> COALESCE((
      SELECT first_position + entries FROM representation_chunks WHERE representation_id = NEW.representation_id ORDER BY ordinal DESC LIMIT 1), 0);
  -- Objects were sealed when their entries were inserted. Those that have left that state are few; a manifest is long:
  -- so start from them.
  SELECT RAISE(ABORT,'CAT-ACQUIRE an object of this representation is not acquirable') WHERE EXISTS (
    SELECT 1 FROM objects o CROSS JOIN blob_versions b ON (b.native_object_id = o.object_id OR b.index_object_id = o.object_id OR b.secondary_native_object_id = o.object_id)
      CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
      CROSS JOIN representation_chunks c ON c.representation_id = NEW.representation_id AND c.chunk_id = e.chunk_id AND c.entries > e.position
    WHERE o.state IN ('quarantined','gc_claimed','collected'));
END;

DROP TRIGGER owner_representations_delete;
CREATE TRIGGER owner_representations_delete BEFORE DELETE ON owner_representations BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
END;

CREATE TRIGGER owner_blobs_no_update BEFORE UPDATE ON owner_blobs
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_blobs: roots are added or removed, never edited'); END;
CREATE TRIGGER owner_blobs_insert BEFORE INSERT ON owner_blobs BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  SELECT RAISE(ABORT,'CAT-ACQUIRE an object of this blob is not acquirable') WHERE EXISTS (
    SELECT 1 FROM blob_versions b JOIN objects o ON o.object_id IN (b.native_object_id, b.index_object_id, b.secondary_native_object_id)
    WHERE b.blob_id = NEW.blob_id AND o.state <> 'sealed');
END;
CREATE TRIGGER owner_blobs_delete BEFORE DELETE ON owner_blobs BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
END;

-- Roots of a generation that recovery would replay may not be dropped: the head does not contain it yet.
DROP TRIGGER owner_objects_delete;
CREATE TRIGGER owner_objects_delete BEFORE DELETE ON owner_objects BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-RETIRE the timeline still replays this generation') WHERE EXISTS (
    SELECT 1 FROM generations g JOIN shards s ON s.shard_id = g.shard_id AND g.generation >= s.replay_from
      JOIN timelines t ON t.timeline_id = s.timeline_id
    WHERE g.object_id = OLD.object_id AND t.owner_id = OLD.owner_id);
  SELECT RAISE(ABORT,'CAT-RECOVERY publication outcome is not established') WHERE EXISTS (
    SELECT 1 FROM publication_attempts WHERE recovery_owner_id = OLD.owner_id AND state IN ('prepared','attempting','unknown'));
END;

-- Replay passes over a generation only when the head contains it. So the head moves first, then replay_from,
-- then the roots of the contained generations go, all in one transaction.
DROP TRIGGER shards_update;
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
      WHERE t.timeline_id = NEW.timeline_id));
END;

-- Generations are sealed in order, so the one before vouches for all before it; asking each of a long log took
-- as long as the log.
DROP TRIGGER generations_update;
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

DROP TRIGGER representations_no_delete;
CREATE TRIGGER representations_delete BEFORE DELETE ON representations BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE representations: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-RECOVERY an attempt that is not retired names the representation') WHERE
    EXISTS (SELECT 1 FROM publication_attempts WHERE candidate_representation_id = OLD.representation_id AND state <> 'retired')
    OR EXISTS (SELECT 1 FROM publication_attempts WHERE expected_representation_id = OLD.representation_id AND state <> 'retired');
END;

-- A claim is refused while anything still reaches the object. Claims are upward closed (every dependent is
-- claimed first), so these local tests together exclude every object reachable from a root.
DROP TRIGGER objects_claim;
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
END;

-- ===== inspection views =====

CREATE VIEW blob_objects(blob_id, object_id) AS
  SELECT blob_id, native_object_id FROM blob_versions
  UNION ALL SELECT blob_id, index_object_id FROM blob_versions WHERE index_object_id IS NOT NULL
  UNION ALL SELECT blob_id, secondary_native_object_id FROM blob_versions WHERE secondary_native_object_id IS NOT NULL;

CREATE VIEW representation_entries(representation_id, position, logical_factor_id, blob_id, contribution_role, contribution) AS
  SELECT c.representation_id, c.first_position + e.position, e.logical_factor_id, e.blob_id, e.contribution_role, e.contribution
  FROM representation_chunks c JOIN manifest_entries e ON e.chunk_id = c.chunk_id AND e.position < c.entries;

-- Direct roots of every owner that still retains, expanded to native, index and secondary objects.
DROP VIEW live_object_roots;
CREATE VIEW live_object_roots(owner_id, object_id) AS
  SELECT o.owner_id, x.object_id FROM owners o JOIN owner_objects x ON x.owner_id = o.owner_id WHERE o.state <> 'released'
  UNION
  SELECT o.owner_id, b.object_id FROM owners o JOIN owner_blobs x ON x.owner_id = o.owner_id JOIN blob_objects b ON b.blob_id = x.blob_id
   WHERE o.state <> 'released'
  UNION
  SELECT o.owner_id, b.object_id FROM owners o JOIN owner_representations x ON x.owner_id = o.owner_id
    JOIN representation_entries e ON e.representation_id = x.representation_id JOIN blob_objects b ON b.blob_id = e.blob_id WHERE o.state <> 'released';

-- Transitive closure of each owner over exact edges, with the shortest depth.
CREATE VIEW live_object_closure(owner_id, object_id, depth) AS
  WITH RECURSIVE c(owner_id, object_id, depth) AS (
    SELECT owner_id, object_id, 0 FROM live_object_roots
    UNION
    SELECT c.owner_id, e.target_object_id, c.depth + 1 FROM c JOIN object_edges e ON e.source_object_id = c.object_id WHERE c.depth < 100000)
  SELECT owner_id, object_id, min(depth) FROM c GROUP BY owner_id, object_id;

-- Union over all owners: what must exist on disk.
DROP VIEW reachable_objects;
CREATE VIEW reachable_objects(object_id) AS
  WITH RECURSIVE r(object_id) AS (
    SELECT object_id FROM live_object_roots
    UNION
    SELECT e.target_object_id FROM r JOIN object_edges e ON e.source_object_id = r.object_id)
  SELECT object_id FROM r;

DROP VIEW apparently_unowned_objects;
CREATE VIEW apparently_unowned_objects AS
  SELECT o.object_id, o.kind, o.state, o.incarnation, o.relative_path, o.byte_extent
  FROM objects o WHERE o.state IN ('reserved','sealed','quarantined') AND o.object_id NOT IN (SELECT object_id FROM reachable_objects);

-- Closure of every object over its edges. For one object in a large catalog, write the recursion with it as the seed.
CREATE VIEW dependency_closure(root_object_id, object_id, depth) AS
  WITH RECURSIVE c(root, object_id, depth) AS (
    SELECT object_id, object_id, 0 FROM objects
    UNION
    SELECT c.root, e.target_object_id, c.depth + 1 FROM c JOIN object_edges e ON e.source_object_id = c.object_id WHERE c.depth < 100000)
  SELECT root, object_id, min(depth) FROM c GROUP BY root, object_id;

CREATE VIEW representation_closure(representation_id, object_id) AS
  WITH RECURSIVE c(representation_id, object_id) AS (
    SELECT e.representation_id, b.object_id FROM representation_entries e JOIN blob_objects b ON b.blob_id = e.blob_id
    UNION SELECT c.representation_id, g.target_object_id FROM c JOIN object_edges g ON g.source_object_id = c.object_id)
  SELECT representation_id, object_id FROM c;

CREATE VIEW manifest AS
  SELECT e.representation_id, e.position, e.logical_factor_id, e.contribution_role, lower(hex(e.contribution)) AS contribution,
         b.layout, b.blob_id, b.native_object_id, b.index_object_id, b.main_target_blob_id,
         b.native_count, b.main_borrowed_count, b.secondary_borrowed_count, b.augmented_count
  FROM representation_entries e JOIN blob_versions b ON b.blob_id = e.blob_id;

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
    GROUP BY representation_id, logical_factor_id HAVING count(*) > 1;

DROP VIEW owner_pins;
CREATE VIEW owner_pins AS
  SELECT o.owner_id, o.kind, o.state, t.name AS timeline,
    (SELECT count(*) FROM owner_representations x WHERE x.owner_id = o.owner_id) AS representations,
    (SELECT count(*) FROM owner_blobs x WHERE x.owner_id = o.owner_id) AS blobs,
    (SELECT count(*) FROM owner_objects x WHERE x.owner_id = o.owner_id) AS objects
  FROM owners o LEFT JOIN timelines t ON t.owner_id = o.owner_id;

CREATE VIEW unresolved_publications AS
  SELECT lower(hex(p.operation_id)) AS operation, t.name AS timeline, p.state, p.expected_revision, t.revision AS current_revision,
    p.expected_representation_id, p.candidate_representation_id, p.recovery_owner_id, o.created_at
  FROM publication_attempts p JOIN timelines t ON t.timeline_id = p.timeline_id JOIN operations o ON o.operation_id = p.operation_id
  WHERE p.state IN ('prepared','attempting','unknown');

CREATE VIEW job_progress AS
  SELECT job_id, kind, target, state, attempt_generation, work_consumed, work_reserved, started_at, ended_at, error FROM jobs;
-- +goose StatementEnd
