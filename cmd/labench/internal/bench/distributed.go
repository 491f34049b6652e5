package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// distributed is an operation on matrices that exist only on the nodes of a cluster. They are random or read
// from a file. The nodes make them, work on them in place and verify the result.
type distributed[T la.Element] struct {
	ctx     context.Context
	s       Spec
	e       *la.Engine
	input   *file.Array        // of A; nil if it is random
	a, b, c *blocked.Matrix[T] // gemm: C = A·B; others: A only
	// factor computes factors of A in place, and solve overwrites a right-hand side with the solution; nil for gemm.
	factor   func(opts ...la.CallOption) error
	solve    func(x *blocked.Matrix[T], opts ...la.CallOption) error
	speeds   []float64 // of the nodes that matrices are distributed over
	gridRows int       // of the grid of nodes; 0: chosen
	err      error     // of making the matrices
	kept     kept
	lu       *la.LU[T] // of lu
	known    float64   // bytes of metadata of tiles and tasks; a float64, since it may overflow
}

// save makes the nodes write the result, if s has an output file.
func (p *distributed[T]) save() error {
	if p.s.Output == "" {
		return nil
	}
	a := p.a
	if p.c != nil {
		a = p.c
	}
	return file.WriteTiles(p.s.Output, a, nil, p.tasks)
}

func (p *distributed[T]) order() (op engine.Operation, n, longest int) {
	switch p.s.Op {
	case "gemm":
		return engine.OpGemm, p.s.N, p.s.N
	case "cholesky":
		return engine.OpCholesky, p.s.N, p.s.N
	case "qr":
		return engine.OpQR, p.s.N, p.s.N
	}
	return engine.OpLU, p.s.N, p.s.N
}

func (p *distributed[T]) flops() float64 {
	n := float64(p.s.N)
	switch p.s.Op {
	case "gemm":
		return 2 * n * n * n
	case "cholesky":
		return n*n*n/3 + n*n/2 + n/6
	case "qr":
		return qr.QRFlops(p.s.N, p.s.N)
	}
	return luFlops(p.s.N, p.s.N)
}

// calibrate measures the speed of the nodes: all of them multiply tiles. Before that, speeds are the numbers of
// workers.
func (p *distributed[T]) calibrate(nb int) {
	p.speeds = p.s.Speeds()
	if len(p.speeds) < 2 {
		return
	}
	const each = 3 // products per worker
	cols := len(p.speeds) * max(int(slices.Max(p.speeds)), 1)
	layout := func(m, n int) *blocked.Matrix[T] {
		a, err := blocked.Distributed[T](p.s.Runtime, blocked.Full, m*nb, n*nb, nb)
		if err == nil {
			err = a.SetLayout(tiles.NewGrid(blocked.Full, m, n, 1, slices.Repeat([]float64{1}, len(p.speeds)), nil), len(p.speeds))
		}
		p.err = errors.Join(p.err, err)
		return a
	}
	a, b, c := layout(each, 1), layout(1, cols), layout(each, cols)
	for _, m := range []*blocked.Matrix[T]{a, b, c} {
		if m != nil {
			defer m.Close()
		}
	}
	p.random(1, a, b)
	// Only some of the last products count, since the first may be slow. Unlike nodes are measured again:
	// another program may have disturbed one of them, and the layout of all matrices depends on the speeds.
	workers := p.speeds
	for tries := 0; p.err == nil && tries < 3; tries++ {
		for i, began := 0, time.Now(); p.err == nil && (i < 2 || i < 50 && time.Since(began) < 50*time.Millisecond); i++ {
			p.err = la.Gemm[T](p.ctx, p.e, blas.NoTrans, blas.NoTrans, 1, a, b, 0, c)
		}
		if p.speeds = p.s.Speeds(); slices.Equal(p.speeds, workers) {
			break
		}
	}
}

// matrix returns a distributed matrix whose layout gives each node work in proportion to its speed.
func (p *distributed[T]) matrix(kind blocked.Kind, m, n, nb int) *blocked.Matrix[T] {
	if p.err != nil {
		return nil // an earlier error makes all further matrices useless
	}
	count := math.Ceil(float64(m)/float64(nb)) * math.Ceil(float64(n)/float64(nb))
	if kind != blocked.Full {
		count /= 2
	}
	if p.known == 0 && p.s.Op == "qr" {
		p.known = priorities(float64(m), float64(n), float64(nb))
	}
	p.known += TileKnown * count
	if p.err = fitsBooks(p.known); p.err != nil {
		return nil
	}
	a, err := blocked.Distributed[T](p.s.Runtime, kind, m, n, nb)
	if err != nil {
		p.err = errors.Join(p.err, err)
		return nil
	}
	work := tiles.Updates
	if p.s.Op == "gemm" {
		work = nil
	}
	mt, nt := a.Tiles()
	grid := tiles.NewGrid(kind, mt, nt, p.rows(), p.speeds, work)
	p.err = errors.Join(p.err, a.SetLayout(grid, len(p.speeds)))
	return a
}

// rows returns the number of rows of the grid of nodes.
func (p *distributed[T]) rows() int {
	if p.gridRows > 0 {
		return p.gridRows
	}
	nodes, rows := len(p.speeds), 1
	if p.s.Op != "gemm" && p.s.Op != "cholesky" && p.s.Method != ByCholesky {
		return 1 // row interchanges and rotations then stay within a column of tiles
	}
	for r := 2; r*r <= nodes; r++ {
		if nodes%r == 0 {
			rows = r
		}
	}
	return rows
}

