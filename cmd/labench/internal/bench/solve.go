package bench

import (
	"context"
	"errors"
	"math"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// equations is A·X = B with the unknown X.
type equations[T la.Element] struct {
	base[T]
	a, b, x la.General[T]
	cond    float64 // from la's warning; 0 without one
}

func (f *maker[T]) equations(a la.General[T]) equations[T] {
	nrhs := f.spec.NRHS
	return equations[T]{base: f.base, a: a, b: f.generate(matgen.Random, 1, a.Rows, nrhs, fullMatrix), x: empty[T](a.Cols, nrhs)}
}

func (p *equations[T]) reset() { spoil(p.x, p.workers) }

// warned turns a warning of la into a stored condition number. X exists and will be verified.
func (p *equations[T]) warned(err error) error {
	cond, err := warned(err)
	if cond != 0 {
		p.cond = cond
	}
	return err
}

// warned returns the condition number in a warning, or the error.
func warned(err error) (cond float64, _ error) {
	if c, ok := errors.AsType[mat.Condition](err); ok && !math.IsInf(float64(c), 1) {
		return float64(c), nil
	}
	return 0, err
}

// remainder computes B − A·X in B with gemm, panel by panel of A.
func (p *equations[T]) remainder(ctx context.Context, e *la.Engine, step func(i, n int)) error {
	m, n := p.a.Dims()
	return panels(n, step, func(k, w int) error {
		return subtract(ctx, e, blas.NoTrans, window(p.a, 0, k, m, w), window(p.x, k, 0, w, p.x.Cols), p.b)
	})
}

func (p *equations[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	a, b, x := p.plain(p.a), p.plain(p.b), p.plain(p.x)
	seen := p.probe(ctx, p.a.Rows, func(y []float64) []float64 { return difference(b.left(y), x.left(a.left(y))) })
	err := p.remainder(ctx, e, step)
	return verdict{residual: over(max(p.norm(p.b), seen), p.norm(p.a), p.norm(p.x), epsilon[T](), float64(p.a.Cols))}, err
}

// system is A·X = B, A n×n, B n×nrhs.
type system[T la.Element] struct {
	equations[T]
	method  Method
	mixed   bool
	used    Method        // the method that la.Solve chose
	refined la.Refinement // if mixed
}

func newSystem[T la.Element](f *maker[T]) problem {
	s := f.spec
	var a la.General[T]
	if s.Method == ByCholesky {
		half := f.symmetric(s.N)
		if !f.blank {
			mirror(half, f.workers)
		}
		a = la.General[T]{Rows: s.N, Cols: s.N, Stride: half.Stride, Data: half.Data}
	} else {
		a = f.first(s.N, s.N, fullMatrix)
	}
	used := s.Method
	if used == Auto {
		used = ByLU // until la reports its choice
	}
	return &system[T]{equations: f.equations(a), method: s.Method, mixed: s.Mixed, used: used}
}

func (p *system[T]) order() (op engine.Operation, n, longest int) {
	op = map[Method]engine.Operation{ByCholesky: engine.OpCholesky, ByLU: engine.OpLU, ByQR: engine.OpQR}[p.used]
	return op, p.a.Rows, p.a.Rows
}

func (p *system[T]) flops() float64 { return systemFlops(p.used, p.a.Rows, p.b.Cols) }

func (p *system[T]) on(e *la.Engine) (func(context.Context) error, error) {
	return func(ctx context.Context) error { return p.warned(p.solve(ctx, e)) }, nil
}

func (p *system[T]) solve(ctx context.Context, e *la.Engine) error {
	upper := la.Symmetric[T]{Uplo: blas.Upper, N: p.a.Rows, Stride: p.a.Stride, Data: p.a.Data}
	switch {
	case p.mixed:
		return p.refine(ctx, e)
	case p.method == ByCholesky:
		c := la.NewCholesky[T](e)
		if err := c.Factorize(upper, la.WithContext(ctx)); err != nil {
			return err
		}
		return c.SolveTo(p.x, p.b)
	case p.method == ByLU:
		f := la.NewLU[T](e)
		if err := f.Factorize(p.a, la.WithContext(ctx)); err != nil {
			return err
		}
		return f.SolveTo(p.x, false, p.b)
	case p.method == ByQR:
		q := la.NewQR[T](e)
		if err := q.Factorize(p.a, la.WithContext(ctx)); err != nil {
			return err
		}
		return q.SolveTo(p.x, false, p.b)
	}
	report, err := la.Solve[T](ctx, e, p.x, p.a, p.b)
	if p.used = ByLU; report.Method == la.MethodCholesky {
		p.used = ByCholesky
	}
	return err
}

// verify also checks the growth if the residual is too large.
func (p *system[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	v, err := p.equations.verify(ctx, e, step)
	if err != nil || p.used != ByLU || v.residual < Limit("solve") {
		return v, err
	}
	f := la.NewLU[T](e)
	if err := f.Factorize(p.a, la.WithContext(ctx)); err != nil {
		return v, err
	}
	v.growth = f.Growth()
	return v, nil
}

// refine solves in mixed precision. la supports that for float64 only.
func (p *system[T]) refine(ctx context.Context, e *la.Engine) (err error) {
	q, ok := any(p).(*system[float64])
	if !ok {
		return errors.New("bench: mixed precision is for f64") // Validate excludes this
	}
	if q.method == ByCholesky {
		upper := la.Symmetric[float64]{Uplo: blas.Upper, N: q.a.Rows, Stride: q.a.Stride, Data: q.a.Data}
		q.refined, err = la.SolveSPD(ctx, e, q.x, upper, q.b)
	} else {
		q.refined, err = la.SolveGeneral(ctx, e, q.x, q.a, q.b)
	}
	return err
}

// describe stores the method.
func (p *system[T]) describe(r *Result) {
	r.Method, r.NRHS, r.Condition = p.used.String(), p.b.Cols, p.cond
	if p.mixed {
		r.Refinement = refinement(p.refined)
	}
}

// lstsq is min ‖B − A·X‖, A m×n, B m×nrhs. For m < n it finds the solution with the smallest norm.
type lstsq[T la.Element] struct {
	equations[T]
	engine *la.Engine // made last
}

func newLstsq[T la.Element](f *maker[T]) problem {
	return &lstsq[T]{equations: f.equations(f.first(f.spec.M, f.spec.N, fullMatrix))}
}

func (p *lstsq[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpQR, mean(p.a.Rows, p.a.Cols), max(p.a.Rows, p.a.Cols)
}

func (p *lstsq[T]) flops() float64 { return lstsqFlops(p.a.Rows, p.a.Cols, p.b.Cols) }

func (p *lstsq[T]) on(e *la.Engine) (func(context.Context) error, error) {
	p.engine = e
	return func(ctx context.Context) error { return p.warned(la.LeastSquares[T](ctx, e, p.x, p.a, p.b)) }, nil
}

func (p *lstsq[T]) describe(r *Result) {
	r.NRHS, r.Condition = p.b.Cols, p.cond
	r.NB, r.Direct = la.NewQR[T](p.engine).TileSize(p.a.Dims())
}

// verify computes R = B − A·X in B. R must be orthogonal to the columns of A, or zero if there are more columns
// than rows. X solves a problem with A + E in place of A, ‖E‖ ≈ ε‖A‖, so RᵀA may be as large as EᵀR and AᵀEX.
// That allows for more than LAPACK's xQRT17 if A is ill conditioned and X large.
func (p *lstsq[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	m, n := p.a.Dims()
	if m < n {
		v, err := p.equations.verify(ctx, e, step)
		return verdict{checks: []Check{{Formula("solve"), v.residual, Limit("solve")}}}, err
	}
	nrhs := p.b.Cols
	normA, normB := p.norm(p.a), p.norm(p.b)
	a, b, x := p.plain(p.a), p.plain(p.b), p.plain(p.x)
	seen := p.probe(ctx, nrhs, func(y []float64) []float64 { return a.left(difference(b.right(y), a.right(x.right(y)))) })
	if err := p.remainder(ctx, e, step); err != nil {
		return verdict{}, err
	}
	g := empty[T](nrhs, n)
	err := la.Gemm[T](ctx, e, blas.Trans, blas.NoTrans, 1, p.b, p.a, 0, g)
	return verdict{residual: over(max(p.norm(g), seen), normA, normA*p.norm(p.x)+normB, epsilon[T](), float64(max(m, nrhs)))}, err
}
