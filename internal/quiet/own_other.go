//go:build !unix && !windows

package quiet

// OwnTime returns the CPU time that this process has taken, in seconds, and children that have
// ended.
func OwnTime() (seconds float64, ok bool) { return 0, false }
