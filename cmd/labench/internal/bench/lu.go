package bench

import (
	"context"

	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// lu is A = P·L·U, A m×n.
type lu[T la.Element] struct {
	base[T]
	kept
	a   la.General[T]
	f   *la.LU[T] // of the engine that was made last
	opt la.LUOptions
}

func newLU[T la.Element](f *maker[T]) problem {
	s := f.spec
	return &lu[T]{base: f.base, a: f.first(s.M, s.N, fullMatrix), opt: la.LUOptions{Pivoting: s.Pivot, OnBreakdown: s.OnBreakdown}, kept: kept{keep: s.Checkpoint}}
}

func (p *lu[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpLU, min(p.a.Rows, p.a.Cols), max(p.a.Rows, p.a.Cols)
}

func (p *lu[T]) flops() float64 { return luFlops(p.a.Rows, p.a.Cols) }

func (p *lu[T]) on(e *la.Engine) (func(context.Context) error, error) {
	f, err := la.NewLUWith[T](e, p.opt)
	p.f = f
	return func(ctx context.Context) error { return factor[la.Source[T]](ctx, &p.kept, f, p.a) }, err
}

// describe stores the pivoting, which may have fallen back to partial pivoting, the growth, and the progress of
// an earlier run.
func (p *lu[T]) describe(r *Result) {
	p.kept.describe(r)
	r.Pivoting, r.Growth = p.f.Pivoting().String(), Number(p.f.Growth())
	r.NB, r.Direct = p.f.TileSize(p.a.Rows, p.a.Cols) // engine.TileSize does not consider tall matrices
}

// verify computes P⁻¹·A − L·U with gemm, panel by panel of L.
func (p *lu[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	m, n := p.a.Dims()
	k := min(m, n)
	u, l, x := empty[T](m, n), empty[T](m, k), empty[T](m, n)
	p.f.FactorTo(u)
	at := p.f.Pivots(nil)
	p.f = nil
	norm := p.norm(p.a)
	parallel(p.workers, m, stripes, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := u.Data[i*n : (i+1)*n]
			copy(l.Data[i*k:(i+1)*k], row[:min(i, k)])
			clear(row[:min(i, k)])
			if i < k {
				l.Data[i*k+i] = 1
			}
			copy(x.Data[at[i]*n:(at[i]+1)*n], p.a.Data[i*p.a.Stride:i*p.a.Stride+n])
		}
	})
	u.Rows, u.Data = k, u.Data[:k*n]

	pa, pl, pu := p.plain(x), p.lower(l), p.plain(u)
	seen := p.probe(ctx, m, func(y []float64) []float64 { return difference(pa.left(y), pu.left(pl.left(y))) })
	err := panels(k, step, func(j, w int) error {
		return subtract(ctx, e, blas.NoTrans, window(l, j, j, m-j, w), window(u, j, j, w, n-j), window(x, j, j, m-j, n-j))
	})
	return verdict{residual: over(max(p.norm(x), seen), norm, epsilon[T](), float64(n))}, err
}
