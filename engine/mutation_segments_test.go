package engine

// indexJobFences are those of index segments and of the generations that they let go.
var indexJobFences = []fencesOf{
	{"segments_plan.go", ".", []fence{
		{"a fragment that no segment covers is indexed", `!covered.Contains(uint64(x.id)) {`, `covered.Contains(uint64(x.id)) {`, "TestCompactionIndexes"},
		{"a segment that is damaged covers nothing", `	if s.isSpoiled(g.ObjectID) {
		return false, nil`, `	if s.isSpoiled(g.ObjectID) {
		return true, nil`, "TestDamagedSegments"},
		{"a segment that is missing covers nothing", `	case errors.Is(err, fs.ErrNotExist):
		return &CorruptError{File: path, Reason: "the file is missing", Err: err}
`, `	case errors.Is(err, fs.ErrNotExist):
		return nil
`, "TestIndexJobFindsDamage"},
		{"a job reads segments to their end", `	if err == nil && thorough {`, `	if false {`, "TestIndexJobFindsDamage"},
		{"a segment of which nothing is left goes", `		usable := some
`, `		usable := true
`, "TestPlanOfNothingLeft"},
		{"volatile tables take no part", `		if !def.Durable {`, `		if false {`, "TestIndexJob"},
		{"small segments are merged", `			take[i] = true
`, ``, "TestToMerge"},
		{"there are few segments", ` && left < maxSegments {`, ` {`, "TestToMergeBoundsSegments"},
		{"segments of dead rows are written anew", `g.Entries > 2*g.live`, `g.Entries < 0`, "TestToMerge"},
		{"what is merged is covered", `	for _, g := range w.merge {`, `	for _, g := range w.merge[:0] {`, "TestCompactionIndexes"},
	}},
	{"segments_source.go", ".", []fence{
		{"a deleted row has no entry", `		if c.wanted(at) && !x.isDeleted(ordinal) {`, `		if c.wanted(at) {`, "TestDeletedRowsHaveNoEntry"},
		{"a row is in its fragment", `		if TableID(ids.Table) != x.table {`, `		if false {`, "TestFragmentScanRefuses"},
		{"a fragment has all its rows", `		if !ok {
			return c.cut(sc.Stop())`, `		if !ok {
			return nil`, "TestFragmentScanOfPart"},
		{"runs of an index are in its segment", `	for _, f := range x.rows.files {
		s, err := w.runSource(f)`, `	for _, f := range x.rows.files[:0] {
		s, err := w.runSource(f)`, "TestSegmentsAreTheRows"},
		{"runs that are merged are let go of", `		x.rows.files = append(files[:len(files)-n:len(files)-n], f)`, `		x.rows.files = append(files, f)`, "TestSegmentsAreTheRows"},
	}},
	{"segments_run.go", ".", []fence{
		{"a key is copied", `		r.arena = append(r.arena, e.key...)
		e.key = r.arena[at:len(r.arena):len(r.arena)]`, `		_ = at`, "TestMergeOfRuns"},
		{"runs are sorted", `	if !r.sorted {`, `	if false {`, "TestMergeOfRuns"},
		{"keys are compared to their end", `	return bytes.Compare(a.key, b.key)`, `	return 0`, "TestMergeOfRuns"},
	}},
	{"segments_merge.go", ".", []fence{
		{"entries of fragments that are gone are left out", `		if n < 0 {
			continue
		}
		x := s.w`, `		if n < 0 {
			n = 0
		}
		x := s.w`, "TestMergeLeavesOut"},
		{"entries of deleted rows are left out", `		if x.isDeleted(at.Ordinal) {`, `		if false {`, "TestMergeLeavesOut"},
		{"what cannot be merged is damaged", `	return s.w.s.spoilRead(s.object, err)`, `	return err`, "TestMergeLeavesOut"},
	}},
	{"segments_write.go", ".", []fence{
		{"a segment is synced", `	if err := f.file.Sync(); err != nil {`, `	if err := error(nil); err != nil {`, "TestIndexCrash"},
		{"a segment whose sync failed is quarantined", `		return ref, w.unsound(&syncError{f.Path, err})`, `		return ref, &syncError{f.Path, err}`, "TestQuarantineOfSegments"},
		{"a segment whose directory failed to be synced is quarantined", `	if err := w.s.syncEntries(path.Dir(f.Path)); err != nil {
		return ref, w.unsound(err)`, `	if err := w.s.syncEntries(path.Dir(f.Path)); err != nil {
		return ref, err`, "TestQuarantineOfSegments"},
		{"a segment that could not be made is quarantined", `	if f.file, err = w.s.createFile(r.Path); err != nil {
		return nil, w.unsound(err)`, `	if f.file, err = w.s.createFile(r.Path); err != nil {
		return nil, err`, "TestQuarantineOfSegments"},
		{"a new entry of a directory is synced", `	if err := s.syncDirs(path.Dir(name)); err != nil {`, `	if err := error(nil); err != nil {`, "TestCreateFileSyncs"},
	}},
	{"segments_job.go", ".", []fence{
		{"generations are retired", `catalog.IndexUpdate{Retire: true}`, `catalog.IndexUpdate{}`, "TestCompactionIndexes"},
		{"what rows are read from is held", `			u.Held = append(u.Held, int64(r.object))
`, ``, "TestCompactWithoutRepointing|TestRetiredAreNotRead"},
		{"indexes are published of the base that was read", `	if !same {`, `	if !same && false {`, "TestIndexOfAnotherBase"},
		{"an index that was dropped is not published", `	u.Indexes = slices.DeleteFunc(u.Indexes, func(x catalog.IndexSegments) bool { return !now[x.IndexRef] })
`, ``, "TestIndexOfAnotherBase"},
		{"what is left undone at open is made up for", `				s.compactor.behind = true
				s.compactor.signal()`, `				s.compactor.signal()`, "TestIndexMissingAtOpen"},
	}},
	{"segments_job.go", ".", []fence{
		{"a step that was ended is made up for", `	if err != nil && ctx.Err() != nil { //`, `	if false { //`, "TestIndexStepThatWasEnded"},
		{"what an earlier process retained is retired", `	if len(state.Retained) > 0 &&`, `	if false &&`, "TestRetiredAtOpen"},
	}},
	{"base_load.go", ".", []fence{
		{"what was not read of a fragment is counted", `	k.dead += end - x.first.Offset - x.bytes`, `	k.dead += 0 * end`, "TestSegmentsLoadKnowsGarbage"},
	}},
	{"compact_loop.go", ".", []fence{
		{"what waited for rows is retired later", `	s.compactor.behind = true // what rows`, `	s.compactor.behind = false // what rows`, "TestRetiredWhenRowsHaveMoved"},
	}},
	{"segments_read.go", ".", []fence{
		{"a segment has the sealed extent", `	if size != g.Extent {`, `	if false {`, "TestSegmentWithMoreBytes"},
		{"a segment has the sealed digest", `	if r.Digest() != g.Digest {`, `	if false {`, "TestOtherSegment"},
		{"a segment covers what the catalog says", `!has[id] {`, `!has[id] && false {`, "TestOtherSegment"},
	}},
	{"segments_place.go", ".", []fence{
		{"a damaged segment finds nothing", `		if errors.Is(p.s.spoilRead(g.ObjectID, err), errSpoiled) {
			continue`, `		if errors.Is(p.s.spoilRead(g.ObjectID, err), errSpoiled) {
			covered.Or(g.Fragments)
			continue`, "TestPlaces"},
		{"only the row itself is found", `		if e.Rowid != id || `, `		if `, "TestPlaces"},
	}},
	{"check_segments.go", ".", []fence{
		{"entries are compared with their rows", `		case k.expect[w.IndexID][n][p.Ordinal] != sum:`, `		case false:`, "TestCheckFindsSegments"},
		{"a row has one entry", `		case !seen[n].CheckedAdd(p.Ordinal):`, `		case !seen[n].CheckedAdd(p.Ordinal) && false:`, "TestCheckFindsSegments"},
		{"every row has an entry", `		if int64(seen[n].GetCardinality()) != want {`, `		if false {`, "TestSegmentsAreTheRows"},
		{"no index is ahead of the base", `		if p.Generation > compacted[p.ShardID] {`, `		if false {`, "TestCheckFindsPositions"},
		{"what an index has caught up with is covered", `			if !b.Contains(uint64(k.fragments[n].id)) {`, `			if b == nil {`, "TestCheckFindsPositions"},
	}},
}
