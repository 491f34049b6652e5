package cuda

import (
	"encoding/binary"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// The factorizations of LAPACK on a simulated device: xPOTRF, xGEQRF and xGETRF, which are
// cuSOLVER's on real devices. The …Work methods return the sizes of their scratch memory. They fill that
// memory with NaN, since its contents are undefined afterwards, and info until they write it.

// Potrf implements [Stream]. It does not notice a NaN in the triangle: the rest of the
// diagonal becomes NaN, and info is 0.
func (s *simStream) Potrf(typ Type, uplo blas.Uplo, n int, a Matrix, work Ptr, info Ptr) error {
	return s.routine("Potrf", typ, potrfOn[float32](s, uplo, n, a, work, info),
		potrfOn[float64](s, uplo, n, a, work, info),
		okUplo(uplo), shape{n, n, a.Ld})
}

// PotrfWork implements [Stream].
func (s *simStream) PotrfWork(typ Type, uplo blas.Uplo, n int, a Matrix) (bytes int64, err error) {
	return s.workOf("PotrfWork", typ, n, okUplo(uplo), shape{n, n, a.Ld})
}

// potrfOn returns the function that the stream runs for Potrf. The real routine may or may
// not report a NaN as a minor that is not definite. This one does not report it, so that
// tests show whether a version checks the diagonal. The routine of kernels/cpu does report
// it; then this one makes the rest of the diagonal NaN instead.
func potrfOn[T cpu.Element](s *simStream, uplo blas.Uplo, n int, at Matrix, work, info Ptr) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Potrf"}
		a, scratch := o.matrix(n, n, at), o.vector(work, n)
		if o.err != nil {
			return o.err
		}
		result, err := s.at("Potrf", info, 4)
		if err != nil {
			return err
		}
		poison(result)
		spoil(scratch)
		minor := 0
		if a.data != nil {
			a.uplo = uplo
			r := hostOf[T](s)
			x := float64(n)
			output(s, x*x*x/3, a, a, r.Work(n), func(x, work []T) {
				unnoticed := firstNaN(a, x)
				// The triangle of A is the other one of Aᵀ = A.
				minor = r.Potrf(turned(uplo), n, x, a.ld, work)
				if minor != 0 && minor == unnoticed {
					for i := minor - 1; i < n; i++ {
						x[i*(a.ld+1)] = nan[T]()
					}
					minor = 0
				}
			})
		}
		binary.NativeEndian.PutUint32(result, uint32(minor))
		return nil
	}
}

// firstNaN returns the order of the smallest leading minor of x that contains a NaN, or 0 if
// there is none. x has the layout of the triangle a.
func firstNaN[T cpu.Element](a view[T], x []T) (order int) {
	for j := range a.n {
		first := 0
		if a.uplo == blas.Lower {
			first = j
		}
		for i, v := range a.column(x, j) {
			if o := max(first+i, j) + 1; v != v && (order == 0 || o < order) {
				order = o
			}
		}
	}
	return order
}

// A QR factorization of a matrix says nothing about that of its transpose. So Geqrf factors a
// row-major copy.

// Geqrf implements [Stream]. It counts 4·m·n·k − 2·(m+n)·k² + 4/3·k³ operations for
// k = min(m, n), which is 2·n²·(m − n/3) for m ≥ n.
func (s *simStream) Geqrf(typ Type, m, n int, a Matrix, tau, work, info Ptr) error {
	return s.routine("Geqrf", typ, geqrfOn[float32](s, m, n, a, tau, work, info),
		geqrfOn[float64](s, m, n, a, tau, work, info), true, shape{m, n, a.Ld})
}

// GeqrfWork implements [Stream].
func (s *simStream) GeqrfWork(typ Type, m, n int, a Matrix) (bytes int64, err error) {
	return s.workOf("GeqrfWork", typ, m+n, true, shape{m, n, a.Ld})
}

// simReflectors is the number of columns of a block reflector in Geqrf.
const simReflectors = 32

// geqrfOn returns the function that the stream runs for Geqrf. The routine of kernels/cpu
// returns the triangles T of block reflectors. Their diagonals are the factors tau:
//
//	T  ┌─────┬─────┬──      ib rows for k columns: element (j mod ib, j)
//	   │ ╲   │ ╲   │        is the factor of reflector j
//	   │   ╲ │   ╲ │
//	   └─────┴─────┴──
func geqrfOn[T cpu.Element](s *simStream, m, n int, at Matrix, tau, work, info Ptr) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Geqrf"}
		k := min(m, n)
		a, scratch, taus := o.matrix(m, n, at), o.vector(work, m+n), o.vector(tau, k)
		if o.err != nil {
			return o.err
		}
		result, err := s.at("Geqrf", info, 4)
		if err != nil {
			return err
		}
		poison(result)
		if k > 0 {
			output(s, geqrfFlops(m, n), a, a, m*n, func(x, rows []T) {
				spoil(scratch)
				spoil(taus)
				for i := range m {
					for j := range n {
						rows[i*n+j] = x[i+j*a.ld]
					}
				}
				q := cpu.NewQR(hostOf[T](s))
				ib := min(simReflectors, k)
				t := make([]T, ib*k)
				q.Geqrt(m, n, ib, rows, n, t, k, make([]T, q.Work(max(m, n), k, ib)))
				for j := range taus {
					taus[j] = t[j%ib*k+j]
				}
				for j := range n {
					for i := range m {
						x[i+j*a.ld] = rows[i*n+j]
					}
				}
			})
		}
		binary.NativeEndian.PutUint32(result, 0)
		return nil
	}
}

