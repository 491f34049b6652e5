//go:build !unix && !windows

package quiet

// OwnTime returns the CPU time of this process and of its children that have ended, in seconds.
func OwnTime() (seconds float64, ok bool) { return 0, false }
