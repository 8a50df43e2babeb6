//go:build !linux

package vfs

import "os"

// syncData is a full sync: no system but Linux has a data sync that both Go
// reaches and the medium honours.
func syncData(f *os.File) error { return f.Sync() }

// allocate writes zeros behind the old end; holes before it stay holes.
func allocate(f *os.File, old, size int64) error { return writeZeros(f, old, size) }
