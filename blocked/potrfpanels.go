package blocked

import (
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// PanelOptions says how [Program.PotrfPanels] hands on what a panel has made. The
// zero value hands on each tile as soon as it is done.
type PanelOptions struct {
	// Lazy hands on all tiles of a panel at its end: what eager release gains is
	// measured against it.
	Lazy bool
}

// PotrfPanels submits the Cholesky factorization as [Program.Potrf] does, with a
// panel in one task: the diagonal tile and all tiles of its column (row, if a
// stores the upper half), which are handed on one after the other, so that the
// updates by the first ones begin while the panel goes on with the rest:
//
//	potrfp(k)  ├ L(k,k) ┼ L(k+1,k) ┼ L(k+2,k) ┼ L(k+3,k) ┤
//	                        └► syrk    └► syrk, gemm  └► …
//
// Result, errors and the half that is read are those of Potrf. There is one task
// less for each tile of the factor off its diagonal, and the triangle stays in
// the cache of one core; but a panel has one core, or those of a gang, so that
// Potrf is the better one where there are many. docs/benchmarking.md has figures.
//
// It panics with ErrShape if A is not square.
func (p *Program[T]) PotrfPanels(a *Matrix[T], opt PanelOptions) error {
	if a.rows != a.cols {
		panic(ErrShape)
	}
	upper := a.kind.Uplo() == blas.Upper
	uplo := blas.Lower
	syrk := &kernels.Syrk{Uplo: blas.Lower, Trans: blas.NoTrans, Alpha: -1, Beta: 1}
	gemm := &kernels.Gemm{TransA: blas.NoTrans, TransB: blas.Trans, Alpha: -1, Beta: 1}
	if upper {
		uplo = blas.Upper
		syrk = &kernels.Syrk{Uplo: blas.Upper, Trans: blas.Trans, Alpha: -1, Beta: 1}
		gemm = &kernels.Gemm{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: -1, Beta: 1}
	}
	o := p.operand(a)
	// A(i, j) of the lower half is stored, transposed, at (j, i) of the upper.
	at := o.tile
	if upper {
		at = func(i, j int) *graph.Datum { return o.tile(j, i) }
	}
	mt := a.mt
	pr := potrfPriority(mt)
	for k := range mt {
		p.column = p.column[:0]
		for m := k; m < mt; m++ {
			p.column = append(p.column, inout(at(m, k)))
		}
		err := p.submit(p.ops.Potrfp, &kernels.Potrfp{Uplo: uplo, Offset: k * a.nb, Lazy: opt.Lazy}, pr.potrf(k), p.column...)
		for m := k + 1; m < mt && err == nil; m++ {
			err = p.submit(p.ops.Syrk, syrk, pr.syrk(k, m), in(at(m, k)), inout(at(m, m)))
			for n := k + 1; n < m && err == nil; n++ {
				left, right := at(m, k), at(n, k)
				if upper {
					left, right = right, left
				}
				err = p.submit(p.ops.Gemm, gemm, pr.gemm(k, m, n), in(left), in(right), inout(at(m, n)))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
