package bench

import (
	"context"

	"github.com/tessera-la/tessera/blocked/qr"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
)

// factorQR is A = Q·R, A m×n.
type factorQR[T la.Element] struct {
	base[T]
	kept
	a   la.General[T]
	f   *la.QR[T] // of the engine that was made last
	opt la.QROptions
}

func newQR[T la.Element](f *maker[T]) problem {
	return &factorQR[T]{base: f.base, a: f.first(f.spec.M, f.spec.N, fullMatrix), opt: f.spec.qrOptions(), kept: kept{keep: f.spec.Checkpoint}}
}

func (p *factorQR[T]) order() (op engine.Operation, n, longest int) {
	return engine.OpQR, mean(p.a.Rows, p.a.Cols), max(p.a.Rows, p.a.Cols)
}

func (p *factorQR[T]) flops() float64 { return qr.QRFlops(p.a.Rows, p.a.Cols) }

func (p *factorQR[T]) on(e *la.Engine) (func(context.Context) error, error) {
	f, err := la.NewQRWith[T](e, p.opt)
	p.f = f
	return func(ctx context.Context) error { return factor[la.Source[T]](ctx, &p.kept, f, p.a) }, err
}

// describe stores the operation counts, and the progress of an earlier run.
func (p *factorQR[T]) describe(r *Result) {
	p.kept.describe(r)
	flops := p.f.Flops()
	r.Flops, r.Performed = flops.Standard, flops.Performed
	r.NB, r.Direct = p.f.TileSize(p.a.Dims()) // engine.TileSize does not consider narrow matrices
}

// verify computes R − QᵀA with la's Qᵀ, and I − QᵀQ with syrk on the first columns of Q.
func (p *factorQR[T]) verify(ctx context.Context, e *la.Engine, step func(i, n int)) (verdict, error) {
	m, n := p.a.Dims()
	k := min(m, n)
	norm := p.norm(p.a)
	r, q := empty[T](k, n), empty[T](m, k)
	p.f.RTo(r)
	step(0, 4)
	if err := p.f.QThinTo(q); err != nil {
		return verdict{}, err
	}
	pa, pq, pr := p.plain(p.a), p.plain(q), p.plain(r)
	factors := p.probe(ctx, m, func(y []float64) []float64 { return difference(pa.left(y), pr.left(pq.left(y))) })
	angles := p.probe(ctx, k, func(y []float64) []float64 { return difference(pq.left(pq.right(y)), y) })

	step(1, 4)
	gram := empty[T](k, k)
	for i := range k {
		gram.Data[i*k+i] = 1
	}
	lower := la.Symmetric[T]{Uplo: blas.Lower, N: k, Data: gram.Data, Stride: k}
	if err := la.Syrk[T](ctx, e, blas.Trans, -1, q, 1, lower); err != nil {
		return verdict{}, err
	}
	angles = max(angles, norm1(blocked.ViewSymmetric(lower, panel), p.workers))

	step(2, 4)
	remainder := empty[T](m, n)
	if err := p.f.ApplyQTo(remainder, blas.Left, true, p.a); err != nil {
		return verdict{}, err
	}
	p.f = nil
	parallel(p.workers, k, stripes, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			for j, element := range r.Data[i*n : (i+1)*n] {
				remainder.Data[i*n+j] -= element
			}
		}
	})
	factors = max(factors, p.norm(remainder))
	return verdict{checks: []Check{
		{Formula("qr"), over(factors, norm, epsilon[T](), float64(m)), Limit("qr")},
		{"‖I−QᵀQ‖ / (m·ε)", over(angles, epsilon[T](), float64(m)), Limit("qr")},
	}}, nil
}
