package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// Pbtrf is the parameter of op "pbtrf" (LAPACK xPBTRF): the Cholesky factorization of a symmetric positive definite band
// matrix,
//
//	A = Uᵀ·U.
//
// Operand: A (inout, n rows of 1 + Room() elements, one behind the other: the upper triangle as a [cpu.Band]). K
// of its diagonals above the main one are not zero. If leading minor i (from 1) is not positive definite the version
// returns *NotPositiveDefiniteError with Minor = i.
type Pbtrf struct{ K int }

// Pbtrs is the parameter of op "pbtrs" (LAPACK xPBTRS): the solution with the factor of op "pbtrf", B = A⁻¹·B.
//
// Operands: A (in), B (inout, n×nrhs).
type Pbtrs struct{ K int }

// Validate returns an error if a field is out of range.
func (p *Pbtrf) Validate() error { return check("pbtrf", p) }

// Validate returns an error if a field is out of range.
func (p *Pbtrs) Validate() error { return check("pbtrs", p) }

// Room returns the number of diagonals above the main one for which A has memory.
func (p *Pbtrf) Room() (upper int) { return cpu.PbtrfRoom(p.K) }

// pbtrfOp defines op "pbtrf".
func pbtrfOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "pbtrf", Work: pbtrfWork[T], NewParams: fresh[Pbtrf]},
		about: "Cholesky factorization of a band matrix, A = UᵀU",
		run:   pbtrf[T],
		help:  inStep[T](bandAlone, func(call *versions.Call) float64 { return float64(params[Pbtrf](call).K) }),
	}
}

// pbtrsOp defines op "pbtrs".
func pbtrsOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "pbtrs", Work: pbtrsWork[T], NewParams: fresh[Pbtrs]},
		about: "solution with the factor of pbtrf",
		run:   pbtrs[T],
	}
}

// bandOf returns operand i as a band with so many diagonals below and above the main one.
func bandOf[T kernels.Element](call *versions.Call, i, lower, upper int) *cpu.Band[T] {
	a := arg[T](call, i)
	panicIf(a.Cols != lower+upper+1 || a.Stride != a.Cols && a.Rows > 0, kernels.ErrShape)
	return &cpu.Band[T]{N: a.Rows, Lower: lower, Upper: upper, Data: a.Data}
}

// pbtrfWork returns n·(k+1)².
func pbtrfWork[T kernels.Element](call *versions.Call) float64 {
	n, k := float64(arg[T](call, 0).Rows), float64(params[Pbtrf](call).K)
	return n * (k + 1) * (k + 1)
}

// pbtrsWork returns 2·n·(2·k+1)·nrhs.
func pbtrsWork[T kernels.Element](call *versions.Call) float64 {
	a, b := args[T](call, 2)
	return 2 * float64(a.Rows) * float64(2*params[Pbtrs](call).K+1) * float64(b.Cols)
}

// bandAlone is the number of diagonals on one side up to which one unit is as fast as several.
const bandAlone = 192

// pbtrf returns the function of a version of op "pbtrf".
func pbtrf[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		k := params[Pbtrf](call).K
		t := cpu.NewBands(by.blas, by.lu, crewOrAlone[T](call))
		a := bandOf[T](call, 0, 0, cpu.PbtrfRoom(k))
		if info := t.Pbtrf(k, a, versions.Scratch[T](call.Work, t.PbtrfWork(k, 0))); info != 0 {
			return &kernels.NotPositiveDefiniteError{Minor: info}
		}
		return nil
	}
}

// pbtrs returns the function of a version of op "pbtrs".
func pbtrs[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		k := params[Pbtrs](call).K
		t := cpu.NewBands(by.blas, by.lu, nil)
		a, b := bandOf[T](call, 0, 0, cpu.PbtrfRoom(k)), arg[T](call, 1)
		panicIf(b.Rows != a.N, kernels.ErrShape)
		t.Pbtrs(k, a, b.Cols, b.Data, b.Stride, versions.Scratch[T](call.Work, t.PbtrfWork(k, b.Cols)))
		return nil
	}
}
