package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// GetrfTile submits the LU factorization of the m×n matrix A that looks for pivots only in the
// diagonal tiles,
//
//	A = P·L·U, P block diagonal,
//
// stored as [Getrf] stores it. It is the block algorithm of Amela et al. (2018), section 3.4. No task
// needs a whole tile column, so the tiles of a column may be on different nodes. For each k,
//
//	P·L(k,k)·U(k,k) = A(k,k),
//	U(k,j) = L(k,k)⁻¹·Pᵀ·A(k,j),     j > k,
//	L(i,k) = A(i,k)·U(k,k)⁻¹,        i > k, its rows exchanged in step i,
//	A(i,j) = A(i,j) − L(i,k)·U(k,j), i, j > k.
//
// The paper multiplies by the inverses of the triangles, and for column k again with each j: 8/3·n³
// operations. GetrfTile solves with the triangles, once each: 2/3·n³ operations.
//
// It is not stable. A nearly singular diagonal tile, even of a well-conditioned A, makes the elements
// of L large. The remaining part of A is then lost to rounding. [FactorMaxima] measures this. If a
// diagonal tile is singular, [Pivots.Info] says so, and the factors hold infinities or NaN if there
// are tiles below it.
//
// It panics as Getrf does.
func GetrfTile[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots) error {
	tasks := submit.Of(p)
	f := newGetrf(tasks, a, v)
	right := rightUpper[T]()
	for k := 0; k < f.steps && tasks.Err == nil; k++ {
		f.Submit(tasks.Op("getrf"), &op.Getrf{Offset: k * a.NB()}, f.priority.panel(k), submit.InOut(f.a.Tile(k, k)), submit.Out(&f.pivots[k]))
		f.divide(k, right)
		f.update(k, k+1)
	}
	return tasks.Err
}
