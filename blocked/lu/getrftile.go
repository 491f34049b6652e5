package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// GetrfTile submits the LU factorization of the m×n matrix A that looks for
// pivots only in the diagonal tiles,
//
//	A = P·L·U, P block diagonal,
//
// stored as [Getrf] leaves it. It is the block algorithm of Amela et
// al. (2018), section 3.4, in which no column need be in one place: for each k,
//
//	P·L(k,k)·U(k,k) = A(k,k),
//	U(k,j) = L(k,k)⁻¹·Pᵀ·A(k,j),     j > k,
//	L(i,k) = A(i,k)·U(k,k)⁻¹,        i > k, its rows exchanged in step i,
//	A(i,j) = A(i,j) − L(i,k)·U(k,j), i, j > k.
//
// They multiply by the inverses of the triangles, and those of column k once
// more for each j, which makes 8/3·n³ operations; here they are divided by, once,
// which makes 2/3·n³.
//
// It is not stable: a diagonal tile that is nearly singular, whatever the matrix
// is, makes L large and what is left of A vanish beside L·U. If one is singular,
// [Pivots.Info] says so, and the factors hold infinities or NaN if there are
// tiles below it. See [FactorMaxima] for what tells that a factorization
// is of no use.
//
// It panics as Getrf does.
func GetrfTile[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots) error {
	f := newGetrf(p.Tasks(), a, v)
	right := rightUpper()
	for k := 0; k < f.steps && p.Tasks().Err == nil; k++ {
		f.Submit(p.Tasks().Ops.Getrf, &op.Getrf{Offset: k * a.NB()}, f.priority.panel(k), submit.InOut(f.a.Tile(k, k)), submit.Out(&f.pivots[k]))
		f.divide(k, right)
		f.update(k, k+1)
	}
	return p.Tasks().Err
}
