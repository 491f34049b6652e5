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

// distributedEigen is A = V·Λ·Vᵀ for a matrix that exists only on the nodes of a cluster, and is overwritten. A random A is
// positive definite.
type distributedEigen[T la.Element] struct {
	distributed[T]
	last *la.EigenSym[T]
}

func (p *distributedEigen[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpCholesky, p.s.N, p.s.N
}

func (p *distributedEigen[T]) flops() float64 { return EigenFlops(p.s.N, p.s.Values) }

func (p *distributedEigen[T]) on(e *la.Engine) (func(context.Context) error, error) {
	p.e = e
	op, n, longest := p.order()
	nb, _ := engine.TileSize[T](e, op, n, longest)
	if p.speeds == nil {
		p.calibrate(nb)
	}
	p.a, p.last = p.matrix(blocked.SymUpper, n, n, nb), la.NewEigenSym[T](e)
	return func(ctx context.Context) error {
		if p.err != nil {
			return p.err
		}
		return p.last.Factorize(p.a, !p.s.Values, la.WithContext(ctx), la.InPlace(), p.s.Reduction)
	}, p.err
}

func (p *distributedEigen[T]) describe(r *Result) {
	r.NB, r.Stages = p.a.NB(), stageTimes(p.last.Stages())
}

// save makes the nodes write V.
func (p *distributedEigen[T]) save() error {
	if p.s.Output == "" {
		return nil
	}
	a := p.a
	defer func() { p.a = a }()
	if p.a = p.matrix(blocked.Full, p.s.N, p.s.N, a.NB()); p.err != nil {
		return p.err
	}
	defer p.a.Close()
	p.last.VectorsTo(p.a)
	return p.distributed.save()
}

// verify computes A·x − V·(Λ·(Vᵀ·x)) and Vᵀ·(V·x) − x for a random x. Eigenvalues alone are compared with those of a
// decomposition with vectors, which is verified.
func (p *distributedEigen[T]) verify(ctx context.Context, _ *la.Engine, step func(i, n int)) (out verdict, err error) {
	e, n, nb := p.e, p.s.N, p.a.NB()
	values, decomposition := p.last.Values(nil), p.last
	p.random(p.s.Seed, p.a)
	if p.s.Values && p.err == nil {
		decomposition = la.NewEigenSym[T](e)
		defer decomposition.Reset()
		if err := decomposition.Factorize(p.a, true, la.WithContext(ctx)); err != nil {
			return out, err
		}
	}
	with := decomposition.Values(nil)
	v := p.matrix(blocked.Full, n, n, nb)
	x, y, z := p.matrix(blocked.Full, n, 1, nb), p.matrix(blocked.Full, n, 1, nb), p.matrix(blocked.Full, n, 1, nb)
	for _, m := range []*blocked.Matrix[T]{v, x, y, z} {
		if m != nil {
			defer m.Close()
		}
	}
	const right = 1000 // offset of the seed of x
	if p.random(p.s.Seed+right, x, z); p.err != nil {
		return out, p.err
	}
	decomposition.VectorsTo(v)
	multiply := func(trans blas.Transpose, alpha T, x *blocked.Matrix[T], beta T, y *blocked.Matrix[T]) {
		if err == nil {
			err = la.Gemm[T](ctx, e, trans, blas.NoTrans, alpha, v, x, beta, y)
		}
	}
	norm := func(a *blocked.Matrix[T]) (norm float64) {
		if err == nil {
			norm, err = la.NormInPlace(ctx, e, a, lapack.MaxColumnSum)
		}
		return norm
	}
	multiply(blas.NoTrans, 1, x, 0, y)
	p.random(p.s.Seed+right, z)
	multiply(blas.Trans, 1, y, -1, z) // z = Vᵀ·(V·x) − x
	loss := norm(z) / (norm(x) * float64(n) * epsilon[T]())
	multiply(blas.Trans, 1, x, 0, y)
	if err = errors.Join(err, p.err); err != nil {
		return out, err
	}
	scaled := la.General[T]{Rows: n, Cols: 1, Stride: 1, Data: make([]T, n)}
	for i, lambda := range with {
		scaled.Data[i] = lambda * y.At(i, 0)
	}
	if err = p.tasks(func(q *blocked.Program[T]) error { return q.Load(y, scaled, blocked.LoadOptions{}) }); err != nil {
		return out, err
	}
	multiply(blas.NoTrans, 1, y, 0, z)
	if err == nil {
		err = p.symm(x, z)
	}
	step(1, 1)
	size := norm(p.a)
	residual := over(norm(z), size*norm(x), epsilon[T](), float64(n))
	out.checks = []Check{{"‖Ax−VΛVᵀx‖ / (n·‖A‖·‖x‖·ε), x random", residual, Limit("eigen")},
		{"‖VᵀVx−x‖ / (n·‖x‖·ε)", Number(loss), Limit("eigen")}}
	if p.s.Values {
		out.checks = append(out.checks, Check{"max |λ − λ with vectors| / (n·‖A‖·ε)", over(apart(values, with), size, epsilon[T](), float64(n)), Limit("eigen")})
	}
	return out, err
}

// close releases what is on the nodes.
func (p *distributedEigen[T]) close() {
	if p.last != nil {
		p.last.Reset()
	}
	p.distributed.close()
}
