//go:build cuda && linux

package cuda

import (
	"errors"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// A device keeps a list of its allocations. Close frees them, and Free refuses addresses
// that are not in the list: the driver would accept any address of the process.
//
// Allocations are rare, since the accelerator divides a few large ones. The driver may
// wait for all work on the device in any of these calls.

// Alloc implements [Device] by cuMemAlloc, which aligns to at least 256 bytes. If there is
// no room, the error concerns this call only. Other errors go through failed.
func (d *real) Alloc(n int64) (Ptr, error) {
	const op = "cuMemAlloc"
	if n <= 0 {
		return 0, d.invalid(op, "", "%d bytes", n)
	}
	if err := d.usable(op, ""); err != nil {
		return 0, err
	}
	var p cu.DevicePtr
	var free int64
	err := d.locked(func() (err error) {
		if p, err = cu.MemAlloc(n); err != nil {
			free, _, _ = cu.MemInfo() // for the message, if the driver knows it
		}
		return err
	})
	if code, ok := driverError(err).(nvidia.Code); ok && code.OutOfMemory() {
		return 0, &OutOfMemoryError{Device: d.name, Want: n, Free: free}
	}
	if err != nil {
		return 0, d.failed(op, "", err)
	}
	return Ptr(p), d.keep(op, func() { d.memory[Ptr(p)] = true }, func() error { return cu.MemFree(p) })
}

// keep calls note, which enters an allocation in a map of those that Close frees. If the
// device was closed meanwhile, keep calls undo instead, which frees the allocation. Close
// sets the maps to nil under mu, so either Close or keep frees an allocation, once.
func (d *real) keep(op string, note func(), undo func() error) error {
	d.mu.Lock()
	open := d.memory != nil
	if open {
		note()
	}
	d.mu.Unlock()
	if open {
		return nil
	}
	return errors.Join(d.usable(op, ""), d.locked(undo))
}

// drop removes an entry that keep has made, and reports whether it was there.
func drop[K comparable](d *real, of *map[K]bool, k K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := (*of)[k]
	delete(*of, k)
	return was
}

// Free implements [Device] by cuMemFree. It drops the entry first, so that an address is
// freed once even if several goroutines free it at the same time.
func (d *real) Free(p Ptr) error {
	const op = "cuMemFree"
	if err := d.usable(op, ""); err != nil {
		return err
	}
	if !drop(d, &d.memory, p) {
		return d.invalid(op, "", "%#x was not allocated", uintptr(p))
	}
	return d.in(op, "", func() error { return cu.MemFree(cu.DevicePtr(p)) })
}

// AllocHost implements [Device] by cuMemHostAlloc, pinned for all contexts. Too much
// pinned memory slows the machine down, as it cannot be paged out.
func (d *real) AllocHost(n int64) (unsafe.Pointer, error) {
	const op = "cuMemHostAlloc"
	if n <= 0 {
		return nil, d.invalid(op, "", "%d bytes", n)
	}
	if err := d.usable(op, ""); err != nil {
		return nil, err
	}
	p, err := d.current.AllocHost(n)
	if err != nil {
		return nil, d.failed(op, "", err)
	}
	return p, d.keep(op, func() { d.host[p] = true }, func() error { return d.current.FreeHost(p) })
}

// FreeHost implements [Device] by cuMemFreeHost.
func (d *real) FreeHost(p unsafe.Pointer) error {
	const op = "cuMemFreeHost"
	if err := d.usable(op, ""); err != nil {
		return err
	}
	if !drop(d, &d.host, p) {
		return d.invalid(op, "", "%p was not allocated", p)
	}
	return d.failed(op, "", d.current.FreeHost(p))
}
