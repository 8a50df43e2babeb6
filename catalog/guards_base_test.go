package catalog

import (
	"fmt"
	"strings"
)

// baseCases are about fragments and the entries that need them.
func baseCases() []guardCase {
	const reserved, id, chunk = fixFree - 1, fixFree, fixFree + 7
	sealed := sealing(reserved)
	quarantined := append(sealed[:2:2], objectUpdate(reserved, "state = 'quarantined'"))
	registered := append(sealed[:2:2], objectUpdate(reserved, "graph_seq = 5"),
		fmt.Sprintf(`INSERT INTO blob_versions(blob_id, layout, native_object_id, native_count, augmented_count, registration_seq) VALUES (%d, 'native', %d, 1, 1, 8)`, fixFree+9, reserved))
	first := fragment(id, reserved, 0, 0, 7)
	one := append(sealed[:2:2], first)
	entry := func(role string, blob any) string {
		return fmt.Sprintf(`INSERT INTO manifest_entries VALUES (%d, 0, 1, %v, '%s', zeroblob(16), zeroblob(32))`, chunk, blob, role)
	}
	// The base object is collected after the guards that keep it step aside.
	collected := []string{`DROP TRIGGER objects_collected`, objectUpdate(fixBase, "state = 'gc_claimed'"), objectUpdate(fixBase, "state = 'collected'")}
	remove := fmt.Sprintf(`DELETE FROM fragments WHERE object_id = %d`, fixBase)
	return []guardCase{
		{"fragment", sealed, first, "", ""},
		{"second fragment", one, fragment(id+1, reserved, 1, 20, 7), "", ""},
		{"fragment edited", nil, `UPDATE fragments SET rows = 6`, CodeImmutable, "fragments"},
		{"fragment replaced", nil, `INSERT OR REPLACE INTO fragments SELECT * FROM fragments`, CodeDuplicate, "fragments"},
		{"fragment id used", sealed, fragment(fixFragment, reserved, 0, 0, 7), CodeDuplicate, "fragments"},
		{"ordinal used", one, fragment(id+1, reserved, 0, 20, 7), CodeDuplicate, "fragments"},
		{"table twice in an object", one, fragment(id+1, reserved, 1, 0, 7), CodeDuplicate, "fragments"},
		{"fragment not reserved", sealed, fragment(fixUnreserved, reserved, 0, 0, 7), CodeAllocator, "fragments"},
		{"fragment without id", sealed, strings.Replace(first, fmt.Sprintf("(%d,", id), "(NULL,", 1), CodeAllocator, "fragments"},
		{"fragment of a reserved object", nil, first, CodeFragment, "sealed kv"},
		{"fragment of a quarantined object", quarantined, first, CodeFragment, "sealed kv"},
		{"fragment of an index", nil, fragment(id, fixIndexObject, 0, 0, 7), CodeFragment, "sealed kv"},
		{"fragment of nothing", nil, fragment(id, 4711, 0, 0, 7), CodeFragment, "sealed kv"},
		{"fragment of a generation", nil, fragment(id, fixSealed, 0, 0, 7), CodeFragment, "generation of the log"},
		{"fragment of a registered object", registered, first, CodeFragment, "fixed once"},
		{"fragment more", nil, fragment(id, fixBase, 2, 21, 5), CodeFragment, "fixed once"},
		{"first fragment leaves a gap", sealed, fragment(id, reserved, 1, 0, 7), CodeFragment, "in order"},
		{"fragment leaves a gap", one, fragment(id+1, reserved, 2, 20, 7), CodeFragment, "in order"},
		{"fragment of another LSN", one, fragment(id+1, reserved, 1, 20, 8), CodeFragment, "one LSN"},
		{"fragment deleted", []string{gate}, remove, CodeImmutable, "fragments"},
		{"fragment of a claimed object deleted", []string{collected[1], gate}, remove, CodeImmutable, "fragments"},
		{"fragment of a collected object deleted outside metadata gc", collected, remove, CodeImmutable, "fragments"},
		{"fragment of a collected object deleted", append(collected[:3:3], gate), remove, "", ""},

		{"base entry", nil, entry("base", fixBaseBlob), "", ""},
		{"base entry without fragments", nil, entry("base", fixBlob), CodeManifest, "needs an object with fragments"},
		{"base as an update", nil, entry("update", fixBaseBlob), CodeManifest, "is a base"},
		{"base merged", nil, entry("merged", fixBaseBlob), CodeManifest, "is a base"},
		{"generation merged", nil, entry("merged", fixBlob), "", ""},
	}
}