// geqrfFlops returns the number of operations of xGEQRF (LAWN 41), without terms of lower
// order.
func geqrfFlops(m, n int) float64 {
	k := float64(min(m, n))
	return 4*float64(m)*float64(n)*k - 2*float64(m+n)*k*k + 4*k*k*k/3
}

// Getrf implements [Stream]. It counts 2·m·n·k − (m+n)·k² + 2/3·k³ operations for k = min(m, n).
func (s *simStream) Getrf(typ Type, m, n int, a Matrix, pivots, work Ptr, own unsafe.Pointer, info Ptr) error {
	if own == nil && m > 0 && n > 0 {
		return s.d.misused("Getrf", s.name, codeInvalid, "no work on the host")
	}
	return s.routine("Getrf", typ, getrfOn[float32](s, m, n, a, pivots, work, own, info),
		getrfOn[float64](s, m, n, a, pivots, work, own, info), true, shape{m, n, a.Ld})
}

// simOwn is the number of bytes on the host that Getrf overwrites.
const simOwn = 24

// GetrfWork implements [Stream].
func (s *simStream) GetrfWork(typ Type, m, n int, a Matrix) (device, host int64, err error) {
	device, err = s.workOf("GetrfWork", typ, m+n, true, shape{m, n, a.Ld})
	return device, simOwn, err
}

// getrfOn returns the function that the stream runs for Getrf. The routine of kernels/cpu factors a
// row-major copy.
func getrfOn[T cpu.Element](s *simStream, m, n int, at Matrix, pivots, work Ptr, own unsafe.Pointer, info Ptr) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Getrf"}
		k := min(m, n)
		a, scratch := o.matrix(m, n, at), o.vector(work, m+n)
		if o.err != nil {
			return o.err
		}
		result, err := s.at("Getrf", info, 4)
		if err != nil {
			return err
		}
		poison(result)
		zero := 0
		if k > 0 {
			rows, err := s.at("Getrf", pivots, 8*int64(k))
			if err != nil {
				return err
			}
			poison(rows)
			poison(unsafe.Slice((*byte)(own), simOwn))
			l := cpu.NewLU(hostOf[T](s), cpu.Caches{})
			swaps := make([]int, k)
			output(s, getrfFlops(m, n), a, a, m*n+l.Work(m, n), func(x, all []T) {
				spoil(scratch)
				copied := all[: m*n : m*n]
				for i := range m {
					for j := range n {
						copied[i*n+j] = x[i+j*a.ld]
					}
				}
				zero = l.Getrf(n, []cpu.Block[T]{{Rows: m, Stride: n, Data: copied}}, swaps, all[m*n:])
				for j := range n {
					for i := range m {
						x[i+j*a.ld] = copied[i*n+j]
					}
				}
			})
			for i, r := range swaps {
				binary.NativeEndian.PutUint64(rows[8*i:], uint64(r+1))
			}
		}
		binary.NativeEndian.PutUint32(result, uint32(zero))
		return nil
	}
}

// getrfFlops returns the number of operations of xGETRF (LAWN 41), without terms of lower order.
func getrfFlops(m, n int) float64 {
	k := float64(min(m, n))
	return 2*float64(m)*float64(n)*k - float64(m+n)*k*k + 2*k*k*k/3
}

// Laswp implements [Stream]. It counts no operations.
func (s *simStream) Laswp(typ Type, m, n int, a Matrix, k int, pivots Ptr) error {
	return s.routine("Laswp", typ, laswpOn[float32](s, m, n, a, k, pivots), laswpOn[float64](s, m, n, a, k, pivots),
		k >= 0 && k <= m, shape{m, n, a.Ld})
}

// laswpOn returns the function that the stream runs for Laswp.
func laswpOn[T cpu.Element](s *simStream, m, n int, at Matrix, k int, pivots Ptr) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Laswp"}
		a := o.matrix(m, n, at)
		if o.err != nil || a.data == nil || k == 0 {
			return o.err
		}
		rows, err := s.at("Laswp", pivots, 8*int64(k))
		if err != nil {
			return err
		}
		output(s, 0, a, a, 0, func(x, _ []T) {
			for i := range k {
				r := int(binary.NativeEndian.Uint64(rows[8*i:])) - 1
				if r < 0 || r >= m {
					err = &DeviceError{Op: "Laswp", Reason: "a pivot is no row"}
					return
				}
				for j := range n {
					x[i+j*a.ld], x[r+j*a.ld] = x[r+j*a.ld], x[i+j*a.ld]
				}
			}
		})
		return err
	}
}
