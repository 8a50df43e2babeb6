package driver

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestMachineBudget: ENG-59: where the budget of a store that is given none is
// from.
func TestMachineBudget(t *testing.T) {
	const mib = 1 << 20
	status, meminfo := "Name:\tx\nVmRSS:\t    2048 kB\nVmSize: 9 kB\n", "MemTotal: 99 kB\nMemAvailable:   102400 kB\n"
	for _, tc := range []struct {
		name   string
		files  map[string]string
		want   int64
		source string
	}{
		{"nothing", nil, 0, "no limit"},
		{"memory only", map[string]string{"proc/meminfo": meminfo}, 100 * mib, "MemAvailable of /proc/meminfo"},
		{"memory, without what is taken", map[string]string{"proc/meminfo": meminfo, "proc/self/status": status}, 100 * mib, "MemAvailable of /proc/meminfo"},
		{"next to no memory", map[string]string{"proc/meminfo": "MemAvailable: 50 kB\n"}, mib, "MemAvailable"},
		{"nothing left", map[string]string{
			"proc/meminfo": meminfo, "proc/self/status": status, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2200000\n",
		}, mib, "/sys/fs/cgroup/memory.max less the process's own memory"},
		{"version 2", map[string]string{
			"proc/meminfo": meminfo, "proc/self/status": status, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "52428800\n", "sys/fs/cgroup/a/b/memory.high": "max\n",
		}, 48 * mib, "/sys/fs/cgroup/a/b/memory.max less"},
		{"version 2, high", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "52428800\n", "sys/fs/cgroup/a/b/memory.high": "41943040\n",
		}, 40 * mib, "/sys/fs/cgroup/a/b/memory.high"},
		{"version 2, around", map[string]string{
			"proc/self/cgroup": "0::/a/b/c\n", "sys/fs/cgroup/a/b/c/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.max": "52428800\n",
			"sys/fs/cgroup/a/memory.high": "31457280", "sys/fs/cgroup/memory.max": "62914560\n",
		}, 30 * mib, "/sys/fs/cgroup/a/memory.high"},
		{"version 2, none set", map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.high": "max\n", "proc/meminfo": meminfo,
		}, 100 * mib, "MemAvailable"},
		{"a container that sees its own root", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "52428800\n",
		}, 50 * mib, "/sys/fs/cgroup/memory.max"},
		{"outside of what is seen", map[string]string{
			"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "52428800\n",
		}, 50 * mib, "/sys/fs/cgroup/memory.max"},
		{"version 1", map[string]string{
			"proc/self/cgroup": "9:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n", "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "52428800\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 50 * mib, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes"},
		{"version 1, around", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/0123\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "52428800\n",
		}, 50 * mib, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		{"version 1, none set", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "proc/meminfo": meminfo,
		}, 100 * mib, "MemAvailable"},
		{"both", map[string]string{
			"proc/self/cgroup": "4:memory:/v1\n0::/v2\n",
			"sys/fs/cgroup/memory/v1/memory.limit_in_bytes": "52428800\n",
			"sys/fs/cgroup/unified/v2/memory.max":           "41943040\n",
		}, 40 * mib, "/sys/fs/cgroup/unified/v2/memory.max"},
		{"what is no number", map[string]string{
			"proc/self/cgroup": "0::/\nnonsense\n", "sys/fs/cgroup/memory.max": "lots\n", "proc/meminfo": "MemAvailable: lots kB\n",
		}, 0, "no limit"},
	} {
		root := fstest.MapFS{}
		for name, text := range tc.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, source := machineBudget(root); got != tc.want || !strings.Contains(source, tc.source) {
			t.Errorf("%s: %d from %q, want %d from %q", tc.name, got, source, tc.want, tc.source)
		}
	}
}
