package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// tpqrtParams returns the parameter of op "tsqrt" or "ttqrt".
func tpqrtParams(triangle bool, ib int) any {
	if triangle {
		return &op.Ttqrt{IB: ib}
	}
	return &op.Tsqrt{IB: ib}
}

// tpmqrtParams returns the parameter of op "tsmqr" or "ttmqr".
func tpmqrtParams(triangle bool, side blas.Side, trans blas.Transpose, ib int) any {
	if triangle {
		return &op.Ttmqr{Side: side, Trans: trans, IB: ib}
	}
	return &op.Tsmqr{Side: side, Trans: trans, IB: ib}
}

// inPentagon returns which elements of the lower tile belong to it.
func inPentagon(triangle bool) func(i, j int) bool {
	return func(i, j int) bool { return !triangle || i <= j }
}

func (s *suite[T]) Tsqrt(t *testing.T) { s.tpqrt(t) }

func (s *suite[T]) Ttqrt(t *testing.T) { s.tpqrt(t) }

func (s *suite[T]) tpqrt(t *testing.T) {
	triangle := s.op.Name == "ttqrt"
	in := inPentagon(triangle)
	normal := func(a *kernels.Tile[T], use func(i, j int) bool) { s.fill(a, 1, use) }
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 2 {
				n, ib := sizes[s.rnd.IntN(len(sizes))], blockings[s.rnd.IntN(len(blockings))]
				s.tpqrtCase(t, triangle, m, n, ib, normal)
				s.tpqrtCase(t, triangle, n, m, ib, normal)
			}
			s.tpqrtCase(t, triangle, m, m, 32, normal)
		}
		s.tpqrtCase(t, triangle, 257, 129, 64, normal)
		s.tpqrtCase(t, triangle, 129, 128, 128, normal)
	})
	t.Run("hostile", func(t *testing.T) {
		s.hostile(func(d [2]int, ib int, set func(a *kernels.Tile[T], use func(i, j int) bool)) {
			s.tpqrtCase(t, triangle, d[0], d[1], ib, set)
		})
	})
	t.Run("zero below", func(t *testing.T) {
		top, a, tt := newTile[T](30, 30, 1), newTile[T](30, 30, 1), newTile[T](8, 30, 0)
		s.fill(top, 1, inTriangle(blas.Upper))
		s.fill(a, 0, in)
		top0, a0 := clone(top), clone(a)
		for i, j := range cells(30, 30) {
			if in(i, j) {
				a.Set(i, j, 0) // fill makes zeros of both signs
				a0.Set(i, j, 0)
			}
		}
		s.must(t, tpqrtParams(triangle, 8), top, a, tt)
		identical(t, "R", top, top0)
		identical(t, "A", a, a0)
		for j := range 30 {
			for i := range j%8 + 1 {
				if tt.At(i, j) != 0 {
					t.Fatalf("T(%d, %d) = %v below which all is zero", i, j, tt.At(i, j))
				}
			}
		}
	})
	t.Run("nonfinite", func(t *testing.T) {
		for _, bad := range [...]float64{math.NaN(), math.Inf(1)} {
			for range 20 {
				top, a, tt := newTile[T](35, 35, 0), newTile[T](35, 35, 0), newTile[T](16, 35, 0)
				s.fill(top, 1, inTriangle(blas.Upper))
				s.fill(a, 1, in)
				j0 := s.rnd.IntN(35)
				a.Set(s.rnd.IntN(j0+1), j0, T(bad))
				s.must(t, tpqrtParams(triangle, 16), top, a, tt)
				for j := range 35 {
					if j < j0 != finite(top.At(j, j)) {
						t.Fatalf("%v in column %d: R(%d, %d) = %v", bad, j0, j, j, top.At(j, j))
					}
				}
			}
		}
	})
	t.Run("repeat", func(t *testing.T) {
		for _, n := range [...]int{7, 33, 131} {
			p := tpqrtParams(triangle, 32)
			top, a, tt := s.random(n, n, 0), s.random(n, n, 1), newTile[T](32, n, 0)
			s.checkRepeatable(t, p, top, a, tt)
		}
	})
	s.work(t, map[bool]float64{false: 54, true: 18}[triangle], tpqrtParams(triangle, 2), newTile[T](3, 3, 0), newTile[T](3, 3, 0), newTile[T](2, 3, 0))
}

// tpqrtCase checks the factorization of a triangle on top of an m×n tile, both
// filled by set.
func (s *suite[T]) tpqrtCase(t *testing.T, triangle bool, m, n, ib int, set func(a *kernels.Tile[T], use func(i, j int) bool)) {
	t.Helper()
	what := fmt.Sprintf("m=%d n=%d ib=%d", m, n, ib)
	extra := s.rnd.IntN(3)
	in, upper := inPentagon(triangle), inTriangle(blas.Upper)
	top, a := newTile[T](n+extra, n, extra), newTile[T](m, n, s.rnd.IntN(4))
	tt := newTile[T](min(ib, n)+extra, n+extra, extra)
	set(top, upper)
	set(a, in)
	s.mark(top, upper)
	s.mark(a, in)
	s.mark(tt, inT(ib, n))
	top0, a0, t0 := clone(top), clone(a), clone(tt)
	s.must(t, tpqrtParams(triangle, ib), top, a, tt)
	untouched(t, what+": R", top, top0, upper)
	untouched(t, what+": A", a, a0, in)
	untouched(t, what+": T", tt, t0, inT(ib, n))

	q := reflectors[T]{order: n + m, k: n, ib: ib, v: pentagonal(a, triangle), t: tt}
	q.orthogonal(t, what)
	factored(t, what, q, n+m, n, func(i, j int) float64 {
		switch {
		case i < n && i <= j:
			return float64(top0.At(i, j))
		case i >= n && in(i-n, j):
			return float64(a0.At(i-n, j))
		}
		return 0
	}, func(i, j int) float64 {
		if i > j {
			return 0
		}
		return float64(top.At(i, j))
	})
}

