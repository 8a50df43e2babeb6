package catalog

import (
	"fmt"
)

func rootCases() []guardCase {
	const reserved = fixFree - 1
	retire := fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %d`, fixFree)
	release := fmt.Sprintf(`UPDATE owners SET state = 'released', revision = revision + 1 WHERE owner_id = %d`, fixFree)
	root := func(owner, object int64, purpose string) string {
		return fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, '%s')`, owner, object, purpose)
	}
	representationRoot := fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, fixRepresentation)
	incomplete := fmt.Sprintf(`INSERT INTO representations VALUES (%d, 2, 4, 1, 1, zeroblob(16))`, fixFree+1)
	timeline := `INSERT INTO timelines(timeline_id, name, owner_id, head_world_id, head_representation_id, revision, created_at, digest)
		VALUES (%d, '%s', %d, 2, 5, %d, '2026-01-01T00:00:00Z', zeroblob(32))`
	return []guardCase{
		{"owner added", nil, newOwner("job"), "", ""},
		{"owner replaced", nil, fmt.Sprintf(`INSERT OR REPLACE INTO owners(owner_id, kind) VALUES (%d, 'job')`, fixOwner), CodeDuplicate, "owners"},
		{"owner not reserved", nil, fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'job')`, fixUnreserved), CodeAllocator, "owners"},
		{"reader without a session", nil, newOwner("reader"), CodeSession, "live session"},
		{"owner starts retiring", nil, fmt.Sprintf(`INSERT INTO owners(owner_id, kind, state) VALUES (%d, 'job', 'retiring')`, fixFree), CodeState, "start active"},
		{"owner kind edited", []string{newOwner("job")}, fmt.Sprintf(`UPDATE owners SET kind = 'round', revision = 1 WHERE owner_id = %d`, fixFree), CodeImmutable, "owners"},
		{"owner without revision", []string{newOwner("job")}, fmt.Sprintf(`UPDATE owners SET state = 'retiring' WHERE owner_id = %d`, fixFree), CodeRevision, "owners"},
		{"owner retired", []string{newOwner("job")}, retire, "", ""},
		{"owner released", []string{newOwner("job"), retire}, release, "", ""},
		{"owner skips retiring", []string{newOwner("job")}, release, CodeState, "owners: transition"},
		{"owner comes back", []string{newOwner("job"), retire}, fmt.Sprintf(`UPDATE owners SET state = 'active', revision = revision + 1 WHERE owner_id = %d`, fixFree), CodeState, "owners: transition"},
		{"owner retired while frozen", []string{newOwner("job"), freeze}, retire, CodeRetire, "frozen"},
		{"owner of a timeline retired", nil, fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %d`, fixOwner), CodeSelected, "selected"},
		{"owner released with a representation", []string{newOwner("job"), representationRoot, retire}, release, CodeRetire, "still holds"},
		{"owner released with an object", []string{newOwner("job"), root(fixFree, reserved, "output"), retire}, release, CodeRetire, "still holds"},
		{"owner deleted", []string{gate}, fmt.Sprintf(`DELETE FROM owners WHERE owner_id = %d`, fixOwner), CodeRetire, "only released"},
		{"released owner deleted outside metadata gc", []string{newOwner("job"), retire, release}, fmt.Sprintf(`DELETE FROM owners WHERE owner_id = %d`, fixFree), CodeRetire, "only released"},
		{"released owner deleted", []string{newOwner("job"), retire, release, gate}, fmt.Sprintf(`DELETE FROM owners WHERE owner_id = %d`, fixFree), "", ""},

		{"representation rooted", []string{newOwner("branch_point")}, representationRoot, "", ""},
		{"representation rooted by a retiring owner", []string{newOwner("job"), retire}, representationRoot, CodeOwner, "not active"},
		{"representation rooted by nobody", nil, representationRoot, CodeOwner, "not active"},
		{"incomplete representation rooted", []string{newOwner("job"), incomplete}, fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, fixFree+1), CodeManifest, "incomplete"},
		{"representation root edited", nil, `UPDATE owner_representations SET representation_id = representation_id`, CodeImmutable, "never edited"},
		{"representation root dropped", []string{newOwner("job"), representationRoot}, fmt.Sprintf(`DELETE FROM owner_representations WHERE owner_id = %d`, fixFree), "", ""},
		{"representation root dropped while frozen", []string{newOwner("job"), representationRoot, freeze}, fmt.Sprintf(`DELETE FROM owner_representations WHERE owner_id = %d`, fixFree), CodeRetire, "frozen"},

		{"object rooted", []string{newOwner("job")}, root(fixFree, reserved, "output"), "", ""},
		{"object rooted by a retiring owner", []string{newOwner("job"), retire}, root(fixFree, reserved, "output"), CodeOwner, "not active"},
		{"active generation rooted by a job", []string{newOwner("job")}, root(fixFree, reserved, "active"), CodeOwner, "only a timeline"},
		{"claimed object rooted", []string{newOwner("job"), objectUpdate(reserved, "state = 'gc_claimed'")}, root(fixFree, reserved, "output"), CodeAcquire, "claimed"},
		{"quarantined object rooted as output", []string{newOwner("job"), objectUpdate(reserved, "state = 'quarantined'")}, root(fixFree, reserved, "output"), CodeAcquire, "quarantine"},
		{"quarantined object rooted as such", []string{newOwner("job"), objectUpdate(reserved, "state = 'quarantined'")}, root(fixFree, reserved, "quarantine"), "", ""},
		{"object root edited", nil, `UPDATE owner_objects SET purpose = 'cache'`, CodeImmutable, "never edited"},
		{"object root replaced", []string{newOwner("job"), root(fixFree, reserved, "output")},
			fmt.Sprintf(`INSERT OR REPLACE INTO owner_objects VALUES (%d, %d, 'cache')`, fixFree, reserved), CodeImmutable, "purpose"},
		{"object root dropped", []string{newOwner("job"), root(fixFree, reserved, "output")}, fmt.Sprintf(`DELETE FROM owner_objects WHERE owner_id = %d`, fixFree), "", ""},
		{"object root dropped while frozen", []string{newOwner("job"), root(fixFree, reserved, "output"), freeze}, fmt.Sprintf(`DELETE FROM owner_objects WHERE owner_id = %d`, fixFree), CodeRetire, "frozen"},
		{"root of a generation to be replayed dropped", nil, fmt.Sprintf(`DELETE FROM owner_objects WHERE object_id = %d`, fixSealed), CodeRetire, "still replays"},

		{"timeline added", []string{newOwner("timeline"), representationRoot}, fmt.Sprintf(timeline, fixFree+1, "other", fixFree, 0), "", ""},
		{"timeline name used", []string{newOwner("timeline")}, fmt.Sprintf(timeline, fixFree+1, "main", fixFree, 0), CodeDuplicate, "timelines"},
		{"timeline replaced", []string{newOwner("timeline")}, "INSERT OR REPLACE" + fmt.Sprintf(timeline, fixTimeline, "x", fixFree, 0)[len("INSERT"):], CodeDuplicate, "timelines"},
		{"timeline not reserved", []string{newOwner("timeline")}, fmt.Sprintf(timeline, fixUnreserved, "x", fixFree, 0), CodeAllocator, "timelines"},
		{"timeline starts at revision 1", []string{newOwner("timeline")}, fmt.Sprintf(timeline, fixFree+1, "x", fixFree, 1), CodeRevision, "revision 0"},
		{"timeline renamed", nil, `UPDATE timelines SET name = 'x', revision = revision + 1`, CodeImmutable, "timelines"},
		{"timeline without revision", nil, `UPDATE timelines SET digest = randomblob(32)`, CodeRevision, "timelines"},
		{"timeline skips a revision", nil, `UPDATE timelines SET revision = revision + 2`, CodeRevision, "timelines"},
		{"timeline steps", nil, `UPDATE timelines SET revision = revision + 1`, "", ""},
	}
}

