package bench

import (
	"context"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// lu is A = P·L·U, A m×n.
type lu[T la.Element] struct {
	a       la.General[T]
	f       *la.LU[T] // of the engine that ran last
	engine  *la.Engine
	opt     la.LUOptions
	seed    uint64
	workers int
}

func newLU[T la.Element](f *maker[T]) (problem[T], error) {
	s := f.spec
	a, err := f.first(s.M, s.N, false)
	if err != nil {
		return nil, err
	}
	return &lu[T]{a: a, opt: la.LUOptions{Pivoting: s.Pivot, OnBreakdown: s.OnBreakdown}, seed: s.Seed, workers: f.workers}, nil
}

func (p *lu[T]) order() (op la.Operation, n, longest int) {
	return la.OpLU, min(p.a.Rows, p.a.Cols), max(p.a.Rows, p.a.Cols)
}

func (p *lu[T]) flops() float64 { return luFlops(p.a.Rows, p.a.Cols) }

// luFlops returns the operations of an LU factorization: for every column, a
// division for each element below the diagonal, and a product and a sum for
// each element to the right of those.
func luFlops(m, n int) float64 {
	sum := 0.0
	for j := range min(m, n) {
		below, right := float64(m-j-1), float64(n-j-1)
		sum += below * (1 + 2*right)
	}
	return sum
}

// reset has nothing to do: A is not changed, and an LU is made anew by every
// call.
func (p *lu[T]) reset() {}

func (p *lu[T]) once(ctx context.Context, e *la.Engine) error {
	if p.engine != e {
		f, err := la.NewLUWith[T](e, p.opt)
		if err != nil {
			return err
		}
		p.f, p.engine = f, e
	}
	return p.f.FactorizeContext(ctx, p.a)
}

// fork returns the problem on the same matrix, with factors of its own.
func (p *lu[T]) fork() problem[T] {
	own := *p
	own.f, own.engine = nil, nil
	return &own
}

// describe tells the pivoting, which may have fallen back to partial, and the
// growth.
func (p *lu[T]) describe(r *Result) {
	r.Pivoting, r.Growth = p.f.Pivoting().String(), p.f.Growth()
	r.NB, r.Direct = p.f.TileSize(p.a.Rows, p.a.Cols) // la.TileSize does not know of tall matrices
}

// verify makes P⁻¹·A − L·U with gemm, panel by panel of L.
func (p *lu[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	m, n := p.a.Dims()
	k := min(m, n)
	empty := func(r, c int) la.General[T] { return la.General[T]{Rows: r, Cols: c, Stride: c, Data: make([]T, r*c)} }
	u, l, x := empty(m, n), empty(m, k), empty(m, n)
	p.f.FactorTo(u)
	at := p.f.Pivots(nil)
	p.f = nil
	norm := norm1(blocked.View(p.a, panel), p.workers)
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

	pa, pl, pu := plain[T]{General: x, workers: p.workers}, plain[T]{General: l, half: true, workers: p.workers}, plain[T]{General: u, workers: p.workers}
	seen, err := probe(ctx, p.seed, m, func(y []float64) []float64 {
		return difference(pa.left(y), pu.left(pl.left(y)))
	})
	if err != nil {
		return verdict{}, err
	}
	count := (k + panel - 1) / panel
	for i := range count {
		step(i, count)
		j, w := i*panel, min(panel, k-i*panel)
		if err := subtract(ctx, e, blas.NoTrans, window(l, j, j, m-j, w), window(u, j, j, w, n-j), window(x, j, j, m-j, n-j)); err != nil {
			return verdict{}, err
		}
	}
	worst := max(norm1(blocked.View(x, panel), p.workers), seen)
	return verdict{residual: over(worst, norm, epsilon[T](), float64(n))}, nil
}
