package topo

import (
	"math"
	"strconv"
	"strings"
)

// available sets the memory that the process can still get; the limits must be known.
func (r *reader) available() {
	r.leaves(r.memoryOf("proc/meminfo", "MemAvailable"), "what other programs leave of the machine's memory")
	// Go reserves address space in pieces of 64 MiB, one of which a large object may not fit,
	// and its books of them come on top.
	const reserved = 192 << 20
	for _, limit := range []struct{ name, used, what string }{
		{"Max address space", "VmSize", "what the limit of address space leaves (ulimit -v)"},
		{"Max data size", "VmData", "what the limit of data leaves (ulimit -d)"},
	} {
		if n, ok := r.ulimit(limit.name); ok {
			r.leaves(max(n-r.memoryOf("proc/self/status", limit.used)-reserved, 1), limit.what)
		}
	}
}

// leaves lowers the available memory to n bytes, if n is known; what says why.
func (r *reader) leaves(n int64, what string) {
	if m := r.m; n > 0 && (m.Available == 0 || n < m.Available) {
		m.Available, m.AvailableOf = n, what
	}
}

// ulimit returns a soft limit of the process, if it has one.
func (r *reader) ulimit(name string) (n int64, ok bool) {
	s, _ := r.text("proc/self/limits")
	for line := range strings.Lines(s) {
		rest, found := strings.CutPrefix(line, name)
		if f := strings.Fields(rest); found && len(f) > 0 {
			u, err := strconv.ParseUint(f[0], 10, 64) // not of "unlimited"
			return int64(min(u, math.MaxInt64)), err == nil && u < unlimited
		}
	}
	return 0, false
}

// groupLeaves lowers the available memory to what a control group with that limit has left. Files
// that the kernel can drop do not count as used.
func (r *reader) groupLeaves(limit, usage, stat, droppable string) {
	n, err := strconv.ParseInt(limit, 10, 64)
	used, _ := r.number(usage)
	if err != nil || n <= 0 || n >= unlimited {
		return
	}
	s, _ := r.text(stat)
	for line := range strings.Lines(s) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == droppable {
			cached, _ := strconv.ParseInt(f[1], 10, 64)
			used -= min(max(cached, 0), used)
		}
	}
	r.leaves(max(n-used, 1), "what the limit of the control group leaves")
}
