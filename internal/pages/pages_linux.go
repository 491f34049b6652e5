package pages

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// size is that of a large page where pages have 4 KiB.
	size = 2 << 20
	// least is the number of bytes from which on large pages pay for the call.
	least = size / 4
)

// Large asks for large pages around x, which make has just returned. It does so from half a
// megabyte on, on Linux with pages of 4 KiB, and a kernel that has none takes no notice.
// What shares the first and the last large page with x has them, too: the Go heap around it.
func Large[T any](x []T) {
	at, n := uintptr(unsafe.Pointer(unsafe.SliceData(x))), uintptr(len(x))*unsafe.Sizeof(*new(T))
	if n < least || os.Getpagesize() != 4096 {
		return
	}
	from := at &^ (size - 1)
	// Not unix.Madvise: what is around x is no slice.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, (at+n+size-1)&^(size-1)-from, unix.MADV_HUGEPAGE)
}

// Renew gives the whole pages of memory back to the kernel. They are zero
// afterwards, and are put somewhere anew when they are touched. Memory must be
// zero and hold no pointers. What the kernel refuses stays as it is. On other systems than
// Linux it does nothing.
func Renew(memory []byte) {
	page := uintptr(os.Getpagesize())
	at := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	from := int((page - at%page) % page)
	n := (len(memory) - from) / int(page) * int(page)
	if n > 0 {
		_ = unix.Madvise(memory[from:from+n], unix.MADV_DONTNEED)
	}
}
