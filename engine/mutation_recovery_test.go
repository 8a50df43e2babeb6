package engine

// recoveryFences are the fences of recovery before and after the replay: which
// files are read, where they are cut, and how they are repaired.
var recoveryFences = []fencesOf{
	{"recovery.go", ".", []fence{
		{"damage is told from a tail", `	return r, r.judge()`, `	return r, nil`, "TestFlippedBits"},
		{"a file is no part of the log before it is current", `c.Generation > l.cat.CurrentGeneration || l.cat.WriterEpoch == 0:`, `l.cat.WriterEpoch == 0:`, "TestUnbornFile"},
		{"a creation that was interrupted has no files", `c.Generation > l.cat.CurrentGeneration || l.cat.WriterEpoch == 0:`, `c.Generation > l.cat.CurrentGeneration:`, "TestCrashAtEveryOperation"},
		{"a file of a later writer is refused", `		case f.epoch > uint64(l.cat.WriterEpoch):`, `		case false:`, "TestLowerEpoch"},
		{"a lower epoch behind a higher one is refused", `		case f.epoch < before:`, `		case false:`, "TestLowerEpoch"},
		{"files that nothing names are looked at", `	if err := s.removeStrays(ctx); err != nil {`, `	if err := error(nil); err != nil {`, "TestStrayFiles"},
		{"files are repaired", `	if err := r.repair(); err != nil {`, `	if err := error(nil); err != nil {`, "TestFailedSync"},
		{"what the head lacks is published", `	r.collectUnpublished()
`, ``, "TestPublicationFaults"},
		{"a sealed file has its footer", `		return &CorruptError{File: f.path, Offset: f.stop.Offset, Reason: reason}`, `		_ = reason
		return nil`, "TestFenceSealedFile"},
		{"a bad frame of a sealed file is damage", `			return corruptIn(f.path, f.stop.Offset, err)`, `			return nil`, "TestFlippedBits"},
		{"a sealed file has its size", `f.allocated != f.cat.ByteExtent ||`, ``, "TestFenceSealedFile"},
		{"a sealed file has its commits", `f.info != want ||`, ``, "TestFenceSealedFile"},
		{"a sealed file has its digest", ` || f.seal.Digest != f.cat.IntegrityDigest {`, ` {`, "TestFenceSealedFile"},
	}},
	{"recovery_merge.go", ".", []fence{
		{"a commit counts when all its parts are there", `			r.lacks = l
			return false, nil`, `			continue`, "TestMissingInOneShard"},
		{"the parts of a commit agree", `		if !slices.Equal(l.next.Participants, lead.next.Participants) {`, `		if false {`, "TestFenceForged"},
		{"a commit says nothing of itself", `		r.claim(LSN(l.next.SyncedLSN))`, `		r.claim(LSN(l.next.LSN))`, "TestFailedSync"},
		{"what a schema change takes is noted", `		l.files[l.at].lost = l.files[l.at].lost.Add(lost)`, `		_ = l`, "TestFenceLostAtOpen"},
		{"the head is compared", `	if err := r.compareHead(); err != nil {`, `	if err := error(nil); err != nil {`, "TestHeadThatLies"},
		{"every log ends at the cut", `		f.end, f.marked = l.head.End(), false`, `		f.end, f.marked = f.allocated, false`, "TestTwoCrashes|TestStaleFrames"},
	}},
	{"recovery_stream.go", ".", []fence{
		{"a commit knows its place", `	if !r.participates(l, &c, uint64(fr.End())) {`, `	if false {`, "TestFenceForged"},
		{"a commit's end is its own", `			own = p.End == end`, `			own = true`, "TestFenceForged"},
		{"a commit is not before its file", `	if LSN(c.LSN) < f.least {`, `	if false {`, "TestFenceForged"},
		{"a close mark stands between transactions", `	if len(l.tx) > 0 || LSN(m.LSN) < r.last || len(r.shards) == 1 && LSN(m.LSN) != r.last {`, `	if false {`, "TestFenceForged"},
		{"a close mark waits for its turn", `	if l.lsn > r.last {
		l.kind`, `	if false {
		l.kind`, "TestFlippedBits|TestCutAtEveryByte"},
		{"a footer follows a whole file", `	if len(l.tx) > 0 || LSN(m.LastLSN) != f.info.LastLSN || f.info.LastLSN == 0 {`, `	if false {`, "TestFenceForged"},
		{"a failed read is no end", `	if f.stop.Reason == wal.ReadFailed {`, `	if false {`, "TestFenceFailedRead"},
		{"a sealed file is checked", `	if f.sealed() {
		return f.checkSealed()
	}`, ``, "TestFlippedBits|TestCutAtEveryByte"},
		{"a second header is damage", `		return damaged(fr.Offset, "a second header")`, `		return nil`, "TestFenceForged"},
	}},
	{"recovery_cut.go", ".", []fence{
		{"what a head contains was synced", `	synced := LSN(r.head.LSN) // what a head contains was synced`, `	synced := LSN(0)`, "TestHeadThatLies"},
		{"what lies behind the cut is later", `f.behind.found && LSN(first.Commit.LSN) < missing {`, `false {`, "TestFenceForged"},
		{"a later record tells of damage", `			synced = max(synced, f.behind.synced)
`, ``, "TestFlippedBits"},
		{"a seal in the catalog tells of damage", `				synced = max(synced, LSN(f.cat.LastLSN))
`, ``, "TestFenceSealedAhead"},
		{"a synced commit that is missing is damage", `	if synced >= missing {`, `	if false {`, "TestFlippedBits"},
		{"a close mark was synced before what follows", `			if f.seal == nil && onlyMarkLost(f) {`, `			if false {`, "TestFlippedCloseMark"},
		{"a footer tells of damage", `	e.synced = max(e.synced, footer)
`, `	_ = footer
`, "TestFooterIsEvidence"},
		{"close marks and commits tell of damage", `max(e.synced, LSN(c.Synced()))`, `e.synced`, "TestFlippedBits"},
		{"bad bytes do not end the search", `				return e, corruptIn(f.path, from, err)`, `				return e, nil`, "TestFenceForged"},
		{"a failed read does not end the search", `			return e, fmt.Errorf("engine: reading %s: %w", f.path, err)`, `			return e, nil`, "TestFenceFailedRead"},
	}},
	{"recovery_repair.go", ".", []fence{
		{"a log is truncated to the cut", `	if err := f.file.Truncate(f.end); err != nil {`, `	if err := error(nil); err != nil {`, "TestStaleFrames"},
		{"a log is preallocated again", `		if err := f.reserve(0, r.s.log.limit); err != nil && !isFull(err) {`, `		if err := error(nil); err != nil {`, "TestGoldenTrace"},
		{"what may not be on the disk is written again", `	if err := f.rewrite(f.synced, f.end); err != nil {`, `	if err := error(nil); err != nil {`, "TestFailedSync"},
		{"all of it is written again", `f.rewrite(f.synced, f.end)`, `f.rewrite(f.end-8, f.end)`, "TestFailedSync"},
		{"a repair is synced", `	if err := f.file.Sync(); err != nil {`, `	if err := error(nil); err != nil {`, "TestFailedSync"},
		{"the names of a repaired file are synced", `	return r.s.syncEntries(path.Dir(f.path))`, `	return nil`, "TestGoldenTrace"},
		{"an unborn file with commits is left alone", `	err := s.holdsCommits(f.path)
	var c *CorruptError`, `	err := error(nil)
	var c *CorruptError`, "TestUnbornFileWithCommits"},
		{"a stray with commits is left alone", `		err := s.holdsCommits(p)
`, `		err := error(nil)
		_ = p
`, "TestStrayFiles"},
		{"all strays are looked at before any is removed", `	for _, p := range strays {
		err := s.holdsCommits(p)`, `	for _, p := range strays[max(0, len(strays)-1):] {
		err := s.holdsCommits(p)`, "TestFenceStrays"},
		{"only files that look like ours are removed", `case !info.Dir && isObject(name) && !named[p]:`, `case !info.Dir && !named[p]:`, "TestStrayFiles"},
	}},
	{"recovery_finish.go", ".", []fence{
		{"an unborn file is looked at before it is made", `			if err := s.checkUnborn(f); err != nil {`, `			if err := error(nil); err != nil {`, "TestUnbornFileWithCommits"},
		{"an unborn file is made", `			if err := s.make(f.generation, l.epoch, r.last+1); err != nil {`, `			if err := error(nil); err != nil {`, "TestUnbornFile"},
		{"a store has one writer at a time", `		if uint64(epochs[i]) != l.epoch {`, `		if false {`, "TestFenceForeignWriter"},
		{"a file that was made is current", `	if len(current) > 0 {`, `	if false {`, "TestUnbornFile"},
		{"what was left is sealed at open", `			if err := s.seal(ctx, f.generation); err != nil {`, `			if err := error(nil); err != nil && f != nil {`, "TestSealIsFinishedAtOpen"},
		{"nothing is appended behind a footer", `				if f.seal != nil {
					active[i]++`, `				if false {
					active[i]++`, "TestFenceFootedAtOpen"},
		{"a file that was cut is left", `			if f.info.LastLSN != 0 && f.info.FirstLSN <= cut {`, `			if false {`, "TestUnequalRotation"},
		{"sealed files tell where the shards were cut", `			l.cut = max(l.cut, f.info.LastLSN)
`, ``, "TestFenceCutBySeals"},
	}},
	{"check.go", ".", []fence{
		{"a check replays the log", `	if err := c.replay(r); err != nil || c.damage > 0 {`, `	if err := error(nil); c.damage > 0 {`, "TestCheckComparesMemory"},
	}},
}
