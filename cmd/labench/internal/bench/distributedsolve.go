package bench

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// distributedSystem is solve and lstsq on matrices that exist only on the nodes of a cluster: A·X = B, or min
// ‖B − A·X‖, with X in c.
type distributedSystem[T la.Element] struct {
	distributed[T]
	used    Method // of solve: the method that la chose
	cond    float64
	refined la.Refinement
}

// symmetric reports whether A is symmetric. Then only one half of it is stored.
func (p *distributedSystem[T]) symmetric() bool { return p.s.Method == ByCholesky }

func (p *distributedSystem[T]) order() (op engine.Operation, n, longest int) {
	switch {
	case p.s.Op == "lstsq" || p.s.Method == ByQR:
		return engine.OpQR, mean(p.s.M, p.s.N), max(p.s.M, p.s.N)
	case p.symmetric():
		return engine.OpCholesky, p.s.N, p.s.N
	}
	return engine.OpLU, p.s.N, p.s.N
}

func (p *distributedSystem[T]) flops() float64 {
	if p.s.Op == "lstsq" {
		return lstsqFlops(p.s.M, p.s.N, p.s.NRHS)
	}
	return systemFlops(p.used, p.s.N, p.s.NRHS)
}

// reset makes A and B. B is omitted if X takes its place.
func (p *distributedSystem[T]) reset() {
	switch {
	case p.a == nil:
	case p.s.Mixed:
		p.random(p.s.Seed, p.a)
		p.random(p.s.Seed+1, p.c)
	default:
		p.random(p.s.Seed, p.a, p.b)
	}
}

func (p *distributedSystem[T]) on(e *la.Engine) (func(context.Context) error, error) {
	p.e = e
	op, n, longest := p.order()
	nb, _ := engine.TileSize[T](e, op, n, longest)
	if p.speeds == nil {
		p.calibrate(nb)
	}
	kind := blocked.Full
	if p.used = p.s.Method; p.used == Auto {
		p.used = ByLU
	}
	if p.symmetric() {
		kind = blocked.SymUpper
	}
	p.a, p.b, p.c = p.matrix(kind, p.s.M, p.s.N, nb), p.matrix(blocked.Full, p.s.M, p.s.NRHS, nb), p.matrix(blocked.Full, p.s.N, p.s.NRHS, nb)
	return func(ctx context.Context) error {
		if p.err != nil {
			return p.err
		}
		var err error
		p.cond, err = warned(p.solve(ctx))
		return err
	}, p.err
}

func (p *distributedSystem[T]) solve(ctx context.Context) (err error) {
	switch {
	case p.s.Mixed:
		q := any(p).(*distributedSystem[float64]) // Validate ensures this type
		if p.symmetric() {
			q.refined, err = la.SolveSPD(ctx, q.e, q.c, q.a, q.c, la.InPlace())
		} else {
			q.refined, err = la.SolveGeneral(ctx, q.e, q.c, q.a, q.c, la.InPlace())
		}
		return err
	case p.s.Op == "lstsq" || p.s.Method == ByQR:
		return la.LeastSquares[T](ctx, p.e, p.c, p.a, p.b)
	}
	report, err := la.Solve[T](ctx, p.e, p.c, p.a, p.b)
	if p.used = ByLU; report.Method == la.MethodCholesky {
		p.used = ByCholesky
	}
	return err
}

// describe stores the method.
func (p *distributedSystem[T]) describe(r *Result) {
	r.NRHS, r.Condition = p.s.NRHS, p.cond
	if p.s.Op == "solve" {
		r.Method = p.used.String()
	}
	if p.s.Mixed {
		r.Refinement = refinement(p.refined)
	}
}

// verify computes R = B − A·X in B and, if X need not solve the system, RᵀA.
func (p *distributedSystem[T]) verify(ctx context.Context, _ *la.Engine, step func(i, n int)) (v verdict, err error) {
	e, m, n, nb := p.e, p.s.M, p.s.N, p.a.NB()
	p.random(p.s.Seed, p.a) // the fallback of mixed precision overwrites A
	p.random(p.s.Seed+1, p.b)
	if p.err != nil {
		return v, p.err
	}
	norm := func(a *blocked.Matrix[T]) (norm float64) {
		if err == nil {
			norm, err = la.NormInPlace(ctx, e, a, lapack.MaxColumnSum)
		}
		return norm
	}
	a, b, x := norm(p.a), norm(p.b), norm(p.c)
	switch {
	case err != nil:
		return v, err
	case p.symmetric():
		err = p.symm(p.c, p.b)
	default:
		err = la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, -1, p.a, p.c, 1, p.b)
	}
	step(1, 1)
	if p.s.Op == "solve" || m < n {
		check := Check{Formula("solve"), over(norm(p.b), a, x, epsilon[T](), float64(n)), Limit("solve")}
		return verdict{checks: []Check{check}}, err
	}
	g := p.matrix(blocked.Full, p.s.NRHS, n, nb)
	if p.err != nil {
		return v, errors.Join(err, p.err)
	}
	defer g.Close()
	if err == nil {
		err = la.Gemm[T](ctx, e, blas.Trans, blas.NoTrans, 1, p.b, p.a, 0, g)
	}
	return verdict{residual: over(norm(g), a, a*x+b, epsilon[T](), float64(max(m, p.s.NRHS)))}, err
}
