package kerneltest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// Geqp3 judges Q by its orthogonality, R by the residual of A·P, and the order of the pivots by the norms in R.
func (s *suite[T]) Geqp3(t *testing.T) {
	for _, dims := range [][2]int{{0, 0}, {0, 2}, {2, 0}, {1, 1}, {2, 2}, {3, 7}, {7, 3}, {40, 35}, {35, 40}, {160, 70}, {130, 150}} {
		for _, c := range []recipe{
			{"random", func(int, int) float64 { return s.rnd.NormFloat64() }},
			{"zero", func(int, int) float64 { return 0 }},
			{"rank one", func(int, int) float64 { return 1 }},
			{"columns of all sizes", func(i, _ int) float64 { return math.Ldexp(s.rnd.NormFloat64(), -i*7%20) }},
			{"almost rank one", func(i, _ int) float64 { return 1 + math.Ldexp(math.Sqrt(eps[T]())*s.rnd.NormFloat64(), -i*7%20) }},
			{"large", func(int, int) float64 { return s.rnd.NormFloat64() * extreme[T]() }},
			{"small", func(int, int) float64 { return s.rnd.NormFloat64() / extreme[T]() }},
		} {
			b := newTile[T](dims[0], dims[1], 2)
			for i, j := range cells(b.Rows, b.Cols) {
				b.Set(i, j, T(c.at(i, j)))
			}
			for _, sketched := range []bool{false, true} {
				s.geqp3Case(t, fmt.Sprintf("%s, n=%d m=%d, sketched %t", c.name, b.Rows, b.Cols, sketched), clone(b), sketched)
			}
		}
	}
	b := s.random(20, 30, 1)
	s.checkSameBits(t, &op.Geqp3{}, b, newTile[T](1, 20, 0), new(kernels.Pivots))
	s.work(t, 36, &op.Geqp3{}, newTile[T](3, 3, 0), newTile[T](1, 3, 0), new(kernels.Pivots))
}

// geqp3Case checks one factorization of A = Bᵀ by ‖R−QᵀAP‖ / (m‖A‖ε), ‖I−QᵀQ‖ / (mε), and its pivots.
func (s *suite[T]) geqp3Case(t *testing.T, what string, b *kernels.Tile[T], sketched bool) {
	t.Helper()
	n, m := b.Rows, b.Cols
	k := min(m, n)
	tau, p, was := newTile[T](1, k, 0), new(kernels.Pivots), clone(b)
	s.must(t, &op.Geqp3{Sketched: sketched}, b, tau, p)
	untouched(t, what+": B", b, was, func(int, int) bool { return true })
	if got := slices.Sorted(slices.Values(p.Rows)); len(got) != n || n > 0 && (got[0] != 0 || got[n-1] != n-1 || len(slices.Compact(got)) != n) {
		t.Fatalf("%s: not a permutation: %v", what, p.Rows)
	}
	q := rowReflectors(b, tau)
	q.orthogonal(t, what)
	r := func(i, j int) float64 {
		if i > j {
			return 0
		}
		return float64(b.At(j, i))
	}
	factored(t, what, q, m, n, func(i, j int) float64 { return float64(was.At(p.Rows[j], i)) }, r)

	// Step i takes the column with the largest norm of what is left of it: |R(i, i)| ≥ ‖R(i:k, j)‖ for j > i. Norms that
	// follow from former ones have errors of √ε, and those in a sketch are estimates.
	slack := 1.01
	if sketched {
		slack = 10
	}
	top := 0.0
	for i, j := range cells(k, n) {
		top = max(top, math.Abs(r(i, j)))
	}
	for j := range n {
		left := 0.0
		for i := min(j, k-1); i >= 0; i-- {
			left = math.Hypot(left, r(i, j))
			if !(left <= slack*math.Abs(r(i, i))+30*float64(m)*eps[T]()*top) {
				t.Fatalf("%s: step %d took a column of norm %.3g, column %d has %.3g", what, i, math.Abs(r(i, i)), j, left)
			}
		}
	}
}

// rowReflectors returns the orthogonal factor whose reflectors are the rows of b, from their diagonal elements on, which are 1.
func rowReflectors[T kernels.Element](b, tau *kernels.Tile[T]) reflectors[T] {
	return reflectors[T]{order: b.Cols, k: tau.Cols, ib: 1, t: tau, v: func(i, j int) float64 {
		switch {
		case i < j:
			return 0
		case i == j:
			return 1
		}
		return float64(b.At(j, i))
	}}
}

// Ormlq compares with reflectors that are applied one by one.
func (s *suite[T]) Ormlq(t *testing.T) {
	for _, m := range []int{1, 2, 7, 70} {
		for _, k := range []int{0, 1, 2, 7, 66} {
			if k > m {
				continue
			}
			for _, n := range []int{0, 1, 5} {
				for _, transposed := range []bool{false, true} {
					b, tau, x := s.random(k, m, 1), newTile[T](1, k, 0), s.random(n, m, 2)
					for i := range k {
						norm := 1.0
						for j := i + 1; j < m; j++ {
							norm += float64(b.At(i, j)) * float64(b.At(i, j))
						}
						tau.Set(0, i, T(2/norm))
					}
					s.mark(x, nil)
					was, factor := clone(x), clone(b)
					want := rows(m, n, at(x, true))
					rowReflectors(b, tau).apply(!transposed, want)
					s.must(t, &op.Ormlq{Transposed: transposed}, b, tau, x)
					untouched(t, "ormlq: X", x, was, func(int, int) bool { return true })
					identical(t, "ormlq: B", b, factor)
					for i, j := range cells(n, m) {
						if d := math.Abs(float64(x.At(i, j)) - want[j][i]); !(d <= 100*float64(m)*eps[T]()*math.Sqrt(float64(m))) {
							t.Fatalf("m %d, k %d, transposed %v: (%d, %d) is off by %v", m, k, transposed, i, j, d)
						}
					}
				}
			}
		}
	}
	s.work(t, 2*3*2*8, &op.Ormlq{}, newTile[T](2, 5, 0), newTile[T](1, 2, 0), newTile[T](3, 5, 0))
}
