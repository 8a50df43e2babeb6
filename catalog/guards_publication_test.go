package catalog

import (
	"fmt"
	"strings"
)

// What the fixture's one attempt and its rows are called in cases.
const (
	fixCandidate = `(SELECT candidate_representation_id FROM publication_attempts ORDER BY recovery_owner_id LIMIT 1)`
	fixRecovery  = `(SELECT min(recovery_owner_id) FROM publication_attempts)`
	fixChunk     = `(SELECT min(chunk_id) FROM manifest_entries)`
	fixBlob      = `(SELECT blob_id FROM blob_versions WHERE layout = 'native')`
	fixJob       = `(SELECT job_id FROM jobs)`
	fixJobOwner  = `(SELECT owner_id FROM jobs)`
)

func attemptTo(state string) string {
	return fmt.Sprintf(`UPDATE publication_attempts SET state = '%s', revision = revision + 1 WHERE recovery_owner_id = %s`, state, fixRecovery)
}

func operationTo(status string) string {
	switch status {
	case "committed":
		return `UPDATE operations SET status = 'committed', outcome = x'01', committed_at = '2026-01-01T00:00:00Z'`
	case "conflict":
		return `UPDATE operations SET status = 'conflict', outcome = x'01'`
	}
	return fmt.Sprintf(`UPDATE operations SET status = '%s'`, status)
}

// Steps of an adoption.
var (
	moveHead = []string{
		fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %s)`, fixOwner, fixCandidate),
		fmt.Sprintf(`UPDATE timelines SET head_representation_id = %s, head_world_id = (SELECT world_id FROM representations WHERE representation_id = %s), revision = revision + 1`,
			fixCandidate, fixCandidate),
	}
	moveReplay = fmt.Sprintf(`UPDATE shards SET replay_from = 2, revision = revision + 1 WHERE shard_id = %d`, fixShard)
	dropActive = fmt.Sprintf(`DELETE FROM owner_objects WHERE object_id = %d`, fixSealed)
	commit     = concat([]string{attemptTo("attempting")}, moveHead, []string{moveReplay, dropActive, operationTo("committed"), attemptTo("committed")})
	dropOld    = fmt.Sprintf(`DELETE FROM owner_representations WHERE owner_id = %d AND representation_id = %d`, fixOwner, fixRepresentation)
	rollback_  = []string{operationTo("abandoned"), attemptTo("rolled_back")}
	dropRoots  = []string{
		fmt.Sprintf(`DELETE FROM owner_blobs WHERE owner_id = %s`, fixRecovery),
		fmt.Sprintf(`DELETE FROM owner_representations WHERE owner_id = %s`, fixRecovery),
	}
	retireOwner  = fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %s`, fixRecovery)
	releasedOwn  = fmt.Sprintf(`UPDATE owners SET state = 'released', revision = revision + 1 WHERE owner_id = %s`, fixRecovery)
	retireRolled = concat(rollback_, dropRoots, []string{retireOwner, releasedOwn})
)

