package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// checkCase breaks one CHECK of a table with the guards out of the way.
type checkCase struct{ table, set string }

// beyond is the first number above 2^62-1.
const beyond = "4611686018427387904"

// TestChecks breaks every CHECK of the schema by an update of an existing row.
func TestChecks(t *testing.T) {
	f := newFixture(t)
	cases := []checkCase{
		{"catalog_info", "singleton = 2"},
		{"catalog_info", "catalog_identity = zeroblob(15)"},
		{"catalog_info", "created_version = 0"},
		{"catalog_info", "created_at = 'yesterday'"},
		{"catalog_info", "policy = x''"},
		{"catalog_info", "policy = zeroblob(4097)"},
		{"catalog_info", "policy_unit = 'nibble'"},
		{"catalog_info", "policy_group_size = 0"},
		{"catalog_info", "policy_block_size = 65536"},
		{"catalog_info", "policy_value_layout = ''"},
		{"catalog_info", "policy_interpretation = 0"},
		{"catalog_info", "algebra = ''"},
		{"catalog_info", "shards = 0"},
		{"catalog_info", "shards = 65"},
		{"catalog_info", "index_catchup = 'maybe'"},
		{"catalog_info", "generation_size = 0"},
		{"catalog_info", "next_id = " + beyond},
		{"catalog_info", "next_incarnation = " + beyond},
		{"catalog_info", "next_graph_seq = " + beyond},
		{"catalog_info", "next_accept_seq = 0"},
		{"catalog_info", "max_context_bytes = 0"},
		{"catalog_info", "max_representation_entries = 1048577"},
		{"catalog_info", "max_retire_edges_per_tx = 0"},

		{"runtime_diagnostics", "opened_at = ''"},
		{"runtime_diagnostics", "sqlite_version = ''"},
		{"runtime_diagnostics", "sqlite_source_id = ''"},
		{"storage_domain", "domain_id = 2"},
		{"storage_domain", "state = 'broken'"},
		{"storage_domain", "revision = " + beyond},
		{"storage_domain", "state = 'reconciling'"},
		{"storage_domain", "reason = 'none'"},
		{"metadata_gc", "singleton = 2"},
		{"metadata_gc", "active_operation = zeroblob(65)"},

		{"schema_contexts", "schema_id = 0"},
		{"schema_contexts", "schema_id = " + beyond + " + schema_id"},
		{"schema_contexts", "schema_version = -1"},
		{"schema_contexts", "sort_version = 0"},
		{"schema_contexts", "codec_version = 0"},
		{"schema_contexts", "hash_version = 0"},
		{"schema_contexts", "category_version = 0"},
		{"schema_contexts", "descriptor = x''"},
		{"schema_contexts", "descriptor = zeroblob(65537)"},

		{"objects", "object_id = -object_id"},
		{"objects", "kind = 'tmp'"},
		{"objects", "incarnation = -incarnation"},
		{"objects", "attempt_id = zeroblob(17)"},
		{"objects", "relative_path = '/etc/passwd' || object_id"},
		{"objects", "state = 'lost'"},
		{"objects", "lifecycle_revision = -1"},
		{"objects", "content_id = zeroblob(31)"},
		{"objects", "byte_extent = -1"},
		{"objects", "logical_extent = " + beyond},
		{"objects", "integrity_digest = zeroblob(31)"},
		{"objects", "native_fingerprint = x''"},
		{"objects", "native_fingerprint = zeroblob(65)"},
		{"objects", "graph_seq = 0"},
		{"objects", "reconciled_by = x''"},
		{"objects", "content_id = zeroblob(32), byte_extent = NULL"},
		{"objects", "content_id = zeroblob(32), byte_extent = 1, logical_extent = NULL"},
		{"objects", "content_id = zeroblob(32), byte_extent = 1, logical_extent = 1, integrity_digest = NULL"},
		{"objects", "content_id = NULL, byte_extent = NULL, logical_extent = NULL, integrity_digest = NULL, native_fingerprint = x'01'"},
		{"objects", "state = 'sealed', content_id = NULL, byte_extent = NULL, logical_extent = NULL, integrity_digest = NULL, native_fingerprint = NULL"},
		{"objects", "state = 'reserved', content_id = zeroblob(32), byte_extent = 1, logical_extent = 1, integrity_digest = zeroblob(32)"},
		{"objects", "state = 'reserved', content_id = NULL, byte_extent = NULL, logical_extent = NULL, integrity_digest = NULL, native_fingerprint = NULL, graph_seq = object_id"},

		{"identity_tombstones", "object_id = 0"},
		{"identity_tombstones", "relative_path = 'objects/00/00/x.kv'"},
		{"identity_tombstones", "incarnation = 0"},
		{"identity_tombstones", "kind = 'tmp'"},

		{"seal_receipts", "object_id = 0"},
		{"seal_receipts", "backing_catalog = zeroblob(32)"},
		{"seal_receipts", "attempt_id = x''"},
		{"seal_receipts", "barrier = 'none'"},
		{"seal_receipts", "directory_synced = 0"},
		{"seal_receipts", "byte_extent = -1"},
		{"seal_receipts", "integrity_digest = zeroblob(33)"},

		{"worlds", "world_id = 0"},
		{"worlds", "admitted_cut_id = 0"},
		{"worlds", "lsn = -1"},
		{"worlds", "live_count = " + beyond},
		{"worlds", "composite_fingerprint = x''"},
		{"index_states", "index_state_id = 0"},
		{"index_states", "reader_features = -1"},
		{"index_states", "writer_features = -1"},
		{"index_states", "digest = zeroblob(31)"},
		{"index_states", "reader_features = 0"},
		{"representations", "representation_id = 0"},
		{"representations", "layout_version = 0"},
		{"representations", "entry_count = 1048577"},
		{"representations", "contribution_sum = zeroblob(65)"},

		{"owners", "owner_id = 0"},
		{"owners", "kind = 'friend'"},
		{"owners", "state = 'lost'"},
		{"owners", "revision = -1"},
		{"owner_objects", "purpose = 'fun'"},
		{"timelines", "timeline_id = 0"},
		{"timelines", "name = ''"},
		{"timelines", "name = printf('%256d', 0)"},
		{"timelines", "owner_kind = 'job'"},
		{"timelines", "revision = -1"},
		{"timelines", "created_at = ''"},
		{"timelines", "digest = x''"},

		{"shards", "shard_id = -shard_id"},
		{"shards", "ordinal = ordinal + 64"},
		{"shards", "parent_shard_id = 1, parent_generation = 0"},
		{"shards", "writer_epoch = -1"},
		{"shards", "current_generation = 0"},
		{"shards", "replay_from = 0"},
		{"shards", "revision = -1"},
		{"shards", "digest = x''"},
		{"shards", "parent_generation = 1, replay_from = 2"},
		{"shards", "parent_shard_id = 1, parent_generation = 1, replay_from = 1"},
		{"shards", "parent_shard_id = shard_id, parent_generation = 1, replay_from = 2"},

		{"generations", "generation = -generation"},
		{"generations", "object_kind = 'index'"},
		{"generations", "state = 'lost'"},
		{"generations", "first_lsn = 0"},
		{"generations", "last_lsn = -1"},
		{"generations", "records = -1"},
		{"generations", "revision = -1"},
		{"generations", "digest = x''"},
		{"generations", "state = 'open', first_lsn = 1"},
		{"generations", "state = 'sealed', first_lsn = 1, last_lsn = NULL"},
		{"generations", "state = 'sealed', first_lsn = 1, last_lsn = 1, records = NULL"},
		{"generations", "state = 'sealed', first_lsn = 5, last_lsn = 3, records = 0"},

		{"tables", "table_id = 0"},
		{"tables", "version = -1"},
		{"tables", "until_version = 0"},
		{"tables", "columns = 32768"},
		{"tables", "durable = 2"},
		{"tables", "resident = 'none'"},
		{"tables", "strict = 2"},
		{"tables", "without_rowid = 2"},
		{"tables", "auto_increment = 2"},
		{"tables", "until_version = version"},
		{"indexes", "index_id = 0"},
		{"indexes", "version = -1"},
		{"indexes", "until_version = 0"},
		{"indexes", "table_id = 0"},
		{"indexes", "origin = 'x'"},
		{"indexes", "is_unique = 2"},
		{"indexes", "until_version = version"},
		{"indexes", "sql = NULL"},
		{"indexes", "origin = 'u'"},

		{"object_edges", "role = 'friend'"},
		{"object_edges", "target_object_id = source_object_id"},
		{"blob_versions", "blob_id = -blob_id"},
		{"blob_versions", "layout = 'IX04'"},
		{"blob_versions", "native_kind = 'index'"},
		{"blob_versions", "index_kind = 'kv'"},
		{"blob_versions", "secondary_kind = 'index'"},
		{"blob_versions", "native_count = -1"},
		{"blob_versions", "main_borrowed_count = -1"},
		{"blob_versions", "secondary_borrowed_count = -1"},
		{"blob_versions", "augmented_count = -1"},
		{"blob_versions", "registration_seq = 0"},
		{"blob_versions", "layout = 'IX03', index_object_id = NULL"},
		{"blob_versions", "layout = 'native', index_object_id = NULL, main_target_blob_id = 1"},
		{"blob_versions", "layout = 'IX02', index_object_id = blob_id, secondary_native_object_id = 1"},
		{"blob_versions", "main_borrowed_count = 1, augmented_count = augmented_count + 1"},
		{"blob_versions", "secondary_borrowed_count = 1, augmented_count = augmented_count + 1"},
		{"blob_versions", "augmented_count = augmented_count + 1"},
		{"blob_versions", "layout = 'IX02', index_object_id = blob_id, main_target_blob_id = blob_id"},
		{"manifest_entries", "chunk_id = 0"},
		{"manifest_entries", "position = 256"},
		{"manifest_entries", "logical_factor_id = 0"},
		{"manifest_entries", "contribution_role = 'guess'"},
		{"manifest_entries", "contribution = x''"},
		{"manifest_entries", "digest = x''"},
		{"representation_chunks", "ordinal = -1"},
		{"representation_chunks", "chunk_id = 0"},
		{"representation_chunks", "entries = 0"},
		{"representation_chunks", "entries = 257"},
		{"representation_chunks", "first_position = 1048576"},
		{"operations", "operation_id = x''"},
		{"operations", "kind = ''"},
		{"operations", "request_digest = zeroblob(31)"},
		{"operations", "expected_revision = -1"},
		{"operations", "status = 'lost'"},
		{"operations", "created_at = ''"},
		{"operations", "committed_at = ''"},
		{"operations", "outcome = x'01'"},
		{"operations", "status = 'conflict'"},
		{"operations", "status = 'committed', outcome = x'01'"},
		{"publication_attempts", "expected_representation_id = 0"},
		{"publication_attempts", "expected_revision = -1"},
		{"publication_attempts", "candidate_representation_id = 0"},
		{"publication_attempts", "recovery_kind = 'job'"},
		{"publication_attempts", "state = 'lost'"},
		{"publication_attempts", "revision = -1"},
		{"jobs", "job_id = 0"},
		{"jobs", "kind = 'party'"},
		{"jobs", "recipe_version = 0"},
		{"jobs", "recipe = x''"},
		{"jobs", "owner_kind = 'recovery'"},
		{"jobs", "state = 'lost'"},
		{"jobs", "attempt_generation = 0"},
		{"jobs", "work_reserved = -1"},
		{"jobs", "work_consumed = -1"},
		{"jobs", "work_consumed = work_reserved + 1"},
		{"jobs", "started_at = ''"},
		{"jobs", "ended_at = ''"},
		{"jobs", "started_at = NULL"},
		{"jobs", "state = 'done'"},
		{"jobs", "ended_at = started_at"},
		{"jobs", "state = 'failed', ended_at = started_at"},
		{"jobs", "revision = -1"},
		{"fragments", "fragment_id = -fragment_id"},
		{"fragments", "ordinal = ordinal + 1048576"},
		{"fragments", "table_id = -1 - table_id"},
		{"fragments", "lsn = 0"},
		{"fragments", "rows = -1"},
		{"fragments", "digest = zeroblob(31)"},
		{"gc_work", "deletion_generation = 0"},
		{"gc_work", "claim_state = 'lost'"},
		{"gc_work", "claim_state = 'done', outcome = 'eaten'"},
		{"gc_work", "revision = -1"},
		{"gc_work", "claim_state = 'done'"},
		{"gc_work", "outcome = 'unlinked'"},
		{"gc_work", "claim_state = 'uncertain'"},
		{"worlds", "restored_from = 0"},
		{"owners", "kind = 'reader', session_id = NULL"},
		{"owners", fmt.Sprintf("kind = 'job', session_id = %d", fixSession)},
		{"sessions", "session_id = 0"},
		{"sessions", "boot_id = 'x'"},
		{"sessions", "pid = 0"},
		{"sessions", "pid_namespace = -1"},
		{"sessions", "start_ticks = -1"},
		{"sessions", "state = 'asleep'"},
		{"sessions", "state = 'dead', ended_at = started_at, death_evidence = 'silence'"},
		{"sessions", "observed_heartbeat = ''"},
		{"sessions", "started_at = ''"},
		{"sessions", "ended_at = '', state = 'closed'"},
		{"sessions", "revision = -1"},
		{"sessions", "state = 'dead', ended_at = started_at"},
		{"sessions", "ended_at = started_at"},
		{"branch_points", "branch_id = 0"},
		{"branch_points", "name = ''"},
		{"branch_points", "owner_kind = 'timeline'"},
		{"branch_points", "timeline_id = 0"},
		{"branch_points", "timeline = ''"},
		{"branch_points", "created_at = ''"},
		{"branch_points", "digest = x''"},
		{"store_lineage", "catalog_identity = x''"},
		{"store_lineage", "since = ''"},
		{"completed_merges", "cache_key = x''"},
		{"completed_merges", "recipe = x''"},
		{"completed_merges", "ordered_inputs = x''"},
		{"completed_merges", "owner_kind = 'job'"},
		{"completed_merges", "last_output = -1"},
		{"completed_merges", "digest = x''"},
		{"completed_merge_outputs", "ordinal = -1"},
		{"completed_merge_outputs", "contribution = x''"},
		{"segments", "object_kind = 'kv'"},
		{"segments", "index_id = 0"},
		{"segments", "table_id = 0"},
		{"segments", "fragments = x''"},
		{"segments", "entries = -1"},
		{"segments", "digest = x''"},
		{"index_state_segments", "index_id = 0"},
		{"index_state_segments", "ordinal = -1"},
		{"index_state_segments", "table_id = 0"},
		{"index_state_segments", "fragments = x''"},
		{"index_state_compacted", "shard_id = 0"},
		{"index_state_compacted", "generation = 0"},
		{"index_state_catchup", "index_id = 0"},
		{"index_state_catchup", "shard_id = 0"},
		{"index_state_catchup", "generation = 0"},
		{"generations", "tables_digest = zeroblob(31)"},
		{"generations", "tables_digest = zeroblob(32), state = 'open'"},
		{"generation_tables", "table_id = 0"},
		{"generation_tables", "records = 0"},
		{"entry_fragments", "ordinal = -1"},
		{"entry_fragments", "live_rows = -1"},
		{"entry_fragments", "sum = x''"},
		{"entry_fragments", "deleted = x''"},
	}
	for _, table := range f.tables() {
		f.inside(t, f.withoutTriggers(table), func(run func(string) outcome) {
			for _, c := range cases {
				if c.table != table {
					continue
				}
				stmt := fmt.Sprintf("UPDATE %s SET %s", c.table, c.set)
				if got := run(stmt); got.code != CodeCheck {
					t.Errorf("%s: %q %s", stmt, got.code, got.text)
				}
			}
		})
	}
	if got := f.run(t, false, `INSERT INTO never_row VALUES (x'01')`); got.code != CodeCheck {
		t.Errorf("never_row: %v", got)
	}
	for _, o := range f.schema {
		if o.Type != "table" {
			continue
		}
		for _, expression := range checkExpressions(o.SQL) {
			if !f.checks[expression] {
				t.Errorf("no case breaks CHECK (%s) of %s", expression, o.Name)
			}
		}
	}
}

