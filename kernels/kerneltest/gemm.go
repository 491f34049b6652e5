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

var transposes = [...]blas.Transpose{blas.NoTrans, blas.Trans}

func (s *suite[T]) Gemm(t *testing.T) {
	t.Run("sizes", func(t *testing.T) {
		for c, p := range gemmParams[T](1, 1) {
			for i, m := range sizes {
				d := [3]int{sizes[s.rnd.IntN(len(sizes))], sizes[s.rnd.IntN(len(sizes))], sizes[s.rnd.IntN(len(sizes))]}
				d[(c+i)%3] = m
				s.gemmCase(t, p, d[0], d[1], d[2], s.rnd.IntN(4), 1)
				s.gemmCase(t, p, d[2], d[0], d[1], s.rnd.IntN(4), 1)
			}
			s.gemmCase(t, p, 64, 64, 64, 0, 1)
		}
		for _, d := range large {
			p := gemmParams[T](-1, 1)[s.rnd.IntN(4)]
			s.gemmCase(t, p, d, 33, 34, 1, 1)
			s.gemmCase(t, p, 33, d, 34, 1, 1)
			s.gemmCase(t, p, 33, 34, d, 1, 1)
		}
		s.gemmCase(t, gemmParams[T](1, 1)[1], 259, 261, 260, 3, 1)
	})
	t.Run("scalars", func(t *testing.T) {
		for alpha, beta := range pairs(scalars[:], scalars[:]) {
			for _, p := range gemmParams[T](T(alpha), T(beta)) {
				d := [...]int{1, 5, 18, 33}[s.rnd.IntN(4)]
				s.gemmCase(t, p, d, d+1, d+2, 1, 1)
			}
		}
		p := op.Gemm[T]{TransA: blas.ConjTrans, TransB: blas.ConjTrans, Alpha: 1}
		s.gemmCase(t, p, 9, 8, 7, 0, 1)
	})
	t.Run("extreme", func(t *testing.T) {
		for size, p := range pairs([]float64{extreme[T](), 1 / extreme[T]()}, gemmParams[T](1, 0)) {
			s.gemmCase(t, p, 37, 38, 39, 1, size)
		}
	})
	t.Run("nonfinite", func(t *testing.T) { s.gemmNonFinite(t) })
	t.Run("repeat", func(t *testing.T) {
		for p, d := range pairs(gemmParams[T](-1, 1), []int{7, 33, 131}) {
			a, b, c := s.random(d, d, 1), s.random(d, d, 2), s.random(d, d, 3)
			s.checkRepeatable(t, &p, a, b, c)
		}
	})
	s.work(t, 2*3*4*5, &op.Gemm[T]{TransA: blas.Trans, TransB: blas.NoTrans}, newTile[T](5, 3, 0), newTile[T](5, 4, 0), newTile[T](3, 4, 0))
}

// gemmParams returns the four pairs of transposes.
func gemmParams[T kernels.Element](alpha, beta T) (ps []op.Gemm[T]) {
	for ta, tb := range pairs(transposes[:], transposes[:]) {
		ps = append(ps, op.Gemm[T]{TransA: ta, TransB: tb, Alpha: alpha, Beta: beta})
	}
	return ps
}

// gemmTiles returns A and B for op(A) m×k, op(B) k×n, full of NaN.
func gemmTiles[T kernels.Element](p op.Gemm[T], m, n, k, pad int) (a, b *kernels.Tile[T]) {
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
func (s *suite[T]) gemmCase(t *testing.T, p op.Gemm[T], m, n, k, pad int, scale float64) {
	t.Helper()
	what := fmt.Sprintf("%c%c m=%d n=%d k=%d alpha=%v beta=%v pad=%d scale=%.3g", p.TransA, p.TransB, m, n, k, p.Alpha, p.Beta, pad, scale)
	a, b := gemmTiles[T](p, m, n, k, pad)
	c := newTile[T](m, n, 2*pad)
	if p.Alpha != 0 {
		s.fill(a, scale, nil)
		s.fill(b, scale, nil)
	}
	if p.Beta != 0 {
		s.fill(c, scale, nil)
	}
	s.mark(c, nil)
	a0, b0, c0 := clone(a), clone(b), clone(c)
	s.must(t, &p, a, b, c)
	identical(t, what+": A", a, a0)
	identical(t, what+": B", b, b0)
	untouched(t, what+": C", c, c0, func(i, j int) bool { return true })

	everywhere := func(i, j int) bool { return true }
	accumulated(t, what, c, c0, everywhere, k, float64(p.Alpha), at(a, p.TransA != blas.NoTrans), at(b, p.TransB != blas.NoTrans), float64(p.Beta))
}

// accumulated fails t unless c, where in holds, is alpha·A·B + beta·C, C in c0,
// with A m×k and B k×n: see gemmCase.
func accumulated[T kernels.Element](t *testing.T, what string, c, c0 *kernels.Tile[T], in func(i, j int) bool, k int, alpha float64,
	a, b func(i, j int) float64, beta float64) {
	t.Helper()
	m, n := c.Rows, c.Cols
	ra, rb := rows(m, k, a), rows(n, k, transpose(b))
	former := func(i, j int) float64 {
		if beta == 0 || !in(i, j) {
			return 0
		}
		return beta * float64(c0.At(i, j))
	}
	residual := norm1(m, n, func(i, j int) float64 {
		if !in(i, j) {
			return 0
		}
		want := former(i, j)
		if alpha != 0 {
			want += alpha * dot2.Dot(0, ra[i], rb[j])
		}
		return float64(c.At(i, j)) - want
	})
	bound := 2 * norm1(m, n, former)
	if alpha != 0 {
		bound += math.Sqrt(float64(k+2)) * math.Abs(alpha) * norm1(m, k, a) * norm1(k, n, b)
	}
	ratio(t, what, residual, eps[T]()*bound, 3)
}

// gemmNonFinite checks that a NaN or an infinity in an operand reaches those
// elements of C that depend on it, and no other.
func (s *suite[T]) gemmNonFinite(t *testing.T) {
	for p, d := range pairs(gemmParams[T](1, 1), []int{3, 19, 37}) {
		for _, bad := range [...]float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			m, n, k := d, d+1, d+2
			i0, j0, l0 := s.rnd.IntN(m), s.rnd.IntN(n), s.rnd.IntN(k)
			for _, in := range [...]string{"A", "B", "C"} {
				what := fmt.Sprintf("%c%c m=%d n=%d k=%d, %v in %s", p.TransA, p.TransB, m, n, k, bad, in)
				a, b := gemmTiles[T](p, m, n, k, 1)
				s.fill(a, 1, nil)
				s.fill(b, 1, nil)
				c := s.random(m, n, 1)
				switch in {
				case "A":
					setOp(a, p.TransA, i0, l0, T(bad))
				case "B":
					setOp(b, p.TransB, l0, j0, T(bad))
				case "C":
					c.Set(i0, j0, T(bad))
				}
				s.must(t, &p, a, b, c)
				for i, j := range cells(m, n) {
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

// setOp sets element (i, j) of op(a).
func setOp[T kernels.Element](a *kernels.Tile[T], trans blas.Transpose, i, j int, v T) {
	if trans != blas.NoTrans {
		i, j = j, i
	}
	a.Set(i, j, v)
}
