package engine

// compactionFences are those of bases and of the collection of files in the catalog.
var compactionFences = []fencesOf{
	{"../catalog/base.go", "../catalog", []fence{
		{"an object is reserved for a job that runs", `	case state != JobRunning:`, `	case false:`, "TestReserveObject"},
		{"a reserved object is rooted", `	if _, err := tx.ExecContext(ctx, ` + "`" + `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'output')` + "`" + `, owner, r.ObjectID); err != nil {`, `	if _, err := owner, error(nil); err != nil {`, "TestReserveObject"},
		{"a base object is not sealed anew", `	if !same {`, `	if false {`, "TestSealBase"},
		{"what is in quarantine is not sealed", `		case row.State != "reserved":`, `		case false:`, "TestQuarantinedIsNotSealed"},
		{"a base object that nothing roots is not sealed", `		case !row.Rooted:`, `		case false:`, "TestSealBase"},
		{"a base object is registered with its seal", `	_, err = registerObject(ctx, tx, s.ObjectID, row.Revision+1, s.records())
	return err`, `	return nil`, "TestSealBase"},
	}},
	{"../catalog/compact.go", "../catalog", []fence{
		{"a base is not ahead of the head", `	if b.LSN > head.LSN {`, `	if false {`, "TestFenceBase$"},
		{"a base is not behind the one before", `	if b.LSN < lsn {`, `	if false {`, "TestFenceBase$"},
		{"a base is a cut", `		case covered && last > b.LSN, !covered && !incremental && first <= b.LSN:`, `		case false:`, "TestFenceBaseCut"},
		{"a base adds up to what it replaces", `	if !bytes.Equal(covered, is) {`, `	if false {`, "TestFenceBase$"},
		{"a base is registered", `	case rows[0].State != "sealed" || rows[0].BlobID == nil:`, `	case false:`, "TestFenceUnregistered"},
		{"a base is rooted", `	case !rows[0].Rooted:`, `	case false:`, "TestFenceBase$"},
		{"a base is of one state", `	case rows[0].LSN != b.LSN:`, `	case false:`, "TestFenceBase$"},
		{"a base begins with the schema", `		if schema := rows[j].TableID == 0; schema != (i == 0 && j == 0) {`, `		if schema := rows[j].TableID == 0; schema && false {`, "TestFenceBase$"},
		{"the head's entries are verified before they are parted", `		if _, err := rows[i].verified(identity); err != nil {`, `		if err := error(nil); err != nil {`, "TestFenceAdoptBase"},
		{"a base is what was prepared", `; !entries[i].equal(expected) {`, `; expected == nil {`, "TestFenceAdoptBase"},
		{"a base is of the head's world", `	if next.WorldID != head.WorldID {`, `	if false {`, "TestFenceAdoptBase"},
		{"a base's sum is the head's", `	if !bytes.Equal(sum, next.ContributionSum) || !bytes.Equal(sum, head.Fingerprint) {`, `	if false {`, "TestFenceAdoptBase"},
		{"only chunks that are kept whole are shared", ` && entries[n].Position == n {`, ` {`, "TestSharedChunksAreWhole"},
	}},
	{"../catalog/fragments.go", "../catalog", []fence{
		{"a fragment's digest is compared", `	if err := checkDigest("fragment", r.ID, r.Digest, r.digest(identity)); err != nil {`, `	if err := error(nil); err != nil {`, "TestTamperedBase"},
		{"the head's base is of one state", `i > 0 && (f.LSN > files[i-1].LSN || f.LSN < lsn && len(e.live) == 0)`, `false`, "TestTamperedBase"},
		{"a base object has fragments", `		if len(rows) == 0 {`, `		if len(rows) == 0 { continue }
		if false {`, "TestTamperedBase"},
		{"the head's base begins with the schema", `i == 0 && schema != (j == 0) || schema`, `schema`, "TestTamperedBase"},
	}},
	{"../catalog/manifest.go", "../catalog", []fence{
		{"a base comes before generations", `			if bases != i {`, `			if false {`, "TestContradictingBase"},
		{"no generation in the head is also in its base", `g.InHead && g.FirstLSN <= s.BaseLSN {`, `g.InHead && false {`, "TestTamperedBase"},
		{"what the head names is there", `	if h.Generations, err = h.generations(ctx, q, identity, entries, roleUpdate); err != nil {`, `	if err != nil {`, "TestGenerationsBeginAnywhere"},
	}},
	{"../catalog/state.go", "../catalog", []fence{
		{"what is to be replayed is there", `			if i == 0 && g.Generation > shard.ReplayFrom {`, `			if false {`, "TestReplayedGenerationsAreThere"},
	}},
	{"../catalog/jobs.go", "../catalog", []fence{
		{"a job that is over retains nothing", `	if err := endRoots(ctx, tx, row.Owner); err != nil ||`, `	if err := error(nil); err != nil ||`, "TestJobsLetGo"},
	}},
	{"../catalog/quarantine.go", "../catalog", []fence{
		{"the end of a job lets go of nothing in quarantine", ` AND purpose <> 'quarantine'`, ``, "TestReconcile$"},
		{"what something needs is not quarantined", `		case o.Needed:`, `		case false:`, "TestQuarantine$"},
		{"only its own job quarantines an output", `		case o.Purpose != "output":`, `		case false:`, "TestQuarantine$"},
	}},
	{"../catalog/quarantine_reconcile.go", "../catalog", []fence{
		{"what a job may write yet is not reconciled", `		case o.State != ownerRetiring:`, `		case false:`, "TestReconcile$"},
		{"what is reached is not reconciled", `	if len(reached) > 0 {`, `	if false {`, "TestReconcileRefuses"},
		{"nothing is reconciled while outcomes are looked up", `		if err := unfrozen(ctx, tx); err != nil {`, `		if err := error(nil); err != nil {`, "TestReconcileRefuses"},
	}},
	{"../catalog/garbage.go", "../catalog", []fence{
		{"what a root names is no garbage", `	keep := g.closure(bitmapOf(g.objects), bitmapOf(g.blobs))`, `	keep := g.closure(bitmapOf(nil), bitmapOf(g.blobs))`, "TestGarbageOfGraphs"},
		{"what a manifest names is no garbage", `	g.free, g.blobs = append(g.free, reconciled...), append(g.blobs, entries...)`, `	g.free = append(g.free, reconciled...)`, "TestGarbageOfGraphs"},
		{"what an edge names is no garbage", `	g.follow(objects)`, `	_ = g.edges`, "TestGarbageOfGraphs"},
		{"the log's files are no garbage", `	keep.Or(bitmapOf(g.current))`, `	keep.Or(bitmapOf(nil))`, "TestCurrentGenerationStays"},
		{"what was claimed is garbage", `	list := g.claimed
`, `	var list []int64
`, "TestClaimAndCollected"},
	}},
	{"../catalog/collect.go", "../catalog", []fence{
		{"nothing is claimed while outcomes are looked up", `		if err := unfrozen(ctx, tx); err != nil {`, `		if err := error(nil); err != nil {`, "TestCompactionResolution"},
		{"a claim is an intent", `	if _, err := tx.ExecContext(ctx, ` + "`" + `INSERT INTO gc_work(object_id, deletion_generation)`, `	if _, err := tx.ExecContext(ctx, ` + "`" + `INSERT INTO temp.gc_work(object_id, deletion_generation)`, "TestClaimAndCollected"},
		{"generations leave from the front", `	return shards, nil
}`, `	return nil, nil
}`, "TestClaimAndCollected"},
		{"an identity is not used again", `			WHERE o.object_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.object_id = o.object_id)` + "`" + `,`, `			WHERE o.object_id IN (SELECT value FROM json_each(?)) AND 0` + "`" + `,`, "TestClaimAndCollected"},
	}},
	{"compact_loop.go", ".", []fence{
		{"a compaction is looked behind", `	c.failed = true
	if failure`, `	if failure`, "TestFailedCompactionLeavesNothing|TestIndexStepLeavesNothing"},
	}},
	{"compact.go", ".", []fence{
		{"of damaged files nothing is kept", `		mode.whole = true
		made, err`, `		made, err`, "TestCompactsBesideDamage"},
	}},
	{"compact.go", ".", []fence{
		{"what was compacted is not compacted again", `	case s.compactor.since == head.lsn:`, `	case false:`, "TestCompact$"},
		{"a state is published before it is a base", `		case published == head.lsn:`, `		case published >= 0:`, "TestCompact$"},
		{"files of a base are known before the catalog has them", `		s.objects.addSealed(f.generation)
`, `		_ = f
`, "TestCompact$"},
		{"files that are not kept are replaced", `		if !stays[f.object] {`, `		if false {`, "TestCompactKeepsTheBaseBefore|TestCompactionsForget"},
		{"who has not moved is moved by the next one", `		mode.whole = true
	} else {`, `	} else {`, "TestCompactBehindAFailedMove"},
		{"a sum without a superseded row is told", `Sum: sumBytes(f.liveSum())}`, `Sum: sumBytes(f.sum())}`, "TestCompactsIntoKeptFiles"},
		{"what a base replaces is not in the log's use", `		s.rowBytes -= n
`, ``, "TestLogUse|TestCompact$"},
		{"a base is in the log's use", `			s.rowBytes += x.bytes
`, ``, "TestLogUse|TestCompact$"},
	}},
	{"base.go", ".", []fence{
		{"a base is held against the table's sum", `	if all.rows != int64(t.Len()) || all.sum != t.sum {`, `	if false {`, "TestCompactComparesSums"},
		{"a base file is synced", `	if err := g.file.Sync(); err != nil {`, `	if err := error(nil); err != nil {`, "TestCompactCrash"},
		{"a base file whose sync failed is quarantined", `		return w.unsound(&syncError{g.path, err})`, `		return &syncError{g.path, err}`, "TestQuarantineOfOutputs"},
		{"a base file whose directory failed to be synced is quarantined", `	if err := w.s.syncEntries(path.Dir(g.path)); err != nil {
		return w.unsound(err)`, `	if err := w.s.syncEntries(path.Dir(g.path)); err != nil {
		return err`, "TestQuarantineOfOutputs"},
		{"a full file of a base is followed by another", `	if w.cur != nil && w.b.Offset() >= w.limit {`, `	if false {`, "TestBaseOfManyFiles"},
		{"what is written is charged", `	if err := w.rate.charge(w.ctx, w.read+int64(w.b.Len())); err != nil {`, `	if err := w.rate.charge(w.ctx, w.read); err != nil {`, "TestCompactIsRated"},
		{"rows that are read to be written are charged", `	if err := w.rate.charge(w.ctx, w.read+int64(w.b.Len())); err != nil {`, `	if err := w.rate.charge(w.ctx, int64(w.b.Len())); err != nil {`, "TestCompactIsRated"},
		{"a table without a row has a fragment", `	if err == nil && all.rows == 0 && !p.held {`, `	if err == nil && false {`, "TestCompactKeepsModel"},
		{"a compaction ends with its context", `	if err := w.ctx.Err(); err != nil {`, `	if err := error(nil); err != nil {`, "TestCompactEndsWithItsContext"},
		{"a fragment begins where its rows do", `start: w.b.Offset()}`, `start: 0}`, "TestCompact$"},
	}},
	{"compact_touched.go", ".", []fence{
		{"generations before the base are replaced", ` && g.info.LastLSN <= lsn && !g.gone {`, ` && g.info.LastLSN <= lsn && false {`, "TestCompact$"},
		{"generations behind the base are not replaced", ` && g.info.LastLSN <= lsn && !g.gone {`, ` && !g.gone {`, "TestCompactBesideRotations"},
		{"rows that are gone are touched", `		case wal.KindPut, wal.KindDelta, wal.KindTombstone:`, `		case wal.KindPut, wal.KindDelta:`, "TestCompactModel"},
	}},
	{"compact_plan.go", ".", []fence{
		{"no volatile row is in a base", `		if t.def.Durable {`, `		if true {`, "TestCompact$"},
		{"what another definition wrote is not kept", ` && LSN(t.def.Version) > c.lsn {`, ` && false {`, "TestCompactModel"},
		{"tables that are gone are not kept", `if t := p.byID[x.table]; t == nil || t.whole {`, `if t := p.byID[x.table]; t != nil && t.whole {`, "TestCompactModel"},
		{"what is written whole is not kept", `if t := p.byID[x.table]; t == nil || t.whole {`, `if t := p.byID[x.table]; t == nil {`, "TestCompactModel"},
		{"rows of files that are not kept are written", `					t.ids = append(t.ids, ids.Rowid)`, `					_ = ids`, "TestCompactModel"},
		{"what is more dead than alive is not kept", `	for len(kept) > 0 && kept[0].share() < 0.5 {`, `	for false {`, "TestCompactSteadyState"},
		{"files that are old together are not rewritten at once", `rescueShare*(rescued+l) > p.cut.state.live && `, `false && `, "TestCompactSpreadsOldFiles"},
		{"the deadest file is rewritten first", `	slices.SortStableFunc(kept, func(a, b *planFile) int { return cmp.Compare(a.share(), b.share()) })
	for`, `	slices.SortStableFunc(kept, func(a, b *planFile) int { return cmp.Compare(b.share(), a.share()) })
	for`, "TestCompactSteadyState"},
		{"a file without a live row is not kept", `f.out || f.liveRows() == 0; f.out {`, `f.out; f.out {`, "TestCompactKeepsModel"},
		{"a file of the base that was cut off is not kept", `	if err := p.read.s.hasExtent(f.path, f.info.Bytes); err != nil {`, `	if err := p.read.s.hasExtent(f.path, f.info.Bytes); false {`, "TestCompactNoticesWhatIsCutOff"},
		{"files are not too many", `	if len(kept) <= mostKept {`, `	if true {`, "TestCompactLeavesWhatGrows"},
		{"garbage is a reason for who asks", `idleShare*(all-live) > all || `, ``, "TestCompactThoroughly"},
		{"little garbage is none", `idleShare*(all-live) > all || `, `all > live || `, "TestCompactThoroughly"},
		{"what fits in one file is in one for who asks", ` || len(kept) > 1 && live <= p.limit) {`, `) {`, "TestCompactIntoOneFile"},
		{"a background compaction has a rate", `	return compactMode{rate: s.compactRate(), placer: s.basePlacer()}`, `	return compactMode{placer: s.basePlacer()}`, "TestCompactIsRated"},
		{"what is deleted is not written again", `				if x.deleted == nil || !x.deleted.Contains(ordinal) {`, `				if true {`, "TestCompactKeepsModel"},
	}},
	{"compact_places.go", ".", []fence{
		{"a touched row is superseded", `	d.vector.Add(ordinal)
`, ``, "TestCompactKeepsModel"},
		{"a superseded row is not in the sum", `	d.liveSum = d.liveSum.Sub(sum)
`, ``, "TestCompactKeepsModel"},
		{"a superseded row is not counted", `	d.live--
`, ``, "TestCompactKeepsModel"},
		{"superseded bytes are counted", `	d.dead += size
`, ``, "TestCompactSteadyState"},
		{"a vector is not changed for others", `			d.vector = d.vector.Clone()`, `			d.own = true`, "TestCompactKeepsModel"},
		{"what is superseded twice is counted once", `		case rest[0] != ids.Rowid || d.has(ordinal):`, `		case rest[0] != ids.Rowid:`, "TestCompactKeepsModel"},
		{"what an index found twice is counted once", `	if d.has(at.ordinal) {`, `	if false {`, "TestCompactWithPlaces"},
		{"what an index finds is that row", ` || ids.Rowid != at.rowid) {`, `) {`, "TestCompactWithPlaces"},
		{"what an index finds is in the fragment", `	if int64(at.ordinal) >= d.rows {`, `	if false {`, "TestCompactWithPlaces"},
		{"what an index does not cover is read", `seen != nil && x.id > 0 && seen.Contains(uint64(x.id)) {`, `seen != nil {`, "TestCompactWithPlaces"},
	}},
	{"compact_rate.go", ".", []fence{
		{"what is read is charged", `	if err := r.rate.charge(r.ctx, int64(len(b))); err != nil {`, `	if err := error(nil); err != nil {`, "TestCompactIsRated"},
		{"an idle time is no credit", `	if r.paid.Before(now) {`, `	if r.paid.IsZero() {`, "TestByteRate"},
	}},
	{"base_load.go", ".", []fence{
		{"a base begins with files of its commit", `files[0].LSN != lsn ||`, `files[0].LSN < lsn-1 ||`, "TestBaseIsOfItsCommit"},
		{"a base file has the sealed extent", `	case f.end != w.ByteExtent || f.allocated != w.ByteExtent:`, `	case false:`, "TestBaseMatches"},
		{"a base file has the sealed digest", `	case f.seal.Digest != w.IntegrityDigest:`, `	case false:`, "TestBaseMatches"},
		{"a base file is of the commit", `	case int64(f.seal.LastLSN) != w.LSN || int64(f.least) != w.LSN:`, `	case false:`, "TestBaseMatches"},
		{"a base file has the sealed fragments", `	case !slices.Equal(found, known):`, `	case false:`, "TestBaseMatches"},
	}},
	{"base_rows.go", ".", []fence{
		{"what is in the catalog is compared", `	if err := f.matches(); err != nil {`, `	if err := error(nil); err != nil {`, "TestBaseOfAnotherSeal"},
	}},
	{"base_batch.go", ".", []fence{
		{"what a base has are records", `		if err != nil {
			return wal.BadRecord(x.offset, err)`, `		if err != nil && i < 0 {
			return wal.BadRecord(x.offset, err)`, "TestBaseForgedRows"},
		{"rows of a base are no wider than their table", `columns > len(p.t.def.Columns)`, `columns < 0`, "TestBaseForgedRows"},
		{"rows of a batch are of one table", `		b.table == ids.Table && b.version == ids.Version`, `		true`, "TestBaseForgedRows"},
	}},
	{"base_cursor.go", ".", []fence{
		{"rows of a fragment are in order", `	} else if c.ordinal > 0 && ids.Rowid <= c.last {`, `	} else if false {`, "TestBaseForged"},
		{"a fragment has no more rows than the catalog says", `	if c.ordinal >= c.want.Fragments[c.at].Rows {`, `	if false {`, "TestBaseCursorCounts"},
		{"a fragment has no fewer rows than the catalog says", `; c.ordinal != f.Rows {`, `; false {`, "TestBaseForgedRows"},
		{"what is superseded is left out", `	c.dead.Next()
	return true, nil`, `	c.dead.Next()
	return false, nil`, "TestBaseDeleted"},
		{"the sum of what is left is known", `	case !summed && !whole:`, `	case false:`, "TestBaseLiveSums"},
		{"the footer vouches for a whole fragment", `	case whole && live.sum != all.sum, `, `	case `, "TestBaseLiveSums"},
	}},
	{"replay_base.go", ".", []fence{
		{"no row is in a base twice", `	if t.tally.rows == before {`, `	if t.tally.rows == before && false {`, "TestBaseTwice"},
		{"a base footer is of one mind", `		if m.Records[i].Table != k.Table || int64(m.Records[i].Count) != k.Rows || i > 0 && k.Table <= m.Contributions[i-1].Table {`, `		if i < 0 {`, "TestBaseForgedRows"},
		{"a base footer counts keys rows", `			if t.tally.rows != live.rows {`, `			if false {`, "TestBaseDeleted"},
		{"a base footer adds up rows", `		} else if t.tally != live {`, `		} else if false {`, "TestBaseForgedRows"},
	}},
	{"repoint.go", ".", []fence{
		{"a row that was changed since is not re-pointed", `; ok && now == m.from {`, `; ok && now != "" {`, "TestCompactBesideChanges"},
		{"a row that was removed since is not re-pointed", `; ok && now == m.from {`, `; !ok || now == m.from {`, "TestCompactBesideChanges"},
		{"a table that was dropped is not re-pointed", `		if t == nil || t.src == nil { // it was dropped`, `		if false {`, "TestCompactBesideChanges"},
		{"keys tables get another lease", `			n.src = &source{objects: s.objects, lease: now}`, `			n.src = &source{objects: s.objects, lease: t.src.lease}; _ = now`, "TestCompactionsForget"},
		{"replaced files wait for the lease before", `			s.replaced[i].lease = before
`, `			s.replaced[i].lease = before - before
`, "TestCompactKeeps"},
		{"a state made of what is not durable is not visible", `	s.follow(head, next, written, pending)`, `	s.follow(head, next, written, pending && false)`, "TestCompactShowsNothingEarly"},
	}},
	{"lease.go", ".", []fence{
		{"a lease that lives is not over", `		if k <= n {`, `		if k < n {`, "TestCompactKeeps"},
		{"a lease ends", `	delete(b.live, n)
`, ``, "TestCompactionsForget"},
	}},
	{"collect.go", ".", []fence{
		{"a directory that goes has no entry that lasts", `if delete(s.lasting, dir); s.fs.Remove(dir) != nil {`, `if s.fs.Remove(dir) != nil {`, "TestCreateFileSyncs"},
		{"files are held while a lease lives", ` || !s.objects.lease.over(r.lease)`, ``, "TestCompactKeeps"},
		{"what is quarantined is reconciled when its job is over", `	if err := s.reconcile(ctx); err != nil {`, `	if err := error(nil); err != nil {`, "TestOpenRemovesWhatIsLeft"},
		{"held files are not removed", `return kept[o.ID] })`, `return false && kept[o.ID] })`, "TestCompactKeeps"},
		{"what is held is asked behind each look", `	for limit := sweepBatch; ; {
`, `	kept := held()
	held = func() map[int64]bool { return kept }
	for limit := sweepBatch; ; {
`, "TestCompactionSweepBesideACompaction"},
		{"a removal is synced before it is recorded", `	if err := s.fs.SyncDir(path.Dir(o.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {`, `	if err := error(nil); err != nil {`, "TestRemovalIsSynced"},
		{"a removed file is let go of", `		if err := open.objects.drop(uint64(o.ID)); err != nil {`, `		if err := open.objects.drop(0); err != nil {`, "TestCompactionsForget"},
		{"a collected generation is forgotten", `		open.gens = slices.DeleteFunc(slices.Clone(open.gens), func(g *generation) bool { return gone[g.object] })
`, ``, "TestCompactionsForget"},
		{"a collected file is not waited for", `		open.replaced = slices.DeleteFunc(open.replaced, func(r replaced) bool { return gone[r.object] })
`, ``, "TestCompactionsForget"},
		{"what was replaced goes with Close", `		_, err = s.sweep(ctx, s.home.held)`, `		err = nil`, "TestCompact$"},
		{"what a crash left goes with Open", `	if _, err := s.sweep(ctx, s.home.held); err != nil {`, `	if err := error(nil); err != nil {`, "TestOpenRemovesWhatIsLeft"},
	}},
	{"segments_job.go", ".", []fence{
		{"indexes that could not be written are tried again", `	s.compactor.unmade = err != nil && s.compactor.auto`, `	s.compactor.unmade = false && err != nil && s.compactor.auto`, "TestFailedIndexesAreTriedAgain"},
		{"they are tried less and less often", `		r.wait = min(max(2*r.wait, r.first), r.most)`, `		r.wait = r.first`, "TestIndexRetry"},
	}},
	{"segments_write.go", ".", []fence{
		{"segments are written at a rate", `	return w.rate.charge(w.ctx, n)`, `	return nil`, "TestIndexesAreRated"},
		{"who ends an index job has not found damage", `	if ended := w.ctx.Err(); ended != nil && err != nil {
		return ref, ended
	}
`, ``, "TestIndexesAreRated"},
	}},
	{"compact_brake.go", ".", []fence{
		{"nobody waits where nothing would be freed", `	b.on = due && log > least`, `	b.on = log > least`, "TestBrake"},
		{"a wait is bounded", `	if last := now.Add(brakeMost); b.until.After(last) {`, `	if last := now.Add(brakeMost); false {`, "TestBrake"},
		{"a log may grow while it is compacted", `	b.from = max(room, log+grown)`, `	b.from = room`, "TestBrake"},
		{"rows that are only added are no reason to wait", `	return use.Used - c.base - max(0, use.Live-c.live)`, `	return use.Used - c.base`, "TestWritersWaitForCompaction"},
		{"who begins to write waits", `	s.brakes.until.Store(until)`, `	s.brakes.until.Store(0 * until)`, "TestWritersWaitForCompaction"},
	}},
	{"compact_due.go", ".", []fence{
		{"what the base keeps of garbage is no reason", `	return max(0, use.Garbage()-s.compactor.idle)`, `	return max(0, use.Garbage())`, "TestCompactSteadyState"},
		{"no ratio, no compaction", `	case l.ratio == 0 || used < l.floor:`, `	case used < l.floor:`, "TestCompactionDue"},
		{"a log under the floor is left alone", `	case l.ratio == 0 || used < l.floor:`, `	case l.ratio == 0:`, "TestCompactionDue"},
		{"garbage alone is a reason", ` || garbage > l.garbage
`, `
`, "TestCompactionDue"},
		{"who wants no compaction gets none", `	if !c.auto || c.asked`, `	if c.asked`, "TestCompactOptions"},
		{"a failed compaction is waited behind", ` || s.rowBytes < c.again ||`, ` ||`, "TestFailingCompactionIsTriedLater"},
		{"little garbage is no reason in a larger store", `min(max(l.garbage, live/leastGarbage), live/mostGarbage)`, `min(l.garbage, live/mostGarbage)`, "TestCompactOptions"},
		{"much garbage is a reason in a small store", `min(max(l.garbage, live/leastGarbage), live/mostGarbage)`, `max(l.garbage, live/leastGarbage)`, "TestCompactOptions"},
	}},
	{"check_base.go", ".", []fence{
		{"a check computes a base's digest", `	if want := f.want.IntegrityDigest; digest != want {`, `	if want := f.want.IntegrityDigest; digest != want && false {`, "TestCheckOfForgedBase"},
		{"a check computes a base's content", `	if want := f.want.ContentID; content != want {`, `	if want := f.want.ContentID; content != want && false {`, "TestCheckOfForgedBase"},
		{"a check compares keys rows", `	return x == y, err`, `	return x == y || true, err`, "TestCheckOfKeysBesideABase"},
		{"keys rows in two places may be the same", `	x, _, err := have.Get(rowid)`, `	return false, nil
	x, _, err := have.Get(rowid)`, "TestCompactWithoutRepointing"},
	}},
}
