//go:build !linux

package vfs

func (f *osFile) AdviseRandom() {}
