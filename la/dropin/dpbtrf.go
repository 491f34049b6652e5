package dropin

import (
	"context"
	"sync"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

const (
	// smallPbtrf is the number of diagonals above the main one up to which a factorization is left to gonum by default:
	// a copy of the band takes as long.
	smallPbtrf = 12
	// smallPbtrs is the product of these diagonals and of the right-hand sides up to which a solution is left to gonum
	// by default, as one right-hand side always is.
	smallPbtrs = 32
	// bandDirect is the number of diagonals up to which one core is as fast as several.
	bandDirect = 192
)

// Dpbtrf computes the Cholesky factorization of a symmetric positive definite n×n band matrix in place,
//
//	A = Uᵀ·U (uplo = Upper) or A = L·Lᵀ (uplo = Lower),
//
// of which kd diagonals beside the main one are stored: row i of ab holds A[i, i … i+kd], or A[i, i−kd … i]. It
// returns whether A is positive definite; if not, ab holds an unfinished factorization. It panics as gonum's does.
//
// Reference: LAPACK xPBTRF.
func (l LAPACK) Dpbtrf(uplo blas.Uplo, n, kd int, ab []float64, ldab int) (ok bool) {
	if l.blas.core.small(smallPbtrf, kd, 1) || !triangle(uplo) || !fits(n, kd+1, ab, ldab) || n == 0 {
		return l.Implementation.Dpbtrf(uplo, n, kd, ab, ldab)
	}
	b := newBand(uplo, n, kd, ab, ldab)
	defer b.release()
	ok = b.call(l.blas.core, "Dpbtrf", "pbtrf", &op.Pbtrf{K: b.k}, b.tile) == nil
	b.write(uplo, kd, ab, ldab)
	return ok
}

// Dpbtrs solves A·X = B in place for the n×n band matrix A of which [LAPACK.Dpbtrf] has left the factor in ab, and
// n×nrhs B. It panics as gonum's does.
//
// Reference: LAPACK xPBTRS.
func (l LAPACK) Dpbtrs(uplo blas.Uplo, n, kd, nrhs int, ab []float64, ldab int, b []float64, ldb int) {
	if nrhs == 1 || l.blas.core.small(smallPbtrs, kd, nrhs) || !triangle(uplo) || !fits(n, kd+1, ab, ldab) || !fits(n, nrhs, b, ldb) || n == 0 {
		l.Implementation.Dpbtrs(uplo, n, kd, nrhs, ab, ldab, b, ldb)
		return
	}
	a := newBand(uplo, n, kd, ab, ldab)
	defer a.release()
	a.call(l.blas.core, "Dpbtrs", "pbtrs", &op.Pbtrs{K: a.k}, a.tile, &kernels.Tile[float64]{Rows: n, Cols: nrhs, Stride: ldb, Data: b})
}

// bandCopy is the upper triangle of a symmetric band matrix, with room for the zeros of ops "pbtrf" and "pbtrs".
type bandCopy struct {
	k     int // diagonals above the main one
	tile  *kernels.Tile[float64]
	space *[]float64
}

// spaces keeps memory for copies: to allocate and collect it took as long as to fill it.
var spaces = sync.Pool{New: func() any { return new([]float64) }}

// newBand returns a copy of the matrix in ab; of the lower triangle, its transpose. The caller must release it.
func newBand(uplo blas.Uplo, n, kd int, ab []float64, ldab int) *bandCopy {
	b := &bandCopy{k: min(kd, n-1), space: spaces.Get().(*[]float64)}
	width := (&op.Pbtrf{K: b.k}).Room() + 1
	if cap(*b.space) < n*width {
		*b.space = make([]float64, n*width)
	}
	b.tile = &kernels.Tile[float64]{Rows: n, Cols: width, Stride: width, Data: (*b.space)[:n*width]}
	for i := range n {
		row := b.tile.Row(i)
		end := min(b.k, n-1-i) + 1
		if uplo == blas.Upper {
			copy(row[:end], ab[i*ldab:])
		} else {
			for j := range row[:end] {
				row[j] = ab[(i+j)*ldab+kd-j]
			}
		}
		clear(row[end:])
	}
	return b
}

// write copies b to ab.
func (b *bandCopy) write(uplo blas.Uplo, kd int, ab []float64, ldab int) {
	n := b.tile.Rows
	for i := range n {
		row := b.tile.Row(i)[:min(b.k, n-1-i)+1]
		if uplo == blas.Upper {
			copy(ab[i*ldab:], row)
			continue
		}
		for j, v := range row {
			ab[(i+j)*ldab+kd-j] = v
		}
	}
}

// call executes an operation on all workers, if there are enough diagonals for them.
func (b *bandCopy) call(c *core, routine, name string, params any, args ...any) error {
	e := c.enter()
	defer c.leave()
	return check(routine, engine.CallTeam(context.Background(), e, b.k <= bandDirect, ops[float64](c).Op(name), params, args...))
}

// release hands b's memory back.
func (b *bandCopy) release() { spaces.Put(b.space) }
