package catalog

import (
	"fmt"
)

// branchCases are about branch points and the lineage of a store.
func branchCases() []guardCase {
	const owner, id = fixFree, fixFree + 1
	rooted := []string{newOwner("branch_point"), fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, owner, fixRepresentation)}
	retire := fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %d`, fixBranchOwner)
	remove := `DELETE FROM branch_points`
	// A dependency of the candidate's index is quarantined, not the index itself.
	indexed := []string{
		fmt.Sprintf(`INSERT INTO manifest_entries VALUES (%d, 0, 1, %d, 'update', zeroblob(16), zeroblob(32))`, fixFree+7, fixIndexBlob),
		fmt.Sprintf(`INSERT INTO representations VALUES (%d, %d, %d, 1, 1, zeroblob(16))`, fixFree+8, fixWorld, fixIndexState),
		fmt.Sprintf(`INSERT INTO representation_chunks VALUES (%d, 0, %d, 1, 0)`, fixFree+8, fixFree+7),
		object(fixFree+9, "kv", 92, ""), sealing(fixFree + 9)[0], sealing(fixFree + 9)[1], objectUpdate(fixFree+9, "graph_seq = 6"),
		`DROP TRIGGER object_edges_insert`, // which would have wanted it earlier
		fmt.Sprintf(`INSERT INTO object_edges VALUES (%d, %d, 'value')`, fixIndexObject, fixFree+9)}
	quarantined := append(indexed[:len(indexed):len(indexed)], objectUpdate(fixFree+9, "state = 'quarantined'"))
	root := fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, owner, fixFree+8)
	return []guardCase{
		{"branch point", rooted, branch(id, "now", owner), "", ""},
		{"branch point of 255 characters", rooted, branch(id, fmt.Sprintf("%0255d", 0), owner), "", ""},
		{"branch point of 256 characters", rooted, branch(id, fmt.Sprintf("%0256d", 0), owner), CodeCheck, "name"},
		{"branch point id used", rooted, branch(fixBranch, "now", owner), CodeDuplicate, "branch_points"},
		{"branch point name used", rooted, branch(id, "before", owner), CodeDuplicate, "branch_points"},
		{"branch point replaced", nil, `INSERT OR REPLACE INTO branch_points SELECT * FROM branch_points`, CodeDuplicate, "branch_points"},
		{"branch point of another's owner", nil, branch(id, "now", fixBranchOwner), CodeDuplicate, "branch_points"},
		{"branch point not reserved", rooted, branch(fixUnreserved, "now", owner), CodeAllocator, "branch_points"},
		{"branch point of a retiring owner", append(rooted[:1:1], fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %d`, owner)),
			branch(id, "now", owner), CodeOwner, "active owner"},
		{"branch point edited", nil, `UPDATE branch_points SET name = 'other'`, CodeImmutable, "branch_points"},
		{"branch point moved", nil, fmt.Sprintf(`UPDATE branch_points SET representation_id = %s`, fixCandidate), CodeImmutable, "branch_points"},
		{"owner of a branch point retired", nil, retire, CodeSelected, "selected"},
		{"owner of a removed branch point retired", []string{remove}, retire, "", ""},
		{"branch point removed", nil, remove, "", ""},
		{"dependency quarantined, rooted by a branch point", concat(quarantined, []string{newOwner("branch_point")}), root, CodeAcquire, "depends on"},
		{"dependency quarantined, rooted by a job", concat(quarantined, []string{newOwner("job")}), root, "", ""},
		{"dependency sound, rooted by a branch point", concat(indexed, []string{newOwner("branch_point")}), root, "", ""},

		{"lineage", nil, `INSERT INTO store_lineage VALUES (randomblob(16), '2026-01-01T00:00:00Z')`, "", ""},
		{"lineage of the catalog itself", nil, `INSERT INTO store_lineage SELECT catalog_identity, created_at FROM catalog_info`, CodeIdentity, "other catalogs"},
		{"lineage replaced", nil, `INSERT OR REPLACE INTO store_lineage SELECT * FROM store_lineage`, CodeDuplicate, "store_lineage"},
		{"lineage edited", nil, `UPDATE store_lineage SET since = '2027-01-01T00:00:00Z'`, CodeImmutable, "store_lineage"},
		{"lineage deleted", []string{gate}, `DELETE FROM store_lineage`, CodeIdentity, "lineage"},
	}
}

