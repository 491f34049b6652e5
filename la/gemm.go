package la

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// Mul computes dst = a·b on the default engine. It is [Gemm] with alpha 1 and
// beta 0: dst may share memory with a or b, and an empty *mat.Dense takes the
// shape of the product.
func Mul[T Element](dst Destination[T], a, b Source[T]) error {
	m, k := a.Dims()
	if kb, n := b.Dims(); k != kb {
		return &ShapeError{"Mul", fmt.Sprintf("a is %d×%d and b %d×%d", m, k, kb, n)}
	}
	return gemmFor(context.Background(), nil, callNames{"Mul", "dst"}, blas.NoTrans, blas.NoTrans, 1, a, b, 0, dst)
}

// Gemm computes
//
//	C = alpha·op(A)·op(B) + beta·C,  op(X) = X or Xᵀ,
//
// where op(A) is m×k, op(B) k×n and C m×n. With alpha = 0 it reads neither A nor B; with beta = 0
// it does not read C, and an empty *mat.Dense takes the shape. C may share memory with A or B, at
// the cost of a copy. It uses matrices in row-major memory in place (General, mat.Dense, their
// transposes) and copies others.
//
// NaN and infinities propagate as in BLAS. The error is a *ShapeError, which leaves C unchanged;
// the cause of the context's end, which leaves C unchanged or undefined; an *exec.TaskError that
// names the version that failed; or exec.ErrClosed.
//
// Reference: BLAS xGEMM.
func Gemm[T Element](ctx context.Context, e *Engine, transA, transB blas.Transpose, alpha T, a, b Source[T], beta T,
	c Destination[T]) error {
	return gemmFor(ctx, e, callNames{"Gemm", "C"}, transA, transB, alpha, a, b, beta, c)
}

// callNames are the names that errors use: of the called function, and of the operand that it
// overwrites.
type callNames struct{ op, dst string }

// gemmFor is Gemm with the names of the called function.
func gemmFor[T Element](ctx context.Context, e *Engine, by callNames, transA, transB blas.Transpose, alpha T,
	a, b Source[T], beta T, c Destination[T]) error {
	if gemmDirect(ctx, e, transA, transB, alpha, a, b, beta, c) {
		return nil
	}
	if err := checkTrans(by.op, transA, transB); err != nil {
		return err
	}
	m, k := dims(a, transA)
	kb, n := dims(b, transB)
	if k != kb {
		return &ShapeError{by.op, fmt.Sprintf("op(A) is %d×%d and op(B) %d×%d", m, k, kb, n)}
	}
	if err := e.Ready(ctx); err != nil {
		return err
	}
	to, err := sink(by.op, by.dst, c)
	if err != nil {
		return err
	}
	if beta == 0 {
		shape[T](to, m, n)
	}
	if r, s := c.Dims(); r != m || s != n {
		return &ShapeError{by.op, fmt.Sprintf("the product is %d×%d and %s %d×%d", m, n, by.dst, r, s)}
	}
	if m == 0 || n == 0 || (alpha == 0 || k == 0) && beta == 1 {
		return nil
	}
	if alpha == 0 {
		k, transA, transB = 0, blas.NoTrans, blas.NoTrans
		a, b = General[T]{Rows: m, Stride: 1}, General[T]{Cols: n, Stride: n}
	}
	size := engine.MeanOrder(m, n)
	thin := min(m, n) == 1
	nb, one := engine.ProductTileSize[T](e, engine.OpGemm, size, m, n, k)
	if thin {
		nb, one = engine.VectorTile[T](e, max(m, n), k)
	}
	if d := distributedNB[T](c, a, b); d > 0 {
		one, nb = false, d
	} else if one {
		if done, err := directGemm(ctx, e, transA, transB, alpha, a, b, beta, to); done {
			return err
		}
	} else if !thin {
		nb = engine.NarrowTile(e, nb, size, max(m, n, k))
	}
	vc, in, back := writable[T](to, blocked.Full, nb, beta != 0, e.Options().Workers)
	va, transA := readable(a, transA, nb, in, e.Options().Workers)
	vb, transB := readable(b, transB, nb, in, e.Options().Workers)
	err = execute(ctx, e, one, func(s *executor[T]) {
		if s.p != nil {
			s.err = s.p.Gemm(transA, transB, alpha, va, vb, beta, vc)
			return
		}
		params := &op.Gemm[T]{TransA: transA, TransB: transB, Alpha: alpha, Beta: beta}
		s.call(s.ops().Op("gemm"), params, onlyTile(va), onlyTile(vb), onlyTile(vc))
	})
	if err == nil {
		back()
	}
	return err
}

