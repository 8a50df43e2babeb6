package engine

// publicationFences are the fences of sealing and publication: in the engine,
// and in the catalog, whose transactions they are.
var publicationFences = []fencesOf{
	{"publication.go", ".", []fence{
		{"a cut has a publication once its files are sealed", `len(open) == 0 || open[0].info.LastLSN > c.lsn {`, `true || len(open) == 0 {`, "TestFenceSealsBeforePublication"},
		{"a publication has the files up to its cut", `		if g.info.LastLSN <= c.lsn {
			gens`, `		if true {
			gens`, "TestFenceCutsInBetween"},
		{"what a dropped table took is published", `sumBytes(g.native.Add(g.lost))`, `sumBytes(g.native)`, "TestCheckpointPublishes"},
		{"a dropped table takes its sum along", `	g.lost = g.lost.Add(lost)`, `	_ = g`, "TestCheckpointPublishes"},
		{"generations are registered before they are named", `	if err := s.cat.Register(ctx, names...); err != nil {`, `	if err := error(nil); err != nil {`, "TestCheckpointPublishes"},
		{"a publication is built on the head", `	s.pub.head = adopted.Head
`, `	s.pub.head.LSN = adopted.Head.LSN
`, "TestCheckpoint$"},
		{"what is published waits no longer", `	s.pub.waiting = slices.DeleteFunc(s.pub.waiting, func(g *generation) bool { return g.info.LastLSN <= c.lsn })
`, ``, "TestCheckpoint$"},
		{"what a publication replaced is let go", `	if err := adopted.Retire(ctx); err != nil {`, `	if err := error(nil); err != nil {`, "TestFenceRetired"},
		{"a cut at open is taken when no file is in use", `	used := slices.ContainsFunc(s.shards, (*shard).used)
	if !used {
		s.takeCut()
	}
	c, ok`, `	s.takeCut()
	c, ok`, "TestFencePublishedAtOpen"},
		{"an attempt is given up though its context ended", `a.Abandon(context.WithoutCancel(ctx))`, `a.Abandon(ctx)`, "TestAttemptLeftBehind"},
		{"an attempt that stayed is given up before the next", `	if err := s.pub.clear(ctx); err != nil {`, `	if err := error(nil); err != nil {`, "TestAttemptLeftBehind"},
		{"the head has the rows of the log", `t.rows == r.head.LiveCount && `, ``, "TestHeadThatLies"},
		{"the head has the sum of the log", ` && t.sum == sumOf(r.head.Fingerprint) {`, ` {`, "TestHeadThatLies"},
		{"files are published in log order", `	slices.SortStableFunc(p.waiting, func(a, b *generation) int { return cmp.Compare(a.info.FirstLSN, b.info.FirstLSN) })`, `	slices.SortStableFunc(p.waiting, func(a, b *generation) int { return cmp.Compare(b.info.FirstLSN, a.info.FirstLSN) })`, "TestFencePublishedAtOpen"},
		{"what the head has is not published again", `catalog.GenerationSealed && !f.cat.InHead {`, `catalog.GenerationSealed {`, "TestCheckpointPublishes"},
	}},
	{"../catalog/seal.go", "../catalog", []fence{
		{"a seal is of the generation's object", `		if row.ObjectID != s.ObjectID {`, `		if false {`, "TestGenerations"},
		{"a seal is not changed", `			if s.describes(row) {`, `			if true {`, "TestGenerations"},
		{"sealing again changes nothing", `			if s.describes(row) {`, `			if false {`, "TestGenerations"},
		{"a seal has a receipt", `	if _, err := tx.ExecContext(ctx, ` + "`" + `
		INSERT INTO seal_receipts`, `	if _, err := tx.ExecContext(ctx, ` + "`" + `
		INSERT INTO temp.seal_receipts`, "TestGenerations"},
	}},
	{"../catalog/generations.go", "../catalog", []fence{
		{"a reserved generation is rooted", `	if _, err := tx.ExecContext(ctx, ` + "`" + `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'active')` + "`" + `, ownerID, objectID); err != nil {`, `	if err := error(nil); err != nil {`, "TestGenerations"},
		{"a reservation that is there stays", `			if row != nil {`, `			if false {`, "TestSeveralShards"},
	}},
	{"../catalog/register.go", "../catalog", []fence{
		{"only a sealed generation is registered", `			if row.State != GenerationSealed {`, `			if false {`, "TestPublish"},
		{"a registration stays", `			if row.BlobID != nil {`, `			if false {`, "TestPublish"},
	}},
	{"../catalog/publication.go", "../catalog", []fence{
		{"a publication is prepared on the head", `		if conflict := p.conflict(head); conflict != nil {`, `		if conflict := p.conflict(head); false {`, "TestConflict"},
		{"the head's digest is compared", `	return &heads[0], checkDigest("timeline", timelineID, heads[0].Digest, heads[0].digest(identity))`, `	return &heads[0], nil`, "TestFence"},
		{"a shard's digest is compared", `		if err := checkDigest("shard", s.ID, s.Digest, s.digest(identity)); err != nil {`, `		if err := error(nil); err != nil {`, "TestFence"},
		{"generations go on where the head ends", `name.Generation != next[name.ShardID] {`, `false {`, "TestFence"},
		{"a published generation is sealed and registered", `		if row.State != GenerationSealed || row.BlobID == nil {`, `		if false {`, "TestFence"},
		{"a cut has its commits", `	if last != p.LSN {`, `	if false {`, "TestFence"},
		{"a cut leaves none of its commits out", `		if r.Generation >= next[r.ShardID] && r.State`, `		if false && r.State`, "TestFence"},
		{"a cut adds up", `	if !bytes.Equal(c.sum, p.Fingerprint) {`, `	if false {`, "TestFence"},
		{"a recovery owner keeps both heads", `VALUES (?1, ?2), (?1, ?3)` + "`" + `,
		p.owner, head.RepresentationID, p.candidate)`, `VALUES (?1, ?2)` + "`" + `,
		p.owner, head.RepresentationID)`, "TestFence"},
		{"a recovery owner keeps the new files", `	if err := rootBlobs(ctx, tx, p.owner, cut.entries); err != nil {`, `	if err := error(nil); err != nil {`, "TestFence"},
	}},
	{"../catalog/adopt.go", "../catalog", []fence{
		{"the head is asked again at the adoption", `		if conflict = a.publication.conflict(head); conflict != nil {`, `		if false {`, "TestConflict"},
		{"an adoption is done once", `		if err := a.recheck(ctx, tx); err != nil {`, `		if err := error(nil); err != nil {`, "TestPublish"},
		{"an operation keeps its request", `	if !bytes.Equal(request, a.publication.request()) {`, `	if false {`, "TestFence"},
		{"head and outcome move together", `		return a.settle(ctx, tx, operationCommitted, outcome, attemptCommitted)`, `		_ = outcome
		return nil`, "TestPublish"},
		{"a conflict is recorded", `			return a.settle(ctx, tx, operationConflict, outcome, attemptConflict)`, `			_ = outcome
			return nil`, "TestConflict"},
		{"steps are taken in order", ` WHERE operation_id = ? AND state = ?` + "`" + `, to, operation, from)`, ` WHERE operation_id = ? AND ? <> ''` + "`" + `, to, operation, from)`, "TestPublish"},
		{"the log is read from behind the head", `	for shardID, from := range cut.replayFrom {`, `	for shardID, from := range map[int64]int64{} {`, "TestPublish"},
		{"the new head is rooted", `	if _, err := tx.ExecContext(ctx, ` + "`" + `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?, ?)` + "`" + `, head.OwnerID, a.candidate); err != nil {`, `	if err := error(nil); err != nil {`, "TestPublish"},
		{"the head before is let go", `	if err := a.release(ctx, tx, head, cut); err != nil {
		return nil, nil, err
	}
`, ``, "TestPublish"},
		{"a candidate is what was prepared", `	if err := a.checkCandidate(ctx, tx, head, next, cut); err != nil {`, `	if err := error(nil); err != nil {`, "TestFence"},
	}},
	{"../catalog/retire.go", "../catalog", []fence{
		{"what was adopted is not abandoned", `			return refuse(CodeState, "", "the attempt %x was adopted", a.operation)`, `			return retire(ctx, tx, a.row(), state)`, "TestPublish"},
		{"an abandoned operation is over", `	if _, err := tx.ExecContext(ctx, ` + "`" + `UPDATE operations SET status = ?`, `	if _, err := tx.ExecContext(ctx, ` + "`" + `UPDATE operations SET status = status WHERE 'x' <> ?`, "TestConflict"},
		{"a retired attempt keeps nothing", `range []string{"owner_blobs", "owner_objects", "owner_representations"} {`, `range []string{"owner_objects"} {`, "TestPublish"},
	}},
	{"../catalog/resolve.go", "../catalog", []fence{
		{"what was only prepared had no effect", `	case attemptPrepared:
		return true, rollBack(ctx, tx, a.Operation, a.State)`, `	case attemptPrepared:
		return false, nil`, "TestFence"},
		{"what may have happened is looked up", `	if a.State != attemptAttempting {
		return false, nil
	}
	return true,`, `	if true {
		return false, nil
	}
	return true,`, "TestFence"},
		{"head and outcome agree", `	if !sound {`, `	if !sound && false {`, "TestFence"},
	}},
	{"../catalog/shards.go", "../catalog", []fence{
		{"epochs rise", `				s.WriterEpoch++
`, ``, "TestSeveralShards"},
		{"a shard's row is verified before it changes", `	if err := checkDigest("shard", row.ID, row.Digest, row.digest(identity)); err != nil {`, `	if err := error(nil); err != nil {`, "TestTamperedFile"},
	}},
	{"../catalog/connection.go", "../catalog", []fence{
		{"the catalog is synced", `		{"synchronous", "FULL", "2"},`, `		{"synchronous", "NORMAL", "1"},`, "TestFence|TestForeignPragmas"},
		{"a failed COMMIT poisons the catalog", `	t.conn.handle.poison(failed)
`, ``, "TestFailedCommitPoisons"},
		{"a failed COMMIT has no outcome", `	failed.OutcomeUnknown = true
`, ``, "TestFailedCommitPoisons"},
	}},
	{"../catalog/transact.go", "../catalog", []fence{
		{"ids count when their transaction is committed", `	w := &writeTx{Tx: tx, ids: c.ids}
	if err := fn(ctx, w); err != nil {`, `	w := &writeTx{Tx: tx, ids: c.ids}
	defer func() { c.ids = w.ids }()
	if err := fn(ctx, w); err != nil {`, "TestFenceIDsOfAFailure"},
		{"what fails is rolled back", `		return c.failed(op, errors.Join(err, rollback(tx)))
	}
	if err := tx.Commit()`, `		return c.failed(op, errors.Join(err, tx.Commit()))
	}
	if err := tx.Commit()`, "TestSeveralShards"},
	}},
	{"../catalog/allocator.go", "../catalog", []fence{
		{"a block is reserved before it is used", `SET next_id = next_id + ? RETURNING next_id` + "`" + `, want)`, `SET next_id = next_id + ? - ?1 + 1 RETURNING next_id + ?1 - 1` + "`" + `, want)`, "TestReserveIDs"},
	}},
}
