package engine

// mergeFences are those of bases that timelines share.
var mergeFences = []fencesOf{
	{"../catalog/merges.go", "../catalog", []fence{
		{"a merge is found by its exact inputs", `	case !bytes.Equal(stored.Recipe, r.Recipe) || !bytes.Equal(stored.Inputs, r.Inputs) || stored.SchemaID != r.SchemaID:`, `	case false:`, "TestMergeKey"},
		{"a merge is one of the order of its inputs", `		if b = fmt.Appendf(b, " %d:%s:%x", e.ObjectID, e.Role, e.Contribution); len(b) > maxMergeInputs {`, `		if b = fmt.Appendf(b, " %s", e.Role); len(b) > maxMergeInputs {`, "TestMergeKey|TestMergeIsNotShared"},
		{"a merge is of the head that was seen", `	if r.LSN != head.LSN || (&Publication`, `	if r.LSN != head.LSN && (&Publication`, "TestMergeIsNotShared"},
		{"what is handed out of a merge is retained", `		if _, err := tx.ExecContext(ctx, ` + "`" + `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'cache') ON CONFLICT DO NOTHING` + "`" + `, owner, o.ObjectID); err != nil {`, `		if _, err := owner, error(nil); err != nil {`, "TestSharedMerge$"},
		{"a merge has its digest", `	if err := checkDigest("merge of owner", r.OwnerID, r.Digest, r.digest(identity, outputs)); err != nil {`, `	if err := error(nil); err != nil {`, "TestCheckOfMerge"},
	}},
	{"../catalog/merges_keep.go", "../catalog", []fence{
		{"nothing is kept of a part", `	if len(waiting) == 0 || !cut.shareable {`, `	if len(waiting) == 0 {`, "TestSharedMergeOfWholeBases"},
		{"a merge goes with the last one that waits", `		WHERE NOT EXISTS (SELECT 1 FROM completed_merge_waiting WHERE cache_key = m.cache_key)
`, `		WHERE 0
`, "TestMergeIsEvicted"},
		{"a merge goes with the last head that has it", `			OR NOT EXISTS (SELECT 1 FROM completed_merge_outputs o`, `			OR 0 AND NOT EXISTS (SELECT 1 FROM completed_merge_outputs o`, "TestMergeIsEvicted"},
		{"a head that is dropped is none", ` AND t.timeline_id <> ?
`, ` AND t.timeline_id + 0 * ? > 0
`, "TestMergeIsEvicted"},
		{"the newer merge stays", `	if stored != nil && !cut.is(outputs) {`, `	if stored != nil && !cut.is(outputs) && false {`, "TestNewerMergeStays"},
		{"a fork waits as its parent does", `	return waitFor(ctx, tx, keys[0], head.TimelineID)`, `	return nil`, "TestMergeIsEvicted"},
	}},
	{"base_shared.go", ".", []fence{
		{"a base of another timeline is what the catalog has", `	if err := f.matches(); err != nil {`, `	if err := error(nil); err != nil {`, "TestSharedBaseOfAnotherState"},
		{"rows of a base of another timeline are in order", `ids.Table < l.Table || ids.Table == l.Table && ids.Rowid <= l.Rowid {`, `false && l.Table > 0 {`, "TestSharedBaseOfAnotherState"},
		{"a base of another timeline has this one's schema", `; !slices.Equal(r.schema, want) {`, `; false {`, "TestSharedBaseOfAnotherState"},
		{"a base of another timeline has this one's rows", `; got != (tally{rows: int64(t.Len()), sum: t.sum}) {`, `; got.rows < 0 {`, "TestSharedBaseOfAnotherState"},
		{"a damaged base of another timeline is none", `		return nil, s.unshared(ctx, err)
	}
	if errors`, `		return nil, err
	}
	if errors`, "TestSharedBaseDamaged"},
	}},
}
