package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Gbtrf is the parameter of op "gbtrf" (LAPACK xGBTRF): the LU factorization of a square band matrix with partial
// pivoting,
//
//	A = P·L·U.
//
// Operands: A (inout, n rows of 1 + lower + upper elements, see Room, one behind the other: a
// [cpu.Band]), P (out, a *kernels.Pivots, for op "gbtrs"). KL and KU of the diagonals of A below and above the main one
// are not zero. A zero pivot is no error: Pivots.Info is then its column, from 1.
type Gbtrf struct{ KL, KU int }

// Gbtrs is the parameter of op "gbtrs" (LAPACK xGBTRS): the solution with the factors of op "gbtrf", B = op(A)⁻¹·B.
//
// Operands: A (in), P (in), B (inout, n×nrhs).
type Gbtrs struct {
	KL, KU int
	Trans  blas.Transpose
}

// Validate returns an error if a field is out of range.
func (p *Gbtrf) Validate() error { return check("gbtrf", p) }

// Validate returns an error if a field is out of range.
func (p *Gbtrs) Validate() error { return check("gbtrs", p) }

// Room returns the numbers of diagonals below and above the main one for which A has memory.
func (p *Gbtrf) Room() (lower, upper int) { return cpu.GbtrfRoom(p.KL, p.KU) }

// gbtrfOp defines op "gbtrf".
func gbtrfOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "gbtrf", Work: gbtrfWork[T], NewParams: fresh[Gbtrf]},
		about: "LU factorization of a band matrix, A = PLU",
		run:   gbtrf[T],
		help: inStep[T](bandAlone, func(call *versions.Call) float64 {
			p := params[Gbtrf](call)
			return float64(min(p.KL, p.KU))
		}),
	}
}

// gbtrsOp defines op "gbtrs".
func gbtrsOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "gbtrs", Work: gbtrsWork[T], NewParams: fresh[Gbtrs]},
		about: "solution with the factors of gbtrf",
		run:   gbtrs[T],
	}
}

// gbtrfWork returns 2·n·kl·(ku+1), the flops without exchanges of rows.
func gbtrfWork[T kernels.Element](call *versions.Call) float64 {
	p := params[Gbtrf](call)
	return 2 * float64(arg[T](call, 0).Rows) * float64(p.KL) * float64(p.KU+1)
}

// gbtrsWork returns 2·n·(kl+ku+1)·nrhs.
func gbtrsWork[T kernels.Element](call *versions.Call) float64 {
	p := params[Gbtrs](call)
	return 2 * float64(arg[T](call, 0).Rows) * float64(p.KL+p.KU+1) * float64(arg[T](call, 2).Cols)
}

// gbtrf returns the function of a version of op "gbtrf".
func gbtrf[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Gbtrf](call)
		t := cpu.NewBands(by.blas, by.lu, crewOrAlone[T](call))
		lower, upper := cpu.GbtrfRoom(p.KL, p.KU)
		a, pivots := bandOf[T](call, 0, lower, upper), operand[*kernels.Pivots](call, 1)
		pivots.Resize(a.N)
		pivots.Info = t.Gbtrf(p.KL, p.KU, a, pivots.Rows, versions.Scratch[T](call.Work, t.GbtrfWork(p.KL, p.KU, 0)))
		return nil
	}
}

// gbtrs returns the function of a version of op "gbtrs".
func gbtrs[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		p := params[Gbtrs](call)
		t := cpu.NewBands(by.blas, by.lu, nil)
		lower, upper := cpu.GbtrfRoom(p.KL, p.KU)
		a, pivots, b := bandOf[T](call, 0, lower, upper), operand[*kernels.Pivots](call, 1), arg[T](call, 2)
		panicIf(b.Rows != a.N || len(pivots.Rows) != a.N, kernels.ErrShape)
		work := versions.Scratch[T](call.Work, t.GbtrfWork(p.KL, p.KU, b.Cols))
		t.Gbtrs(p.Trans, p.KL, p.KU, a, pivots.Rows, b.Cols, b.Data, b.Stride, work)
		return nil
	}
}
