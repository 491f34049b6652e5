package cuda

import (
	"fmt"
	"unsafe"

	"gonum.org/v1/gonum/blas"
)

// Ptr is an address in the memory of a device; 0 is none. Offsets may be added to it, but
// the host must not dereference it.
type Ptr uintptr

// Type is the element type of a matrix on a device.
type Type uint8

// The element types.
const (
	F32 Type = iota
	F64
)

// Size returns the bytes of an element.
func (t Type) Size() int64 {
	if t == F32 {
		return 4
	}
	return 8
}

// Matrix is a column-major matrix on a device: element (i, j) lies i + j·Ld
// elements from Data.
type Matrix struct {
	Data Ptr
	Ld   int
}

// Matrices are column-major matrices of the same shape on a device, all with the
// leading dimension Ld. Table is the 8-byte aligned address of a table of their
// addresses, 8 bytes each, little-endian.
type Matrices struct {
	Table Ptr
	Ld    int
}

// badBatch returns why a batch has nothing to do, or "" if it has something. The
// documentation of the libraries does not say what they do with an empty batch.
func badBatch(alpha float64, m, n, k, count int) string {
	if alpha == 0 || m == 0 || n == 0 || k == 0 || count < 1 {
		return fmt.Sprintf("nothing to do: alpha=%v, m=%d, n=%d, k=%d, count=%d", alpha, m, n, k, count)
	}
	return ""
}

// Strided is a matrix on a device with its rows and columns at any distance:
// element (i, j) lies i·Row + j·Col elements from Data. So it is column-major
// with Row = 1 and row-major with Col = 1.
type Strided struct {
	Data     Ptr
	Row, Col int
}

// Info describes a device.
type Info struct {
	Name    string   // "NVIDIA H200"
	Ordinal int      // among the devices of its kind
	Memory  int64    // bytes
	Notes   []string // for the user: versions of libraries, math mode
}

// Device is a processor with memory of its own and streams of work. There are
// two implementations: [Simulated], and the real ones of [Devices], which only
// a build with the tag cuda has. Its methods are safe for concurrent use.
//
// Errors of the driver and the libraries are *[DeviceError]. If Lost is set, the device
// is gone with all that was in its memory, and every later call returns such an error.
type Device interface {
	Info() Info

	// Alloc returns n bytes of memory of the device, aligned to 256 bytes. The
	// error is an *[OutOfMemoryError] if there is no room.
	Alloc(n int64) (Ptr, error)
	// Free frees memory. The caller ensures that no stream still uses it.
	Free(p Ptr) error

	// AllocHost returns n bytes of pinned host memory, which the device copies
	// directly. FreeHost frees it.
	AllocHost(n int64) (unsafe.Pointer, error)
	FreeHost(p unsafe.Pointer) error

	NewStream() (Stream, error)
	NewEvent() (Event, error)

	// Close ends all streams and frees all memory.
	Close() error
}

// Event is a point in a stream.
type Event interface {
	// Done reports whether the point that was recorded last has been reached;
	// an event that was never recorded is done. Errors of the work before it
	// show here.
	Done() (bool, error)
	// Synchronize waits until the point has been reached.
	Synchronize() error
	// Since returns the milliseconds between two events that have been reached.
	Since(earlier Event) (float64, error)
	Close() error
}

