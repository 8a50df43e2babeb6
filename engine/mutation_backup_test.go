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
	{"../catalog/backup_renew.go", "../catalog", []fence{
		{"a damaged row gets no new digest", `	if !bytes.Equal(stored, was[:]) {`, `	if false {`, "TestCopyOfDamage"},
	}},
}
