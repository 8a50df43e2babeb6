//go:build !unix

package driver

// syncDirectory does nothing where directories cannot be opened: the file
// system orders its names itself.
func syncDirectory(string) error { return nil }
