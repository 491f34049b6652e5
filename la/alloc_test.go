//go:build !race

// Under the race detector pools forget some of what is put into them.

package la_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// A product of small gonum matrices allocates nothing.
func TestMulAllocs(t *testing.T) {
	x, y, z := mat.NewDense(16, 16, nil), mat.NewDense(16, 16, nil), mat.NewDense(16, 16, nil)
	mul := func() {
		if err := la.Mul[float64](z, x, y); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(200, mul); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestOptionsAllocate: options that are values take no memory.
func TestOptionsAllocate(t *testing.T) {
	e, err := la.NewEngine(la.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	spd, _ := optionMatrices(4)
	chol, eigen := la.NewCholesky[float64](e), la.NewEigenSym[float64](e)
	for name, calls := range map[string][2]func() error{
		"Cholesky": {func() error { return chol.Factorize(spd) },
			func() error { return chol.Factorize(spd, la.WithContext(t.Context())) }},
		"EigenSym": {func() error { return eigen.Factorize(spd, true) },
			func() error { return eigen.Factorize(spd, true, la.EigenIndices(0, 4), la.WithContext(t.Context())) }},
	} {
		var n [2]float64
		for i, call := range calls {
			n[i] = testing.AllocsPerRun(100, func() {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			})
		}
		if n[1] > n[0] {
			t.Errorf("%s: %v allocations, and %v without options", name, n[1], n[0])
		}
	}
}

// TestSpectralAllocs: a decomposition that is used again allocates nothing that grows as the matrix does.
func TestSpectralAllocs(t *testing.T) {
	const n = 300
	e := engineOf(t, la.Options{Workers: 2})
	rng := rand.New(rand.NewPCG(15, 16))
	a, b, g := randomSymmetric(n, rng), definite(n, rng), randomSVD(n, n, rng)
	sym, svd, general := la.NewEigenSym[float64](e), la.NewSVD[float64](e), la.NewEigenSymGeneralized[float64](e)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // pools keep what they have
	for name, call := range map[string]func() error{
		"EigenSym":            func() error { return sym.Factorize(a, true) },
		"SVD":                 func() error { return svd.Factorize(g, mat.SVDThin) },
		"EigenSymGeneralized": func() error { return general.Factorize(a, b, true) },
	} {
		least := leastBytes(t, call)
		if least > 8*n*n/2 {
			t.Errorf("%s allocates %d bytes", name, least)
		}
	}
}

// TestSmallAllocs: small problems allocate nothing once the values that they use have been used.
func TestSmallAllocs(t *testing.T) {
	for _, c := range smallCalls {
		for _, n := range []int{2, 3, 4, 8, 16, 32} {
			_, ours := c.with(n)
			if allocs := testing.AllocsPerRun(50, ours); allocs > 0 {
				t.Errorf("%s, n = %d: %v allocations", c.name, n, allocs)
			}
		}
	}
}

// TestSolveVecAllocs: one solution allocates nothing once the memory of a former one is there, and has the same bits whatever
// was computed before, on any number of workers.
func TestSolveVecAllocs(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for _, n := range []int{65, 200, 520} {
		spd, b := definite(n, rng), mat.NewVecDense(n, nil)
		for i := range n {
			b.SetVec(i, rng.NormFloat64())
		}
		var first [5][]float64
		for _, workers := range []int{1, 2} {
			e := engineOf(t, la.Options{Workers: workers, Deterministic: true, NB: 128})
			chol, lu, ldl, qr := la.NewCholesky[float64](e), la.NewLU[float64](e), la.NewLDL[float64](e), la.NewQR[float64](e)
			if err := errors.Join(chol.Factorize(spd), lu.Factorize(spd), ldl.Factorize(spd), qr.Factorize(spd)); err != nil {
				t.Fatal(err)
			}
			for i, solve := range []func(*mat.VecDense) error{
				func(x *mat.VecDense) error { return chol.SolveVecTo(x, b) },
				func(x *mat.VecDense) error { return lu.SolveVecTo(x, false, b) },
				func(x *mat.VecDense) error { return ldl.SolveVecTo(x, b) },
				func(x *mat.VecDense) error { return qr.SolveVecTo(x, false, b) },
				func(x *mat.VecDense) error { return qr.SolveVecTo(x, true, b) },
			} {
				var x, residual mat.VecDense
				for range 2 {
					if err := solve(&x); err != nil {
						t.Fatal(err)
					}
					residual.MulVec(spd, &x)
					residual.SubVec(&residual, b)
					if r := mat.Norm(&residual, 1) / (mat.Norm(spd, 1) * mat.Norm(&x, 1)); !(r < 1e-14) {
						t.Errorf("n=%d solver %d: residual %g", n, i, r)
					}
					if first[i] == nil || len(first[i]) != n {
						first[i] = slices.Clone(x.RawVector().Data)
					} else if !slices.Equal(first[i], x.RawVector().Data) {
						t.Errorf("n=%d solver %d, %d workers: other bits", n, i, workers)
					}
				}
				if got := testing.AllocsPerRun(20, func() { solve(&x) }); got > 2 {
					t.Errorf("n=%d solver %d, %d workers: %v allocations", n, i, workers, got)
				}
			}
		}
	}
}

// TestInverseAllocs: an inverse in memory of the caller allocates nothing that grows as the matrix does, once the memory of a
// former one is there.
func TestInverseAllocs(t *testing.T) {
	const n = 300
	e := engineOf(t, la.Options{Workers: 2})
	spd := definite(n, rand.New(rand.NewPCG(19, 20)))
	chol, lu := la.NewCholesky[float64](e), la.NewLU[float64](e)
	if err := errors.Join(chol.Factorize(spd), lu.Factorize(spd)); err != nil {
		t.Fatal(err)
	}
	half, whole := mat.NewSymDense(n, nil), mat.NewDense(n, n, nil)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // pools keep what they have
	for name, call := range map[string]func() error{
		"Cholesky": func() error { return chol.InverseTo(half) },
		"LU":       func() error { return lu.InverseTo(whole) },
	} {
		if least := leastBytes(t, call); least > 8*n*n/8 {
			t.Errorf("%s allocates %d bytes", name, least)
		}
	}
}

// leastBytes returns the least memory in bytes that one of a few calls allocates. The first ones allocate, for each worker
// that takes part.
func leastBytes(t *testing.T, call func() error) uint64 {
	least := uint64(math.MaxUint64)
	for range 4 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := call(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
