//go:build unix && !linux

package bench

// noReserve is 0 on systems that set no memory aside for a private mapping anyway, or do not
// know the flag, as FreeBSD.
const noReserve = 0
