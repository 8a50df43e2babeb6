package engine

// logFences are the fences of the life of a file of the log, of rotation, of
// sealing, and of opening and closing a store.
var logFences = []fencesOf{
	{"generation.go", ".", []fence{
		{"room is made ahead of the append", `	if need+closeMarkSize <= g.allocated {`, `	if need+closeMarkSize <= g.allocated || need > 0 {`, "TestFull|TestGoldenTrace"},
		{"a step leaves room for the close mark", `need+closeMarkSize)
	size =`, `need)
	size =`, "TestFenceRoomForCloseMark"},
		{"the room for the close mark is not used up", `	if need+closeMarkSize <= g.allocated {`, `	if need <= g.allocated {`, "TestFenceRoomForCloseMark"},
		{"a disk that is nearly full gives what is needed", `	if isFull(err) {
		if err = g.file.Preallocate(need); err == nil {`, `	if isFull(err) {
		if false {`, "TestFenceNearlyFull"},
		{"every file has a salt of its own", `if _, err := rand.Read(g.salt[:]); err != nil {`, `if err := error(nil); err != nil {`, "TestFenceSalts"},
		{"what an interrupted attempt left is not used", `		if err := s.fs.Remove(g.path); err != nil {
			return fmt.Errorf("engine: creating %s: %w", g.path, err)
		}
		f, err = s.fs.Create(g.path)`, `		f, err = s.fs.Open(g.path)`, "TestFenceLeftover"},
		{"a header is synced", `	if err := f.Sync(); err != nil {`, `	if err := error(nil); err != nil {`, "TestCrashAtEveryOperation|TestGoldenTrace"},
		{"a file's name is synced", `	if err := s.syncDirs(path.Dir(g.path)); err != nil {
		return err
	}
	g.file,`, `	g.file,`, "TestCrashAtEveryOperation"},
		{"all directories of a file are synced", `		if !s.lasting[below] {`, `		if below == "" {`, "TestCreateFileSyncs|TestCrashAtEveryOperation"},
		{"a missing file is damage", `	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptError`, `	if false {
		return nil, &CorruptError`, "TestMissingFile"},
		{"a file is the one that the catalog names", `	return checkHeader(g, &h, s.id, g.info.Shard)`, `	return nil`, "TestFenceForeignFile"},
		{"a file is of this store", `		{"store", h.StoreID, store},
`, ``, "TestFenceForeignFile"},
		{"a file is of its shard", `		{"shard", h.ShardID, shard},
`, ``, "TestFenceForeignFile"},
		{"a file is of its generation", `		{"generation", h.Generation, g.number},
`, ``, "TestFenceForeignFile"},
		{"a file is of its object", `		{"object", h.ObjectID, g.object},
`, ``, "TestFenceForeignFile"},
	}},
	{"rotate.go", ".", []fence{
		{"a rotation is a cut", `	s.takeCut()
	var begun`, `	var begun`, "TestRotationPublishes"},
		{"all shards are cut together", `		if !sh.used() {
			continue
		}
		c.sealing`, `		if !sh.used() || sh.gen.tail < s.log.limit {
			continue
		}
		c.sealing`, "TestRotation|TestRandomShards"},
		{"a full generation is synced in every mode", `	s.pipe.hurry()   // nothing is sealed before it is synced
`, ``, "TestFenceRotationIsSynced"},
		{"what a rotation leaves is sealed", `		c.sealing = append(c.sealing, sh.gen)
`, ``, "TestRotation"},
		{"what a rotation leaves is published", `		s.pub.waiting = append(s.pub.waiting, sh.gen)
`, ``, "TestRotationPublishes"},
		{"a failed sync off the commit's way poisons", `	if errors.As(err, &lost) {`, `	if false && errors.As(err, &lost) {`, "TestCheckpointFails"},
		{"a poisoned store does no chores", `		if s.pipe.cause != nil {
			if c.stop {`, `		if false {
			if c.stop {`, "TestFencePoisonedChores"},
		{"the catalog shows what is synced", `		synced := s.synced.Load()
`, `		synced := s.head.Load().mark()
`, "TestFenceProjection"},
		{"a lost catalog poisons", `	if errors.Is(err, catalog.ErrPoisoned) || errors.Is(err, catalog.ErrOutcomeUnknown) {`, `	if false {`, "TestFenceLostCatalog"},
		{"a file is current after it is made", `	for i, c := range reserved {
		g := newGeneration(c)`, `	if err := s.cat.SetCurrentGenerations(ctx, names...); err != nil {
		return nil, err
	}
	for i, c := range reserved {
		g := newGeneration(c)`, "TestCrashAtEveryOperation|TestFaultAtEveryOperation"},
		{"a file may hold what follows the synced commits", `s.make(g, shards[i].epoch, s.synced.Load().lsn+1)`, `s.make(g, shards[i].epoch, s.head.Load().lsn+1)`, "TestFenceFirstLSN"},
		{"a file is current before it is used", `	if err := s.cat.SetCurrentGenerations(ctx, names...); err != nil {`, `	if err := error(nil); err != nil {`, "TestRotation"},
	}},
	{"seal.go", ".", []fence{
		{"a torn footer is no part of the file", `s.census(g, g.tail)`, `s.census(g, 1<<62)`, "TestCheckpointAfterTornFooter"},
		{"a seal has a footer", `	if !c.footed {`, `	if false {`, "TestRotation"},
		{"a sealed file ends with its footer", `	if err := g.file.Truncate(extent); err != nil {`, `	if err := error(nil); err != nil {`, "TestRotation"},
		{"a footer is synced before its receipt", `	if err := g.file.Sync(); err != nil {`, `	if err := error(nil); err != nil {`, "TestCrashAtEveryOperation|TestCheckpointCrash"},
		{"the names of a sealed file are synced", `	if err := s.syncEntries(path.Dir(g.path)); err != nil {
		return err
	}
	content,`, `	content,`, "TestGoldenTrace"},
		{"a seal is in the catalog", `	err = s.cat.SealGeneration(ctx, catalog.Seal{`, `	_, err = s.cat.ReserveIDs(ctx, 1)
	_ = (catalog.Seal{`, "TestCheckpoint$"},
		{"frames are checked before they are sealed", `				return nil, corruptOrRead(g.path, sc.Stop())`, `				break`, "TestFenceSealOfDamage"},
		{"a footer that is there is compared", `		if err := sameSeal(&c.seal, &found); err != nil {
			return nil, corruptIn(g.path, c.end, err)
		}`, ``, "TestFenceFootedAtOpen"},
	}},
	{"sealer.go", ".", []fence{
		{"what is sealed is synced", `len(c.sealing) == 0 || c.sealing[0].info.LastLSN > synced {`, `len(c.sealing) == 0 {`, "TestFenceSealsAfterSync"},
		{"a poisoned store seals nothing", `		if s.pipe.cause == nil {
			g :=`, `		if true {
			g :=`, "TestFencePoisonedChores"},
		{"a check is not disturbed by seals", `		s.sealing.Lock() // waits for a running Check
		err := s.seal(ctx, g)
		s.sealing.Unlock()`, `		err := s.seal(ctx, g)`, "TestFenceSealsWithoutCheck"},
		{"a failed seal is not forgotten", `			s.chores.sealing = s.chores.sealing[1:]
		}
		s.chores.attempted()`, `		}
		s.chores.sealing = s.chores.sealing[1:]
		s.chores.attempted()`, "TestCheckpointFails"},
	}},
	{"checkpoint.go", ".", []fence{
		{"a checkpoint waits for its publication", `		case open == 0 && published:`, `		case open == 0 || published:`, "TestCheckpointPublishes"},
		{"a checkpoint tells of a poison", `		case cause != nil:
			return cause
`, `		case cause != nil:
			return nil
`, "TestFenceCheckpointPoisoned"},
		{"a checkpoint tells of a failure", `			return withFull(failed)`, `			return nil`, "TestCheckpointFails"},
		{"a poisoned store is not cut", `	if err := s.refusal(); err != nil {
		return 0, nil, err
	}`, ``, "TestCheckpointFails"},
		{"a checkpoint takes the cut that somebody made", `sh.used() && sh.gen.info.FirstLSN <= lsn`, `sh.used()`, "TestCheckpointBesideRotations"},
	}},
	{"projection.go", ".", []fence{
		{"only what was projected is let go", `		if at <= lsn {`, `		if true {`, "TestFenceProjection"},
		{"a schema change waits until the catalog was told", `		case <-a.done:
		case <-ctx.Done():`, `		default:`, "TestFenceProjection"},
	}},
	{"store.go", ".", []fence{
		{"one process writes", `	if err := s.takeLock(); err != nil {`, `	if err := error(nil); err != nil {`, "TestSecondOpenIsRefused"},
		{"an open publishes what was left", `	s.publishAtOpen(ctx)
`, ``, "TestFencePublishedAtOpen"},
		{"an open settles interrupted publications", `	if _, err := cat.ResolvePublications(ctx); err != nil {`, `	if err := error(nil); err != nil {`, "TestPublicationFaults"},
		{"an open settles interrupted jobs", `	if _, err := cat.AbandonJobs(ctx); err != nil {`, `	if err := error(nil); err != nil {`, "TestFenceAbandonedJob"},
		{"Close waits for the syncer", `	s.syncing.Wait()
`, ``, "TestFenceCloseWaits"},
		{"Close ends what is running first", `	close(s.closing)
	s.mu.Unlock()
	s.jobs.running.Wait()
`, `	close(s.closing)
	s.mu.Unlock()
`, "TestFenceCloseWaits"},
		{"a poisoned store leaves no close mark", `	err := s.Poisoned()
	if err == nil {
		err =`, `	err := s.Poisoned()
	if true {
		err =`, "TestFailedSync"},
		{"a close mark is written once", `		if g.marked || g.info.LastLSN == 0 {`, `		if g.info.LastLSN == 0 {`, "TestCloseMarkOnlyOnce"},
		{"an unused file has no close mark", `		if g.marked || g.info.LastLSN == 0 {`, `		if g.marked {`, "TestFenceCloseMark"},
		{"close marks are synced", `	return syncFiles(marked)`, `	return nil`, "TestGoldenTrace|TestCloseMarkNotOnDisk"},
		{"a clean close has a close mark", `		err = s.writeCloseMarks()
`, ``, "TestFlippedBits|TestFenceCloseMark"},
		{"Close refuses beside a transaction", `			return ErrBusy
		}`, `		}`, "TestWriteLock"},
	}},
	{"ids.go", ".", []fence{
		{"a block of ids is used once", `b.spare, b.spare+idBlock, 0`, `b.spare, b.spare+idBlock, b.spare`, "TestIDBlocks"},
		{"an id is given once", `	b.next++
`, ``, "TestIDBlocks"},
	}},
	{"jobs.go", ".", []fence{
		{"a job that ends is recorded", `	ended := s.cat.EndJob(context.WithoutCancel(ctx), job.ID, job.Done, job.Total, failure)`, `	ended := s.cat.EndJob(ctx, job.ID, job.Done, job.Total, failure)`, "TestFenceAbandonedJob"},
	}},
}
