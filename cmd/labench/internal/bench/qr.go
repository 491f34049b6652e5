package bench

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// qr is A = Q·R, A m×n.
type qr[T la.Element] struct {
	a       la.General[T]
	f       *la.QR[T] // of the engine that ran last
	engine  *la.Engine
	opt     la.QROptions
	seed    uint64
	workers int
}

func newQR[T la.Element](f *maker[T]) (problem[T], error) {
	s := f.spec
	a, err := f.first(s.M, s.N, false)
	if err != nil {
		return nil, err
	}
	return &qr[T]{a: a, opt: s.qrOptions(), seed: s.Seed, workers: f.workers}, nil
}

// qrOptions returns what la is told of a QR factorization.
func (s Spec) qrOptions() la.QROptions {
	return la.QROptions{Tree: s.Tree, Domain: s.Domain, InnerBlock: s.IB, Variant: s.Variant}
}

func (p *qr[T]) order() (op la.Operation, n, longest int) {
	mean := math.Sqrt(float64(p.a.Rows) * float64(p.a.Cols))
	return la.OpQR, int(math.Round(mean)), max(p.a.Rows, p.a.Cols)
}

func (p *qr[T]) flops() float64 { return blocked.QRFlops(p.a.Rows, p.a.Cols) }

// reset has nothing to do: A is not changed, and a QR is made anew by every
// call.
func (p *qr[T]) reset() {}

func (p *qr[T]) once(ctx context.Context, e *la.Engine) error {
	if p.engine != e {
		f, err := la.NewQRWith[T](e, p.opt)
		if err != nil {
			return err
		}
		p.f, p.engine = f, e
	}
	return p.f.FactorizeContext(ctx, p.a)
}

// fork returns the problem on the same matrix, with factors of its own.
func (p *qr[T]) fork() problem[T] {
	own := *p
	own.f, own.engine = nil, nil
	return &own
}

// describe tells what it took.
func (p *qr[T]) describe(r *Result) {
	flops := p.f.Flops()
	r.Flops, r.Performed = flops.Standard, flops.Performed
	r.NB, r.Direct = p.f.TileSize(p.a.Dims()) // la.TileSize does not know of narrow matrices
}

// verify makes R − QᵀA with la's Qᵀ, and I − QᵀQ with syrk of Q's first columns.
func (p *qr[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	m, n := p.a.Dims()
	k := min(m, n)
	empty := func(r, c int) la.General[T] { return la.General[T]{Rows: r, Cols: c, Stride: c, Data: make([]T, r*c)} }
	norm := norm1(blocked.View(p.a, panel), p.workers)
	r, q := empty(k, n), empty(m, k)
	p.f.RTo(r)
	step(0, 4)
	if err := p.f.QThinTo(q); err != nil {
		return verdict{}, err
	}
	pa, pq, pr := plain[T]{General: p.a, workers: p.workers}, plain[T]{General: q, workers: p.workers}, plain[T]{General: r, workers: p.workers}
	factors, err := probe(ctx, p.seed, m, func(y []float64) []float64 {
		return difference(pa.left(y), pr.left(pq.left(y)))
	})
	if err != nil {
		return verdict{}, err
	}
	angles, err := probe(ctx, p.seed, k, func(y []float64) []float64 {
		return difference(pq.left(pq.right(y)), y)
	})
	if err != nil {
		return verdict{}, err
	}

	step(1, 4)
	gram := empty(k, k)
	for i := range k {
		gram.Data[i*k+i] = 1
	}
	lower := la.Symmetric[T]{Uplo: blas.Lower, N: k, Data: gram.Data, Stride: k}
	if err := la.Syrk[T](ctx, e, blas.Trans, -1, q, 1, lower); err != nil {
		return verdict{}, err
	}
	angles = max(angles, norm1(blocked.ViewSymmetric(lower, panel), p.workers))

	step(2, 4)
	x := empty(m, n)
	if err := p.f.ApplyQTo(x, blas.Left, true, p.a); err != nil {
		return verdict{}, err
	}
	p.f = nil
	parallel(p.workers, k, stripes, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			for j, v := range r.Data[i*n : (i+1)*n] {
				x.Data[i*n+j] -= v
			}
		}
	})
	factors = max(factors, norm1(blocked.View(x, panel), p.workers))
	return verdict{checks: []Check{
		{Formula("qr"), over(factors, norm, epsilon[T](), float64(m)), Limit("qr")},
		{"‖I−QᵀQ‖ / (m·ε)", over(angles, epsilon[T](), float64(m)), Limit("qr")},
	}}, nil
}
