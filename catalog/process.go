package catalog

import (
	"fmt"
)

// Process names one process instance for as long as the machine is not booted
// again. None of its parts does so alone: pids come back, and start times repeat.
type Process struct {
	BootID       string // of the kernel, 36 characters
	PID          int64  // in its pid namespace
	PIDNamespace int64  // inode of the namespace
	StartTicks   int64  // clock ticks from boot to its start
}

// String spells a process for a person.
func (p Process) String() string {
	return fmt.Sprintf("pid %d (pid namespace %d, started at tick %d, boot %s)", p.PID, p.PIDNamespace, p.StartTicks, p.BootID)
}

// Evidence of a death. Nothing else proves one, least of all silence.
const (
	EvidenceBoot  = "boot_changed"   // the machine was booted since
	EvidenceGone  = "pid_absent"     // its pid namespace has no such pid
	EvidenceStart = "start_mismatch" // the pid belongs to a process that started at another time
	EvidenceExit  = "pidfd_exit"     // it ended and was not waited for yet
)

// judge tells from what is known of a process, and of the one that asks, whether
// it lives. at returns the process with p's pid in the asking one's namespace:
// found says whether there is one, err that nobody can tell.
func judge(p, self Process, at func(pid int64) (there Process, exited, found bool, err error)) (alive bool, evidence string, certain bool) {
	switch {
	case p.BootID != self.BootID:
		return false, EvidenceBoot, true
	case p.PIDNamespace != self.PIDNamespace:
		return false, "", false // its pid says nothing here
	}
	there, exited, found, err := at(p.PID)
	switch {
	case err != nil:
		return false, "", false
	case !found:
		return false, EvidenceGone, true
	case there.StartTicks != p.StartTicks:
		return false, EvidenceStart, true
	case exited:
		return false, EvidenceExit, true
	}
	return true, "", true
}
