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

var transposes = [...]blas.Transpose{blas.NoTrans, blas.Trans}

// Gemm is the suite of op "gemm".
func Gemm(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, gemmSuite[float32], gemmSuite[float64], v)
}

func gemmSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(1, 1))
	r := &runner{v: v}
	t.Run("sizes", func(t *testing.T) {
		for _, p := range gemmParams(1, 1) {
			for _, m := range sizes {
				n, k := sizes[rnd.IntN(len(sizes))], sizes[rnd.IntN(len(sizes))]
				gemmCase[T](t, r, rnd, p, m, n, k, rnd.IntN(4), 1)
				gemmCase[T](t, r, rnd, p, n, m, k, rnd.IntN(4), 1)
				gemmCase[T](t, r, rnd, p, n, k, m, rnd.IntN(4), 1)
				gemmCase[T](t, r, rnd, p, m, m, m, 0, 1)
			}
		}
		for _, d := range large {
			p := gemmParams(-1, 1)[rnd.IntN(4)]
			gemmCase[T](t, r, rnd, p, d, 33, 34, 1, 1)
			gemmCase[T](t, r, rnd, p, 33, d, 34, 1, 1)
			gemmCase[T](t, r, rnd, p, 33, 34, d, 1, 1)
		}
		gemmCase[T](t, r, rnd, gemmParams(1, 1)[1], 259, 261, 260, 3, 1)
	})
	t.Run("scalars", func(t *testing.T) {
		for _, alpha := range scalars {
			for _, beta := range scalars {
				for _, p := range gemmParams(alpha, beta) {
					for _, d := range [...]int{1, 5, 18, 33} {
						gemmCase[T](t, r, rnd, p, d, d+1, d+2, 1, 1)
					}
				}
			}
		}
		p := kernels.Gemm{TransA: blas.ConjTrans, TransB: blas.ConjTrans, Alpha: 1}
		gemmCase[T](t, r, rnd, p, 9, 8, 7, 0, 1)
	})
	t.Run("extreme", func(t *testing.T) {
		for _, s := range [...]float64{extreme[T](), 1 / extreme[T]()} {
			for _, p := range gemmParams(1, 0) {
				gemmCase[T](t, r, rnd, p, 37, 38, 39, 1, s)
			}
		}
	})
	t.Run("nonfinite", func(t *testing.T) { gemmNonFinite[T](t, r, rnd) })
	t.Run("repeat", func(t *testing.T) {
		for _, p := range gemmParams(-1, 1) {
			for _, d := range [...]int{7, 33, 131} {
				a, b, c := random[T](rnd, d, d, 1, 1), random[T](rnd, d, d, 2, 1), random[T](rnd, d, d, 3, 1)
				c1, c2 := clone(c), clone(c)
				r.must(t, &p, a, b, c1)
				r.must(t, &p, a, b, c2)
				identical(t, "second run", c2, c1)
				r.noAllocs(t, &p, a, b, c)
			}
		}
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: &kernels.Gemm{TransA: blas.Trans, TransB: blas.NoTrans}, Args: []any{newTile[T](5, 3, 0), newTile[T](5, 4, 0), newTile[T](3, 4, 0)}}
		if got := op.Work(c); got != 2*3*4*5 {
			t.Errorf("work %v, want 120", got)
		}
	})
}

// gemmParams returns the four pairs of transposes.
func gemmParams(alpha, beta float64) (ps []kernels.Gemm) {
	for _, ta := range transposes {
		for _, tb := range transposes {
			ps = append(ps, kernels.Gemm{TransA: ta, TransB: tb, Alpha: alpha, Beta: beta})
		}
	}
	return ps
}

// gemmTiles returns A and B for op(A) m×k, op(B) k×n, full of NaN.
func gemmTiles[T kernels.Element](p kernels.Gemm, m, n, k, pad int) (a, b *kernels.Tile[T]) {
	a, b = newTile[T](m, k, pad), newTile[T](k, n, pad)
	if p.TransA != blas.NoTrans {
		a = newTile[T](k, m, pad)
	}
	if p.TransB != blas.NoTrans {
		b = newTile[T](n, k, pad)
	}
	return a, b
}

