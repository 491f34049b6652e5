package qr_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// upper is R: what is above the diagonal of g.
func upper[T blocked.Element](g *blocked.Matrix[T]) blockedtest.Element {
	return func(i, j int) float64 {
		if i > j {
			return 0
		}
		return float64(g.At(i, j))
	}
}

func elementOf[T blocked.Element](g *blocked.Matrix[T]) blockedtest.Element {
	return func(i, j int) float64 { return float64(g.At(i, j)) }
}

func unit(i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}

// isQR fails t unless q, which is m×m, and r are the factors of the m×n matrix
// a: ‖R−QᵀA‖ / (m‖A‖ε) and ‖I−QᵀQ‖ / (mε) are small.
func isQR[T blocked.Element](t *testing.T, what string, m, n int, q, r, a blockedtest.Element) {
	t.Helper()
	q = q.Held(m, m)
	eps := blockedtest.Roundoff[T]() * float64(max(1, m))
	if e := blockedtest.Minus(1, q.T().Times(q, m), 1, unit).Norm(m, m); !(e <= 30*eps) {
		t.Errorf("%s: ‖I−QᵀQ‖ = %g, want at most %g", what, e, 30*eps)
	}
	if e, norm := blockedtest.Minus(1, q.T().Times(a.Held(m, n), m), 1, r).Norm(m, n), a.Norm(m, n); !(e <= 30*eps*norm) {
		t.Errorf("%s: ‖R−QᵀA‖ = %g, want at most %g", what, e, 30*eps*norm)
	}
}

// rotations are the trees to test, with domains.
func rotations() []qr.RotationOptions {
	all := []qr.RotationOptions{{Tree: qr.TreeDomains, Domain: 2}, {Tree: qr.TreeDomains, Domain: 3, Cores: 2}}
	for _, tree := range qr.Trees() {
		all = append(all, qr.RotationOptions{Tree: tree, Cores: 3})
	}
	return all
}

// qrShapes are shapes in tiles of nb: nothing, one element, around nb and
// multiples of it, tall, and wide.
func qrShapes(nb int) [][2]int {
	all := [][2]int{{0, 0}, {5, 0}, {0, 5}, {1, 1}, {8*nb + 1, 1}, {1, 3 * nb}, {6*nb + nb/2, 2*nb + 1}, {2*nb + 1, 5*nb + nb/2}, {7*nb - 1, nb}}
	for _, n := range []int{nb - 1, nb, nb + 1, 2 * nb, 3*nb + 2} {
		all = append(all, [2]int{n, n}, [2]int{n + 1, n}, [2]int{n, n + 1}, [2]int{n + nb, n})
	}
	return all
}

func testGeqrf[T blocked.Element](t *testing.T, rt *exec.Local, nbs []int) {
	rnd := rand.New(rand.NewPCG(3, 1))
	for _, nb := range nbs {
		for _, s := range qrShapes(nb) {
			m, n := s[0], s[1]
			if m < 0 || n < 0 {
				continue
			}
			full := blockedtest.Normal[T](rnd, m, n)
			a := blockedtest.Of(full, blas.NoTrans).Held(m, n)
			for i, opt := range rotations() {
				ibs := [][]int{{1}, {2}, {0}}[(i+m)%3]
				if m < 2*nb {
					ibs = []int{1, 2, 0}
				}
				for _, ib := range ibs {
					opt.IB = ib
					what := fmt.Sprintf("%d×%d, nb %d, %+v", m, n, nb, opt)
					f, _ := blocked.From[T](full, blocked.Full, nb, blocked.CopyOptions{})
					q := qr.NewRotations[T](m, n, nb, opt)
					all := blocked.New[T](blocked.Full, m, m, nb)
					blockedtest.Must(t, rt, what, q.Tasks()+q.ColumnTasks(blockedtest.TileCount(m, nb)), func(p *blocked.Program[T]) error {
						if err := qr.Geqrf(p, f, q); err != nil {
							return err
						}
						return qr.Orgqr(p, f, q, all)
					})
					isQR[T](t, what, m, n, elementOf(all), upper(f), a)
					testMulVec(t, what, f, q, all)
					if ib == 2 {
						testOrmqr(t, rt, what, f, q, all)
					}
				}
			}
		}
	}
}

