package bench

import (
	"context"
	"errors"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// distributed is an operation on matrices that are on the nodes of a cluster only: random
// ones, made there, worked on in place, and verified there.
type distributed[T la.Element] struct {
	ctx     context.Context
	s       Spec
	e       *la.Engine
	a, b, c *blocked.Matrix[T] // gemm: C = A·B; others: A only
	lu      *la.LU[T]
	chol    *la.Cholesky[T]
	err     error // of what makes the matrices
}

func newDistributed[T la.Element](ctx context.Context, s Spec) problem {
	return &distributed[T]{ctx: ctx, s: s}
}

func (p *distributed[T]) order() (op la.Operation, n, longest int) {
	switch p.s.Op {
	case "gemm":
		return la.OpGemm, p.s.N, p.s.N
	case "cholesky":
		return la.OpCholesky, p.s.N, p.s.N
	}
	return la.OpLU, p.s.N, p.s.N
}

func (p *distributed[T]) flops() float64 {
	n := float64(p.s.N)
	switch p.s.Op {
	case "gemm":
		return 2 * n * n * n
	case "cholesky":
		return n*n*n/3 + n*n/2 + n/6
	}
	return luFlops(p.s.N, p.s.N)
}

// matrix returns a distributed matrix in a block-cyclic layout.
func (p *distributed[T]) matrix(kind blocked.Kind, m, n, nb int) *blocked.Matrix[T] {
	a, err := blocked.Distributed[T](p.s.Runtime, kind, m, n, nb)
	if err != nil {
		p.err = errors.Join(p.err, err)
		return nil
	}
	nodes := p.s.Nodes
	rows := 1
	for r := 2; r*r <= nodes; r++ {
		if nodes%r == 0 {
			rows = r
		}
	}
	if p.s.Op == "lu" {
		rows = 1 // interchanges of rows stay within a column of tiles
	}
	p.err = errors.Join(p.err, a.SetLayout(blocked.BlockCyclic{P: rows, Q: nodes / rows}, nodes))
	return a
}

// random fills matrices with random numbers, the first ones after a seed: symmetric ones so
// that they are positive definite.
func (p *distributed[T]) random(seed uint64, all ...*blocked.Matrix[T]) {
	if p.err != nil {
		return
	}
	p.err = p.tasks(func(q *blocked.Program[T]) (err error) {
		for i, a := range all {
			bump := 0.0
			if a.Kind() != blocked.Full {
				bump = float64(p.s.N)
			}
			err = errors.Join(err, q.Plrnt(a, seed+uint64(i), bump))
		}
		return err
	})
}

func (p *distributed[T]) tasks(program func(*blocked.Program[T]) error) error {
	job := p.s.Runtime.NewJob(p.ctx)
	err := program(blocked.NewProgram(job, kernels.For[T](builtin.NewTable())))
	return errors.Join(err, job.Wait())
}

func (p *distributed[T]) reset() {
	switch {
	case p.a == nil:
	case p.s.Op == "gemm":
		p.random(p.s.Seed, p.a, p.b)
	default:
		p.random(p.s.Seed, p.a)
	}
}

func (p *distributed[T]) on(e *la.Engine) (func(context.Context) error, error) {
	p.e = e
	op, n, longest := p.order()
	nb, _ := la.TileSize[T](e, op, n, longest)
	switch p.s.Op {
	case "gemm":
		p.a, p.b, p.c = p.matrix(blocked.Full, n, n, nb), p.matrix(blocked.Full, n, n, nb), p.matrix(blocked.Full, n, n, nb)
	case "cholesky":
		p.a, p.chol = p.matrix(blocked.SymUpper, n, n, nb), la.NewCholesky[T](e)
	default:
		p.a, p.lu = p.matrix(blocked.Full, n, n, nb), la.NewLU[T](e)
	}
	return func(ctx context.Context) error {
		switch {
		case p.err != nil:
			return p.err
		case p.s.Op == "gemm":
			return la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, p.a, p.b, 0, p.c)
		case p.chol != nil:
			return p.chol.FactorizeInPlace(ctx, p.a)
		}
		return p.lu.FactorizeInPlace(ctx, p.a)
	}, p.err
}

// verify computes a residual with one vector: of a system that is solved by the factors, or
// C·x against A·(B·x).
func (p *distributed[T]) verify(ctx context.Context, _ *la.Engine, step func(i, n int)) (v verdict, err error) {
	e := p.e // that of the nodes
	nb, n := p.a.NB(), p.s.N
	x, y, z := p.matrix(blocked.Full, n, 1, nb), p.matrix(blocked.Full, n, 1, nb), p.matrix(blocked.Full, n, 1, nb)
	for _, m := range []*blocked.Matrix[T]{x, y, z} {
		if m != nil {
			defer m.Close()
		}
	}
	const right = 1000 // the right-hand side's seed comes so far behind
	p.random(p.s.Seed+right, x)
	if p.err != nil {
		return v, p.err
	}
	multiply := func(a, x *blocked.Matrix[T], beta T, y *blocked.Matrix[T]) {
		if err == nil {
			err = la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, a, x, beta, y)
		}
	}
	norm := func(a *blocked.Matrix[T]) (norm float64) {
		if err == nil {
			norm, err = la.Norm1(ctx, e, a)
		}
		return norm
	}
	var size float64
	switch {
	case p.c != nil: // z = C·x − A·(B·x), where y = −B·x
		multiply(p.b, x, 0, y)
		multiply(p.a, y, 0, z)
		size = norm(p.a) * norm(y)
		if err == nil {
			err = la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, -1, p.c, x, 1, z)
		}
	case p.chol != nil: // z = A·x − b
		err = p.chol.SolveInPlace(ctx, x)
		p.random(p.s.Seed, p.a)
		p.random(p.s.Seed+right, z)
		if err = errors.Join(err, p.err); err == nil {
			diagonal := blocked.NewDiagonal(p.a, 0)
			err = errors.Join(p.err, p.tasks(func(q *blocked.Program[T]) error { return q.Symm(1, p.a, diagonal, x, -1, z) }))
		}
		size = norm(p.a) * norm(x)
	default:
		err = p.lu.SolveInPlace(ctx, false, x)
		p.random(p.s.Seed, p.a)
		p.random(p.s.Seed+right, z)
		err = errors.Join(err, p.err)
		multiply(p.a, x, -1, z)
		size = norm(p.a) * norm(x)
	}
	step(1, 1)
	eps := 0x1p-53
	if p.s.Type == "f32" {
		eps = 0x1p-24
	}
	c := Check{Formula: "‖B−AX‖ / (n·‖A‖·‖X‖·ε), X one column", Limit: 30}
	if p.c != nil {
		c.Formula = "‖Cx−A(Bx)‖ / (n·‖A‖·‖Bx‖·ε), x random"
	}
	c.Residual = Number(norm(z) / (float64(n) * size * eps))
	v.checks = []Check{c}
	return v, err
}

// close has the nodes forget the matrices.
func (p *distributed[T]) close() {
	for _, m := range []*blocked.Matrix[T]{p.a, p.b, p.c} {
		if m != nil {
			m.Close()
		}
	}
}
