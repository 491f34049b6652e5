//go:build unix

package quiet

import "syscall"

// ownTime returns the CPU time that this process has taken, in seconds.
func ownTime() (seconds float64, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, true
}
