package chol

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Potrf submits the Cholesky factorization of the symmetric positive definite
// n×n matrix A,
//
//	A = L·Lᵀ if a stores the lower half (SymLower, TriLower, or Full),
//	A = Uᵀ·U if it stores the upper half.
//
// The factor overwrites its triangle. The other half is neither read nor written.
// If A is not positive definite, the job fails with a
// *kernels.NotPositiveDefiniteError whose Minor is LAPACK's info, and the tiles
// hold an unfinished factorization.
//
// The algorithm is the right-looking one of PLASMA's plasma_pdpotrf. The priority
// of a task is above those of the tasks that wait for it.
//
// It panics with ErrShape if A is not square.
//
// Reference: LAPACK xPOTRF; LAWN 191 (Buttari et al., 2009).
func Potrf[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T]) error {
	return PotrfSteps(p, a, 0, a.MT())
}

// PotrfSteps submits the steps from, …, to-1 of [Potrf]. There is one step for each
// tile row: step k factors tile (k, k), finishes tile column k of the factor, and
// updates the tiles to the right. The tiles of a after step k-1 are all that step k
// needs to continue the factorization.
//
// It panics with ErrShape if A is not square, and with ErrIndex if there are no
// such steps.
func PotrfSteps[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], from, to int) error {
	if a.Rows() != a.Cols() {
		panic(blocked.ErrShape)
	}
	if from < 0 || to < from || to > a.MT() {
		panic(blocked.ErrIndex)
	}
	tasks := submit.Of(p)
	f := newPotrf(tasks, a)
	for k := from; k < to && tasks.Err == nil; k++ {
		tasks.Submit(tasks.Op("potrf"), &op.Potrf{Uplo: f.uplo, Offset: k * a.NB()}, f.priority.potrf(k), submit.InOut(f.at(k, k)))
		for m := k + 1; m < a.MT(); m++ {
			tasks.Submit(tasks.Op("trsm"), f.trsm, f.priority.trsm(k, m), submit.In(f.at(k, k)), submit.InOut(f.at(m, k)))
		}
		f.update(k)
	}
	return tasks.Err
}

// potrf is one Cholesky factorization.
type potrf[T blocked.Element] struct {
	*submit.Tasks[T]
	a        *submit.Operand[T]
	uplo     blas.Uplo // the half that is factored
	priority potrfPriority

	trsm *op.Trsm[T]
	syrk *op.Syrk[T]
	gemm *op.Gemm[T]
}

func newPotrf[T blocked.Element](p *submit.Tasks[T], a *blocked.Matrix[T]) *potrf[T] {
	f := &potrf[T]{Tasks: p, a: p.Operand(a), uplo: blas.Lower, priority: potrfPriority(a.MT()),
		trsm: &op.Trsm[T]{Side: blas.Right, Uplo: blas.Lower, Trans: blas.Trans, Diag: blas.NonUnit, Alpha: 1},
		syrk: &op.Syrk[T]{Uplo: blas.Lower, Trans: blas.NoTrans, Alpha: -1, Beta: 1},
		gemm: &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.Trans, Alpha: -1, Beta: 1}}
	if a.Kind().Uplo() == blas.Upper {
		f.uplo = blas.Upper
		f.trsm = &op.Trsm[T]{Side: blas.Left, Uplo: blas.Upper, Trans: blas.Trans, Diag: blas.NonUnit, Alpha: 1}
		f.syrk = &op.Syrk[T]{Uplo: blas.Upper, Trans: blas.Trans, Alpha: -1, Beta: 1}
		f.gemm = &op.Gemm[T]{TransA: blas.Trans, TransB: blas.NoTrans, Alpha: -1, Beta: 1}
	}
	return f
}

// at returns tile (i, j) of the lower half. If the upper half is stored, that is tile
// (j, i), transposed.
func (f *potrf[T]) at(i, j int) *graph.Datum {
	if f.uplo == blas.Upper {
		i, j = j, i
	}
	return f.a.Tile(i, j)
}

// update submits the updates of all later tile columns by column k of the factor.
func (f *potrf[T]) update(k int) {
	upper := f.uplo == blas.Upper
	// Tile (i, k) is the left operand of the i−k products in tile row i, and the right operand of the MT−i products in
	// tile column i. The product on the diagonal is one of both. In the upper half left and right change places.
	beside, below := func(i int) int { return i - k }, func(i int) int { return f.a.MT() - i }
	if upper {
		beside, below = below, beside
	}
	shared := f.ShareStep(f.a, k, beside, below)
	for m := k + 1; m < f.a.MT(); m++ {
		f.SubmitLocal(shared.For(m, m), f.Op("syrk"), f.syrk, f.priority.syrk(k, m), submit.In(f.at(m, k)), submit.InOut(f.at(m, m)))
		for n := k + 1; n < m; n++ {
			i, j := m, n // the tile row and column of the product
			if upper {
				i, j = n, m
			}
			f.SubmitLocal(shared.For(i, j), f.Op("gemm"), f.gemm, f.priority.gemm(k, m, n), submit.In(f.at(i, k)), submit.In(f.at(j, k)), submit.InOut(f.at(m, n)))
		}
	}
}

// potrfPriority gives the priorities of the tasks of a factorization of mt×mt tiles: those of DPLASMA's
// dpotrf. Each task is above the tasks that wait for it. The priority of a potrf is the work of the
// factorization that it begins, in units of nb³/3 flops: no path is longer.
type potrfPriority int64

func (mt potrfPriority) potrf(k int) int64 { return cube(int64(mt) - int64(k)) }

func (mt potrfPriority) trsm(k, m int) int64 {
	return cube(int64(mt)-int64(m)) + 3*int64(m-k)*(2*int64(mt)-int64(k+m)-1)
}

func (mt potrfPriority) syrk(k, m int) int64 {
	return cube(int64(mt)-int64(m)) + 3*int64(m-k)
}

func (mt potrfPriority) gemm(k, m, n int) int64 {
	return cube(int64(mt)-int64(m)) + 3*int64(m-n)*(2*int64(mt)-int64(m+n)-3) + 6*int64(m-k)
}

// PotrfLoads returns the priorities with which [blocked.Program.Load] should read a matrix
// of mt×mt tiles for [Potrf], the upper half by rows or the lower one by columns. A line has
// a priority just above that of the most urgent task that waits for it. If lines were read
// only when no other task is ready, all updates of the last lines would be left for the
// end, where they wait for one another.
func PotrfLoads(mt int) func(line int) int64 {
	p := potrfPriority(mt)
	return func(line int) int64 {
		if line == 0 {
			return p.potrf(0) + 1
		}
		first := p.syrk(0, line)
		for m := line + 1; m < mt; m++ {
			first = max(first, p.gemm(0, m, line))
		}
		return first + 1
	}
}

func cube(x int64) int64 { return x * x * x }
