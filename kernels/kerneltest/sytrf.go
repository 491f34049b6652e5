package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Sytrf judges by the residual.
func (s *suite[T]) Sytrf(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 10, 63, 64, 65, 130} {
		for _, c := range []recipe{
			{"random", func(int, int) float64 { return s.rnd.NormFloat64() }},
			{"zero", func(int, int) float64 { return 0 }},
			{"zero diagonal", func(i, j int) float64 { return s.rnd.NormFloat64() * float64(min(1, j-i)) }},
			{"rank one", func(int, int) float64 { return 1 }},
		} {
			a := newTile[T](n, n, 2)
			for i := range n {
				for j := i; j < n; j++ { // below the diagonal nothing is read
					a.Set(i, j, T(c.at(i, j)))
				}
			}
			was := clone(a)
			d, p := newTile[T](2, n, 1), new(kernels.Pivots)
			s.must(t, &op.Sytrf{Rook: n%2 == 0}, a, d, p)
			untouched(t, "sytrf: A", a, was, func(int, int) bool { return true })
			if r := indefiniteError(was, a, d, p.Rows); !(r < 30) {
				t.Errorf("%s, order %d: residual %.3g", c.name, n, r)
			}
			if c.name == "zero" && n > 0 && p.Info != 1 || c.name == "rank one" && n > 1 && p.Info != 2 {
				t.Errorf("%s, order %d: zero block %d", c.name, n, p.Info)
			}
		}
	}
	s.work(t, 72, &op.Sytrf{}, newTile[T](6, 6, 0), newTile[T](2, 6, 0), new(kernels.Pivots))
}

// indefiniteError returns ‖P·A·Pᵀ − Uᵀ·D·U‖/(n·‖A‖·ε) in the largest element, for an A of which the upper triangle is
// stored.
func indefiniteError[T kernels.Element](a, u, d *kernels.Tile[T], swaps []int) float64 {
	n := a.Rows
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	for k, p := range swaps {
		perm[k], perm[p] = perm[p], perm[k]
	}
	at := func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i > j:
			return 0
		}
		return float64(u.At(i, j))
	}
	worst, top := 0.0, 1.0
	columns := rows(n, n, transpose(at))
	scaled := rows(n, n, func(j, k int) float64 { // those of D·U
		sum := float64(d.At(0, k)) * at(k, j)
		if k > 0 {
			sum += float64(d.At(1, k-1)) * at(k-1, j)
		}
		if k+1 < n {
			sum += float64(d.At(1, k)) * at(k+1, j)
		}
		return sum
	})
	for i, j := range cells(n, n) {
		p, q := perm[i], perm[j]
		x := float64(a.At(min(p, q), max(p, q)))
		worst, top = max(worst, math.Abs(dot2.Dot(0, columns[i], scaled[j])-x)), max(top, math.Abs(x))
	}
	return worst / top / max(float64(n), 1) / (2 * eps[T]())
}
