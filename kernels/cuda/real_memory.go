//go:build cuda && linux

package cuda

import (
	"errors"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
	"gorgonia.org/cu"
)

// What is allocated is noted, so that Close can free it, and so that a wrong address
// does not reach the driver: it would take any of the process.
//
// Allocations are seldom: the accelerator makes a few large ones and divides them. The
// driver may wait for all work on the device in any of these calls, which is another
// reason.

// Alloc implements [Device] by cuMemAlloc, which aligns to 256 bytes at least. That
// there is no room is an error of this call only; all others go through failed.
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

// keep notes what Close has to give back; if the device was closed meanwhile, it gives
// it back now. A nil map says that it was: Close takes them away under mu, so that each
// allocation is freed once, by one of the two.
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

// drop removes what was noted by keep, and reports whether it was there.
func drop[K comparable](d *real, of *map[K]bool, k K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := (*of)[k]
	delete(*of, k)
	return was
}

// Free implements [Device] by cuMemFree. The note goes first: an address is freed once,
// however many call this at the same time.
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

// AllocHost implements [Device] by cuMemHostAlloc, pinned for all contexts. Too much of
// it slows the machine down, as it is not paged.
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