// collectionCases are about claims, intents and what leaves.
func collectionCases() []guardCase {
	const reserved = fixFree - 1
	claim := objectUpdate(reserved, "state = 'gc_claimed'")
	step := func(state, more string) string {
		return fmt.Sprintf(`UPDATE gc_work SET claim_state = '%s'%s, revision = revision + 1 WHERE object_id = %d`, state, more, fixClaimed)
	}
	unlinking, unlinked, synced := step("unlinking", ""), step("unlinked", ""), step("synced", "")
	done := step("done", ", outcome = 'unlinked'")
	finished := []string{unlinking, unlinked, synced, done}
	uncertain := step("uncertain", ", error = 'no idea'")
	collect := objectUpdate(fixClaimed, "state = 'collected'")
	remove := fmt.Sprintf(`DELETE FROM gc_work WHERE object_id = %d`, fixClaimed)

	// Generation 1 of the shard is in a head, and nothing else roots it.
	current := fmt.Sprintf(`UPDATE shards SET current_generation = 2, revision = revision + 1 WHERE shard_id = %d`, fixShard)
	free := []string{`DROP TRIGGER owner_objects_delete`, `DROP TRIGGER owner_blobs_delete`, `DELETE FROM owner_objects`, `DELETE FROM owner_blobs`,
		`DROP TRIGGER owner_representations_delete`, fmt.Sprintf(`DELETE FROM owner_representations WHERE representation_id = %s`, fixCandidate),
		objectUpdate(fixIndexObject, "state = 'gc_claimed'")}
	claimSealed := objectUpdate(fixSealed, "state = 'gc_claimed'")
	gone := []string{`DROP TRIGGER objects_claim`, `DROP TRIGGER objects_collected`, objectUpdate(fixSealed, "state = 'gc_claimed'"), objectUpdate(fixSealed, "state = 'collected'"),
		fmt.Sprintf(`UPDATE generations SET state = 'collected', revision = revision + 1 WHERE shard_id = %d AND generation = 1`, fixShard)}
	both := concat(sealing(fixOpen), []string{fmt.Sprintf(`UPDATE generations SET state = 'sealed', first_lsn = 11, last_lsn = 11, records = 1, revision = revision + 1 WHERE shard_id = %d AND generation = 2`, fixShard)},
		gone, []string{objectUpdate(fixOpen, "state = 'gc_claimed'"), objectUpdate(fixOpen, "state = 'collected'"),
			fmt.Sprintf(`UPDATE generations SET state = 'collected', revision = revision + 1 WHERE shard_id = %d AND generation = 2`, fixShard), gate})
	drop := func(number int) string {
		return fmt.Sprintf(`DELETE FROM generations WHERE shard_id = %d AND generation = %d`, fixShard, number)
	}
	return []guardCase{
		{"intent", []string{claim}, intent(reserved, 1), "", ""},
		{"intent of an object that is not claimed", nil, intent(reserved, 1), CodeGC, "claimed object"},
		{"intent of nothing", nil, intent(4711, 1), CodeGC, "claimed object"},
		{"second intent", nil, intent(fixClaimed, 2), CodeGC, "one current claim"},
		{"intent replaced", nil, `INSERT OR REPLACE INTO gc_work SELECT * FROM gc_work`, CodeGC, "one current claim"},
		{"intent after one that is done", finished, intent(fixClaimed, 2), "", ""},
		{"intent repeats a number", finished, intent(fixClaimed, 1), CodeGC, "must advance"},
		{"intent starts unlinking", []string{claim}, strings.NewReplacer("deletion_generation)", "deletion_generation, claim_state)", "1)", "1, 'unlinking')").Replace(intent(reserved, 1)), CodeState, "starts claimed"},
		{"intent starts at revision 1", []string{claim}, strings.NewReplacer("deletion_generation)", "deletion_generation, revision)", "1)", "1, 1)").Replace(intent(reserved, 1)), CodeState, "starts claimed"},
		{"intent edited", nil, step("claimed", ", deletion_generation = 2"), CodeImmutable, "gc_work"},
		{"intent without revision", nil, `UPDATE gc_work SET claim_state = 'unlinking'`, CodeRevision, "gc_work"},
		{"intent steps", nil, unlinking, "", ""},
		{"intent unlinked", finished[:1], unlinked, "", ""},
		{"intent synced", finished[:2], synced, "", ""},
		{"intent done", finished[:3], done, "", ""},
		{"intent skips unlinking", nil, unlinked, CodeState, "gc_work: transition"},
		{"intent skips the sync", finished[:2], done, CodeState, "gc_work: transition"},
		{"intent goes back", finished[:2], unlinking, CodeState, "gc_work: transition"},
		{"intent uncertain", nil, uncertain, "", ""},
		{"uncertain intent unlinking again", []string{uncertain}, unlinking, "", ""},
		{"uncertain intent done", []string{uncertain}, done, CodeState, "gc_work: transition"},
		{"intent that is done changes", finished, uncertain, CodeState, "gc_work: transition"},
		{"intent deleted", []string{gate}, remove, CodeGC, "preserved"},
		{"intent that is done deleted outside metadata gc", finished, remove, CodeGC, "preserved"},
		{"intent that is done deleted", append(finished[:4:4], gate), remove, "", ""},
		{"collected with its intent", finished, collect, "", ""},
		{"collected with an unfinished intent", finished[:3], collect, CodeGC, "finished deletion"},

		{"old generation claimed", append(free[:7:7], current), claimSealed, "", ""},
		{"current generation claimed", free, claimSealed, CodeGC, "log goes on"},
		{"open generation claimed", append(free[:7:7], current), objectUpdate(fixOpen, "state = 'gc_claimed'"), CodeGC, "log goes on"},
		{"next generation claimed", free, objectUpdate(fixOpen, "state = 'gc_claimed'"), CodeGC, "log goes on"},
		{"first generation leaves", both, drop(1), "", ""},
		{"second generation leaves before the first", both, drop(2), CodeGeneration, "older generation"},
		{"second generation leaves after the first", append(both[:len(both):len(both)], drop(1)), drop(2), "", ""},
	}
}
