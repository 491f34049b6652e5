package parts

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// nodesAt returns the NUMA node of the page of each address. The node is negative if the kernel
// knows none for that page. The result is nil if the call fails.
func nodesAt(addresses []unsafe.Pointer) []int32 {
	if len(addresses) == 0 {
		return nil
	}
	status := make([]int32, len(addresses))
	// Without target nodes move_pages moves nothing and says where the pages are.
	_, _, errno := unix.Syscall6(unix.SYS_MOVE_PAGES, 0, uintptr(len(addresses)),
		uintptr(unsafe.Pointer(unsafe.SliceData(addresses))), 0, uintptr(unsafe.Pointer(unsafe.SliceData(status))), 0)
	if errno != 0 {
		return nil
	}
	return status
}
