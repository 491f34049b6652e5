package op

import (
	"cmp"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/bidiag"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Gesdd is the parameter of op "gesdd" (LAPACK xGESDD): the singular values and, unless Values is set, the
// singular vectors of an m×n tile, m ≥ n,
//
//	A = Uᵀ·diag(σ)·V.
//
// Operands: A (inout, m×n, overwritten), σ (out, 1×n, descending), and unless Values is set U (out, n×m or m×m) and V
// (out, n×n). The first rows of U become the left singular vectors of Part, and those of V the right ones; the other rows
// are undefined. The last m−n rows of an m×m U, which are for Parts of all values, belong to no singular value.
//
// Elements of A must be finite. If an iteration does not converge, the version returns a *tridiag.ConvergenceError, and
// if the context ends, the cause of that. All operands are undefined then. Call.Local may be an *[Account]. The version
// panics with kernels.ErrShape if the shapes do not fit together, and with kernels.ErrArgs if the number of operands is
// wrong.
type Gesdd struct {
	Values    bool      // singular values only
	Part      EigenPart // the singular vectors to compute; its indices are those of descending order
	Reduction Reduction // the way to bidiagonal form
}

// vectors returns how many vectors of each side are wanted: n if the singular values decide.
func (p *Gesdd) vectors(n int) int { return (&Syevd{Values: p.Values, Part: p.Part}).vectors(n) }

// SingularPart is [EigenPart.Of] for values in descending order.
func (p EigenPart) SingularPart(n int, value func(i int) float64) (first, last int) {
	first, last = p.Of(n, func(i int) float64 { return value(n - 1 - i) })
	if p.Kind == EigenByValue {
		first, last = n-last, n-first
	}
	return first, last
}

// gesddOp defines op "gesdd".
func gesddOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "gesdd", Work: gesddWork[T], NewParams: fresh[Gesdd]},
		about: "singular values and vectors of a matrix",
		run:   gesdd[T],
		help:  inStep[T](gesddAlone*gesddAlone, elements[T](0)),
	}
}

// gesddOf returns the operands of op "gesdd". u and v are nil if only the values are wanted.
func gesddOf[T kernels.Element](call *versions.Call) (a, sigma, u, v *kernels.Tile[T]) {
	if params[Gesdd](call).Values {
		a, sigma = args[T](call, 2)
	} else {
		a, v = args[T](call, 4)
		sigma, u = arg[T](call, 1), arg[T](call, 2)
		panicIf(u.Cols != a.Rows || u.Rows != a.Rows && u.Rows != a.Cols || v.Rows != a.Cols || v.Cols != a.Cols, kernels.ErrShape)
	}
	panicIf(a.Rows < a.Cols || sigma.Cols != a.Cols || sigma.Rows != 1, kernels.ErrShape)
	p := params[Gesdd](call).Part
	panicIf(p.Kind == EigenByIndex && (p.First < 0 || p.First > p.Last || p.Last > a.Cols), kernels.ErrArgs)
	panicIf(p.Kind != AllEigen && u != nil && u.Rows > a.Cols, kernels.ErrShape)
	return a, sigma, u, v
}

// gesddWork returns the work if nothing is deflated and A is not factored first: 4·n²·(m−n/3) for the reduction, 8/3·n³
// for divide and conquer, and to apply the reflectors 2·n² for each row of V and 2·n·(2·m−n) for each row of U.
func gesddWork[T kernels.Element](call *versions.Call) float64 {
	a, _, u, v := gesddOf[T](call)
	m, n := float64(a.Rows), float64(a.Cols)
	work := 4*n*n*m - 4*n*n*n/3
	if u != nil {
		left, right := float64(u.Rows), float64(v.Rows)
		if p := params[Gesdd](call).Part; p.Kind == EigenByIndex {
			left = float64(p.Last - p.First)
			right = left
		}
		work += 8*n*n*n/3 + 2*n*n*right + 2*left*n*(2*m-n)
	}
	return work
}

// gesddAlone is the order up to which one unit is as fast as several.
const gesddAlone = 192

// gesddBlock is the number of reflectors of the QR factorization that are applied as one block reflector.
const gesddBlock = 32

// FactorsFirst reports whether op "gesdd" first computes A = Q·R of an m×n matrix, like LAPACK's xGESDD: if it has at least
// 11/6 times as many rows as columns.
func FactorsFirst(m, n int) bool { return 6*m >= 11*n && m > n }

