package engine

// historyFences are those of branch points and of the states that they name.
var historyFences = []fencesOf{
	{"branch.go", ".", []fence{
		{"a poisoned store deletes no branch point", `	if err := s.Poisoned(); err != nil {`, `	if err := error(nil); err != nil {`, "TestBranchPointOfPoisonedStore"},
		{"a branch point has what was written", `	if err := s.checkpoint(ctx, lockTimeout, nil); err != nil {`, `	if err := error(nil); err != nil {`, "TestBranchPoint$"},
		{"a branch point is of the head", `	head := s.pub.head
`, `	head := catalog.Timeline{}
`, "TestBranchPoint$"},
		{"the history of a deleted branch point is not kept", `		open.histories.letGo(b.RepresentationID)`, `		_, _ = open, b`, "TestBranchPointIsRead$"},
		{"what a branch point needed is swept", `	s.removable()
	return nil`, `	return nil`, "TestReplacedFilesOfBranchPoints"},
	}},
	{"history.go", ".", []fence{
		{"what is read is held", `	h.hold(p, known)
`, ``, "TestBranchPointIsRead$"},
		{"a history that could not be read is forgotten", `		h.remove(p)
		p.err = err`, `		p.err = err`, "TestDamagedBranchPoint|TestBranchPointIsReadOnce"},
		{"a history is held while something can be read", `return p.loaded && p.objects.lease.over(onlyLease)`, `return p.loaded`, "TestBranchPointIsRead$"},
		{"a history is held for no longer", `return p.loaded && p.objects.lease.over(onlyLease)`, `return false`, "TestBranchPointIsRead$"},
		{"histories are held while they are read", `return p.loaded && p.objects.lease.over(onlyLease)`, `return p.objects == nil || p.objects.lease.over(onlyLease) || !p.loaded`, "TestBranchPointDeletedWhileItIsRead"},
		{"a history is shared", `		h.keep(p, r)
	}
	close(p.done)`, `	}
	p.root = weak.Pointer[root]{}
	close(p.done)`, "TestBranchPointIsReadOnce"},
		{"histories end with the store", `			errs = append(errs, p.objects.close())`, ``, "TestBranchPointRefusals"},
	}},
	{"history_load.go", ".", []fence{
		{"a history has the rows of its world", `t.rows != known.LiveCount`, `false`, "TestHistoryIsTheWorld"},
		{"a history has the fingerprint of its world", `t.sum != sumOf(known.Fingerprint)`, `false`, "TestHistoryIsTheWorld"},
		{"a history has the schema of its world", `v != uint64(known.SchemaVersion)`, `false && v != 0`, "TestHistoryIsTheWorld"},
	}},
	{"history_state.go", ".", []fence{
		{"nothing but the state and its tables has its lease", `	o.lease.current.Store(nil) // from`, `	// from`, "TestBranchPointIsRead$"},
		{"a history is no other state", `content: new(content)}`, `content: st.s.durable.Load().content}`, "TestBranchPointOfNothing"},
		{"a state has the rows of its world", `rows != known.LiveCount`, `false`, "TestHistoryIsTheWorld"},
		{"a state has the fingerprint of its world", `sum != sumOf(known.Fingerprint)`, `false`, "TestHistoryIsTheWorld"},
		{"a shard has an ordinal", `		if !ok || ordinal < 0 ||`, `		if ok && false || ordinal < 0 ||`, "TestHistoryIsTheWorld"},
		{"damage of a file is one of its tables", `			f.bad, err = err, nil // concerns`, `			// concerns`, "TestPastTablesWithDamage"},
	}},
	{"history_table.go", ".", []fence{
		{"a table has room for what is left", `	if over := present + h.held() - budget; over > 0 {`, `	if over := h.held() - budget; over > 0 {`, "TestPastTablesBeyondTheBudget|TestBranchPointsWithinTheBudget"},
		{"a table that does not fit is refused", `all > budget {`, `all > 2*budget {`, "TestPastTablesBeyondTheBudget|TestBranchPointsWithinTheBudget"},
		{"a damaged file is one of its tables", `			return f.bad
`, `				return nil
`, "TestPastTablesWithDamage"},
	}},
	{"history_memory.go", ".", []fence{
		{"what was used longest ago goes first", `cmp.Compare(a.used.Load(), b.used.Load())`, `cmp.Compare(b.used.Load(), a.used.Load())`, "TestPastTablesBeyondTheBudget"},
		{"what a scan has counts", `return t.table.Value() == nil })`, `return t.table.Value() == nil || t.of.Value() != nil && t.of.Value().loaded.Load() == nil })`, "TestPastTablesBeyondTheBudget|TestBranchPointsWithinTheBudget"},
	}},
	{"budget.go", ".", []fence{
		{"writes have the room that histories take", `		t.pasts.makeRoom(over, false)
`, ``, "TestPastTablesBeyondTheBudget"},
		{"histories count beside what is written", `	over := t.memory + need + t.besides() - t.budget
	if`, `	over := t.memory + need - t.budget
	if`, "TestPastTablesBeyondTheBudget"},
	}},
	{"recovery_restore.go", ".", []fence{
		{"a shard is one of the store's", `ordinal < 0 || ordinal >= int64(len(r.shards))`, `false`, "TestHistoryIsTheWorld"},
	}},
	{"collect.go", ".", []fence{
		{"what a branch point needs leaves the lists of the log", `		err = s.leave(over)
`, `		_ = over
`, "TestReplacedFilesOfBranchPoints"},
		{"histories are held", `	s.histories.addHeld(list)
`, ``, "TestBranchPointIsRead$"},
	}},
	{"check.go", ".", []fence{
		{"branch points are checked", `		if err := c.branches(); err != nil {`, `		if err := error(nil); err != nil {`, "TestDamagedBranchPoint"},
		{"other timelines are checked", `	return c.timelines()`, `	return nil`, "TestCheckFindsDamageOfTimelines"},
	}},
	{"check_offline.go", ".", []fence{
		{"branch points are checked offline", `	if err := c.branches(); err != nil {`, `	if err := error(nil); err != nil {`, "TestDamagedBranchPoint"},
		{"other timelines are checked offline", `	return c.timelines()`, `	return nil`, "TestCheckFindsDamageOfTimelines"},
	}},
	{"check_branch.go", ".", []fence{
		{"content ids of branch points are compared", `	if id != content {`, `	if false {`, "TestContentOfBranchPoints"},
	}},
}
