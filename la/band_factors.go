package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// bandFactors are the factors of an n×n band matrix: of PLU, or of UᵀU.
type bandFactors[T Element] struct {
	engine    *Engine
	valid     bool
	symmetric bool             // UᵀU
	turned    bool             // of Aᵀ
	kl, ku    int              // of A; kl is 0 if it is symmetric
	lower     int              // the diagonals that a stores below the main one
	a         *kernels.Tile[T] // a cpu.Band. Its memory is used again.
	pivots    kernels.Pivots
	norm      norms
	exp       int // they are the factors of A divided by two to this power
}

// bandDirect is the number of diagonals up to which a factorization is a call of one kernel by the caller's goroutine: no
// other unit would have anything to do.
const bandDirect = 192

// reset drops the factors but for their memory.
func (f *bandFactors[T]) reset() { f.valid, f.norm, f.exp = false, norms{}, 0 }

// check panics with ErrNotFactorized if there are no factors.
func (f *bandFactors[T]) check() {
	if !f.valid {
		panic(ErrNotFactorized)
	}
}

// room makes f.a an n×n band with lower and upper diagonals.
func (f *bandFactors[T]) room(n, lower, upper int) {
	width := lower + upper + 1
	if f.a == nil || cap(f.a.Data) < n*width {
		f.a = &kernels.Tile[T]{Data: make([]T, n*width)}
	}
	f.a = &kernels.Tile[T]{Rows: n, Cols: width, Stride: width, Data: f.a.Data[:n*width]}
	f.lower = lower
}

// read reads a into f.a and scales it, if it is near the ends of the range.
func (f *bandFactors[T]) read(ctx context.Context, a Source[T]) error {
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	columns, top, err := f.load(a)
	if err != nil {
		return err
	}
	if f.exp = scaleExponent[T](top); f.exp != 0 {
		for i, v := range f.a.Data {
			f.a.Data[i] = T(math.Ldexp(float64(v), -f.exp))
		}
		for j, s := range columns {
			columns[j] = math.Ldexp(s, -f.exp)
		}
	}
	f.norm = newNorms(columns)
	return nil
}

// load copies a to f.a. It returns the sums of magnitudes of A's columns and the largest magnitude, or a
// *NonFiniteError.
func (f *bandFactors[T]) load(a Source[T]) (columns []float64, top float64, err error) {
	n := f.a.Rows
	row := bandRows(a)
	columns = make([]float64, n)
	clear(f.a.Data)
	for i := range n {
		first, end := max(0, i-f.kl), min(n, i+f.ku+1)
		to := f.a.Row(i)[f.lower+first-i:][:end-first]
		row(i, first, to)
		for c, v := range to {
			s, j := math.Abs(float64(v)), first+c
			if s-s != 0 {
				if f.turned {
					i, j = j, i
				}
				return nil, 0, &NonFiniteError{Row: i, Col: j}
			}
			top = max(top, s)
			if !f.turned {
				columns[j] += s
			}
			if f.turned || f.symmetric && j > i {
				columns[i] += s
			}
		}
	}
	return columns, top, nil
}

// call computes with the factors, or makes them.
func (f *bandFactors[T]) call(ctx context.Context, name string, params any, args ...any) error {
	o := engine.Ops[T](f.engine).Op(name)
	return engine.CallTeam(ctx, f.engine, max(f.kl, f.ku) <= bandDirect, o, params, args...)
}

// cholesky makes the factor of a, which has k diagonals on each side.
func (f *bandFactors[T]) cholesky(ctx context.Context, a SymmetricSource[T], k int) error {
	f.reset()
	f.symmetric, f.kl, f.ku = true, 0, k
	params := &op.Pbtrf{K: k}
	f.room(a.SymmetricDim(), 0, params.Room())
	if err := f.read(ctx, a); err != nil {
		return err
	}
	if f.a.Rows > 0 {
		if err := f.call(ctx, "pbtrf", params, f.a); err != nil {
			return err
		}
	}
	f.valid = context.Cause(ctx) == nil
	return context.Cause(ctx)
}

// lu makes the factors of a.
func (f *bandFactors[T]) lu(ctx context.Context, a Source[T], kl, ku int) error {
	f.reset()
	f.symmetric, f.kl, f.ku = false, kl, ku
	n, _ := a.Dims()
	params := &op.Gbtrf{KL: kl, KU: ku}
	lower, upper := params.Room()
	f.room(n, lower, upper)
	if err := f.read(ctx, a); err != nil {
		return err
	}
	f.pivots.Rows, f.pivots.Info = f.pivots.Rows[:0], 0
	if n > 0 {
		if err := f.call(ctx, "gbtrf", params, f.a, &f.pivots); err != nil {
			return err
		}
	}
	f.valid = context.Cause(ctx) == nil
	return context.Cause(ctx)
}

// singular returns a *SingularError if U has a zero on its diagonal.
func (f *bandFactors[T]) singular() error {
	if k := f.pivots.Info; k != 0 && !f.symmetric {
		return &SingularError{Column: k, diagonal: f.kl == 0}
	}
	return nil
}

