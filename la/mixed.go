package la

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/words"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// Refinement reports how a solver of mixed precision found its solution. After an error without a
// solution Fallback is not NoFallback, and BackwardError means nothing.
type Refinement struct {
	// Iterations is the number of refinements of the solution in float32; 0 if that was good enough.
	// It is LAPACK's iter where that is not negative.
	Iterations int
	// Fallback is the reason why the solver computed the solution in float64 instead; NoFallback if
	// it did not. After a fallback Iterations counts the failed refinements.
	Fallback Fallback
	// BackwardError is the largest ‖b−A·x‖∞ / (‖A‖∞·‖x‖∞+‖b‖∞) of all right-hand sides b, for the
	// returned solution: the smallest relative change of A and b that makes it exact. A solution in
	// float64 has 10⁻¹⁶ or little more, unless it is so small that its digits are lost. It is NaN if
	// b is not finite. It is correct also where the norm of A or a product with A would overflow.
	BackwardError float64
}

// Fallback is the reason why a solver of mixed precision used float64 only.
type Fallback uint8

// The reasons.
const (
	// UnknownFallback: there is no solution, and an error says why.
	UnknownFallback Fallback = iota
	// NoFallback: the solution is the refined one.
	NoFallback
	// OutOfRange: an element of A or b is not finite, one of A is out of the range of float32, or A
	// is so small that its inverse is.
	OutOfRange
	// NotFactored: in float32 A is not positive definite, or singular to working precision.
	NotFactored
	// NoConvergence: after 30 refinements the residual was too large, or it decreased too slowly to
	// become small by then.
	NoConvergence
)

var fallbacks = words.Of[Fallback]{"unknown", "none", "out of range", "not factored", "no convergence"}

func (f Fallback) String() string { return fallbacks.Name(f) }

// underflows is the norm in float32 below which the one in float64 may differ, as elements below
// 2⁻¹⁴⁹ become zero.
const underflows = 0x1p-100

// errRange says that a factor is out of the range of float32.
var errRange = errors.New("la: out of the range of float32")

// errDependent says that a factor in float32 shows a matrix to be singular.
var errDependent = errors.New("la: singular in float32")

// refiner solves a square system by refinement: x ← x + A⁻¹·(b − A·x), with A⁻¹ in float32 and
// the rest in float64. Its functions depend on the kind of A.
type refiner struct {
	ctx    context.Context
	engine *Engine
	n      int
	a      *blocked.Matrix[float64]   // Full or symmetric
	trans  blas.Transpose             // of a Full a
	diag   *blocked.Diagonal[float64] // of a symmetric a
	norm   float64                    // ‖A‖∞

	tasks bool // all is done by tasks: where the tiles of a are

	// factor factors A in float32 and sets norm. If that is impossible the error is errRange,
	// errDependent, a *NotPositiveDefiniteError or a *SingularError.
	factor func() error
	// correct overwrites d with A⁻¹·d in float32.
	correct func(d *blocked.Matrix[float32]) error
	// double returns A⁻¹·x in float64, and may overwrite x. It returns the solution also with a
	// finite mat.Condition.
	double func(x *blocked.Matrix[float64]) (*blocked.Matrix[float64], error)
}

// unsolved is the result of a solver that had nothing to solve, or met err before.
func unsolved(err error) (Refinement, error) {
	if err != nil {
		return Refinement{}, err
	}
	return Refinement{Fallback: NoFallback}, nil
}

// residual computes r = b − A·x.
func (s *refiner) residual(r, b, x *blocked.Matrix[float64]) error {
	mt, nt := r.Tiles()
	if s.tasks {
		return engine.Run(s.ctx, s.engine, func(p *blocked.Program[float64]) error {
			if err := p.CopyLeading(b, r); err != nil {
				return err
			}
			return s.submitProduct(p, x, r)
		})
	}
	r.CopyFrom(b, copying(s.engine))
	if mt == 1 && nt == 1 && engine.GoesDirect[float64](s.engine, engine.OpGemm, s.n) {
		a := s.a
		if s.diag != nil {
			a = s.diag.Tile(0)
		}
		params := &op.Gemm[float64]{TransA: s.transA(), TransB: blas.NoTrans, Alpha: -1, Beta: 1}
		return engine.Call(s.ctx, s.engine, engine.Ops[float64](s.engine).Op("gemm"), params, a.Tile(0, 0),
			x.Tile(0, 0), r.Tile(0, 0))
	}
	return engine.Run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return s.submitProduct(p, x, r) })
}

