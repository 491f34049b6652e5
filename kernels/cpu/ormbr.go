package cpu

// OrmbrQ overwrites the rows×m matrix X with X·Qᵀ. Gebrd or Ge2tb has left the n reflectors of Q in the m×n matrix a and in
// tauq. Rows that are left singular vectors of B become those of A. work holds at least ReflectorsWork(m, n) elements.
//
// Reference: LAPACK xORMBR, with VECT = 'Q', SIDE = 'L' and TRANS = 'N' for the same elements by columns.
func (t *Bidiagonal[T]) OrmbrQ(rows, m, n int, a []T, lda int, tauq []T, x []T, ldx int, work []T) {
	checkMatrix(m, n, len(a), lda)
	t.applyReflectors(rows, m, n, vectorsIn[T]{a: a, lda: lda, columns: true}, false, tauq, x, ldx, work)
}

// OrmbrP overwrites the rows×n matrix X with X·Pᵀ. Gebrd (b = 1), or Ge2tb for b superdiagonals, has left the n−b
// reflectors of P in the first n rows of a and in taup. Rows that are right singular vectors of B become those of A. work
// holds at least ReflectorsWork(n, n−b) elements.
//
// Reference: LAPACK xORMBR, with VECT = 'P', SIDE = 'L' and TRANS = 'T' for the same elements by columns.
func (t *Bidiagonal[T]) OrmbrP(rows, n, b int, a []T, lda int, taup []T, x []T, ldx int, work []T) {
	checkMatrix(n, n, len(a), lda)
	t.applyReflectors(rows, n, max(n-b, 0), vectorsIn[T]{a: a, lda: lda, offset: b}, false, taup, x, ldx, work)
}
