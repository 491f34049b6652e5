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

var uplos = [...]blas.Uplo{blas.Lower, blas.Upper}

// Syrk is the suite of op "syrk".
func Syrk(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, syrkSuite[float32], syrkSuite[float64], v)
}

func syrkSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(2, 1))
	r := &runner{v: v}
	t.Run("sizes", func(t *testing.T) {
		for _, p := range syrkParams(1, 1) {
			for _, n := range sizes {
				for range 3 {
					k := sizes[rnd.IntN(len(sizes))]
					syrkCase[T](t, r, rnd, p, n, k, rnd.IntN(4), 1)
				}
				syrkCase[T](t, r, rnd, p, n, n, 0, 1)
			}
			for _, d := range large {
				syrkCase[T](t, r, rnd, p, d, 19, 1, 1)
				syrkCase[T](t, r, rnd, p, 21, d, 1, 1)
			}
		}
		syrkCase[T](t, r, rnd, syrkParams(-1, 1)[0], 259, 261, 3, 1)
	})
	t.Run("scalars", func(t *testing.T) {
		for _, alpha := range scalars {
			for _, beta := range scalars {
				for _, p := range syrkParams(alpha, beta) {
					for _, d := range [...]int{1, 5, 18, 35} {
						syrkCase[T](t, r, rnd, p, d, d+1, 1, 1)
					}
				}
			}
		}
		syrkCase[T](t, r, rnd, kernels.Syrk{Uplo: blas.Upper, Trans: blas.ConjTrans, Alpha: 1}, 9, 8, 0, 1)
	})
	t.Run("extreme", func(t *testing.T) {
		for _, s := range [...]float64{extreme[T](), 1 / extreme[T]()} {
			for _, p := range syrkParams(1, 0) {
				syrkCase[T](t, r, rnd, p, 37, 39, 1, s)
			}
		}
	})
	t.Run("nonfinite", func(t *testing.T) { syrkNonFinite[T](t, r, rnd) })
	t.Run("repeat", func(t *testing.T) {
		for _, p := range syrkParams(-1, 1) {
			for _, d := range [...]int{7, 33, 131} {
				a, c := random[T](rnd, d, d, 2, 1), random[T](rnd, d, d, 3, 1)
				c1, c2 := clone(c), clone(c)
				r.must(t, &p, a, c1)
				r.must(t, &p, a, c2)
				identical(t, "second run", c2, c1)
				r.noAllocs(t, &p, a, c)
			}
		}
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: &kernels.Syrk{Uplo: blas.Lower, Trans: blas.Trans}, Args: []any{newTile[T](5, 3, 0), newTile[T](3, 3, 0)}}
		if got := op.Work(c); got != 3*4*5 {
			t.Errorf("work %v, want 60", got)
		}
	})
}

func syrkParams(alpha, beta float64) (ps []kernels.Syrk) {
	for _, uplo := range uplos {
		for _, tr := range transposes {
			ps = append(ps, kernels.Syrk{Uplo: uplo, Trans: tr, Alpha: alpha, Beta: beta})
		}
	}
	return ps
}

// inTriangle returns whether (i, j) is in the uplo triangle.
func inTriangle(uplo blas.Uplo) func(i, j int) bool {
	if uplo == blas.Lower {
		return func(i, j int) bool { return i >= j }
	}
	return func(i, j int) bool { return i <= j }
}

func syrkTile[T kernels.Element](p kernels.Syrk, n, k, pad int) *kernels.Tile[T] {
	if p.Trans != blas.NoTrans {
		return newTile[T](k, n, pad)
	}
	return newTile[T](n, k, pad)
}

// syrkCase checks one call as gemmCase does, over the triangle.
func syrkCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, p kernels.Syrk, n, k, pad int, scale float64) {
	t.Helper()
	what := fmt.Sprintf("%c%c n=%d k=%d alpha=%v beta=%v pad=%d scale=%.3g", p.Uplo, p.Trans, n, k, p.Alpha, p.Beta, pad, scale)
	in := inTriangle(p.Uplo)
	a, c := syrkTile[T](p, n, k, pad), newTile[T](n, n, 2*pad)
	if p.Alpha != 0 {
		fill(rnd, a, scale, nil)
	}
	if p.Beta != 0 {
		fill(rnd, c, scale, in)
	}
	mark(rnd, c, in)
	a0, c0 := clone(a), clone(c)
	r.must(t, &p, a, c)
	identical(t, what+": A", a, a0)
	untouched(t, what+": C", c, c0, in)

	fa, fc := at(a, p.Trans != blas.NoTrans), at(c0, false)
	ra := rows(n, k, fa)
	residual := norm1(n, n, func(i, j int) float64 {
		if !in(i, j) {
			return 0
		}
		want := 0.0
		if p.Alpha != 0 {
			want = p.Alpha * dot(ra[i], ra[j])
		}
		if p.Beta != 0 {
			want += p.Beta * fc(i, j)
		}
		return float64(c.At(i, j)) - want
	})
	bound := 0.0
	if p.Alpha != 0 {
		bound += math.Sqrt(float64(k+2)) * math.Abs(p.Alpha) * norm1(n, k, fa) * norm1(k, n, transpose(fa))
	}
	if p.Beta != 0 {
		bound += 2 * math.Abs(p.Beta) * norm1(n, n, func(i, j int) float64 {
			if !in(i, j) {
				return 0
			}
			return fc(i, j)
		})
	}
	ratio(t, what, residual, eps[T]()*bound, 3)
}

// syrkNonFinite checks that a NaN or an infinity in row i of op(A) reaches
// row and column i of C and nothing else.
func syrkNonFinite[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand) {
	for _, p := range syrkParams(1, 1) {
		in := inTriangle(p.Uplo)
		for _, n := range [...]int{3, 19, 37} {
			for _, bad := range [...]float64{math.NaN(), math.Inf(1)} {
				k := n + 1
				i0, l0 := rnd.IntN(n), rnd.IntN(k)
				a, c := syrkTile[T](p, n, k, 1), newTile[T](n, n, 1)
				fill(rnd, a, 1, nil)
				fill(rnd, c, 1, in)
				setOp(a, p.Trans, i0, l0, T(bad))
				r.must(t, &p, a, c)
				for i := range n {
					for j := range n {
						if x := c.At(i, j); in(i, j) && (i == i0 || j == i0) == finite(x) {
							t.Fatalf("%c%c n=%d k=%d, %v in row %d: C(%d, %d) = %v", p.Uplo, p.Trans, n, k, bad, i0, i, j, x)
						}
					}
				}
			}
		}
	}
}
