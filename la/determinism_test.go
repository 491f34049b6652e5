package la_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// results computes one of everything and returns all of it in one slice.
func results[T la.Element](t *testing.T, e *la.Engine, n int) []T {
	t.Helper()
	rnd := rand.New(rand.NewPCG(8, 1))
	a, b := random[T](rnd, n, n, 1), random[T](rnd, n, n/2, 2)
	spd := symmetric[T](t, matgen.Spec{Kind: matgen.SPDCond, N: n}, blas.Lower, 0)
	c := la.NewCholesky[T](e)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []T
	keep := func(g la.General[T]) {
		for i := range g.Rows {
			all = append(all, g.Data[i*g.Stride:i*g.Stride+g.Cols]...)
		}
	}
	zeros := func(r, c int) la.General[T] { return la.General[T]{Rows: r, Cols: c, Stride: c, Data: make([]T, r*c)} }

	must(c.Factorize(spd))
	l, x, inv := zeros(n, n), zeros(n, n/2), zeros(n, n)
	c.LTo(la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: l.Data})
	must(c.SolveTo(x, b))
	must(c.InverseTo(la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: n, Data: inv.Data}))
	keep(l)
	keep(x)
	keep(inv)
	all = append(all, T(c.Cond()), T(c.LogDet()))

	p, s := zeros(n, n/2), zeros(n, n)
	must(la.Gemm[T](t.Context(), e, blas.Trans, blas.NoTrans, 1, a, b, 0, p))
	must(la.Syrk[T](t.Context(), e, blas.NoTrans, -1, b, 0, la.Symmetric[T]{Uplo: blas.Lower, N: n, Stride: n, Data: s.Data}))
	keep(p)
	keep(s)
	must(la.Trsm[T](t.Context(), e, blas.Left, blas.Trans, 2.5, la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: l.Data}, p))
	keep(p)
	return all
}

func testDeterminism[T la.Element](t *testing.T, n int, base la.Options) {
	var want []T
	crowds, windows := []int{1, 3, 7}, []int{0, 1, 5}
	if testing.Short() {
		crowds, windows = []int{1, 3}, []int{0, 5}
	}
	for _, workers := range crowds {
		for _, policy := range dispatch.Kinds() {
			for _, window := range windows {
				for run := range 2 {
					if run == 1 && (window != 0 || workers == 1) {
						continue
					}
					opt := base
					opt.Workers, opt.Policy, opt.Window, opt.Float = workers, policy, window, true
					e, err := la.NewEngine(opt)
					if err != nil {
						t.Fatal(err)
					}
					got := results[T](t, e, n)
					e.Close()
					if want == nil {
						want = got
						continue
					}
					for i := range want {
						if bits(got[i]) != bits(want[i]) {
							t.Fatalf("%d workers, %v, window %d, run %d: number %d is %v, was %v", workers, policy, window, run, i, got[i], want[i])
						}
					}
				}
			}
		}
	}
}

// TestDeterminism checks that the bits of all results are the same whatever
// the number of workers, the policy and the window, and run after run.
func TestDeterminism(t *testing.T) {
	for name, opt := range map[string]la.Options{
		"deterministic": {Deterministic: true, NB: 8, Direct: -1},
		"one version":   {Only: []string{"go"}, NB: 8, Direct: -1},
		"automatic":     {Deterministic: true},
	} {
		for _, n := range []int{45, 150} {
			if n == 150 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				testDeterminism[float64](t, n, opt)
				if n < 150 { // the order of tasks does not depend on the type
					testDeterminism[float32](t, n, opt)
				}
			})
		}
	}
}
