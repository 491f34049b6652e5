package cuda

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels/cpu"
)

// The other routines of a simulated device: xGEAM of cuBLAS, and the kernels that real
// devices have from kernels.ptx.
//
//	Geam         C = α·A + β·B
//	CopyVectors  rows and columns, as xLASWP for a list of exchanges
//	Larft        T of xLARFT, from G = Vᵀ·V
//	CopyUpper    B = triu(A, d), xLACPY
//	SetUpper     A = α on the diagonal, 0 above, xLASET
//
// They compute with simple loops, not with kernels/cpu, since their speed does not matter
// here.

// Geam implements [Stream], as cublas<t>geam without transposes.
func (s *simStream) Geam(typ Type, m, n int, alpha float64, a Matrix, beta float64, b, c Matrix) error {
	return s.routine("Geam", typ, geamOn[float32](s, m, n, alpha, a, beta, b, c),
		geamOn[float64](s, m, n, alpha, a, beta, b, c),
		true, shape{m, n, a.Ld}, shape{m, n, b.Ld}, shape{m, n, c.Ld})
}

// geamOn returns the function that the stream runs for Geam.
func geamOn[T cpu.Element](s *simStream, m, n int, alpha float64, atA Matrix,
	beta float64, atB, atC Matrix) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Geam"}
		a, b, c := o.matrix(m, n, atA), o.matrix(m, n, atB), o.matrix(m, n, atC)
		if o.err != nil || c.data == nil {
			return o.err
		}
		// C may be A or B, and output makes C NaN before it writes it. So the sum is computed
		// first.
		sum := make([]T, len(c.data))
		for j := range n {
			addTo(sum[j*c.ld:], T(alpha), a.column(a.data, j))
			addTo(sum[j*c.ld:], T(beta), b.column(b.data, j))
		}
		output(s, float64(m)*float64(n), c, view[T]{}, 0, func(x, _ []T) { copy(x, sum) })
		return nil
	}
}

// addTo computes y += alpha·x. With alpha = 0, x is not read.
func addTo[T cpu.Element](y []T, alpha T, x []T) {
	if alpha == 0 {
		return
	}
	for i, v := range x {
		y[i] += alpha * v
	}
}

// CopyVectors implements [Stream]. It looks up all vectors before it writes any. It makes all
// targets NaN before the first copy, so a test finds a target that is also a source. On a real
// device that would show only now and then.
func (s *simStream) CopyVectors(typ Type, n, count int, pairs Ptr) error {
	if err := s.check("CopyVectors", typ, true, shape{n, count, max(n, 1)}); err != nil {
		return err
	}
	if n == 0 || count == 0 {
		return nil
	}
	return s.enqueue("CopyVectors", func() *DeviceError {
		table, err := s.at("CopyVectors", pairs, 16*int64(count))
		if err != nil {
			return err
		}
		if pairs%8 != 0 {
			return s.d.misused("CopyVectors", s.name, codeAddress, "misaligned address %#x", pairs)
		}
		vectors := make([][]byte, 2*count)
		for i := range vectors {
			p := Ptr(binary.LittleEndian.Uint64(table[8*i:]))
			if int64(p)%typ.Size() != 0 {
				return s.d.misused("CopyVectors", s.name, codeAddress, "misaligned address %#x", p)
			}
			if vectors[i], err = s.at("CopyVectors", p, int64(n)*typ.Size()); err != nil {
				return err
			}
		}
		s.d.compute.use(s.d.opt.Launch, func() {
			for i := 0; i < len(vectors); i += 2 {
				poison(vectors[i])
			}
		}, func() {
			// The order must not matter, so it is the opposite of that in the table.
			for i := len(vectors) - 2; i >= 0; i -= 2 {
				copy(vectors[i], vectors[i+1])
			}
		})
		return nil
	})
}

// Larft implements [Stream]. T is one block of reflectors; versions call it for each
// block of columns that is factored.
func (s *simStream) Larft(typ Type, n int, g Matrix, tau Ptr, t Strided) error {
	return s.routine("Larft", typ, larftOn[float32](s, n, g, tau, t), larftOn[float64](s, n, g, tau, t), t.sane(),
		shape{n, n, g.Ld})
}

// larftOn returns the function that the stream runs for Larft. It computes the T of LAPACK's
// xLARFT, with G for the products of columns of V. Column i of T is
//
//	T(0:i, i) = −τ(i)·T(0:i, 0:i)·G(0:i, i),  T(i, i) = τ(i).
//
// It goes by rows, since no row of T depends on another one.
func larftOn[T cpu.Element](s *simStream, n int, g Matrix, tau Ptr, t Strided) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Larft"}
		a, factors, to := o.matrix(n, n, g), o.vector(tau, n), o.vector(t.Data, t.extent(n, n))
		if o.err != nil {
			return o.err
		}
		rows := make([]T, n*n)
		for p := range n {
			row := rows[p*n : (p+1)*n]
			row[p] = factors[p]
			for i := p + 1; i < n; i++ {
				var sum T
				for q := p; q < i; q++ {
					sum += row[q] * a.data[q+i*a.ld]
				}
				if factors[i] != 0 { // otherwise H(i) = I, and G may hold anything
					row[i] = -factors[i] * sum
				}
			}
		}
		o.replace(float64(n)*float64(n)*float64(n)/3, n, n, 0, to, t, false, func(i, j int) T { return rows[i*n+j] })
		return nil
	}
}

// CopyUpper implements [Stream]. With d = 0 it copies the upper triangle or trapezoid, and
// with d = 1 the elements above the diagonal.
func (s *simStream) CopyUpper(typ Type, m, n, d int, a, b Strided, clear bool) error {
	if err := s.check("CopyUpper", typ, a.sane() && b.sane(), shape{m, n, max(1, m)}); err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return nil
	}
	return s.enqueue("CopyUpper", typed(typ, copyUpperOn[float32](s, m, n, d, a, b, clear),
		copyUpperOn[float64](s, m, n, d, a, b, clear)))
}

// copyUpperOn returns the function that the stream runs for CopyUpper. The matrices may be
// row-major or column-major.
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

// SetUpper implements [Stream]. Factorizations use it to write the ones and zeros of V in
// the place of R.
func (s *simStream) SetUpper(typ Type, m, n int, diag float64, a Strided) error {
	if err := s.check("SetUpper", typ, a.sane(), shape{m, n, max(1, m)}); err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return nil
	}
	return s.enqueue("SetUpper", typed(typ, setUpperOn[float32](s, m, n, diag, a),
		setUpperOn[float64](s, m, n, diag, a)))
}

// setUpperOn returns the function that the stream runs for SetUpper.
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

// replace sets the elements (i, j) of an m×n matrix on and above the diagonal d to f(i, j),
// and if clear is set those below to 0. Between the two steps of the engine these elements are
// NaN, so f must not read data. Elements between the rows of the matrix stay as they are.
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
