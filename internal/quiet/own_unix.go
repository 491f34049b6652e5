//go:build unix

package quiet

import "syscall"

// OwnTime returns the CPU time of this process and of its children that have ended, in seconds.
func OwnTime() (seconds float64, ok bool) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return 0, false
		}
		seconds += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	return seconds, true
}