// Stream is a queue of work that a device does in order, concurrently with
// that of other streams. All methods but Synchronize and Close return when the
// work is enqueued. A Stream is for one goroutine at a time.
//
// The routines are BLAS's and LAPACK's for column-major matrices of typ. What a
// real device needs for them is
//
//	Gemm Syrk Trsm Trmm Geam   cuBLAS, cublas<t>gemm and so on
//	GemmBatched TrsmBatched    cuBLAS, cublas<t>gemmBatched, cublas<t>trsmBatched
//	Potrf Geqrf …Work          cuSOLVER, cusolverDn<t>potrf and so on, _bufferSize
//	Getrf GetrfWork            cuSOLVER, cusolverDnXgetrf, _bufferSize
//	Laswp                      cuSOLVER, cusolverDn<t>laswp
//	CopyVectors CopyUpper      kernels of our own
//	SetUpper Larft
//
// A matrix without elements may have any Data, 0 too, and is not looked at. Ld
// is at least max(1, rows). Transposes are NoTrans or Trans. An info is an int32
// on the device, 4-byte aligned.
type Stream interface {
	// CopyIn copies rows of width bytes from the host to the device. Rows lie
	// spitch bytes apart on the host and dpitch on the device. The host's
	// memory must stay as it is until the copy is done.
	CopyIn(dst Ptr, dpitch int64, src unsafe.Pointer, spitch, width int64, rows int) error
	// CopyOut copies rows from the device to the host.
	CopyOut(dst unsafe.Pointer, dpitch int64, src Ptr, spitch, width int64, rows int) error
	// Copy copies rows inside the device, which must not overlap.
	Copy(dst Ptr, dpitch int64, src Ptr, spitch, width int64, rows int) error
	// Fill sets n bytes.
	Fill(dst Ptr, value byte, n int64) error

	// Record makes e the end of the work that has been enqueued so far. Wait keeps
	// work that is enqueued later from starting before e is reached; it does nothing if
	// e was never recorded. Wait means the latest record of e before its call: e may be
	// recorded again later.
	Record(e Event) error
	Wait(e Event) error
	// Synchronize waits until all work that has been enqueued is done.
	Synchronize() error
	// Close waits for that work, too, and ends the stream.
	Close() error

	// Gemm computes C = α·op(A)·op(B) + β·C, C being m×n. With β = 0, C is not
	// read; with α = 0 or k = 0, A and B are not.
	Gemm(typ Type, transA, transB blas.Transpose, m, n, k int, alpha float64, a, b Matrix, beta float64, c Matrix) error
	// Syrk computes the triangle uplo of C = α·op(A)·op(A)ᵀ + β·C, C being n×n
	// and op(A) n×k. The other triangle is neither read nor written. α = 0, k = 0 and
	// β = 0 mean what they mean to Gemm.
	Syrk(typ Type, uplo blas.Uplo, trans blas.Transpose, n, k int, alpha float64, a Matrix, beta float64, c Matrix) error
	// Trsm solves op(A)·X = α·B or X·op(A) = α·B in place, B being m×n. It reads only
	// the triangle uplo of A, without the diagonal if diag is Unit.
	Trsm(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b Matrix) error
	// Trmm computes C = α·op(A)·B or C = α·B·op(A), B and C being m×n. C may be B,
	// with the same Ld; otherwise they must not overlap. It reads the same part of A as
	// Trsm.
	Trmm(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b, c Matrix) error
	// Geam computes C = α·A + β·B, all m×n. C may be A or B, with the same Ld;
	// otherwise they must not overlap.
	Geam(typ Type, m, n int, alpha float64, a Matrix, beta float64, b, c Matrix) error
	// GemmBatched is Gemm, and TrsmBatched is Trsm, for count matrices of each operand
	// in one launch. Written matrices must not overlap anything else of the call. The
	// methods fail if there is nothing to do: alpha, count or a dimension is 0.
	GemmBatched(typ Type, transA, transB blas.Transpose, m, n, k int, alpha float64, a, b Matrices, beta float64, c Matrices, count int) error
	TrsmBatched(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b Matrices, count int) error
	// Potrf factors A = L·Lᵀ or UᵀU in place, A being n×n; the other triangle is
	// neither read nor written. It needs PotrfWork bytes of work, which may be 0.
	// It sets info to 0, or to the order of the first leading minor that is not
	// positive definite. If a minor has a NaN, info may be either.
	Potrf(typ Type, uplo blas.Uplo, n int, a Matrix, work Ptr, info Ptr) error
	PotrfWork(typ Type, uplo blas.Uplo, n int, a Matrix) (bytes int64, err error)
	// Geqrf factors A = Q·R in place, A being m×n, as LAPACK's xGEQRF does: R is
	// the upper triangle or trapezoid, below are the columns of V without the ones
	// on the diagonal, and the k = min(m, n) factors of the reflectors are at tau. A
	// column that is zero below the diagonal gets the factor 0. It needs
	// GeqrfWork bytes of work, which may be 0. It sets info to 0.
	Geqrf(typ Type, m, n int, a Matrix, tau, work, info Ptr) error
	GeqrfWork(typ Type, m, n int, a Matrix) (bytes int64, err error)
	// Getrf factors A = P·L·U in place with partial pivoting, A being m×n, as LAPACK's xGETRF
	// does. The min(m, n) rows with which row 0, 1, … was exchanged are at pivots, as int64
	// counted from 1. It needs GetrfWork bytes of work, some on the device and some at own on
	// the host; either may be 0. Own is memory of [Device.AllocHost], and belongs to the call
	// until it has ended on the device. It sets info to 0, or to the number of the first
	// column, from 1, whose pivot is zero.
	Getrf(typ Type, m, n int, a Matrix, pivots, work Ptr, own unsafe.Pointer, info Ptr) error
	GetrfWork(typ Type, m, n int, a Matrix) (device, host int64, err error)
	// Laswp exchanges row i of A, which is m×n, with row pivots[i], for i = 0, 1, …, k − 1, as
	// LAPACK's xLASWP does. Pivots are as Getrf leaves them.
	Laswp(typ Type, m, n int, a Matrix, k int, pivots Ptr) error
	// Larft computes the upper triangle of the n×n matrix T, which makes one of n
	// reflectors,
	//
	//	H(0)·…·H(n−1) = I − V·T·Vᵀ,
	//
	// from their factors at tau and G = Vᵀ·V. It reads only the elements of G above the
	// diagonal, and neither reads nor writes the elements of T below the diagonal.
	Larft(typ Type, n int, g Matrix, tau Ptr, t Strided) error
	// CopyUpper copies the elements (i, j) of A with j − i ≥ d, those on and above
	// diagonal d, to B; both are m×n. If clear, it sets the other elements of B to 0;
	// otherwise it leaves them unchanged. It does not read the other elements of A. A
	// and B must not overlap.
	CopyUpper(typ Type, m, n, d int, a, b Strided, clear bool) error
	// SetUpper sets the elements above the main diagonal of A, which is m×n, to 0,
	// and those on it to diag.
	SetUpper(typ Type, m, n int, diag float64, a Strided) error
	// CopyVectors copies count vectors of n contiguous elements, in any order. The
	// table at pairs, 8-byte aligned, has 2·count addresses of 8 bytes, little-endian:
	// for each vector its destination, then its source. Destinations must not overlap
	// anything else.
	CopyVectors(typ Type, n, count int, pairs Ptr) error
}
