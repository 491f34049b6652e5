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

// eigenTiles is the eigendecomposition of a symmetric matrix by tasks on tiles, by which one that is distributed stays
// on its nodes.
type eigenTiles[T Element] struct {
	engine *Engine
	o      callOptions
	n      int
	values []T
	stages []Stage
	kept   *eig.Symmetric[T] // the eigenvectors
}

// newEigenTiles returns the eigenvalues of a, and the eigenvectors if vectors is set, by tasks on the tiles of a, which
// they overwrite, if o says so, and else on those of a copy on the same nodes, or in memory for devices. It returns nil for a
// matrix that is none of these. The caller closes the result.
func newEigenTiles[T Element](e *Engine, o callOptions, a SymmetricSource[T], vectors bool) (*eigenTiles[T], error) {
	m, _ := any(a).(*blocked.Matrix[T])
	if m != nil {
		m = distributedOn(e, Source[T](m))
	}
	const name = "EigenSym.Factorize"
	var err error
	switch {
	case o.inPlace:
		if m, err = tilesInPlace(name, "a", Source[T](a), blocked.SymUpper, "a SymUpper"); err != nil {
			return nil, err
		}
	case m == nil && !onDevices(e, o, a.SymmetricDim()):
		return nil, nil
	case m == nil:
		if err := e.Ready(o.ctx); err != nil {
			return nil, err
		}
		if a, err = withUpper(e, a); err != nil {
			return nil, err
		}
		r := newReading(e, nil, Source[T](a), blocked.SymUpper, cmp.Or(e.Options().NB, eigenDeviceNB), readingOptions{alone: true})
		if err := r.nonFinite(); err != nil {
			return nil, err
		}
		m, o.inPlace = r.a, true
	case !m.Kind().Symmetric():
		return nil, &ShapeError{name, "a is distributed and " + m.Kind().String() + ", want a symmetric kind"}
	}
	if o.reduction == OneStage {
		return nil, engine.ErrorOf(problems.List{name + " reduces tiles in two stages, not in one"})
	}
	if err := e.Ready(o.ctx); err != nil {
		return nil, err
	}
	c := &eigenTiles[T]{engine: e, o: o, n: m.Dim()}
	if c.n == 0 {
		return c, nil
	}
	if err := cmp.Or(c.factorize(m, vectors), context.Cause(o.ctx)); err != nil {
		c.close()
		return nil, convergence("EigenSym", err)
	}
	return c, nil
}

// An engine with accelerators decomposes by tasks on tiles from order eigenOnDevices on, in tiles of eigenDeviceNB
// unless it has a size of its own: their products run on devices. Both are estimates: nobody has measured them.
const (
	eigenOnDevices = 4096
	eigenDeviceNB  = 512
)

// onDevices reports whether tasks on tiles decompose a symmetric matrix of order n in memory, which one task would do without
// devices.
func onDevices(e *Engine, o callOptions, n int) bool {
	if len(e.Options().Accelerators) == 0 {
		return false
	}
	return o.reduction == TwoStages || o.reduction == FasterReduction && n >= eigenOnDevices
}

// factorize scales m or its copy, and decomposes it.
func (c *eigenTiles[T]) factorize(m *blocked.Matrix[T], vectors bool) error {
	e, end := c.engine.Session()
	defer end()
	r, err := measured(c.o.ctx, e, m)
	if err != nil {
		return err
	}
	a := m
	if !c.o.inPlace {
		if a, err = copyDistributed(c.o.ctx, e, m, blocked.SymUpper); a != nil {
			defer a.Close()
		}
		if err != nil {
			return err
		}
	}
	exp := math.Ilogb(float64(tridiag.Scale[T](r.stats.Max, tridiag.Safe[T]())))
	if err := scaleDistributed(c.o.ctx, e, a, exp); err != nil {
		return err
	}
	if err := inColumns(a, func() error { return c.decompose(e, a, exp, vectors) }); err != nil {
		return err
	}
	if c.kept.Release(); !vectors {
		c.close()
	}
	return nil
}

