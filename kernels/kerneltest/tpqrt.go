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

// Tsqrt is the suite of op "tsqrt".
func Tsqrt(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, tpqrtSuite[float32], tpqrtSuite[float64], v)
}

// Ttqrt is the suite of op "ttqrt".
func Ttqrt(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, tpqrtSuite[float32], tpqrtSuite[float64], v)
}

// Tsmqr is the suite of op "tsmqr".
func Tsmqr(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, tpmqrtSuite[float32], tpmqrtSuite[float64], v)
}

// Ttmqr is the suite of op "ttmqr".
func Ttmqr(t *testing.T, op *versions.Op, v *versions.Version) {
	byType(t, op, tpmqrtSuite[float32], tpmqrtSuite[float64], v)
}

// tpqrtParams returns the parameter of op "tsqrt" or "ttqrt".
func tpqrtParams(triangle bool, ib int) any {
	if triangle {
		return &kernels.Ttqrt{IB: ib}
	}
	return &kernels.Tsqrt{IB: ib}
}

// tpmqrtParams returns the parameter of op "tsmqr" or "ttmqr".
func tpmqrtParams(triangle bool, side blas.Side, trans blas.Transpose, ib int) any {
	if triangle {
		return &kernels.Ttmqr{Side: side, Trans: trans, IB: ib}
	}
	return &kernels.Tsmqr{Side: side, Trans: trans, IB: ib}
}

// inPentagon returns which elements of the lower tile belong to it.
func inPentagon(triangle bool) func(i, j int) bool {
	return func(i, j int) bool { return !triangle || i <= j }
}

func tpqrtSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(11, 1))
	r := &runner{v: v}
	triangle := op.Name == "ttqrt"
	in := inPentagon(triangle)
	normal := func(a *kernels.Tile[T], use func(i, j int) bool) { fill(rnd, a, 1, use) }
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 4 {
				n, ib := sizes[rnd.IntN(len(sizes))], blockings[rnd.IntN(len(blockings))]
				tpqrtCase(t, r, rnd, triangle, m, n, ib, normal)
				tpqrtCase(t, r, rnd, triangle, n, m, ib, normal)
			}
			tpqrtCase(t, r, rnd, triangle, m, m, 32, normal)
		}
		tpqrtCase(t, r, rnd, triangle, 257, 129, 64, normal)
		tpqrtCase(t, r, rnd, triangle, 129, 128, 128, normal)
	})
	t.Run("hostile", func(t *testing.T) {
		for _, ib := range [...]int{3, 8, 20, 64} {
			for _, h := range hostile[T]() {
				for _, d := range [...][2]int{{40, 40}, {65, 33}, {20, 50}} {
					tpqrtCase(t, r, rnd, triangle, d[0], d[1], ib, func(a *kernels.Tile[T], use func(i, j int) bool) { h.set(rnd, a, use) })
				}
			}
		}
	})
	t.Run("zero below", func(t *testing.T) {
		top, a, tt := newTile[T](30, 30, 1), newTile[T](30, 30, 1), newTile[T](8, 30, 0)
		fill(rnd, top, 1, inTriangle(blas.Upper))
		fill(rnd, a, 0, in)
		top0, a0 := clone(top), clone(a)
		for i := range 30 {
			for j := range 30 {
				if in(i, j) {
					a.Set(i, j, 0) // fill makes zeros of both signs
					a0.Set(i, j, 0)
				}
			}
		}
		r.must(t, tpqrtParams(triangle, 8), top, a, tt)
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
				fill(rnd, top, 1, inTriangle(blas.Upper))
				fill(rnd, a, 1, in)
				j0 := rnd.IntN(35)
				a.Set(rnd.IntN(j0+1), j0, T(bad))
				r.must(t, tpqrtParams(triangle, 16), top, a, tt)
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
			top, a, tt := random[T](rnd, n, n, 0, 1), random[T](rnd, n, n, 1, 1), newTile[T](32, n, 0)
			top1, top2, a1, a2, t1, t2 := clone(top), clone(top), clone(a), clone(a), clone(tt), clone(tt)
			r.must(t, p, top1, a1, t1)
			r.must(t, p, top2, a2, t2)
			identical(t, "second run: R", top2, top1)
			identical(t, "second run: A", a2, a1)
			identical(t, "second run: T", t2, t1)
			r.noAllocs(t, p, top, a, tt)
		}
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: tpqrtParams(triangle, 2), Args: []any{newTile[T](3, 3, 0), newTile[T](3, 3, 0), newTile[T](2, 3, 0)}}
		want := 54.0
		if triangle {
			want = 18
		}
		if got := op.Work(c); got != want {
			t.Errorf("work %v, want %v", got, want)
		}
	})
}

