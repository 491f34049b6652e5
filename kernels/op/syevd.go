package op

import (
	"cmp"
	"math"
	"sort"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Syevd is the parameter of op "syevd" (LAPACK xSYEVD): the eigenvalues and, unless Values is set, the
// eigenvectors of a symmetric n×n tile,
//
//	A = Zᵀ·diag(w)·Z.
//
// Operands: A (inout, n×n; the op reads the upper triangle and overwrites all of A), w (out, 1×n, ascending), and
// unless Values is set Z (out, n×n). The first rows of Z become the eigenvectors of Part, with norm 1; the other rows
// are undefined.
//
// Elements of A must be finite. If an iteration does not converge, the version returns a *tridiag.ConvergenceError, and
// if the context ends, the cause of that. w and Z are undefined then. Call.Local may be an *[Account]. The version panics
// with kernels.ErrShape if the shapes do not fit together, and with kernels.ErrArgs if the number of operands is wrong or
// the indices of Part are out of range.
type Syevd struct {
	Values    bool      // eigenvalues only
	Part      EigenPart // the eigenvectors to compute
	Reduction Reduction // the way to tridiagonal form
}

// vectors returns how many eigenvectors are wanted: n if the eigenvalues decide.
func (p *Syevd) vectors(n int) int {
	switch {
	case p.Values:
		return 0
	case p.Part.Kind == EigenByIndex:
		return p.Part.Last - p.Part.First
	}
	return n
}

// EigenPart is a part of the eigenvalues, in ascending order. Kind says which part: all of them; those with the indices
// First … Last−1; or those with Above < λ ≤ UpTo.
type EigenPart struct {
	Kind        EigenPartKind
	First, Last int
	Above, UpTo float64
}

// EigenPartKind says which fields of an [EigenPart] count.
type EigenPartKind uint8

// Kinds of parts.
const (
	AllEigen EigenPartKind = iota
	EigenByIndex
	EigenByValue
)

// Of returns the indices first … last−1 of the part. value(i) is the i-th of n eigenvalues in ascending order.
func (p EigenPart) Of(n int, value func(i int) float64) (first, last int) {
	switch p.Kind {
	case EigenByIndex:
		return p.First, p.Last
	case EigenByValue:
		first = sort.Search(n, func(i int) bool { return value(i) > p.Above })
		return first, max(first, sort.Search(n, func(i int) bool { return value(i) > p.UpTo }))
	}
	return 0, n
}

// countOf returns how many values of T times 1/scale are of the part, within rounding.
func countOf[T kernels.Element](p EigenPart, d, e []T, scale T) int {
	switch p.Kind {
	case EigenByIndex:
		return p.Last - p.First
	case EigenByValue:
		return tridiag.Count(d, e, T(p.UpTo)*scale) - tridiag.Count(d, e, T(p.Above)*scale)
	}
	return len(d)
}

// few says whether so few vectors of n are wanted that inverse iteration is faster than divide and conquer.
func few(vectors, n int) bool { return n >= stevxLeast && stevxShare*vectors <= n }

// syevdOp defines op "syevd".
func syevdOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "syevd", Work: syevdWork[T], NewParams: fresh[Syevd]},
		about: "eigenvalues and eigenvectors of a symmetric matrix",
		run:   syevd[T],
		help:  inStep[T](syevdAlone, order[T]),
	}
}

// syevdOf returns the operands of op "syevd". z is nil if only the values are wanted.
func syevdOf[T kernels.Element](call *versions.Call) (a, w, z *kernels.Tile[T]) {
	if params[Syevd](call).Values {
		a, w = args[T](call, 2)
	} else {
		a, z = args[T](call, 3)
		w = arg[T](call, 1)
		panicIf(z.Rows != a.Rows || z.Cols != a.Cols, kernels.ErrShape)
	}
	panicIf(a.Rows != a.Cols || w.Cols != a.Cols || w.Rows != 1, kernels.ErrShape)
	if p := params[Syevd](call).Part; p.Kind == EigenByIndex && (p.First < 0 || p.First > p.Last || p.Last > a.Rows) {
		panic(kernels.ErrArgs)
	}
	return a, w, z
}