// inColumns calls f while all tiles of a column of a have one owner, if a has owners.
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
	before := tiles.LayoutFunc(func(i, j int) int { return owners[[2]int{i, j}] })
	defer a.SetLayout(before, processes) // which has been one
	return f()
}

// decompose computes the eigenvalues of a/2^exp, and the eigenvectors if they are wanted.
func (c *eigenTiles[T]) decompose(e *Engine, a *blocked.Matrix[T], exp int, vectors bool) (err error) {
	n, part := float64(c.n), c.o.part.part
	if c.kept, err = eig.NewSymmetric(e.Options().Runtime, a, vectors); err != nil {
		return err
	}
	stage := func(name string, flops float64, submit func(*blocked.Program[T], *eig.Symmetric[T]) error) {
		if err != nil {
			return
		}
		began := time.Now()
		err = engine.Run(c.o.ctx, e, func(p *blocked.Program[T]) error { return submit(p, c.kept) })
		c.stages = append(c.stages, Stage{Name: name, Time: time.Since(began), Flops: flops})
	}
	stage("reduction to band", 4*n*n*n/3, eig.Sy2sb[T])
	stage("bulge chasing", 6*n*n*float64(c.kept.Band()), eig.Sb2st[T])
	first, last := part.First, part.Last
	switch {
	case !vectors || part.Kind == op.EigenByValue:
		stage("values", 0, eig.Stedc[T])
		if err == nil {
			err = c.read(exp)
		}
		if err != nil {
			return err
		}
		first, last = part.Of(c.n, func(i int) float64 { return float64(c.values[i]) })
	case part.Kind == op.AllEigen:
		first, last = 0, c.n
	}
	if vectors && err == nil {
		err = c.kept.Select(first, last)
		flops := 2 * n * n * float64(last-first)
		stage("divide and conquer", 4*n*n*n/3, eig.Stedc[T])
		stage("vectors of the band", 2*flops, eig.Ormsb2st[T])
		stage("back-transformation", flops, eig.Ormsy2sb[T])
		if err == nil {
			err = c.read(exp)
		}
	}
	if err == nil {
		c.values = c.values[first:last]
	}
	return err
}

// read fetches the eigenvalues, and scales them back.
func (c *eigenTiles[T]) read(exp int) error {
	c.values = make([]T, c.n)
	if err := c.kept.Values(c.o.ctx, c.values); err != nil {
		return err
	}
	for i, x := range c.values {
		c.values[i] = T(math.Ldexp(float64(x), -exp))
	}
	return nil
}

// close frees what is on nodes. c may be nil.
func (c *eigenTiles[T]) close() {
	if c != nil && c.kept != nil {
		c.kept.Close()
		c.kept = nil
	}
}

// vectorsTo copies the eigenvectors to dst. It panics with an error of the runtime.
func (c *eigenTiles[T]) vectorsTo(dst Sink[T]) {
	ctx, k := context.Background(), len(c.values)
	m := distributedOn(c.engine, Source[T](dst))
	if m == nil {
		shape(dst, c.n, k)
	}
	if rows, cols := dst.Dims(); rows != c.n || cols != k || m != nil && m.Kind() != blocked.Full {
		panic(mat.ErrShape)
	}
	if c.kept == nil {
		return // of a matrix of order 0
	}
	var err error
	if m != nil {
		err = engine.Run(ctx, c.engine, func(p *blocked.Program[T]) error { return eig.CopyVectors(p, c.kept, m) })
	} else {
		var to kernels.Tile[T]
		trans, ok := asTile[T](dst, &to)
		err = c.kept.EachStrip(ctx, func(first int, x *kernels.Tile[T]) {
			if ok && trans == blas.NoTrans {
				transpose.Copy(to.Data[first:], to.Stride, x.Data, x.Stride, c.n, x.Rows)
				return
			}
			for i := range x.Rows {
				for j, v := range x.Row(i) {
					dst.Set(j, first+i, v)
				}
			}
		})
	}
	if err != nil {
		panic(err)
	}
}