// another is a second attempt, of an owner that roots what it must.
func another(roots ...string) []string {
	setup := []string{newOwner("recovery"), `INSERT INTO operations(operation_id, kind, request, request_digest, status, created_at)
		VALUES (x'02', 'publish', x'', zeroblob(32), 'prepared', '2026-01-01T00:00:00Z')`,
		fmt.Sprintf(`INSERT INTO representations VALUES (%d, 2, 4, 1, 0, zeroblob(16))`, fixFree+1)}
	for _, r := range roots {
		setup = append(setup, fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %s)`, fixFree, r))
	}
	return setup
}

func attemptRowSQL(operation string, candidate any, owner any, state string) string {
	return fmt.Sprintf(`INSERT INTO publication_attempts(operation_id, timeline_id, expected_representation_id, expected_revision, candidate_representation_id, recovery_owner_id, state)
		VALUES (%s, %d, %d, 0, %v, %v, '%s')`, operation, fixTimeline, fixRepresentation, candidate, owner, state)
}

func publicationCases() []guardCase {
	old, candidate := fmt.Sprint(fixRepresentation), fmt.Sprint(fixFree+1)
	second := attemptRowSQL("x'02'", fixFree+1, fixFree, "prepared")
	return []guardCase{
		{"operation added", nil, `INSERT INTO operations(operation_id, kind, request, request_digest, status, created_at) VALUES (x'02', 'user', x'', zeroblob(32), 'prepared', '2026-01-01T00:00:00Z')`, "", ""},
		{"operation replaced", nil, `INSERT OR REPLACE INTO operations SELECT * FROM operations`, CodeDuplicate, "compare request"},
		{"operation edited", nil, `UPDATE operations SET request = x'00'`, CodeImmutable, "request is fixed"},
		{"operation committed", nil, operationTo("committed"), "", ""},
		{"operation committed, then abandoned", []string{operationTo("committed")}, `UPDATE operations SET status = 'abandoned', outcome = NULL, committed_at = NULL`, CodeState, "outcome is final"},
		{"conflict, then committed", []string{operationTo("conflict")}, operationTo("committed"), CodeState, "outcome is final"},
		{"operation deleted", nil, `DELETE FROM operations`, CodeImmutable, "metadata-gc"},
		{"operation deleted in metadata gc", append(another(), gate), `DELETE FROM operations WHERE operation_id = x'02'`, "", ""},

		{"attempt added", another(old, candidate), second, "", ""},
		{"attempt replaced", nil, `INSERT OR REPLACE INTO publication_attempts SELECT * FROM publication_attempts`, CodeDuplicate, "publication_attempts"},
		{"attempt with another's candidate", another(old, fixCandidate), attemptRowSQL("x'02'", fixCandidate, fixFree, "prepared"), CodeDuplicate, "publication_attempts"},
		{"attempt with another's owner", another(), attemptRowSQL("x'02'", fixFree+1, fixRecovery, "prepared"), CodeDuplicate, "publication_attempts"},
		{"attempt without the expected head", another(candidate), second, CodeRecovery, "expected head"},
		{"attempt without the candidate", another(old), second, CodeRecovery, "candidate"},
		{"attempt starts attempting", another(old, candidate), attemptRowSQL("x'02'", fixFree+1, fixFree, "attempting"), CodeState, "start prepared"},
		{"attempt of an operation that is over", append(another(old, candidate), `UPDATE operations SET status = 'abandoned' WHERE operation_id = x'02'`), second, CodeState, "start prepared"},
		{"attempt edited", nil, `UPDATE publication_attempts SET expected_revision = 7, revision = revision + 1`, CodeImmutable, "identity is fixed"},
		{"attempt without revision", nil, `UPDATE publication_attempts SET state = 'attempting'`, CodeRevision, "publication_attempts"},
		{"attempt begins", nil, attemptTo("attempting"), "", ""},
		{"attempt skips attempting", []string{operationTo("committed")}, attemptTo("committed"), CodeState, "transition"},
		{"attempt retires unresolved", []string{attemptTo("attempting")}, attemptTo("retired"), CodeState, "transition"},
		{"attempt comes back", []string{attemptTo("attempting")}, attemptTo("prepared"), CodeState, "transition"},
		{"attempt rolls back without reconciling", []string{attemptTo("attempting"), operationTo("abandoned")}, attemptTo("rolled_back"), CodeState, "transition"},
		{"attempt unknown", []string{attemptTo("attempting")}, attemptTo("unknown"), "", ""},
		{"unknown attempt rolled back", []string{attemptTo("attempting"), attemptTo("unknown"), operationTo("abandoned")}, attemptTo("rolled_back"), "", ""},
		{"attempt committed", commit[:len(commit)-1], commit[len(commit)-1], "", ""},
		{"attempt committed, head not moved", []string{attemptTo("attempting"), operationTo("committed")}, attemptTo("committed"), CodePublish, "selected head"},
		{"attempt committed, outcome not recorded", concat([]string{attemptTo("attempting")}, moveHead), attemptTo("committed"), CodePublish, "selected head"},
		{"attempt in conflict", []string{attemptTo("attempting"), operationTo("conflict")}, attemptTo("conflict"), "", ""},
		{"attempt in conflict, not recorded", []string{attemptTo("attempting")}, attemptTo("conflict"), CodePublish, "recorded"},
		{"attempt rolled back", rollback_[:1], rollback_[1], "", ""},
		{"attempt rolled back, not recorded", nil, attemptTo("rolled_back"), CodePublish, "recorded"},
		{"attempt retired", retireRolled, attemptTo("retired"), "", ""},
		{"attempt retired before its owner", retireRolled[:len(retireRolled)-1], attemptTo("retired"), CodeRecovery, "released recovery owner"},
		{"attempt deleted", []string{gate}, `DELETE FROM publication_attempts`, CodeImmutable, "only retired"},
		{"retired attempt deleted outside metadata gc", append(retireRolled[:len(retireRolled):len(retireRolled)], attemptTo("retired")), `DELETE FROM publication_attempts`, CodeImmutable, "only retired"},
		{"retired attempt deleted", append(retireRolled[:len(retireRolled):len(retireRolled)], attemptTo("retired"), gate), `DELETE FROM publication_attempts`, "", ""},

		{"recovery owner retired while prepared", nil, retireOwner, CodeRecovery, "not established"},
		{"recovery owner retired while attempting", []string{attemptTo("attempting")}, retireOwner, CodeRecovery, "not established"},
		{"recovery owner retired while unknown", []string{attemptTo("attempting"), attemptTo("unknown")}, retireOwner, CodeRecovery, "not established"},
		{"recovery owner retired once committed", commit, retireOwner, "", ""},
		{"recovery root on a blob dropped", nil, dropRoots[0], CodeRecovery, "not established"},
		{"recovery root on a blob dropped once committed", commit, dropRoots[0], "", ""},
		{"recovery root on a representation dropped", nil, dropRoots[1], CodeRecovery, "not established"},
		{"recovery root on a representation dropped once committed", commit, dropRoots[1], "", ""},
		{"recovery root on an object dropped", []string{fmt.Sprintf(`INSERT INTO owner_objects VALUES (%s, %d, 'candidate')`, fixRecovery, fixFree-1)},
			fmt.Sprintf(`DELETE FROM owner_objects WHERE owner_id = %s`, fixRecovery), CodeRecovery, "not established"},
		{"recovery root on an object dropped once committed", append(commit[:len(commit):len(commit)], fmt.Sprintf(`INSERT INTO owner_objects VALUES (%s, %d, 'candidate')`, fixRecovery, fixFree-1)),
			fmt.Sprintf(`DELETE FROM owner_objects WHERE owner_id = %s`, fixRecovery), "", ""},
		{"recovery owner released with a blob", concat(rollback_, dropRoots[1:], []string{retireOwner}), releasedOwn, CodeRetire, "still holds"},

		{"replay moves behind what the head contains", moveHead, moveReplay, "", ""},
		{"replay moves behind what the head lacks", nil, moveReplay, CodeShard, "does not contain"},
		{"replay moves behind what only the old head lacks", moveHead[:1], moveReplay, CodeShard, "does not contain"},
		{"replay moves beyond the log", moveHead, strings.Replace(moveReplay, "= 2", "= 3", 1), CodeShard, "at most one behind"},
		{"replay moves back", append(moveHead[:2:2], moveReplay), strings.Replace(moveReplay, "= 2", "= 1", 1), CodeShard, "only advance"},
		{"root of a contained generation dropped", append(moveHead[:2:2], moveReplay), dropActive, "", ""},
		{"root dropped before replay moves", moveHead, dropActive, CodeRetire, "still replays"},
		{"old head dropped", moveHead, dropOld, "", ""},
	}
}

func manifestCases() []guardCase {
	const reserved = fixFree - 1
	entry := func(chunk any, position, factor int, blob any) string {
		return fmt.Sprintf(`INSERT INTO manifest_entries VALUES (%v, %d, %d, %v, 'update', zeroblob(16), zeroblob(32))`, chunk, position, factor, blob)
	}
	ref := func(representation any, ordinal int, chunk any, entries, first int) string {
		return fmt.Sprintf(`INSERT INTO representation_chunks VALUES (%v, %d, %v, %d, %d)`, representation, ordinal, chunk, entries, first)
	}
	representation := fmt.Sprintf(`INSERT INTO representations VALUES (%d, 2, 4, 1, 2, zeroblob(16))`, fixFree)
	const newChunk = fixFree + 7
	full := []string{representation, entry(newChunk, 0, 1, fixBlob), entry(newChunk, 1, 2, fixBlob)}
	owner := fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'branch_point')`, fixFree+1)
	root := fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree+1, fixFree)
	quarantine := objectUpdate(fixSealed, "state = 'quarantined'")
	one := ref(fixFree, 0, newChunk, 2, 0)
	return []guardCase{
		{"entry appended", nil, entry(fixChunk, 1, 77, fixIndexBlob), "", ""},
		{"entry of a new chunk", nil, entry(newChunk, 0, fixSealed, fixBlob), "", ""},
		{"entry edited", nil, `UPDATE manifest_entries SET contribution = zeroblob(16)`, CodeImmutable, "manifest_entries"},
		{"entry replaced", nil, `INSERT OR REPLACE INTO manifest_entries SELECT * FROM manifest_entries`, CodeDuplicate, "manifest_entries"},
		{"factor of the chunk repeated", nil, entry(fixChunk, 1, fixSealed, fixBlob), CodeDuplicate, "manifest_entries"},
		{"chunk not reserved", nil, entry(fixUnreserved, 0, 1, fixBlob), CodeAllocator, "chunk"},
		{"entry leaves a gap", nil, entry(fixChunk, 2, 77, fixBlob), CodeManifest, "in order"},
		{"first entry leaves a gap", nil, entry(newChunk, 1, 77, fixBlob), CodeManifest, "in order"},
		{"entry of a quarantined object", []string{quarantine}, entry(newChunk, 0, 77, fixBlob), CodeManifest, "sealed"},
		{"entry of a quarantined index", []string{objectUpdate(fixIndexObject, "state = 'quarantined'")}, entry(newChunk, 0, 77, fixIndexBlob), CodeManifest, "sealed"},
		{"entry deleted", nil, `DELETE FROM manifest_entries`, CodeImmutable, "metadata-gc"},
		{"entry deleted in metadata gc", []string{gate}, `DELETE FROM manifest_entries`, CodeManifest, "still has"},
		{"entry behind every reference deleted", []string{entry(fixChunk, 1, 77, fixBlob), gate}, `DELETE FROM manifest_entries WHERE position = 1`, "", ""},

		{"reference", full, one, "", ""},
		{"reference to the start of a chunk", full, ref(fixFree, 0, newChunk, 1, 0), "", ""},
		{"two references", append(full[:3:3], ref(fixFree, 0, newChunk, 1, 0)), ref(fixFree, 1, fixChunk, 1, 1), "", ""},
		{"reference edited", nil, `UPDATE representation_chunks SET entries = 1`, CodeImmutable, "representation_chunks"},
		{"reference replaced", nil, `INSERT OR REPLACE INTO representation_chunks SELECT * FROM representation_chunks`, CodeDuplicate, "representation_chunks"},
		{"chunk referred to twice", append(full[:3:3], ref(fixFree, 0, newChunk, 1, 0)), ref(fixFree, 1, newChunk, 1, 1), CodeDuplicate, "representation_chunks"},
		{"reference leaves a gap", full, ref(fixFree, 1, newChunk, 2, 0), CodeManifest, "in order"},
		{"reference at another position", full, ref(fixFree, 0, newChunk, 1, 1), CodeManifest, "in order"},
		{"second reference at another position", append(full[:3:3], ref(fixFree, 0, newChunk, 1, 0)), ref(fixFree, 1, fixChunk, 1, 2), CodeManifest, "in order"},
		{"reference beyond the chunk", full[:2], one, CodeManifest, "so many"},
		{"reference to no chunk", full[:1], one, CodeManifest, "so many"},
		{"reference beyond the manifest", append(full[:3:3], entry(newChunk, 2, 3, fixBlob)), ref(fixFree, 0, newChunk, 3, 0), CodeManifest, "outside the declared"},
		{"reference deleted", nil, `DELETE FROM representation_chunks`, CodeImmutable, "metadata-gc"},
		{"reference of a rooted representation deleted", []string{gate}, `DELETE FROM representation_chunks`, CodeManifest, "kept whole"},
		{"reference of an unrooted representation deleted", append(full[:3:3], one, gate), fmt.Sprintf(`DELETE FROM representation_chunks WHERE representation_id = %d`, fixFree), "", ""},

		{"whole representation rooted", append(full[:3:3], one, owner), root, "", ""},
		{"representation rooted without a reference", append(full[:3:3], owner), root, CodeManifest, "incomplete"},
		{"representation rooted with one entry missing", append(full[:3:3], ref(fixFree, 0, newChunk, 1, 0), owner), root, CodeManifest, "incomplete"},
		{"representation with a quarantined object rooted", append(full[:3:3], one, owner, quarantine), root, CodeAcquire, "representation"},
		{"representation with another object quarantined rooted", append(full[:3:3], one, owner, objectUpdate(reserved, "state = 'quarantined'"),
			objectUpdate(fixIndexObject, "state = 'quarantined'")), root, "", ""},
		{"representation with a quarantined index rooted", []string{representation, entry(newChunk, 0, 1, fixBlob), entry(newChunk, 1, 2, fixIndexBlob), one, owner,
			objectUpdate(fixIndexObject, "state = 'quarantined'")}, root, CodeAcquire, "representation"},
		{"representation of an attempt deleted", []string{`DROP TRIGGER representation_chunks_delete`, `DROP TRIGGER owner_representations_delete`, gate, `DELETE FROM owner_representations WHERE representation_id = ` + fixCandidate,
			`DELETE FROM representation_chunks WHERE representation_id = ` + fixCandidate}, `DELETE FROM representations WHERE representation_id = ` + fixCandidate, CodeRecovery, "names the representation"},
		{"expected head of an attempt deleted", []string{gate, `DROP TRIGGER owner_representations_delete`, `DELETE FROM owner_representations WHERE owner_id > 6`}, fmt.Sprintf(`DELETE FROM representations WHERE representation_id = %d`, fixRepresentation), CodeRecovery, "names the representation"},
	}
}

