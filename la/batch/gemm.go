package batch

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// Gemm computes C = alpha·op(A)·op(B) + beta·C for each A, B and C, where op(A) is m×k, op(B) k×n and C m×n. With beta = 0
// it does not read C. C must not share memory with A or B.
//
// The error is a *la.ShapeError, the cause of the context's end, or exec.ErrClosed. Reference: BLAS xGEMM.
func Gemm[T la.Element](ctx context.Context, e *la.Engine, transA, transB blas.Transpose, alpha T, a, b Matrices[T], beta T,
	c Matrices[T]) error {
	if err := complete("batch.Gemm", "abc", &a, &b, &c); err != nil {
		return err
	}
	for _, t := range [...]blas.Transpose{transA, transB} {
		if t != blas.NoTrans && t != blas.Trans && t != blas.ConjTrans {
			return &la.ShapeError{Op: "batch.Gemm", Detail: fmt.Sprintf("transposition is %q, want NoTrans or Trans", rune(t))}
		}
	}
	ta, tb := transA != blas.NoTrans, transB != blas.NoTrans
	m, k, kb, n := a.Rows, a.Cols, b.Rows, b.Cols
	if ta {
		m, k = k, m
	}
	if tb {
		kb, n = n, kb
	}
	if k != kb || c.Rows != m || c.Cols != n {
		return &la.ShapeError{Op: "batch.Gemm", Detail: fmt.Sprintf("op(a) is %d×%d, op(b) %d×%d and c %d×%d", m, k, kb, n, c.Rows, c.Cols)}
	}
	if m == 0 || n == 0 {
		return nil
	}
	tiny := k > 0 && max(m, n, k) <= op.LoopGemm
	return run(ctx, e, a.Count, interleavedUpTo+1, 2*float64(m)*float64(n)*float64(k), func(w *worker[T], lo, hi int, _ bool, _ []int) {
		for p := lo; p < hi; p++ {
			if tiny {
				op.SmallGemm(ta, tb, m, n, k, alpha, a.at(p), a.Stride, b.at(p), b.Stride, beta, c.at(p), c.Stride)
			} else {
				w.small.Gemm(ta, tb, m, n, k, alpha, a.at(p), max(1, a.Stride), b.at(p), max(1, b.Stride), beta, c.at(p), c.Stride)
			}
		}
	}, nil)
}
