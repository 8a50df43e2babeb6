-- +goose Up
-- Inspection views for a person with a stock sqlite3 shell. Diagnostics only, never authority to unlink.

PRAGMA user_version = 5;

-- Direct roots of every owner that still retains. Manifests are empty so far: representations expand to nothing.
CREATE VIEW live_object_roots(owner_id, object_id) AS
  SELECT o.owner_id, x.object_id FROM owners o JOIN owner_objects x ON x.owner_id = o.owner_id WHERE o.state <> 'released';

-- Union over all owners: what must exist on disk.
CREATE VIEW reachable_objects(object_id) AS
  SELECT DISTINCT object_id FROM live_object_roots;

CREATE VIEW apparently_unowned_objects AS
  SELECT o.object_id, o.kind, o.state, o.incarnation, o.relative_path, o.byte_extent
  FROM objects o WHERE o.state IN ('reserved','sealed','quarantined')
   AND NOT EXISTS (SELECT 1 FROM reachable_objects r WHERE r.object_id = o.object_id);

CREATE VIEW timeline_heads AS
  SELECT t.name, t.revision, t.head_world_id AS world_id, t.head_representation_id AS representation_id, r.index_state_id,
         w.lsn, w.live_count, lower(hex(w.composite_fingerprint)) AS fingerprint, r.entry_count, t.owner_id, t.created_at
  FROM timelines t JOIN worlds w ON w.world_id = t.head_world_id
    JOIN representations r ON r.representation_id = t.head_representation_id;

CREATE VIEW owner_pins AS
  SELECT o.owner_id, o.kind, o.state, t.name AS timeline,
    (SELECT count(*) FROM owner_representations x WHERE x.owner_id = o.owner_id) AS representations,
    (SELECT count(*) FROM owner_objects x WHERE x.owner_id = o.owner_id) AS objects
  FROM owners o LEFT JOIN timelines t ON t.owner_id = o.owner_id;

CREATE VIEW object_states AS
  SELECT state, kind, count(*) AS objects, sum(byte_extent) AS recorded_bytes FROM objects GROUP BY state, kind;

CREATE VIEW generation_files AS
  SELECT t.name AS timeline, s.shard_id, s.ordinal, g.generation, g.object_id, g.state, g.first_lsn, g.last_lsn, g.records,
         o.byte_extent, o.relative_path, g.generation = s.current_generation AS is_current, g.generation >= s.replay_from AS is_replayed
  FROM generations g JOIN shards s ON s.shard_id = g.shard_id JOIN timelines t ON t.timeline_id = s.timeline_id
    JOIN objects o ON o.object_id = g.object_id;

CREATE VIEW current_tables AS
  SELECT l.name AS timeline, t.table_id, t.name, t.version, t.columns, t.durable, t.resident, t.strict, t.without_rowid, t.auto_increment,
    (SELECT count(*) FROM indexes i WHERE i.timeline_id = t.timeline_id AND i.table_id = t.table_id AND i.until_version IS NULL) AS indexes, t.sql
  FROM tables t JOIN timelines l ON l.timeline_id = t.timeline_id WHERE t.until_version IS NULL;

CREATE VIEW current_indexes AS
  SELECT l.name AS timeline, i.index_id, i.name, t.name AS table_name, i.version, i.is_unique, i.origin, i.columns, i.sql
  FROM indexes i JOIN timelines l ON l.timeline_id = i.timeline_id
    LEFT JOIN tables t ON t.timeline_id = i.timeline_id AND t.table_id = i.table_id AND t.until_version IS NULL
  WHERE i.until_version IS NULL;

CREATE VIEW store_settings AS
  SELECT 'shards' AS name, CAST(shards AS TEXT) AS value FROM catalog_info
  UNION ALL SELECT 'index_catchup', index_catchup FROM catalog_info
  UNION ALL SELECT 'generation_size', CAST(generation_size AS TEXT) FROM catalog_info
  UNION ALL SELECT 'created_at', created_at FROM catalog_info
  UNION ALL SELECT 'catalog_identity', lower(hex(catalog_identity)) FROM catalog_info;
