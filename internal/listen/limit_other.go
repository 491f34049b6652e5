//go:build !unix

package listen

// descriptorLimit returns how many descriptors the process may open. It returns 0 if that is unknown.
func descriptorLimit() int { return 0 }
