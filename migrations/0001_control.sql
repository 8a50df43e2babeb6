-- +goose Up
-- Catalog control: identity and policy, allocators, the storage domain, the metadata-GC gate.
--
-- Identities are INTEGER 1..2^62-1 from one allocator (catalog_info.next_id), never reused.
-- Digests and content ids are 32-byte BLOBs, the catalog identity and attempts 16-byte BLOBs.
-- Algebra elements are canonical BLOBs of 1..64 bytes; SQL never adds them.
-- Counters are INTEGER 0..2^62-1; the Go adapter refuses before conversion, the CHECK after.
-- Text of a refusal starts with a stable CAT- code, which the Go adapter turns into a typed error.

PRAGMA user_version = 1;

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

CREATE TABLE runtime_diagnostics (          -- append-only: which library really ran
  diag_id INTEGER PRIMARY KEY AUTOINCREMENT,
  opened_at TEXT NOT NULL CHECK (length(opened_at) BETWEEN 20 AND 35),
  sqlite_version TEXT NOT NULL CHECK (length(sqlite_version) >= 1),
  sqlite_source_id TEXT NOT NULL CHECK (length(sqlite_source_id) >= 1),
  host TEXT NOT NULL,
  note TEXT
) STRICT;

CREATE TABLE storage_domain (               -- 'reconciling' freezes retirement and GC
  domain_id INTEGER NOT NULL PRIMARY KEY CHECK (domain_id = 1),
  state TEXT NOT NULL DEFAULT 'normal' CHECK (state IN ('normal','reconciling')),
  reason TEXT,
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 4611686018427387903),
  CHECK ((state = 'reconciling') = (reason IS NOT NULL))
) STRICT;
INSERT INTO storage_domain(domain_id) VALUES (1);

-- Metadata GC gate. DELETE of descriptive rows is refused unless active_operation is set, and the
-- deferred FK to an always-empty table makes COMMIT fail while it is set: the gate cannot leak.
CREATE TABLE never_row (x BLOB NOT NULL PRIMARY KEY CHECK (0)) STRICT;
CREATE TABLE metadata_gc (
  singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
  active_operation BLOB REFERENCES never_row(x) DEFERRABLE INITIALLY DEFERRED
    CHECK (active_operation IS NULL OR length(active_operation) BETWEEN 1 AND 64)
) STRICT;
INSERT INTO metadata_gc VALUES (1, NULL);

-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER catalog_info_no_delete BEFORE DELETE ON catalog_info
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY catalog_info is permanent'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER catalog_info_no_replace BEFORE INSERT ON catalog_info WHEN EXISTS (SELECT 1 FROM catalog_info)
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY exactly one catalog identity'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER runtime_diagnostics_no_update BEFORE UPDATE ON runtime_diagnostics
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE runtime_diagnostics: rows are inserted once'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runtime_diagnostics_no_replace BEFORE INSERT ON runtime_diagnostics
  WHEN EXISTS (SELECT 1 FROM runtime_diagnostics WHERE diag_id = NEW.diag_id)
  BEGIN SELECT RAISE(ABORT,'CAT-DUPLICATE runtime_diagnostics: identity already used'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runtime_diagnostics_no_delete BEFORE DELETE ON runtime_diagnostics
  BEGIN SELECT RAISE(ABORT,'CAT-IMMUTABLE runtime_diagnostics: never deleted'); END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER storage_domain_step BEFORE UPDATE ON storage_domain WHEN NEW.revision <> OLD.revision + 1
  BEGIN SELECT RAISE(ABORT,'CAT-REVISION storage_domain'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER storage_domain_no_delete BEFORE DELETE ON storage_domain
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY storage_domain is permanent'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER metadata_gc_no_delete BEFORE DELETE ON metadata_gc
  BEGIN SELECT RAISE(ABORT,'CAT-IDENTITY metadata_gc is permanent'); END;
-- +goose StatementEnd
