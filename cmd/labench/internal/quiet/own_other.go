//go:build !unix

package quiet

// ownTime returns the CPU time that this process has taken, in seconds.
func ownTime() (seconds float64, ok bool) { return 0, false }
