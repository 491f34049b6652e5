package dropin

import (
	"math"
	"sync"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// smallSpectral is the eigenvalues and singular values of small matrices, on the caller's goroutine. One call uses it
// at a time.
type smallSpectral struct {
	op.Spectral[float64]
	a, z, u []float64 // the matrix, and vectors as rows
}

var smallSpectrals = sync.Pool{New: func() any {
	const n = max(op.SyevOrder, op.GesvdOrder)
	return &smallSpectral{op.NewSpectral[float64](), make([]float64, tallest*n), make([]float64, n*n), make([]float64, tallest*n)}
}}

// tallest is the largest number of rows of a matrix that a smallSpectral decomposes.
const tallest = op.GesvdOrder * 2

// syev is [LAPACK.Dsyev] for 1 to op.SyevOrder rows. done is false if another way has to be taken.
func (s *smallSpectral) syev(vectors bool, uplo blas.Uplo, n int, a []float64, lda int, w []float64) (ok, done bool) {
	var top uint64 // of the bits of magnitudes
	for i := range n {
		row := s.a[i*n : i*n+n]
		for j := i; j < n; j++ {
			at := i*lda + j
			if uplo == blas.Lower {
				at = j*lda + i
			}
			row[j] = a[at]
			top = max(top, math.Float64bits(row[j])&^(1<<63))
		}
	}
	if ok, done = moderate(top); done || !ok {
		return ok, done
	}
	var z []float64
	if vectors {
		z = s.z
	}
	if s.Syev(n, s.a, n, w, z, n) != nil {
		return false, false
	}
	for k := range z[:min(len(z), n*n)] {
		a[k%n*lda+k/n] = z[k]
	}
	return true, true
}

// gesvd is [LAPACK.Dgesvd] for 1 to op.GesvdOrder columns and as many rows, or more, up to tallest. The thin vectors
// are wanted, or none. done is false if another way has to be taken.
func (s *smallSpectral) gesvd(vectors bool, m, n int, a []float64, lda int, values, u []float64, ldu int, vt []float64, ldvt int) (ok, done bool) {
	var top uint64
	for i := range m {
		row := s.a[i*n : i*n+n]
		for j, v := range a[i*lda : i*lda+n] {
			row[j] = v
			top = max(top, math.Float64bits(v)&^(1<<63))
		}
	}
	if ok, done = moderate(top); done || !ok {
		return ok, done
	}
	if !vectors {
		return true, s.Gesvd(m, n, s.a, n, values, nil, nil) == nil
	}
	ut := kernels.Tile[float64]{Rows: n, Cols: m, Stride: m, Data: s.u}
	v := kernels.Tile[float64]{Rows: n, Cols: n, Stride: ldvt, Data: vt}
	if s.Gesvd(m, n, s.a, n, values, &ut, &v) != nil {
		return false, false
	}
	for k := range n {
		for i, x := range ut.Row(k) {
			u[i*ldu+k] = x
		}
	}
	return true, true
}

// moderate judges the largest magnitude of a matrix by its bits. A NaN or infinity ends the computation; ok says that
// squares neither over- nor underflow.
func moderate(top uint64) (ok, done bool) {
	most := math.Float64frombits(top)
	return most == 0 || squarable(most), !(most <= math.MaxFloat64)
}
