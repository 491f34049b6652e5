//go:build unix

package listen

import "syscall"

// descriptors returns how many descriptors the process may open. It returns 0 if that is unknown.
func descriptors() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || uint64(l.Cur) > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
