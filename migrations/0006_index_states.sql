-- +goose Up
-- +goose StatementBegin
-- Indexes on disk: segments, what an index state is made of, generations that are retained until every index has
-- caught up, bases that keep files with deletion vectors. Conventions as in the first file.

PRAGMA user_version = 6;

-- ===== segments: what an index object was sealed as =====

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

CREATE TRIGGER segments_no_update BEFORE UPDATE ON segments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE segments: rows are inserted once'); END;
CREATE TRIGGER segments_insert BEFORE INSERT ON segments BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE segments: identity already used') WHERE EXISTS (SELECT 1 FROM segments WHERE object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-INDEX the object must be a sealed index') WHERE NOT EXISTS (
    SELECT 1 FROM objects WHERE object_id = NEW.object_id AND kind = 'index' AND state = 'sealed');
  SELECT RAISE(ABORT,'CAT-INDEX the object is the index of a blob') WHERE EXISTS (SELECT 1 FROM blob_versions WHERE index_object_id = NEW.object_id);
END;
CREATE TRIGGER segments_delete BEFORE DELETE ON segments WHEN (SELECT active_operation FROM metadata_gc) IS NULL
    OR COALESCE((SELECT state FROM objects WHERE object_id = OLD.object_id),'') <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE segments: only those of collected objects leave, in a metadata-gc transaction'); END;

-- ===== index states: segments, compacted generations, positions =====

-- Children are inserted in this order, before any representation has the state, and leave when none has it any more.
-- The digest of the state covers them, so none can be missing or added.
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
CREATE INDEX index_state_segments_by_object ON index_state_segments(object_id, index_state_id);

