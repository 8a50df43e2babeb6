-- +goose Up
-- Owners and their roots, timelines. Only roots retain files; descriptive rows never do.

PRAGMA user_version = 3;

-- Reader and cache owners bind to a session. The column arrives together with the sessions table; until
-- then no session can be live, so a reader owner is refused (owners_insert).
CREATE TABLE owners (
  owner_id INTEGER NOT NULL PRIMARY KEY CHECK (owner_id BETWEEN 1 AND 4611686018427387903),
  kind TEXT NOT NULL CHECK (kind IN ('timeline','branch_point','reader','job','round','cache','recovery')),
  state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active','retiring','released')),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  UNIQUE (owner_id, kind)
) STRICT;
CREATE INDEX owners_by_state ON owners(state, kind);

CREATE TABLE owner_representations (
  owner_id INTEGER NOT NULL REFERENCES owners(owner_id),
  representation_id INTEGER NOT NULL REFERENCES representations(representation_id),
  PRIMARY KEY (owner_id, representation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX owner_representations_reverse ON owner_representations(representation_id);

CREATE TABLE owner_objects (
  owner_id INTEGER NOT NULL REFERENCES owners(owner_id),
  object_id INTEGER NOT NULL REFERENCES objects(object_id),
  -- active: a log generation of the owning timeline, from its reservation until a head contains it
  purpose TEXT NOT NULL CHECK (purpose IN ('output','sealed_range','quarantine','cache','candidate','active')),
  PRIMARY KEY (owner_id, object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX owner_objects_reverse ON owner_objects(object_id);

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
CREATE INDEX timelines_by_head ON timelines(head_representation_id, head_world_id);

-- +goose StatementBegin
CREATE TRIGGER owners_insert BEFORE INSERT ON owners BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE owners: identity already used') WHERE EXISTS (SELECT 1 FROM owners WHERE owner_id = NEW.owner_id);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR owners: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.owner_id >= 1 AND NEW.owner_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-SESSION only a live session acquires') WHERE NEW.kind = 'reader';
  SELECT RAISE(ABORT,'CAT-STATE owners start active') WHERE NEW.state <> 'active' OR NEW.revision <> 0;
END;
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER owners_no_delete BEFORE DELETE ON owners WHEN (SELECT active_operation FROM metadata_gc) IS NULL OR OLD.state <> 'released'
  BEGIN SELECT RAISE(ABORT,'CAT-RETIRE only released owners leave, in a metadata-gc transaction'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER owner_representations_no_update BEFORE UPDATE ON owner_representations
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_representations: roots are added or removed, never edited'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER owner_representations_insert BEFORE INSERT ON owner_representations BEGIN
  SELECT RAISE(ABORT,'CAT-OWNER owner is not active') WHERE COALESCE((SELECT state FROM owners WHERE owner_id = NEW.owner_id),'') <> 'active';
  -- representation_entries does not exist yet: only an empty manifest is complete
  SELECT RAISE(ABORT,'CAT-MANIFEST representation is incomplete') WHERE
    (SELECT entry_count FROM representations WHERE representation_id = NEW.representation_id) <> 0;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER owner_representations_delete BEFORE DELETE ON owner_representations BEGIN
  SELECT RAISE(ABORT,'CAT-RETIRE frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER owner_objects_no_update BEFORE UPDATE ON owner_objects
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE owner_objects: roots are added or removed, never edited'); END;
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd

-- A claim is refused while anything still reaches the object. Edges and blobs do not exist yet, so a direct
-- root and a generation that a timeline still replays (owner_objects_delete) are all that can.
-- +goose StatementBegin
CREATE TRIGGER objects_claim BEFORE UPDATE ON objects WHEN NEW.state = 'gc_claimed' AND OLD.state <> 'gc_claimed' BEGIN
  SELECT RAISE(ABORT,'CAT-GC frozen: storage domain is reconciling') WHERE (SELECT state FROM storage_domain) IS NOT 'normal';
  SELECT RAISE(ABORT,'CAT-GC refused: object has a direct owner') WHERE EXISTS (SELECT 1 FROM owner_objects WHERE object_id = NEW.object_id);
END;
-- +goose StatementEnd
-- Deletion intents do not exist yet, so no deletion can have a finished outcome.
-- +goose StatementBegin
CREATE TRIGGER objects_collected BEFORE UPDATE ON objects WHEN NEW.state = 'collected' AND OLD.state <> 'collected'
  BEGIN SELECT RAISE(ABORT,'CAT-GC collected needs a finished deletion outcome'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER timelines_insert BEFORE INSERT ON timelines BEGIN
  SELECT RAISE(ABORT,'CAT-DUPLICATE timelines: identity already used') WHERE EXISTS (SELECT 1 FROM timelines WHERE timeline_id = NEW.timeline_id OR name = NEW.name);
  SELECT RAISE(ABORT,'CAT-ALLOCATOR timelines: id was not reserved from the allocator') WHERE
    NOT COALESCE(NEW.timeline_id >= 1 AND NEW.timeline_id < (SELECT next_id FROM catalog_info), 0);
  SELECT RAISE(ABORT,'CAT-REVISION timelines start at revision 0') WHERE NEW.revision <> 0;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER timelines_update BEFORE UPDATE ON timelines BEGIN
  SELECT RAISE(ABORT,'CAT-IMMUTABLE timelines: identity is fixed') WHERE NEW.timeline_id<>OLD.timeline_id OR NEW.name<>OLD.name
    OR NEW.owner_id<>OLD.owner_id OR NEW.created_at<>OLD.created_at;
  SELECT RAISE(ABORT,'CAT-REVISION timelines: expected revision + 1') WHERE NEW.revision <> OLD.revision + 1;
END;
-- +goose StatementEnd
