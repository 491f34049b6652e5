package cuda

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels/cpu"
)

// The factorization of a column-major matrix is not that of its transpose: it is
// done on a row-major copy.

// Geqrf implements [Stream].
func (s *simStream) Geqrf(typ Type, m, n int, a Matrix, tau, work, info Ptr) error {
	if err := s.check("Geqrf", typ, true, shape{m, n, a.Ld}); err != nil {
		return err
	}
	return s.enqueue("Geqrf", typed(typ, geqrfOn[float32](s, m, n, a, tau, work, info), geqrfOn[float64](s, m, n, a, tau, work, info)))
}

// GeqrfWork implements [Stream].
func (s *simStream) GeqrfWork(typ Type, m, n int, a Matrix) (bytes int64, err error) {
	if err := s.d.called("GeqrfWork", s.name); err != nil {
		return 0, err
	}
	if err := s.check("GeqrfWork", typ, true, shape{m, n, a.Ld}); err != nil {
		return 0, err
	}
	return typ.Size() * int64(m+n), nil // an element for each row and column
}

// simReflectors is the columns of a block of reflectors.
const simReflectors = 32

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

// geqrfFlops counts as LAPACK does, without the lower orders.
func geqrfFlops(m, n int) float64 {
	k := float64(min(m, n))
	return 4*float64(m)*float64(n)*k - 2*float64(m+n)*k*k + 4*k*k*k/3
}

func spoil[T cpu.Element](x []T) {
	for i := range x {
		x[i] = nan[T]()
	}
}
