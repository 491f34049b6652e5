package op

import (
	"cmp"
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Sygvd is the parameter of op "sygvd" (LAPACK xSYGVD): the eigenvalues and, unless Values is set, the eigenvectors of
// symmetric n×n tiles A and B, of which B is positive definite, in one of the forms
//
//	A·x = λ·B·x,  A·B·x = λ·x,  B·A·x = λ·x.
//
// Operands: A (inout, n×n) and B (inout, n×n), of which the op reads the upper triangles and overwrites all of A and the
// upper triangle of B; w (out, 1×n, ascending); and unless Values is set Z (out, n×n). The first rows x of Z become the
// eigenvectors of Part, with xᵀ·B·x = 1, or for the form B·A·x = λ·x with xᵀ·B⁻¹·x = 1; the other rows are undefined.
//
// Elements of A and B must be finite. The version returns a *kernels.NotPositiveDefiniteError for B, a
// *kernels.OverflowError with its place if an element of the standard problem, or as one on the diagonal an eigenvalue, is out
// of range, and the errors of [Syevd]. It panics as that does.
type Sygvd struct {
	Form GeneralizedForm
	Syevd
}

// GeneralizedForm is the form of a generalized eigenproblem.
type GeneralizedForm uint8

// Forms, in the order of LAPACK's ITYPE.
const (
	AxIsLambdaBx GeneralizedForm = iota // A·x = λ·B·x
	ABxIsLambdaX                        // A·B·x = λ·x
	BAxIsLambdaX                        // B·A·x = λ·x
)

// sygvdOp defines op "sygvd".
func sygvdOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "sygvd", Work: sygvdWork[T], NewParams: fresh[Sygvd]},
		about: "generalized symmetric-definite eigenproblem",
		run:   sygvd[T],
		help:  inStep[T](syevdAlone, order[T]),
	}
}

// sygvdOf returns B of op "sygvd", and the call of op "syevd" for the standard problem.
func sygvdOf[T kernels.Element](call *versions.Call) (b *kernels.Tile[T], standard *versions.Call) {
	b = arg[T](call, 1)
	panicIf(len(call.Args) < 3, kernels.ErrArgs)
	inner := *call
	inner.Params = &params[Sygvd](call).Syevd
	inner.Args = append([]any{call.Args[0]}, call.Args[2:]...)
	inner.Local = nil
	if a, _, _ := syevdOf[T](&inner); b.Rows != a.Rows || b.Cols != a.Cols {
		panic(kernels.ErrShape)
	}
	if params[Sygvd](call).Form > BAxIsLambdaX {
		panic(kernels.ErrParams)
	}
	return b, &inner
}

// sygvdWork returns the work of op "syevd", n³/3 for the factorization of B, n³ for the reduction to the standard
// problem, and n² for each vector.
func sygvdWork[T kernels.Element](call *versions.Call) float64 {
	b, standard := sygvdOf[T](call)
	n := float64(b.Rows)
	work := syevdWork[T](standard) + 4*n*n*n/3
	if _, _, z := syevdOf[T](standard); z != nil {
		work += n * n * n
	}
	return work
}

// sygvd returns the function of a version of op "sygvd".
func sygvd[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	solve := syevd(by)
	return func(call *versions.Call) error {
		b, standard := sygvdOf[T](call)
		p := params[Sygvd](call)
		a, w, z := syevdOf[T](standard)
		n := a.Rows
		if n == 0 {
			return nil
		}
		watch := startStages(call)
		order := float64(n)
		scratch := func() []T { return versions.Scratch[T](call.Work, cpu.SygstWork(n)+by.blas.Work(n)) }
		byB, byA := moderate(b, blas.Upper), moderate(a, blas.Upper)
		g := cpu.NewGeneralized(gangRoutines(by.blas, call), crewOrAlone[T](call))
		g.Product, g.Stop = p.Form != AxIsLambdaBx, watch.stop
		if info := g.Potrf(blas.Upper, n, b.Data, b.Stride, scratch()); info != 0 {
			return &kernels.NotPositiveDefiniteError{Minor: info}
		}
		if err := watch.end("Cholesky", order*order*order/3); err != nil {
			return err
		}
		if err := g.Sygst(n, a.Data, a.Stride, b.Data, b.Stride, scratch()); err != nil {
			return err
		}
		if err := cmp.Or(watch.end("to standard form", order*order*order), finite(a)); err != nil {
			return err
		}
		// Eigenvalues of the standard problem are those of the given one times 2^shift.
		shift := math.Ilogb(float64(byA)) - math.Ilogb(float64(byB))
		if g.Product {
			shift = math.Ilogb(float64(byA)) + math.Ilogb(float64(byB))
		}
		late := shift != 0 && p.Part.Kind == EigenByValue // the interval is one of the given problem
		if late {
			standard.Params = &Syevd{Values: p.Values}
		}
		if err := watch.run(solve, standard); err != nil {
			return err
		}
		values := w.Row(0)[:n]
		for i, x := range values {
			if values[i] = T(math.Ldexp(float64(x), -shift)); values[i]-values[i] != 0 {
				return &kernels.OverflowError{Row: i, Col: i}
			}
		}
		if z == nil {
			return nil
		}
		first, last := p.Part.Of(n, func(i int) float64 { return float64(values[i]) })
		if late { // z has all vectors
			for i := first; i < last; i++ {
				copy(z.Row(i-first), z.Row(i))
			}
		}
		g.Back(p.Form == BAxIsLambdaX, last-first, n, b.Data, b.Stride, z.Data, z.Stride, scratch())
		if root := T(math.Sqrt(float64(byB))); root != 1 {
			if p.Form == BAxIsLambdaX {
				root = 1 / root
			}
			for i := range last - first {
				tridiag.Multiply(z.Row(i), root)
			}
		}
		return watch.end("from standard form", order*order*float64(last-first))
	}
}

// finite returns a *kernels.OverflowError for the first element in the upper triangle of a that is not finite.
func finite[T kernels.Element](a *kernels.Tile[T]) error {
	for i := range a.Rows {
		if row := a.Row(i); cpu.TopBits(row[i:]) >= math.Float64bits(math.Inf(1)) {
			for j := i; ; j++ {
				if x := row[j]; x-x != 0 {
					return &kernels.OverflowError{Row: i, Col: j}
				}
			}
		}
	}
	return nil
}