// sessionCases are about sessions and the pins of readers.
func sessionCases() []guardCase {
	const id = fixFree
	step := func(set string) string {
		return fmt.Sprintf(`UPDATE sessions SET %s, revision = revision + 1 WHERE session_id = %d`, set, fixSession)
	}
	const end = ", ended_at = '2026-01-02T00:00:00Z'"
	uncertain, live := step("state = 'uncertain'"), step("state = 'live'")
	closed := step("state = 'closed'" + end)
	dead := step("state = 'dead', death_evidence = 'pid_absent'" + end)
	retire := fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %d`, fixReader)
	release := fmt.Sprintf(`UPDATE owners SET state = 'released', revision = revision + 1 WHERE owner_id = %d`, fixReader)
	gone := []string{retire, release}
	left := []string{retire, release, closed, gate, fmt.Sprintf(`DELETE FROM owners WHERE owner_id = %d`, fixReader)}
	remove := fmt.Sprintf(`DELETE FROM sessions WHERE session_id = %d`, fixSession)
	quarantined := append(sealing(fixFree - 1)[:2:2], objectUpdate(fixFree-1, "state = 'quarantined'"))
	return []guardCase{
		{"session", nil, session(id), "", ""},
		{"session id used", nil, session(fixSession), CodeDuplicate, "sessions"},
		{"session replaced", nil, `INSERT OR REPLACE INTO sessions SELECT * FROM sessions`, CodeDuplicate, "sessions"},
		{"session not reserved", nil, session(fixUnreserved), CodeAllocator, "sessions"},
		{"session starts uncertain", nil, fmt.Sprintf(`INSERT INTO sessions SELECT %d, boot_id, 8, 8, 9, 'uncertain', NULL, NULL, started_at, NULL, 0 FROM sessions`, id), CodeSession, "starts live"},
		{"session starts at revision 1", nil, fmt.Sprintf(`INSERT INTO sessions SELECT %d, boot_id, 8, 8, 9, 'live', NULL, NULL, started_at, NULL, 1 FROM sessions`, id), CodeSession, "starts live"},
		{"session of another process", nil, step("pid = pid + 1"), CodeImmutable, "sessions"},
		{"session of another boot", nil, step("boot_id = '00000000-0000-4000-8000-000000000001'"), CodeImmutable, "sessions"},
		{"session of another start", nil, step("start_ticks = 1"), CodeImmutable, "sessions"},
		{"session without revision", nil, `UPDATE sessions SET state = 'uncertain'`, CodeRevision, "sessions"},
		{"session has a heartbeat", nil, step("observed_heartbeat = '2026-01-01T00:00:01Z'"), "", ""},
		{"session uncertain", nil, uncertain, "", ""},
		{"uncertain session live again", []string{uncertain}, live, "", ""},
		{"session closed with an owner", nil, closed, CodeSession, "released its owners"},
		{"session closed", gone, closed, "", ""},
		{"session dead with an owner", nil, dead, "", ""},
		{"uncertain session dead", []string{uncertain}, dead, "", ""},
		{"dead session live again", []string{dead}, step("state = 'live', death_evidence = NULL, ended_at = NULL"), CodeSession, "final"},
		{"dead session closed", []string{dead, retire, release}, step("state = 'closed', death_evidence = NULL"), CodeSession, "final"},
		{"closed session dead", []string{retire, release, closed}, step("state = 'dead', death_evidence = 'pid_absent'"), CodeSession, "final"},
		{"live session deleted", []string{gate}, remove, CodeSession, "leave"},
		{"closed session deleted outside metadata gc", append(left[:4:4], left[4], `UPDATE metadata_gc SET active_operation = NULL`), remove, CodeSession, "leave"},
		{"closed session deleted", left, remove, "", ""},

		{"reader of a live session", nil, reader(id, fixSession), "", ""},
		{"reader of an uncertain session", []string{uncertain}, reader(id, fixSession), CodeSession, "live session"},
		{"reader of a dead session", []string{dead}, reader(id, fixSession), CodeSession, "live session"},
		{"reader of no session", nil, reader(id, fixFree+1), CodeSession, "live session"},
		{"reader moves to another session", []string{session(id)}, fmt.Sprintf(`UPDATE owners SET session_id = %d, revision = revision + 1 WHERE owner_id = %d`, id, fixReader), CodeImmutable, "owners"},
		{"job of a session", nil, fmt.Sprintf(`INSERT INTO owners(owner_id, kind, session_id) VALUES (%d, 'job', %d)`, id, fixSession), CodeCheck, "session_id"},
		{"cache of a session", nil, fmt.Sprintf(`INSERT INTO owners(owner_id, kind, session_id) VALUES (%d, 'cache', %d)`, id, fixSession), "", ""},
		{"reader roots a representation", nil, fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixReader, fixRepresentation), "", ""},
		{"reader roots an active generation", nil, fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'active')`, fixReader, fixOpen), "", ""},
		{"reader roots a claimed object", nil, fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'active')`, fixReader, fixClaimed), CodeAcquire, "claimed"},
		{"reader roots a quarantined object", quarantined, fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'active')`, fixReader, fixFree-1), CodeAcquire, "quarantine"},
	}
}