// syevdWork returns the work if nothing is deflated: 4/3·n³ for the reduction, as much for divide and conquer, and 2·n²
// to apply the reflectors to each vector.
func syevdWork[T kernels.Element](call *versions.Call) float64 {
	a, _, z := syevdOf[T](call)
	n := float64(a.Rows)
	if z == nil {
		return 4 * n * n * n / 3
	}
	return 8*n*n*n/3 + 2*n*n*float64(params[Syevd](call).vectors(a.Rows))
}

// With vectors for at most one in stevxShare of the values, and from order stevxLeast on, tridiag.Stevx is used.
const (
	stevxShare = 6
	stevxLeast = 256
)

// syevdAlone is the order up to which one unit is as fast as several.
const syevdAlone = 200

// syevdSequential is the largest order for which eigenvalues alone are found by Sterf.
const syevdSequential = 128

// syevd returns the function of a version of op "syevd".
func syevd[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	all := Conquering(by.blas)
	return func(call *versions.Call) error {
		a, w, z := syevdOf[T](call)
		n := a.Rows
		if n == 0 {
			return nil
		}
		watch := startStages(call)
		tools := all
		tools.Stop = watch.stop
		scale := moderate(a, blas.Upper)
		p := params[Syevd](call)
		crew := crewOrAlone[T](call)
		problem := Decomposition{Rows: n, Cols: n, Vectors: p.vectors(n)}
		way := wayFor(p.Reduction, problem, watch.account, by.blas, crew, a, true)
		reduction := newSymReduction(by.blas, crew, watch, n, way, problem.bandWidth())
		size := max(reduction.work(z != nil), 1)
		if z != nil {
			size = max(size, tridiag.WorkStedc(n))
		} else if n > syevdSequential {
			size = max(size, tridiag.WorkValues(n))
		}
		all := versions.Scratch[T](call.Work, size+reduction.kept(z != nil)+n)
		work, e, keep := all[:size], all[size:][:n-1], all[size+n:]
		d := w.Row(0)
		if err := reduction.reduce(z != nil, a, d, e, keep, work); err != nil {
			return err
		}
		if z == nil {
			if err := cmp.Or(tridiagonalValues(d, e, work, tools, tridiag.Crew[T](crew)), watch.end("values", 0)); err != nil {
				return err
			}
		} else {
			chosen := n
			choose := func(values []T) (first, last int) {
				first, last = p.Part.Of(n, func(i int) float64 { return float64(values[i] / scale) })
				chosen = last - first
				return first, last
			}
			if n == 1 { // Stedc does not call choose
				choose(d)
			}
			solve := tridiag.Stedc[T]
			if few(countOf(p.Part, d, e, scale), n) {
				solve = tridiag.Stevx[T]
			}
			err := solve(d, e, matrixOf(z), work, tools, tridiag.Crew[T](crew), choose)
			order := float64(n)
			if err = cmp.Or(err, watch.end("divide and conquer", 4*order*order*order/3)); err != nil {
				return err
			}
			if err := reduction.back(chosen, a, z, keep, work); err != nil {
				return err
			}
		}
		for i := range d {
			d[i] /= scale
		}
		return nil
	}
}

// tridiagonalValues overwrites d with the eigenvalues of the tridiagonal matrix with d on the diagonal and e beside it.
// It overwrites e, too.
func tridiagonalValues[T kernels.Element](d, e, work []T, tools tridiag.Tools[T], crew tridiag.Crew[T]) error {
	if len(d) > syevdSequential {
		return tridiag.Values(d, e, work, tools, crew)
	}
	return tridiag.Sterf(d, e)
}

// moderate multiplies the uplo part of a by a power of two and returns that factor. Squares of the elements, and sums
// of squares, then neither overflow nor underflow.
func moderate[T kernels.Element](a *kernels.Tile[T], uplo blas.Uplo) T {
	var top uint64
	for i := range a.Rows {
		lo, hi := triangle(uplo, i, a.Cols)
		top = max(top, cpu.TopBits(a.Row(i)[lo:hi]))
	}
	most := math.Float64frombits(top)
	s := tridiag.Scale[T](most, tridiag.Safe[T]())
	if s == 1 {
		return 1
	}
	for i := range a.Rows {
		lo, hi := triangle(uplo, i, a.Cols)
		for j := lo; j < hi; j++ {
			a.Row(i)[j] *= s
		}
	}
	return s
}
