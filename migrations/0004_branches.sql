-- +goose Up
-- +goose StatementBegin
-- Branch points, sessions with their pins, timelines that are forked, restored and dropped.
-- Conventions as in the first file.

PRAGMA user_version = 4;

-- ===== sessions: processes that may hold pins =====

-- A process is named by boot, pid namespace, pid and start time together; none of them alone is unique. The
-- heartbeat is for a person to read: no row changes its state because a heartbeat is old.
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
CREATE INDEX sessions_by_state ON sessions(state);

-- A reader's owner ends with its process; durable owners never do.
ALTER TABLE owners ADD COLUMN session_id INTEGER REFERENCES sessions(session_id)
  CHECK (kind <> 'reader' OR session_id IS NOT NULL) CHECK (kind IN ('reader','cache') OR session_id IS NULL);
CREATE INDEX owners_by_session ON owners(session_id) WHERE session_id IS NOT NULL;

CREATE TRIGGER sessions_insert BEFORE INSERT ON sessions BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE sessions: identity already used') WHERE EXISTS (SELECT 1 FROM sessions WHERE session_id = NEW.session_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR sessions: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.session_id >= 1 AND NEW.session_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SESSION a session starts live') WHERE NEW.state <> 'live' OR NEW.revision <> 0;
END;
CREATE TRIGGER sessions_update BEFORE UPDATE ON sessions BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE sessions: the process is fixed') WHERE NEW.session_id<>OLD.session_id OR NEW.boot_id<>OLD.boot_id
    OR NEW.pid<>OLD.pid OR NEW.pid_namespace<>OLD.pid_namespace OR NEW.start_ticks<>OLD.start_ticks OR NEW.started_at<>OLD.started_at;
  SELECT RAISE(ABORT,'CAT-REVISION sessions: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-SESSION closed and dead are final') WHERE OLD.state IN ('closed','dead');
  SELECT RAISE(ABORT,'CAT-SESSION a session that is closed has released its owners') WHERE NEW.state = 'closed' AND EXISTS (
    SELECT 1 FROM owners WHERE session_id = OLD.session_id AND state <> 'released');
END;
CREATE TRIGGER sessions_no_delete BEFORE DELETE ON sessions WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state IN ('live','uncertain')
  BEGIN SELECT RAISE(ABORT,'CAT-SESSION only closed and dead sessions leave, in a metadata-gc transaction'); END;

-- ===== branch points: a name for one exact representation =====

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
CREATE INDEX branch_points_by_representation ON branch_points(representation_id, world_id);
CREATE INDEX branch_points_by_timeline ON branch_points(timeline_id);

CREATE TRIGGER branch_points_insert BEFORE INSERT ON branch_points BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE branch_points: identity already used') WHERE EXISTS (
    SELECT 1 FROM branch_points WHERE branch_id = NEW.branch_id OR name = NEW.name OR owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR branch_points: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.branch_id >= 1 AND NEW.branch_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-OWNER a branch point needs an active owner') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'active') <> 'active';
END;
CREATE TRIGGER branch_points_no_update BEFORE UPDATE ON branch_points
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE branch_points: rows are inserted once'); END;

-- ===== lineage: whose files these are, too =====

-- Headers of files name the catalog that they were written under. A restored backup is a catalog of its own and
-- has the files of the one that it was made from.
CREATE TABLE store_lineage (
  catalog_identity BLOB NOT NULL PRIMARY KEY CHECK (length(catalog_identity) = 16),
  since TEXT NOT NULL CHECK (length(since) BETWEEN 20 AND 35)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER store_lineage_insert BEFORE INSERT ON store_lineage BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE store_lineage: identity already used') WHERE EXISTS (
    SELECT 1 FROM store_lineage WHERE catalog_identity = NEW.catalog_identity);
  SELECT RAISE(ABORT,'CAT-IDENTITY lineage names other catalogs') WHERE NEW.catalog_identity IS (SELECT catalog_identity FROM catalog_info);
END;
CREATE TRIGGER store_lineage_no_update BEFORE UPDATE ON store_lineage
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE store_lineage: rows are inserted once'); END;
CREATE TRIGGER store_lineage_no_delete BEFORE DELETE ON store_lineage
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY lineage is permanent'); END;

-- ===== owners: sessions and branch points =====

DROP TRIGGER owners_insert;
CREATE TRIGGER owners_insert BEFORE INSERT ON owners BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE owners: identity already used') WHERE EXISTS (SELECT 1 FROM owners WHERE owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR owners: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.owner_id >= 1 AND NEW.owner_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SESSION only a live session acquires') WHERE (NEW.kind = 'reader' OR NEW.session_id IS NOT NULL)
    AND COALESCE((SELECT state FROM sessions WHERE session_id = NEW.session_id),'') <> 'live';
  SELECT RAISE(ABORT,'CAT-STATE owners start active') WHERE NEW.state <> 'active' OR NEW.revision <> 0;
END;
DROP TRIGGER owners_update;
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

-- A reader roots the generations that it reads behind a head, as the timeline does.
DROP TRIGGER owner_objects_insert;
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