func logCases() []guardCase {
	shard := `INSERT INTO shards(shard_id, timeline_id, ordinal, writer_epoch, current_generation, replay_from, digest) VALUES (%d, %d, %d, %d, 1, 1, zeroblob(32))`
	step := func(set string) string {
		return fmt.Sprintf(`UPDATE shards SET %s, revision = revision + 1 WHERE shard_id = %d`, set, fixShard)
	}
	otherTimeline := []string{newOwner("timeline"),
		fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, fixRepresentation),
		fmt.Sprintf(`INSERT INTO timelines(timeline_id, name, owner_id, head_world_id, head_representation_id, created_at, digest)
			VALUES (%d, 'x', %d, 2, 5, '2026-01-01T00:00:00Z', zeroblob(32))`, fixFree+1, fixFree)}
	const third = fixFree + 5
	rooted := []string{object(third, "kv", 95, ""), fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'active')`, fixOwner, third)}
	generation := func(number, object int64) string {
		return fmt.Sprintf(`INSERT INTO generations(shard_id, generation, object_id, digest) VALUES (%d, %d, %d, zeroblob(32))`, fixShard, number, object)
	}
	seal := func(number, first, last int64) string {
		return fmt.Sprintf(`UPDATE generations SET state = 'sealed', first_lsn = %d, last_lsn = %d, records = 0, revision = revision + 1 WHERE shard_id = %d AND generation = %d`, first, last, fixShard, number)
	}
	change := func(number int64, set string) string {
		return fmt.Sprintf(`UPDATE generations SET %s, revision = revision + 1 WHERE shard_id = %d AND generation = %d`, set, fixShard, number)
	}
	// Generation 1 is collected after the guards that keep it step aside.
	collect := []string{`DROP TRIGGER objects_claim`, `DROP TRIGGER objects_collected`, `DROP TRIGGER owner_objects_delete`,
		fmt.Sprintf(`DELETE FROM owner_objects WHERE object_id = %d`, fixSealed),
		objectUpdate(fixSealed, "state = 'gc_claimed'"), objectUpdate(fixSealed, "state = 'collected'")}
	child := fmt.Sprintf(`INSERT INTO shards(shard_id, timeline_id, ordinal, parent_shard_id, parent_generation, current_generation, replay_from, digest)
		VALUES (%d, %d, 0, %d, 2, 3, 3, zeroblob(32))`, fixFree+2, fixFree+1, fixShard)
	childRoot := []string{object(third, "kv", 95, ""), fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'active')`, fixFree, third)}
	childGeneration := `INSERT INTO generations(shard_id, generation, object_id, digest) VALUES (%d, %d, %d, zeroblob(32))`
	return []guardCase{
		{"shard of another timeline", otherTimeline, fmt.Sprintf(shard, fixFree+2, fixFree+1, 1, 0), "", ""},
		{"shard id used", otherTimeline, fmt.Sprintf(shard, fixShard, fixFree+1, 1, 0), CodeDuplicate, "shards"},
		{"shard ordinal used", nil, "INSERT OR REPLACE" + fmt.Sprintf(shard, fixFree+2, fixTimeline, 1, 0)[len("INSERT"):], CodeDuplicate, "shards"},
		{"shard not reserved", otherTimeline, fmt.Sprintf(shard, fixUnreserved, fixFree+1, 0, 0), CodeAllocator, "shards"},
		{"shard beyond the count", nil, fmt.Sprintf(shard, fixFree+2, fixTimeline, 2, 0), CodeShard, "shard count"},
		{"shard starts with an epoch", otherTimeline, fmt.Sprintf(shard, fixFree+2, fixFree+1, 0, 1), CodeShard, "epoch 0"},
		{"shard moved", nil, step("ordinal = 5"), CodeImmutable, "shards"},
		{"shard without revision", nil, `UPDATE shards SET writer_epoch = writer_epoch + 1`, CodeRevision, "shards"},
		{"epoch advances", nil, step("writer_epoch = writer_epoch + 1"), "", ""},
		{"epoch jumps", nil, step("writer_epoch = writer_epoch + 2"), CodeShard, "by one"},
		{"epoch goes back", []string{step("writer_epoch = writer_epoch + 1")}, step("writer_epoch = writer_epoch - 1"), CodeShard, "by one"},
		{"current generation advances", nil, step("current_generation = 2"), "", ""},
		{"current generation goes back", []string{step("current_generation = 2")}, step("current_generation = 1"), CodeShard, "only advance"},
		{"current generation not reserved", nil, step("current_generation = 3"), CodeShard, "not reserved"},
		{"shard deleted", nil, `DELETE FROM shards`, CodeImmutable, "metadata-gc"},
		{"shard deleted in metadata gc", append(otherTimeline[:3:3], fmt.Sprintf(shard, fixFree+2, fixFree+1, 1, 0), gate), fmt.Sprintf(`DELETE FROM shards WHERE shard_id = %d`, fixFree+2), "", ""},

		{"next generation", rooted, generation(3, third), "", ""},
		{"generation used", rooted, "INSERT OR REPLACE" + generation(2, third)[len("INSERT"):], CodeDuplicate, "generations"},
		{"object of another generation", nil, generation(3, fixOpen), CodeDuplicate, "generations"},
		{"generation skipped", rooted, generation(4, third), CodeGeneration, "dense"},
		{"first generation of a child shard", concat(otherTimeline, []string{child}, childRoot), fmt.Sprintf(childGeneration, fixFree+2, 3, third), "", ""},
		{"child shard starts over", concat(otherTimeline, []string{child}, childRoot), fmt.Sprintf(childGeneration, fixFree+2, 1, third), CodeGeneration, "dense"},
		{"generation starts sealed", rooted, fmt.Sprintf(`INSERT INTO generations(shard_id, generation, object_id, state, first_lsn, last_lsn, records, digest)
			VALUES (%d, 3, %d, 'sealed', 1, 1, 1, zeroblob(32))`, fixShard, third), CodeState, "start open"},
		{"generation on a sealed object", concat(rooted, sealing(third)), generation(3, third), CodeState, "start open"},
		{"generation without a root", rooted[:1], generation(3, third), CodeGeneration, "rooted"},
		{"generation moved", nil, change(2, "object_id = 11"), CodeImmutable, "generations: identity"},
		{"generation without revision", nil, `UPDATE generations SET digest = randomblob(32)`, CodeRevision, "generations"},
		{"generation sealed", sealing(fixOpen), seal(2, 11, 11), "", ""},
		{"generation sealed without a commit", sealing(fixOpen), seal(2, 11, 10), "", ""},
		{"generation sealed before its object", nil, seal(2, 11, 11), CodeSeal, "together"},
		{"generation opened again", nil, change(1, "state = 'open', first_lsn = NULL, last_lsn = NULL, records = NULL"), CodeState, "generations: transition"},
		{"open generation collected", nil, change(2, "state = 'collected', first_lsn = 1, last_lsn = 1, records = 1"), CodeState, "generations: transition"},
		{"sealed generation edited", nil, change(1, "records = records + 1"), CodeImmutable, "sealed descriptor"},
		{"generation sealed out of order", concat(rooted, []string{generation(3, third)}, sealing(third)), seal(3, 21, 21), CodeGeneration, "still open"},
		{"generation overlaps the one before", sealing(fixOpen), seal(2, 10, 11), CodeGeneration, "overlap"},
		{"generation collected before its object", nil, change(1, "state = 'collected'"), CodeState, "not collected"},
		{"generation collected", collect, change(1, "state = 'collected'"), "", ""},
		{"generation deleted", []string{gate}, fmt.Sprintf(`DELETE FROM generations WHERE generation = 1 AND shard_id = %d`, fixShard), CodeImmutable, "only collected"},
		{"collected generation deleted", append(collect[:6:6], change(1, "state = 'collected'"), gate),
			fmt.Sprintf(`DELETE FROM generations WHERE generation = 1 AND shard_id = %d`, fixShard), "", ""},

		{"table renamed in the projection", nil, `UPDATE tables SET name = 'other'`, "", ""},
		{"projection row deleted", nil, `DELETE FROM indexes`, "", ""},
	}
}
