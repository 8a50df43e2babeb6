package engine

// mutations are the fences of commit order and recovery.
var mutations = []mutation{
	{"acknowledged before the sync", "syncer.go",
		"if err := syncFiles(b.files); err != nil {", "if err := error(nil); err != nil {", "Crash|FailedSync"},
}