// random fills matrices with random numbers; the first matrix uses seed, the next ones the seeds after it.
// Symmetric matrices become positive definite. If there is an input file, A is read from it.
func (p *distributed[T]) random(seed uint64, all ...*blocked.Matrix[T]) {
	if p.err != nil {
		return
	}
	p.err = p.tasks(func(q *blocked.Program[T]) (err error) {
		for i, a := range all {
			if a == p.a && p.input != nil {
				err = errors.Join(err, file.ReadTiles(q, a, p.input))
				continue
			}
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
	err := program(blocked.NewProgram(job, kernels.For[T](op.NewTable())))
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
	nb, _ := engine.TileSize[T](e, op, n, longest)
	if p.speeds == nil {
		p.calibrate(nb)
	}
	switch p.s.Op {
	case "gemm":
		p.a, p.b, p.c = p.matrix(blocked.Full, n, n, nb), p.matrix(blocked.Full, n, n, nb), p.matrix(blocked.Full, n, n, nb)
	case "cholesky":
		f := la.NewCholesky[T](e)
		p.a = p.matrix(blocked.SymUpper, n, n, nb)
		p.factor = func(opts ...la.CallOption) error { return f.Factorize(p.a, opts...) }
		p.solve = func(x *blocked.Matrix[T], opts ...la.CallOption) error { return f.SolveTo(x, x, opts...) }
	case "qr":
		f, err := la.NewQRWith[T](e, p.s.qrOptions())
		if err != nil {
			return nil, err
		}
		p.a = p.matrix(blocked.Full, n, n, nb)
		p.factor = func(opts ...la.CallOption) error { return f.Factorize(p.a, opts...) }
		p.solve = func(x *blocked.Matrix[T], opts ...la.CallOption) error { return f.SolveTo(x, false, x, opts...) }
	default:
		f, err := la.NewLUWith[T](e, la.LUOptions{Pivoting: p.s.Pivot, OnBreakdown: p.s.OnBreakdown})
		if err != nil {
			return nil, err
		}
		p.lu = f
		p.a = p.matrix(blocked.Full, n, n, nb)
		p.factor = func(opts ...la.CallOption) error { return f.Factorize(p.a, opts...) }
		p.solve = func(x *blocked.Matrix[T], opts ...la.CallOption) error { return f.SolveTo(x, false, x, opts...) }
	}
	p.kept.keep = p.s.Checkpoint
	return func(ctx context.Context) error {
		switch {
		case p.err != nil:
			return p.err
		case p.factor == nil:
			return la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, 1, p.a, p.b, 0, p.c)
		}
		return p.factor(la.WithContext(ctx), la.InPlace(), p.kept.option())
	}, p.err
}

// describe stores the progress of an earlier run, and of lu the pivoting, which may have fallen back to partial pivoting.
func (p *distributed[T]) describe(r *Result) {
	if p.kept.describe(r); p.lu != nil {
		r.Pivoting, r.Growth = p.lu.Pivoting().String(), Number(p.lu.Growth())
	}
}

// verify computes a residual with one vector: of a system that is solved with the factors, or of C·x compared
// with A·(B·x).
func (p *distributed[T]) verify(ctx context.Context, _ *la.Engine, step func(i, n int)) (v verdict, err error) {
	e := p.e // the engine on the nodes
	nb, n := p.a.NB(), p.s.N
	x, y, z := p.matrix(blocked.Full, n, 1, nb), p.matrix(blocked.Full, n, 1, nb), p.matrix(blocked.Full, n, 1, nb)
	for _, m := range []*blocked.Matrix[T]{x, y, z} {
		if m != nil {
			defer m.Close()
		}
	}
	const right = 1000 // offset of the right-hand side's seed
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
			norm, err = la.NormInPlace(ctx, e, a, lapack.MaxColumnSum)
		}
		return norm
	}
	var size float64
	if p.factor == nil { // z = C·x − A·(B·x), where y = −B·x
		multiply(p.b, x, 0, y)
		multiply(p.a, y, 0, z)
		size = norm(p.a) * norm(y)
		if err == nil {
			err = la.Gemm[T](ctx, e, blas.NoTrans, blas.NoTrans, -1, p.c, x, 1, z)
		}
	} else { // z = b − A·x, or its negative
		err = p.solve(x, la.WithContext(ctx), la.InPlace())
		p.random(p.s.Seed, p.a)
		p.random(p.s.Seed+right, z)
		if err = errors.Join(err, p.err); err == nil && p.a.Kind() != blocked.Full {
			err = p.symm(x, z)
		} else {
			multiply(p.a, x, -1, z)
		}
		size = norm(p.a) * norm(x)
	}
	step(1, 1)
	c := Check{Formula: "‖B−AX‖ / (n·‖A‖·‖X‖·ε), X one column", Limit: 30}
	if p.c != nil {
		c.Formula = "‖Cx−A(Bx)‖ / (n·‖A‖·‖Bx‖·ε), x random"
	}
	c.Residual = Number(norm(z) / (float64(n) * size * epsilon[T]()))
	v.checks = []Check{c}
	return v, err
}

// symm computes Y = Y − A·X for a symmetric A.
func (p *distributed[T]) symm(x, y *blocked.Matrix[T]) error {
	var diagonal *blocked.Diagonal[T]
	err := p.tasks(func(q *blocked.Program[T]) (err error) {
		if diagonal, err = q.DistributedDiagonal(p.s.Runtime, p.a); err == nil {
			err = q.Symm(-1, p.a, diagonal, x, 1, y)
		}
		return err
	})
	if diagonal != nil {
		diagonal.Close()
	}
	return err
}

// close releases the matrices on the nodes.
func (p *distributed[T]) close() {
	for _, m := range []*blocked.Matrix[T]{p.a, p.b, p.c} {
		if m != nil {
			m.Close()
		}
	}
}
