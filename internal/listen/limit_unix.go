//go:build unix

package listen

import "syscall"

// descriptors returns how many descriptors the process may have open, 0 if that is not known.
func descriptors() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || uint64(l.Cur) > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
