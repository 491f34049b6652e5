package cpu

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// gerBlock is the number of rows that a kernel changes in a call: all strips of them are in the second-level cache.
const gerBlock = 64

// Ger computes
//
//	A += alpha·x·yᵀ
//
// for an m×n A. x and y are contiguous, have m and n elements, and share none with A. Each element has the same bits
// whatever is around it.
//
// Reference: BLAS xGER.
func (p *Packed[T]) Ger(m, n int, alpha T, x, y, a []T, lda int) {
	checkMatrix(m, n, len(a), lda)
	checkMatrix(1, m, len(x), max(1, m))
	checkMatrix(1, n, len(y), max(1, n))
	if m == 0 || n == 0 {
		return
	}
	v := p.level1()
	if v.Ger == nil {
		for i, xi := range x[:m] {
			axpyWith(v, alpha*xi, y[:n], a[i*lda:][:n])
		}
		return
	}
	var near [gerBlock]T
	for i := 0; i < m; i += gerBlock {
		xs := near[:min(gerBlock, m-i)]
		for r := range xs {
			xs[r] = alpha * x[i+r]
		}
		for lo := 0; lo < n; lo += v.Strip {
			v.Ger(isa.Hide(&a[i*lda+lo]), lda, len(xs), min(v.Strip, n-lo), isa.Hide(&xs[0]), isa.Hide(&y[lo]))
		}
	}
}