// solve overwrites x with op(A)⁻¹·x.
func (f *bandFactors[T]) solve(ctx context.Context, trans blas.Transpose, x *blocked.Matrix[T]) error {
	return withScaledColumns(ctx, f.engine, x, f.exp, func() error {
		mt, nt := x.Tiles()
		if mt == 0 || nt == 0 {
			return nil
		}
		for j := range nt {
			if err := f.solveTile(ctx, trans, x.Tile(0, j)); err != nil {
				return err
			}
		}
		return nil
	})
}

// bandShare is the number of right-hand sides that one goroutine solves with, at least.
const bandShare = 32

// solveTile overwrites x with op(A)⁻¹·x, for A divided by 2^exp.
func (f *bandFactors[T]) solveTile(ctx context.Context, trans blas.Transpose, x *kernels.Tile[T]) error {
	if f.turned {
		trans = scalar.Compose[T](trans, blas.Trans)
	}
	workers := min(f.engine.Options().Workers, x.Cols/bandShare)
	if f.engine.Options().Retries > 0 {
		workers = 1
	}
	errs := make([]error, max(workers, 1))
	inParallel(f.a.Rows*f.a.Cols*x.Cols, workers, func(first, stride int) {
		part := (x.Cols + stride - 1) / stride
		from := (first - 1) * part
		to := min(from+part, x.Cols)
		if from >= to {
			return
		}
		b := *x
		b.Data, b.Cols = x.Data[from:], to-from
		o := engine.Ops[T](f.engine)
		if f.symmetric {
			errs[first-1] = engine.Call(ctx, f.engine, o.Op("pbtrs"), &op.Pbtrs{K: f.ku}, f.a, &b)
			return
		}
		errs[first-1] = engine.Call(ctx, f.engine, o.Op("gbtrs"), &op.Gbtrs{KL: f.kl, KU: f.ku, Trans: trans}, f.a, &f.pivots, &b)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// solveTo is SolveTo of the factorizations.
func (f *bandFactors[T]) solveTo(ctx context.Context, trans blas.Transpose, dst Destination[T], b Source[T]) error {
	n := f.a.Rows
	to, err := checkSystem("SolveTo", n, n, dst, b)
	if err != nil {
		return err
	}
	_, nrhs := b.Dims()
	if n == 0 || nrhs == 0 {
		return nil
	}
	condition := f.conditionError(ctx)
	if noSolution(condition) {
		return condition
	}
	x, _ := blocked.From(b, blocked.Full, max(n, nrhs), copying(f.engine))
	if err := f.solve(ctx, trans, x); err != nil {
		return err
	}
	if err := inRange(ctx, f.engine, x, b); err != nil {
		return err
	}
	x.CopyTo(to, f.engine.Options().Workers)
	return condition
}

// inverse returns A⁻¹ for the condition estimators.
func (f *bandFactors[T]) inverse(ctx context.Context) inverse {
	apply := func(trans blas.Transpose) func(x ...[]float64) error {
		return func(x ...[]float64) error {
			return convertVectors(x, func(x [][]T) error {
				for _, v := range x {
					if err := f.solveTile(ctx, trans, &kernels.Tile[T]{Rows: len(v), Cols: 1, Stride: 1, Data: v}); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return inverse{n: f.a.Rows, apply: apply(blas.NoTrans), transposed: apply(blas.Trans)}
}

// conditionError returns a *SingularError, a mat.Condition if A is singular to working precision, or an error of the
// estimator's solutions.
func (f *bandFactors[T]) conditionError(ctx context.Context) error {
	if err := f.singular(); err != nil {
		return err
	}
	for i := range f.a.Rows {
		if v := f.diagonal(i); v == 0 || v-v != 0 {
			return mat.Condition(math.Inf(1))
		}
	}
	return checkCondition[T](f.norm, f.inverse(ctx))
}

// diagonal returns element (i, i) of U.
func (f *bandFactors[T]) diagonal(i int) float64 { return float64(f.a.Row(i)[f.lower]) }

// cond is Cond of the factorizations.
func (f *bandFactors[T]) cond(ctx context.Context) float64 {
	return condOf[T](ctx, f.a.Rows, f.singular(), f.norm, f.inverse)
}

// logDet returns the logarithm of the magnitude of the determinant of A, and its sign.
func (f *bandFactors[T]) logDet() (log, sign float64) {
	sign = 1
	for i := range f.a.Rows {
		u := f.diagonal(i)
		switch {
		case u == 0:
			return math.Inf(-1), 0
		case u < 0:
			sign = -sign
		}
		log += math.Log(math.Abs(u))
	}
	if f.symmetric {
		log *= 2
	} else {
		for i, p := range f.pivots.Rows {
			if p != i {
				sign = -sign
			}
		}
	}
	return log + float64(f.a.Rows)*float64(f.exp)*math.Ln2, sign
}

// solveVecTo is SolveVecTo of the factorizations.
func (f *bandFactors[T]) solveVecTo(ctx context.Context, trans bool, dst VectorSink[T], b VectorSource[T]) error {
	return solveVector(ctx, "A", f.a.Rows, f.a.Rows, dst, b, func(ctx context.Context, dst Destination[T], b Source[T]) error {
		return f.solveTo(ctx, transposition(trans), dst, b)
	})
}
