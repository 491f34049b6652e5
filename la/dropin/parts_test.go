package dropin_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la/dropin"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// parts has the routines of which eigenvalue problems are made.
type parts interface {
	Dgehrd(n, ilo, ihi int, a []float64, lda int, tau, work []float64, lwork int)
	Dhseqr(job lapack.SchurJob, compz lapack.SchurComp, n, ilo, ihi int, h []float64, ldh int, wr, wi []float64, z []float64, ldz int, work []float64, lwork int) int
	Dtrevc3(side lapack.EVSide, howmny lapack.EVHowMany, selected []bool, n int, t []float64, ldt int, vl []float64, ldvl int, vr []float64, ldvr int, mm int, work []float64, lwork int) int
	Dsytrd(uplo blas.Uplo, n int, a []float64, lda int, d, e, tau, work []float64, lwork int)
	Dsteqr(compz lapack.EVComp, n int, d, e, z []float64, ldz int, work []float64) bool
	Dgebrd(m, n int, a []float64, lda int, d, e, tauQ, tauP, work []float64, lwork int)
}

// TestReductions: reflectors, factors and what is left of the matrix are gonum's, with any work, for matrices of every size of
// elements; nothing else is written; and in the triangle that is not stored nothing is read.
func TestReductions(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 1))
	const m, n, lda = 71, 83, 86
	for _, scale := range []float64{1, 1e-160, 1e160, 0, 1e-310} {
		source := make([]float64, n*lda)
		for i := range source {
			source[i] = scale * rng.NormFloat64()
		}
		// all returns what a reduction leaves in the matrix, the padding included, and in vectors of that length.
		all := func(l parts, length, lwork int, reduce func(l parts, a, d, e, p, q, work []float64)) (x []float64) {
			a := slices.Clone(source)
			vectors, work := make([]float64, 4*length), make([]float64, lwork)
			for i := range work {
				work[i] = math.NaN()
			}
			reduce(l, a, vectors[:length], vectors[length:][:length-1], vectors[2*length:][:length], vectors[3*length:][:length], work)
			return append(a, vectors...)
		}
		compare := func(name string, length, least int, reduce func(l parts, a, d, e, p, q, work []float64)) {
			for _, lwork := range []int{least, 64 * (m + n)} {
				want := all(gonum.Implementation{}, length, lwork, reduce)
				got := all(dropin.LAPACK{}, length, lwork, reduce)
				near := func(x, y float64) bool { return x == y || math.Abs(x-y) < 1e-11*max(1, scale) }
				if !floats.EqualFunc(got, want, near) {
					t.Errorf("%s, elements of size %g, %d of work: not gonum's", name, scale, lwork)
				}
			}
		}
		compare("Dgehrd", n, n, func(l parts, a, _, e, _, _, work []float64) { l.Dgehrd(n, 0, n-1, a, lda, e, work, len(work)) })
		compare("Dgehrd 5…77", n, n, func(l parts, a, _, e, _, _, work []float64) { l.Dgehrd(n, 5, 77, a, lda, e, work, len(work)) })
		for _, uplo := range []blas.Uplo{blas.Upper, blas.Lower} {
			compare("Dsytrd "+string(uplo), n, 1, func(l parts, a, d, e, p, _, work []float64) {
				for i := range n { // the other triangle
					for j := range i {
						if uplo == blas.Upper {
							a[i*lda+j] = math.Inf(1)
						} else {
							a[j*lda+i] = math.Inf(1)
						}
					}
				}
				l.Dsytrd(uplo, n, a, lda, d, e, p, work, len(work))
			})
		}
		compare("Dgebrd, tall", m, n, func(l parts, a, d, e, p, q, work []float64) { l.Dgebrd(n, m, a, lda, d, e, p, q, work, len(work)) })
		compare("Dgebrd, wide", m, n, func(l parts, a, d, e, p, q, work []float64) { l.Dgebrd(m, n, a, lda, d, e, p, q, work, len(work)) })
	}
}

