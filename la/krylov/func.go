package krylov

import "context"

// Func is an [Operator] that is a function of the program instead of a matrix: its products are computed where they
// are needed, and nothing is stored.
//
//	laplace := krylov.Func{M: n, N: n, Mul: func(_ context.Context, dst, x []float64) error {
//		for i := range dst {
//			dst[i] = 2 * x[i] // minus its neighbours
//			…
//		}
//		return nil
//	}}
type Func struct {
	M, N int
	// Mul overwrites dst, M elements, with A·x, for x of N elements. An error ends the iteration, which returns it.
	Mul func(ctx context.Context, dst, x []float64) error
	// MulTrans overwrites dst, N elements, with Aᵀ·x. It may be nil but for [LSQR].
	MulTrans func(ctx context.Context, dst, x []float64) error
}

// ErrNoTranspose is the error of a product with the transpose of a [Func] without one.
const ErrNoTranspose Error = "krylov: the operator has no transpose: Func.MulTrans is nil"

// Dims implements [Operator].
func (f Func) Dims() (m, n int) { return f.M, f.N }

// MulVecTo implements [Operator].
func (f Func) MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error {
	switch {
	case !trans:
		return f.Mul(ctx, dst, x)
	case f.MulTrans == nil:
		return ErrNoTranspose
	}
	return f.MulTrans(ctx, dst, x)
}
