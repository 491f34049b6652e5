//go:build unix && !aix && !solaris

package bench

import (
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"golang.org/x/sys/unix"
)

// reserve returns n zeros, which take no memory until they are written. They are never freed.
func reserve[T la.Element](n int) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	size := n * scalar.Size[T]()
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}
