package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Trsm is the suite of op "trsm".
func Trsm(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, trsmSuite[float32], trsmSuite[float64], v)
}

func trsmSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(3, 1))
	r := &runner{v: v}
	t.Run("sizes", func(t *testing.T) {
		for _, p := range trsmParams(1) {
			for _, m := range sizes {
				n := sizes[rnd.IntN(len(sizes))]
				trsmCase[T](t, r, rnd, p, m, n, rnd.IntN(4), 1, 1)
				trsmCase[T](t, r, rnd, p, n, m, rnd.IntN(4), 1, 1)
				trsmCase[T](t, r, rnd, p, m, m, 0, 1, 1)
			}
			d := large[rnd.IntN(len(large))]
			trsmCase[T](t, r, rnd, p, d, 17, 1, 1, 1)
			trsmCase[T](t, r, rnd, p, 17, d, 1, 1, 1)
		}
	})
	t.Run("scalars", func(t *testing.T) {
		for _, alpha := range scalars {
			for _, p := range trsmParams(alpha) {
				for _, d := range [...]int{1, 5, 18, 35} {
					trsmCase[T](t, r, rnd, p, d, d+1, 1, 1, 1)
				}
			}
		}
		p := kernels.Trsm{Side: blas.Left, Uplo: blas.Upper, Trans: blas.ConjTrans, Diag: blas.Unit, Alpha: 1}
		trsmCase[T](t, r, rnd, p, 9, 8, 0, 1, 1)
	})
	t.Run("extreme", func(t *testing.T) {
		big := extreme[T]() * extreme[T]() / 0x1p20
		for _, p := range trsmParams(1) {
			if p.Diag == blas.NonUnit {
				trsmCase[T](t, r, rnd, p, 37, 38, 1, big, 1)
				trsmCase[T](t, r, rnd, p, 37, 38, 1, 1/big, 1)
				trsmCase[T](t, r, rnd, p, 37, 38, 1, extreme[T](), 1/extreme[T]())
				trsmCase[T](t, r, rnd, p, 37, 38, 1, 1/extreme[T](), extreme[T]())
			}
		}
	})
	t.Run("nonfinite", func(t *testing.T) { trsmNonFinite[T](t, r, rnd) })
	t.Run("singular", func(t *testing.T) { trsmSingular[T](t, r, rnd) })
	t.Run("repeat", func(t *testing.T) {
		for _, p := range trsmParams(-1) {
			for _, d := range [...]int{7, 33, 131} {
				a, b := triangle[T](rnd, p, d, 1, 1), random[T](rnd, d, d, 3, 1)
				b1, b2 := clone(b), clone(b)
				r.must(t, &p, a, b1)
				r.must(t, &p, a, b2)
				identical(t, "second run", b2, b1)
				r.noAllocs(t, &p, a, b)
			}
		}
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: &kernels.Trsm{Side: blas.Right}, Args: []any{newTile[T](5, 5, 0), newTile[T](3, 5, 0)}}
		if got := op.Work(c); got != 3*5*5 {
			t.Errorf("work %v, want 75", got)
		}
	})
}

// trsmParams returns the 16 cases.
func trsmParams(alpha float64) (ps []kernels.Trsm) {
	for _, side := range [...]blas.Side{blas.Left, blas.Right} {
		for _, uplo := range uplos {
			for _, tr := range transposes {
				for _, diag := range [...]blas.Diag{blas.NonUnit, blas.Unit} {
					ps = append(ps, kernels.Trsm{Side: side, Uplo: uplo, Trans: tr, Diag: diag, Alpha: alpha})
				}
			}
		}
	}
	return ps
}

// triangle returns a well-conditioned triangle of order n with NaN wherever
// trsm must not read.
func triangle[T kernels.Element](rnd *rand.Rand, p kernels.Trsm, n, pad int, scale float64) *kernels.Tile[T] {
	a := newTile[T](n, n, pad)
	in := inTriangle(p.Uplo)
	fill(rnd, a, scale/math.Sqrt(float64(2*n)), func(i, j int) bool { return i != j && in(i, j) })
	for i := range n {
		if p.Diag == blas.NonUnit {
			a.Set(i, i, T(scale*math.Copysign(1+rnd.Float64(), rnd.NormFloat64())))
		}
	}
	return a
}

// triangleAt returns op(A) as a function, with the zeros and ones that are
// not stored.
func triangleAt[T kernels.Element](a *kernels.Tile[T], p kernels.Trsm) func(i, j int) float64 {
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

// trsmCase checks one call by ‖αB − op(A)·X‖ / (‖A‖·‖X‖·ε·n) < 30, or the
// like for the right side, with A of size scale and B such that X is of size
// xscale.
func trsmCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, p kernels.Trsm, m, n, pad int, scale, xscale float64) {
	t.Helper()
	what := fmt.Sprintf("%c%c%c%c m=%d n=%d alpha=%v pad=%d scale=%.3g, %.3g", p.Side, p.Uplo, p.Trans, p.Diag, m, n, p.Alpha, pad, scale, xscale)
	order := m
	if p.Side == blas.Right {
		order = n
	}
	a, b := newTile[T](order, order, pad), newTile[T](m, n, 2*pad)
	if p.Alpha != 0 {
		a = triangle[T](rnd, p, order, pad, scale)
	}
	fill(rnd, b, scale*xscale, nil)
	mark(rnd, b, nil)
	a0, b0 := clone(a), clone(b)
	r.must(t, &p, a, b)
	identical(t, what+": A", a, a0)
	untouched(t, what+": B", b, b0, func(i, j int) bool { return true })

	fa, fx, fb := triangleAt(a, p), at(b, false), at(b0, false)
	if p.Alpha == 0 {
		ratio(t, what, norm1(m, n, fx), 0, 0)
		return
	}
	// op(A)·X by the rows of op(A) and the columns of X, or X·op(A) by the
	// rows of X and the columns of op(A).
	left, right := fa, fx
	if p.Side == blas.Right {
		left, right = fx, fa
	}
	rl, rr := rows(m, order, left), rows(n, order, transpose(right))
	residual := norm1(m, n, func(i, j int) float64 { return p.Alpha*fb(i, j) - dot(rl[i], rr[j]) })
	ratio(t, what, residual, norm1(order, order, fa)*norm1(m, n, fx)*eps[T]()*float64(order), 30)
}

// trsmNonFinite checks that a NaN or an infinity in one right-hand side stays
// in it.
func trsmNonFinite[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand) {
	for _, p := range trsmParams(1) {
		for _, d := range [...]int{3, 19, 45} {
			for _, bad := range [...]float64{math.NaN(), math.Inf(-1)} {
				a, b := triangle[T](rnd, p, d, 1, 1), random[T](rnd, d, d, 1, 1)
				i0, j0 := rnd.IntN(d), rnd.IntN(d)
				b.Set(i0, j0, T(bad))
				r.must(t, &p, a, b)
				for i := range d {
					for j := range d {
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
	}
}

// trsmSingular checks that a zero on the diagonal makes its unknown infinite
// or NaN in every right-hand side, and does not panic.
func trsmSingular[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand) {
	for _, p := range trsmParams(1) {
		if p.Diag == blas.Unit {
			continue
		}
		const d = 21
		for i0 := range d {
			a, b := triangle[T](rnd, p, d, 1, 1), random[T](rnd, d, d, 1, 1)
			a.Set(i0, i0, 0)
			r.must(t, &p, a, b)
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
