package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// variant is a way through an engine, with the sizes that are worth testing
// on it.
type variant struct {
	name  string
	opt   la.Options
	sizes []int
	// cross says that all combinations of sizes are tested, not just some.
	cross bool
}

func variants() []variant {
	return []variant{
		{"nb=3", la.Options{Workers: 2, NB: 3, Direct: -1}, []int{0, 1, 2, 3, 4, 5, 7}, true},
		{"nb=7", la.Options{Workers: 3, NB: 7, Direct: -1, Deterministic: true}, []int{0, 1, 6, 8, 13, 15}, true},
		{"nb=64", la.Options{Workers: 2, NB: 64, Direct: -1}, []int{1, 63, 64, 65, 127, 129}, false},
		{"auto", la.Options{Workers: 2}, []int{1, 2, 50, 128, 129, 150}, false},
		{"direct", la.Options{Workers: 1, Direct: 1 << 20}, []int{0, 1, 5, 33, 140}, false},
		{"never direct", la.Options{Workers: 2, Direct: -1}, []int{0, 1, 5, 33, 140}, false},
	}
}

// shapes calls f with combinations of three of the variant's sizes.
func (v variant) shapes(rnd *rand.Rand, f func(m, n, k int)) {
	if v.cross {
		for _, m := range v.sizes {
			for _, n := range v.sizes {
				for _, k := range v.sizes {
					f(m, n, k)
				}
			}
		}
		return
	}
	pick := func() int { return v.sizes[rnd.IntN(len(v.sizes))] }
	for range 8 {
		f(pick(), pick(), pick())
	}
}

func transposes() []blas.Transpose { return []blas.Transpose{blas.NoTrans, blas.Trans} }

// scalars returns alpha and beta of some calls.
func scalars[T la.Element](rnd *rand.Rand) (alpha, beta T) {
	all := []T{0, 1, -1, 2.5}
	return all[rnd.IntN(len(all))], all[rnd.IntN(len(all))]
}

// stored returns a random matrix op(X) = r×c.
func stored[T la.Element](rnd *rand.Rand, trans blas.Transpose, r, c, pad int) la.General[T] {
	if trans != blas.NoTrans {
		r, c = c, r
	}
	return random[T](rnd, r, c, pad)
}

// gemmResidual returns ‖ΔC‖ / (√(k+2)·|α|·‖A‖·‖B‖ + 2|β|·‖C‖) / ε for
// C = alpha·A·B + beta·C0.
func gemmResidual[T la.Element](alpha T, a, b dense, beta T, c0, c dense) float64 {
	diff := newDense(c.m, c.n, func(i, j int) float64 { return -c.at(i, j) })
	scale := 0.0
	if alpha != 0 && a.n > 0 {
		p := a.times(b)
		for i := range diff.x {
			diff.x[i] += float64(alpha) * p.x[i]
		}
		scale += math.Sqrt(float64(a.n)+2) * math.Abs(float64(alpha)) * a.norm1() * b.norm1()
	}
	if beta != 0 {
		for i := range diff.x {
			diff.x[i] += float64(beta) * c0.x[i]
		}
		scale += 2 * math.Abs(float64(beta)) * c0.norm1()
	}
	if scale == 0 && diff.norm1() == 0 {
		return 0
	}
	return diff.norm1() / scale / eps[T]()
}

func testGemm[T la.Element](t *testing.T, v variant) {
	rnd := rand.New(rand.NewPCG(1, 2))
	e := start(t, v.opt)
	check := func(m, n, k int, tA, tB blas.Transpose, alpha, beta T) {
		a, b := stored[T](rnd, tA, m, k, rnd.IntN(4)), stored[T](rnd, tB, k, n, rnd.IntN(4))
		c := random[T](rnd, m, n, rnd.IntN(4))
		if alpha == 0 {
			a, b = padded[T](a.Rows, a.Cols, 1), padded[T](b.Rows, b.Cols, 1) // full of NaN
		}
		if beta == 0 {
			c = padded[T](m, n, 1)
		}
		what := fmt.Sprintf("m %d, n %d, k %d, trans %c %c, alpha %v, beta %v", m, n, k, tA, tB, alpha, beta)
		a0, b0, c0 := clone(a), clone(b), clone(c)
		if err := la.Gemm(t.Context(), e, tA, tB, alpha, a, b, beta, c); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		unchanged(t, what+": A", a, a0, nil)
		unchanged(t, what+": B", b, b0, nil)
		unchanged(t, what+": C", c, c0, everywhere)
		small(t, gemmResidual(alpha, load[T](a, tA), load[T](b, tB), beta, load[T](c0, blas.NoTrans), load[T](c, blas.NoTrans)), 3, "%s", what)
	}
	v.shapes(rnd, func(m, n, k int) {
		for _, tA := range transposes() {
			for _, tB := range transposes() {
				alpha, beta := scalars[T](rnd)
				check(m, n, k, tA, tB, alpha, beta)
			}
		}
	})
	nb := max(v.opt.NB, 5)
	for _, alpha := range []T{0, 1, -1, 2.5} {
		for _, beta := range []T{0, 1, -1, 2.5} {
			check(nb+2, 2*nb+1, 2*nb-1, blas.NoTrans, blas.Trans, alpha, beta)
			check(nb-1, nb+1, nb, blas.ConjTrans, blas.NoTrans, alpha, beta)
		}
	}
}

func TestGemm(t *testing.T) {
	for _, v := range variants() {
		t.Run("f64/"+v.name, func(t *testing.T) { testGemm[float64](t, v) })
		t.Run("f32/"+v.name, func(t *testing.T) { testGemm[float32](t, v) })
	}
}