func (s *suite[T]) Tsmqr(t *testing.T) { s.tpmqrt(t) }

func (s *suite[T]) Ttmqr(t *testing.T) { s.tpmqrt(t) }

func (s *suite[T]) tpmqrt(t *testing.T) {
	triangle := s.op.Name == "ttmqr"
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 2 {
				n, k := sizes[s.rnd.IntN(len(sizes))], sizes[s.rnd.IntN(len(sizes))]
				s.tpmqrtCase(t, triangle, m, n, k, blockings[s.rnd.IntN(len(blockings))], s.rnd.IntN(4))
			}
			s.tpmqrtCase(t, triangle, m, m, m, 32, 0)
		}
		s.tpmqrtCase(t, triangle, 129, 300, 129, 64, 1)
		s.tpmqrtCase(t, triangle, 257, 31, 100, 100, 1)
		s.tpmqrtCase(t, triangle, 20, 600, 20, 16, 1)
	})
	t.Run("repeat", func(t *testing.T) {
		for _, n := range [...]int{7, 33, 131} {
			v := newTile[T](n, n, 0)
			q := s.randomReflectors(v, 2*n, n, 32, 0, inPentagon(triangle), pentagonal(v, triangle))
			eachApplication(func(side blas.Side, trans blas.Transpose) {
				p := tpmqrtParams(triangle, side, trans, 32)
				s.checkRepeatable(t, p, v, q.t, s.random(n, n, 1), s.random(n, n, 0))
			})
		}
	})
	s.work(t, map[bool]float64{false: 180, true: 90}[triangle], tpmqrtParams(triangle, blas.Left, blas.Trans, 2),
		newTile[T](3, 3, 0), newTile[T](2, 3, 0), newTile[T](3, 5, 0), newTile[T](3, 5, 0))
}

// tpmqrtCase checks op(Q)·[C1; C2] and [C1 C2]·op(Q) for the Q of an m×k tile.
func (s *suite[T]) tpmqrtCase(t *testing.T, triangle bool, m, n, k, ib, pad int) {
	t.Helper()
	in := inPentagon(triangle)
	v := newTile[T](m, k, pad)
	part := m // rows of V that take part
	if triangle {
		part = min(m, k)
	}
	q := s.randomReflectors(v, k+part, k, ib, pad, in, pentagonal(v, triangle))
	if part == 0 {
		s.fill(q.t, 0, inT(ib, k)) // nothing to annihilate makes H = I
	}
	s.mark(v, in)
	s.mark(q.t, inT(ib, k))
	extra1, extra2 := s.rnd.IntN(3), 0
	if triangle {
		extra2 = s.rnd.IntN(3)
	}
	eachApplication(func(side blas.Side, trans blas.Transpose) {
		what := fmt.Sprintf("%c%c m=%d n=%d k=%d ib=%d pad=%d", side, trans, m, n, k, ib, pad)
		right := side == blas.Right
		shaped := func(r, c, used int) *kernels.Tile[T] {
			if right {
				x := newTile[T](c, r, pad)
				use := func(_, j int) bool { return j < used }
				s.fill(x, 1, use)
				s.mark(x, use)
				return x
			}
			x := newTile[T](r, c, pad)
			use := func(i, _ int) bool { return i < used }
			s.fill(x, 1, use)
			s.mark(x, use)
			return x
		}
		c1, c2 := shaped(k+extra1, n, k), shaped(part+extra2, n, part)
		v0, t0, c10, c20 := clone(v), clone(q.t), clone(c1), clone(c2)
		s.must(t, tpmqrtParams(triangle, side, trans, ib), v, q.t, c1, c2)
		identical(t, what+": V", v, v0)
		identical(t, what+": T", q.t, t0)
		first := func(used int) func(i, j int) bool {
			return func(i, j int) bool {
				if right {
					return j < used
				}
				return i < used
			}
		}
		untouched(t, what+": C1", c1, c10, first(k))
		untouched(t, what+": C2", c2, c20, first(part))
		stacked := func(c1, c2 *kernels.Tile[T]) func(i, j int) float64 {
			f1, f2 := at(c1, right), at(c2, right)
			return func(i, j int) float64 {
				if i < k {
					return f1(i, j)
				}
				return f2(i-k, j)
			}
		}
		applied(t, what, q, (trans != blas.NoTrans) != right, n, stacked(c10, c20), stacked(c1, c2))
	})
}