// TestSchur: H·Z = Z·T for every job, with what a reduction leaves below the subdiagonal and rows that are decoupled already; the
// eigenvalues are gonum's; and so are the vectors of T, their lengths and phases included.
func TestSchur(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 2))
	var ours parts = dropin.LAPACK{}
	for _, n := range []int{65, 130} {
		ilo, ihi, ld := 3, n-6, n+2
		full := make([]float64, n*ld) // what is below the subdiagonal is not read
		for i := range full {
			full[i] = rng.NormFloat64()
		}
		h := slices.Clone(full)
		for i := range n {
			for j := range i {
				if j < i-1 || i <= ilo || j >= ihi {
					h[i*ld+j] = 0
				}
				if i <= ilo || j >= ihi {
					full[i*ld+j] = 0
				}
			}
		}
		work := make([]float64, n)
		var want []complex128
		for _, job := range []lapack.SchurJob{lapack.EigenvaluesOnly, lapack.EigenvaluesAndSchur} {
			for _, compz := range []lapack.SchurComp{lapack.SchurNone, lapack.SchurHess, lapack.SchurOrig} {
				name := fmt.Sprintf("n = %d, %c, %c", n, job, compz)
				s, z, wr, wi := slices.Clone(full), make([]float64, n*ld), make([]float64, n), make([]float64, n)
				for i := range z {
					z[i] = math.NaN()
				}
				if compz == lapack.SchurOrig {
					for i := range n {
						clear(z[i*ld:][:n])
						z[i*ld+i] = 1
					}
				}
				if k := ours.Dhseqr(job, compz, n, ilo, ihi, s, ld, wr, wi, z, ld, work, n); k != 0 {
					t.Fatalf("%s: %d eigenvalues are missing", name, k)
				}
				values := make([]complex128, n)
				for i := range values {
					values[i] = complex(wr[i], wi[i])
				}
				if want == nil {
					(gonum.Implementation{}).Dhseqr(lapack.EigenvaluesOnly, lapack.SchurNone, n, ilo, ihi, slices.Clone(h), ld, wr, wi, nil, 1, work, n)
					for i := range wr {
						want = append(want, complex(wr[i], wi[i]))
					}
				}
				if d := farthest(values, want); !(d < 1e-10) {
					t.Errorf("%s: an eigenvalue is %v off gonum's", name, d)
				}
				if compz == lapack.SchurNone || job == lapack.EigenvaluesOnly {
					continue
				}
				dense := func(x []float64) blas64.General { return blas64.General{Rows: n, Cols: n, Stride: ld, Data: x} }
				r := dense(make([]float64, n*ld))
				blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, dense(h), dense(z), 0, r)
				blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, dense(z), dense(s), 1, r)
				if d := (gonum.Implementation{}).Dlange(lapack.MaxAbs, n, n, r.Data, ld, nil); !(d < 1e-12*float64(n)) {
					t.Errorf("%s: H·Z − Z·T has an element of %v", name, d)
				}
				if !math.IsNaN(z[n]) && compz == lapack.SchurHess {
					t.Errorf("%s: Z was written beside", name)
				}
				vectors := func(l parts) (left, right []float64) {
					left, right = slices.Clone(z), slices.Clone(z)
					w := make([]float64, 20*n)
					if got := l.Dtrevc3(lapack.EVBoth, lapack.EVAllMulQ, nil, n, s, ld, left, ld, right, ld, n, w, len(w)); got != n {
						t.Errorf("%s: %d vectors", name, got)
					}
					return left, right
				}
				left, right := vectors(ours)
				wantLeft, wantRight := vectors(gonum.Implementation{})
				near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 || math.IsNaN(x) && math.IsNaN(y) }
				if !floats.EqualFunc(left, wantLeft, near) {
					t.Errorf("%s: left vectors are not gonum's", name)
				}
				if !floats.EqualFunc(right, wantRight, near) {
					t.Errorf("%s: right vectors are not gonum's", name)
				}
			}
		}
	}
	// What is no Schur form is gonum's affair, and breaks nothing.
	n := 70
	x, v, work := make([]float64, n*n), make([]float64, n*n), make([]float64, 3*n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	ours.Dtrevc3(lapack.EVRight, lapack.EVAllMulQ, nil, n, x, n, nil, 1, v, n, n, work, len(work))
}

// farthest returns the largest distance of a value from the nearest one of want that no other has taken.
func farthest(values, want []complex128) (most float64) {
	left := slices.Clone(want)
	for _, x := range values {
		at, least := 0, math.Inf(1)
		for j, y := range left {
			if d := cmplx.Abs(x - y); d < least {
				at, least = j, d
			}
		}
		left = slices.Delete(left, at, at+1)
		most = max(most, least)
	}
	return most
}

// TestDsteqr: divide and conquer has the eigenvalues of gonum's iteration, and vectors with T·z = λ·z; what is not finite, it refuses as
// gonum's does.
func TestDsteqr(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 3))
	const n, ld = 97, 101
	d, e := make([]float64, n), make([]float64, n-1)
	for i := range d {
		d[i] = rng.NormFloat64()
	}
	for i := range e {
		e[i] = rng.NormFloat64()
	}
	e[40] = 0
	want, work := slices.Clone(d), make([]float64, 2*n-2)
	if !(gonum.Implementation{}).Dsterf(n, want, slices.Clone(e)) {
		t.Fatal("gonum's fails")
	}
	for _, compz := range []lapack.EVComp{lapack.EVTridiag, lapack.EVOrig} {
		z := make([]float64, n*ld)
		for i := range z {
			z[i] = math.NaN()
		}
		if compz == lapack.EVOrig { // row i of Z is row n−1−i of the vectors
			for i := range n {
				clear(z[i*ld:][:n])
				z[i*ld+n-1-i] = 1
			}
		}
		got := slices.Clone(d)
		if !(dropin.LAPACK{}).Dsteqr(compz, n, got, slices.Clone(e), z, ld, work) {
			t.Fatalf("%c: it fails", compz)
		}
		if !floats.EqualApprox(got, want, 1e-13*n) {
			t.Errorf("%c: eigenvalues are not gonum's", compz)
		}
		at := func(i, j int) float64 {
			if compz == lapack.EVOrig {
				i = n - 1 - i
			}
			return z[i*ld+j]
		}
		for j := range n {
			for i := range n {
				r := (d[i] - got[j]) * at(i, j)
				if i > 0 {
					r += e[i-1] * at(i-1, j)
				}
				if i < n-1 {
					r += e[i] * at(i+1, j)
				}
				if !(math.Abs(r) < 1e-13*n) {
					t.Fatalf("%c: (T·z − λ·z)[%d] of vector %d is %v", compz, i, j, r)
				}
			}
		}
		if !math.IsNaN(z[n]) {
			t.Errorf("%c: Z was written beside", compz)
		}
	}
}
