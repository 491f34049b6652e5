package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Getrf submits the LU factorization with partial pivoting of the m×n matrix A,
//
//	A = P·L·U,
//
// where L is m×min(m, n), lower triangular or trapezoidal with ones on its diagonal, and U is
// min(m, n)×n, upper triangular or trapezoidal. L, without the ones, and U overwrite A. P goes to v.
// Pivots and factors are as LAPACK defines them: later interchanges are applied to the rows of L, too.
//
// A zero on the diagonal of U is no error: the factorization is completed, and [Pivots.Info] says
// where the first zero is.
//
// For each k, the panel (tile column k from tile row k down) is one task. The columns to the right of
// the panel are updated independently, so the next panel waits only for its own column:
//
//	┌─────┬─────┬─────┐
//	│ U   │ U   │ U   │   k   getrf: panel k and its interchanges
//	├─────┼─────┼─────┤       for every column j > k:
//	│ L   │getrf│trsm │       laswp  interchanges, from tile row k down
//	├─────┤  │  ├─────┤       trsm   A(k,j) = L(k,k)⁻¹·A(k,j)
//	│ L   │  ▼  │gemm │       gemm   A(i,j) −= L(i,k)·A(k,j), i > k
//	└─────┴─────┴─────┘       for every column j < k: laswp, whenever there is time
//
// It panics with ErrKind if a is not Full, and with ErrShape if v was not made
// for the shape and tile size of a.
//
// Reference: LAPACK xGETRF.
func Getrf[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots) error {
	return GetrfSteps(p, a, v, 0, len(v.panels))
}

// GetrfSteps submits the steps from, …, to-1 of [Getrf]. There is one step for each panel: step k
// factors panel k, and does its interchanges and updates in all other tile columns. The tiles of a and
// the panels of v after step k-1 are all that step k needs to continue the factorization.
//
// It panics as Getrf does, and with ErrIndex if there are no such steps.
func GetrfSteps[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots, from, to int) error {
	tasks := submit.Of(p)
	f := newGetrf(tasks, a, v)
	if from < 0 || to < from || to > f.steps {
		panic(blocked.ErrIndex)
	}
	for k := from; k < to && tasks.Err == nil; k++ {
		f.panel(k)
		f.update(k, a.MT())
	}
	return tasks.Err
}

// getrf is one LU factorization.
type getrf[T blocked.Element] struct {
	*submit.Tasks[T]
	a        *submit.Operand[T]
	pivots   []graph.Datum
	steps    int // number of panels
	priority getrfPriority

	laswp *op.Laswp
	trsm  *op.Trsm[T]
	gemm  *op.Gemm[T]
}

func newGetrf[T blocked.Element](p *submit.Tasks[T], a *blocked.Matrix[T], v *Pivots) *getrf[T] {
	if a.Kind() != blocked.Full {
		panic(blocked.ErrKind)
	}
	if v.m != a.Rows() || v.n != a.Cols() || v.nb != a.NB() {
		panic(blocked.ErrShape)
	}
	return &getrf[T]{Tasks: p, a: p.Operand(a), pivots: pivotData(p, v, a), steps: len(v.panels),
		priority: getrfPriority{int64(a.MT()), int64(a.NT()), int64(len(v.panels))},
		laswp:    &op.Laswp{},
		trsm:     &op.Trsm[T]{Side: blas.Left, Uplo: blas.Lower, Trans: blas.NoTrans, Diag: blas.Unit, Alpha: 1},
		gemm:     &op.Gemm[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: -1, Beta: 1},
	}
}

// panel submits the factorization of panel k in one task.
func (f *getrf[T]) panel(k int) {
	f.Operands = f.Operands[:0]
	for i := k; i < f.a.MT(); i++ {
		f.Operands = append(f.Operands, submit.InOut(f.a.Tile(i, k)))
	}
	f.Operands = append(f.Operands, submit.Out(&f.pivots[k]))
	f.Submit(f.Op("getrf"), &op.Getrf{Offset: k * f.a.NB()}, f.priority.panel(k), f.Operands...)
}

// update submits the tasks that follow panel k in the other columns. Interchanges reach from tile row
// k to bottom-1: to the last tile row if the whole panel was searched for pivots, and to tile row k if
// only the diagonal tile was (GetrfTile).
func (f *getrf[T]) update(k, bottom int) {
	a := f.a
	shared := f.ShareStep(a, k, func(int) int { return a.NT() - k - 1 }, func(int) int { return a.MT() - k - 1 })
	for j := k + 1; j < a.NT(); j++ {
		priority := f.priority.update(k, j)
		f.exchange(k, j, bottom, priority)
		f.Submit(f.Op("trsm"), f.trsm, priority-1, submit.In(a.Tile(k, k)), submit.InOut(a.Tile(k, j)))
		for i := k + 1; i < a.MT(); i++ {
			f.SubmitLocal(shared.For(i, j), f.Op("gemm"), f.gemm, priority-2, submit.In(a.Tile(i, k)), submit.In(a.Tile(k, j)), submit.InOut(a.Tile(i, j)))
		}
	}
	for j := range k {
		f.exchange(k, j, bottom, 0)
	}
}

// exchange submits the interchanges of panel k in tile rows k to bottom-1 of
// column j.
func (f *getrf[T]) exchange(k, j, bottom int, priority int64) {
	swapRows(f.Tasks, f.laswp, &f.pivots[k], f.a, k, bottom, j, priority)
}

// swapRows submits the interchanges of a panel in tile rows k to bottom-1 of
// column j.
func swapRows[T blocked.Element](p *submit.Tasks[T], params *op.Laswp, pivots *graph.Datum, a *submit.Operand[T], k, bottom, j int, priority int64) {
	p.Operands = append(p.Operands[:0], submit.In(pivots))
	for i := k; i < bottom; i++ {
		p.Operands = append(p.Operands, submit.InOut(a.Tile(i, j)))
	}
	p.Submit(p.Op("laswp"), params, priority, p.Operands...)
}

// getrfPriority gives each task of a factorization the length of the longest path from it to the end.
// The lengths are 1 for laswp, 1 for trsm, and 2 for the gemm tasks of a column, which run at once: a
// step takes 4 in each column. A panel of i tiles takes 3·i: it has half the flops of i gemm, runs at
// about a third of their speed, and is one task.
type getrfPriority struct{ mt, nt, steps int64 }

// panel returns the priority of panel k: the lengths of panels k, k+1, … and a step between each and
// the next. If columns are left to the right of the last panel, one more step follows it.
func (p getrfPriority) panel(k int) int64 {
	i := int64(k)
	left := p.steps - i
	path := 3*(left*p.mt-(p.steps-1+i)*left/2) + 4*(left-1)
	if p.nt > p.steps {
		path += 4
	}
	return path
}

// update returns the priority of the interchanges of step k in column j > k: the length of the path
// through panel j, or to the last step if column j has no panel.
func (p getrfPriority) update(k, j int) int64 {
	if int64(j) < p.steps {
		return p.panel(j) + 4*int64(j-k)
	}
	return 4 * (p.steps - int64(k))
}
