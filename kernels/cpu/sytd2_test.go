package cpu

import (
	"math/rand/v2"
	"testing"
)

// TestSmallReductions: small matrices are reduced without allocation, by vector routines and without.
func TestSmallReductions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = condensedLoops
	a, b := make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i] = rng.NormFloat64()
	}
	d, e, tauq, taup := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	work := make([]float64, max(SytrdWork(n), GebrdWork(n, n)))
	for name, p := range everyPacked[float64]() {
		tridiagonal, bidiagonal := NewTridiagonal[float64](p, nil), NewBidiagonal[float64](p, nil)
		if got := testing.AllocsPerRun(5, func() {
			copy(b, a)
			tridiagonal.Sytrd(n, b, n, d, e, tauq, work)
			copy(b, a)
			bidiagonal.Gebrd(n, n, b, n, d, e, tauq, taup, work)
		}); got > 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
