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

// gesddCall is a call of op "gesdd". The matrix that is reduced is A, or the R of a tall A.
type gesddCall[T kernels.Element] struct {
	a, u, v   *kernels.Tile[T] // u and v are nil if only values are asked for
	part      EigenPart
	scale     T // of A
	watch     *stopwatch
	crew      cpu.Crew[T]
	reduction bidiagonalReduction[T]
	b         []T // the matrix that is reduced, then the reflectors of its reduction
	ldb       int
	d, e      []T            // the bidiagonal matrix
	first     *cpu.TallQR[T] // of a tall A, else nil
	factors   []T            // of first
	work      []T
}

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
		p, vectors := params[Gesdd](call), u != nil
		s := gesddCall[T]{a: a, u: u, v: v, part: p.Part, watch: startStages(call), b: a.Data, ldb: a.Stride, d: sigma.Row(0)}
		tools := all
		tools.Stop = s.watch.stop
		s.scale = moderate(a, blas.All)
		tall := FactorsFirst(m, n)
		order := m // rows of the matrix that is reduced
		if tall {
			order = n
		}
		s.crew = crewOrAlone[T](call)
		problem := Decomposition{Rows: order, Cols: n, Singular: true, Vectors: p.vectors(n)}
		way := wayFor(p.Reduction, problem, s.watch.account, by.blas, s.crew, a, false)
		s.reduction = newBidiagonalReduction(by.blas, s.crew, s.watch, order, n, way, problem.bandWidth())
		size := s.reduction.work(vectors)
		if vectors {
			size = max(size, bidiag.WorkBdsdc(n))
		}
		if tall {
			units := 1
			if call.Gang != nil {
				units = call.Gang.Units()
			}
			s.first = cpu.NewTallQR(m, n, gesddBlock, units, by.qr, gangQR(by.qr, call, nil), s.crew)
			left := 0
			if vectors {
				left = u.Rows
			}
			size = max(size, s.first.Work(left)) + n*n + s.first.Factors()
		}
		s.work = versions.Scratch[T](call.Work, n+s.reduction.kept(vectors)+size)
		s.e = s.take(n)[:n-1]
		keep := s.take(s.reduction.kept(vectors))
		if tall {
			if err := s.factor(); err != nil {
				return err
			}
		}
		err := s.reduction.reduce(vectors, s.b, s.ldb, s.d, s.e, keep, s.work)
		switch {
		case err != nil:
		case vectors:
			err = s.vectors(tools)
		default:
			err = bidiag.Bdsqr(s.d, s.e, bidiag.Matrix[T]{Rows: n}, bidiag.Matrix[T]{Rows: n}, nil)
			err = cmp.Or(err, s.watch.end("values", 0))
		}
		if err != nil {
			return err
		}
		for i := range s.d {
			s.d[i] /= s.scale
		}
		return nil
	}
}

// take takes k elements of the scratch memory.
func (s *gesddCall[T]) take(k int) []T {
	x := s.work[:k:k]
	s.work = s.work[k:]
	return x
}

// factor computes the R of a tall A.
func (s *gesddCall[T]) factor() error {
	a, n := s.a, s.a.Cols
	s.factors = s.take(s.first.Factors())
	s.b, s.ldb = s.take(n*n), n
	s.first.Factor(a.Data, a.Stride, s.factors, s.work)
	for i := range n {
		clear(s.b[i*n:][:i])
		copy(s.b[i*n+i:][:n-i], a.Row(i)[i:])
	}
	rows, cols := float64(a.Rows), float64(n)
	return s.watch.end("QR", 2*cols*cols*(rows-cols/3))
}

// vectors computes the singular values of the bidiagonal matrix, and the singular vectors of A.
func (s *gesddCall[T]) vectors(tools tridiag.Tools[T]) error {
	u, v, n, work := s.u, s.v, s.a.Cols, s.work
	rows, cols := float64(s.a.Rows), float64(n)
	square := func(x *kernels.Tile[T]) bidiag.Matrix[T] {
		return bidiag.Matrix[T]{Rows: n, Cols: n, Stride: x.Stride, Data: x.Data}
	}
	left, right := u.Rows, n // vectors
	var choose tridiag.Choice[T]
	if part, scale := s.part, s.scale; part.Kind != AllEigen {
		choose = func(values []T) (first, last int) {
			first, last = part.SingularPart(n, func(i int) float64 { return float64(values[i] / scale) })
			left, right = last-first, last-first
			return first, last
		}
	}
	err := bidiag.Bdsdc(s.d, s.e, square(u), square(v), work, tools, tridiag.Crew[T](s.crew), choose)
	if err = cmp.Or(err, s.watch.end("divide and conquer", 8*cols*cols*cols/3)); err != nil {
		return err
	}
	if err := s.reduction.backFromBand(right, u, v, work); err != nil {
		return err
	}
	s.reduction.backRight(right, s.b, s.ldb, v, work)
	for i := range min(left, n) {
		clear(u.Row(i)[n:])
	}
	identityFrom(u, n)
	if s.first != nil {
		s.reduction.backLeft(min(left, n), s.b, s.ldb, u, work)
		s.first.Apply(left, s.a.Data, s.a.Stride, s.factors, u.Data, u.Stride, work)
	} else {
		s.reduction.backLeft(left, s.b, s.ldb, u, work)
	}
	return s.watch.end("back-transformation", 2*cols*cols*float64(right)+2*float64(left)*cols*(2*rows-cols))
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