// submitProduct submits r = r − A·x.
func (s *refiner) submitProduct(p *blocked.Program[float64], x, r *blocked.Matrix[float64]) error {
	if s.diag != nil {
		return p.Symm(-1, s.a, s.diag, x, 1, r)
	}
	return p.Gemm(s.transA(), blas.NoTrans, -1, s.a, x, 1, r)
}

// transA returns the transposition of a as the product kernels take it.
func (s *refiner) transA() blas.Transpose { return scalar.Compose[float64](s.trans, blas.NoTrans) }

// assess returns the factor by which the residual of the worst column exceeds LAPACK's limit, and
// the backward error. The arguments are the largest magnitudes in the columns of the residual,
// the solution and b.
func (s *refiner) assess(rTop, xTop, bTop []float64) (excess, backward float64) {
	limit := s.norm * scalar.Eps[float64]() * math.Sqrt(float64(s.n))
	for j, r := range rTop {
		if r == 0 {
			continue // also if x and b are zero
		}
		// Products, and quotients by limit, may be out of range.
		excess = max(excess, r/xTop[j]/limit)
		backward = max(backward, 1/(s.norm*(xTop[j]/r)+bTop[j]/r))
	}
	return excess, backward
}

// checkFloat32Factors returns errDependent if A of order n, rounded to float32, is singular to
// working precision for its size. r holds its triangular factor in float32. Refinement would then
// return one of many solutions without a sign. Columns of different size are no reason:
// refinement is not affected.
//
// The tolerance grows with n. The condition number of a rounded singular matrix grows with n, and
// so does that of random matrices, which refinement can solve.
func checkFloat32Factors(r *blocked.Matrix[float32], n int, power float64, k norms, v inverse) error {
	at, diagonal := magnitudesOf(r), make([]float64, n)
	_, hi := diagonalOf(at, diagonal)
	if ratio, inRange := dependence[float32](at, diagonal, hi, power); !inRange || ratio >= 1/(8*scalar.Eps[float32]()) {
		return errDependent
	}
	err := checkConditionBy[float32](k, v, tolerance[float32]()*max(8, float64(n)/16))
	if _, singular := err.(mat.Condition); singular {
		return errDependent
	}
	return err
}

// factorizeFloat32 makes f the factorization of a matrix of order n, which it overwrites: factors is
// the matrix, and columns are the 1-norms of its columns. The error says why refinement cannot use it.
func factorizeFloat32(ctx context.Context, f *LU[float32], factors *blocked.Matrix[float32], n int,
	columns []float64) error {
	pivots := lu.NewPivots(n, n, factors.NB())
	if err := f.decompose(ctx, &reading[float32]{a: factors}, pivots, PartialPivoting); err != nil {
		return err
	}
	f.lu, f.pivots, f.norm = factors, pivots, newNorms(columns)
	if err := f.singular(); err != nil {
		return err
	}
	return checkFloat32Factors(factors, n, 1, f.norm, f.inverse(ctx))
}

// like returns a matrix of zeros of the shape of b, distributed if b is.
func like[T Element](s *refiner, b *blocked.Matrix[float64]) (*blocked.Matrix[T], error) {
	m, n := b.Dims()
	if !s.tasks {
		return blocked.New[T](blocked.Full, m, n, b.NB()), nil
	}
	return tiles.DistributedLike[T](s.engine.Options().Runtime, b, blocked.Full, m, n)
}

// columnMax returns the largest magnitude in each column of a.
func (s *refiner) columnMax(a *blocked.Matrix[float64]) ([]float64, error) {
	if !s.tasks {
		return a.ColumnMax(s.engine.Options().Workers), nil
	}
	var tops *blocked.Magnitudes[float64]
	err := engine.Run(s.ctx, s.engine, func(p *blocked.Program[float64]) (err error) {
		tops, err = p.ColumnMax(a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tops.Columns(), nil
}

// toSingle computes d = a·diag(scale) in float32.
func (s *refiner) toSingle(d *blocked.Matrix[float32], a *blocked.Matrix[float64], scale []float64) error {
	if !s.tasks {
		tiles.ScaleColumns(d, a, scale, false, s.engine.Options().Workers)
		return nil
	}
	return engine.Run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return blocked.Lag2s(p, a, scale, d) })
}

// addSingle computes x = x + d·diag(scale).
func (s *refiner) addSingle(x *blocked.Matrix[float64], d *blocked.Matrix[float32], scale []float64) error {
	if !s.tasks {
		tiles.ScaleColumns(x, d, scale, true, s.engine.Options().Workers)
		return nil
	}
	return engine.Run(s.ctx, s.engine, func(p *blocked.Program[float64]) error { return blocked.Lag2d(p, d, scale, true, x) })
}
