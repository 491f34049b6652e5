package bench

import "golang.org/x/sys/unix"

// noReserve is the flag of a mapping for which the system sets no memory aside.
const noReserve = unix.MAP_NORESERVE
