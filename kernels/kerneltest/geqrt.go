package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

func (s *suite[T]) Geqrt(t *testing.T) {
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 2 {
				n, ib := sizes[s.rnd.IntN(len(sizes))], blockings[s.rnd.IntN(len(blockings))]
				s.geqrtCase(t, s.random(m, n, s.rnd.IntN(4)), ib)
				s.geqrtCase(t, s.random(n, m, s.rnd.IntN(4)), ib)
			}
			s.geqrtCase(t, s.random(m, m, 0), 32)
		}
		s.geqrtCase(t, s.random(300, 129, 1), 64)
		s.geqrtCase(t, s.random(129, 257, 1), 48)
		s.geqrtCase(t, s.random(128, 128, 0), 128)
	})
	t.Run("hostile", func(t *testing.T) {
		s.hostile(func(d [2]int, ib int, set func(a *kernels.Tile[T], use func(i, j int) bool)) {
			a := newTile[T](d[0], d[1], 1)
			set(a, func(i, j int) bool { return true })
			s.geqrtCase(t, a, ib)
		})
	})
	t.Run("triangle", func(t *testing.T) {
		// What is zero below the diagonal already stays as it is.
		a, tt := newTile[T](30, 30, 1), newTile[T](8, 30, 0)
		s.fill(a, 1, nil)
		for i := range 30 {
			for j := range i {
				a.Set(i, j, 0)
			}
		}
		was := clone(a)
		s.must(t, &op.Geqrt{IB: 8}, a, tt)
		identical(t, "upper triangular A", a, was)
		for j := range 30 {
			for i := range j%8 + 1 {
				if tt.At(i, j) != 0 {
					t.Fatalf("T(%d, %d) = %v for an upper triangular A", i, j, tt.At(i, j))
				}
			}
		}
	})
	t.Run("nonfinite", func(t *testing.T) {
		for _, bad := range [...]float64{math.NaN(), math.Inf(1)} {
			for range 20 {
				a, tt := s.random(40, 35, 0), newTile[T](16, 35, 0)
				i0, j0 := s.rnd.IntN(40), s.rnd.IntN(35)
				a.Set(i0, j0, T(bad))
				s.must(t, &op.Geqrt{IB: 16}, a, tt)
				for j := range 35 {
					if j < j0 != finite(a.At(j, j)) {
						t.Fatalf("%v at (%d, %d): R(%d, %d) = %v", bad, i0, j0, j, j, a.At(j, j))
					}
				}
			}
		}
	})
	t.Run("repeat", func(t *testing.T) {
		for _, n := range [...]int{7, 33, 131} {
			p := &op.Geqrt{IB: 32}
			a, tt := s.random(n, n, 1), newTile[T](32, n, 0)
			s.checkRepeatable(t, p, a, tt)
		}
	})
	s.work(t, 90, &op.Geqrt{IB: 2}, newTile[T](6, 3, 0), newTile[T](2, 3, 0))
}

// geqrtCase checks one factorization by ‖R−QᵀA‖ / (m‖A‖ε) and ‖I−QᵀQ‖ / (mε).
func (s *suite[T]) geqrtCase(t *testing.T, a *kernels.Tile[T], ib int) {
	t.Helper()
	b := clone(a)
	s.geqrtFrom(t, a, ib, 0)
	if b.Rows > 0 {
		s.geqrtFrom(t, b, ib, s.rnd.IntN(b.Rows))
	}
}

// geqrtFrom is geqrtCase from a row of the tile on.
func (s *suite[T]) geqrtFrom(t *testing.T, a *kernels.Tile[T], ib, row int) {
	t.Helper()
	m, n := a.Rows-row, a.Cols
	k := min(m, n)
	what := fmt.Sprintf("m=%d n=%d ib=%d stride=%d row=%d", m, n, ib, a.Stride, row)
	in := func(i, j int) bool { return i >= row }
	for i, j := range cells(row, n) {
		a.Set(i, j, T(math.NaN()))
	}
	extra := s.rnd.IntN(3)
	tt := newTile[T](min(ib, k)+extra, k+extra, extra)
	s.mark(tt, inT(ib, k))
	s.mark(a, in)
	a0, t0 := clone(a), clone(tt)
	s.must(t, &op.Geqrt{IB: ib, Row: row}, a, tt)
	untouched(t, what+": A", a, a0, in)
	untouched(t, what+": T", tt, t0, inT(ib, k))

	q := reflectors[T]{order: m, k: k, ib: ib, v: trapezoidal(a, row), t: tt}
	q.orthogonal(t, what)
	factored(t, what, q, m, n, func(i, j int) float64 { return float64(a0.At(i+row, j)) }, func(i, j int) float64 {
		if i > j {
			return 0
		}
		return float64(a.At(i+row, j))
	})
}

