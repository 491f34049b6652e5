//go:build !linux

package blocked

// renew does nothing on this system, where threads cannot be pinned either.
func renew([]byte) {}
