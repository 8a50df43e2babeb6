package vfs

import "os"

// mayWrite tells whether a file may be written. Directories have no such right that
// could be asked for.
func mayWrite(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.IsDir() || info.Mode().Perm()&0o200 != 0
}
