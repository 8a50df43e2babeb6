package driver

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// leastBudget and mostBudget bound a memory budget.
const (
	leastBudget = 1 << 20
	mostBudget  = 1 << 50
)

// memoryBudget is the budget of a configuration.
func memoryBudget(cfg Config) (budget int64, source string) {
	if cfg.MemoryBudget != 0 {
		return cfg.MemoryBudget, "memory_budget"
	}
	return machineBudget(os.DirFS("/"))
}

// machineBudget is the budget of a store that is given none: the smallest limit of
// the process's control group and those around it, less what the process takes
// already, else what the machine says is available, which that is no part of.
// source says which. It is 0 where the system tells nothing of this.
//
// The files are the kernel's, below root: reading them is no input or output of a
// store, and goes past its vfs.
func machineBudget(root fs.FS) (budget int64, source string) {
	if budget, source = cgroupLimit(root); source != "" {
		if taken, ok := kilobytes(root, "proc/self/status", "VmRSS:"); ok {
			budget, source = budget-taken, source+" less the process's own memory"
		}
		return max(budget, leastBudget), source
	}
	if available, ok := kilobytes(root, "proc/meminfo", "MemAvailable:"); ok {
		return max(available, leastBudget), "MemAvailable of /proc/meminfo"
	}
	return 0, "this system tells no limit"
}

// cgroupLimit returns the smallest limit that is set on the control group of the
// process or on one around it. Both versions of control groups may be mounted.
func cgroupLimit(root fs.FS) (limit int64, source string) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, ""
	}
	limit = math.MaxInt64
	look := func(mount, group string, names ...string) {
		// A group that is named as others see it may not exist below the mount
		// that the process sees, while those around it do.
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			for _, name := range names {
				file := path.Join(mount, group, name)
				if n, ok := limitIn(root, file); ok && n < limit {
					limit, source = n, "/"+file
				}
			}
			if group == "/" {
				return
			}
		}
	}
	for line := range strings.Lines(string(b)) { // number:controllers:group
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(part) != 3:
		case part[0] == "0" && part[1] == "":
			look("sys/fs/cgroup", part[2], "memory.high", "memory.max")
			look("sys/fs/cgroup/unified", part[2], "memory.high", "memory.max")
		default:
			for controller := range strings.SplitSeq(part[1], ",") {
				if controller == "memory" {
					look("sys/fs/cgroup/memory", part[2], "memory.limit_in_bytes")
				}
			}
		}
	}
	return limit, source
}

// unlimited is from where on version 1 means that there is no limit: it has no
// word for that, and a number that depends on the size of a page.
const unlimited = 1 << 62

// limitIn reads a limit, false when none is set.
func limitIn(root fs.FS, file string) (int64, bool) {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64) // or "max"
	return int64(min(n, unlimited)), err == nil && n < unlimited
}

// kilobytes reads the line of a name in a file of lines such as "VmRSS: 12 kB".
func kilobytes(root fs.FS, file, name string) (bytesThere int64, ok bool) {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == name && fields[2] == "kB" {
			n, err := strconv.ParseInt(fields[1], 10, 53)
			return n << 10, err == nil
		}
	}
	return 0, false
}
