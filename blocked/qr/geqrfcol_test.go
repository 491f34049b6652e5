package qr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"gonum.org/v1/gonum/blas"
)

// testGeqrfColumns factors, makes Q from the reflectors and tau alone, and
// checks the factorization, Q, and products with it.
func testGeqrfColumns[T blocked.Element](t *testing.T, rt *exec.Local, blocks [][2]int) {
	rnd := rand.New(rand.NewPCG(7, 1))
	sizes := []int{0, 1, 3, 4, 5, 8, 13}
	for _, b := range blocks {
		for _, m := range sizes {
			for _, n := range sizes {
				columnsCase[T](t, rt, rnd, m, n, b[0], b[1])
			}
		}
	}
	columnsCase[T](t, rt, rnd, 70, 45, 32, 16)
	columnsCase[T](t, rt, rnd, 45, 70, 32, 16)
}

func columnsCase[T blocked.Element](t *testing.T, rt *exec.Local, rnd *rand.Rand, m, n, nb, ib int) {
	t.Helper()
	what := fmt.Sprintf("m %d, n %d, nb %d, ib %d", m, n, nb, ib)
	k := min(m, n)
	kt := blockedtest.TileCount(k, nb)
	a := blockedtest.Normal[T](rnd, m, n)
	a0 := blockedtest.CopyOf(a)
	v := qr.SliceColumns(a, nb)
	factors := qr.NewReflectors[T](m, n, nb, ib)
	want := 0
	for j := range kt {
		want += blockedtest.TileCount(n, nb) - j
	}
	blockedtest.Must(t, rt, what, want, func(p *blocked.Program[T]) error { return qr.GeqrfColumns(p, v, factors) })
	blockedtest.Kept(t, what, a, a0, blockedtest.Anywhere)

	tau := make([]T, k)
	factors.Tau(tau)
	again := qr.NewReflectors[T](m, n, nb, ib)
	q := blockedtest.Memory[T](m, m)
	q0 := blockedtest.CopyOf(q)
	for i := range m {
		for j := range m {
			q.Set(i, j, 0)
		}
		q.Set(i, i, 1)
	}
	if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[T]) error {
		if err := qr.SetTau(p, again, v, tau); err != nil {
			return err
		}
		return qr.OrgqrColumns(p, v, again, qr.SliceColumns(q, nb))
	}); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	blockedtest.Kept(t, what+": Q", q, q0, blockedtest.Anywhere)
	orthogonal := blockedtest.Of(q, blas.NoTrans)
	r := blockedtest.Of(a, blas.NoTrans).Only(blas.Upper)
	tol := 30 * float64(max(m, n)) * blockedtest.Roundoff[T]()
	x := blockedtest.Of(a0, blas.NoTrans)
	if got := blockedtest.Minus(1, x, 1, orthogonal.Times(r, m)).Norm(m, n); !(got <= tol*x.Norm(m, n)) {
		t.Errorf("%s: ‖A−QR‖ = %g", what, got)
	}
	one := blockedtest.Element(func(i, j int) float64 { return float64(1 - min(1, max(i-j, j-i))) })
	if got := blockedtest.Minus(1, one, 1, orthogonal.T().Times(orthogonal, m)).Norm(m, m); !(got <= tol) {
		t.Errorf("%s: ‖I−QᵀQ‖ = %g", what, got)
	}

	const others = 5
	for _, side := range []blas.Side{blas.Left, blas.Right} {
		for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			c := blockedtest.Normal[T](rnd, m, others)
			cs := qr.SliceColumns(c, 3)
			if side == blas.Right {
				c = blockedtest.Normal[T](rnd, others, m)
				cs = qr.SliceRows(c, 3)
			}
			c0 := blockedtest.CopyOf(c)
			what := fmt.Sprintf("%s, %c %c", what, side, trans)
			blockedtest.Must(t, rt, what, kt*2, func(p *blocked.Program[T]) error { return qr.OrmqrColumns(p, side, trans, v, factors, cs) })
			blockedtest.Kept(t, what, c, c0, blockedtest.Anywhere)
			op := orthogonal
			if trans != blas.NoTrans {
				op = op.T()
			}
			got, was := blockedtest.Of(c, blas.NoTrans), blockedtest.Of(c0, blas.NoTrans)
			if side == blas.Right {
				op, got, was = op.T(), got.T(), was.T()
			}
			if d := blockedtest.Minus(1, op.Times(was, m), 1, got).Norm(m, others); !(d <= tol*was.Norm(m, others)) {
				t.Errorf("%s: off by %g", what, d)
			}
		}
	}
}

func TestGeqrfColumns(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	testGeqrfColumns[float64](t, rt, [][2]int{{1, 1}, {3, 1}, {3, 2}, {3, 64}, {4, 1}, {4, 2}, {4, 64}})
	testGeqrfColumns[float32](t, rt, [][2]int{{3, 2}})
}

func TestSlicesPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	g := blocked.General[float64]{Rows: 4, Cols: 3, Stride: 3, Data: make([]float64, 12)}
	square := blocked.General[float64]{Rows: 4, Cols: 4, Stride: 4, Data: make([]float64, 16)}
	v, rows := qr.SliceColumns(g, 2), qr.SliceRows(g, 2)
	factors := qr.NewReflectors[float64](4, 3, 2, 2)
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, c := range map[string]struct {
			f    func()
			want any
		}{
			"width":     {func() { qr.SliceColumns(g, 0) }, blocked.ErrShape},
			"storage":   {func() { qr.SliceRows(blocked.General[float64]{Rows: 4, Cols: 3, Stride: 2}, 1) }, blocked.ErrStorage},
			"no IB":     {func() { qr.NewReflectors[float64](4, 3, 2, 0) }, blocked.ErrShape},
			"no slice":  {func() { factors.Tile(2) }, blocked.ErrIndex},
			"rows":      {func() { qr.GeqrfColumns(p, rows, factors) }, blocked.ErrShape},
			"foreign T": {func() { qr.GeqrfColumns(p, v, qr.NewReflectors[float64](4, 4, 2, 2)) }, blocked.ErrShape},
			"tau":       {func() { qr.SetTau(p, factors, v, make([]float64, 2)) }, blocked.ErrShape},
			"side":      {func() { qr.OrmqrColumns(p, blas.Left, blas.Trans, v, factors, rows) }, blocked.ErrShape},
			"order": {func() {
				qr.OrmqrColumns(p, blas.Right, blas.Trans, v, factors, qr.SliceRows(g, 2))
			}, blocked.ErrShape},
			"Q": {func() { qr.OrgqrColumns(p, v, factors, qr.SliceColumns(square, 3)) }, blocked.ErrShape},
		} {
			if v := blockedtest.Recovered(c.f); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
