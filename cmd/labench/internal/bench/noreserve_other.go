//go:build unix && !linux

package bench

// noReserve is 0 on systems that never reserve memory for private mappings, or that lack the flag, such as
// FreeBSD.
const noReserve = 0
