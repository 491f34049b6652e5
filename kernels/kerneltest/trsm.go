package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Trsm and Trmm are found by the names of the ops.

func (s *suite[T]) Trsm(t *testing.T) { s.trsm(t) }

func (s *suite[T]) Trmm(t *testing.T) { s.trsm(t) }

// trsm is the suite of ops "trsm" and "trmm", which take the same operands.
func (s *suite[T]) trsm(t *testing.T) {
	t.Run("sizes", func(t *testing.T) {
		for c, p := range trsmParams[T](1) {
			for i, m := range sizes {
				n := sizes[s.rnd.IntN(len(sizes))]
				if (c+i)%2 == 0 {
					m, n = n, m
				}
				s.trsmCase(t, p, m, n, s.rnd.IntN(4), 1, 1)
			}
			s.trsmCase(t, p, 64, 64, 0, 1, 1)
			d := large[s.rnd.IntN(len(large))]
			s.trsmCase(t, p, d, 17, 1, 1, 1)
			s.trsmCase(t, p, 17, d, 1, 1, 1)
		}
	})
	t.Run("scalars", func(t *testing.T) {
		for i, alpha := range scalars {
			for c, p := range trsmParams[T](T(alpha)) {
				d := [...]int{1, 5, 18, 35, 67}[(i+c)%5]
				s.trsmCase(t, p, d, d+1, 1, 1, 1)
			}
		}
		p := op.Trsm[T]{Side: blas.Left, Uplo: blas.Upper, Trans: blas.ConjTrans, Diag: blas.Unit, Alpha: 1}
		s.trsmCase(t, p, 9, 8, 0, 1, 1)
	})
	t.Run("extreme", func(t *testing.T) {
		big := extreme[T]() * extreme[T]() / 0x1p20
		for _, p := range trsmParams[T](1) {
			if s.multiplies() {
				s.trsmCase(t, p, 37, 38, 1, extreme[T]()/0x1p6, 1)
				s.trsmCase(t, p, 37, 38, 1, 0x1p6/extreme[T](), 1)
			} else if p.Diag == blas.NonUnit {
				s.trsmCase(t, p, 37, 38, 1, big, 1)
				s.trsmCase(t, p, 37, 38, 1, 1/big, 1)
				s.trsmCase(t, p, 37, 38, 1, extreme[T](), 1/extreme[T]())
				s.trsmCase(t, p, 37, 38, 1, 1/extreme[T](), extreme[T]())
			}
		}
	})
	t.Run("nonfinite", func(t *testing.T) { s.trsmNonFinite(t) })
	if !s.multiplies() {
		t.Run("singular", func(t *testing.T) { s.trsmSingular(t) })
	}
	t.Run("repeat", func(t *testing.T) {
		for p, d := range pairs(trsmParams[T](-1), []int{7, 33, 131}) {
			s.checkRepeatable(t, s.trsmParam(p), s.triangle(p, d, 1, 1), s.random(d, d, 3))
		}
	})
	s.work(t, 3*5*5, s.trsmParam(op.Trsm[T]{Side: blas.Right}), newTile[T](5, 5, 0), newTile[T](3, 5, 0))
}

// multiplies reports whether the op is "trmm".
func (s *suite[T]) multiplies() bool { return s.op.Name == "trmm" }

// trsmParam returns p as the op takes it.
func (s *suite[T]) trsmParam(p op.Trsm[T]) any {
	if s.multiplies() {
		product := op.Trmm[T](p)
		return &product
	}
	return &p
}

// trsmParams returns the cases of every side, triangle, transposition and diagonal.
func trsmParams[T kernels.Element](alpha T) (ps []op.Trsm[T]) {
	for side, uplo := range pairs([]blas.Side{blas.Left, blas.Right}, uplos[:]) {
		for tr, diag := range pairs(transposes[:], []blas.Diag{blas.NonUnit, blas.Unit}) {
			ps = append(ps, op.Trsm[T]{Side: side, Uplo: uplo, Trans: tr, Diag: diag, Alpha: alpha})
		}
	}
	return ps
}

// triangle returns a well-conditioned triangle of order n with NaN wherever
// trsm must not read.
func (s *suite[T]) triangle(p op.Trsm[T], n, pad int, scale float64) *kernels.Tile[T] {
	a := newTile[T](n, n, pad)
	in := inTriangle(p.Uplo)
	s.fill(a, scale/math.Sqrt(float64(2*n)), func(i, j int) bool { return i != j && in(i, j) })
	for i := range n {
		if p.Diag == blas.NonUnit {
			a.Set(i, i, T(scale*math.Copysign(1+s.rnd.Float64(), s.rnd.NormFloat64())))
		}
	}
	return a
}

