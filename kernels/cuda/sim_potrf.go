package cuda

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// Potrf implements [Stream]. A NaN in the triangle is not noticed: what comes
// after it on the diagonal is NaN, and info is 0.
func (s *simStream) Potrf(typ Type, uplo blas.Uplo, n int, a Matrix, work Ptr, info Ptr) error {
	if err := s.check("Potrf", typ, okUplo(uplo), shape{n, n, a.Ld}); err != nil {
		return err
	}
	return s.enqueue("Potrf", typed(typ, potrfOn[float32](s, uplo, n, a, work, info), potrfOn[float64](s, uplo, n, a, work, info)))
}

// PotrfWork implements [Stream].
func (s *simStream) PotrfWork(typ Type, uplo blas.Uplo, n int, a Matrix) (bytes int64, err error) {
	if err := s.d.called("PotrfWork", s.name); err != nil {
		return 0, err
	}
	if err := s.check("PotrfWork", typ, okUplo(uplo), shape{n, n, a.Ld}); err != nil {
		return 0, err
	}
	return typ.Size() * int64(n), nil
}

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
		for i := range scratch {
			scratch[i] = nan[T]()
		}
		minor := 0
		if a.data != nil {
			a.uplo = uplo
			r := hostOf[T](s)
			x := float64(n)
			output(s, x*x*x/3, a, a, r.Work(n), func(x, work []T) {
				unnoticed := firstNaN(a, x)
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

// firstNaN returns the order of the first leading minor of x, which is laid out
// as the triangle a, that has a NaN; 0 if there is none.
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
