//go:build !amd64 || noasm

package peak

// vectorLoops returns the loops beside the portable one that this machine can
// run, slowest first.
func vectorLoops() []loop { return nil }
