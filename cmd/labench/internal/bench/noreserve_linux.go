package bench

import "golang.org/x/sys/unix"

// noReserve is the mmap flag that makes the system reserve no memory for a mapping.
const noReserve = unix.MAP_NORESERVE
