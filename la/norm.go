package la

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// Norm returns a norm of A: the largest sum of magnitudes of a column (lapack.MaxColumnSum, the
// 1-norm) or of a row (lapack.MaxRowSum, the ∞-norm), the square root of the sum of squares
// (lapack.Frobenius, gonum's mat.Norm 2), or the largest magnitude (lapack.MaxAbs, which is not a
// matrix norm).
//
// It sums in float64 for any T, on as many goroutines as e has workers; the result is the same
// for any number. It is 0 if A has no elements, NaN if an element is NaN, and +Inf if a sum
// overflows; the Frobenius norm is scaled. [NormInPlace] computes that of a distributed matrix.
// Norm panics with mat.ErrNormOrder if norm is none of the four, and with the error of
// NormInPlace.
//
// Reference: LAPACK xLANGE, xLANSY, xLANTR.
func Norm[T Element](e *Engine, a Source[T], norm lapack.MatrixNorm) float64 {
	switch norm {
	case lapack.MaxColumnSum, lapack.MaxRowSum, lapack.Frobenius, lapack.MaxAbs:
	default:
		panic(mat.ErrNormOrder)
	}
	const nb = 512 // enough tiles to share out, and what is read in a row is long
	workers := e.Options().Workers
	v, trans, ok := tiles.ViewOf(a, nb)
	if m, isMatrix := any(a).(*blocked.Matrix[T]); isMatrix && m.IsDistributed() {
		x, err := NormInPlace(context.Background(), e, m, norm)
		if err != nil {
			panic(err)
		}
		return x
	} else if isMatrix {
		v, trans = m, blas.NoTrans
	} else if !ok {
		v, _ = blocked.From(a, blocked.Full, nb, copying(e))
		trans = blas.NoTrans
	}
	if trans != blas.NoTrans {
		switch norm {
		case lapack.MaxColumnSum:
			norm = lapack.MaxRowSum
		case lapack.MaxRowSum:
			norm = lapack.MaxColumnSum
		}
	}
	return v.Norm(norm, workers)
}

// infinityNorm returns the norm of v that is the ∞-norm of op(v).
func infinityNorm(trans blas.Transpose) lapack.MatrixNorm {
	if trans != blas.NoTrans {
		return lapack.MaxColumnSum
	}
	return lapack.MaxRowSum
}

// NormInPlace returns a norm of a as [Norm] does, computed by tasks; on the nodes if a is
// distributed. The bits are those of Norm. The error is an *exec.TaskError, or that of the engine. It panics as Norm does.
//
// Reference: LAPACK xLANGE, xLANSY, xLANTR.
func NormInPlace[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T], norm lapack.MatrixNorm) (float64,
	error) {
	switch norm {
	case lapack.Frobenius:
		var squares *blocked.Magnitudes[T]
		err := engine.Run(ctx, e, func(p *blocked.Program[T]) (err error) {
			squares, err = p.Lassq(a)
			return err
		})
		if err != nil {
			return 0, err
		}
		return squares.Frobenius(), nil
	case lapack.MaxColumnSum, lapack.MaxRowSum, lapack.MaxAbs:
	default:
		panic(mat.ErrNormOrder)
	}
	s, err := sums(ctx, e, a)
	switch {
	case err != nil:
		return 0, err
	case norm == lapack.MaxColumnSum:
		return s.Norm1(), nil
	case norm == lapack.MaxRowSum:
		return s.NormInf(), nil
	}
	if x := s.Norm1(); x != x {
		return x, nil
	}
	return s.Max(), nil
}

// sums returns the sums of magnitudes of the columns and rows of a, computed by tasks.
func sums[T Element](ctx context.Context, e *Engine, a *blocked.Matrix[T]) (s *blocked.Sums[T], err error) {
	err = engine.Run(ctx, e, func(p *blocked.Program[T]) error {
		s, err = p.Asum(a)
		return err
	})
	return s, err
}
