package catalog

import (
	"fmt"
	"strings"
)

// guardCase is one fault, or the allowed neighbour of one.
type guardCase struct {
	name  string
	setup []string
	sql   string
	code  Code   // "" means allowed
	text  string // part of the refusal
}

const gate = `UPDATE metadata_gc SET active_operation = x'01'`

// freeze makes the storage domain reconcile.
const freeze = `UPDATE storage_domain SET state = 'reconciling', reason = 'test', revision = revision + 1`

var sealedPath = ObjectPath(fixSealed, "kv")

// sealing brings a reserved object to sealed: receipt, then transition.
func sealing(id int64) []string {
	return []string{
		fmt.Sprintf(`INSERT INTO seal_receipts SELECT object_id, catalog_identity, attempt_id, 'fsync', 1, 7, zeroblob(32) FROM objects, catalog_info WHERE object_id = %d`, id),
		fmt.Sprintf(`UPDATE objects SET state = 'sealed', content_id = zeroblob(32), byte_extent = 7, logical_extent = 7, integrity_digest = zeroblob(32),
			lifecycle_revision = lifecycle_revision + 1 WHERE object_id = %d`, id),
	}
}

func objectUpdate(id int64, set string) string {
	return fmt.Sprintf(`UPDATE objects SET %s, lifecycle_revision = lifecycle_revision + 1 WHERE object_id = %d`, set, id)
}