func graphCases() []guardCase {
	const reserved = fixFree - 1
	edge := func(source, target int64, role string) string {
		return fmt.Sprintf(`INSERT INTO object_edges VALUES (%d, %d, '%s')`, source, target, role)
	}
	place := func(id int64, seq int) []string {
		return append(sealing(id), objectUpdate(id, fmt.Sprintf("graph_seq = %d", seq)))
	}
	// A second native, and an index of its own before and behind the fixture's.
	native, index, late := place(reserved, 5), append([]string{object(fixFree, "index", 91, "")}, place(fixFree, 6)...), append([]string{object(fixFree+1, "kv", 92, "")}, place(fixFree+1, 7)...)
	both := concat(native, index)
	own := edge(fixFree, reserved, "own_native")
	blob := func(id int64, layout string, native int64, index, target, secondary string, seq int) string {
		borrowed := 0
		if target != "NULL" {
			borrowed = 3
		}
		return fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, index_object_id, main_target_blob_id, secondary_native_object_id, native_count, main_borrowed_count, augmented_count, registration_seq)
			VALUES (%d, '%s', %d, %s, %s, %s, 1, %d, %d, %d)`, id, layout, native, index, target, secondary, borrowed, 1+borrowed, seq)
	}
	n := func(id int64) string { return fmt.Sprint(id) }
	const id = fixFree + 9
	bare := blob(id, "native", reserved, "NULL", "NULL", "NULL", 8)
	chained := concat(both, []string{own, edge(fixFree, fixSealed, "main_native"), edge(fixFree, fixIndexObject, "main_index")})
	job := newOwner("job")
	rootBlob := func(blob any) string { return fmt.Sprintf(`INSERT INTO owner_blobs VALUES (%d, %v)`, fixFree, blob) }
	claim := objectUpdate(reserved, "state = 'gc_claimed'")
	manifest := []string{bare, fmt.Sprintf(`INSERT INTO representations VALUES (%d, 2, 4, 1, 1, zeroblob(16))`, fixFree+2),
		fmt.Sprintf(`INSERT INTO manifest_entries VALUES (%d, 0, 1, %d, 'update', zeroblob(16), zeroblob(32))`, fixFree+3, id),
		fmt.Sprintf(`INSERT INTO representation_chunks VALUES (%d, 0, %d, 1, 0)`, fixFree+2, fixFree+3)}
	manifestRoot := fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, fixFree+2)
	return []guardCase{
		{"edge", both, own, "", ""},
		{"edge between natives", concat(native, late), edge(fixFree+1, reserved, "value"), "", ""},
		{"edge edited", nil, `UPDATE object_edges SET role = 'value'`, CodeImmutable, "object_edges"},
		{"edge replaced", nil, `INSERT OR REPLACE INTO object_edges SELECT * FROM object_edges`, CodeDuplicate, "object_edges"},
		{"edge to an unsealed object", index, own, CodeGraph, "sealed"},
		{"edge to a later object", concat(both, late), edge(fixFree, fixFree+1, "own_native"), CodeGraph, "earlier"},
		{"edge to an object without a place", append(index[:len(index):len(index)], sealing(reserved)...), own, CodeGraph, "earlier"},
		{"edge to itself", index, edge(fixFree, fixFree, "main_index"), CodeGraph, "earlier"},
		{"routing edge from a native", concat(native, late), edge(fixFree+1, reserved, "own_native"), CodeGraph, "kind"},
		{"index as a native", both, edge(fixFree, fixIndexObject, "own_native"), CodeGraph, "kind"},
		{"native as an index", both, edge(fixFree, reserved, "main_index"), CodeGraph, "kind"},
		{"edge of a registered index", native, edge(fixIndexObject, fixSealed, "value"), CodeGraph, "frozen"},
		{"value edge of a registered native", concat(native, late, []string{blob(id, "native", fixFree+1, "NULL", "NULL", "NULL", 8)}), edge(fixFree+1, reserved, "value"), CodeGraph, "frozen"},
		{"edge deleted", nil, `DELETE FROM object_edges`, CodeImmutable, "metadata-gc"},
		{"edge deleted in metadata gc", []string{gate}, `DELETE FROM object_edges`, "", ""},

		{"native blob", native, bare, "", ""},
		{"second native blob", nil, blob(id, "native", fixSealed, "NULL", "NULL", "NULL", 8), CodeDuplicate, "blob_versions"},
		{"blob edited", nil, `UPDATE blob_versions SET native_count = 0`, CodeImmutable, "blob_versions"},
		{"blob replaced", nil, `INSERT OR REPLACE INTO blob_versions SELECT * FROM blob_versions`, CodeDuplicate, "blob_versions"},
		{"second blob of an index", native, blob(id, "IX02", reserved, n(fixIndexObject), "NULL", "NULL", 8), CodeDuplicate, "blob_versions"},
		{"blob not reserved", native, blob(fixUnreserved, "native", reserved, "NULL", "NULL", "NULL", 8), CodeAllocator, "blob_versions"},
		{"registration not reserved", native, strings.Replace(bare, ", 8)", ", 10)", 1), CodeAllocator, "blob_versions"},
		{"blob of an unsealed object", nil, bare, CodeBlob, "sealed"},
		{"blob of an object without a place", sealing(reserved), bare, CodeBlob, "graph position"},
		{"indexed blob", append(both, own), blob(id, "IX02", reserved, n(fixFree), "NULL", "NULL", 8), "", ""},
		{"indexed blob without its edge", both, blob(id, "IX02", reserved, n(fixFree), "NULL", "NULL", 8), CodeBlob, "disagrees"},
		{"indexed blob with an edge too many", chained, blob(id, "IX02", reserved, n(fixFree), "NULL", "NULL", 8), CodeBlob, "disagrees"},
		{"chained blob", chained, blob(id, "IX02", reserved, n(fixFree), n(fixIndexBlob), "NULL", 8), "", ""},
		{"chained blob without the target's index", chained[:len(chained)-1], blob(id, "IX02", reserved, n(fixFree), n(fixIndexBlob), "NULL", 8), CodeBlob, "disagrees"},
		{"chained blob before its target", chained, blob(id, "IX02", reserved, n(fixFree), n(fixIndexBlob), "NULL", 2), CodeBlob, "registered first"},
		{"chained blob on a native one", chained, blob(id, "IX02", reserved, n(fixFree), fixBlob, "NULL", 8), CodeBlob, "indexed target"},
		{"terminal blob", append(both, own, edge(fixFree, fixSealed, "secondary_native")), blob(id, "IX03", reserved, n(fixFree), "NULL", n(fixSealed), 8), "", ""},
		{"terminal blob without its edge", append(both, own), blob(id, "IX03", reserved, n(fixFree), "NULL", n(fixSealed), 8), CodeBlob, "disagrees"},
		{"blob deleted", nil, `DELETE FROM blob_versions`, CodeImmutable, "metadata-gc"},
		{"blob deleted in metadata gc", append(native, bare, gate), fmt.Sprintf(`DELETE FROM blob_versions WHERE blob_id = %d`, id), "", ""},

		{"blob rooted", []string{job}, rootBlob(fixBlob), "", ""},
		{"blob rooted by nobody", nil, rootBlob(fixBlob), CodeOwner, "not active"},
		{"blob root edited", nil, `UPDATE owner_blobs SET blob_id = blob_id`, CodeImmutable, "owner_blobs"},
		{"blob of a quarantined object rooted", []string{job, objectUpdate(fixSealed, "state = 'quarantined'")}, rootBlob(fixBlob), CodeAcquire, "blob"},
		{"blob of a quarantined index rooted", []string{job, objectUpdate(fixIndexObject, "state = 'quarantined'")}, rootBlob(fixIndexBlob), CodeAcquire, "blob"},
		{"blob root dropped", []string{job, rootBlob(fixBlob)}, fmt.Sprintf(`DELETE FROM owner_blobs WHERE owner_id = %d`, fixFree), "", ""},
		{"blob root dropped while frozen", []string{job, rootBlob(fixBlob), freeze}, fmt.Sprintf(`DELETE FROM owner_blobs WHERE owner_id = %d`, fixFree), CodeRetire, "frozen"},

		{"registered object claimed", append(native, bare), claim, "", ""},
		{"object of a rooted blob claimed", append(native, bare, job, rootBlob(id)), claim, CodeGC, "retained blob"},
		{"object of a rooted manifest claimed", concat(native, manifest, []string{job, manifestRoot}), claim, CodeGC, "retained blob"},
		{"object of an unrooted manifest claimed", concat(native, manifest), claim, "", ""},
		{"index of a rooted blob claimed", []string{job, rootBlob(fixIndexBlob)}, objectUpdate(fixIndexObject, "state = 'gc_claimed'"), CodeGC, "retained blob"},
		{"index of an unrooted blob claimed", nil, objectUpdate(fixIndexObject, "state = 'gc_claimed'"), "", ""},
		{"object claimed before its dependent", append(both, own), claim, CodeGC, "depends on it"},
		{"object claimed after its dependent", append(both, own, objectUpdate(fixFree, "state = 'gc_claimed'")), claim, "", ""},
	}
}

func jobCases() []guardCase {
	change := func(set string) string { return `UPDATE jobs SET ` + set + `, revision = revision + 1` }
	end := func(state string) string {
		return change(fmt.Sprintf("state = '%s', ended_at = '2026-01-01T00:00:00Z', error = 'e'", state))
	}
	add := fmt.Sprintf(`INSERT INTO jobs(job_id, kind, target, recipe_version, recipe, owner_id) VALUES (%d, 'gc', '', 1, x'01', %d)`, fixFree+1, fixFree)
	retire := fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %s`, fixJobOwner)
	quarantined := change("state = 'quarantined'")
	return []guardCase{
		{"job added", []string{newOwner("job")}, add, "", ""},
		{"job replaced", nil, `INSERT OR REPLACE INTO jobs SELECT * FROM jobs`, CodeDuplicate, "jobs"},
		{"job of another job's owner", nil, strings.Replace(add, fmt.Sprintf("%d)", fixFree), fixJobOwner+")", 1), CodeDuplicate, "jobs"},
		{"job not reserved", []string{newOwner("job")}, strings.Replace(add, fmt.Sprint(fixFree+1), fmt.Sprint(fixUnreserved), 1), CodeAllocator, "jobs"},
		{"job starts running", []string{newOwner("job")}, strings.NewReplacer("owner_id)", "owner_id, state, started_at)", fmt.Sprintf("%d)", fixFree), fmt.Sprintf("%d, 'running', '2026-01-01T00:00:00Z')", fixFree)).Replace(add), CodeState, "start ready"},
		{"job of a retiring owner", []string{newOwner("job"), fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = 1 WHERE owner_id = %d`, fixFree)}, add, CodeOwner, "active owner"},
		{"job edited", nil, change("target = 'else'"), CodeImmutable, "recipe is fixed"},
		{"job without revision", nil, `UPDATE jobs SET work_reserved = 1`, CodeRevision, "jobs"},
		{"job done", nil, end("done"), "", ""},
		{"job paused", nil, change("state = 'paused'"), "", ""},
		{"paused job done", []string{change("state = 'paused'")}, end("done"), CodeState, "jobs: transition"},
		{"running job ready again", nil, change("state = 'ready'"), CodeState, "jobs: transition"},
		{"job that is over changed", []string{end("done")}, change("work_reserved = 5"), CodeState, "never changes"},
		{"attempt advances", nil, change("attempt_generation = 2"), "", ""},
		{"attempt skips", nil, change("attempt_generation = 3"), CodeJob, "never skips"},
		{"attempt goes back", []string{change("attempt_generation = 2")}, change("attempt_generation = 1"), CodeJob, "never skips"},
		{"out of quarantine in the same attempt", []string{quarantined}, change("state = 'ready'"), CodeJob, "fresh attempt"},
		{"out of quarantine", []string{quarantined}, change("state = 'ready', attempt_generation = 2"), "", ""},
		{"work done", nil, change("work_reserved = 5, work_consumed = 5"), "", ""},
		{"work undone", []string{change("work_reserved = 5, work_consumed = 5")}, change("work_consumed = 4"), CodeJob, "never go back"},
		{"job deleted", []string{gate}, `DELETE FROM jobs`, CodeImmutable, "are over"},
		{"job that is over deleted outside metadata gc", []string{end("failed")}, `DELETE FROM jobs`, CodeImmutable, "are over"},
		{"job that is over deleted", []string{end("cancelled"), gate}, `DELETE FROM jobs`, "", ""},
		{"owner of a running job retired", nil, retire, CodeJob, "not over"},
		{"owner of a job that is over retired", []string{end("done")}, retire, "", ""},
	}
}