// triangleAt returns op(A) as a function, with the zeros and ones that are
// not stored.
func triangleAt[T kernels.Element](a *kernels.Tile[T], p op.Trsm[T]) func(i, j int) float64 {
	in := inTriangle(p.Uplo)
	return func(i, j int) float64 {
		if p.Trans != blas.NoTrans {
			i, j = j, i
		}
		switch {
		case i == j && p.Diag == blas.Unit:
			return 1
		case in(i, j):
			return float64(a.At(i, j))
		}
		return 0
	}
}

// trsmCase checks one call of trsm by ‖αB − op(A)·X‖ / (‖A‖·‖X‖·ε·n) < 30, and
// one of trmm by ‖X − αop(A)·B‖ / (|α|·‖A‖·‖B‖·ε·n) < 30, or the like for the
// right side, with A of size scale and B of size scale·xscale. With alpha = 0 both hold NaN.
func (s *suite[T]) trsmCase(t *testing.T, p op.Trsm[T], m, n, pad int, scale, xscale float64) {
	t.Helper()
	what := fmt.Sprintf("%c%c%c%c m=%d n=%d alpha=%v pad=%d scale=%.3g, %.3g", p.Side, p.Uplo, p.Trans, p.Diag, m, n, p.Alpha, pad, scale, xscale)
	order := m
	if p.Side == blas.Right {
		order = n
	}
	a, b := newTile[T](order, order, pad), newTile[T](m, n, 2*pad)
	if p.Alpha != 0 {
		a = s.triangle(p, order, pad, scale)
		s.fill(b, scale*xscale, nil)
	}
	s.mark(b, nil)
	a0, b0 := clone(a), clone(b)
	s.must(t, s.trsmParam(p), a, b)
	identical(t, what+": A", a, a0)
	untouched(t, what+": B", b, b0, func(i, j int) bool { return true })

	fa, fx, fb := triangleAt(a, p), at(b, false), at(b0, false)
	if p.Alpha == 0 {
		ratio(t, what, norm1(m, n, fx), 0, 0)
		return
	}
	// β·op(A)·X is to be α·B. For trmm, X and B change places.
	beta, alpha := 1.0, float64(p.Alpha)
	if s.multiplies() {
		beta, alpha, fx, fb = alpha, 1, fb, fx
	}
	// op(A)·X by the rows of op(A) and the columns of X, or X·op(A) by the
	// rows of X and the columns of op(A).
	left, right := fa, fx
	if p.Side == blas.Right {
		left, right = fx, fa
	}
	rl, rr := rows(m, order, left), rows(n, order, transpose(right))
	residual := norm1(m, n, func(i, j int) float64 { return alpha*fb(i, j) - beta*dot2.Dot(0, rl[i], rr[j]) })
	ratio(t, what, residual, math.Abs(beta)*norm1(order, order, fa)*norm1(m, n, fx)*eps[T]()*float64(order), 30)
}

// trsmNonFinite checks that a NaN or an infinity in one vector of B stays in it
// and does not get lost.
func (s *suite[T]) trsmNonFinite(t *testing.T) {
	for p, d := range pairs(trsmParams[T](1), []int{3, 19, 45}) {
		for _, bad := range [...]float64{math.NaN(), math.Inf(-1)} {
			a, b := s.triangle(p, d, 1, 1), s.random(d, d, 1)
			i0, j0 := s.rnd.IntN(d), s.rnd.IntN(d)
			b.Set(i0, j0, T(bad))
			s.must(t, s.trsmParam(p), a, b)
			for i, j := range cells(d, d) {
				other := j != j0
				if p.Side == blas.Right {
					other = i != i0
				}
				x := b.At(i, j)
				if other && !finite(x) || i == i0 && j == j0 && finite(x) {
					t.Fatalf("%c%c%c%c n=%d, %v at (%d, %d): X(%d, %d) = %v", p.Side, p.Uplo, p.Trans, p.Diag, d, bad, i0, j0, i, j, x)
				}
			}
		}
	}
}

// trsmSingular checks that a zero on the diagonal makes its unknown infinite
// or NaN in every right-hand side, and does not panic.
func (s *suite[T]) trsmSingular(t *testing.T) {
	for _, p := range trsmParams[T](1) {
		if p.Diag == blas.Unit {
			continue
		}
		const d = 21
		for _, i0 := range [...]int{0, 1, 7, 8, 15, 16, d - 1} {
			a, b := s.triangle(p, d, 1, 1), s.random(d, d, 1)
			a.Set(i0, i0, 0)
			s.must(t, &p, a, b)
			for v := range d {
				x := b.At(i0, v)
				if p.Side == blas.Right {
					x = b.At(v, i0)
				}
				if finite(x) {
					t.Fatalf("%c%c%c, zero at %d: unknown of right-hand side %d is %v", p.Side, p.Uplo, p.Trans, i0, v, x)
				}
			}
		}
	}
}
