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

// Trmm is the suite of op "trmm".
func Trmm(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, trmmSuite[float32], trmmSuite[float64], v)
}

func trmmSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(8, 1))
	r := &runner{v: v}
	t.Run("sizes", func(t *testing.T) {
		for _, p := range trsmParams(1) {
			for _, m := range sizes {
				n := sizes[rnd.IntN(len(sizes))]
				trmmCase[T](t, r, rnd, p, m, n, rnd.IntN(4), 1)
				trmmCase[T](t, r, rnd, p, n, m, rnd.IntN(4), 1)
			}
			d := large[rnd.IntN(len(large))]
			trmmCase[T](t, r, rnd, p, d, 17, 1, 1)
			trmmCase[T](t, r, rnd, p, 17, d, 1, 1)
		}
	})
	t.Run("scalars", func(t *testing.T) {
		for _, alpha := range scalars {
			for _, p := range trsmParams(alpha) {
				for _, d := range [...]int{1, 5, 18, 35, 67} {
					trmmCase[T](t, r, rnd, p, d, d+1, 1, 1)
				}
			}
		}
		p := kernels.Trsm{Side: blas.Left, Uplo: blas.Upper, Trans: blas.ConjTrans, Diag: blas.Unit, Alpha: 1}
		trmmCase[T](t, r, rnd, p, 9, 8, 0, 1)
	})
	t.Run("extreme", func(t *testing.T) {
		for _, p := range trsmParams(1) {
			trmmCase[T](t, r, rnd, p, 37, 38, 1, extreme[T]()/0x1p6)
			trmmCase[T](t, r, rnd, p, 37, 38, 1, 0x1p6/extreme[T]())
		}
	})
	t.Run("nonfinite", func(t *testing.T) { trmmNonFinite[T](t, r, rnd) })
	t.Run("repeat", func(t *testing.T) {
		for _, tp := range trsmParams(-1) {
			for _, d := range [...]int{7, 33, 131} {
				p := kernels.Trmm(tp)
				a, b := triangle[T](rnd, tp, d, 1, 1), random[T](rnd, d, d, 3, 1)
				b1, b2 := clone(b), clone(b)
				r.must(t, &p, a, b1)
				r.must(t, &p, a, b2)
				identical(t, "second run", b2, b1)
				r.noAllocs(t, &p, a, b)
			}
		}
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: &kernels.Trmm{Side: blas.Right}, Args: []any{newTile[T](5, 5, 0), newTile[T](3, 5, 0)}}
		if got := op.Work(c); got != 3*5*5 {
			t.Errorf("work %v, want 75", got)
		}
	})
}

// trmmCase checks one call by ‖X − αop(A)·B‖ / (|α|·‖A‖·‖B‖·ε·n) < 30, or the
// like for the right side, with A and B of size scale.
func trmmCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, tp kernels.Trsm, m, n, pad int, scale float64) {
	t.Helper()
	p := kernels.Trmm(tp)
	what := fmt.Sprintf("%c%c%c%c m=%d n=%d alpha=%v pad=%d scale=%.3g", p.Side, p.Uplo, p.Trans, p.Diag, m, n, p.Alpha, pad, scale)
	order := m
	if p.Side == blas.Right {
		order = n
	}
	a, b := newTile[T](order, order, pad), newTile[T](m, n, 2*pad)
	if p.Alpha != 0 {
		a = triangle[T](rnd, tp, order, pad, scale)
	}
	fill(rnd, b, scale, nil)
	mark(rnd, b, nil)
	a0, b0 := clone(a), clone(b)
	r.must(t, &p, a, b)
	identical(t, what+": A", a, a0)
	untouched(t, what+": B", b, b0, func(i, j int) bool { return true })

	fa, fx, fb := triangleAt(a, tp), at(b, false), at(b0, false)
	if p.Alpha == 0 {
		ratio(t, what, norm1(m, n, fx), 0, 0)
		return
	}
	left, right := fa, fb
	if p.Side == blas.Right {
		left, right = fb, fa
	}
	rl, rr := rows(m, order, left), rows(n, order, transpose(right))
	residual := norm1(m, n, func(i, j int) float64 { return fx(i, j) - p.Alpha*dot(rl[i], rr[j]) })
	ratio(t, what, residual, math.Abs(p.Alpha)*norm1(order, order, fa)*norm1(m, n, fb)*eps[T]()*float64(order), 30)
}

// trmmNonFinite checks that a NaN or an infinity in one vector of B stays in
// it and does not get lost.
func trmmNonFinite[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand) {
	for _, tp := range trsmParams(1) {
		for _, d := range [...]int{3, 19, 45} {
			for _, bad := range [...]float64{math.NaN(), math.Inf(-1)} {
				p := kernels.Trmm(tp)
				a, b := triangle[T](rnd, tp, d, 1, 1), random[T](rnd, d, d, 1, 1)
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
							t.Fatalf("%c%c%c%c n=%d, %v at (%d, %d): B(%d, %d) = %v", p.Side, p.Uplo, p.Trans, p.Diag, d, bad, i0, j0, i, j, x)
						}
					}
				}
			}
		}
	}
}
