package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
)

// Ormsb2st is the parameter of op "ormsb2st": the product of rows with the transpose of a part of the Q of op "sb2st",
//
//	X = X·Qᵀ,
//
// which is the reflectors of some sweeps. The parts are applied from the last one to the first one.
//
// Operands: X (inout), the reflectors (in). The columns of the reflectors meet the last columns of X.
//
// If the context ends, the version returns the cause of that.
type Ormsb2st struct {
	B int
}

// Validate returns an error if a field is out of range.
func (p *Ormsb2st) Validate() error { return check("ormsb2st", p) }

// ormsb2stOp defines op "ormsb2st".
func ormsb2stOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "ormsb2st", Work: ormsb2stWork[T], NewParams: fresh[Ormsb2st]},
		about: "product with reflectors of a chase",
		run:   ormsb2st[T],
		help:  byWork[T](ormsb2stWork[T]),
	}
}

// ormsb2stOf returns the operands of op "ormsb2st", and the order of the matrix in which the sweeps are the first ones.
func ormsb2stOf[T kernels.Element](call *versions.Call) (x, q *kernels.Tile[T], n int) {
	p := params[Ormsb2st](call)
	x, q = args[T](call, 2)
	panicIf(p.B < 1, kernels.ErrShape)
	// Cols is n + ChaseSteps(n, B), which grows with n.
	for n = min(q.Cols, x.Cols); n > 0 && n+cpu.ChaseSteps(n, p.B) > q.Cols; n-- {
	}
	panicIf(n < 1 || n+cpu.ChaseSteps(n, p.B) != q.Cols || q.Rows >= n, kernels.ErrShape)
	return x, q, n
}

// ormsb2stWork returns 4 operations for each row of X and element of the vectors.
func ormsb2stWork[T kernels.Element](call *versions.Call) float64 {
	x, q, n := ormsb2stOf[T](call)
	return 4 * float64(x.Rows) * float64(q.Rows) * (float64(n) - float64(q.Rows)/2)
}

// ormsb2st returns the function of a version of op "ormsb2st".
func ormsb2st[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		x, q, n := ormsb2stOf[T](call)
		b := params[Ormsb2st](call).B
		watch := startStages(call)
		reduction := cpu.NewTridiagonal(by.blas, crewOrAlone[T](call))
		reduction.Stop = watch.stop
		steps := cpu.ChaseSteps(n, b)
		work := versions.Scratch[T](call.Work, cpu.OrmSweepsWork(q.Rows, n, b)+q.Rows*steps)
		taus, work := work[:q.Rows*steps], work[q.Rows*steps:]
		for s := range q.Rows {
			copy(taus[s*steps:][:steps], q.Row(s)[n:])
		}
		if x.Rows > 0 {
			reduction.OrmSweeps(x.Rows, n, b, q.Rows, cpu.Sweeps[T]{V: q.Data, Stride: q.Stride, Tau: taus}, x.Data[x.Cols-n:], x.Stride, work)
		}
		return watch.stop()
	}
}