type column struct {
	name, kind  string
	notNull, pk bool
}

func (f *fixture) columns(t *testing.T, table string) (list []column) {
	t.Helper()
	rows, err := f.db.QueryContext(t.Context(), `SELECT name, type, "notnull", pk > 0 FROM pragma_table_info(?)`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.kind, &c.notNull, &c.pk); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestColumnTypes puts a value of each wrong storage class, and NULL where a
// value must be, into every column of every table.
func TestColumnTypes(t *testing.T) {
	f := newFixture(t)
	wrong := map[string][]string{
		"INTEGER": {"x'0102'", "'seven'", "1.5"},
		"BLOB":    {"1", "1.5", "'text'"},
		"TEXT":    {"x'0102'"},
	}
	for _, table := range f.tables() {
		if table == "never_row" {
			continue
		}
		// One transaction a table: a refused statement leaves it as it was.
		columns := f.columns(t, table)
		f.inside(t, f.withoutTriggers(table), func(run func(string) outcome) {
			for _, c := range columns {
				values := wrong[c.kind]
				if values == nil {
					t.Fatalf("%s.%s has type %q", table, c.name, c.kind)
				}
				for _, v := range values {
					stmt := fmt.Sprintf("UPDATE %s SET %s = %s", table, c.name, v)
					if got := run(stmt); got.code != CodeType {
						t.Errorf("%s: %q %s", stmt, got.code, got.text)
					}
				}
				if !c.notNull {
					continue
				}
				stmt := fmt.Sprintf("UPDATE %s SET %s = NULL", table, c.name)
				got := run(stmt)
				if rowid := c.pk && c.kind == "INTEGER"; got.code != CodeCheck && !(rowid && got.code == CodeType) {
					t.Errorf("%s: %q %s", stmt, got.code, got.text)
				}
			}
		})
	}
}

func (f *fixture) withoutRowid(t *testing.T, table string) (wr bool) {
	t.Helper()
	if err := f.db.QueryRowContext(t.Context(), `SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?`, table).Scan(&wr); err != nil {
		t.Fatal(err)
	}
	return wr
}

// TestReferences points every foreign key at a row that does not exist.
// References that wait for COMMIT are refused by it.
func TestReferences(t *testing.T) {
	f := newFixture(t)
	also := map[string]string{ // what keeps the CHECKs of the row content
		"shards.parent_shard_id":                   ", parent_generation = 1, replay_from = 2",
		"owners.session_id":                        ", kind = 'cache'",
		"blob_versions.index_object_id":            ", layout = 'IX02'",
		"blob_versions.main_target_blob_id":        fmt.Sprintf(", layout = 'IX02', index_object_id = %d", fixIndexObject),
		"blob_versions.secondary_native_object_id": fmt.Sprintf(", layout = 'IX03', index_object_id = %d", fixIndexObject),
	}
	seen := 0
	for _, table := range f.tables() {
		rows, err := f.db.QueryContext(t.Context(), `SELECT "from" FROM pragma_foreign_key_list(?) ORDER BY id, seq`, table)
		if err != nil {
			t.Fatal(err)
		}
		var from []string
		for rows.Next() {
			var c string
			if err := rows.Scan(&c); err != nil {
				t.Fatal(err)
			}
			from = append(from, c)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(from)
		for _, c := range slices.Compact(from) {
			if strings.HasSuffix(c, "_kind") {
				continue // a constant; its CHECK holds it
			}
			seen++
			value := "424242"
			switch {
			case table == "metadata_gc" || c == "operation_id":
				value = "x'4242'"
			case c == "cache_key":
				value = "randomblob(32)"
			}
			// One row, or a unique column would answer first.
			key := "rowid"
			if f.withoutRowid(t, table) {
				key = c
			}
			stmt := fmt.Sprintf("UPDATE %s SET %s = %s%s WHERE %s = (SELECT min(%s) FROM %s)", table, c, value, also[table+"."+c], key, key, table)
			setup := f.withoutTriggers(table)
			if table == "blob_versions" {
				setup = append(setup, fmt.Sprintf("DELETE FROM blob_versions WHERE blob_id = %d", fixIndexBlob)) // it has the index
			}
			if got := f.run(t, true, append(setup, stmt)...); got.code != CodeForeignKey {
				t.Errorf("%s: %q %s", stmt, got.code, got.text)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d references found", seen)
	}
}

// TestUnique repeats a value under every key but the primary ones, whose
// repetition the duplicate guards refuse first.
func TestUnique(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		table string
		sql   []string
	}{
		{"objects", []string{fmt.Sprintf(`UPDATE objects SET incarnation = 90 WHERE object_id = %d`, fixOpen)}},
		{"objects", []string{fmt.Sprintf(`UPDATE objects SET graph_seq = 1 WHERE object_id = %d`, fixSealed),
			object(fixFree, "kv", 91, ""),
			fmt.Sprintf(`UPDATE objects SET state = 'sealed', content_id = zeroblob(32), byte_extent = 1, logical_extent = 1, integrity_digest = zeroblob(32), graph_seq = 1 WHERE object_id = %d`, fixFree)}},
		{"identity_tombstones", []string{fmt.Sprintf(`INSERT INTO identity_tombstones VALUES (%d, '%s', 80, 'kv')`, fixFree, ObjectPath(fixFree, "kv"))}},
		{"timelines", []string{newOwner("timeline"), fmt.Sprintf(`INSERT INTO timelines SELECT %d, name, %d, owner_kind, head_world_id, head_representation_id, 0, created_at, digest FROM timelines`, fixFree+1, fixFree)}},
		{"timelines", []string{fmt.Sprintf(`INSERT INTO timelines SELECT %d, 'x', owner_id, owner_kind, head_world_id, head_representation_id, 0, created_at, digest FROM timelines`, fixFree+1)}},
		{"shards", []string{`UPDATE shards SET ordinal = 0`}},
		{"generations", []string{fmt.Sprintf(`UPDATE generations SET object_id = %d`, fixOpen)}},
		{"owner_representations", []string{`INSERT INTO owner_representations SELECT * FROM owner_representations`}},
		{"owner_objects", []string{`INSERT INTO owner_objects SELECT * FROM owner_objects`}},
		{"seal_receipts", []string{`INSERT INTO seal_receipts SELECT * FROM seal_receipts`}},
		{"blob_versions", []string{fmt.Sprintf(`UPDATE blob_versions SET registration_seq = 1 WHERE blob_id = %d`, fixIndexBlob)}},
		{"blob_versions", []string{fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, native_count, augmented_count, registration_seq) VALUES (%d, 'native', %d, 0, 0, 9)`, fixFree, fixSealed)}},
		{"blob_versions", []string{fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, index_object_id, native_count, augmented_count, registration_seq) VALUES (%d, 'IX02', %d, %d, 0, 0, 9)`,
			fixFree, fixOpen, fixIndexObject)}},
		{"object_edges", []string{`INSERT INTO object_edges SELECT * FROM object_edges`}},
		{"owner_blobs", []string{`INSERT INTO owner_blobs SELECT * FROM owner_blobs`}},
		{"manifest_entries", []string{`INSERT INTO manifest_entries SELECT chunk_id, position + 1, logical_factor_id, blob_id, contribution_role, contribution, digest FROM manifest_entries`}},
		{"representation_chunks", []string{`INSERT INTO representation_chunks SELECT representation_id, ordinal + 1, chunk_id, entries, first_position FROM representation_chunks`}},
		{"publication_attempts", append(another(), `INSERT INTO publication_attempts SELECT x'02', timeline_id, expected_representation_id, 0, candidate_representation_id, 500, recovery_kind, state, 0 FROM publication_attempts`)},
		{"publication_attempts", append(another(), `INSERT INTO publication_attempts SELECT x'02', timeline_id, expected_representation_id, 0, 501, recovery_owner_id, recovery_kind, state, 0 FROM publication_attempts`)},
		{"publication_attempts", append(another(), `UPDATE publication_attempts SET state = 'unknown'`,
			`INSERT INTO publication_attempts SELECT x'02', timeline_id, expected_representation_id, 0, 501, 500, recovery_kind, 'attempting', 0 FROM publication_attempts`)},
		{"jobs", []string{`INSERT INTO jobs(job_id, kind, target, recipe_version, recipe, owner_id) SELECT 500, kind, target, 1, recipe, owner_id FROM jobs`}},
		{"fragments", []string{`UPDATE fragments SET ordinal = 0`}},
		{"fragments", []string{`UPDATE fragments SET table_id = 0`}},
		{"completed_merges", []string{`INSERT INTO completed_merges SELECT randomblob(32), recipe, ordered_inputs, schema_id, owner_id, owner_kind, last_output, digest FROM completed_merges`}},
		{"completed_merge_outputs", []string{`INSERT INTO completed_merge_outputs SELECT * FROM completed_merge_outputs`}},
		{"completed_merge_waiting", []string{`INSERT INTO completed_merge_waiting SELECT * FROM completed_merge_waiting`}},
		{"gc_work", []string{`INSERT INTO gc_work SELECT object_id, 2, claim_state, error, outcome, revision FROM gc_work`}},
		{"tables", []string{`INSERT INTO tables SELECT timeline_id, table_id, version + 1, until_version, schema_id, 'other', sql, columns, durable, resident, strict, without_rowid, auto_increment FROM tables`}},
		{"tables", []string{`INSERT INTO tables SELECT timeline_id, table_id + 100, version, until_version, schema_id, upper(name), sql, columns, durable, resident, strict, without_rowid, auto_increment FROM tables`}},
		{"indexes", []string{`INSERT INTO indexes SELECT timeline_id, index_id, version + 1, until_version, schema_id, table_id, 'other', sql, origin, is_unique, columns FROM indexes`}},
		{"indexes", []string{`INSERT INTO indexes SELECT timeline_id, index_id + 100, version, until_version, schema_id, table_id, upper(name), sql, origin, is_unique, columns FROM indexes`}},
	} {
		last := c.sql[len(c.sql)-1]
		if got := f.run(t, false, append(f.withoutTriggers(c.table), c.sql...)...); got.code != CodeUnique {
			t.Errorf("%s: %q %s", last, got.code, got.text)
		}
	}
	// The neighbours: history may repeat a name.
	allowed := `INSERT INTO tables SELECT timeline_id, table_id + 100, version, version + 1, schema_id, name, sql, columns, durable, resident, strict, without_rowid, auto_increment FROM tables`
	if got := f.run(t, false, allowed); got.code != "" {
		t.Errorf("%s: %q %s", allowed, got.code, got.text)
	}
}
