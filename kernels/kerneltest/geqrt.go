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

// Geqrt is the suite of op "geqrt".
func Geqrt(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, geqrtSuite[float32], geqrtSuite[float64], v)
}

func geqrtSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(9, 1))
	r := &runner{v: v}
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 4 {
				n, ib := sizes[rnd.IntN(len(sizes))], blockings[rnd.IntN(len(blockings))]
				geqrtCase(t, r, rnd, random[T](rnd, m, n, rnd.IntN(4), 1), ib)
				geqrtCase(t, r, rnd, random[T](rnd, n, m, rnd.IntN(4), 1), ib)
			}
			geqrtCase(t, r, rnd, random[T](rnd, m, m, 0, 1), 32)
		}
		geqrtCase(t, r, rnd, random[T](rnd, 300, 129, 1, 1), 64)
		geqrtCase(t, r, rnd, random[T](rnd, 129, 257, 1, 1), 48)
		geqrtCase(t, r, rnd, random[T](rnd, 128, 128, 0, 1), 128)
	})
	t.Run("hostile", func(t *testing.T) {
		for _, ib := range [...]int{3, 8, 20, 64} {
			for _, h := range hostile[T]() {
				for _, d := range [...][2]int{{40, 40}, {65, 33}, {20, 50}} {
					a := newTile[T](d[0], d[1], 1)
					h.set(rnd, a, func(i, j int) bool { return true })
					geqrtCase(t, r, rnd, a, ib)
				}
			}
		}
	})
	t.Run("triangle", func(t *testing.T) {
		// What is zero below the diagonal already stays as it is.
		a, tt := newTile[T](30, 30, 1), newTile[T](8, 30, 0)
		fill(rnd, a, 1, nil)
		for i := range 30 {
			for j := range i {
				a.Set(i, j, 0)
			}
		}
		was := clone(a)
		r.must(t, &kernels.Geqrt{IB: 8}, a, tt)
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
				a, tt := random[T](rnd, 40, 35, 0, 1), newTile[T](16, 35, 0)
				i0, j0 := rnd.IntN(40), rnd.IntN(35)
				a.Set(i0, j0, T(bad))
				r.must(t, &kernels.Geqrt{IB: 16}, a, tt)
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
			p := &kernels.Geqrt{IB: 32}
			a, tt := random[T](rnd, n, n, 1, 1), newTile[T](32, n, 0)
			a1, a2, t1, t2 := clone(a), clone(a), clone(tt), clone(tt)
			r.must(t, p, a1, t1)
			r.must(t, p, a2, t2)
			identical(t, "second run: A", a2, a1)
			identical(t, "second run: T", t2, t1)
			r.noAllocs(t, p, a, tt)
		}
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: &kernels.Geqrt{IB: 2}, Args: []any{newTile[T](6, 3, 0), newTile[T](2, 3, 0)}}
		if got := op.Work(c); got != 90 {
			t.Errorf("work %v, want 90", got)
		}
	})
}

// geqrtCase checks one factorization by ‖R−QᵀA‖ / (m‖A‖ε) and ‖I−QᵀQ‖ / (mε).
func geqrtCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, a *kernels.Tile[T], ib int) {
	t.Helper()
	b := clone(a)
	geqrtFrom(t, r, rnd, a, ib, 0)
	if b.Rows > 0 {
		geqrtFrom(t, r, rnd, b, ib, rnd.IntN(b.Rows))
	}
}

