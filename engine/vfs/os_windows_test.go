package vfs

import "os"

// blocksOf cannot be told here.
func blocksOf(*os.File) (int64, bool) { return 0, false }
