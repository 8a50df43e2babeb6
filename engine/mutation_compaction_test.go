package engine

// compactionFences are those of bases and of the collection of files in the catalog.
var compactionFences = []fencesOf{
	{"../catalog/base.go", "../catalog", []fence{
		{"an object is reserved for a job that runs", `	case state != JobRunning:`, `	case false:`, "TestReserveObject"},
		{"a reserved object is rooted", `	if _, err := tx.ExecContext(ctx, ` + "`" + `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'output')` + "`" + `, owner, r.ObjectID); err != nil {`, `	if _, err := owner, error(nil); err != nil {`, "TestReserveObject"},
		{"a base object is not sealed anew", `	if !same {`, `	if false {`, "TestSealBase"},
		{"a base object that nothing roots is not sealed", `		case !row.Rooted:`, `		case false:`, "TestSealBase"},
		{"a base object is registered with its seal", `	_, err = registerObject(ctx, tx, s.ObjectID, row.Revision+1, s.records())
	return err`, `	return nil`, "TestSealBase"},
	}},
	{"../catalog/compact.go", "../catalog", []fence{
		{"a base is not ahead of the head", `	if b.LSN > head.LSN {`, `	if false {`, "TestFenceBase$"},
		{"a base is not behind the one before", `	if b.LSN < lsn {`, `	if false {`, "TestFenceBase$"},
		{"a base is a cut", `		case deref(g.FirstLSN) <= b.LSN:`, `		case false:`, "TestFenceBaseCut"},
		{"a base adds up to what it replaces", `	if !bytes.Equal(was, is) {`, `	if false {`, "TestFenceBase$"},
		{"a base is registered", `		case rows[0].State != "sealed" || rows[0].BlobID == nil:`, `		case false:`, "TestFenceUnregistered"},
		{"a base is rooted", `		case !rows[0].Rooted:`, `		case false:`, "TestFenceBase$"},
		{"a base is of one state", `		case rows[0].LSN != b.LSN:`, `		case false:`, "TestFenceBase$"},
		{"a base begins with the schema", `			if schema := rows[j].TableID == 0; schema != (i == 0 && j == 0) {`, `			if false {`, "TestFenceBase$"},
		{"the head's entries are verified before they are parted", `		if _, err := rows[i].verified(identity); err != nil {`, `		if err := error(nil); err != nil {`, "TestFenceAdoptBase"},
		{"a base is what was prepared", `		if !entries[i].equal(expected) {`, `		if false {`, "TestFenceAdoptBase"},
		{"a base is of the head's world", `	if next.WorldID != head.WorldID || next.IndexStateID != head.IndexStateID {`, `	if false {`, "TestFenceAdoptBase"},
		{"a base's sum is the head's", `	if !bytes.Equal(sum, next.ContributionSum) || !bytes.Equal(sum, head.Fingerprint) {`, `	if false {`, "TestFenceAdoptBase"},
		{"only chunks that are kept whole are shared", `kept[len(kept)-n].ChunkID != refs[shared-1].ChunkID || kept[len(kept)-n].Position != 0 {`, `false {`, "TestSharedChunksAreWhole"},
	}},
	{"../catalog/fragments.go", "../catalog", []fence{
		{"a fragment's digest is compared", `	if err := checkDigest("fragment", r.ID, r.Digest, r.digest(identity)); err != nil {`, `	if err := error(nil); err != nil {`, "TestTamperedBase"},
		{"the head's base is of one state", `		if f.LSN != lsn {`, `		if false {`, "TestTamperedBase"},
		{"a base object has fragments", `		if len(rows) == 0 {`, `		if len(rows) == 0 { continue }
		if false {`, "TestTamperedBase"},
		{"the head's base begins with the schema", `			if schema := r.TableID == 0; schema != (i == 0 && j == 0) {`, `			if false {`, "TestTamperedBase"},
	}},
	{"../catalog/manifest.go", "../catalog", []fence{
		{"a base comes before generations", `			if len(bases) != i {`, `			if false {`, "TestContradictingBase"},
		{"no generation in the head is also in its base", `g.InHead && g.FirstLSN <= s.BaseLSN {`, `g.InHead && false {`, "TestTamperedBase"},
		{"what the head names is there", `	if err := checkForeign(ctx, q, h.RepresentationID, foreign); err != nil {`, `	if err := error(nil); err != nil {`, "TestGenerationsBeginAnywhere"},
	}},
	{"../catalog/state.go", "../catalog", []fence{
		{"what is to be replayed is there", `			if i == 0 && g.Generation > shard.ReplayFrom {`, `			if false {`, "TestReplayedGenerationsAreThere"},
	}},
	{"../catalog/jobs.go", "../catalog", []fence{
		{"a job that is over retains nothing", `	if err := dropAllRoots(ctx, tx, row.Owner); err != nil {`, `	if err := error(nil); err != nil {`, "TestJobsLetGo"},
	}},
	{"../catalog/garbage.go", "../catalog", []fence{
		{"what a root names is no garbage", `	for _, id := range g.objects {`, `	for _, id := range []int64(nil) {`, "TestGarbageOfGraphs"},
		{"what a manifest names is no garbage", `	g.free, g.blobs = append(g.free, reconciled...), append(g.blobs, entries...)`, `	g.free = append(g.free, reconciled...)`, "TestGarbageOfGraphs"},
		{"what an edge names is no garbage", `	follow(keep, g.edges)`, `	_ = g.edges`, "TestGarbageOfGraphs"},
		{"the log's files are no garbage", `	for _, id := range g.current {`, `	for _, id := range []int64(nil) {`, "TestCurrentGenerationStays"},
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
}
