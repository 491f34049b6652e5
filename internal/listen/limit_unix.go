//go:build unix

package listen

import "syscall"

// descriptorLimit returns how many descriptors the process may open. It returns 0 if that is unknown.
func descriptorLimit() int {
	var l syscall.Rlimit
	// A limit above 2³⁰ is no limit: RLIM_INFINITY, or as many as the kernel can count. It may not fit into an int.
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || uint64(l.Cur) > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
