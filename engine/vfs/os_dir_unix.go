//go:build unix

package vfs

import "os"

func syncDir(d *os.File) error { return d.Sync() }
