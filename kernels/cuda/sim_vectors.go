package cuda

import (
	"encoding/binary"

	"github.com/tessera-la/tessera/kernels/cpu"
)

// Geam implements [Stream].
func (s *simStream) Geam(typ Type, m, n int, alpha float64, a Matrix, beta float64, b, c Matrix) error {
	if err := s.check("Geam", typ, true, shape{m, n, a.Ld}, shape{m, n, b.Ld}, shape{m, n, c.Ld}); err != nil {
		return err
	}
	p := geamCall{m, n, alpha, beta, a, b, c}
	return s.enqueue("Geam", typed(typ, geamOn[float32](s, p), geamOn[float64](s, p)))
}

type geamCall struct {
	m, n        int
	alpha, beta float64
	a, b, c     Matrix
}

func geamOn[T cpu.Element](s *simStream, p geamCall) func() *DeviceError {
	return func() *DeviceError {
		o := operands[T]{s: s, op: "Geam"}
		a, b, c := o.matrix(p.m, p.n, p.a), o.matrix(p.m, p.n, p.b), o.matrix(p.m, p.n, p.c)
		if o.err != nil || c.data == nil {
			return o.err
		}
		// C may be A or B, and is NaN by the time it is written.
		sum := make([]T, len(c.data))
		for j := range p.n {
			addTo(sum[j*c.ld:], T(p.alpha), a.column(a.data, j))
			addTo(sum[j*c.ld:], T(p.beta), b.column(b.data, j))
		}
		output(s, float64(p.m)*float64(p.n), c, view[T]{}, 0, func(x, _ []T) { copy(x, sum) })
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

// CopyVectors implements [Stream].
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
			for i := len(vectors) - 2; i >= 0; i -= 2 {
				copy(vectors[i], vectors[i+1])
			}
		})
		return nil
	})
}
