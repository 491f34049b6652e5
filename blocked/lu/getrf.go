package lu

import (
	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Getrf submits the LU factorization with partial pivoting of the m×n matrix
// A,
//
//	A = P·L·U,
//
// where L is m×min(m, n), lower triangular (trapezoidal if m > n) with ones on
// its diagonal, and U min(m, n)×n, upper triangular or trapezoidal. They
// overwrite A, without the ones; P goes to v. All of it is LAPACK's: the pivots,
// and L, whose rows are exchanged along.
//
// A zero on the diagonal of U is no error: the factorization is completed, and
// [Pivots.Info] says where the first one is.
//
// For each k, the panel (tile column k from tile row k down) is one task. Every
// column to the right of it then goes its own way, so that the next panel need
// not wait for more than the one column that it is in:
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

// GetrfSteps submits steps from to to-1 of [Getrf], of as many as there
// are panels: step k factors panel k and makes its interchanges and updates in
// all other tile columns. After step k-1 the tiles of a and the panels of v are
// the state from which the factorization goes on with step k.
//
// It panics as Getrf does, and with ErrIndex if there are no such steps.
func GetrfSteps[T kernels.Element](p *blocked.Program[T], a *blocked.Matrix[T], v *Pivots, from, to int) error {
	f := newGetrf(p.Tasks(), a, v)
	if from < 0 || to < from || to > f.steps {
		panic(blocked.ErrIndex)
	}
	for k := from; k < to && p.Tasks().Err == nil; k++ {
		f.panel(k)
		f.update(k, a.MT())
	}
	return p.Tasks().Err
}

// getrf is one LU factorization.
type getrf[T blocked.Element] struct {
	*submit.Tasks[T]
	a        *submit.Operand[T]
	pivots   []graph.Datum
	steps    int // number of panels
	priority getrfPriority

	laswp *op.Laswp
	trsm  *op.Trsm
	gemm  *op.Gemm
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
		trsm:     &op.Trsm{Side: blas.Left, Uplo: blas.Lower, Trans: blas.NoTrans, Diag: blas.Unit, Alpha: 1},
		gemm:     &op.Gemm{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: -1, Beta: 1},
	}
}

// panel submits the factorization of panel k in one task.
func (f *getrf[T]) panel(k int) {
	f.Column = f.Column[:0]
	for i := k; i < f.a.MT(); i++ {
		f.Column = append(f.Column, submit.InOut(f.a.Tile(i, k)))
	}
	f.Column = append(f.Column, submit.Out(&f.pivots[k]))
	f.Submit(f.Ops.Getrf, &op.Getrf{Offset: k * f.a.NB()}, f.priority.panel(k), f.Column...)
}

// update submits what follows panel k in the other columns. The interchanges
// go from tile row k to bottom-1.
func (f *getrf[T]) update(k, bottom int) {
	a := f.a
	packed := f.Pack(a, k, func(int) int { return a.NT() - k - 1 }, func(int) int { return a.MT() - k - 1 })
	for j := k + 1; j < a.NT(); j++ {
		priority := f.priority.update(k, j)
		f.exchange(k, j, bottom, priority)
		f.Submit(f.Ops.Trsm, f.trsm, priority-1, submit.In(a.Tile(k, k)), submit.InOut(a.Tile(k, j)))
		for i := k + 1; i < a.MT(); i++ {
			f.SubmitLocal(packed.At(i, j), f.Ops.Gemm, f.gemm, priority-2, submit.In(a.Tile(i, k)), submit.In(a.Tile(k, j)), submit.InOut(a.Tile(i, j)))
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
	p.Column = append(p.Column[:0], submit.In(pivots))
	for i := k; i < bottom; i++ {
		p.Column = append(p.Column, submit.InOut(a.Tile(i, j)))
	}
	p.Submit(p.Ops.Laswp, params, priority, p.Column...)
}

// getrfPriority gives the priorities of the tasks of a factorization: what is
// still to be done, one after the other, from the task to the end. A step takes
// 4 in each column (1 the interchanges, 1 trsm, 2 gemm, whose tasks run beside
// one another), and a panel of i tiles 3·i: it has half the work of as many
// gemm at a third of the speed and less, and nothing to share it with.
type getrfPriority struct{ mt, nt, steps int64 }

// panel returns the priority of panel k: those of it and of all that follow,
// and a step between each and the next.
func (p getrfPriority) panel(k int) int64 {
	i := int64(k)
	left := p.steps - i
	path := 3*(left*p.mt-(p.steps-1+i)*left/2) + 4*(left-1)
	if p.nt > p.steps {
		path += 4
	}
	return path
}

// update returns the priority of the interchanges of step k in column j > k:
// the way to panel j, or to the end.
func (p getrfPriority) update(k, j int) int64 {
	if int64(j) < p.steps {
		return p.panel(j) + 4*int64(j-k)
	}
	return 4 * (p.steps - int64(k))
}
