package dropin

import (
	"errors"
	"math"

	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// smallGesvd is the cube of the largest order at which gonum's ways to bidiagonal form are kept by default. So the signs of
// vectors, which are not defined, are those by which programs may have come to go.
const smallGesvd = 8 * 8 * 8

// smallSVD returns the cube of the largest order left to gonum by default. It reduces matrices that are not wider than
// high, nor higher than 1.6 times their width, as ours does.
func smallSVD(m, n int) int {
	if m >= n && m < int(1.6*float64(n)) {
		return 1
	}
	return smallGesvd
}

// Dgesvd computes the singular values of the m×n matrix A, which is overwritten at will, in descending order in s, and
// as jobU and jobVT say all of the left vectors as the columns of u and right ones as the rows of vt
// (lapack.SVDAll), or min(m, n) of them (lapack.SVDStore), or none (lapack.SVDNone). It reports whether all
// were found: not if an element is NaN or infinite, which it finds out at once; s is then NaN.
//
// Divide and conquer finds vectors, and errors in the values are of the size of rounding errors in the largest
// one. work and lwork are as gonum's. It panics as gonum's does.
//
// Reference: LAPACK xGESVD, xGESDD.
func (l LAPACK) Dgesvd(jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int, vt []float64, ldvt int, work []float64, lwork int) (ok bool) {
	co := l.blas.core
	k := min(m, n)
	if co != nil && co.opt.Accurate || co.smallCube(smallSVD(m, n), m, n, k) || !fits(m, n, a, lda) || len(s) < k || !fitsVectors(jobU, m, m, k, u, ldu) || !fitsVectors(jobVT, n, k, n, vt, ldvt) ||
		lwork < max(3*k+max(m, n), 5*k) || len(work) < lwork {
		return l.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	}
	if thin := jobU == lapack.SVDStore && jobVT == lapack.SVDStore; m >= n && n <= op.GesvdOrder && m <= tallest && !op.FactorsFirst(m, n) &&
		(thin || jobU == lapack.SVDNone && jobVT == lapack.SVDNone) {
		d := smallSpectrals.Get().(*smallSpectral)
		defer smallSpectrals.Put(d)
		if ok, done := d.gesvd(thin, m, n, a, lda, s[:n], u, ldu, vt, ldvt); done {
			if !ok {
				for i := range s[:n] {
					s[i] = math.NaN()
				}
			}
			work[0] = float64(lwork) // enough
			return ok
		}
	}
	kind := mat.SVDNone
	switch jobU {
	case lapack.SVDAll:
		kind |= mat.SVDFullU
	case lapack.SVDStore:
		kind |= mat.SVDThinU
	}
	switch jobVT {
	case lapack.SVDAll:
		kind |= mat.SVDFullV
	case lapack.SVDStore:
		kind |= mat.SVDThinV
	}
	e := co.enter()
	defer co.leave()
	pool := &co.kept().svds
	c := borrowed(pool, la.NewSVD[float64], e)
	defer pool.Put(c)
	err := c.Factorize(la.General[float64]{Rows: m, Cols: n, Stride: lda, Data: a[:(m-1)*lda+n]}, kind)
	_, nonFinite := errors.AsType[*la.NonFiniteError](err)
	_, unfinished := errors.AsType[*la.ConvergenceError](err)
	if nonFinite || unfinished {
		for i := range s[:k] {
			s[i] = math.NaN()
		}
		return false
	}
	check("Dgesvd", err)
	c.Values(s[:k])
	if jobU != lapack.SVDNone {
		cols := k
		if jobU == lapack.SVDAll {
			cols = m
		}
		c.UTo(la.General[float64]{Rows: m, Cols: cols, Stride: ldu, Data: u[:(m-1)*ldu+cols]})
	}
	if jobVT != lapack.SVDNone {
		rows := k
		if jobVT == lapack.SVDAll {
			rows = n
		}
		c.VTo(byRows{la.General[float64]{Rows: rows, Cols: n, Stride: ldvt, Data: vt[:(rows-1)*ldvt+n]}})
	}
	l.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, -1) // gonum's best lwork
	return true
}

// byRows is a matrix by the memory of its transpose.
type byRows struct{ transpose la.General[float64] }

func (m byRows) Dims() (r, c int)        { return m.transpose.Cols, m.transpose.Rows }
func (m byRows) At(i, j int) float64     { return m.transpose.At(j, i) }
func (m byRows) Set(i, j int, v float64) { m.transpose.Data[j*m.transpose.Stride+i] = v }
func (m byRows) Zero()                   { m.transpose.Zero() }

// fitsVectors reports whether x can hold the vectors of a job: all×all or rows×cols.
func fitsVectors(job lapack.SVDJob, all, rows, cols int, x []float64, ld int) bool {
	switch job {
	case lapack.SVDAll:
		return fits(all, all, x, ld)
	case lapack.SVDStore:
		return fits(rows, cols, x, ld)
	}
	return job == lapack.SVDNone && ld >= 1
}
