package topo

import (
	"strings"
	"testing"
)

// TestAvailable: the tightest of what other programs, control groups and limits leave counts.
func TestAvailable(t *testing.T) {
	const limits = "Limit                     Soft Limit           Hard Limit           Units\nMax data size             unlimited            unlimited            bytes\n"
	const v2mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64 // KiB
		of    string
	}{
		"unknown":            {nil, 0, ""},
		"no MemAvailable":    {map[string]string{"proc/meminfo": "MemTotal: 16384 kB"}, 0, ""},
		"other programs":     {map[string]string{"proc/meminfo": "MemTotal: 16384 kB\nMemAvailable: 9000 kB", "proc/self/limits": limits + "Max address space unlimited unlimited bytes"}, 9000, "other programs"},
		"ulimit -v":          {map[string]string{"proc/meminfo": "MemAvailable: 9000 kB", "proc/self/limits": limits + "Max address space         209715200              unlimited            bytes", "proc/self/status": "VmSize:\t  3000 kB\nVmData: 1000 kB"}, 5192, "ulimit -v"},
		"ulimit -d":          {map[string]string{"proc/self/limits": "Max data size 209715200 unlimited bytes", "proc/self/status": "VmSize:\t  3000 kB\nVmData: 1000 kB"}, 7192, "ulimit -d"},
		"nothing is left":    {map[string]string{"proc/self/limits": "Max address space 1024 unlimited bytes", "proc/self/status": "VmSize: 3000 kB"}, 0, "ulimit -v"},
		"control group":      {map[string]string{"proc/meminfo": "MemAvailable: 9000 kB", "proc/self/cgroup": "0::/a", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/a/memory.max": "8192000", "sys/fs/cgroup/a/memory.current": "4096000", "sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 1024000"}, 5000, "control group"},
		"control group v1":   {map[string]string{"proc/self/cgroup": "1:memory:/", "proc/self/mountinfo": "36 31 0:33 / /m rw - cgroup cgroup rw,memory", "m/memory.limit_in_bytes": "8192000", "m/memory.usage_in_bytes": "4096000", "m/memory.stat": "inactive_file 1\ntotal_inactive_file 2048000"}, 6000, "control group"},
		"no group has limit": {map[string]string{"proc/meminfo": "MemAvailable: 9000 kB", "proc/self/cgroup": "0::/a", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/a/memory.max": "max", "sys/fs/cgroup/a/memory.current": "4096000"}, 9000, "other programs"},
	} {
		root := tree{}
		for name, content := range test.files {
			root.put(name, content)
		}
		m := Read(root.fs(), Identity{}, upTo(1))
		if m.Available>>10 != test.want || !strings.Contains(m.AvailableOf, test.of) {
			t.Errorf("%s: %d bytes, %q; want %d KiB, %q", name, m.Available, m.AvailableOf, test.want, test.of)
		}
	}
}
