package blocked

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// renew gives the whole pages of memory back to the kernel. They are zero
// afterwards, and are put somewhere anew when they are touched. Memory must be
// zero and hold no pointers. What the kernel refuses stays as it is.
func renew(memory []byte) {
	page := uintptr(os.Getpagesize())
	at := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	from := int((page - at%page) % page)
	n := (len(memory) - from) / int(page) * int(page)
	if n > 0 {
		_ = unix.Madvise(memory[from:from+n], unix.MADV_DONTNEED)
	}
}
