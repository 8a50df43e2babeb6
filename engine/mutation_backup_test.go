package engine

// backupFences are the fences of backups and restores.
var backupFences = []fencesOf{
	{"backup.go", ".", []fence{
		{"a backup begins with a cut", `	err := s.checkpoint(ctx, b.lockTimeout, nil)
`, `	err := error(nil)
`, "TestBackupAndRestore"},
		{"a backup of another store does not go on", `	if m.Source != hexOf(b.s.id) {`, `	if false && m.Source != "" {`, "TestBackupRefusals"},
	}},
	{"backup_catalog.go", ".", []fence{
		{"what is copied is retained", `	if err := s.cat.RetainForJob(ctx, job, ids); err != nil {`, `	_ = ids
	if err := error(nil); err != nil {`, "TestBackupEnds"},
	}},
	{"backup_files.go", ".", []fence{
		{"only segments are left out", `	if o.Kind != catalog.KindIndex || c.leave == nil`, `	if c.leave == nil`, "TestBackupSourceFaults"},
		{"a backup is made without a damaged segment", `	if o.Kind != catalog.KindIndex || c.leave == nil`, `	if o.Kind == catalog.KindIndex || c.leave == nil`, "TestBackupOfDamagedSegments"},
		{"nothing of a damaged segment stays in a backup", `	if err := c.to.Remove(o.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {`, `	if err := error(nil); err != nil && !errors.Is(err, fs.ErrNotExist) {`, "TestBackupOfDamagedSegments"},
		{"a copy has its digest", `	if content != o.ContentID {`, `	if false {`, "TestRestoreOfDamage"},
		{"a copy is synced", `	if err := to.Sync(); err != nil {`, `	if err := error(nil); err != nil {`, "TestBackupCrash"},
		{"the entries of copies are synced", `		if err := c.to.SyncDir(d); err != nil {`, `		if err := error(nil); err != nil {`, "TestBackupCrash"},
	}},
	{"backup_place.go", ".", []fence{
		{"nothing opens a backup", `err == nil && !info.Dir {`, `err == nil && info == (vfs.Info{}) {`, "TestBackupRefusals"},
	}},
	{"restore.go", ".", []fence{
		{"the catalog of a backup has its digest", `	if size != m.CatalogBytes || hexOf(sum) != m.CatalogSHA256 {`, `	if false {`, "TestRestoreOfDamage"},
	}},
	{"generation.go", ".", []fence{
		{"only sealed files are older than the store", `	if g.info.State == catalog.GenerationSealed && slices.Contains(`, `	if slices.Contains(`, "TestRestoredHeaders"},
	}},
	{"../catalog/backup_leave.go", ".", []fence{
		{"who loses a segment loses its positions", `return changed[p.IndexID] })`, `return false && changed[p.IndexID] })`, "TestBackupOfDamagedSegments"},
		{"who loses a segment loses them in the rows, too", `[]string{"index_state_segments", "index_state_catchup"}`, `[]string{"index_state_segments"}`, "TestBackupOfDamagedSegments"},
	}},
	{"../catalog/backup_leave.go", "../catalog", []fence{
		{"segments that are left stand in order", `		s.Ordinal = next[s.IndexID]
`, ``, "TestLeaveSegments"},
		{"a damaged state is not written anew", `	if err := checkDigest("index state", r.ID, r.Digest, r.digest(identity)); err != nil {`, `	if err := error(nil); err != nil {`, "TestLeaveSegments"},
	}},
	{"../catalog/backup_renew.go", "../catalog", []fence{
		{"a damaged row gets no new digest", `	if !bytes.Equal(stored, was[:]) {`, `	if false {`, "TestCopyOfDamage"},
	}},
}
