package cpu

import "github.com/tessera-la/tessera/kernels/cpu/isa"

// getf2Order is the largest order that [Packed.Getf2] takes: from there on panels are faster (47 6.3 and 6.6 µs, 56 9.1 and
// 8.3, 64 12 to 18 and 10; Zen 4, 2026-12-01).
const getf2Order = 48

// Getf2 is [LU.Getrf] of an n×n matrix of up to getf2Order rows in one block, or false if it cannot: n is larger, or the
// instruction set has no kernel for it. No element is NaN. It eliminates two columns at a time, and then updates the rest by
// a kernel.
//
// Reference: LAPACK xGETF2.
func (p *Packed[T]) Getf2(n int, a []T, lda int, ipiv []int) (info int, done bool) {
	if n > getf2Order || p.kernels == nil || p.kernels.Ger2 == nil {
		return 0, false
	}
	checkMatrix(n, n, len(a), lda)
	var columns [2][getf2Order]T // what is below the pivots
	for k := 0; k < n; k++ {
		second := k % 2
		column := columns[second][:n]
		if second == 1 { // the first column of the pair has not changed this one yet
			l, u := columns[0][:n], a[(k-1)*lda+k]
			for i := k; i < n; i++ {
				a[i*lda+k] -= l[i] * u
			}
		}
		pivot, top := k, abs(a[k*lda+k])
		for i := k; i < n; i++ {
			v := a[i*lda+k]
			column[i] = v
			if v = abs(v); v > top {
				pivot, top = i, v
			}
		}
		ipiv[k] = pivot
		if pivot != k {
			x, y := a[k*lda:k*lda+n], a[pivot*lda:pivot*lda+n]
			for j, v := range x {
				x[j], y[j] = y[j], v
			}
			for c := range second + 1 {
				columns[c][k], columns[c][pivot] = columns[c][pivot], columns[c][k]
			}
		}
		if top != 0 {
			d := column[k]
			for i := k + 1; i < n; i++ {
				column[i] /= d
				a[i*lda+k] = column[i]
			}
		} else if info == 0 {
			info = k + 1
		}
		if second == 0 || k == n-1 {
			continue
		}
		first, row := a[(k-1)*lda+k+1:(k-1)*lda+n], a[k*lda+k+1:k*lda+n]
		axpyWith(&p.kernels.Vectors, -columns[0][k], first, row)
		for j := k + 1; j < n; j += p.kernels.Strip {
			p.kernels.Ger2(isa.Hide(&a[(k+1)*lda+j]), lda, n-k-1, min(p.kernels.Strip, n-j), isa.Hide(&columns[0][k+1]),
				isa.Hide(&first[j-k-1]), isa.Hide(&columns[1][k+1]), isa.Hide(&row[j-k-1]))
		}
	}
	return info, true
}