// gesdd returns the function of a version of op "gesdd".
func gesdd[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	all := Conquering(by.blas)
	return func(call *versions.Call) error {
		a, sigma, u, v := gesddOf[T](call)
		m, n := a.Rows, a.Cols
		if n == 0 {
			identityFrom(u, 0)
			return nil
		}
		watch := startStages(call)
		tools := all
		tools.Stop = watch.stop
		rows, cols := float64(m), float64(n)
		scale := moderate(a, blas.All)
		tall := FactorsFirst(m, n)
		order := m // rows of the matrix that is reduced: A or R
		if tall {
			order = n
		}
		crew := crewOrAlone[T](call)
		p := params[Gesdd](call)
		way := wayFor(p.Reduction, Decomposition{Rows: order, Cols: n, Singular: true, Vectors: p.vectors(n)}, watch.account, by.blas, crew, a, false)
		reduction := newBidiagonalReduction(by.blas, crew, watch, order, n, way)
		size := reduction.work(u != nil)
		if u != nil {
			size = max(size, bidiag.WorkBdsdc(n))
		}
		var first *cpu.TallQR[T]
		if tall {
			units := 1
			if call.Gang != nil {
				units = call.Gang.Units()
			}
			first = cpu.NewTallQR(m, n, gesddBlock, units, by.qr, gangQR(by.qr, call, nil), crew)
			left := 0
			if u != nil {
				left = u.Rows
			}
			size = max(size, first.Work(left)) + n*n + first.Factors()
		}
		work := versions.Scratch[T](call.Work, n+reduction.kept(u != nil)+size)
		take := func(k int) []T {
			s := work[:k:k]
			work = work[k:]
			return s
		}
		e, keep := take(n)[:n-1], take(reduction.kept(u != nil))
		d := sigma.Row(0)
		b, ldb := a.Data, a.Stride
		var factors []T // of Q
		if tall {
			factors = take(first.Factors())
			b, ldb = take(n*n), n
			first.Factor(a.Data, a.Stride, factors, work)
			for i := range n {
				clear(b[i*n:][:i])
				copy(b[i*n+i:][:n-i], a.Row(i)[i:])
			}
			if err := watch.end("QR", 2*cols*cols*(rows-cols/3)); err != nil {
				return err
			}
		}
		if err := reduction.reduce(u != nil, b, ldb, d, e, keep, work); err != nil {
			return err
		}
		if u == nil {
			err := bidiag.Bdsqr(d, e, bidiag.Matrix[T]{Rows: n}, bidiag.Matrix[T]{Rows: n}, nil)
			if err = cmp.Or(err, watch.end("values", 0)); err != nil {
				return err
			}
		} else {
			square := func(x *kernels.Tile[T]) bidiag.Matrix[T] {
				return bidiag.Matrix[T]{Rows: n, Cols: n, Stride: x.Stride, Data: x.Data}
			}
			left, right := u.Rows, n // vectors
			var choose tridiag.Choice[T]
			if part := p.Part; part.Kind != AllEigen {
				choose = func(values []T) (first, last int) {
					first, last = part.SingularPart(n, func(i int) float64 { return float64(values[i] / scale) })
					left, right = last-first, last-first
					return first, last
				}
			}
			err := bidiag.Bdsdc(d, e, square(u), square(v), work, tools, tridiag.Crew[T](crew), choose)
			if err = cmp.Or(err, watch.end("divide and conquer", 8*cols*cols*cols/3)); err != nil {
				return err
			}
			if err := reduction.backFromBand(right, u, v, work); err != nil {
				return err
			}
			reduction.backRight(right, b, ldb, v, work)
			for i := range min(left, n) {
				clear(u.Row(i)[n:])
			}
			identityFrom(u, n)
			if tall {
				reduction.backLeft(min(left, n), b, ldb, u, work)
				first.Apply(left, a.Data, a.Stride, factors, u.Data, u.Stride, work)
			} else {
				reduction.backLeft(left, b, ldb, u, work)
			}
			if err := watch.end("back-transformation", 2*cols*cols*float64(right)+2*float64(left)*cols*(2*rows-cols)); err != nil {
				return err
			}
		}
		for i := range d {
			d[i] /= scale
		}
		return nil
	}
}

// identityFrom sets the rows of x from row i on to those of the identity. x may be nil.
func identityFrom[T kernels.Element](x *kernels.Tile[T], i int) {
	if x == nil {
		return
	}
	for ; i < x.Rows; i++ {
		clear(x.Row(i))
		x.Row(i)[i] = 1
	}
}
