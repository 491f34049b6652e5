//go:build cuda && linux

package nvidia

/*
#include "shim.h"
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"
)

// Handles are the handles of cuBLAS and cuSOLVER of one stream. Matrices are
// column-major; dimensions fit into 32 bits.
type Handles struct{ c *C.tessera_handles }

// Matrix is a matrix on the device.
type Matrix struct {
	At uintptr
	Ld int
}

func (m Matrix) c() C.CUdeviceptr { return C.CUdeviceptr(m.At) }

func (m Matrix) ld() C.int { return C.int(m.Ld) }

// Open makes the handles of a stream. If it fails, it says which call did.
func (l *Libraries) Open(ctx Context, s cu.Stream) (h *Handles, failed string, err error) {
	h = &Handles{(*C.tessera_handles)(C.calloc(1, C.sizeof_tessera_handles))}
	var name *C.char
	r := C.tessera_handles_open(h.c, l.c, ctx.c, stream(s), &name)
	if r == 0 {
		return h, "", nil
	}
	C.free(unsafe.Pointer(h.c))
	failed = C.GoString(name)
	if len(failed) > 8 && failed[:8] == "cusolver" {
		return nil, failed, code(CUSOLVER, r)
	}
	return nil, failed, code(CUBLAS, r)
}

// Close destroys the handles.
func (h *Handles) Close() error {
	err := code(CUBLAS, C.tessera_handles_close(h.c))
	C.free(unsafe.Pointer(h.c))
	h.c = nil
	return err
}

// Versions reports the versions of cuBLAS and cuSOLVER, and cuBLAS's math mode,
// which is 0 by default, 2 if pedantic.
func (h *Handles) Versions() (cublas, cusolver, mode int, err error) {
	var b, s, m C.int
	err = code(CUBLAS, C.tessera_versions(h.c, &b, &s, &m))
	return int(b), int(s), int(m), err
}

// either returns what stands for one of two choices in C.
func either(first bool, one, other C.int) C.int {
	if first {
		return one
	}
	return other
}

func flag(b bool) C.int { return either(b, 1, 0) }

func op(t blas.Transpose) C.int { return either(t == blas.NoTrans, C.CUBLAS_OP_N, C.CUBLAS_OP_T) }

func diagonal(d blas.Diag) C.int {
	return either(d == blas.Unit, C.CUBLAS_DIAG_UNIT, C.CUBLAS_DIAG_NON_UNIT)
}

func sideOf(s blas.Side) C.int {
	return either(s == blas.Left, C.CUBLAS_SIDE_LEFT, C.CUBLAS_SIDE_RIGHT)
}

func fill(u blas.Uplo) C.int {
	return either(u == blas.Lower, C.CUBLAS_FILL_MODE_LOWER, C.CUBLAS_FILL_MODE_UPPER)
}

// Gemm enqueues cublas<t>gemm.
func (h *Handles) Gemm(f64 bool, ta, tb blas.Transpose, m, n, k int, alpha float64, a, b Matrix, beta float64, c Matrix) error {
	return code(CUBLAS, C.tessera_gemm(h.c, flag(f64), op(ta), op(tb), C.int(m), C.int(n), C.int(k), C.double(alpha),
		a.c(), a.ld(), b.c(), b.ld(), C.double(beta), c.c(), c.ld()))
}

// GemmBatched enqueues cublas<t>gemmBatched: At is where the addresses of the
// matrices are.
func (h *Handles) GemmBatched(f64 bool, ta, tb blas.Transpose, m, n, k int, alpha float64, a, b Matrix, beta float64, c Matrix, count int) error {
	return code(CUBLAS, C.tessera_gemm_batched(h.c, flag(f64), op(ta), op(tb), C.int(m), C.int(n), C.int(k), C.double(alpha),
		a.c(), a.ld(), b.c(), b.ld(), C.double(beta), c.c(), c.ld(), C.int(count)))
}

// TrsmBatched enqueues cublas<t>trsmBatched: At is where the addresses of the
// matrices are.
func (h *Handles) TrsmBatched(f64 bool, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b Matrix, count int) error {
	return code(CUBLAS, C.tessera_trsm_batched(h.c, flag(f64), sideOf(side), fill(uplo), op(trans), diagonal(diag),
		C.int(m), C.int(n), C.double(alpha), a.c(), a.ld(), b.c(), b.ld(), C.int(count)))
}

// Syrk enqueues cublas<t>syrk.
func (h *Handles) Syrk(f64 bool, uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float64, a Matrix, beta float64, c Matrix) error {
	return code(CUBLAS, C.tessera_syrk(h.c, flag(f64), fill(uplo), op(trans), C.int(n), C.int(k), C.double(alpha),
		a.c(), a.ld(), C.double(beta), c.c(), c.ld()))
}

// Trsm enqueues cublas<t>trsm.
func (h *Handles) Trsm(f64 bool, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b Matrix) error {
	return code(CUBLAS, C.tessera_trsm(h.c, flag(f64), sideOf(side), fill(uplo), op(trans), diagonal(diag),
		C.int(m), C.int(n), C.double(alpha), a.c(), a.ld(), b.c(), b.ld()))
}

// Trmm enqueues cublas<t>trmm, C = α·op(A)·B.
func (h *Handles) Trmm(f64 bool, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b, c Matrix) error {
	return code(CUBLAS, C.tessera_trmm(h.c, flag(f64), sideOf(side), fill(uplo), op(trans), diagonal(diag),
		C.int(m), C.int(n), C.double(alpha), a.c(), a.ld(), b.c(), b.ld(), c.c(), c.ld()))
}

// Geam enqueues cublas<t>geam without transposes.
func (h *Handles) Geam(f64 bool, m, n int, alpha float64, a Matrix, beta float64, b, c Matrix) error {
	return code(CUBLAS, C.tessera_geam(h.c, flag(f64), C.int(m), C.int(n), C.double(alpha),
		a.c(), a.ld(), C.double(beta), b.c(), b.ld(), c.c(), c.ld()))
}

// PotrfWork returns how many elements of work Potrf needs.
func (h *Handles) PotrfWork(f64 bool, uplo blas.Uplo, n int, a Matrix) (int, error) {
	var elements C.int
	err := code(CUSOLVER, C.tessera_potrf_work(h.c, flag(f64), fill(uplo), C.int(n), a.c(), a.ld(), &elements))
	return int(elements), err
}

// Potrf enqueues cusolverDn<t>potrf.
func (h *Handles) Potrf(f64 bool, uplo blas.Uplo, n int, a Matrix, work uintptr, elements int, info uintptr) error {
	return code(CUSOLVER, C.tessera_potrf(h.c, flag(f64), fill(uplo), C.int(n), a.c(), a.ld(),
		C.CUdeviceptr(work), C.int(elements), C.CUdeviceptr(info)))
}

// GeqrfWork returns how many elements of work Geqrf needs.
func (h *Handles) GeqrfWork(f64 bool, m, n int, a Matrix) (int, error) {
	var elements C.int
	err := code(CUSOLVER, C.tessera_geqrf_work(h.c, flag(f64), C.int(m), C.int(n), a.c(), a.ld(), &elements))
	return int(elements), err
}

// Geqrf enqueues cusolverDn<t>geqrf.
func (h *Handles) Geqrf(f64 bool, m, n int, a Matrix, tau, work uintptr, elements int, info uintptr) error {
	return code(CUSOLVER, C.tessera_geqrf(h.c, flag(f64), C.int(m), C.int(n), a.c(), a.ld(),
		C.CUdeviceptr(tau), C.CUdeviceptr(work), C.int(elements), C.CUdeviceptr(info)))
}

// GetrfWork returns the bytes of work that Getrf needs on the device and on the host.
func (h *Handles) GetrfWork(f64 bool, m, n int, a Matrix) (device, host int64, err error) {
	var d, o C.size_t
	err = code(CUSOLVER, C.tessera_getrf_work(h.c, flag(f64), C.int(m), C.int(n), a.c(), a.ld(), &d, &o))
	return int64(d), int64(o), err
}

// Getrf enqueues cusolverDnXgetrf. The work on the host, own, is C's or pinned memory.
func (h *Handles) Getrf(f64 bool, m, n int, a Matrix, pivots, work uintptr, device int64, own unsafe.Pointer, host int64,
	info uintptr) error {
	return code(CUSOLVER, C.tessera_getrf(h.c, flag(f64), C.int(m), C.int(n), a.c(), a.ld(), C.CUdeviceptr(pivots),
		C.CUdeviceptr(work), C.size_t(device), own, C.size_t(host), C.CUdeviceptr(info)))
}

// Laswp enqueues cusolverDn<t>laswp for rows 1 to k. The pivots are ints, step apart.
func (h *Handles) Laswp(f64 bool, n int, a Matrix, k int, pivots uintptr, step int) error {
	return code(CUSOLVER, C.tessera_laswp(h.c, flag(f64), C.int(n), a.c(), a.ld(), C.int(k), C.CUdeviceptr(pivots), C.int(step)))
}