// TestGemmShapeClasses multiplies matrices that are anything but square.
func TestGemmShapeClasses(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for _, s := range [][3]int{{700, 1, 1}, {1, 700, 1}, {1, 1, 700}, {500, 3, 40}, {3, 500, 40}, {20, 30, 900}, {257, 255, 2}} {
		m, n, k := s[0], s[1], s[2]
		a, b, c := random[float64](rnd, m, k, 0), random[float64](rnd, k, n, 0), padded[float64](m, n, 0)
		if err := la.Mul(c, a, b); err != nil {
			t.Fatal(err)
		}
		r := gemmResidual[float64](1, load[float64](a, blas.NoTrans), load[float64](b, blas.NoTrans), 0, dense{}, load[float64](c, blas.NoTrans))
		small(t, r, 3, "m %d, n %d, k %d", m, n, k)
	}
}

// TestGemmNonFinite checks that infinities and NaN go where BLAS has them go.
func TestGemmNonFinite(t *testing.T) {
	for _, v := range variants() {
		e := start(t, v.opt)
		const n = 9
		rnd := rand.New(rand.NewPCG(1, 4))
		a, b, c := random[float64](rnd, n, n, 0), random[float64](rnd, n, n, 0), random[float64](rnd, n, n, 0)
		a.Set(5, 2, math.NaN())
		b.Set(7, 3, math.Inf(1))
		if err := la.Gemm(t.Context(), e, blas.NoTrans, blas.NoTrans, 1, a, b, 1, c); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range n {
				x := c.At(i, j)
				switch {
				case i == 5:
					if x == x {
						t.Fatalf("%s: (%d, %d) = %v, want NaN", v.name, i, j, x)
					}
				case j == 3:
					if !math.IsInf(x, 0) {
						t.Fatalf("%s: (%d, %d) = %v, want an infinity", v.name, i, j, x)
					}
				case x-x != 0:
					t.Fatalf("%s: (%d, %d) = %v, want a number", v.name, i, j, x)
				}
			}
		}
	}
}

// TestShapeErrors checks what is said of operands that do not fit.
func TestShapeErrors(t *testing.T) {
	ctx := t.Context()
	g := func(r, c int) la.General[float64] {
		return la.General[float64]{Rows: r, Cols: c, Stride: max(1, c), Data: make([]float64, r*c)}
	}
	sym := func(n int) la.Symmetric[float64] {
		return la.Symmetric[float64]{Uplo: blas.Upper, N: n, Stride: n, Data: make([]float64, n*n)}
	}
	tri := func(n int) la.Triangular[float64] {
		return la.Triangular[float64]{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Stride: n, Data: make([]float64, n*n)}
	}
	const no, yes = blas.NoTrans, blas.Trans
	for name, err := range map[string]error{
		"inner dimension":  la.Gemm(ctx, nil, no, no, 1, g(2, 3), g(4, 5), 0, g(2, 5)),
		"inner, A trans":   la.Gemm(ctx, nil, yes, no, 1, g(2, 3), g(3, 5), 0, g(3, 5)),
		"rows of C":        la.Gemm(ctx, nil, no, no, 1, g(2, 3), g(3, 5), 0, g(3, 5)),
		"columns of C":     la.Gemm(ctx, nil, no, yes, 1, g(2, 3), g(5, 3), 1, g(2, 4)),
		"transposition":    la.Gemm(ctx, nil, 'x', no, 1, g(2, 3), g(3, 5), 0, g(2, 5)),
		"syrk order":       la.Syrk(ctx, nil, no, 1, g(2, 3), 0, sym(3)),
		"syrk, trans":      la.Syrk(ctx, nil, yes, 1, g(2, 3), 0, sym(2)),
		"syrk trans value": la.Syrk(ctx, nil, 0, 1, g(2, 3), 0, sym(2)),
		"trsm left":        la.Trsm(ctx, nil, blas.Left, no, 1, tri(3), g(2, 3)),
		"trsm right":       la.Trsm(ctx, nil, blas.Right, no, 1, tri(2), g(2, 3)),
		"trsm side":        la.Trsm(ctx, nil, 'U', no, 1, tri(2), g(2, 2)),
		"mul":              la.Mul(g(1, 1), g(1, 2), g(1, 1)),
	} {
		var shape *la.ShapeError
		if !errors.As(err, &shape) || shape.Op == "" || shape.Detail == "" {
			t.Errorf("%s: %v, want a ShapeError", name, err)
		}
	}
}

// TestContextBefore checks that a context that has ended leaves results as
// they were, whatever way the problem would have gone.
func TestContextBefore(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, v := range variants() {
		e := start(t, v.opt)
		rnd := rand.New(rand.NewPCG(1, 5))
		a := random[float64](rnd, 20, 20, 1)
		c := clone(a)
		tri := la.Triangular[float64]{Uplo: blas.Lower, Diag: blas.NonUnit, N: 20, Data: a.Data, Stride: a.Stride}
		sym := la.Symmetric[float64]{Uplo: blas.Lower, N: 20, Data: c.Data, Stride: c.Stride}
		chol := la.NewCholesky[float64](e)
		for name, err := range map[string]error{
			"gemm":     la.Gemm(ctx, e, blas.NoTrans, blas.NoTrans, 1, a, a, 0, c),
			"syrk":     la.Syrk(ctx, e, blas.NoTrans, 1, a, 0, sym),
			"trsm":     la.Trsm(ctx, e, blas.Left, blas.NoTrans, 0, tri, c),
			"cholesky": chol.Factorize(sym, la.WithContext(ctx)),
		} {
			if err != cause {
				t.Errorf("%s, %s: %v, want the cause", v.name, name, err)
			}
		}
		unchanged(t, v.name, c, a, nil)
		if !chol.IsEmpty() {
			t.Errorf("%s: a factorization that was not", v.name)
		}
	}
}