// factored fails t unless ‖R−QᵀA‖ / (m‖A‖ε) < 30. A is scaled first, so that
// the test does not overflow where the kernel need not.
func factored[T kernels.Element](t *testing.T, what string, q reflectors[T], m, n int, a, r func(i, j int) float64) {
	t.Helper()
	size := 0.0
	for i, j := range cells(m, n) {
		size = max(size, math.Abs(a(i, j)))
	}
	if size == 0 {
		size = 1
	}
	x := rows(m, n, func(i, j int) float64 { return a(i, j) / size })
	norm := norm1(m, n, func(i, j int) float64 { return x[i][j] })
	q.apply(true, x)
	residual := norm1(m, n, func(i, j int) float64 { return r(i, j)/size - x[i][j] })
	// What the kernel rounds in the denormal range is as good as it gets.
	least := 0x1p-1074
	if eps[T]() > 1e-10 {
		least = 0x1p-149
	}
	ratio(t, what+": R−QᵀA", residual, float64(m)*(norm*eps[T]()+float64(n)*least/size), 30)
}

// hostile fills a matrix, where use holds, in one way after the other that is hard
// on a factorization, and calls f each time, with two of the sizes and blocks that
// it goes through.
func (s *suite[T]) hostile(f func(size [2]int, ib int, set func(a *kernels.Tile[T], use func(i, j int) bool))) {
	most, least := 0x1.8p1015, 0x1p-1074
	if eps[T]() > 1e-10 {
		most, least = 0x1.8p119, 0x1p-149
	}
	// power returns a number between 1/most and most.
	power := func(f float64) float64 { return math.Pow(most, 1-2*f) }
	up := func(x float64) float64 { return x * (1 - 2*s.rnd.Float64()) }
	for way, element := range []func(i, j int) float64{
		func(_, _ int) float64 { return 0 },
		func(_, _ int) float64 { return up(most) },
		func(_, _ int) float64 { return up(1 / most) },
		func(_, _ int) float64 { return up(100 * least) },
		func(_, j int) float64 { return up(float64(j % 3 & 1)) }, // zero columns
		func(i, _ int) float64 { return up(float64(i % 3 & 1)) },
		func(_, j int) float64 { return up(power(float64(j*7%20) / 20)) }, // columns of all sizes
		func(i, _ int) float64 { return up(power(float64(i*7%20) / 20)) },
		func(_, _ int) float64 { return up(power(s.rnd.Float64())) },
		func(_, _ int) float64 { return up(float64(s.rnd.IntN(9) / 8)) }, // mostly zeros
		func(i, j int) float64 { return float64((i%5 - 2) * (j%7 - 3)) }, // rank one
		func(_, _ int) float64 { return 1 },
	} {
		set := func(a *kernels.Tile[T], use func(i, j int) bool) {
			for i, j := range cells(a.Rows, a.Cols) {
				if use(i, j) {
					a.Set(i, j, T(element(i, j)))
				}
			}
		}
		for c := way; c < way+2; c++ {
			f([...][2]int{{40, 40}, {65, 33}, {20, 50}}[c%3], [...]int{3, 8, 20, 64}[c%4], set)
		}
	}
}

