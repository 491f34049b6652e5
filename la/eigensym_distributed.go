package la

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/eig"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/internal/transpose"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// EigenSym with tasks on the tiles of A, by which a matrix that is distributed stays on its nodes.

// factorizeTiles is factorize by tasks on tiles: those of a, which it overwrites, if o says so, and else those of a copy on the
// same nodes. done is false for a matrix that is neither.
func (c *EigenSym[T]) factorizeTiles(o callOptions, a SymmetricSource[T], vectors bool) (done bool, err error) {
	m, _ := any(a).(*blocked.Matrix[T])
	if m != nil {
		m = distributedOn(c.engine, Source[T](m))
	}
	if m == nil && !o.inPlace {
		return false, nil
	}
	c.Reset()
	const name = "EigenSym.Factorize"
	if o.inPlace {
		if m, err = tilesInPlace(name, "a", Source[T](a), blocked.SymUpper, "a SymUpper"); err != nil {
			return true, err
		}
	} else if !m.Kind().Symmetric() {
		return true, &ShapeError{name, "a is distributed and " + m.Kind().String() + ", want a symmetric kind"}
	}
	if o.reduction == OneStage {
		return true, engine.ErrorOf(problems.List{"EigenSym.Factorize reduces tiles in two stages, and has no one-stage"})
	}
	e, end := c.engine.Session()
	defer end()
	if err := e.Ready(o.ctx); err != nil {
		return true, err
	}
	c.account, c.n, c.vectors, c.values = op.Account{Stages: c.account.Stages[:0]}, m.Dim(), vectors, c.values[:0]
	if c.n == 0 {
		c.valid = true
		return true, nil
	}
	r, err := measured(o.ctx, e, m)
	if err != nil {
		return true, err
	}
	tiled := m
	if !o.inPlace {
		if tiled, err = copyDistributed(o.ctx, e, m, blocked.SymUpper); tiled != nil {
			defer tiled.Close()
		}
		if err != nil {
			return true, err
		}
	}
	scale := math.Ilogb(float64(tridiag.Scale[T](r.stats.Max, tridiag.Safe[T]())))
	if err = scaleDistributed(o.ctx, e, tiled, scale); err == nil {
		err = inColumns(tiled, func() error { return c.decomposeTiles(o, e, tiled, scale, vectors) })
	}
	if err = cmp.Or(err, context.Cause(o.ctx)); err != nil {
		c.Reset()
		return true, convergence("EigenSym", err)
	}
	c.valid = true
	return true, nil
}

// inColumns calls f while all tiles of a column of a have one owner, if a is distributed.
func inColumns[T Element](a *blocked.Matrix[T], f func() error) error {
	if !a.IsDistributed() || a.Layout() == nil {
		return f()
	}
	owners, processes := make(map[[2]int]int), 0
	for i, j := range a.StoredTiles() {
		o := a.Owner(i, j)
		owners[[2]int{i, j}], processes = o, max(processes, o+1)
	}
	if err := a.SetLayout(eig.Columns(a), processes); err != nil {
		return err
	}
	defer a.SetLayout(tiles.LayoutFunc(func(i, j int) int { return owners[[2]int{i, j}] }), processes)
	return f()
}

// decomposeTiles computes the eigenvalues, and the eigenvectors if they are wanted, of a divided by 2^scale.
func (c *EigenSym[T]) decomposeTiles(o callOptions, e *Engine, a *blocked.Matrix[T], scale int, vectors bool) error {
	n, part := float64(c.n), o.part.part
	s, err := eig.NewSymmetric(e.Options().Runtime, a, vectors)
	if err != nil {
		return err
	}
	c.nodes = s
	stage := func(name string, flops float64, submit func(*blocked.Program[T], *eig.Symmetric[T]) error) {
		if err != nil {
			return
		}
		began := time.Now()
		if err = engine.Run(o.ctx, e, func(p *blocked.Program[T]) error { return submit(p, s) }); err == nil && name != "" {
			c.account.Stages = append(c.account.Stages, Stage{Name: name, Time: time.Since(began), Flops: flops})
		}
	}
	read := func() {
		if err == nil {
			c.values = append(c.values[:0], make([]T, c.n)...)
			err = s.Values(o.ctx, c.values)
		}
		for i, x := range c.values {
			c.values[i] = T(math.Ldexp(float64(x), -scale))
		}
	}
	of := func() (first, last int) {
		return part.Of(c.n, func(i int) float64 { return float64(c.values[i]) })
	}
	stage("reduction to band", 4*n*n*n/3, eig.Sy2sb[T])
	stage("bulge chasing", 6*n*n*float64(s.Band()), eig.Sb2st[T])
	first, last := part.First, part.Last
	if !vectors || part.Kind == op.EigenByValue {
		stage("values", 0, eig.Stedc[T])
		read()
		first, last = of()
	} else if part.Kind == op.AllEigen {
		first, last = 0, c.n
	}
	if vectors && err == nil {
		if err = s.Select(first, last); err != nil {
			return err
		}
		flops := 2 * n * n * float64(last-first)
		stage("divide and conquer", 4*n*n*n/3, eig.Stedc[T])
		stage("vectors of the band", 2*flops, eig.Ormsb2st[T])
		stage("back-transformation", flops, eig.Ormsy2sb[T])
		read()
	}
	if err != nil {
		return err
	}
	c.values = c.values[:copy(c.values, c.values[first:last])]
	if s.Release(); !vectors {
		c.closeNodes()
	}
	return nil
}

// closeNodes frees what is on nodes.
func (c *EigenSym[T]) closeNodes() {
	if c.nodes != nil {
		c.nodes.Close()
		c.nodes = nil
	}
}

// vectorsFromNodes is VectorsTo for vectors on nodes. It panics with an error of the runtime.
func (c *EigenSym[T]) vectorsFromNodes(dst Sink[T]) {
	k := len(c.values)
	ctx := context.Background()
	if m := distributedOn(c.engine, Source[T](dst)); m != nil {
		if r, cols := m.Dims(); r != c.n || cols != k || m.Kind() != blocked.Full {
			panic(mat.ErrShape)
		}
		if err := engine.Run(ctx, c.engine, func(p *blocked.Program[T]) error { return eig.CopyVectors(p, c.nodes, m) }); err != nil {
			panic(err)
		}
		return
	}
	shape(dst, c.n, k)
	if r, cols := dst.Dims(); r != c.n || cols != k {
		panic(mat.ErrShape)
	}
	var to kernels.Tile[T]
	trans, ok := asTile[T](dst, &to)
	if err := c.nodes.EachStrip(ctx, func(first int, x *kernels.Tile[T]) {
		if ok && trans == blas.NoTrans {
			transpose.Copy(to.Data[first:], to.Stride, x.Data, x.Stride, c.n, x.Rows)
			return
		}
		for i := range x.Rows {
			for j, v := range x.Row(i) {
				dst.Set(j, first+i, v)
			}
		}
	}); err != nil {
		panic(err)
	}
}