// geqrtFrom is geqrtCase from a row of the tile on.
func geqrtFrom[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, a *kernels.Tile[T], ib, row int) {
	t.Helper()
	m, n := a.Rows-row, a.Cols
	k := min(m, n)
	what := fmt.Sprintf("m=%d n=%d ib=%d stride=%d row=%d", m, n, ib, a.Stride, row)
	in := func(i, j int) bool { return i >= row }
	for i := range row {
		for j := range n {
			a.Set(i, j, T(math.NaN()))
		}
	}
	extra := rnd.IntN(3)
	tt := newTile[T](min(ib, k)+extra, k+extra, extra)
	mark(rnd, tt, inT(ib, k))
	mark(rnd, a, in)
	a0, t0 := clone(a), clone(tt)
	r.must(t, &kernels.Geqrt{IB: ib, Row: row}, a, tt)
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
	for i := range m {
		for j := range n {
			size = max(size, math.Abs(a(i, j)))
		}
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

// hostileMatrix fills a matrix, where use holds, in a way that is hard on a
// factorization.
type hostileMatrix[T kernels.Element] struct {
	name string
	set  func(rnd *rand.Rand, a *kernels.Tile[T], use func(i, j int) bool)
}

func hostile[T kernels.Element]() []hostileMatrix[T] {
	most, least := 0x1.8p1015, 0x1p-1074
	if eps[T]() > 1e-10 {
		most, least = 0x1.8p119, 0x1p-149
	}
	scaled := func(f func(rnd *rand.Rand, i, j int) float64) func(*rand.Rand, *kernels.Tile[T], func(i, j int) bool) {
		return func(rnd *rand.Rand, a *kernels.Tile[T], use func(i, j int) bool) {
			for i := range a.Rows {
				for j := range a.Cols {
					if use(i, j) {
						a.Set(i, j, T(f(rnd, i, j)*(1-2*rnd.Float64())))
					}
				}
			}
		}
	}
	power := func(lo, hi, f float64) float64 { return math.Pow(lo, 1-f) * math.Pow(hi, f) }
	return []hostileMatrix[T]{
		{"zero", scaled(func(*rand.Rand, int, int) float64 { return 0 })},
		{"huge", scaled(func(*rand.Rand, int, int) float64 { return most })},
		{"tiny", scaled(func(*rand.Rand, int, int) float64 { return 1 / most })},
		{"denormal", scaled(func(*rand.Rand, int, int) float64 { return 100 * least })},
		{"zero columns", scaled(func(_ *rand.Rand, _, j int) float64 { return float64(j % 3 & 1) })},
		{"zero rows", scaled(func(_ *rand.Rand, i, _ int) float64 { return float64(i % 3 & 1) })},
		{"columns of all sizes", scaled(func(_ *rand.Rand, _, j int) float64 { return power(most, 1/most, float64(j*7%20)/20) })},
		{"rows of all sizes", scaled(func(_ *rand.Rand, i, _ int) float64 { return power(most, 1/most, float64(i*7%20)/20) })},
		{"elements of all sizes", scaled(func(rnd *rand.Rand, _, _ int) float64 { return power(most, 1/most, rnd.Float64()) })},
		{"mostly zeros", scaled(func(rnd *rand.Rand, _, _ int) float64 { return float64(rnd.IntN(9) / 8) })},
		{"rank one", func(_ *rand.Rand, a *kernels.Tile[T], use func(i, j int) bool) {
			for i := range a.Rows {
				for j := range a.Cols {
					if use(i, j) {
						a.Set(i, j, T((i%5-2)*(j%7-3)))
					}
				}
			}
		}},
		{"ones", func(_ *rand.Rand, a *kernels.Tile[T], use func(i, j int) bool) {
			for i := range a.Rows {
				for j := range a.Cols {
					if use(i, j) {
						a.Set(i, j, 1)
					}
				}
			}
		}},
	}
}

// Unmqr is the suite of op "unmqr".
func Unmqr(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, unmqrSuite[float32], unmqrSuite[float64], v)
}

func unmqrSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(10, 1))
	r := &runner{v: v}
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 4 {
				n, k := sizes[rnd.IntN(len(sizes))], sizes[rnd.IntN(len(sizes))]
				unmqrCase[T](t, r, rnd, m, n, k, blockings[rnd.IntN(len(blockings))], rnd.IntN(4))
			}
			unmqrCase[T](t, r, rnd, m, m, m, 32, 0)
		}
		unmqrCase[T](t, r, rnd, 129, 300, 129, 64, 1)
		unmqrCase[T](t, r, rnd, 257, 31, 100, 100, 1)
		unmqrCase[T](t, r, rnd, 20, 600, 20, 16, 1)
	})
	t.Run("repeat", func(t *testing.T) { unmqrRepeat[T](t, r, rnd) })
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: &kernels.Unmqr{Side: blas.Right, Trans: blas.Trans, IB: 2},
			Args: []any{newTile[T](6, 3, 0), newTile[T](2, 3, 0), newTile[T](5, 6, 0)}}
		if got := op.Work(c); got != 2*5*3*9 {
			t.Errorf("work %v, want 270", got)
		}
	})
}

// eachApplication calls f for both sides and transposes.
func eachApplication(f func(side blas.Side, trans blas.Transpose)) {
	for _, side := range [...]blas.Side{blas.Left, blas.Right} {
		for _, trans := range transposes {
			f(side, trans)
		}
	}
}

// unmqrCase checks op(Q)·C and C·op(Q) for the Q of an order×k tile.
func unmqrCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, order, n, cols, ib, pad int) {
	t.Helper()
	unmqrFrom[T](t, r, rnd, order, n, cols, ib, pad, 0)
	unmqrFrom[T](t, r, rnd, order, n, cols, ib, pad, 1+rnd.IntN(9))
}

// unmqrFrom is unmqrCase with row more rows of V's tile above, and of C's or as
// many more columns.
func unmqrFrom[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, order, n, cols, ib, pad, row int) {
	t.Helper()
	k := min(order, cols)
	v := newTile[T](row+order, cols, pad)
	below := func(i, j int) bool { return i-row > j && j < k }
	q := randomReflectors(rnd, v, order, k, ib, pad, below, trapezoidal(v, row))
	mark(rnd, v, below)
	mark(rnd, q.t, inT(ib, k))
	eachApplication(func(side blas.Side, trans blas.Transpose) {
		what := fmt.Sprintf("%c%c order=%d n=%d k=%d of %d ib=%d pad=%d row=%d", side, trans, order, n, k, cols, ib, pad, row)
		right := side == blas.Right
		c := newTile[T](row+order, n, pad)
		in := func(i, j int) bool { return i >= row }
		if right {
			c = newTile[T](n, row+order, pad)
			in = func(i, j int) bool { return j >= row }
		}
		fill(rnd, c, 1, in)
		mark(rnd, c, in)
		v0, t0, c0 := clone(v), clone(q.t), clone(c)
		r.must(t, &kernels.Unmqr{Side: side, Trans: trans, IB: ib, Row: row}, v, q.t, c)
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

func unmqrRepeat[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand) {
	for _, n := range [...]int{7, 33, 131} {
		v := newTile[T](n, n, 0)
		q := randomReflectors(rnd, v, n, n, 32, 0, func(i, j int) bool { return i > j }, trapezoidal(v, 0))
		eachApplication(func(side blas.Side, trans blas.Transpose) {
			p := &kernels.Unmqr{Side: side, Trans: trans, IB: 32}
			c := random[T](rnd, n, n, 1, 1)
			c1, c2 := clone(c), clone(c)
			r.must(t, p, v, q.t, c1)
			r.must(t, p, v, q.t, c2)
			identical(t, "second run", c2, c1)
			r.noAllocs(t, p, v, q.t, c)
		})
	}
}