func (s *suite[T]) Unmqr(t *testing.T) {
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 2 {
				n, k := sizes[s.rnd.IntN(len(sizes))], sizes[s.rnd.IntN(len(sizes))]
				s.unmqrCase(t, m, n, k, blockings[s.rnd.IntN(len(blockings))], s.rnd.IntN(4))
			}
			s.unmqrCase(t, m, m, m, 32, 0)
		}
		s.unmqrCase(t, 129, 300, 129, 64, 1)
		s.unmqrCase(t, 257, 31, 100, 100, 1)
		s.unmqrCase(t, 20, 600, 20, 16, 1)
	})
	t.Run("repeat", func(t *testing.T) { s.unmqrRepeat(t) })
	s.work(t, 2*5*3*9, &op.Unmqr{Side: blas.Right, Trans: blas.Trans, IB: 2}, newTile[T](6, 3, 0), newTile[T](2, 3, 0), newTile[T](5, 6, 0))
}

// eachApplication calls f for both sides and transposes.
func eachApplication(f func(side blas.Side, trans blas.Transpose)) {
	for side, trans := range pairs([]blas.Side{blas.Left, blas.Right}, transposes[:]) {
		f(side, trans)
	}
}

// unmqrCase checks op(Q)·C and C·op(Q) for the Q of an order×k tile.
func (s *suite[T]) unmqrCase(t *testing.T, order, n, cols, ib, pad int) {
	t.Helper()
	s.unmqrFrom(t, order, n, cols, ib, pad, 0)
	s.unmqrFrom(t, order, n, cols, ib, pad, 1+s.rnd.IntN(9))
}

// unmqrFrom is unmqrCase with row more rows of V's tile above, and of C's or as
// many more columns.
func (s *suite[T]) unmqrFrom(t *testing.T, order, n, cols, ib, pad, row int) {
	t.Helper()
	k := min(order, cols)
	v := newTile[T](row+order, cols, pad)
	below := func(i, j int) bool { return i-row > j && j < k }
	q := s.randomReflectors(v, order, k, ib, pad, below, trapezoidal(v, row))
	s.mark(v, below)
	s.mark(q.t, inT(ib, k))
	eachApplication(func(side blas.Side, trans blas.Transpose) {
		what := fmt.Sprintf("%c%c order=%d n=%d k=%d of %d ib=%d pad=%d row=%d", side, trans, order, n, k, cols, ib, pad, row)
		right := side == blas.Right
		c := newTile[T](row+order, n, pad)
		in := func(i, j int) bool { return i >= row }
		if right {
			c = newTile[T](n, row+order, pad)
			in = func(i, j int) bool { return j >= row }
		}
		s.fill(c, 1, in)
		s.mark(c, in)
		v0, t0, c0 := clone(v), clone(q.t), clone(c)
		s.must(t, &op.Unmqr{Side: side, Trans: trans, IB: ib, Row: row}, v, q.t, c)
		identical(t, what+": V", v, v0)
		identical(t, what+": T", q.t, t0)
		untouched(t, what+": C", c, c0, in)
		// C·op(Q) is (op(Q)ᵀ·Cᵀ)ᵀ.
		part := func(c *kernels.Tile[T]) func(i, j int) float64 {
			f := at(c, right)
			return func(i, j int) float64 { return f(i+row, j) }
		}
		applied(t, what, q, (trans != blas.NoTrans) != right, n, part(c0), part(c))
	})
}

// applied fails t unless ‖X−op(Q)·C‖ / (m‖C‖ε) < 30 for matrices of n columns.
func applied[T kernels.Element](t *testing.T, what string, q reflectors[T], trans bool, n int, c, x func(i, j int) float64) {
	t.Helper()
	want := rows(q.order, n, c)
	q.apply(trans, want)
	residual := norm1(q.order, n, func(i, j int) float64 { return x(i, j) - want[i][j] })
	ratio(t, what, residual, float64(q.order)*norm1(q.order, n, c)*eps[T](), 30)
}

func (s *suite[T]) unmqrRepeat(t *testing.T) {
	for _, n := range [...]int{7, 33, 131} {
		v := newTile[T](n, n, 0)
		q := s.randomReflectors(v, n, n, 32, 0, func(i, j int) bool { return i > j }, trapezoidal(v, 0))
		eachApplication(func(side blas.Side, trans blas.Transpose) {
			p := &op.Unmqr{Side: side, Trans: trans, IB: 32}
			s.checkRepeatable(t, p, v, q.t, s.random(n, n, 1))
		})
	}
}
