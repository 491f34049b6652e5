package blocked_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/exec"
	"gonum.org/v1/gonum/blas"
)

// productLimit is the largest ‖ΔC‖ that a product may have: see
// docs/internals/testing.md.
func productLimit[T blocked.Element](k int, alpha, normA, normB, beta, normC float64) float64 {
	return 3 * blockedtest.Roundoff[T]() * (math.Sqrt(float64(k)+2)*math.Abs(alpha)*normA*normB + 2*math.Abs(beta)*normC)
}

// stored returns a random matrix op(X) = r×c.
func stored[T blocked.Element](rnd *rand.Rand, trans blas.Transpose, r, c int) blocked.General[T] {
	if trans != blas.NoTrans {
		r, c = c, r
	}
	return blockedtest.Normal[T](rnd, r, c)
}

func testGemm[T blocked.Element](t *testing.T, rt *exec.Local) {
	rnd := rand.New(rand.NewPCG(3, 1))
	const nb = 4
	sizes := []int{0, 1, 3, 4, 5, 9}
	scalars := []float64{0, 1, -1, 2.5}
	for _, m := range sizes {
		for _, n := range sizes {
			for _, k := range sizes {
				tA := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}[rnd.IntN(3)]
				tB := []blas.Transpose{blas.NoTrans, blas.Trans}[rnd.IntN(2)]
				alpha, beta := scalars[rnd.IntN(4)], scalars[rnd.IntN(4)]
				a, b, c := stored[T](rnd, tA, m, k), stored[T](rnd, tB, k, n), blockedtest.Normal[T](rnd, m, n)
				if alpha == 0 {
					a, b = blockedtest.Memory[T](a.Rows, a.Cols), blockedtest.Memory[T](b.Rows, b.Cols)
				}
				if beta == 0 {
					c = blockedtest.Memory[T](m, n)
				}
				a0, b0, c0 := blockedtest.CopyOf(a), blockedtest.CopyOf(b), blockedtest.CopyOf(c)
				what := fmt.Sprintf("m %d, n %d, k %d, trans %c %c, alpha %v, beta %v", m, n, k, tA, tB, alpha, beta)
				want := blockedtest.TileCount(m, nb) * blockedtest.TileCount(n, nb) * blockedtest.TileCount(k, nb)
				switch {
				case (alpha == 0 || k == 0) && beta == 1:
					want = 0
				case alpha == 0 || k == 0:
					want = blockedtest.TileCount(m, nb) * blockedtest.TileCount(n, nb)
				}
				blockedtest.Must(t, rt, what, want, func(p *blocked.Program[T]) error {
					return p.Gemm(tA, tB, T(alpha), blocked.View(a, nb), blocked.View(b, nb), T(beta), blocked.View(c, nb))
				})
				blockedtest.Kept(t, what+": A", a, a0, nil)
				blockedtest.Kept(t, what+": B", b, b0, nil)
				blockedtest.Kept(t, what+": C", c, c0, blockedtest.Anywhere)
				fa, fb, fc := blockedtest.Of(a, tA), blockedtest.Of(b, tB), blockedtest.Of(c0, blas.NoTrans)
				diff := blockedtest.Minus(alpha, fa.Times(fb, k), -beta, fc)
				got := blockedtest.Minus(1, diff, 1, blockedtest.Of(c, blas.NoTrans)).Norm(m, n)
				limit := 0.0
				if alpha != 0 {
					limit += productLimit[T](k, alpha, fa.Norm(m, k), fb.Norm(k, n), 0, 0)
				}
				if beta != 0 {
					limit += productLimit[T](k, 0, 0, 0, beta, fc.Norm(m, n))
				}
				if !(got <= limit) {
					t.Errorf("%s: ‖ΔC‖ = %g, want at most %g", what, got, limit)
				}
			}
		}
	}
}

func TestGemm(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	testGemm[float64](t, rt)
	testGemm[float32](t, rt)
}

// TestGemmSame multiplies a matrix by itself: one operand, read twice.
func TestGemmSame(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2})
	a := blocked.View(blockedtest.Normal[float64](rand.New(rand.NewPCG(3, 2)), 7, 7), 3)
	c := blocked.New[float64](blocked.Full, 7, 7, 3)
	blockedtest.Must(t, rt, "A·Aᵀ", 27, func(p *blocked.Program[float64]) error { return p.Gemm(blas.NoTrans, blas.Trans, 1, a, a, 0, c) })
	for i := range 7 {
		for j := range 7 {
			s := 0.0
			for l := range 7 {
				s += a.At(i, l) * a.At(j, l)
			}
			if !(math.Abs(s-c.At(i, j)) < 1e-14) {
				t.Errorf("(%d, %d) is %v, want %v", i, j, c.At(i, j), s)
			}
		}
	}
}

func TestGemmPanics(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 1})
	full := func(m, n, nb int) *blocked.Matrix[float64] { return blocked.New[float64](blocked.Full, m, n, nb) }
	sym := blocked.New[float64](blocked.SymLower, 3, 3, 2)
	const no, yes = blas.NoTrans, blas.Trans
	blockedtest.Compute(t, rt, func(p *blocked.Program[float64]) error {
		for name, c := range map[string]struct {
			f    func() error
			want any
		}{
			"inner":     {func() error { return p.Gemm(no, no, 1, full(3, 4, 2), full(3, 4, 2), 0, full(3, 4, 2)) }, blocked.ErrShape},
			"trans":     {func() error { return p.Gemm(yes, no, 1, full(3, 4, 2), full(4, 4, 2), 0, full(4, 4, 2)) }, blocked.ErrShape},
			"result":    {func() error { return p.Gemm(no, no, 0, full(3, 4, 2), full(4, 4, 2), 0, full(4, 4, 2)) }, blocked.ErrShape},
			"tile size": {func() error { return p.Gemm(no, no, 1, full(3, 3, 2), full(3, 3, 3), 0, full(3, 3, 2)) }, blocked.ErrShape},
			"A":         {func() error { return p.Gemm(no, no, 1, sym, full(3, 3, 2), 0, full(3, 3, 2)) }, blocked.ErrKind},
			"B":         {func() error { return p.Gemm(no, no, 1, full(3, 3, 2), sym, 0, full(3, 3, 2)) }, blocked.ErrKind},
			"C":         {func() error { return p.Gemm(no, no, 1, full(3, 3, 2), full(3, 3, 2), 0, sym) }, blocked.ErrKind},
		} {
			if v := blockedtest.Recovered(func() { c.f() }); v != c.want {
				t.Errorf("%s: panic %v, want %v", name, v, c.want)
			}
		}
		return nil
	})
}
