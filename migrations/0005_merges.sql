-- +goose Up
-- +goose StatementBegin
-- Merge results that timelines share. Conventions as in the first file.

PRAGMA user_version = 5;

-- ===== completed merges: what was made of exact inputs, for those who still read these =====

-- A row says: these inputs in this order, merged by this recipe under this schema, are those outputs. Its owner
-- roots the outputs. It is there only while a timeline's head is still made of the inputs and another one's has the
-- outputs, so it keeps no file that would go otherwise. Equal fingerprints prove nothing and are not asked.
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
CREATE INDEX completed_merges_by_schema ON completed_merges(schema_id);

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
CREATE INDEX completed_merge_outputs_by_root ON completed_merge_outputs(owner_id, blob_id);

-- Timelines whose head is made of the inputs.
CREATE TABLE completed_merge_waiting (
  timeline_id INTEGER NOT NULL PRIMARY KEY REFERENCES timelines(timeline_id),
  cache_key BLOB NOT NULL REFERENCES completed_merges(cache_key)
) STRICT;
CREATE INDEX completed_merge_waiting_by_merge ON completed_merge_waiting(cache_key);

CREATE TRIGGER completed_merges_no_update BEFORE UPDATE ON completed_merges
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merges: rows are inserted once'); END;
CREATE TRIGGER completed_merges_insert BEFORE INSERT ON completed_merges BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE completed_merges: identity already used') WHERE
    EXISTS (SELECT 1 FROM completed_merges WHERE cache_key = NEW.cache_key OR owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-OWNER a merge needs an active owner') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'active') <> 'active';
END;

CREATE TRIGGER completed_merge_outputs_no_update BEFORE UPDATE ON completed_merge_outputs
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merge_outputs: rows are inserted once'); END;
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
CREATE TRIGGER completed_merge_outputs_delete BEFORE DELETE ON completed_merge_outputs
  WHEN EXISTS (SELECT 1 FROM completed_merges WHERE cache_key = OLD.cache_key)
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merge_outputs: an output leaves behind its merge'); END;

CREATE TRIGGER completed_merge_waiting_no_update BEFORE UPDATE ON completed_merge_waiting
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE completed_merge_waiting: rows are added or removed, never edited'); END;
CREATE TRIGGER completed_merge_waiting_insert BEFORE INSERT ON completed_merge_waiting
  WHEN EXISTS (SELECT 1 FROM completed_merge_waiting WHERE timeline_id = NEW.timeline_id)
  BEGIN SELECT RAISE(ABORT,'CAT-DUPLICATE completed_merge_waiting: the timeline waits for a merge already'); END;
CREATE TRIGGER timelines_waiting BEFORE UPDATE ON timelines WHEN NEW.head_representation_id <> OLD.head_representation_id
    AND EXISTS (SELECT 1 FROM completed_merge_waiting WHERE timeline_id = OLD.timeline_id)
  BEGIN SELECT RAISE(ABORT,'CAT-MERGE the timeline waits for a merge of the head that it is to leave'); END;

-- ===== inspection views =====

CREATE VIEW shared_merges AS
  SELECT lower(hex(m.cache_key)) AS merge, CAST(m.recipe AS TEXT) AS recipe, m.schema_id, m.owner_id, o.ordinal,
    x.object_id, x.relative_path AS path, x.byte_extent AS bytes,
    (SELECT group_concat(name, ', ') FROM (SELECT t.name FROM completed_merge_waiting w JOIN timelines t ON t.timeline_id = w.timeline_id
      WHERE w.cache_key = m.cache_key ORDER BY t.name)) AS waiting
  FROM completed_merges m JOIN completed_merge_outputs o ON o.cache_key = m.cache_key
    JOIN blob_versions b ON b.blob_id = o.blob_id JOIN objects x ON x.object_id = b.native_object_id;
-- +goose StatementEnd
