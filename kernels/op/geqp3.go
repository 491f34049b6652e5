package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Geqp3 is the parameter of op "geqp3" (LAPACK xGEQP3): the QR factorization with column pivoting of an m×n matrix A,
//
//	A·P = Q·R.
//
// Operands: B (inout, n×m: Aᵀ), tau (out, 1×min(m, n)), P (out, a *kernels.Pivots). Rᵀ overwrites the lower triangle or
// trapezoid of B with the diagonal, and the vectors of the reflectors of Q the rows above it, for op "ormlq". Column i of
// A·P is column P.Rows[i] of A. P.Info is 0.
//
// Each step takes the column with the largest norm of what is left of it. If Sketched, columns are chosen in blocks by
// their norms in a random sketch, which is always the same one. Elements of A must be finite.
type Geqp3 struct {
	Sketched bool
}

// Ormlq is the parameter of op "ormlq" (LAPACK xORMLQ): a product with the orthogonal factor of op "geqp3",
//
//	X = X·Q, or X·Qᵀ if Transposed.
//
// Operands: B (in, at least k×m: the reflectors in its rows), tau (in, 1×k), X (inout, rows×m).
type Ormlq struct {
	Transposed bool
}

// geqp3Op defines op "geqp3".
func geqp3Op[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "geqp3", Work: geqp3Work[T], NewParams: fresh[Geqp3]},
		about: "QR factorization with column pivoting, AP = QR",
		run:   geqp3[T],
		help:  inStep[T](geqp3Alone*geqp3Alone, elements[T](0)),
	}
}

// ormlqOp defines op "ormlq".
func ormlqOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "ormlq", Work: ormlqWork[T], NewParams: fresh[Ormlq]},
		about: "product with the orthogonal factor of geqp3",
		run:   ormlq[T],
		help:  byWork[T](ormlqWork[T]),
	}
}

// geqp3Of returns the operands of op "geqp3".
func geqp3Of[T kernels.Element](call *versions.Call) (b, tau *kernels.Tile[T], p *kernels.Pivots) {
	panicIf(len(call.Args) != 3, kernels.ErrArgs)
	b, tau, p = arg[T](call, 0), arg[T](call, 1), operand[*kernels.Pivots](call, 2)
	panicIf(tau.Rows != 1 || tau.Cols != min(b.Rows, b.Cols), kernels.ErrShape)
	return b, tau, p
}

// ormlqOf returns the operands of op "ormlq".
func ormlqOf[T kernels.Element](call *versions.Call) (b, tau, x *kernels.Tile[T]) {
	b, x = args[T](call, 3)
	tau = arg[T](call, 1)
	panicIf(tau.Rows != 1 || tau.Cols > min(b.Rows, b.Cols) || x.Cols != b.Cols, kernels.ErrShape)
	return b, tau, x
}

// geqp3Work returns 2·k²·(m + n − 2/3·k) + 2·k·(m−k)·(n−k), where k = min(m, n).
func geqp3Work[T kernels.Element](call *versions.Call) float64 {
	b, _, _ := geqp3Of[T](call)
	m, n := float64(b.Cols), float64(b.Rows)
	k := min(m, n)
	return 4*m*n*k - 2*(m+n)*k*k + 4*k*k*k/3
}

// ormlqWork returns 2·rows·k·(2·m − k).
func ormlqWork[T kernels.Element](call *versions.Call) float64 {
	_, tau, x := ormlqOf[T](call)
	k := float64(tau.Cols)
	return 2 * float64(x.Rows) * k * (2*float64(x.Cols) - k)
}

// geqp3Alone is the order up to which one unit is as fast as several.
const geqp3Alone = 192

// geqp3 returns the function of a version of op "geqp3".
func geqp3[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		b, tau, p := geqp3Of[T](call)
		n, m := b.Rows, b.Cols
		p.Resize(n)
		p.Info = 0
		var factors []T
		if tau.Cols > 0 {
			factors = tau.Row(0)
		}
		scale := moderate(b, blas.All)
		work := versions.Scratch[T](call.Work, cpu.Geqp3Work(n, m))
		cpu.NewPivoted(by.blas, crewOrAlone[T](call)).Geqp3(params[Geqp3](call).Sketched, n, m, b.Data, b.Stride, p.Rows, factors, work)
		if scale != 1 {
			for i := range n {
				row := b.Row(i)[:min(i+1, m)]
				for j := range row {
					row[j] /= scale
				}
			}
		}
		return nil
	}
}

// ormlq returns the function of a version of op "ormlq".
func ormlq[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		b, tau, x := ormlqOf[T](call)
		k := tau.Cols
		if k == 0 {
			return nil
		}
		work := versions.Scratch[T](call.Work, cpu.OrmlqWork(b.Cols))
		cpu.NewPivoted(by.blas, crewOrAlone[T](call)).Ormlq(params[Ormlq](call).Transposed, x.Rows, b.Cols, k, b.Data, b.Stride, tau.Row(0),
			x.Data, x.Stride, work)
		return nil
	}
}
