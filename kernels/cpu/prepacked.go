package cpu

import "gonum.org/v1/gonum/blas"

// Operands that several products share may be packed once for all of them. Of
// blocks of KC columns of op(A), or rows of op(B), one follows the other, each as
// large packs it.

// Prepacks reports whether the operands of an m×n product over k may be packed
// before: if the product would pack them itself, and its blocks of B are as wide
// as B.
func (p *Packed[T]) Prepacks(m, n, k int) bool {
	return p.vectors.set() && k > 0 && n <= p.NC && p.isLarge(m, n, k)
}

// PrepacksSyrk reports whether the operand of an n×n product over k with its own
// transpose may be packed before.
func (p *Packed[T]) PrepacksSyrk(n, k int) bool { return p.Prepacks(n, n, k) && p.syrkLarge(n) }

// PacksA reports whether those products pack an op(A) of m rows, which lie lda apart in A. Others
// read it where it lies, and gain nothing if it was packed before.
func (p *Packed[T]) PacksA(trans blas.Transpose, m, lda int) bool {
	return p.packsA(operand[T]{ld: lda, trans: trans != blas.NoTrans}, m)
}

// SizeA returns the number of elements of an m×k op(A) when it is packed.
func (p *Packed[T]) SizeA(m, k int) int { return p.blocksOf(k) * p.stepA(m, k) }

// SizeB returns the number of elements of a k×n op(B) when it is packed.
func (p *Packed[T]) SizeB(n, k int) int { return p.blocksOf(k) * p.stepB(n, k) }

// blocksOf returns the number of blocks that k is cut into, and stepA and stepB
// the elements from one to the next.
func (p *Packed[T]) blocksOf(k int) int {
	kc := part(k, p.KC, 1)
	return (k + kc - 1) / kc
}

// PackA packs the m×k matrix op(A) into dst, of SizeA elements, for [Packed.Gemm]
// and [Packed.Syrk] of any dimensions for which Prepacks says so.
func (p *Packed[T]) PackA(dst []T, trans blas.Transpose, m, k int, a []T, lda int) {
	o, step, kc := operand[T]{x: a, ld: lda, trans: trans != blas.NoTrans}, p.stepA(m, k), part(k, p.KC, 1)
	for pc := 0; pc < k; pc += kc {
		x, rs, cs := o.from(0, pc)
		p.packA(dst[:step], x, rs, cs, m, min(kc, k-pc))
		dst = dst[step:]
	}
}

// PackB packs the k×n matrix op(B) into dst, of SizeB elements, as PackA does A.
func (p *Packed[T]) PackB(dst []T, trans blas.Transpose, n, k int, b []T, ldb int) {
	o, step, kc := operand[T]{x: b, ld: ldb, trans: trans != blas.NoTrans}, p.stepB(n, k), part(k, p.KC, 1)
	for pc := 0; pc < k; pc += kc {
		x, rs, cs := o.from(pc, 0)
		p.packAllB(dst[:step], x, rs, cs, n, min(kc, k-pc))
		dst = dst[step:]
	}
}

// GemmPacked is Gemm with operands that were packed before: ap by PackA and bp by
// PackB of the same routines, nil for one that was not. The results are the same,
// bit for bit. Prepacks must have said that it may be.
func (p *Packed[T]) GemmPacked(transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, ap []T, b []T, ldb int, bp []T, beta T, c []T, ldc int, work []T) {
	if gemmTrivial(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		return
	}
	p.large(blas.All, operand[T]{a, lda, transA != blas.NoTrans, ap}, operand[T]{b, ldb, transB != blas.NoTrans, bp}, m, n, k, alpha, beta, c, ldc, work)
}

// SyrkPacked is Syrk as [Packed.GemmPacked] is Gemm: ap is op(A) packed by PackA,
// bp its transpose packed by PackB. PrepacksSyrk must have said that it may be.
func (p *Packed[T]) SyrkPacked(uplo blas.Uplo, trans blas.Transpose, n, k int, alpha T, a []T, lda int, ap, bp []T, beta T, c []T, ldc int, work []T) {
	if syrkTrivial(uplo, trans, n, k, alpha, a, lda, beta, c, ldc) {
		return
	}
	t := trans != blas.NoTrans
	p.large(uplo, operand[T]{a, lda, t, ap}, operand[T]{a, lda, !t, bp}, n, n, k, alpha, beta, c, ldc, work)
}
