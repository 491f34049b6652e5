package op

import (
	"cmp"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
)

// Laed0 is the parameter of op "laed0" (LAPACK xLAED0): the eigenvalues and eigenvectors of a half of a symmetric
// tridiagonal n×n matrix T, without what couples it to the other half,
//
//	T1 − |e|·(0 … 0 1)ᵀ·(0 … 0 1) = Zᵀ·diag(w)·Z  for the first half, of order [HalfOrder](n, false),
//	T2 − |e|·(1 0 … 0)ᵀ·(1 0 … 0) = Zᵀ·diag(w)·Z  for the second half,
//
// where e couples them. Ops "laed4" and "laed3" merge the halves.
//
// Operands: W (out, 2×m), whose rows get w in ascending order, and the column of Z beside the other half; tiles (out, m rows
// each) that have the columns of Z, in their order; T (in, 2×n, as op "sb2st" leaves it). n is at least 2.
//
// Elements of T must be finite. If the iteration does not converge, the version returns a *tridiag.ConvergenceError, and
// if the context ends, the cause of that.
type Laed0 struct {
	Second bool
}

// HalfOrder returns the order of a half of a matrix of order n.
func HalfOrder(n int, second bool) int {
	if second {
		return n - tridiag.Cut(n)
	}
	return tridiag.Cut(n)
}

// laed0Op defines op "laed0".
func laed0Op[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "laed0", Work: laed0Work[T], NewParams: fresh[Laed0]},
		about: "eigenvalues and vectors of half a tridiagonal matrix",
		run:   laed0[T],
		help: inStep[T](syevdAlone, func(call *versions.Call) float64 {
			_, _, m := laed0Of[T](call)
			return float64(m)
		}),
	}
}

// laed0Of returns the operands W and T of op "laed0", and the order of the half.
func laed0Of[T kernels.Element](call *versions.Call) (w, t *kernels.Tile[T], m int) {
	panicIf(len(call.Args) < 2, kernels.ErrArgs)
	w, t = args[T](call, len(call.Args))
	panicIf(t.Rows != 2 || t.Cols < 2, kernels.ErrShape)
	m = HalfOrder(t.Cols, params[Laed0](call).Second)
	cols := 0
	for i := 1; i < len(call.Args)-1; i++ {
		z := arg[T](call, i)
		if cols += z.Cols; z.Rows != m {
			panic(kernels.ErrShape)
		}
	}
	panicIf(w.Rows != 2 || w.Cols != m || cols != m, kernels.ErrShape)
	return w, t, m
}

// laed0Work returns 4/3·m³.
func laed0Work[T kernels.Element](call *versions.Call) float64 {
	_, _, m := laed0Of[T](call)
	return 4 * float64(m) * float64(m) * float64(m) / 3
}

// laed0 returns the function of a version of op "laed0".
func laed0[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	all := Conquering(by.blas)
	return func(call *versions.Call) error {
		w, t, m := laed0Of[T](call)
		second := params[Laed0](call).Second
		watch, tools := startStages(call), all
		tools.Stop = watch.stop
		work := versions.Scratch[T](call.Work, m+m*m+tridiag.WorkStedc(m))
		e, work := work[:m-1], work[m:]
		q := tridiag.Matrix[T]{Rows: m, Cols: m, Stride: m, Data: work[:m*m]}
		d := w.Row(0)
		tridiag.Half(t.Row(0), t.Row(1), second, d, e)
		err := tridiag.Stedc(d, e, q, work[m*m:], tools, tridiag.Crew[T](crewOrAlone[T](call)), nil)
		if err = cmp.Or(err, watch.stop()); err != nil {
			return err
		}
		beside := m - 1
		if second {
			beside = 0
		}
		for i := range m {
			row := q.Row(i)
			w.Row(1)[i] = row[beside]
			for l := 1; l < len(call.Args)-1; l++ {
				to := arg[T](call, l).Row(i)
				row = row[copy(to, row):]
			}
		}
		return nil
	}
}