-- Shards are not referred to: a state may outlive the timeline that its shards were of.
CREATE TABLE index_state_compacted (
  index_state_id INTEGER NOT NULL REFERENCES index_states(index_state_id),
  shard_id INTEGER NOT NULL CHECK (shard_id BETWEEN 1 AND 4611686018427387903),
  generation INTEGER NOT NULL CHECK (generation BETWEEN 1 AND 4611686018427387903),
  PRIMARY KEY (index_state_id, shard_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE index_state_catchup (          -- a missing row says that the index has not caught up
  index_state_id INTEGER NOT NULL REFERENCES index_states(index_state_id),
  index_id INTEGER NOT NULL CHECK (index_id BETWEEN 1 AND 4611686018427387903),
  shard_id INTEGER NOT NULL CHECK (shard_id BETWEEN 1 AND 4611686018427387903),
  generation INTEGER NOT NULL CHECK (generation BETWEEN 1 AND 4611686018427387903),
  PRIMARY KEY (index_state_id, index_id, shard_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER index_state_segments_no_update BEFORE UPDATE ON index_state_segments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_segments: rows are inserted once'); END;
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
CREATE TRIGGER index_state_segments_delete BEFORE DELETE ON index_state_segments BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_segments: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-INDEX the index state of a representation is kept whole') WHERE EXISTS (SELECT 1 FROM representations WHERE index_state_id = OLD.index_state_id);
END;

CREATE TRIGGER index_state_compacted_no_update BEFORE UPDATE ON index_state_compacted
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_compacted: rows are inserted once'); END;
CREATE TRIGGER index_state_compacted_insert BEFORE INSERT ON index_state_compacted BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE index_state_compacted: identity already used') WHERE
    EXISTS (SELECT 1 FROM index_state_compacted WHERE index_state_id = NEW.index_state_id AND shard_id = NEW.shard_id);
  SELECT RAISE(ABORT,'CAT-INDEX an index state is complete once a representation has it') WHERE
    EXISTS (SELECT 1 FROM representations WHERE index_state_id = NEW.index_state_id);
END;
CREATE TRIGGER index_state_compacted_delete BEFORE DELETE ON index_state_compacted BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_compacted: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-INDEX the index state of a representation is kept whole') WHERE EXISTS (SELECT 1 FROM representations WHERE index_state_id = OLD.index_state_id);
END;

CREATE TRIGGER index_state_catchup_no_update BEFORE UPDATE ON index_state_catchup
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_catchup: rows are inserted once'); END;
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
CREATE TRIGGER index_state_catchup_delete BEFORE DELETE ON index_state_catchup BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE index_state_catchup: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-INDEX the index state of a representation is kept whole') WHERE EXISTS (SELECT 1 FROM representations WHERE index_state_id = OLD.index_state_id);
END;

-- ===== generations: the tables with records in them =====

-- Digest over the rows of generation_tables; the generation's own covers it. NULL: sealed before there was any, or
-- still open; nothing is known, so it may have records of every table.
ALTER TABLE generations ADD COLUMN tables_digest BLOB CHECK (tables_digest IS NULL OR (length(tables_digest) = 32 AND state <> 'open'));

CREATE TABLE generation_tables (
  object_id INTEGER NOT NULL REFERENCES objects(object_id),
  table_id INTEGER NOT NULL CHECK (table_id BETWEEN 1 AND 4611686018427387903),
  records INTEGER NOT NULL CHECK (records BETWEEN 1 AND 4611686018427387903),
  PRIMARY KEY (object_id, table_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER generations_tables BEFORE UPDATE ON generations WHEN NEW.tables_digest IS NOT OLD.tables_digest
    AND NOT (OLD.state = 'open' AND NEW.state = 'sealed')
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generations: the tables of a generation are fixed when it is sealed'); END;
CREATE TRIGGER generation_tables_no_update BEFORE UPDATE ON generation_tables
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generation_tables: rows are inserted once'); END;
CREATE TRIGGER generation_tables_insert BEFORE INSERT ON generation_tables BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE generation_tables: identity already used') WHERE
    EXISTS (SELECT 1 FROM generation_tables WHERE object_id = NEW.object_id AND table_id = NEW.table_id);
  SELECT RAISE(ABORT,'CAT-GENERATION the tables of a generation are fixed when it is sealed') WHERE NOT EXISTS (
    SELECT 1 FROM generations WHERE object_id = NEW.object_id AND state = 'open');
END;
CREATE TRIGGER generation_tables_delete BEFORE DELETE ON generation_tables WHEN (SELECT active_operation FROM metadata_gc) IS NULL
    OR COALESCE((SELECT state FROM objects WHERE object_id = OLD.object_id),'') <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE generation_tables: only those of collected objects leave, in a metadata-gc transaction'); END;

-- ===== base entries: what is live of each fragment =====

-- An entry has a row for each fragment of its object, or none, if it was made before there were any: then all rows
-- are live. The entry's digest covers them.
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

CREATE TRIGGER entry_fragments_no_update BEFORE UPDATE ON entry_fragments
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE entry_fragments: rows are inserted once'); END;
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
CREATE TRIGGER entry_fragments_delete BEFORE DELETE ON entry_fragments BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE entry_fragments: delete needs a metadata-gc transaction') WHERE (SELECT active_operation FROM metadata_gc) IS NULL;
  SELECT RAISE(ABORT,'CAT-MANIFEST a representation still has the entry') WHERE EXISTS (
    SELECT 1 FROM representation_chunks WHERE chunk_id = OLD.chunk_id AND entries > OLD.position);
END;

-- ===== roots: a representation reaches the segments of its index state =====

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
  SELECT RAISE(ABORT,'CAT-GC refused: a retained representation reads it as a segment') WHERE EXISTS (
    SELECT 1 FROM index_state_segments s CROSS JOIN representations r ON r.index_state_id = s.index_state_id
      CROSS JOIN owner_representations o ON o.representation_id = r.representation_id WHERE s.object_id = NEW.object_id);
  SELECT RAISE(ABORT,'CAT-GC refused: the log goes on in it') WHERE EXISTS (
    SELECT 1 FROM generations g JOIN shards s ON s.shard_id = g.shard_id
    WHERE g.object_id = NEW.object_id AND (g.generation >= s.current_generation OR g.state = 'open'));
END;

-- ===== inspection views =====

DROP VIEW live_object_roots;
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

DROP VIEW representation_closure;
CREATE VIEW representation_closure(representation_id, object_id) AS
  WITH RECURSIVE c(representation_id, object_id) AS (
    SELECT e.representation_id, b.object_id FROM representation_entries e JOIN blob_objects b ON b.blob_id = e.blob_id
    UNION SELECT r.representation_id, s.object_id FROM representations r JOIN index_state_segments s ON s.index_state_id = r.index_state_id
    UNION SELECT c.representation_id, g.target_object_id FROM c JOIN object_edges g ON g.source_object_id = c.object_id)
  SELECT representation_id, object_id FROM c;

DROP VIEW base_files;
CREATE VIEW base_files AS
  SELECT t.name AS timeline, e.position, o.object_id, o.relative_path AS path, o.byte_extent AS bytes, f.lsn, f.table_id, n.name AS table_name, f.rows,
    COALESCE((SELECT x.live_rows FROM representation_chunks c JOIN entry_fragments x ON x.chunk_id = c.chunk_id AND x.position = e.position - c.first_position AND x.ordinal = f.ordinal
      WHERE c.representation_id = e.representation_id AND e.position >= c.first_position AND e.position < c.first_position + c.entries), f.rows) AS live_rows, f.fragment_id
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

-- Indexes that queries may rely on: of every durable table its primary index, which has the table's id, and the others.
CREATE VIEW relied_indexes(timeline_id, index_id, table_id, index_name, table_name) AS
  SELECT timeline_id, table_id, table_id, 'primary', name FROM tables WHERE until_version IS NULL AND durable = 1
  UNION ALL
  SELECT i.timeline_id, i.index_id, i.table_id, i.name, t.name FROM indexes i
    JOIN tables t ON t.timeline_id = i.timeline_id AND t.table_id = i.table_id AND t.until_version IS NULL AND t.durable = 1
  WHERE i.until_version IS NULL;

-- Where positions are not maintained, nobody knows how far an index has caught up.
CREATE VIEW index_catchup(timeline, index_name, table_name, index_id, table_id, shard_id, compacted_generation, caught_up_generation, lag) AS
  SELECT timeline, index_name, table_name, index_id, table_id, shard_id, compacted, caught_up, compacted - caught_up FROM (
    SELECT l.name AS timeline, i.index_name, i.table_name, i.index_id, i.table_id, c.shard_id, c.generation AS compacted,
      CASE WHEN s.reader_features & 128 THEN COALESCE((SELECT p.generation FROM index_state_catchup p
        WHERE p.index_state_id = s.index_state_id AND p.index_id = i.index_id AND p.shard_id = c.shard_id), 0) END AS caught_up
    FROM timelines l JOIN representations r ON r.representation_id = l.head_representation_id
      JOIN index_states s ON s.index_state_id = r.index_state_id
      JOIN index_state_compacted c ON c.index_state_id = s.index_state_id
      JOIN relied_indexes i ON i.timeline_id = l.timeline_id);

-- Generations up to this one need not be read by a query of the table, whichever of its indexes it relies on.
CREATE VIEW exclusion_watermarks(timeline, table_name, shard_id, generation) AS
  SELECT timeline, table_name, shard_id, min(COALESCE(caught_up_generation, 0)) FROM index_catchup GROUP BY timeline, table_id, shard_id;

-- The generations of heads, and what keeps each of them there. Files that are being read are known to their process only.
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

CREATE VIEW index_segments AS
  SELECT l.name AS timeline, s.index_id, COALESCE(i.index_name, '') AS index_name, COALESCE(i.table_name, '') AS table_name, s.ordinal, s.object_id,
    o.relative_path AS path, o.byte_extent AS bytes, x.entries
  FROM timelines l JOIN representations r ON r.representation_id = l.head_representation_id
    JOIN index_state_segments s ON s.index_state_id = r.index_state_id JOIN segments x ON x.object_id = s.object_id
    JOIN objects o ON o.object_id = s.object_id LEFT JOIN relied_indexes i ON i.timeline_id = l.timeline_id AND i.index_id = s.index_id
  ORDER BY l.name, s.index_id, s.ordinal;
-- +goose StatementEnd