// Syrk computes, for a symmetric n×n matrix C,
//
//	C = alpha·A·Aᵀ + beta·C (trans = NoTrans, A n×k),
//	C = alpha·Aᵀ·A + beta·C (trans = Trans, A k×n).
//
// With alpha = 0 it does not read A; with beta = 0 it does not read C, and an empty *mat.SymDense
// takes the shape. It reads and writes only the stored triangle of a C in memory. C may share
// memory with A, at the cost of a copy.
//
// The errors are those of [Gemm].
//
// Reference: BLAS xSYRK.
func Syrk[T Element](ctx context.Context, e *Engine, trans blas.Transpose, alpha T, a Source[T], beta T,
	c SymmetricSink[T]) error {
	if err := checkTrans("Syrk", trans); err != nil {
		return err
	}
	n, k := dims(a, trans)
	if err := e.Ready(ctx); err != nil {
		return err
	}
	if beta == 0 {
		shape[T](c, n, n)
	}
	if s := c.SymmetricDim(); s != n {
		return &ShapeError{"Syrk", fmt.Sprintf("the product is %d×%d and C %d×%d", n, n, s, s)}
	}
	if n == 0 || (alpha == 0 || k == 0) && beta == 1 {
		return nil
	}
	if alpha == 0 {
		k, trans = 0, blas.NoTrans
		a = General[T]{Rows: n, Stride: 1}
	}
	nb, one := engine.ProductTileSize[T](e, engine.OpSyrk, n, n, n, k)
	if d := distributedNB[T](c, a); d > 0 {
		one, nb = false, d
	} else if !one {
		nb = engine.NarrowTile(e, nb, n, max(n, k))
	}
	vc, in, back := writable[T](c, blocked.SymLower, nb, beta != 0, e.Options().Workers)
	va, trans := readable(a, trans, nb, in, e.Options().Workers)
	err := execute(ctx, e, one, func(s *executor[T]) {
		if s.p != nil {
			s.err = s.p.Syrk(trans, alpha, va, beta, vc)
			return
		}
		params := &op.Syrk[T]{Uplo: vc.Kind().Uplo(), Trans: trans, Alpha: alpha, Beta: beta}
		s.call(s.ops().Op("syrk"), params, onlyTile(va), onlyTile(vc))
	})
	if err == nil {
		back()
	}
	return err
}

// Trsm solves a triangular system with many right-hand sides in place,
//
//	B = alpha·op(A)⁻¹·B (side = Left, A m×m),
//	B = alpha·B·op(A)⁻¹ (side = Right, A n×n),
//
// where B is m×n. A itself says which triangle it is, and whether its diagonal is all ones. A
// zero on the diagonal gives infinities and NaN, as in BLAS; with alpha = 0 neither A nor B is
// read. B may share memory with A, at the cost of a copy.
//
// The errors are those of [Gemm]; B stands for its C.
//
// Reference: BLAS xTRSM.
func Trsm[T Element](ctx context.Context, e *Engine, side blas.Side, trans blas.Transpose, alpha T,
	a TriangularSource[T], b Destination[T]) error {
	if err := checkTrans("Trsm", trans); err != nil {
		return err
	}
	if side != blas.Left && side != blas.Right {
		return &ShapeError{"Trsm", fmt.Sprintf("side is %q, want Left or Right", rune(side))}
	}
	m, n := b.Dims()
	order := m
	if side == blas.Right {
		order = n
	}
	if na, _ := a.Triangle(); na != order {
		return &ShapeError{"Trsm", fmt.Sprintf("A is %d×%d and B %d×%d", na, na, m, n)}
	}
	if err := e.Ready(ctx); err != nil {
		return err
	}
	if m == 0 || n == 0 {
		return nil
	}
	if alpha == 0 {
		return gemmFor[T](ctx, e, callNames{"Trsm", "B"}, blas.NoTrans, blas.NoTrans, 0,
			General[T]{Rows: m, Stride: 1}, General[T]{Cols: n, Stride: n}, 0, b)
	}
	nb, one := engine.ProductTileSize[T](e, engine.OpTrsm, order, m, n, order)
	if d := distributedNB[T](b, a); d > 0 {
		one, nb = false, d
	} else if !one {
		nb = engine.NarrowTile(e, nb, order, max(m, n))
	}
	to, err := sink("Trsm", "B", b)
	if err != nil {
		return err
	}
	vb, in, back := writable[T](to, blocked.Full, nb, true, e.Options().Workers)
	va, trans := readableAs[T](a, triangleKind(a), trans, nb, in, e.Options().Workers)
	uplo := va.Kind().Uplo()
	err = execute(ctx, e, one, func(s *executor[T]) {
		if s.p != nil {
			s.err = s.p.Trsm(side, uplo, trans, blas.NonUnit, alpha, va, vb)
			return
		}
		params := &op.Trsm[T]{Side: side, Uplo: uplo, Trans: trans, Diag: blas.NonUnit, Alpha: alpha}
		s.call(s.ops().Op("trsm"), params, onlyTile(va), onlyTile(vb))
	})
	if err == nil {
		back()
	}
	return err
}

// checkTrans returns a *ShapeError if one of trans is not a transposition.
func checkTrans(op string, trans ...blas.Transpose) error {
	for _, t := range trans {
		if t != blas.NoTrans && t != blas.Trans && t != blas.ConjTrans {
			return &ShapeError{op, fmt.Sprintf("transposition is %q, want NoTrans or Trans", rune(t))}
		}
	}
	return nil
}

// dims returns the shape of op(a).
func dims[T Element](a Source[T], trans blas.Transpose) (r, c int) {
	r, c = a.Dims()
	if trans != blas.NoTrans {
		r, c = c, r
	}
	return r, c
}