// timelineCases are about restores, and timelines that are dropped.
func timelineCases() []guardCase {
	const world, owner, other, otherShard, third = fixFree + 20, fixFree, fixFree + 1, fixFree + 2, fixFree + 5
	restored := func(lsn int, from string) []string {
		return []string{
			fmt.Sprintf(`INSERT INTO worlds(world_id, admitted_cut_id, lsn, schema_id, live_count, composite_fingerprint, restored_from) VALUES (%d, %d, %d, %d, 0, zeroblob(16), %s)`, world, world, lsn, fixSchema, from),
			fmt.Sprintf(`INSERT INTO representations VALUES (%d, %d, %d, 1, 0, zeroblob(16))`, world, world, fixIndexState),
			fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixOwner, world)}
	}
	move := fmt.Sprintf(`UPDATE timelines SET head_world_id = %d, head_representation_id = %d, revision = revision + 1 WHERE timeline_id = %d`, world, world, fixTimeline)
	// Generation 1 is sealed with commits up to 10, generation 2 is open.
	pass := func(from int) string {
		return fmt.Sprintf(`UPDATE shards SET current_generation = 2, replay_from = %d, revision = revision + 1 WHERE shard_id = %d`, from, fixShard)
	}
	made := []string{newOwner("timeline"), fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, owner, fixRepresentation),
		fmt.Sprintf(`INSERT INTO timelines(timeline_id, name, owner_id, head_world_id, head_representation_id, created_at, digest)
			VALUES (%d, 'x', %d, %d, %d, '2026-01-01T00:00:00Z', zeroblob(32))`, other, owner, fixWorld, fixRepresentation)}
	logged := concat(made, []string{
		fmt.Sprintf(`INSERT INTO shards(shard_id, timeline_id, ordinal, current_generation, replay_from, digest) VALUES (%d, %d, 0, 1, 1, zeroblob(32))`, otherShard, other),
		object(third, "kv", 95, ""), fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'active')`, owner, third),
		fmt.Sprintf(`INSERT INTO generations(shard_id, generation, object_id, digest) VALUES (%d, 1, %d, zeroblob(32))`, otherShard, third), gate})
	unrooted := append(logged[:len(logged):len(logged)], fmt.Sprintf(`DELETE FROM owner_representations WHERE owner_id = %d`, owner))
	drop := fmt.Sprintf(`DELETE FROM generations WHERE shard_id = %d`, otherShard)
	// The generation of the other timeline is in a manifest that someone retains.
	retained := concat(made, []string{logged[3], logged[4], logged[5], logged[6]}, sealing(third), []string{
		objectUpdate(third, "graph_seq = 7"),
		fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, native_count, augmented_count, registration_seq) VALUES (%d, 'native', %d, 0, 0, 7)`, fixFree+9, third),
		fmt.Sprintf(`INSERT INTO manifest_entries VALUES (%d, 0, 1, %d, 'update', zeroblob(16), zeroblob(32))`, fixFree+7, fixFree+9),
		fmt.Sprintf(`INSERT INTO representations VALUES (%d, %d, %d, 1, 1, zeroblob(16))`, fixFree+8, fixWorld, fixIndexState),
		fmt.Sprintf(`INSERT INTO representation_chunks VALUES (%d, 0, %d, 1, 0)`, fixFree+8, fixFree+7),
		fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixReader, fixFree+8), gate,
		fmt.Sprintf(`DELETE FROM owner_representations WHERE owner_id = %d`, owner)})
	return []guardCase{
		{"head restored", restored(11, "5"), move, "", ""},
		{"head restored at an LSN of a commit", restored(10, "5"), move, CodePublish, "younger"},
		{"head restored at the head's LSN", append(restored(0, "5"), `DROP TRIGGER generations_update`, `UPDATE generations SET last_lsn = 0, first_lsn = 1 WHERE generation = 1 AND state = 'sealed'`), move, CodePublish, "younger"},
		{"restore passes over a generation", append(restored(11, "5"), move), pass(2), "", ""},
		{"publication passes over a generation", append(restored(11, "NULL"), move), pass(2), CodeShard, "does not contain"},
		{"restore passes over an open generation", append(restored(11, "5"), move), pass(3), CodeShard, "does not contain"},
		{"restore that is not the head passes over a generation", restored(11, "5"), pass(2), CodeShard, "does not contain"},
		{"restore passes over a later commit", append(restored(11, "5"), `DROP TRIGGER timelines_update`, move, `DROP TRIGGER generations_update`, `UPDATE generations SET last_lsn = 11 WHERE generation = 1 AND state = 'sealed'`),
			pass(2), CodeShard, "does not contain"},
		{"world edited into a restore", nil, `UPDATE worlds SET restored_from = 5`, CodeImmutable, "worlds"},

		{"main dropped", []string{gate}, fmt.Sprintf(`DELETE FROM timelines WHERE timeline_id = %d`, fixTimeline), CodeIdentity, "main"},
		{"timeline dropped outside metadata gc", made, fmt.Sprintf(`DELETE FROM timelines WHERE timeline_id = %d`, other), CodeImmutable, "metadata-gc"},
		{"timeline dropped", append(made[:3:3], gate), fmt.Sprintf(`DELETE FROM timelines WHERE timeline_id = %d`, other), "", ""},
		{"open generation of a timeline deleted", logged, drop, CodeImmutable, "dropped timeline"},
		{"open generation of a dropped timeline deleted", unrooted, drop, "", ""},
		{"open generation of a dropped timeline deleted outside metadata gc", append(unrooted[:len(unrooted):len(unrooted)], `UPDATE metadata_gc SET active_operation = NULL`), drop, CodeImmutable, "dropped timeline"},
		{"retained generation of a dropped timeline deleted", retained, drop, CodeGeneration, "retained representation"},
	}
}
