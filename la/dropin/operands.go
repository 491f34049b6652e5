package dropin

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// transpose reports whether t is a transposition.
func transpose(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}

// fits reports whether a can hold a matrix of r×c, which is not empty.
func fits[T la.Element](r, c int, a []T, ld int) bool {
	return r > 0 && c > 0 && ld >= c && len(a) >= c && r-1 <= (len(a)-c)/ld
}

// fitsOp is fits for an a with op(A) r×c.
func fitsOp[T la.Element](t blas.Transpose, r, c int, a []T, ld int) bool {
	r, c = shape(t, r, c)
	return fits(r, c, a, ld)
}

// shape returns the shape of the A with op(A) r×c.
func shape(t blas.Transpose, r, c int) (int, int) {
	if t == blas.NoTrans {
		return r, c
	}
	return c, r
}

// view returns the r×c matrix in a with tiles of nb×nb.
func view[T la.Element](r, c int, a []T, ld, nb int) *blocked.Matrix[T] {
	return blocked.View(la.General[T]{Rows: r, Cols: c, Stride: ld, Data: a}, nb)
}

// newGeneral returns an m×n matrix of zeros.
func newGeneral(m, n int) la.General[float64] {
	return la.General[float64]{Rows: m, Cols: n, Stride: n, Data: make([]float64, m*n)}
}

// triangle reports whether u is a triangle.
func triangle(u blas.Uplo) bool { return u == blas.Upper || u == blas.Lower }

// fitsTri reports whether the enumerations of a triangular operand are right.
func fitsTri(side blas.Side, uplo blas.Uplo, t blas.Transpose, diag blas.Diag) bool {
	return (side == blas.Left || side == blas.Right) && triangle(uplo) && transpose(t) &&
		(diag == blas.Unit || diag == blas.NonUnit)
}

// finite reports whether the elements of an m×n matrix are.
func finite[T la.Element](m, n int, a []T, lda int) bool {
	for i := range m {
		var s0, s1, s2, s3 T // 0, or NaN
		row := a[i*lda:][:n]
		for ; len(row) >= 4; row = row[4:] {
			s0 += row[0] - row[0]
			s1 += row[1] - row[1]
			s2 += row[2] - row[2]
			s3 += row[3] - row[3]
		}
		for _, v := range row {
			s0 += v - v
		}
		if s0+s1+s2+s3 != 0 {
			return false
		}
	}
	return true
}

// orders returns the order of the matrix on that side of an m×n one, and the
// other dimension.
func orders(side blas.Side, m, n int) (order, others int) {
	if side == blas.Left {
		return m, n
	}
	return n, m
}
