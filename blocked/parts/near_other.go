//go:build !linux

package parts

import "unsafe"

// nodesAt returns nil: this system cannot report the NUMA nodes of pages.
func nodesAt([]unsafe.Pointer) []int32 { return nil }