// gemmCase checks one call by
//
//	‖ΔC‖ / (√(k+2)·|α|·‖A‖·‖B‖ + 2|β|·‖C‖) < 3ε.
//
// What the call must not read, C with beta = 0 and A and B with alpha = 0,
// holds NaN.
func gemmCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, p kernels.Gemm, m, n, k, pad int, scale float64) {
	t.Helper()
	what := fmt.Sprintf("%c%c m=%d n=%d k=%d alpha=%v beta=%v pad=%d scale=%.3g", p.TransA, p.TransB, m, n, k, p.Alpha, p.Beta, pad, scale)
	a, b := gemmTiles[T](p, m, n, k, pad)
	c := newTile[T](m, n, 2*pad)
	if p.Alpha != 0 {
		fill(rnd, a, scale, nil)
		fill(rnd, b, scale, nil)
	}
	if p.Beta != 0 {
		fill(rnd, c, scale, nil)
	}
	mark(rnd, c, nil)
	a0, b0, c0 := clone(a), clone(b), clone(c)
	r.must(t, &p, a, b, c)
	identical(t, what+": A", a, a0)
	identical(t, what+": B", b, b0)
	untouched(t, what+": C", c, c0, func(i, j int) bool { return true })

	fa, fb, fc := at(a, p.TransA != blas.NoTrans), at(b, p.TransB != blas.NoTrans), at(c0, false)
	ra, rb := rows(m, k, fa), rows(n, k, transpose(fb))
	residual := norm1(m, n, func(i, j int) float64 {
		want := 0.0
		if p.Alpha != 0 {
			want = p.Alpha * dot(ra[i], rb[j])
		}
		if p.Beta != 0 {
			want += p.Beta * fc(i, j)
		}
		return float64(c.At(i, j)) - want
	})
	bound := 0.0
	if p.Alpha != 0 {
		bound += math.Sqrt(float64(k+2)) * math.Abs(p.Alpha) * norm1(m, k, fa) * norm1(k, n, fb)
	}
	if p.Beta != 0 {
		bound += 2 * math.Abs(p.Beta) * norm1(m, n, fc)
	}
	ratio(t, what, residual, eps[T]()*bound, 3)
}

// gemmNonFinite checks that a NaN or an infinity in an operand reaches those
// elements of C that depend on it, and no other.
func gemmNonFinite[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand) {
	for _, p := range gemmParams(1, 1) {
		for _, d := range [...]int{3, 19, 37} {
			for _, bad := range [...]float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				m, n, k := d, d+1, d+2
				i0, j0, l0 := rnd.IntN(m), rnd.IntN(n), rnd.IntN(k)
				for _, in := range [...]string{"A", "B", "C"} {
					what := fmt.Sprintf("%c%c m=%d n=%d k=%d, %v in %s", p.TransA, p.TransB, m, n, k, bad, in)
					a, b := gemmTiles[T](p, m, n, k, 1)
					fill(rnd, a, 1, nil)
					fill(rnd, b, 1, nil)
					c := random[T](rnd, m, n, 1, 1)
					switch in {
					case "A":
						setOp(a, p.TransA, i0, l0, T(bad))
					case "B":
						setOp(b, p.TransB, l0, j0, T(bad))
					case "C":
						c.Set(i0, j0, T(bad))
					}
					r.must(t, &p, a, b, c)
					for i := range m {
						for j := range n {
							hit := in != "B" && i == i0 || in == "B" && j == j0
							if in == "C" {
								hit = i == i0 && j == j0
							}
							x := c.At(i, j)
							if hit == finite(x) || math.IsNaN(bad) && hit && x == x {
								t.Fatalf("%s at (%d, %d, %d): C(%d, %d) = %v", what, i0, j0, l0, i, j, x)
							}
						}
					}
				}
			}
		}
	}
}

// setOp sets element (i, j) of op(a).
func setOp[T kernels.Element](a *kernels.Tile[T], trans blas.Transpose, i, j int, v T) {
	if trans != blas.NoTrans {
		i, j = j, i
	}
	a.Set(i, j, v)
}
