//go:build cuda && linux

package nvidia

/*
#include "shim.h"
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Context is a context of the driver. Each of its methods makes it current on
// the thread that it runs on.
type Context struct{ c C.CUcontext }

// CurrentContext returns the context that is current on this thread.
func CurrentContext() (Context, error) {
	var ctx Context
	err := driver(C.int(C.cuCtxGetCurrent(&ctx.c)))
	return ctx, err
}

func stream(s cu.Stream) C.CUstream { return C.CUstream(unsafe.Pointer(s.C())) }

// AllocHost allocates pinned memory of the host.
func (ctx Context) AllocHost(n int64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := driver(C.tessera_host_alloc(ctx.c, C.size_t(n), &p))
	return p, err
}

// FreeHost frees what AllocHost returned.
func (ctx Context) FreeHost(p unsafe.Pointer) error { return driver(C.tessera_host_free(ctx.c, p)) }

// CopyIn enqueues a copy of rows of width bytes to the device.
func (ctx Context) CopyIn(s cu.Stream, dst uintptr, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) error {
	return driver(C.tessera_copy_in(ctx.c, stream(s), C.CUdeviceptr(dst), C.size_t(dpitch), src, C.size_t(spitch), C.size_t(width), C.size_t(rows)))
}

// CopyOut enqueues a copy of rows of width bytes from the device.
func (ctx Context) CopyOut(s cu.Stream, dst unsafe.Pointer, dpitch int64, src uintptr, spitch, width int64, rows int) error {
	return driver(C.tessera_copy_out(ctx.c, stream(s), dst, C.size_t(dpitch), C.CUdeviceptr(src), C.size_t(spitch), C.size_t(width), C.size_t(rows)))
}

// Copy enqueues a copy of rows of width bytes inside the device.
func (ctx Context) Copy(s cu.Stream, dst uintptr, dpitch int64, src uintptr, spitch, width int64, rows int) error {
	return driver(C.tessera_copy(ctx.c, stream(s), C.CUdeviceptr(dst), C.size_t(dpitch), C.CUdeviceptr(src), C.size_t(spitch), C.size_t(width), C.size_t(rows)))
}

// Launch enqueues a kernel on a grid of x by y blocks of the given number of threads, with
// at most 16 parameters of 64 bits. The driver has read them when Launch returns.
//
// It replaces the launch of gorgonia.org/cu, which stores pointers in memory that C has
// not cleared. If that memory has old pointers of Go, the garbage collector meets them
// and may end the process: "found pointer to free object".
func (ctx Context) Launch(s cu.Stream, f cu.Function, x, y, threads int, params []uint64) error {
	handle := *(*C.CUfunction)(unsafe.Pointer(&f)) // all that there is in it
	return driver(C.tessera_launch(ctx.c, stream(s), handle, C.int(x), C.int(y), C.int(threads),
		(*C.ulonglong)(unsafe.SliceData(params)), C.int(len(params))))
}
