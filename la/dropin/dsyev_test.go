package dropin_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// TestSpectralMemory: after a first call, a decomposition of the same size allocates nothing that grows with n².
func TestSpectralMemory(t *testing.T) {
	if raceEnabled {
		return // the detector has sync.Pool drop some of what it is given
	}
	const n = 300
	e, err := la.NewEngine(la.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	l := dropin.NewLAPACK(dropin.Options{Engine: e})
	a, u, vt := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	w, work := make([]float64, n), make([]float64, 8*n)
	fill := func() {
		rng := rand.New(rand.NewPCG(9, 2))
		for i := range a {
			a[i] = rng.NormFloat64()
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it empties the pools
	for name, call := range map[string]func() bool{
		"Dsyev": func() bool { return l.Dsyev(lapack.EVCompute, blas.Upper, n, a, n, w, work, len(work)) },
		"Dgesvd": func() bool {
			return l.Dgesvd(lapack.SVDStore, lapack.SVDStore, n, n, a, n, w, u, n, vt, n, work, len(work))
		},
	} {
		var before, after runtime.MemStats
		least := uint64(math.MaxUint64)
		for range 8 { // the first ones are for the pools, one a processor, and for the workers' scratch
			fill()
			runtime.ReadMemStats(&before)
			if !call() {
				t.Fatalf("%s: not ok", name)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if least > n*n*8/2 {
			t.Errorf("each of eight calls of %s allocates %d bytes or more", name, least)
		}
	}
}

// TestDsyevTriangle: only the triangle that is named is read, eigenvalues are gonum's, nothing beside the matrix is
// written, and a NaN in the triangle ends the call with false.
func TestDsyevTriangle(t *testing.T) {
	l := dropin.NewLAPACK(dropin.Options{})
	const n, lda = 70, 73
	rng := rand.New(rand.NewPCG(9, 1))
	for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
		for _, job := range []lapack.EVJob{lapack.EVNone, lapack.EVCompute} {
			a := make([]float64, n*lda)
			for i := range a {
				a[i] = math.NaN()
			}
			for i := range n {
				for j := range n {
					if i == j || (uplo == blas.Upper) == (j > i) {
						a[i*lda+j] = rng.NormFloat64()
					}
				}
			}
			b := append([]float64(nil), a...)
			for i := range b {
				if i%lda < n && math.IsNaN(b[i]) {
					b[i] = 0 // gonum reads no more of it
				}
			}
			w, want := make([]float64, n), make([]float64, n)
			work := make([]float64, 3*n-1)
			if !l.Dsyev(job, uplo, n, a, lda, w, work, len(work)) || !(gonum.Implementation{}).Dsyev(lapack.EVNone, uplo, n, b, lda, want, work, len(work)) {
				t.Fatalf("%c, %c: not ok", uplo, job)
			}
			for i := range w {
				if !(math.Abs(w[i]-want[i]) < 1e-12) {
					t.Errorf("%c, %c: value %d is %v, gonum's %v", uplo, job, i, w[i], want[i])
				}
			}
			for i, x := range a {
				if i%lda >= n && !math.IsNaN(x) {
					t.Fatalf("%c, %c: element %d beside A was written", uplo, job, i)
				}
			}
			row, col := 3, 50
			if uplo == blas.Lower {
				row, col = col, row
			}
			clear(a)
			a[row*lda+col] = math.Inf(-1)
			if l.Dsyev(job, uplo, n, a, lda, w, work, len(work)) {
				t.Errorf("%c, %c: an infinite matrix has eigenvalues", uplo, job)
			}
		}
	}
}
