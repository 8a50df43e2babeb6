//go:build !unix

package catalog

// syncDir does nothing: the system has no way to sync a directory, and its
// filesystems journal names by themselves.
func syncDir(string) error { return nil }
