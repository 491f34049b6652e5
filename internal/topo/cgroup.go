package topo

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// cgroups reads the CPU quota and the memory limit of the process's control group and all its
// parents; the tightest holds.
func (r *reader) cgroups() {
	m := r.m
	groups, err := r.text("proc/self/cgroup")
	if err != nil {
		m.note("no /proc/self/cgroup: assuming that there is no CPU quota or memory limit")
		return
	}
	mounts, err := r.text("proc/self/mountinfo")
	if err != nil {
		m.note("no /proc/self/mountinfo: assuming that there is no CPU quota or memory limit")
		return
	}
	for line := range strings.Lines(groups) {
		// hierarchy-ID:controller,controller:path, with "0::path" for version 2.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, controller := range strings.Split(f[1], ",") {
			switch controller {
			case "", "cpu", "memory":
			default:
				continue
			}
			mount, base, ok := findMount(mounts, controller)
			if !ok {
				continue
			}
			// In a container the path may be the host's, which is not below
			// what is mounted here; then the mount itself is our group.
			rel, ok := below(base, f[2])
			if !ok {
				rel = "/"
			}
			for dir := path.Clean(rel); ; dir = path.Dir(dir) {
				r.limits(controller, strings.TrimPrefix(path.Join(mount, dir), "/"))
				if dir == "/" {
					break
				}
			}
		}
	}
}

// limits reads the limits of one group. A missing file means that the controller is off or that
// this is the root group: no limit.
func (r *reader) limits(controller, dir string) {
	switch controller {
	case "":
		s, _ := r.text(dir + "/cpu.max")
		if f := strings.Fields(s); len(f) == 2 {
			r.quota(f[0], f[1])
		}
		s, _ = r.text(dir + "/memory.max")
		r.limit(s)
		r.groupLeaves(s, dir+"/memory.current", dir+"/memory.stat", "inactive_file")
	case "cpu":
		// The text of a file that is not there is no number either.
		quota, _ := r.text(dir + "/cpu.cfs_quota_us")
		period, _ := r.text(dir + "/cpu.cfs_period_us")
		r.quota(quota, period)
	case "memory":
		s, _ := r.text(dir + "/memory.limit_in_bytes")
		r.limit(s)
		r.groupLeaves(s, dir+"/memory.usage_in_bytes", dir+"/memory.stat", "total_inactive_file")
	}
}

// quota lowers the CPU quota to quota/period, if both are positive numbers.
func (r *reader) quota(quota, period string) {
	q, err := strconv.ParseFloat(quota, 64)
	if err != nil || q <= 0 {
		return
	}
	p, err := strconv.ParseFloat(period, 64)
	if err != nil || p <= 0 {
		return
	}
	if r.m.CPUQuota == 0 || q/p < r.m.CPUQuota {
		r.m.CPUQuota = q / p
	}
}

// limit lowers the memory limit to s bytes, if s is a limit.
func (r *reader) limit(s string) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n >= unlimited {
		return
	}
	if r.m.MemoryLimit == 0 || n < r.m.MemoryLimit {
		r.m.MemoryLimit = n
	}
}

// findMount returns where the hierarchy of a version 1 controller, or with an
// empty controller that of version 2, is mounted, and which of its
// directories is mounted there. See proc_pid_mountinfo(5):
//
//	36 35 98:0 /root /mountpoint rw,noatime master:1 - type source options
func findMount(mountinfo, controller string) (mount, base string, ok bool) {
	for line := range strings.Lines(mountinfo) {
		f, tail, found := strings.Cut(line, " - ")
		head, end := strings.Fields(f), strings.Fields(tail)
		if !found || len(head) < 5 || len(end) < 3 {
			continue
		}
		switch {
		case controller == "" && end[0] == "cgroup2":
		case controller != "" && end[0] == "cgroup" && slices.Contains(strings.Split(end[2], ","), controller):
		default:
			continue
		}
		return head[4], head[3], true
	}
	return "", "", false
}

// below returns the path of p relative to base, with a leading slash.
func below(base, p string) (string, bool) {
	if base == "/" {
		return p, true
	}
	rel, ok := strings.CutPrefix(p, base)
	if !ok || (rel != "" && rel[0] != '/') {
		return "", false
	}
	return "/" + strings.TrimPrefix(rel, "/"), true
}