-- What is read by itself must be readable down to its last dependency. Claims are upward closed, so one of a
-- dependency shows in the manifest; a quarantine need not, so these few objects are followed upwards.
DROP TRIGGER owner_representations_insert;
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
  SELECT RAISE(ABORT,'CAT-ACQUIRE an object that this representation depends on is quarantined') WHERE
    (SELECT kind FROM owners WHERE owner_id = NEW.owner_id) IN ('reader','branch_point') AND EXISTS (
      WITH RECURSIVE up(object_id) AS (
        SELECT object_id FROM objects WHERE state = 'quarantined'
        UNION SELECT g.source_object_id FROM up CROSS JOIN object_edges g ON g.target_object_id = up.object_id)
      SELECT 1 FROM up CROSS JOIN blob_versions b ON (b.native_object_id = up.object_id OR b.index_object_id = up.object_id OR b.secondary_native_object_id = up.object_id)
        CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
        CROSS JOIN representation_chunks c ON c.representation_id = NEW.representation_id AND c.chunk_id = e.chunk_id AND c.entries > e.position);
END;

-- ===== timelines: restored and dropped =====

-- A restore is a world like that of a representation, admitted anew at an LSN of its own. The mark is as immutable
-- as the world, and whoever publishes on top of it makes another world.
ALTER TABLE worlds ADD COLUMN restored_from INTEGER CHECK (restored_from IS NULL OR restored_from BETWEEN 1 AND 4611686018427387903);

DROP TRIGGER timelines_update;
CREATE TRIGGER timelines_update BEFORE UPDATE ON timelines BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE timelines: identity is fixed') WHERE NEW.timeline_id<>OLD.timeline_id OR NEW.name<>OLD.name
    OR NEW.owner_id<>OLD.owner_id OR NEW.created_at<>OLD.created_at;
  SELECT RAISE(ABORT,'CAT-REVISION timelines: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
  SELECT RAISE(ABORT,'CAT-PUBLISH a restore is younger than every commit of its timeline') WHERE NEW.head_world_id <> OLD.head_world_id AND EXISTS (
    SELECT 1 FROM worlds w WHERE w.world_id = NEW.head_world_id AND w.restored_from IS NOT NULL AND (
      w.lsn <= (SELECT lsn FROM worlds WHERE world_id = OLD.head_world_id)
      OR EXISTS (SELECT 1 FROM shards s JOIN generations g ON g.shard_id = s.shard_id WHERE s.timeline_id = NEW.timeline_id AND g.last_lsn >= w.lsn)));
END;
CREATE TRIGGER timelines_delete BEFORE DELETE ON timelines BEGIN
  SELECT RAISE(ABORT,'CAT-IDENTITY the timeline main is permanent') WHERE OLD.name = 'main';
  SELECT RAISE(ABORT,'CAT-IMMUTABLE timelines: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
END;

-- Replay passes over a generation only when the head contains it, or when a restore undid it: the head's world is
-- one of a restore, whose LSN is greater than that of the generation's last commit. Commits behind the restore have
-- greater LSNs, so none of theirs can be passed over; an open generation may still get some and never is.
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
      WHERE t.timeline_id = NEW.timeline_id)
    AND NOT EXISTS (
      SELECT 1 FROM timelines t CROSS JOIN worlds w ON w.world_id = t.head_world_id
      WHERE t.timeline_id = NEW.timeline_id AND w.restored_from IS NOT NULL AND g.state <> 'open' AND g.last_lsn < w.lsn));
END;

-- A timeline that is dropped takes its generations along, whatever their files are: those are objects without a
-- root from then on. That it is being dropped shows in its head, which its owner roots no more: with it, the
-- transaction could not commit.
DROP TRIGGER generations_delete;
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

-- ===== inspection views =====

-- Objects for which a representation could not be acquired by a reader: empty before an acquisition.
CREATE VIEW representation_blockers AS
  SELECT c.representation_id, c.object_id, o.state, o.kind, o.relative_path
  FROM representation_closure c JOIN objects o ON o.object_id = c.object_id WHERE o.state <> 'sealed';

CREATE VIEW branch_point_worlds AS
  SELECT b.name, b.timeline, b.world_id, b.representation_id, w.lsn, w.live_count, lower(hex(w.composite_fingerprint)) AS fingerprint,
         r.entry_count, b.owner_id, b.created_at, EXISTS (SELECT 1 FROM timelines t WHERE t.timeline_id = b.timeline_id) AS timeline_exists
  FROM branch_points b JOIN worlds w ON w.world_id = b.world_id JOIN representations r ON r.representation_id = b.representation_id;

CREATE VIEW reader_pins AS
  SELECT o.owner_id, o.session_id, s.state AS session_state, s.pid, s.pid_namespace, s.start_ticks, s.boot_id, s.started_at, s.observed_heartbeat,
         x.representation_id, w.lsn, (SELECT count(*) FROM owner_objects y WHERE y.owner_id = o.owner_id) AS objects
  FROM owners o JOIN sessions s ON s.session_id = o.session_id
    LEFT JOIN owner_representations x ON x.owner_id = o.owner_id LEFT JOIN representations r ON r.representation_id = x.representation_id
    LEFT JOIN worlds w ON w.world_id = r.world_id
  WHERE o.kind = 'reader' AND o.state <> 'released';

DROP VIEW owner_pins;
CREATE VIEW owner_pins AS
  SELECT o.owner_id, o.kind, o.state, COALESCE(t.name, b.timeline) AS timeline, b.name AS branch_point, o.session_id, s.state AS session_state,
    (SELECT count(*) FROM owner_representations x WHERE x.owner_id = o.owner_id) AS representations,
    (SELECT count(*) FROM owner_blobs x WHERE x.owner_id = o.owner_id) AS blobs,
    (SELECT count(*) FROM owner_objects x WHERE x.owner_id = o.owner_id) AS objects
  FROM owners o LEFT JOIN timelines t ON t.owner_id = o.owner_id LEFT JOIN branch_points b ON b.owner_id = o.owner_id
    LEFT JOIN sessions s ON s.session_id = o.session_id;
-- +goose StatementEnd
