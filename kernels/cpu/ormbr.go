package cpu

import "gonum.org/v1/gonum/blas"

// OrmbrWork returns the number of elements of scratch that OrmbrQ and OrmbrP need for k reflectors of that order.
func OrmbrWork(order, k int) int {
	blocks := (k + reflectorPanel - 1) / reflectorPanel
	return blocks * reflectorPanel * (order + reflectorPanel)
}

// OrmbrQ overwrites the rows×m matrix X with X·Qᵀ. Gebrd has left the n reflectors of Q in the m×n matrix a and in
// tauq. Rows that are left singular vectors of B become those of A. work holds at least OrmbrWork(m, n) elements.
//
// Reference: LAPACK xORMBR, with VECT = 'Q', SIDE = 'L' and TRANS = 'N' for the same elements by columns.
func (t *Bidiagonal[T]) OrmbrQ(rows, m, n int, a []T, lda int, tauq []T, x []T, ldx int, work []T) {
	checkMatrix(m, n, len(a), lda)
	t.ormbr(rows, m, n, 0, func(first, nb, cols int, v []T) {
		for j := range cols {
			row := a[(first+j)*lda+first:][:nb]
			for i := range min(nb, j) {
				v[i*cols+j] = row[i]
			}
			if j < nb {
				v[j*cols+j] = 1
				for i := j + 1; i < nb; i++ {
					v[i*cols+j] = 0
				}
			}
		}
	}, tauq, x, ldx, work)
}

// OrmbrP overwrites the rows×n matrix X with X·Pᵀ. Gebrd has left the n−1 reflectors of P in the first n rows of a and
// in taup. Rows that are right singular vectors of B become those of A. work holds at least OrmbrWork(n, n−1) elements.
//
// Reference: LAPACK xORMBR, with VECT = 'P', SIDE = 'L' and TRANS = 'T' for the same elements by columns.
func (t *Bidiagonal[T]) OrmbrP(rows, n int, a []T, lda int, taup []T, x []T, ldx int, work []T) {
	checkMatrix(n, n, len(a), lda)
	t.ormbr(rows, n, max(n-1, 0), 1, func(first, nb, cols int, v []T) {
		for i := range nb {
			row := v[i*cols:][:cols]
			clear(row[:i])
			row[i] = 1
			copy(row[i+1:], a[(first+i)*lda+first+i+2:][:cols-i-1])
		}
	}, taup, x, ldx, work)
}

// ormbr multiplies X by k reflectors. Reflector i is zero before element i+offset. block copies reflectors first to
// first+nb−1 to v, as rows of cols elements, without the elements in which all of them are zero.
func (t *Bidiagonal[T]) ormbr(rows, order, k, offset int, block func(first, nb, cols int, v []T), tau, x []T,
	ldx int, work []T) {
	checkMatrix(rows, order, len(x), ldx)
	if rows == 0 || k == 0 {
		return
	}
	blocks := (k + reflectorPanel - 1) / reflectorPanel
	size := reflectorPanel * (order + reflectorPanel)
	blockAt := func(b int) (first, nb, cols int, v, f []T) {
		first = b * reflectorPanel
		s := work[b*size:][:size]
		return first, min(reflectorPanel, k-first), order - first - offset, s[:reflectorPanel*order],
			s[reflectorPanel*order:]
	}
	t.crew(blocks, reflectorPanel*reflectorPanel+t.Work(order), func(b, _ int, work []T) {
		first, nb, cols, v, f := blockAt(b)
		block(first, nb, cols, v)
		gram, work := work[:reflectorPanel*reflectorPanel], work[reflectorPanel*reflectorPanel:]
		t.Gemm(blas.NoTrans, blas.Trans, nb, nb, cols, 1, v, cols, v, cols, 0, gram, reflectorPanel, work)
		factorOfBlock(nb, gram, tau[first:first+nb], f)
	})
	parts := (rows + reflectorRows - 1) / reflectorRows
	t.crew(parts, 2*reflectorPanel*reflectorRows+t.Work(max(reflectorRows, order)), func(part, _ int, work []T) {
		i := part * reflectorRows
		m := min(reflectorRows, rows-i)
		y, work := work[:reflectorPanel*m], work[reflectorPanel*m:]
		z, work := work[:reflectorPanel*m], work[reflectorPanel*m:]
		for b := blocks - 1; b >= 0; b-- {
			first, nb, cols, v, f := blockAt(b)
			target := x[i*ldx+first+offset:]
			// X −= ((X·Vᵀ)·Tᵀ)·V
			t.Gemm(blas.NoTrans, blas.Trans, m, nb, cols, 1, target, ldx, v, cols, 0, y, reflectorPanel, work)
			t.Gemm(blas.NoTrans, blas.Trans, m, nb, nb, 1, y, reflectorPanel, f, reflectorPanel, 0, z,
				reflectorPanel, work)
			t.Gemm(blas.NoTrans, blas.NoTrans, m, cols, nb, -1, z, reflectorPanel, v, cols, 1, target, ldx, work)
		}
	})
}
