package engine

// branchFences are those of branch points, pins, forks, restores and dropped timelines.
var branchFences = []fencesOf{
	{"../catalog/branch.go", "../catalog", []fence{
		{"a branch point is of the expected head", `.conflict(h); conflict != nil {`, `.conflict(h); false {`, "TestBranchPointRefusals"},
		{"a branch point has its digest", `	if err := checkDigest("branch point", r.BranchID, r.Digest, r.digest(identity)); err != nil {`, `	if err := error(nil); err != nil {`, "TestBranchPointDamage"},
		{"a branch point has its root", `	if !r.Rooted {`, `	if false {`, "TestBranchPointDamage"},
		{"a deleted branch point retains nothing", `	if err := dropAllRoots(ctx, tx, owner); err != nil {`, `	if err := error(nil); err != nil {`, "TestBranchPoint$"},
		{"a state that nothing retains leaves no rows", `			if err := pruneRepresentation(ctx, tx, id); err != nil {`, `			if err := error(nil); id == 0 || err != nil {`, "TestBranchPointsOfOneState"},
	}},
	{"../catalog/history.go", "../catalog", []fence{
		{"a history has the digest of what selects it", `	if err := checkSelectors(ctx, q, identity, representationID); err != nil {`, `	if err := error(nil); err != nil {`, "TestBranchPointDamage"},
		{"a history is of sealed generations", `		case g.State != GenerationSealed:`, `		case false:`, "TestContradictingHistory"},
		{"a history is of its world's commits", ` || g.LastLSN > h.LSN):`, `):`, "TestContradictingHistory"},
		{"a history is behind its base", `(g.FirstLSN <= h.BaseLSN || `, `(`, "TestContradictingHistory"},
		{"a history goes forward", `		case g.Generation <= last[g.ShardID]:`, `		case false:`, "TestContradictingHistory"},
		{"a history has the digests of its shards", `		if err := checkDigest("shard", rows[i].ID, rows[i].Digest, rows[i].digest(identity)); err != nil {`, `		if err := error(nil); err != nil {`, "TestBranchPointDamage"},
	}},
	{"../catalog/process.go", "../catalog", []fence{
		{"a pid says nothing in another namespace", `	case p.PIDNamespace != self.PIDNamespace:`, `	case false:`, "TestReap$|TestProbe"},
		{"a pid of another start is another process", `	case there.StartTicks != p.StartTicks:`, `	case there.StartTicks != p.StartTicks && false:`, "TestReap$"},
		{"who cannot tell is not certain", `	case err != nil:`, `	case err != nil && false:`, "TestReap$"},
	}},
	{"../catalog/reap.go", "../catalog", []fence{
		{"without certainty nobody is dead", `	case !certain:`, `	case !certain && false:`, "TestReap$"},
		{"a session that changed was not looked at", ` || err == nil && now.revision != v.revision {`, ` || err == nil && now == nil {`, "TestReapUncertainAgain"},
		{"the dead let go", `	if v.state != SessionDead || !release {`, `	if true {`, "TestReap$"},
		{"nobody lets go while outcomes are looked up", `, frozen == nil); err != nil {`, `, true); err != nil {`, "TestPinFrozen"},
	}},
	{"../catalog/pins.go", "../catalog", []fence{
		{"who is over acquires nothing", `		case s.over():`, `		case false:`, "TestReap$|TestPin$"},
		{"who acts lives", `			if err := s.step(ctx, tx, SessionLive, "", ""); err != nil {`, `			if err := error(nil); err != nil {`, "TestReap$"},
		{"only pins are let go of as such", ` || err == nil && kind != "reader" {`, ` {`, "TestPinRefusals"},
	}},
	{"../catalog/restore.go", "../catalog", []fence{
		{"a restore is younger than the head", `	if lsn <= head.LSN {`, `	if false {`, "TestRestoreRefusals"},
		{"a restore is younger than what it restores", `		if r.LSN <= source.LSN {`, `		if false {`, "TestRestoreFromAnotherTimeline"},
		{"a restore is younger than the log", `			case g.LastLSN >= lsn:`, `			case false:`, "TestRestoreRefusals"},
		{"a restore passes over no open generation", `				first = cmp.Or(first, g.Generation)`, `				first = g.Generation`, "TestRestoreBeforeTheCurrentGeneration"},
		{"a restore goes on in an open generation", `		if first == 0 {`, `		if false {`, "TestRestoreIntoSealed"},
		{"what a restore undid is not replayed", `s.ReplayFrom = f.Generation; return nil })`, `return nil })`, "TestRestore$"},
	}},
	{"timeline_restore.go", ".", []fence{
		{"a restore waits for a check before writers do", `	if err := s.unchecked(ctx); err != nil {
		return 0, err
	}
	defer s.checks.Unlock()
`, ``, "TestWritersBesideCheckAndRestore"},
	}},
	{"../catalog/timelines.go", "../catalog", []fence{
		{"a fork goes on with its parent's numbers", `			s.ParentShardID, s.ParentGeneration = &p.ID, &last`, `			_ = last`, "TestFork$"},
	}},
	{"../catalog/drop.go", "../catalog", []fence{
		{"a timeline that is needed stays", `		if use != nil {`, `		if false {`, "TestDropTimelineInUse"},
	}},
}