// testOrmqr compares products with Q with the ones of the Q that Orgqr has made.
func testOrmqr[T blocked.Element](t *testing.T, rt *exec.Local, what string, f *blocked.Matrix[T], q *qr.Rotations[T], all *blocked.Matrix[T]) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 2))
	m, n := f.Dims()
	nb := f.NB()
	thin := blocked.New[T](blocked.Full, m, min(m, n), nb)
	blockedtest.Must(t, rt, what, q.ColumnTasks(blockedtest.TileCount(min(m, n), nb)), func(p *blocked.Program[T]) error { return qr.Orgqr(p, f, q, thin) })
	for i := range m {
		for j := range min(m, n) {
			// Products of one column may be summed up in another order.
			if d := math.Abs(float64(thin.At(i, j) - all.At(i, j))); !(d <= 30*blockedtest.Roundoff[T]()*float64(m)) {
				t.Fatalf("%s: element (%d, %d) of Q depends on the number of columns: %v and %v", what, i, j, thin.At(i, j), all.At(i, j))
			}
		}
	}
	dense := elementOf(all).Held(m, m)
	k := nb + 1
	for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		op := dense
		if trans == blas.Trans {
			op = dense.T()
		}
		for _, side := range []blas.Side{blas.Left, blas.Right} {
			r, c := m, k
			if side == blas.Right {
				r, c = k, m
			}
			b := blockedtest.Normal[T](rnd, r, c)
			x, _ := blocked.From[T](b, blocked.Full, nb, blocked.CopyOptions{})
			blockedtest.Must(t, rt, what, q.ApplyTasks(blockedtest.TileCount(k, nb)), func(p *blocked.Program[T]) error { return qr.Ormqr(p, side, trans, f, q, x) })
			want := op.Times(blockedtest.Of(b, blas.NoTrans), m)
			if side == blas.Right {
				want = blockedtest.Of(b, blas.NoTrans).Times(op, m)
			}
			limit := 30 * float64(max(1, m)) * blockedtest.Roundoff[T]() * (1 + blockedtest.Of(b, blas.NoTrans).Norm(r, c))
			if e := blockedtest.Minus(1, elementOf(x), 1, want).Norm(r, c); !(e <= limit) {
				t.Errorf("%s: side %c, trans %c: difference %g, want at most %g", what, side, trans, e, limit)
			}
		}
	}
}

func TestGeqrf(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	testGeqrf[float64](t, rt, []int{1, 3})
	rt = blockedtest.StartLocal(t, exec.Options{Workers: 3, Float: true, Window: 5})
	testGeqrf[float64](t, rt, []int{3})
	testGeqrf[float32](t, rt, []int{4})
}

// TestGeqrfTwice factors two matrices with the same Rotations in one program: the
// second factorization takes the place of the first.
func TestGeqrfTwice(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 3, Float: true})
	rnd := rand.New(rand.NewPCG(3, 4))
	const m, n, nb = 17, 11, 3
	first, second := blockedtest.Normal[float64](rnd, m, n), blockedtest.Normal[float64](rnd, m, n)
	a, _ := blocked.From[float64](first, blocked.Full, nb, blocked.CopyOptions{})
	b, _ := blocked.From[float64](second, blocked.Full, nb, blocked.CopyOptions{})
	q := qr.NewRotations[float64](m, n, nb, qr.RotationOptions{Cores: 3})
	qa, qb := blocked.New[float64](blocked.Full, m, m, nb), blocked.New[float64](blocked.Full, m, m, nb)
	blockedtest.Must(t, rt, "twice", 2*(q.Tasks()+q.ColumnTasks(6)), func(p *blocked.Program[float64]) error {
		return errors.Join(qr.Geqrf(p, a, q), qr.Orgqr(p, a, q, qa), qr.Geqrf(p, b, q), qr.Orgqr(p, b, q, qb))
	})
	isQR[float64](t, "first", m, n, elementOf(qa), upper(a), blockedtest.Of(first, blas.NoTrans))
	isQR[float64](t, "second", m, n, elementOf(qb), upper(b), blockedtest.Of(second, blas.NoTrans))
}

