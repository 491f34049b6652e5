package cuda

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels/cpu"
)

// The factorizations of a column-major matrix are not those of its transpose:
// they are done on a row-major copy.

// Geqrf implements [Stream].
func (s *simStream) Geqrf(typ Type, m, n int, a Matrix, tau, work, info Ptr) error {
	if err := s.check("Geqrf", typ, true, shape{m, n, a.Ld}); err != nil {
		return err
	}
	return s.enqueue("Geqrf", typed(typ, geqrfOn[float32](s, m, n, a, tau, work, info), geqrfOn[float64](s, m, n, a, tau, work, info)))
}

// GeqrfWork implements [Stream].
func (s *simStream) GeqrfWork(typ Type, m, n int, a Matrix) (bytes int64, err error) {
	return s.workOf("GeqrfWork", typ, m, n, a)
}

// Getrf implements [Stream].
func (s *simStream) Getrf(typ Type, m, n int, a Matrix, ipiv, work, info Ptr) error {
	if err := s.check("Getrf", typ, true, shape{m, n, a.Ld}); err != nil {
		return err
	}
	return s.enqueue("Getrf", typed(typ, getrfOn[float32](s, m, n, a, ipiv, work, info), getrfOn[float64](s, m, n, a, ipiv, work, info)))
}

// GetrfWork implements [Stream].
func (s *simStream) GetrfWork(typ Type, m, n int, a Matrix) (bytes int64, err error) {
	return s.workOf("GetrfWork", typ, m, n, a)
}

// workOf returns the work of a factorization, an element for each row and column.
func (s *simStream) workOf(op string, typ Type, m, n int, a Matrix) (bytes int64, err error) {
	if err := s.d.called(op, s.name); err != nil {
		return 0, err
	}
	if err := s.check(op, typ, true, shape{m, n, a.Ld}); err != nil {
		return 0, err
	}
	return typ.Size() * int64(m+n), nil
}

// simReflectors is the columns of a block of reflectors.
const simReflectors = 32

func geqrfOn[T cpu.Element](s *simStream, m, n int, at Matrix, tau, work, info Ptr) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Geqrf"}
		k := min(m, n)
		a, scratch, taus := o.matrix(m, n, at), o.vector(work, m+n), o.vector(tau, k)
		return o.factor(a, 4*work3(m, n), info, func(x []T) int32 {
			spoil(scratch)
			spoil(taus)
			if k == 0 {
				return 0
			}
			q := cpu.NewQR(hostOf[T](s))
			ib := min(simReflectors, k)
			t := make([]T, ib*k)
			q.Geqrt(m, n, ib, x, n, t, k, make([]T, q.Work(max(m, n), k, ib)))
			for j := range taus {
				taus[j] = t[j%ib*k+j]
			}
			return 0
		})
	}
}

func getrfOn[T cpu.Element](s *simStream, m, n int, at Matrix, ipiv, work, info Ptr) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Getrf"}
		k := min(m, n)
		a, scratch := o.matrix(m, n, at), o.vector(work, m+n)
		pivots, err := s.at("Getrf", ipiv, 4*int64(k))
		if err != nil {
			return err
		}
		poison(pivots)
		return o.factor(a, 2*work3(m, n), info, func(x []T) int32 {
			spoil(scratch)
			if k == 0 {
				return 0
			}
			lu := cpu.NewLU(hostOf[T](s), cpu.Caches{})
			rows := make([]int, k)
			first := lu.Getrf(n, []cpu.Block[T]{{Rows: m, Stride: n, Data: x}}, rows, make([]T, lu.Work(m, n)))
			for i, r := range rows {
				binary.NativeEndian.PutUint32(pivots[4*i:], uint32(r+1))
			}
			return int32(first)
		})
	}
}

// work3 returns the products of a factorization of an m×n matrix by halves of
// those of the columns that are left.
func work3(m, n int) float64 {
	k := float64(min(m, n))
	return float64(m)*float64(n)*k - float64(m+n)*k*k/2 + k*k*k/3
}

func spoil[T cpu.Element](x []T) {
	for i := range x {
		x[i] = nan[T]()
	}
}

// factor has a routine factor a row-major copy of a, and sets info to what it
// returns.
func (o *operands[T]) factor(a view[T], flops float64, info Ptr, routine func(x []T) int32) *DeviceError {
	if o.err != nil {
		return o.err
	}
	result, err := o.s.at(o.op, info, 4)
	if err != nil {
		return err
	}
	poison(result)
	var code int32
	if a.data == nil {
		binary.NativeEndian.PutUint32(result, uint32(routine(nil)))
		return nil
	}
	output(o.s, flops, a, a, a.m*a.n, func(x, rows []T) {
		turn(a.m, a.n, x, a.ld, rows)
		code = routine(rows)
		for j := range a.n {
			for i := range a.m {
				x[i+j*a.ld] = rows[i*a.n+j]
			}
		}
	})
	binary.NativeEndian.PutUint32(result, uint32(code))
	return nil
}

// turn makes a row-major matrix of a column-major one.
func turn[T cpu.Element](m, n int, x []T, ld int, rows []T) {
	for i := range m {
		for j := range n {
			rows[i*n+j] = x[i+j*ld]
		}
	}
}
