package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/internal/sorted"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// TestNorm compares with gonum's norms, of matrices of several types.
func TestNorm(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, e := range sorted.Map(engines(t)) {
		for _, dims := range [][2]int{{1, 1}, {5, 5}, {3, 17}, {17, 3}, {600, 530}} {
			m, n := dims[0], dims[1]
			d := asDense(random[float64](rnd, m, n, 0))
			sources := map[string]la.Source[float64]{
				"Dense": d, "T": d.T(), "slice": d.Slice(0, m, n/2, n),
			}
			if m == n {
				sym, tri := mat.NewSymDense(n, nil), mat.NewTriDense(n, mat.Lower, nil)
				for i := range n {
					for j := range i + 1 {
						sym.SetSym(i, j, d.At(i, j))
						tri.SetTri(i, j, d.At(i, j))
					}
				}
				half, _ := blocked.From[float64](sym, blocked.SymUpper, 2, blocked.CopyOptions{})
				unit := la.Triangular[float64]{Uplo: blas.Lower, Diag: blas.Unit, N: n, Stride: n, Data: d.RawMatrix().Data}
				sources["SymDense"], sources["TriDense"], sources["TTri"], sources["tiles"], sources["unit"] = sym, tri, tri.TTri(), half, unit
			}
			for what, a := range sources {
				g := load[float64](a, blas.NoTrans)
				full := mat.NewDense(g.m, g.n, g.x)
				top := 0.0
				for _, v := range g.x {
					top = max(top, math.Abs(v))
				}
				for norm, want := range map[lapack.MatrixNorm]float64{
					lapack.MaxColumnSum: mat.Norm(full, 1), lapack.MaxRowSum: mat.Norm(full, math.Inf(1)),
					lapack.Frobenius: mat.Norm(full, 2), lapack.MaxAbs: top,
				} {
					if got := la.Norm(e, a, norm); !(math.Abs(got-want) <= 1e-13*want) {
						t.Errorf("%s, %s, %d×%d: norm %c is %v, want %v", name, what, m, n, norm, got, want)
					}
				}
			}
		}
		a := padded[float32](4, 3, 2) // of NaN
		for _, norm := range []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius, lapack.MaxAbs} {
			if got := la.Norm[float32](e, a, norm); !math.IsNaN(got) {
				t.Errorf("%s: norm %c of NaN is %v", name, norm, got)
			}
			if got := la.Norm[float32](e, la.General[float32]{Stride: 1}, norm); got != 0 {
				t.Errorf("%s: norm %c of nothing is %v", name, norm, got)
			}
		}
	}
	for _, f := range []func(){
		func() { la.Norm[float64](nil, mat.NewDense(1, 1, nil), 'x') },
		func() { la.Cond[float64](context.Background(), nil, mat.NewDense(1, 1, nil), lapack.Frobenius) },
	} {
		func() {
			defer func() {
				if p := recover(); p != mat.ErrNormOrder {
					t.Errorf("panic %v, want ErrNormOrder", p)
				}
			}()
			f()
		}()
	}
}

// TestCondOf compares the estimate with the inverse that gonum computes.
func TestCondOf(t *testing.T) {
	for name, e := range engines(t) {
		for _, kind := range []matgen.Kind{
			matgen.Random, matgen.Cond, matgen.Graded, matgen.SPD, matgen.SPDCond, matgen.Beam, matgen.KMS, matgen.Upper,
			matgen.Lower, matgen.Kahan, matgen.Diagonal, matgen.Wilkinson, matgen.Indefinite, matgen.Hilbert,
		} {
			for _, n := range []int{1, 2, 6, 12} {
				if kind == matgen.Hilbert && n > 6 {
					continue // its inverse has no digits
				}
				a := asDense(rectangle[float64](t, matgen.Spec{Kind: kind, M: n, N: n, Seed: 1}, 0))
				var inv mat.Dense
				if err := inv.Inverse(a); err != nil {
					continue
				}
				for norm, order := range map[lapack.MatrixNorm]float64{lapack.MaxColumnSum: 1, lapack.MaxRowSum: math.Inf(1)} {
					want := mat.Norm(a, order) * mat.Norm(&inv, order)
					for trans, src := range map[string]la.Source[float64]{"": a, "ᵀ": asDense(general2(a)).T()} {
						truth := want
						if trans != "" {
							truth = mat.Norm(a.T(), order) * mat.Norm(inv.T(), order)
						}
						got, err := la.Cond(t.Context(), e, src, norm)
						if err != nil || !(got <= truth*(1+1e-6) && got >= truth/3) {
							t.Errorf("%s, %v%s, n %d: condition %c is %g, %v; want %g", name, kind, trans, n, norm, got, err, truth)
						}
					}
				}
			}
		}
		var nf *la.NonFiniteError
		bad := mat.NewDense(3, 3, []float64{1, 2, 3, 4, math.NaN(), 6, 7, 8, 9})
		if _, err := la.Cond[float64](t.Context(), e, bad, 'O'); !errors.As(err, &nf) || nf.Row != 1 || nf.Col != 1 {
			t.Errorf("%s: NaN: %v", name, err)
		}
		if c, err := la.Cond[float32](t.Context(), e, la.General[float32]{Stride: 1}, 'O'); c != 0 || err != nil {
			t.Errorf("%s: of nothing: %v, %v", name, c, err)
		}
	}
}

// general2 returns the memory of d.
func general2(d *mat.Dense) la.General[float64] {
	r := d.RawMatrix()
	return la.General[float64]{Rows: r.Rows, Cols: r.Cols, Stride: r.Stride, Data: r.Data}
}

// TestProgressOfFailure expects that the number of tasks stays where it was
// when a kernel fails or the context ends.
func TestProgressOfFailure(t *testing.T) {
	var s saboteur
	for _, end := range []string{"error", "context"} {
		w := &watcher{t: t}
		e := start(t, la.Options{Workers: 2, NB: 4, Direct: -1, Deterministic: true, Table: s.table(), Progress: w.report})
		a := symmetric[float64](t, matgen.Spec{Kind: matgen.SPD, N: 40}, blas.Upper, 0)
		ctx, cancel := context.WithCancel(t.Context())
		s.arm(7, func(c *versions.Call, run func(*versions.Call) error) error {
			if end == "context" {
				cancel()
				return run(c)
			}
			return errBroken
		})
		err := la.NewCholesky[float64](e).Factorize(a, la.WithContext(ctx))
		cancel()
		done, total, reports := w.take()
		if err == nil || reports == 0 || total <= done || total > 10*11*12/6 || done > 20 {
			t.Errorf("%s: %v; progress %d of %d in %d reports", end, err, done, total, reports)
		}
	}
}

func TestNames(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"Cholesky": la.MethodCholesky, "QR": la.MethodQR, "Method(9)": la.Method(9),
		"unknown": la.UnknownFallback, "none": la.NoFallback, "no convergence": la.NoConvergence, "Fallback(9)": la.Fallback(9),
	} {
		if got.String() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
