package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// Sytrf is the parameter of op "sytrf" (LAPACK xSYTRF and xSYTRF_RK): the factorization of a symmetric n×n tile,
//
//	P·A·Pᵀ = Uᵀ·D·U,
//
// with U unit upper triangular and D block diagonal with blocks of order 1 and 2, by Bunch-Kaufman pivoting.
//
// Operands: A (inout, n×n; the op reads the upper triangle, and overwrites it above the diagonal with U; the rest of A
// is undefined), D (out, 2×n: its diagonal, and its elements beside the diagonal, which are 0 except in blocks of order
// 2; the last one is 0), P (out, a *kernels.Pivots). Elements of A must be finite. A zero block of D is no error:
// Pivots.Info is then its index, from 1.
type Sytrf struct {
	Rook bool // bounded Bunch-Kaufman pivoting: elements of U are at most 2.8
}

// sytrfOp defines op "sytrf".
func sytrfOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "sytrf", Work: sytrfWork[T], NewParams: fresh[Sytrf]},
		about: "factorization of a symmetric matrix, PAPᵀ = UᵀDU",
		run:   sytrf[T],
		help:  inStep[T](sytrfAlone, order[T]),
	}
}

// sytrfOf returns the operands of op "sytrf".
func sytrfOf[T kernels.Element](call *versions.Call) (a, d *kernels.Tile[T], p *kernels.Pivots) {
	panicIf(len(call.Args) != 3, kernels.ErrArgs)
	a, d, p = arg[T](call, 0), arg[T](call, 1), operand[*kernels.Pivots](call, 2)
	panicIf(a.Rows != a.Cols || d.Rows != 2 || d.Cols != a.Cols, kernels.ErrShape)
	return a, d, p
}

// sytrfWork returns n³/3.
func sytrfWork[T kernels.Element](call *versions.Call) float64 {
	a, _, _ := sytrfOf[T](call)
	n := float64(a.Rows)
	return n * n * n / 3
}

// sytrfAlone is the order up to which one unit is as fast as several.
const sytrfAlone = 192

// sytrf returns the function of a version of op "sytrf".
func sytrf[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		a, d, p := sytrfOf[T](call)
		n := a.Rows
		p.Resize(n)
		p.Info = 0
		if n == 0 {
			return nil
		}
		work := versions.Scratch[T](call.Work, cpu.SytrfWork(n))
		p.Info = cpu.NewIndefinite(by.blas, crewOrAlone[T](call)).Sytrf(params[Sytrf](call).Rook, n, a.Data, a.Stride, d.Row(0), d.Row(1), p.Rows, work)
		return nil
	}
}
