//go:build !linux

package engine

func yieldThread() {}
