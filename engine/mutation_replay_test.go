package engine

// replayFences are what a replay holds each frame against.
var replayFences = []fencesOf{
	{"replay_apply.go", ".", []fence{
		{"a row has no more columns than its table", `n > len(t.def.Columns) {
		return damaged(offset, "row`, `false {
		return damaged(offset, "row`, "TestReplayRefuses"},
		{"a delta has a row", `	old, found := t.rows.get(d.Rowid)
	if !found {`, `	old, found := t.rows.get(d.Rowid)
	if !found && false {`, "TestReplayRefuses"},
		{"a delta's base is in its file", `	if !known {`, `	if !known && false {`, "TestReplayRefuses"},
		{"a delta follows its base", `	if d.Prev != uint64(prev) {`, `	if false {`, "TestReplayRefuses"},
		{"a tombstone has a row", `	if !remove(t, d.Rowid) {`, `	if !remove(t, d.Rowid) && false {`, "TestReplayRefuses"},
		{"a row has a table", `		if !ok {
			return nil, damaged(offset, "row of`, `		if !ok {
			return r.tables[0], nil
		}
		if false {
			return nil, damaged(offset, "row of`, "TestReplayRefuses"},
		{"a row is of its table's definition", `	if t.def.Version != version {`, `	if false {`, "TestReplayRefuses"},
		{"a volatile table has no rows", `		if !t.def.Durable {
			return nil,`, `		if false {
			return nil,`, "TestReplayRefuses"},
		{"commits are dense", `	if LSN(c.LSN) != r.lsn+1 {`, `	if false {`, "TestReplayRefuses"},
		{"a commit counts its records", `	if c.Records != r.records {`, `	if false {`, "TestReplayRefuses"},
		{"contributions are in order", `		if i > 0 && k.Table <= c.Contributions[i-1].Table {`, `		if false && i > 0 {`, "TestReplayRefuses"},
		{"a contribution is what the records make", `t.tally != (tally{rows: k.Rows, sum: k.Sum}) ||`, ``, "TestReplayRefuses"},
		{"a contribution is not nothing", ` || t.tally == (tally{}) {`, ` {`, "TestReplayRefuses"},
		{"no contribution is missing", `		if t.tally != (tally{}) {
			return damaged(`, `		if false {
			return damaged(`, "TestReplayRefuses"},
		{"a dropped table weighs nothing", `			continue // the transaction dropped it`, `			r.weigh(t)
			continue`, "TestMemoryBudgetOfPassingTables"},
		{"a table's sum follows its contributions", `		t.sum = t.sum.Add(t.tally.sum)
		t.count`, `		t.count`, "TestCheckpointPublishes"},
	}},
	{"replay_schema.go", ".", []fence{
		{"a schema version is its commit", `	if version != uint64(r.lsn)+1 {`, `	if false {`, "TestReplayRefuses"},
		{"a dropped table takes its sum", `			r.lost = r.lost.Sub(t.sum)
`, ``, "TestFenceLostAtOpen"},
	}},
	{"replay_rows.go", ".", []fence{
		{"rows that come late are merged", `		r.merge()
	}
	return r.tree`, `	}
	return r.tree`, "TestReplayRows|TestStoreRoundTrip"},
	}},
	{"index_tree.go", ".", []fence{
		{"equal keys of a unique index are damage", `			if dup {`, `			if false && dup {`, "TestFenceTwins|Twin|TestReplayRefuses"},
	}},
	{"check_replay.go", ".", []fence{
		{"a check finds what a shard lacks", `	if r.last < c.target.lsn {`, `	if false {`, "TestCheckFindsDamage"},
		{"a check compares the rows", `		case a.Value() != b.Value():`, `		case false:`, "TestCheckComparesMemory"},
	}},
}
