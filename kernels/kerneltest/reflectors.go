package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas/gonum"
)

// blockings are the sizes of block reflectors that the suites of QR combine.
var blockings = [...]int{1, 2, 3, 5, 8, 9, 16, 24, 32, 33, 64, 100}

// reflectors is an orthogonal factor as the ops of QR store it: k reflectors
// in blocks of ib, of which v(i, j) is element i < order of reflector j, with
// its ones and zeros.
type reflectors[T kernels.Element] struct {
	order, k, ib int
	v            func(i, j int) float64
	t            *kernels.Tile[T]
}

// trapezoidal returns the V of op "geqrt" in a tile from a row on.
func trapezoidal[T kernels.Element](a *kernels.Tile[T], row int) func(i, j int) float64 {
	return func(i, j int) float64 {
		switch {
		case i < j:
			return 0
		case i == j:
			return 1
		}
		return float64(a.At(i+row, j))
	}
}

// pentagonal returns the V of op "tsqrt" or, if triangle, of "ttqrt" in tile
// a: a unit matrix on top of it.
func pentagonal[T kernels.Element](a *kernels.Tile[T], triangle bool) func(i, j int) float64 {
	k := a.Cols
	return func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i < k || triangle && i-k > j:
			return 0
		}
		return float64(a.At(i-k, j))
	}
}

// inT reports whether element (i, j) of T is in one of its triangles.
func inT(ib, k int) func(i, j int) bool {
	return func(i, j int) bool { return j < k && i <= j%ib }
}

// apply computes op(Q)·X for X of order rows, in float64.
func (q reflectors[T]) apply(trans bool, x [][]float64) {
	if q.order == 0 || len(x) == 0 || q.k == 0 {
		return
	}
	n := len(x[0])
	var ref gonum.Implementation
	blocks := (q.k + q.ib - 1) / q.ib
	for b := range blocks {
		if !trans {
			b = blocks - 1 - b
		}
		j0 := b * q.ib
		w := min(q.ib, q.k-j0)
		vx := make([][]float64, w)
		for p := range vx {
			vx[p] = make([]float64, n)
			for i := range q.order {
				ref.Daxpy(n, q.v(i, j0+p), x[i], 1, vx[p], 1)
			}
		}
		tvx := make([][]float64, w)
		for p := range tvx {
			tvx[p] = make([]float64, n)
			for r := range w {
				var f float64
				if !trans && r >= p {
					f = float64(q.t.At(p, j0+r))
				} else if trans && r <= p {
					f = float64(q.t.At(r, j0+p))
				}
				ref.Daxpy(n, f, vx[r], 1, tvx[p], 1)
			}
		}
		for i, p := range cells(q.order, w) {
			ref.Daxpy(n, -q.v(i, j0+p), tvx[p], 1, x[i], 1)
		}
	}
}

// orthogonal fails t unless ‖I−QᵀQ‖ / (m·ε) < 30.
func (q reflectors[T]) orthogonal(t *testing.T, what string) {
	t.Helper()
	x := identity(q.order)
	q.apply(false, x)
	q.apply(true, x)
	residual := norm1(q.order, q.order, func(i, j int) float64 {
		if i == j {
			return x[i][j] - 1
		}
		return x[i][j]
	})
	// Qᵀ·Q = I by V and T alone: T⁻¹ + T⁻ᵀ = Vᵀ·V.
	ratio(t, what+": QᵀQ−I", residual, float64(q.order)*eps[T](), 30)
}

func identity(n int) [][]float64 {
	return rows(n, n, func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	})
}

// randomReflectors sets the elements of V for which use holds, tile elements
// (i, j), and the triangles of T, to k random reflectors in blocks of ib. v
// says how the tile is read, top(j) where its rows begin.
func (s *suite[T]) randomReflectors(tile *kernels.Tile[T], order, k, ib, padT int, use func(i, j int) bool, v func(i, j int) float64) reflectors[T] {
	s.fill(tile, 1/math.Sqrt(float64(max(1, order))), use)
	q := reflectors[T]{order: order, k: k, ib: ib, v: v, t: newTile[T](min(ib, k)+padT, k+padT, padT)}
	col := make([][]float64, k)
	for j := range col {
		col[j] = make([]float64, order)
		for i := range order {
			col[j][i] = v(i, j)
		}
	}
	for j := range k {
		j0 := j / ib * ib
		tau := 2 / dot2.Dot(0, col[j], col[j])
		z := make([]float64, j-j0)
		for p := range z {
			z[p] = dot2.Dot(0, col[j0+p], col[j])
		}
		for i := range z {
			s := 0.0
			for p := i; p < len(z); p++ {
				s += float64(q.t.At(i, j0+p)) * z[p]
			}
			q.t.Set(i, j, T(-tau*s))
		}
		q.t.Set(j-j0, j, T(tau))
	}
	return q
}
