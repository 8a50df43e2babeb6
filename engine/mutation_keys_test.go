package engine

// keysFences are what rows in files are held against, and where they are.
//
// Not listed: a delta's base is in its own file, since an offset of another one
// is hardly ever that of the row's newest record; borrow tells of a bad frame,
// since what it returns then has no payload.
var keysFences = []fencesOf{
	{"replay_keys.go", ".", []fence{
		{"a delta of a keys row follows its base", `	case d.Prev != uint64(was.off):`, `	case false:`, "TestKeysForgedFrames"},
		{"a replayed chain has an end", `	case was.hops >= maxHops:`, `	case false:`, "TestKeysForgedRows"},
		{"keys rows add up to the claims", `	case sum != t.sum:`, `	case false:`, "TestKeysForgedRows"},
	}},
	{"replay_apply.go", ".", []fence{
		{"a claim counts keys rows", ` || t.tally.rows != k.Rows || `, ` || `, "TestKeysForgedFrames"},
	}},
	{"fold.go", ".", []fence{
		{"a record is of the row that was asked for", `if ids.Table == uint64(def.ID) && ids.Rowid == rowid && ids.Version <= def.Version {`, `if true {`, "TestKeysWrongPlace"},
		{"the newest value of a column is the one", `if !c.seen[k.Ordinal] {`, `if true {`, "TestKeysDepth"},
	}},
	{"wal/checker.go", "wal", []fence{
		{"a single frame's checksum is compared", `	if sum != uint32(head>>32) {`, `	if sum == 0 && false {`, "TestChecker"},
	}},
	{"staging.go", ".", []fence{
		{"a chain stays in its file", ` && was.slot == slot`, ``, "TestKeysChainsStayInTheirFile"},
		{"a chain has an end", ` && was.hops < maxHops`, ``, "TestKeysDepth"},
		{"a view keeps what was rolled back", `n >= s.viewed {`, `true {`, "TestKeysViewBehindARollback"},
		{"the last place of a row is filed", `		if i+1 == len(f.changes) || f.changes[i+1].Rowid != c.Rowid {`, `		if i == 0 || f.changes[i-1].Rowid != c.Rowid {`, "TestKeysOracle"},
		{"an encoding begins at the first operation", `	s.next = 0
`, ``, "TestKeysTwoUpdatesInOne"},
	}},
	{"tree/replace.go", "tree", []fence{
		{"a deleted row does not come back", `i, found := l.searchHead(h); found {`, `i, found := l.searchHead(h); found || i >= 0 {`, "TestRowsLikeMap"},
	}},
	{"undo.go", ".", []fence{
		{"an undone row is where it was", `			before = h.st.locator(was)`, `			_ = was`, "TestKeysOracle"},
	}},
	{"objects.go", ".", []fence{
		{"readers end with the store", `	o.closed.Store(true)
`, ``, "TestKeysFirstRow"},
		{"a file changes over", ` || r.own != nil && r.way != o.pace.way()`, ``, "TestKeysReadersChangeOver"},
		{"what a file is not read through any more is closed", `	_ = o.release(old, r)
`, ``, "TestKeysReadersChangeOver"},
		{"a store is closed behind what changes over", `	defer o.opening.RUnlock()`, `	o.opening.RUnlock()`, "TestKeysCloseWaitsForAChangeOver"},
	}},
	{"reader.go", ".", []fence{
		{"handles are bounded", ` && o.handles.Load() < mostHandles`, ``, "TestKeysHandlesAreBounded"},
		{"to change over fails no read", `; err == nil {
			return r, nil
		}`, `; true {
			return r, err
		}`, "TestKeysReadersStay"},
	}},
	{"pace.go", ".", []fence{
		{"a sample of another way counts for nothing", `if w == p.way() {`, `if true {`, "TestPaceSamples"},
	}},
	{"seal.go", ".", []fence{
		{"a sealed file is mapped", `	s.objects.sealed(g)
`, ``, "TestKeysChainsStayInTheirFile"},
	}},
	{"recovery.go", ".", []fence{
		{"a file that was sealed before is mapped", `			s.objects.sealed(f.generation)`, ``, "TestKeysChainsStayInTheirFile"},
	}},
}