// TestGeqrfLoaded factors a matrix whose tiles have no memory when the tasks are
// submitted.
func TestGeqrfLoaded(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2, Float: true})
	const m, n, nb = 23, 14, 4
	src := blockedtest.Normal[float64](rand.New(rand.NewPCG(5, 6)), m, n)
	for _, tree := range qr.Trees() {
		a := tiles.Unfilled[float64](blocked.Full, m, n, nb)
		q := qr.NewRotations[float64](m, n, nb, qr.RotationOptions{Tree: tree, Cores: 2})
		c := blocked.New[float64](blocked.Full, m, m, nb)
		if _, err := blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
			return errors.Join(p.Load(a, src, blocked.LoadOptions{ByColumns: true}), qr.Geqrf(p, a, q), qr.Orgqr(p, a, q, c))
		}); err != nil {
			t.Fatalf("%v: %v", tree, err)
		}
		isQR[float64](t, tree.String(), m, n, elementOf(c), upper(a), blockedtest.Of(src, blas.NoTrans))
	}
}

// TestGeqrfGraph compares the tasks of factorizations, with their operands and
// what they wait for, with the ones that the algorithm has. A rotation waits for
// the copy of a V, but not for the applications of the ones before it.
func TestGeqrfGraph(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1, Stories: 100})
	for tree, want := range map[qr.Tree]string{
		qr.TreeFlat: `
geqrt(INOUT A(0,0), OUT T1(0,0))
lacpy(IN A(0,0), OUT V(0,0)) after 1
unmqr(IN V(0,0), IN T1(0,0), INOUT A(0,1)) after 2 1
tsqrt(INOUT A(0,0), INOUT A(1,0), OUT T2(1,0)) after 1 2
tsmqr(IN A(1,0), IN T2(1,0), INOUT A(0,1), INOUT A(1,1)) after 4 3
tsqrt(INOUT A(0,0), INOUT A(2,0), OUT T2(2,0)) after 4
tsmqr(IN A(2,0), IN T2(2,0), INOUT A(0,1), INOUT A(2,1)) after 6 5
geqrt(INOUT A(1,1), OUT T1(1,1)) after 5
tsqrt(INOUT A(1,1), INOUT A(2,1), OUT T2(2,1)) after 8 7
`,
		qr.TreeBinary: `
geqrt(INOUT A(0,0), OUT T1(0,0))
lacpy(IN A(0,0), OUT V(0,0)) after 1
unmqr(IN V(0,0), IN T1(0,0), INOUT A(0,1)) after 2 1
geqrt(INOUT A(1,0), OUT T1(1,0))
lacpy(IN A(1,0), OUT V(1,0)) after 4
unmqr(IN V(1,0), IN T1(1,0), INOUT A(1,1)) after 5 4
geqrt(INOUT A(2,0), OUT T1(2,0))
lacpy(IN A(2,0), OUT V(2,0)) after 7
unmqr(IN V(2,0), IN T1(2,0), INOUT A(2,1)) after 8 7
ttqrt(INOUT A(0,0), INOUT A(1,0), OUT T2(1,0)) after 1 2 4 5
ttmqr(IN A(1,0), IN T2(1,0), INOUT A(0,1), INOUT A(1,1)) after 10 3 6
ttqrt(INOUT A(0,0), INOUT A(2,0), OUT T2(2,0)) after 10 7 8
ttmqr(IN A(2,0), IN T2(2,0), INOUT A(0,1), INOUT A(2,1)) after 12 11 9
geqrt(INOUT A(1,1), OUT T1(1,1)) after 11
geqrt(INOUT A(2,1), OUT T1(2,1)) after 13
ttqrt(INOUT A(1,1), INOUT A(2,1), OUT T2(2,1)) after 14 15
`,
	} {
		a := blocked.New[float64](blocked.Full, 6, 4, 2)
		a.SetIdentity()
		job := rt.NewJob(t.Context())
		p := blocked.NewProgram(job, kernels.For[float64](op.NewTable()))
		if err := qr.Geqrf(p, a, qr.NewRotations[float64](6, 4, 2, qr.RotationOptions{Tree: tree})); err != nil {
			t.Fatal(err)
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := blockedtest.Told(t, job, p.Len()); got != want {
			t.Errorf("%v: tasks are%swant%s", tree, got, want)
		}
	}
}