// tpqrtCase checks the factorization of a triangle on top of an m×n tile, both
// filled by set.
func tpqrtCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, triangle bool, m, n, ib int, set func(a *kernels.Tile[T], use func(i, j int) bool)) {
	t.Helper()
	what := fmt.Sprintf("m=%d n=%d ib=%d", m, n, ib)
	extra := rnd.IntN(3)
	in, upper := inPentagon(triangle), inTriangle(blas.Upper)
	top, a := newTile[T](n+extra, n, extra), newTile[T](m, n, rnd.IntN(4))
	tt := newTile[T](min(ib, n)+extra, n+extra, extra)
	set(top, upper)
	set(a, in)
	mark(rnd, top, upper)
	mark(rnd, a, in)
	mark(rnd, tt, inT(ib, n))
	top0, a0, t0 := clone(top), clone(a), clone(tt)
	r.must(t, tpqrtParams(triangle, ib), top, a, tt)
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

func tpmqrtSuite[T kernels.Element](t *testing.T, op *versions.Op, v *versions.Version) {
	rnd := rand.New(rand.NewPCG(12, 1))
	r := &runner{v: v}
	triangle := op.Name == "ttmqr"
	t.Run("sizes", func(t *testing.T) {
		for _, m := range sizes {
			for range 4 {
				n, k := sizes[rnd.IntN(len(sizes))], sizes[rnd.IntN(len(sizes))]
				tpmqrtCase[T](t, r, rnd, triangle, m, n, k, blockings[rnd.IntN(len(blockings))], rnd.IntN(4))
			}
			tpmqrtCase[T](t, r, rnd, triangle, m, m, m, 32, 0)
		}
		tpmqrtCase[T](t, r, rnd, triangle, 129, 300, 129, 64, 1)
		tpmqrtCase[T](t, r, rnd, triangle, 257, 31, 100, 100, 1)
		tpmqrtCase[T](t, r, rnd, triangle, 20, 600, 20, 16, 1)
	})
	t.Run("repeat", func(t *testing.T) {
		for _, n := range [...]int{7, 33, 131} {
			v := newTile[T](n, n, 0)
			q := randomReflectors(rnd, v, 2*n, n, 32, 0, inPentagon(triangle), pentagonal(v, triangle))
			eachApplication(func(side blas.Side, trans blas.Transpose) {
				p := tpmqrtParams(triangle, side, trans, 32)
				c, d := random[T](rnd, n, n, 1, 1), random[T](rnd, n, n, 0, 1)
				c1, c2, d1, d2 := clone(c), clone(c), clone(d), clone(d)
				r.must(t, p, v, q.t, c1, d1)
				r.must(t, p, v, q.t, c2, d2)
				identical(t, "second run: C1", c2, c1)
				identical(t, "second run: C2", d2, d1)
				r.noAllocs(t, p, v, q.t, c, d)
			})
		}
	})
	t.Run("work", func(t *testing.T) {
		c := &versions.Call{Params: tpmqrtParams(triangle, blas.Left, blas.Trans, 2),
			Args: []any{newTile[T](3, 3, 0), newTile[T](2, 3, 0), newTile[T](3, 5, 0), newTile[T](3, 5, 0)}}
		want := 180.0
		if triangle {
			want = 90
		}
		if got := op.Work(c); got != want {
			t.Errorf("work %v, want %v", got, want)
		}
	})
}

// tpmqrtCase checks op(Q)·[C1; C2] and [C1 C2]·op(Q) for the Q of an m×k tile.
func tpmqrtCase[T kernels.Element](t *testing.T, r *runner, rnd *rand.Rand, triangle bool, m, n, k, ib, pad int) {
	t.Helper()
	in := inPentagon(triangle)
	v := newTile[T](m, k, pad)
	part := m // rows of V that take part
	if triangle {
		part = min(m, k)
	}
	q := randomReflectors(rnd, v, k+part, k, ib, pad, in, pentagonal(v, triangle))
	if part == 0 {
		fill(rnd, q.t, 0, inT(ib, k)) // nothing to annihilate makes H = I
	}
	mark(rnd, v, in)
	mark(rnd, q.t, inT(ib, k))
	extra1, extra2 := rnd.IntN(3), 0
	if triangle {
		extra2 = rnd.IntN(3)
	}
	eachApplication(func(side blas.Side, trans blas.Transpose) {
		what := fmt.Sprintf("%c%c m=%d n=%d k=%d ib=%d pad=%d", side, trans, m, n, k, ib, pad)
		right := side == blas.Right
		shaped := func(r, c, used int) *kernels.Tile[T] {
			if right {
				x := newTile[T](c, r, pad)
				use := func(_, j int) bool { return j < used }
				fill(rnd, x, 1, use)
				mark(rnd, x, use)
				return x
			}
			x := newTile[T](r, c, pad)
			use := func(i, _ int) bool { return i < used }
			fill(rnd, x, 1, use)
			mark(rnd, x, use)
			return x
		}
		c1, c2 := shaped(k+extra1, n, k), shaped(part+extra2, n, part)
		v0, t0, c10, c20 := clone(v), clone(q.t), clone(c1), clone(c2)
		r.must(t, tpmqrtParams(triangle, side, trans, ib), v, q.t, c1, c2)
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
