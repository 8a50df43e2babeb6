package catalog

import "fmt"

// indexCases are about segments, index states, the tables of generations and what is
// live of base entries.
func indexCases() []guardCase {
	const state, reserved, representation = fixFree, fixFree - 1, fixFree + 1
	index := fixFree + 2
	sealedIndex := []string{object(int64(index), "index", 95, ""), sealing(int64(index))[0], sealing(int64(index))[1]}
	fresh := []string{fmt.Sprintf(`INSERT INTO index_states VALUES (%d, 128, 128, zeroblob(32))`, state)}
	withSegment := append(fresh[:1:1], stateSegment(state, 0, fixSegment))
	compacted := append(withSegment[:2:2], compactedUpTo(state, fixShard, 3))
	legacy := []string{fmt.Sprintf(`INSERT INTO index_states VALUES (%d, 0, 0, zeroblob(32))`, state), stateSegment(state, 0, fixSegment), compactedUpTo(state, fixShard, 3)}
	has := []string{fmt.Sprintf(`INSERT INTO representations VALUES (%d, %d, %d, 1, 0, zeroblob(16))`, representation, fixWorld, fixState)}
	rooted := append(has[:1:1], newOwner("job"), fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, representation))
	second := append(sealedIndex[:3:3], segmentRowOf(int64(index), 20))
	quarantine := objectUpdate(fixSegment, "state = 'quarantined'")
	collected := []string{`DROP TRIGGER objects_collected`, objectUpdate(fixSegment, "state = 'gc_claimed'"), objectUpdate(fixSegment, "state = 'collected'")}
	hasEntry := []string{fmt.Sprintf(`INSERT INTO representations VALUES (%d, %d, %d, 1, 1, zeroblob(16))`, representation, fixWorld, fixIndexState),
		fmt.Sprintf(`INSERT INTO representation_chunks VALUES (%d, 0, %d, 1, 0)`, representation, fixLive)}
	return []guardCase{
		{"segment", sealedIndex, segmentRowOf(int64(index), 20), "", ""},
		{"segment edited", nil, `UPDATE segments SET entries = 2`, CodeImmutable, "segments"},
		{"segment replaced", nil, `INSERT OR REPLACE INTO segments SELECT * FROM segments`, CodeDuplicate, "segments"},
		{"segment of a reserved object", sealedIndex[:1], segmentRowOf(int64(index), 20), CodeIndex, "sealed index"},
		{"segment of a kv", nil, segmentRowOf(fixSealed, 20), CodeIndex, "sealed index"},
		{"segment of a blob's index", nil, segmentRowOf(fixIndexObject, 20), CodeIndex, "index of a blob"},
		{"segment deleted", []string{gate}, `DELETE FROM segments`, CodeImmutable, "collected objects leave"},
		{"segment of a collected object deleted", append(collected[:3:3], gate, `DELETE FROM index_state_catchup`, `DELETE FROM index_state_segments`), `DELETE FROM segments`, "", ""},

		{"segment of a state", fresh, stateSegment(state, 0, fixSegment), "", ""},
		{"second segment of a state", append(withSegment[:2:2], second...), stateSegment(state, 1, int64(index)), "", ""},
		{"segment of a state edited", nil, `UPDATE index_state_segments SET fragments = x'02'`, CodeImmutable, "index_state_segments"},
		{"segment of a state replaced", nil, `INSERT OR REPLACE INTO index_state_segments SELECT * FROM index_state_segments`, CodeDuplicate, "index_state_segments"},
		{"segment twice in a state", withSegment, stateSegment(state, 1, fixSegment), CodeDuplicate, "index_state_segments"},
		{"segment of a state that a representation has", append(has[:1:1], second...), stateSegment(fixState, 1, int64(index)), CodeIndex, "complete once"},
		{"segment of a state leaves a gap", fresh, stateSegment(state, 1, fixSegment), CodeIndex, "in order"},
		{"segment of another index", fresh, fmt.Sprintf(`INSERT INTO index_state_segments VALUES (%d, 21, 0, %d, 20, x'01')`, state, fixSegment), CodeIndex, "sealed for"},
		{"segment of another table", fresh, fmt.Sprintf(`INSERT INTO index_state_segments VALUES (%d, 20, 0, %d, 21, x'01')`, state, fixSegment), CodeIndex, "sealed for"},
		{"segment that is quarantined", append(fresh[:1:1], quarantine), stateSegment(state, 0, fixSegment), CodeIndex, "must be sealed"},
		{"segment of a state deleted", nil, `DELETE FROM index_state_segments`, CodeImmutable, "metadata-gc"},
		{"segment of a state that a representation has deleted", append(has[:1:1], gate), `DELETE FROM index_state_segments`, CodeIndex, "kept whole"},

		{"progress", withSegment, compactedUpTo(state, fixShard, 3), "", ""},
		{"progress edited", nil, `UPDATE index_state_compacted SET generation = 4`, CodeImmutable, "index_state_compacted"},
		{"progress replaced", nil, `INSERT OR REPLACE INTO index_state_compacted SELECT * FROM index_state_compacted`, CodeDuplicate, "index_state_compacted"},
		{"progress of a state that a representation has", has, compactedUpTo(fixState, fixShard+1, 3), CodeIndex, "complete once"},
		{"progress deleted", nil, `DELETE FROM index_state_compacted`, CodeImmutable, "metadata-gc"},
		{"progress of a state that a representation has deleted", append(has[:1:1], gate), `DELETE FROM index_state_compacted`, CodeIndex, "kept whole"},

		{"position", compacted, caughtUpTo(state, 20, fixShard, 3), "", ""},
		{"position edited", nil, `UPDATE index_state_catchup SET generation = 3`, CodeImmutable, "index_state_catchup"},
		{"position replaced", nil, `INSERT OR REPLACE INTO index_state_catchup SELECT * FROM index_state_catchup`, CodeDuplicate, "index_state_catchup"},
		{"position in a state that a representation has", has, caughtUpTo(fixState, 20, fixShard+1, 1), CodeIndex, "complete once"},
		{"position where none is maintained", legacy, caughtUpTo(state, 20, fixShard, 1), CodeIndex, "not maintained"},
		{"position beyond progress", compacted, caughtUpTo(state, 20, fixShard, 4), CodeIndex, "compacted only"},
		{"position of a shard without progress", compacted, caughtUpTo(state, 20, fixShard+1, 1), CodeIndex, "compacted only"},
		{"position of an index without a segment", compacted, caughtUpTo(state, 21, fixShard, 1), CodeIndex, "without a segment"},
		{"position deleted", nil, `DELETE FROM index_state_catchup`, CodeImmutable, "metadata-gc"},
		{"position of a state that a representation has deleted", append(has[:1:1], gate), `DELETE FROM index_state_catchup`, CodeIndex, "kept whole"},

		{"tables of an open generation", nil, fmt.Sprintf(`INSERT INTO generation_tables VALUES (%d, 21, 1)`, fixOpen), "", ""},
		{"tables of a sealed generation", nil, fmt.Sprintf(`INSERT INTO generation_tables VALUES (%d, 20, 1)`, fixSealed), CodeGeneration, "fixed when it is sealed"},
		{"tables of no generation", nil, fmt.Sprintf(`INSERT INTO generation_tables VALUES (%d, 20, 1)`, reserved), CodeGeneration, "fixed when it is sealed"},
		{"tables edited", nil, `UPDATE generation_tables SET records = 4`, CodeImmutable, "generation_tables"},
		{"tables replaced", nil, `INSERT OR REPLACE INTO generation_tables SELECT * FROM generation_tables`, CodeDuplicate, "generation_tables"},
		{"tables deleted", []string{gate}, `DELETE FROM generation_tables`, CodeImmutable, "collected objects leave"},
		{"tables of a sealed generation signed", nil, fmt.Sprintf(`UPDATE generations SET tables_digest = zeroblob(32), revision = revision + 1 WHERE object_id = %d`, fixSealed),
			CodeImmutable, "fixed when it is sealed"},

		{"live rows", nil, liveOf(fixLive, 0, 1, 5), "", ""},
		{"live rows edited", nil, `UPDATE entry_fragments SET live_rows = 4`, CodeImmutable, "entry_fragments"},
		{"live rows replaced", nil, `INSERT OR REPLACE INTO entry_fragments SELECT * FROM entry_fragments`, CodeDuplicate, "entry_fragments"},
		{"live rows of an entry that a representation has", hasEntry, liveOf(fixLive, 0, 1, 5), CodeManifest, "fixed once"},
		{"live rows leave a gap", nil, liveOf(fixLive, 0, 2, 5), CodeManifest, "in order"},
		{"more live rows than rows", nil, liveOf(fixLive, 0, 1, 6), CodeManifest, "at most all"},
		{"live rows of no fragment", []string{liveOf(fixLive, 0, 1, 5)}, liveOf(fixLive, 0, 2, 5), CodeManifest, "at most all"},
		{"live rows of no entry", nil, liveOf(fixLive, 1, 0, 5), CodeManifest, "at most all"},
		{"live rows deleted", nil, `DELETE FROM entry_fragments`, CodeImmutable, "metadata-gc"},
		{"live rows of an entry that a representation has deleted", append(hasEntry[:2:2], gate), `DELETE FROM entry_fragments`, CodeManifest, "still has the entry"},
		{"live rows deleted in metadata gc", []string{gate}, `DELETE FROM entry_fragments`, "", ""},

		{"representation with a segment acquired", rooted[:2], rooted[2], "", ""},
		{"representation with a quarantined segment acquired", append(rooted[:2:2], quarantine), rooted[2], CodeAcquire, "a segment of this representation"},
		{"segment of a retained representation claimed", rooted, objectUpdate(fixSegment, "state = 'gc_claimed'"), CodeGC, "as a segment"},
		{"segment of a representation that nothing retains claimed", has, objectUpdate(fixSegment, "state = 'gc_claimed'"), "", ""},
	}
}
