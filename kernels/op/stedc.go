package op

import (
	"cmp"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
)

// Stedc is the parameter of op "stedc" (LAPACK xSTEDC, xSTERF): the eigenvalues and eigenvectors of a symmetric tridiagonal
// n×n matrix,
//
//	T = Zᵀ·diag(w)·Z.
//
// Operands: w (out, 1×n, ascending); tiles of Z (out, n columns each), if eigenvectors are wanted; T (in, 2×n, as op
// "sb2st" leaves it). The tiles get the eigenvectors of the eigenvalues from First on, as rows, with norm 1.
//
// Elements of T must be finite. If the iteration does not converge, the version returns a *tridiag.ConvergenceError, and
// if the context ends, the cause of that.
type Stedc struct {
	First int
}

// Validate returns an error if a field is out of range.
func (p *Stedc) Validate() error { return check("stedc", p) }

// stedcOp defines op "stedc".
func stedcOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "stedc", Work: stedcWork[T], NewParams: fresh[Stedc]},
		about: "eigenvalues and vectors of a tridiagonal matrix",
		run:   stedc[T],
		help:  inStep[T](syevdAlone, func(call *versions.Call) float64 { return float64(arg[T](call, len(call.Args)-1).Cols) }),
	}
}

// stedcOf returns the operands of op "stedc", and the end of the eigenvectors.
func stedcOf[T kernels.Element](call *versions.Call) (t, w *kernels.Tile[T], z []any, end int) {
	panicIf(len(call.Args) < 2, kernels.ErrArgs)
	w, t = args[T](call, len(call.Args))
	z, end = call.Args[1:len(call.Args)-1], params[Stedc](call).First
	for i := range z {
		x := arg[T](call, 1+i)
		if end += x.Rows; x.Cols != t.Cols {
			panic(kernels.ErrShape)
		}
	}
	panicIf(t.Rows != 2 || w.Rows != 1 || w.Cols != t.Cols || end > t.Cols, kernels.ErrShape)
	return t, w, z, end
}

// stedcWork returns 4/3·n³ with vectors, of which deflation saves most as a rule, and 20·n² without.
func stedcWork[T kernels.Element](call *versions.Call) float64 {
	t, _, z, _ := stedcOf[T](call)
	n := float64(t.Cols)
	if len(z) == 0 {
		return 20 * n * n
	}
	return 4 * n * n * n / 3
}

// stedc returns the function of a version of op "stedc".
func stedc[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	all := Conquering(by.blas)
	return func(call *versions.Call) error {
		t, w, z, end := stedcOf[T](call)
		n, first := t.Cols, params[Stedc](call).First
		if n == 0 {
			return nil
		}
		watch, tools := startStages(call), all
		tools.Stop = watch.stop
		crew := tridiag.Crew[T](crewOrAlone[T](call))
		d := w.Row(0)
		copy(d, t.Row(0))
		size := tridiag.WorkValues(n)
		if len(z) > 0 {
			size = n*n + tridiag.WorkStedc(n)
		}
		work := versions.Scratch[T](call.Work, n+size)
		e, work := work[:n-1], work[n:]
		copy(e, t.Row(1))
		if len(z) == 0 {
			return cmp.Or(tridiagonalValues(d, e, work, tools, crew), watch.stop())
		}
		q := tridiag.Matrix[T]{Rows: n, Cols: n, Stride: n, Data: work[:n*n]}
		err := tridiag.Stedc(d, e, q, work[n*n:], tools, crew, func([]T) (int, int) { return first, end })
		if err = cmp.Or(err, watch.stop()); err != nil {
			return err
		}
		row := 0
		for _, x := range z {
			x := x.(*kernels.Tile[T])
			for i := range x.Rows {
				copy(x.Row(i), q.Row(row))
				row++
			}
		}
		return nil
	}
}
