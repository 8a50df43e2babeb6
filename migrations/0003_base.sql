-- +goose Up
-- +goose StatementBegin
-- Compaction: base objects and their fragments, and the collection of what nothing roots any more.
-- Conventions as in the first file.

PRAGMA user_version = 3;

-- ===== fragments: the runs of one table's rows in a base object =====

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

CREATE TRIGGER fragments_no_update BEFORE UPDATE ON fragments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE fragments: rows are inserted once'); END;
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
CREATE TRIGGER fragments_delete BEFORE DELETE ON fragments WHEN (SELECT active_operation FROM metadata_gc) IS NULL
    OR COALESCE((SELECT state FROM objects WHERE object_id = OLD.object_id),'') <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE fragments: only those of collected objects leave, in a metadata-gc transaction'); END;

-- A base entry reads its rows through fragments; a generation has none.
DROP TRIGGER manifest_entries_insert;
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

-- ===== collection: deletion intents =====

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
CREATE UNIQUE INDEX gc_one_current_claim ON gc_work(object_id) WHERE claim_state <> 'done';
INSERT INTO gc_work(object_id, deletion_generation) SELECT object_id, 1 FROM objects WHERE state = 'gc_claimed';

CREATE TRIGGER gc_work_insert BEFORE INSERT ON gc_work BEGIN
  SELECT RAISE(ABORT,'CAT-GC intent needs a claimed object') WHERE COALESCE((SELECT state FROM objects WHERE object_id = NEW.object_id),'') <> 'gc_claimed';
  SELECT RAISE(ABORT,'CAT-GC one current claim per object') WHERE EXISTS (SELECT 1 FROM gc_work WHERE object_id = NEW.object_id AND claim_state <> 'done');
  SELECT RAISE(ABORT,'CAT-GC deletion generation must advance') WHERE NEW.deletion_generation <= COALESCE((SELECT max(deletion_generation) FROM gc_work WHERE object_id = NEW.object_id),0);
  SELECT RAISE(ABORT,'CAT-STATE gc_work starts claimed') WHERE NEW.claim_state <> 'claimed' OR NEW.revision <> 0;
END;
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
CREATE TRIGGER gc_work_no_delete BEFORE DELETE ON gc_work WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.claim_state <> 'done'
  BEGIN SELECT RAISE(ABORT,'CAT-GC deletion intents are preserved'); END;

-- The number of the next generation follows from the current one's row, which therefore stays, and so does one
-- that is to be written yet.
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
  SELECT RAISE(ABORT,'CAT-GC refused: the log goes on in it') WHERE EXISTS (
    SELECT 1 FROM generations g JOIN shards s ON s.shard_id = g.shard_id
    WHERE g.object_id = NEW.object_id AND (g.generation >= s.current_generation OR g.state = 'open'));
END;
DROP TRIGGER objects_collected;
CREATE TRIGGER objects_collected BEFORE UPDATE ON objects WHEN NEW.state = 'collected' AND OLD.state <> 'collected' BEGIN
  SELECT RAISE(ABORT,'CAT-GC collected needs a finished deletion outcome') WHERE NOT EXISTS (
    SELECT 1 FROM gc_work WHERE object_id = NEW.object_id AND claim_state = 'done');
END;

-- A shard's numbers are dense from wherever its rows begin, so they leave from the front.
DROP TRIGGER generations_no_delete;
CREATE TRIGGER generations_delete BEFORE DELETE ON generations BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: only collected rows leave, in a metadata-gc transaction') WHERE
    (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'collected';
  SELECT RAISE(ABORT,'CAT-GENERATION an older generation of the shard is still there') WHERE EXISTS (
    SELECT 1 FROM generations WHERE shard_id = OLD.shard_id AND generation < OLD.generation);
END;

-- ===== inspection views =====

CREATE VIEW base_files AS
  SELECT t.name AS timeline, e.position, o.object_id, o.relative_path AS path, o.byte_extent AS bytes, f.lsn, f.table_id, n.name AS table_name, f.rows
  FROM timelines t JOIN representation_entries e ON e.representation_id = t.head_representation_id AND e.contribution_role = 'base'
    JOIN blob_versions b ON b.blob_id = e.blob_id JOIN objects o ON o.object_id = b.native_object_id JOIN fragments f ON f.object_id = o.object_id
    LEFT JOIN tables n ON n.timeline_id = t.timeline_id AND n.table_id = f.table_id AND n.until_version IS NULL
  ORDER BY t.name, e.position, f.ordinal;

DROP VIEW manifest_audit;
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
  SELECT e.representation_id, NULL, printf('has base objects of LSN %d and %d', min(f.lsn), max(f.lsn))
    FROM representation_entries e JOIN blob_versions b ON b.blob_id = e.blob_id JOIN fragments f ON f.object_id = b.native_object_id
    WHERE e.contribution_role = 'base' GROUP BY e.representation_id HAVING min(f.lsn) <> max(f.lsn)
  UNION ALL
  SELECT e.representation_id, NULL, printf('has base object %d, which has no fragment', b.native_object_id)
    FROM representation_entries e JOIN blob_versions b ON b.blob_id = e.blob_id
    WHERE e.contribution_role = 'base' AND NOT EXISTS (SELECT 1 FROM fragments f WHERE f.object_id = b.native_object_id);

CREATE VIEW gc_candidates AS                -- in claimable order: dependents first
  SELECT o.object_id, o.kind, o.state, o.graph_seq, o.byte_extent, o.relative_path FROM objects o
  WHERE (o.state IN ('reserved','sealed') OR o.state = 'quarantined' AND o.reconciled_by IS NOT NULL)
    AND o.object_id NOT IN (SELECT object_id FROM reachable_objects)
    AND NOT EXISTS (SELECT 1 FROM generations g JOIN shards s ON s.shard_id = g.shard_id
      WHERE g.object_id = o.object_id AND (g.generation >= s.current_generation OR g.state = 'open'))
  ORDER BY o.graph_seq IS NULL DESC, o.graph_seq DESC;

CREATE VIEW gc_intents AS
  SELECT g.object_id, g.deletion_generation, g.claim_state, g.outcome, g.error, o.state AS object_state, o.relative_path, o.incarnation
  FROM gc_work g JOIN objects o ON o.object_id = g.object_id;

CREATE VIEW claim_closure_audit AS          -- claims are upward closed: empty when sound
  SELECT e.source_object_id, s.state AS source_state, e.target_object_id, t.state AS target_state
  FROM object_edges e JOIN objects s ON s.object_id = e.source_object_id JOIN objects t ON t.object_id = e.target_object_id
  WHERE t.state IN ('gc_claimed','collected') AND s.state NOT IN ('gc_claimed','collected');
-- +goose StatementEnd