func concat(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// owner kinds free to use in cases.
func newOwner(kind string) string {
	return fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, '%s')`, fixFree, kind)
}

func controlCases() []guardCase {
	infoCopy := `INSERT OR REPLACE INTO catalog_info SELECT * FROM catalog_info`
	return []guardCase{
		{"second identity", nil, infoCopy, CodeIdentity, "exactly one"},
		{"identity edited", nil, `UPDATE catalog_info SET catalog_identity = zeroblob(16)`, CodeIdentity, "fixed"},
		{"policy edited", nil, `UPDATE catalog_info SET policy = x'01'`, CodeIdentity, "fixed"},
		{"shards edited", nil, `UPDATE catalog_info SET shards = 3`, CodeIdentity, "fixed"},
		{"index_catchup edited", nil, `UPDATE catalog_info SET index_catchup = 'legacy'`, CodeIdentity, "fixed"},
		{"identity deleted", nil, `DELETE FROM catalog_info`, CodeIdentity, "permanent"},
		{"identity deleted in metadata gc", []string{gate}, `DELETE FROM catalog_info`, CodeIdentity, "permanent"},
		{"allocator forward", nil, `UPDATE catalog_info SET next_id = next_id + 1`, "", ""},
		{"allocator to its end", nil, `UPDATE catalog_info SET next_id = 4611686018427387903`, "", ""},
		{"allocator back", nil, `UPDATE catalog_info SET next_id = next_id - 1`, CodeAllocator, "never go back"},
		{"incarnations back", nil, `UPDATE catalog_info SET next_incarnation = next_incarnation - 1`, CodeAllocator, "never go back"},
		{"graph positions back", nil, `UPDATE catalog_info SET next_graph_seq = 1`, CodeAllocator, "never go back"},
		{"accept sequence back", []string{`UPDATE catalog_info SET next_accept_seq = 5`}, `UPDATE catalog_info SET next_accept_seq = 4`, CodeAllocator, "never go back"},

		{"diagnostics appended", nil, `INSERT INTO runtime_diagnostics(opened_at, sqlite_version, sqlite_source_id, host) VALUES ('2026-01-01T00:00:00Z', '1', '2', 'h')`, "", ""},
		{"diagnostics edited", nil, `UPDATE runtime_diagnostics SET host = 'x'`, CodeImmutable, "runtime_diagnostics"},
		{"diagnostics replaced", nil, `INSERT OR REPLACE INTO runtime_diagnostics SELECT * FROM runtime_diagnostics`, CodeDuplicate, "runtime_diagnostics"},
		{"diagnostics deleted", []string{gate}, `DELETE FROM runtime_diagnostics`, CodeImmutable, "never deleted"},

		{"domain stepped", nil, freeze, "", ""},
		{"domain without its revision", nil, `UPDATE storage_domain SET state = 'reconciling', reason = 'x'`, CodeRevision, "storage_domain"},
		{"domain deleted", nil, `DELETE FROM storage_domain`, CodeIdentity, "permanent"},
		{"domain replaced", nil, `INSERT OR REPLACE INTO storage_domain(domain_id) VALUES (1)`, CodeIdentity, "permanent"},
		{"gate deleted", nil, `DELETE FROM metadata_gc`, CodeIdentity, "permanent"},
		{"gate replaced", nil, `INSERT OR REPLACE INTO metadata_gc VALUES (1, x'01')`, CodeIdentity, "permanent"},
		{"gate opened inside a transaction", nil, gate, "", ""},
		{"row in the empty table", nil, `INSERT INTO never_row VALUES (x'01')`, CodeCheck, ""},
	}
}

func contentCases() []guardCase {
	context := `INSERT INTO schema_contexts VALUES (%d, 1, 1, 1, 1, 1, x'01')`
	world := `INSERT INTO worlds(world_id, admitted_cut_id, lsn, schema_id, live_count, composite_fingerprint) VALUES (%d, %d, 0, 1, 0, zeroblob(16))`
	indexState := `INSERT INTO index_states VALUES (%d, %d, %d, zeroblob(32))`
	representation := `INSERT INTO representations VALUES (%d, 2, 4, 1, %d, zeroblob(16))`
	return []guardCase{
		{"context added", nil, fmt.Sprintf(context, fixFree), "", ""},
		{"context edited", nil, `UPDATE schema_contexts SET descriptor = x'02'`, CodeImmutable, "schema_contexts"},
		{"context replaced", nil, strings.Replace(fmt.Sprintf(context, fixSchema), "INSERT", "INSERT OR REPLACE", 1), CodeDuplicate, "schema_contexts"},
		{"context deleted", nil, `DELETE FROM schema_contexts`, CodeImmutable, "metadata-gc"},
		{"context deleted in metadata gc", []string{fmt.Sprintf(context, fixFree), gate}, fmt.Sprintf(`DELETE FROM schema_contexts WHERE schema_id = %d`, fixFree), "", ""},
		{"context not reserved", nil, fmt.Sprintf(context, fixUnreserved), CodeAllocator, "schema_contexts"},
		{"context without id", nil, `INSERT INTO schema_contexts VALUES (NULL, 1, 1, 1, 1, 1, x'01')`, CodeAllocator, "schema_contexts"},

		{"world added, equal fingerprint", nil, fmt.Sprintf(world, fixFree, fixCut), "", ""},
		{"world edited", nil, `UPDATE worlds SET live_count = 1`, CodeImmutable, "worlds"},
		{"world replaced", nil, strings.Replace(fmt.Sprintf(world, fixWorld, fixCut), "INSERT", "INSERT OR REPLACE", 1), CodeDuplicate, "worlds"},
		{"world deleted", nil, `DELETE FROM worlds`, CodeImmutable, "metadata-gc"},
		{"world deleted in metadata gc", []string{fmt.Sprintf(world, fixFree, fixCut), gate}, fmt.Sprintf(`DELETE FROM worlds WHERE world_id = %d`, fixFree), "", ""},
		{"world not reserved", nil, fmt.Sprintf(world, fixUnreserved, fixCut), CodeAllocator, "worlds"},
		{"cut not reserved", nil, fmt.Sprintf(world, fixFree, fixUnreserved), CodeAllocator, "worlds"},

		{"index state without features", nil, fmt.Sprintf(indexState, fixFree, 0, 0), "", ""},
		{"index state with the bit in both words", nil, fmt.Sprintf(indexState, fixFree, 128, 129), "", ""},
		{"index state with half the bit, reader", nil, fmt.Sprintf(indexState, fixFree, 128, 0), CodeCheck, "128"},
		{"index state with half the bit, writer", nil, fmt.Sprintf(indexState, fixFree, 1, 128), CodeCheck, "128"},
		{"index state edited", nil, `UPDATE index_states SET reader_features = 0, writer_features = 0`, CodeImmutable, "index_states"},
		{"index state replaced", nil, strings.Replace(fmt.Sprintf(indexState, fixIndexState, 0, 0), "INSERT", "INSERT OR REPLACE", 1), CodeDuplicate, "index_states"},
		{"index state deleted", nil, `DELETE FROM index_states`, CodeImmutable, "metadata-gc"},
		{"index state deleted in metadata gc", []string{fmt.Sprintf(indexState, fixFree, 0, 0), gate}, fmt.Sprintf(`DELETE FROM index_states WHERE index_state_id = %d`, fixFree), "", ""},
		{"index state not reserved", nil, fmt.Sprintf(indexState, fixUnreserved, 0, 0), CodeAllocator, "index_states"},

		{"representation of the same world", nil, fmt.Sprintf(representation, fixFree, 4096), "", ""},
		{"representation over the limit", []string{`UPDATE catalog_info SET max_representation_entries = 4096`}, fmt.Sprintf(representation, fixFree, 4097), CodeLimit, "entries"},
		{"representation edited", nil, `UPDATE representations SET entry_count = 1`, CodeImmutable, "representations"},
		{"representation replaced", nil, strings.Replace(fmt.Sprintf(representation, fixRepresentation, 0), "INSERT", "INSERT OR REPLACE", 1), CodeDuplicate, "representations"},
		{"representation deleted", nil, `DELETE FROM representations`, CodeImmutable, "metadata-gc"},
		{"representation deleted in metadata gc", []string{fmt.Sprintf(representation, fixFree, 0), gate}, fmt.Sprintf(`DELETE FROM representations WHERE representation_id = %d`, fixFree), "", ""},
		{"representation not reserved", nil, fmt.Sprintf(representation, fixUnreserved, 0), CodeAllocator, "representations"},
	}
}

func objectCases() []guardCase {
	const reserved = fixFree - 1
	quarantine := objectUpdate(reserved, "state = 'quarantined'")
	claim := objectUpdate(reserved, "state = 'gc_claimed'")
	receipt := `INSERT INTO seal_receipts SELECT object_id, %s, %s, 'fsync', 1, 7, zeroblob(32) FROM objects, catalog_info WHERE object_id = %d`
	// Nothing can be collected yet; the guard steps aside to show the ones behind it.
	collected := []string{claim, `DROP TRIGGER objects_collected`, objectUpdate(reserved, "state = 'collected'")}
	tombstone := fmt.Sprintf(`INSERT INTO identity_tombstones VALUES (%d, '%s', 90, 'kv')`, reserved, ObjectPath(reserved, "kv"))
	remove := fmt.Sprintf(`DELETE FROM objects WHERE object_id = %d`, reserved)
	return []guardCase{
		{"object reserved", nil, object(fixFree, "index", 91, ""), "", ""},
		{"object id used", nil, object(fixSealed, "kv", 91, ""), CodeDuplicate, "objects"},
		{"object replaced", nil, strings.Replace(object(fixSealed, "kv", 91, ""), "INSERT", "INSERT OR REPLACE", 1), CodeDuplicate, "objects"},
		{"incarnation used", nil, object(fixFree, "kv", 90, ""), CodeDuplicate, "objects"},
		{"object not reserved from the allocator", nil, object(fixUnreserved, "kv", 91, ""), CodeAllocator, "objects"},
		{"incarnation not reserved from the allocator", nil, object(fixFree, "kv", 100, ""), CodeAllocator, "objects"},
		{"object id of a tombstone", nil, object(fixFree-2, "kv", 91, ""), CodeReuse, "collected"},
		{"incarnation of a tombstone", nil, object(fixFree, "kv", 80, ""), CodeReuse, "collected"},
		{"path out of the store", nil, object(fixFree, "kv", 91, "../../etc/passwd"), CodeCheck, "relative_path"},
		{"path of another id", nil, object(fixFree, "kv", 91, ObjectPath(fixFree+1, "kv")), CodeCheck, "relative_path"},
		{"path of another kind", nil, object(fixFree, "kv", 91, ObjectPath(fixFree, "index")), CodeCheck, "relative_path"},
		{"object starts sealed", nil, fmt.Sprintf(`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path, state, content_id, byte_extent, logical_extent, integrity_digest)
			VALUES (%d, 'kv', 91, zeroblob(16), '%s', 'sealed', zeroblob(32), 0, 0, zeroblob(32))`, fixFree, ObjectPath(fixFree, "kv")), CodeState, "start reserved"},

		{"object identity edited", nil, objectUpdate(reserved, "attempt_id = randomblob(16)"), CodeImmutable, "identity is fixed"},
		{"object without revision", nil, fmt.Sprintf(`UPDATE objects SET state = 'quarantined' WHERE object_id = %d`, reserved), CodeRevision, "objects"},
		{"object sealed", sealing(reserved)[:1], sealing(reserved)[1], "", ""},
		{"object sealed without a receipt", nil, sealing(reserved)[1], CodeSeal, "must exist first"},
		{"object sealed with another extent", sealing(reserved)[:1], strings.Replace(sealing(reserved)[1], "byte_extent = 7", "byte_extent = 8", 1), CodeSeal, "must exist first"},
		{"object sealed by another catalog's receipt", []string{fmt.Sprintf(receipt, "randomblob(16)", "attempt_id", reserved)}, sealing(reserved)[1], CodeSeal, "must exist first"},
		{"sealed descriptor edited", nil, objectUpdate(fixSealed, "byte_extent = byte_extent + 1"), CodeImmutable, "descriptor is fixed"},
		{"sealed fingerprint edited", nil, objectUpdate(fixSealed, "native_fingerprint = x'09'"), CodeImmutable, "descriptor is fixed"},
		{"descriptor set by quarantine", nil, objectUpdate(reserved, "state = 'quarantined', content_id = zeroblob(32), byte_extent = 7, logical_extent = 7, integrity_digest = zeroblob(32)"), CodeState, "only by sealing"},
		{"graph position given", sealing(reserved), objectUpdate(reserved, "graph_seq = 9"), "", ""},
		{"graph position not reserved", sealing(reserved), objectUpdate(reserved, "graph_seq = 10"), CodeState, "graph position"},
		{"graph position given twice", nil, objectUpdate(fixSealed, "graph_seq = 9"), CodeState, "graph position"},
		{"graph position of a reserved object", nil, objectUpdate(reserved, "graph_seq = 9"), CodeState, "graph position"},
		{"sealed back to reserved", nil, objectUpdate(fixSealed, "state = 'reserved'"), CodeState, "transition refused"},
		{"reserved to collected", []string{`DROP TRIGGER objects_collected`}, objectUpdate(reserved, "state = 'collected'"), CodeState, "transition refused"},
		{"quarantined", nil, quarantine, "", ""},
		{"out of quarantine without evidence", []string{quarantine}, claim, CodeRecovery, "evidence"},
		{"out of quarantine with evidence", []string{quarantine}, objectUpdate(reserved, "state = 'gc_claimed', reconciled_by = x'01'"), "", ""},
		{"claimed", nil, claim, "", ""},
		{"claimed while frozen", []string{freeze}, claim, CodeGC, "frozen"},
		{"claimed with an owner", nil, objectUpdate(fixSealed, "state = 'gc_claimed'"), CodeGC, "direct owner"},
		{"collected without an outcome", []string{claim}, objectUpdate(reserved, "state = 'collected'"), CodeGC, "finished deletion"},
		{"object row deleted", []string{gate}, remove, CodeImmutable, "only collected"},
		{"collected row deleted without a tombstone", append(collected[:3:3], gate), remove, CodeImmutable, "only collected"},
		{"collected row deleted outside metadata gc", append(collected[:3:3], tombstone), remove, CodeImmutable, "only collected"},
		{"collected row deleted", append(collected[:3:3], gate, tombstone), remove, "", ""},

		{"receipt", nil, sealing(reserved)[0], "", ""},
		{"receipt of another attempt", nil, fmt.Sprintf(receipt, "catalog_identity", "randomblob(16)", reserved), CodeSeal, "does not match"},
		{"receipt of a claimed object", []string{claim}, sealing(reserved)[0], CodeSeal, "does not match"},
		{"receipt kept for another catalog", nil, fmt.Sprintf(receipt, "randomblob(16)", "attempt_id", fixSealed), "", ""},
		{"receipt edited", nil, `UPDATE seal_receipts SET byte_extent = 1`, CodeImmutable, "seal_receipts"},
		{"receipt replaced", nil, `INSERT OR REPLACE INTO seal_receipts SELECT * FROM seal_receipts`, CodeDuplicate, "seal_receipts"},
		{"receipt deleted", nil, `DELETE FROM seal_receipts`, CodeImmutable, "metadata-gc"},
		{"receipt deleted in metadata gc", []string{gate}, `DELETE FROM seal_receipts`, "", ""},

		{"tombstone edited", nil, `UPDATE identity_tombstones SET kind = 'index'`, CodeImmutable, "identity_tombstones"},
		{"tombstone replaced", nil, `INSERT OR REPLACE INTO identity_tombstones SELECT * FROM identity_tombstones`, CodeDuplicate, "identity_tombstones"},
		{"tombstone deleted", []string{gate}, `DELETE FROM identity_tombstones`, CodeImmutable, "never deleted"},
		{"tombstone with another path", nil, fmt.Sprintf(`INSERT INTO identity_tombstones VALUES (%d, 'objects/x', 81, 'kv')`, fixFree), CodeCheck, "relative_path"},
	}
}
