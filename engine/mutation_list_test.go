package engine

// Some lines keep no promise alone and are not listed:
//
//   - due asks for the cause of a poison: appended adds nothing behind one.
//   - gather refuses a commit that goes back, and a shard whose commit names
//     others: both stay heads of their logs, and judge finds them behind the cut.
//   - pull forgets records at the end of a file: the next commit would count
//     too many.
//   - seal writes no footer that is there: it would write the same bytes.
//   - Store.cut takes a cut when no file is in use: the open or the rotation
//     that made it so did.
//   - Open projects the schema: the housekeeper would find that nobody did.
//   - repairFile forgives a full disk: to reserve nothing never fails for it.
//   - part compares the version of a schema change with the commit's LSN:
//     schema compared it with the LSN that part asks for.
//   - removeStrays syncs a removal: the next open would do it again.
//   - conn.settle lets go of the lock before it waits: Tx.Commit did.
//   - conn.lock compares its snapshot before it waits: it does so again under
//     the lock. conn.lockLate does, too, but a text that writes through a
//     trigger of temp has the lock before it runs.

// commitFences are the fences of the commit's order: transaction, append, sync,
// acknowledgment, poison.
var commitFences = []fencesOf{
	{"tx_store.go", ".", []fence{
		{"a poisoned or closed store starts nothing", `err = s.refusal(); err == nil && s.log.full()`, `err == nil && s.log.full()`, "TestFailedSync|TestBeginAfterClose"},
		{"the base is the head", `base := s.head.Load()`, `base := s.durable.Load()`, "TestVisibleOnlyWhenDurable"},
		{"a poisoned store prepares nothing", `if err := t.store.Poisoned(); err != nil {`, `if err := error(nil); err != nil {`, "TestFailedSync"},
		{"what was written since is prepared again", `if t.prepared && t.stamp == t.writeStamp() {`, `if t.prepared {`, "TestFencePreparedAgain"},
		{"a commit claims what was synced", `SyncedLSN: uint64(t.store.synced.Load().lsn),`, `SyncedLSN: 0,`, "TestClaimInAThirdFile|TestMissingInOneShard"},
		{"a commit claims no more than was synced", `SyncedLSN: uint64(t.store.synced.Load().lsn),
	})`, `SyncedLSN: uint64(t.store.head.Load().lsn),
	})`, "TestRelaxedLosesASuffix|TestCrashAtEveryOperation"},
		{"a visible commit is not claimed to be synced", `		SyncedLSN: uint64(t.store.synced.Load().lsn),`, `		SyncedLSN: uint64(t.store.durable.Load().lsn),`, "TestRelaxedLosesASuffix"},
		{"Commit prepares what was not", `if err := t.Prepare(); err != nil {`, `if err := error(nil); err != nil {`, "TestFencePreparedAgain"},
		{"a commit that cannot be prepared poisons", `			s.poison(err)
		}`, `			_ = s
		}`, "TestCommitThatCannotBePrepared"},
		{"a failed append has an unknown outcome", `		s.attempted(lsn)`, ``, "TestFailedAppend"},
		{"a failed append poisons", `		s.attempted(lsn)
		s.poison(err)`, `		s.attempted(lsn)`, "TestFailedAppend"},
		{"a schema change is told from other commits", `s.appended(next, t.base.schema != next.schema, t.dropped)`, `s.appended(next, false, t.dropped)`, "TestRelaxedIsVisibleAtOnce|TestProjection"},
		{"no file is wanted too late", `	s.prepareAhead()
`, ``, "TestGoldenTrace"},
	}},
	{"lock.go", ".", []fence{
		{"one writer at a time", `make(chan struct{}, 1)`, `make(chan struct{}, 2)`, "TestWriteLock"},
	}},
	{"appender.go", ".", []fence{
		{"what was prepared before is forgotten", `	a.forget()
	if err := t.encodeTo(a)`, `	if err := t.encodeTo(a)`, "TestPrepareIsRepeatable"},
		{"a part starts empty", `sh.commit.Records, sh.commit.Contributions = 0, nil`, ``, "TestPrepareIsRepeatable|TestRandomShards|TestFenceRepeat"},
		{"a part starts at the tail", `sh.builder.Reset(sh.gen.salt, sh.gen.tail, sh.builder.Bytes())`, `sh.builder.Reset(sh.gen.salt, sh.gen.start, sh.builder.Bytes())`, "TestStoreRoundTrip"},
		{"every part names all participants", `sh.commit.Contributions, a.participants
`, `sh.commit.Contributions, a.participants[i:i+1]
`, "TestMissingInOneShard"},
		{"a participant's end lies behind its commit", `uint64(sh.builder.Offset() + wal.CommitSize(&sh.commit))`, `uint64(sh.builder.Offset())`, "TestStoreRoundTrip"},
		{"room is made before the append", `return a.reserve()`, `return nil`, "TestFull"},
		{"room is made in all shards or in none", `for k, was := range a.before[:i] {`, `for k, was := range a.before[:0*i] {`, "TestFullInOneShard"},
		{"every part is appended", `	for _, sh := range a.parts {
		if err := sh.gen.append(sh.builder.Bytes())`, `	for _, sh := range a.parts[:1] {
		if err := sh.gen.append(sh.builder.Bytes())`, "TestRowsTogether|TestRandomShards"},
		{"a failed write is no append", `if _, err := g.file.WriteAt(frames, g.tail); err != nil {`, `if _, err := g.file.WriteAt(frames, g.tail); false {`, "TestFailedAppend"},
		{"a commit ends the close mark", `	g.marked = false
`, ``, "TestFenceCloseMark"},
	}},
	{"syncer.go", ".", []fence{
		{"a commit is acknowledged after the sync", `if err := syncFiles(b.files); err != nil {`, `if err := error(nil); err != nil {`, "TestCrashAtEveryOperation"},
		{"a batch is claimed after the sync", `	if err := syncFiles(b.files); err != nil {`, `	s.synced.Store(&b.last)
	if err := syncFiles(b.files); err != nil {`, "TestFenceEveryShardIsSynced"},
		{"a failed sync poisons", `		s.poison(err)
		return false`, `		_ = err`, "TestFenceEveryShardIsSynced"},
		{"what was appended may be there", `	p.attempted = next.lsn
	if p.cause`, `	if p.cause`, "TestFailedSync"},
		{"a poisoned store goes nowhere", `	if p.cause != nil {
		return // a sync failed`, `	if false {
		return // a sync failed`, "TestFencePoisonedMeanwhile"},
		{"a commit is visible after the sync", `if s.opts.Sync == SyncFull {
		b.root = next`, `if s.opts.Sync < SyncFull {
		b.root = next`, "TestVisibleOnlyWhenDurable"},
		{"every batch has its files", `if g.batch != b {`, `if g.batch == nil {`, "TestCrashAtEveryOperation"},
		{"every part is synced", `			b.files = append(b.files, g)`, `			b.files = append(b.files[:0], g)`, "TestBatchOverTwoFiles|TestFenceEveryShardIsSynced"},
		{"a schema change waits for its projection", `	if ddl {
		s.awaitProjection(next.lsn)`, `	if false {
		s.awaitProjection(next.lsn)`, "TestProjection"},
		{"a schema change is synced in every mode", `	case ddl:
		p.hurry()`, `	case ddl && s.opts.Sync == SyncFull:
		p.hurry()`, "TestFenceSchemaChangeIsSynced"},
		{"normal is synced by the clock", `		s.startDelay()
	}`, `		_ = s
	}`, "TestWhenRelaxedSyncs"},
		{"all files of a batch are synced", `range files[1:] {`, `range files[:0] {`, "TestBatchOverTwoFiles|TestFenceEveryShardIsSynced"},
		{"all syncs of a batch are waited for", `	others.Wait()
`, ``, "TestFenceEveryShardIsSynced"},
		{"a failed sync of any file counts", `for _, err := range errs {`, `for _, err := range errs[:1] {`, "TestFenceEveryShardIsSynced"},
		{"a poisoned store publishes nothing", `	if s.pipe.cause != nil {
		return false
	}
	if b.root`, `	if b.root`, "TestFencePoisonedMeanwhile"},
		{"rows are visible before the waiters wake", `	if b.root != nil {
		s.durable.Store(b.root)
		b.root = nil // files and synced refer to the batch for longer than the state should stay
	}
	s.synced.Store(&b.last)
	s.pipe.inflight = nil
	s.stats.synced(b.commits)
	close(b.done)`, `	close(b.done)
	time.Sleep(time.Millisecond)
	if b.root != nil {
		s.durable.Store(b.root)
		b.root = nil // files and synced refer to the batch for longer than the state should stay
	}
	s.synced.Store(&b.last)
	s.pipe.inflight = nil
	s.stats.synced(b.commits)`, "TestGroupCommit"},
		{"a state is let go with its batch", `		b.root = nil // files and synced refer to the batch for longer than the state should stay
`, ``, "TestOldStatesAreLetGo"},
		{"a state that was lost is let go", `			b.root = nil
`, ``, "TestOldStatesAreLetGo"},
		{"what was synced is noted", `	s.synced.Store(&b.last)
`, ``, "TestFenceSchemaChangeIsSynced"},
		{"the first cause of a poison counts", `	if p.cause != nil {
		s.mu.Unlock()
		return
	}
	p.cause`, `	if p.cause != nil {
		p.cause = &poisonError{cause}
		s.mu.Unlock()
		return
	}
	p.cause`, "TestFencePoisonedMeanwhile"},
		{"a poison takes the head back", `	s.head.Store(s.durable.Load())
`, ``, "TestFailedSync"},
		{"waiters learn of a poison", `			b.err = p.cause
`, ``, "TestFailedSync"},
		{"a poison is seen by all", `	close(s.poisoned) // first: whoever is told of it finds it so
`, ``, "TestFailedAppend"},
		{"a schema change is acknowledged after its sync", `s.durable.Load().lsn < lsn || s.isSchemaChange(lsn)`, `s.durable.Load().lsn < lsn`, "TestRelaxedPoison"},
		{"a schema change is not acknowledged at once", `s.durable.Load().lsn >= lsn && !s.isSchemaChange(lsn)`, `s.durable.Load().lsn >= lsn`, "TestFenceSchemaChangeIsSynced"},
		{"what was never written is refused", `	case p.cause != nil && lsn > p.attempted:
		return nil, false, p.cause
`, ``, "TestFailedSync"},
		{"what may be there is unknown", `		return nil, false, unknownOutcome(lsn, p.cause)`, `		return nil, false, p.cause`, "TestFailedAppend"},
		{"a waiter of a failed batch has no outcome", `return unknownOutcome(lsn, b.err)`, `return b.err`, "TestFailedSync"},
		{"whoever waits sees to the sync", `		if mine {`, `		if mine && b == nil {`, "TestWaiterSyncs"},
		{"one batch is synced at a time", `case lead && !p.busy && `, `case lead && `, "TestWaiterSyncs"},
		{"the syncer waits for a waiter's sync", `for p.busy || !p.due(s.opts.Sync) {`, `for !p.due(s.opts.Sync) {`, "TestCloseWaitsForAWaiter"},
		{"the syncer goes on behind a waiter", `	if p.stop || p.due(s.opts.Sync) {
		p.work.Signal()
	}
`, ``, "TestWaiterSyncs"},
		{"others are told of what is synced", `	if err := syncFiles(b.files); err != nil {
		s.poison(err)`, `	s.writeLock(b.last.lsn)
	if err := syncFiles(b.files); err != nil {
		s.poison(err)`, "TestToldWhenSynced"},
		{"others are told before the acknowledgment", `	s.writeLock(b.last.lsn)
	return s.published(b)`, `	defer s.writeLock(b.last.lsn)
	return s.published(b)`, "TestToldWhenSynced"},
		{"Close waits for a waiter's sync", `if p.stop && !p.busy {`, `if p.stop {`, "TestCloseWaitsForAWaiter"},
		{"a commit without a waiter is synced with the next", `		if !p.busy && b.commits > 1 {
			p.work.Signal()
		}
`, ``, "TestWaiterSyncs"},
		{"who has a deadline does not sync", `s.batchOf(lsn, ctx.Done() == nil)`, `s.batchOf(lsn, true)`, "TestDeadlineOfAWaiter"},
		{"who has a deadline tells the syncer", `		if !p.busy && p.due(s.opts.Sync) {
			p.work.Signal()
		}
`, ``, "TestDeadlineOfAWaiter"},
		{"a wait that ends has no outcome", `return unknownOutcome(lsn, ctx.Err())`, `return ctx.Err()`, "TestVisibleOnlyWhenDurable"},
	}},
	{"sync_mode.go", ".", []fence{
		{"Close syncs what gathered", `(mode == SyncFull || p.urgent || p.stop)`, `(mode == SyncFull || p.urgent)`, "TestFenceCloseSyncs"},
		{"what is urgent is synced", `(mode == SyncFull || p.urgent || p.stop)
}`, `(mode == SyncFull || p.stop)
}`, "TestFenceSchemaChangeIsSynced"},
	}},
	{"tx_encode_shards.go", ".", []fence{
		{"schema changes come first", `if len(t.ddl) > 0 {`, `if false {`, "TestSchemaAndRows"},
		{"a row goes to its shard", `ordinal := shardOf(def.ID, o.rowid, n)`, `ordinal := shardOf(def.ID, o.rowid+1, n)`, "TestFenceRowInItsShard"},
		{"rows are written by the last definition", `h := final[o.table]`, `h := t.tables[o.table]
		_ = final`, "TestSchemaAndRows"},
	}},
	{"volatile.go", ".", []fence{
		{"a volatile commit shares the fate of what it is made of", `	if pending {`, `	if pending && false {`, "TestVolatile"},
		{"what a volatile commit is made of is what it read, too", `if slot.read || slot.h != nil {`, `if slot.h != nil {`, "TestVolatile"},
		{"a poisoned store takes no volatile rows", `	if p.cause != nil {
		return base.lsn + 1`, `	if p.cause != nil && false {
		return base.lsn + 1`, "TestFenceVolatilePoison"},
		{"a batch keeps the volatile rows behind it", `	newest.root = next
`, ``, "TestVolatile"},
		{"a batch keeps the volatile rows beside it", `		under.root = under.root.with(written)
`, ``, "TestVolatile"},
		{"a volatile commit is visible at once", `	s.durable.Store(seen)
`, ``, "TestVolatile"},
	}},
	{"../vtab/transaction.go", "../driver", []fence{
		{"all that can fail is done before the commit", `if err := c.tx.Prepare(); err != nil {`, `if err := error(nil); err != nil {`, "TestFence|TestFull"},
	}},
	{"../driver/protocol.go", "../driver", []fence{
		{"a single SELECT reads what is durable", `	if c.reads.active == 0 {
		c.pin(c.durable())
	}`, `	if c.reads.active == 0 {
		c.pin(c.head())
	}`, "TestPendingCommitIsNotSeen"},
		{"a read-only transaction reads what is durable", `	case c.tx.readOnly:
		c.pin(c.durable())`, `	case c.tx.readOnly:
		c.pin(c.head())`, "TestPendingCommitIsNotSeen|TestReadOnlyTx|TestFence"},
		{"a transaction knows what it builds on", `c.reads.base = c.reads.snap.LSN()`, ``, "TestPendingCommitIsNotSeen"},
		{"a statement waits for its commit", `if wait := c.waitDurable(ctx, lsn); wait != nil {`, `if wait := error(nil); wait != nil {`, "TestPendingCommitIsNotSeen"},
		{"an error waits for what it is about", `	return c.holdBack(ctx, err, base)
}`, `	_ = base
	return err
}`, "TestPendingCommitIsNotSeen"},
		{"a broken transaction runs nothing", `	case broken:
		return errBroken
	case open:`, `	case open:`, "TestBrokenTransaction"},
	}},
	{"../driver/wait.go", "../driver", []fence{
		{"rows wait for what they are built on", `	if err := c.await(ctx, c.reads.base); err != nil {
		return err
	}`, ``, "TestPendingCommitIsNotSeen"},
		{"a context does not cancel a commit", `return c.store.WaitDurable(context.Background(), lsn)`, `return c.store.WaitDurable(ctx, lsn)`, "TestContextAfterAppend"},
		{"a deadline leaves the outcome unknown", `	return c.store.WaitDurable(wait, lsn)`, `	_ = c.store.WaitDurable(wait, lsn)
	return nil`, "TestContextAfterAppend"},
	}},
	{"../driver/lock.go", "../driver", []fence{
		{"who waited for the lock is asked again", `	if pinned && !etx.From().Same(c.reads.snap) {`, `	if false {`, "TestBusySnapshot|TestFence"},
		{"a transaction holds back what its base is", `	c.reads.base = etx.Base()
`, ``, "TestPendingCommitIsNotSeen"},
	}},
}
