package blocked

import "github.com/tessera-la/tessera/kernels"

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
	f := p.newPotrf(a)
	for k := range a.mt {
		p.column = p.column[:0]
		for m := k; m < a.mt; m++ {
			p.column = append(p.column, inout(f.at(m, k)))
		}
		p.submit(p.ops.Potrfp, &kernels.Potrfp{Uplo: f.uplo, Offset: k * a.nb, Lazy: opt.Lazy}, f.priority.potrf(k), p.column...)
		f.update(k)
	}
	return p.err
}
