package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
)

// Laed4 is the parameter of op "laed4" (LAPACK xLAED2, xLAED4): part Part of Parts of the roots of the secular equation of
// the last merge of divide and conquer, which are eigenvalues of a tridiagonal matrix T of order n ≥ 2.
//
// Operands: the roots (out, [RootsRows]×n: see [tridiag.Top.Roots]); the W of both halves (in), as op "laed0" leaves
// them; T (in, 2×n).
type Laed4 struct {
	Part, Parts int
}

// Validate returns an error if a field is out of range.
func (p *Laed4) Validate() error { return check("laed4", p) }

// RootsRows is the number of rows of the roots of op "laed4".
const RootsRows = tridiag.TopRows

// laed4Op defines op "laed4".
func laed4Op[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "laed4", Work: laed4Work[T], NewParams: fresh[Laed4]},
		about: "roots of the secular equation of two halves",
		run:   laed4[T],
		help:  byWork[T](laed4Work[T]),
	}
}

// checkHalves panics unless t, of order n, w1 and w2 are those of two halves.
func checkHalves[T kernels.Element](w1, w2, t *kernels.Tile[T]) {
	n := t.Cols
	panicIf(t.Rows != 2 || n < 2 || w1.Rows != 2 || w2.Rows != 2 || w1.Cols != HalfOrder(n, false) || w2.Cols != HalfOrder(n, true), kernels.ErrShape)
}

// top begins the merge of two halves: see [tridiag.NewTop]. work holds 2·n elements.
func top[T kernels.Element](w1, w2, t *kernels.Tile[T], q tridiag.Matrix[T], second bool, tools tridiag.Tools[T],
	crew cpu.Crew[T], work []T) *tridiag.Top[T] {
	values, z := work[:t.Cols], work[t.Cols:2*t.Cols]
	copy(values[copy(values, w1.Row(0)):], w2.Row(0))
	copy(z[copy(z, w1.Row(1)):], w2.Row(1))
	return tridiag.NewTop(t.Row(0), t.Row(1)[:t.Cols-1], values, z, q, second, tools, tridiag.Crew[T](crew))
}

// laed4Of returns the operands of op "laed4".
func laed4Of[T kernels.Element](call *versions.Call) (found, w1, w2, t *kernels.Tile[T]) {
	p := params[Laed4](call)
	found, t = args[T](call, 4)
	w1, w2 = arg[T](call, 1), arg[T](call, 2)
	if checkHalves(w1, w2, t); found.Rows != RootsRows || found.Cols != t.Cols || p.Part >= p.Parts {
		panic(kernels.ErrShape)
	}
	return found, w1, w2, t
}

// laed4Work returns 20·n² for all parts.
func laed4Work[T kernels.Element](call *versions.Call) float64 {
	_, _, _, t := laed4Of[T](call)
	return 20 * float64(t.Cols) * float64(t.Cols) / float64(params[Laed4](call).Parts)
}

// laed4 returns the function of a version of op "laed4".
func laed4[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	tools := Conquering(by.blas)
	return func(call *versions.Call) error {
		found, w1, w2, t := laed4Of[T](call)
		p, n := params[Laed4](call), t.Cols
		work := versions.Scratch[T](call.Work, max(2*n, tridiag.WorkRoots(n, p.Parts)))
		merge := top(w1, w2, t, tridiag.Matrix[T]{Rows: n}, false, tools, crewOrAlone[T](call), work)
		merge.Roots(p.Part, p.Parts, matrixOf(found), work)
		return startStages(call).stop()
	}
}
