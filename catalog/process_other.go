//go:build !linux

package catalog

import "errors"

// ThisProcess fails: only Linux tells a process from a later one with its pid.
func ThisProcess() (Process, error) {
	return Process{}, errors.New("catalog: sessions need the /proc of Linux")
}

// Probe is never certain.
func Probe(Process) (alive bool, evidence string, certain bool) { return false, "", false }
