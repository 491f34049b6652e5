package cuda

import (
	"github.com/tessera-la/tessera/kernels/cpu"
)

// Larft implements [Stream].
func (s *simStream) Larft(typ Type, n int, g Matrix, tau Ptr, t Strided) error {
	if err := s.check("Larft", typ, t.sane(), shape{n, n, g.Ld}); err != nil {
		return err
	}
	return s.enqueue("Larft", typed(typ, larftOn[float32](s, n, g, tau, t), larftOn[float64](s, n, g, tau, t)))
}

func larftOn[T cpu.Element](s *simStream, n int, g Matrix, tau Ptr, t Strided) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Larft"}
		a, f, to := o.matrix(n, n, g), o.vector(tau, n), o.vector(t.Data, t.extent(n, n))
		if o.err != nil {
			return o.err
		}
		rows := make([]T, n*n)
		for p := range n {
			row := rows[p*n : (p+1)*n]
			row[p] = f[p]
			for i := p + 1; i < n; i++ {
				var sum T
				for q := p; q < i; q++ {
					sum += row[q] * a.data[q+i*a.ld]
				}
				if f[i] != 0 {
					row[i] = -f[i] * sum
				}
			}
		}
		o.replace(float64(n)*float64(n)*float64(n)/3, n, n, 0, to, t, false, func(i, j int) T { return rows[i*n+j] })
		return nil
	}
}

// CopyUpper implements [Stream].
func (s *simStream) CopyUpper(typ Type, m, n, d int, a, b Strided, clear bool) error {
	if err := s.check("CopyUpper", typ, a.sane() && b.sane(), shape{m, n, max(1, m)}); err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return nil
	}
	return s.enqueue("CopyUpper", typed(typ, copyUpperOn[float32](s, m, n, d, a, b, clear), copyUpperOn[float64](s, m, n, d, a, b, clear)))
}

func copyUpperOn[T cpu.Element](s *simStream, m, n, d int, a, b Strided, clear bool) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "CopyUpper"}
		from, to := o.vector(a.Data, a.extent(m, n)), o.vector(b.Data, b.extent(m, n))
		if o.err != nil {
			return o.err
		}
		o.replace(0, m, n, d, to, b, clear, func(i, j int) T { return from[i*a.Row+j*a.Col] })
		return nil
	}
}

// SetUpper implements [Stream].
func (s *simStream) SetUpper(typ Type, m, n int, diag float64, a Strided) error {
	if err := s.check("SetUpper", typ, a.sane(), shape{m, n, max(1, m)}); err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return nil
	}
	return s.enqueue("SetUpper", typed(typ, setUpperOn[float32](s, m, n, diag, a), setUpperOn[float64](s, m, n, diag, a)))
}

func setUpperOn[T cpu.Element](s *simStream, m, n int, diag float64, a Strided) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "SetUpper"}
		to := o.vector(a.Data, a.extent(m, n))
		if o.err != nil {
			return o.err
		}
		o.replace(0, m, n, 0, to, a, false, func(i, j int) T {
			if i == j {
				return T(diag)
			}
			return 0
		})
		return nil
	}
}

// replace sets the elements of an m×n matrix on and above the diagonal d, and
// those below to 0 if clear. They are NaN before.
func (o *operands[T]) replace(flops float64, m, n, d int, data []T, a Strided, clear bool, f func(i, j int) T) {
	each := func(set func(i, j int, x *T)) {
		for i := range m {
			for j := range n {
				if clear || j-i >= d {
					set(i, j, &data[i*a.Row+j*a.Col])
				}
			}
		}
	}
	o.s.d.compute.use(launched[T](o.s, flops, false), func() {
		each(func(_, _ int, x *T) { *x = nan[T]() })
	}, func() {
		each(func(i, j int, x *T) {
			if *x = 0; j-i >= d {
				*x = f(i, j)
			}
		})
	})
}

// sane reports whether a can be a matrix.
func (a Strided) sane() bool { return a.Row > 0 && a.Col > 0 }

// extent returns the number of elements from the first to the last of m×n.
func (a Strided) extent(m, n int) int {
	if m == 0 || n == 0 {
		return 0
	}
	return (m-1)*a.Row + (n-1)*a.Col + 1
}