// TestGeqrfEnded checks that submissions end with their job.
func TestGeqrfEnded(t *testing.T) {
	blockedtest.EndedWithJob(t, func(p *blocked.Program[float64]) map[string]error {
		a, c := blocked.New[float64](blocked.Full, 9, 7, 4), blocked.New[float64](blocked.Full, 9, 9, 4)
		q := qr.NewRotations[float64](9, 7, 4, qr.RotationOptions{Tree: qr.TreeFlat})
		return map[string]error{
			"geqrf": qr.Geqrf(p, a, q),
			"ormqr": qr.Ormqr(p, blas.Left, blas.Trans, a, q, c),
			"orgqr": qr.Orgqr(p, a, q, blocked.New[float64](blocked.Full, 9, 3, 4)),
		}
	})
}

// TestGeqrfPanics checks what shapes and kinds are refused.
func TestGeqrfPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	size := func(m, n, nb int) *blocked.Matrix[float64] { return blocked.New[float64](blocked.Full, m, n, nb) }
	a, sym := size(9, 7, 4), blocked.New[float64](blocked.SymLower, 9, 9, 4)
	flat := qr.RotationOptions{Tree: qr.TreeFlat}
	q := qr.NewRotations[float64](9, 7, 4, flat)
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, c := range map[string]struct {
			f    func()
			want blocked.Error
		}{
			"negative":         {func() { qr.NewRotations[float64](-1, 3, 4, flat) }, blocked.ErrShape},
			"no tiles":         {func() { qr.NewRotations[float64](1, 3, 0, flat) }, blocked.ErrShape},
			"negative block":   {func() { qr.NewRotations[float64](1, 3, 2, qr.RotationOptions{IB: -1}) }, blocked.ErrShape},
			"tree":             {func() { qr.NewRotations[float64](1, 3, 2, qr.RotationOptions{Tree: 50}) }, blocked.ErrKind},
			"geqrf, symmetric": {func() { qr.Geqrf(p, sym, q) }, blocked.ErrKind},
			"geqrf, shape":     {func() { qr.Geqrf(p, size(9, 8, 4), q) }, blocked.ErrShape},
			"geqrf, tiles":     {func() { qr.Geqrf(p, size(9, 7, 5), q) }, blocked.ErrShape},
			"ormqr, symmetric": {func() { qr.Ormqr(p, blas.Left, blas.Trans, a, q, sym) }, blocked.ErrKind},
			"ormqr, rows":      {func() { qr.Ormqr(p, blas.Left, blas.Trans, a, q, size(7, 9, 4)) }, blocked.ErrShape},
			"ormqr, columns":   {func() { qr.Ormqr(p, blas.Right, blas.Trans, a, q, size(9, 7, 4)) }, blocked.ErrShape},
			"ormqr, tiles":     {func() { qr.Ormqr(p, blas.Left, blas.Trans, a, q, size(9, 7, 3)) }, blocked.ErrShape},
			"orgqr, symmetric": {func() { qr.Orgqr(p, a, q, sym) }, blocked.ErrKind},
			"orgqr, rows":      {func() { qr.Orgqr(p, a, q, size(7, 7, 4)) }, blocked.ErrShape},
			"orgqr, columns":   {func() { qr.Orgqr(p, a, q, size(9, 10, 4)) }, blocked.ErrShape},
		} {
			if v := blockedtest.Recovered(c.f); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
