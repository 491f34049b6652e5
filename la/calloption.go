package la

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/internal/words"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
)

// CallOption is an option of one call of a method: [WithContext], [InPlace], a [Checkpoint], an [EigenPart],
// a [SingularPart], a [GeneralizedForm], a [Reduction], [TruncatedOptions] or [LeastNorm]. A method says which ones it
// takes; all take a context:
//
//	err := chol.Factorize(a)
//	err := chol.Factorize(a, la.WithContext(ctx), la.Checkpoint{Dir: "states"})
//
// A method returns an *[OptionsError] for an option that it does not take, before it reads an operand. It ignores a nil
// option. Of several of one kind the last one counts.
type CallOption interface{ callOption() }

// WithContext ends the call with the cause of ctx's end, as soon as the running kernels have returned. The
// result is then undefined, and a factorization empty.
func WithContext(ctx context.Context) CallOption { return contextOption{ctx} }

// InPlace makes Factorize overwrite the tiles of the matrix, a *blocked.Matrix, instead of a copy, and SolveTo the
// right-hand side. Either may be distributed (blocked.Distributed).
func InPlace() CallOption { return inPlaceOption{} }

// EigenPart is a part of the eigenvalues of a symmetric matrix, for [EigenSym.Factorize]; the zero value is all of
// them. See [EigenIndices] and [EigenInterval].
type EigenPart struct{ part op.EigenPart }

// EigenIndices returns the part of eigenvalues first … last−1 in ascending order, counted from 0.
func EigenIndices(first, last int) EigenPart {
	return EigenPart{op.EigenPart{Kind: op.EigenByIndex, First: first, Last: last}}
}

// EigenInterval returns the part of eigenvalues λ with above < λ ≤ upTo, which may be infinite. There are none if
// one of these is NaN.
func EigenInterval(above, upTo float64) EigenPart {
	if math.IsNaN(above) || math.IsNaN(upTo) {
		above, upTo = 0, 0
	}
	return EigenPart{op.EigenPart{Kind: op.EigenByValue, Above: above, UpTo: upTo}}
}

// SingularPart is a part of the singular values of a matrix, for [SVD.Factorize]; the zero value is all of them. See
// [SingularIndices] and [SingularInterval].
type SingularPart struct{ part op.EigenPart }

// SingularIndices returns the part of singular values first … last−1 in descending order, counted from 0.
func SingularIndices(first, last int) SingularPart {
	return SingularPart{EigenIndices(first, last).part}
}

// SingularInterval returns the part of singular values σ with above < σ ≤ upTo, which may be infinite. There are none if
// one of these is NaN.
func SingularInterval(above, upTo float64) SingularPart {
	return SingularPart{EigenInterval(above, upTo).part}
}

// GeneralizedForm is the form of the eigenproblem that [EigenSymGeneralized.Factorize] solves; the zero value is the usual
// one.
type GeneralizedForm uint8

// Forms of generalized eigenproblems, in the order of LAPACK's ITYPE.
const (
	AxIsLambdaBx = GeneralizedForm(op.AxIsLambdaBx) // A·x = λ·B·x
	ABxIsLambdaX = GeneralizedForm(op.ABxIsLambdaX) // A·B·x = λ·x
	BAxIsLambdaX = GeneralizedForm(op.BAxIsLambdaX) // B·A·x = λ·x
)

// Reduction is the way by which [EigenSym.Factorize] reduces a matrix to tridiagonal form, and [SVD.Factorize] to bidiagonal
// form.
type Reduction uint8

// Ways of reduction.
const (
	// FasterReduction takes the way that is foreseen to be faster: by the order of the matrix, by how many vectors are
	// wanted, and by how fast the workers multiply tiles and read memory. An engine measures that on the first matrix of
	// about an order. A nil engine, and one that is Static or Deterministic, takes fixed rates instead, so that the way, and
	// the bits, depend on neither the machine nor the number of workers.
	FasterReduction Reduction = iota
	// OneStage reduces the matrix directly. Half of the operations wait for memory.
	OneStage
	// TwoStages first reduces the matrix to a band, by products of matrices, and then the band, in the caches. The
	// transformation back then takes 6·n² operations for each vector, instead of 2·n².
	TwoStages
)

var reductions = words.Of[Reduction]{"faster", "one-stage", "two-stage"}

// String returns the name that Set reads.
func (r Reduction) String() string { return reductions.Name(r) }

// Set sets r to the way with the given name: faster, one-stage or two-stage. The error for any other name lists these.
func (r *Reduction) Set(name string) error { return setName(r, reductions, name, "reduction") }

// TruncatedOptions are parameters of [TruncatedSVD.Factorize].
type TruncatedOptions struct {
	// Oversampling is p: the random matrix has k+p columns. 0 means 10.
	Oversampling int
	// Iterations is q. More of them are better if the singular values of A fall slowly. 0 means 2, and −1 means
	// none.
	Iterations int
	// Seed is that of the random numbers. The result depends on it, within the bound.
	Seed uint64
}

// LeastNorm makes [LeastSquares] accept a matrix of deficient rank. LeastSquares then finds the rank by a QR
// factorization with column pivoting, [PivotedQR], and takes A for a matrix of that rank. Of all x that minimize
// ‖b − A·x‖₂ it returns the one of least ‖x‖₂.
type LeastNorm struct {
	// RCond is how small a diagonal element of R counts as zero, in units of the largest one. 0 means max(m, n)·ε, with
	// the distance ε between 1 and the next number. LeastSquares panics with ErrRcond if it is negative or NaN.
	RCond float64
	// Rank gets the rank, unless it is nil.
	Rank *int
}

type (
	contextOption struct{ ctx context.Context }
	inPlaceOption struct{}
)

func (contextOption) callOption()    {}
func (inPlaceOption) callOption()    {}
func (EigenPart) callOption()        {}
func (SingularPart) callOption()     {}
func (GeneralizedForm) callOption()  {}
func (Reduction) callOption()        {}
func (TruncatedOptions) callOption() {}
func (LeastNorm) callOption()        {}

// callOptions is what the options of a call say.
type callOptions struct {
	ctx       context.Context
	inPlace   bool
	keep      *Checkpoint // nil: the call keeps no states
	part      EigenPart
	singular  SingularPart
	form      GeneralizedForm
	reduction Reduction
	truncated TruncatedOptions
	leastNorm *LeastNorm // nil: A has full rank
}

// optionKind is a set of kinds of options.
type optionKind uint16

const (
	takesContext optionKind = 1 << iota
	takesInPlace
	takesCheckpoint
	takesPart
	takesSingular
	takesForm
	takesReduction
	takesTruncated
	takesLeastNorm
)

func (k optionKind) String() string {
	return map[optionKind]string{takesContext: "WithContext", takesInPlace: "InPlace", takesCheckpoint: "Checkpoint",
		takesPart: "EigenPart", takesSingular: "SingularPart", takesForm: "GeneralizedForm", takesReduction: "Reduction",
		takesTruncated: "TruncatedOptions", takesLeastNorm: "LeastNorm"}[k]
}

// optionsOf returns what opts say to a call of the named method, which takes a context and options of the given kinds.
// It allocates nothing but for a checkpoint, a LeastNorm or an error.
func optionsOf(method string, takes optionKind, opts []CallOption) (callOptions, error) {
	if len(opts) == 0 {
		return callOptions{ctx: context.Background()}, nil
	}
	return optionsIn(context.Background(), method, takes|takesContext, opts)
}

// optionsIn is optionsOf for a function that has a context as its first argument.
func optionsIn(ctx context.Context, function string, takes optionKind, opts []CallOption) (o callOptions, err error) {
	o.ctx = ctx
	var bad problems.List
	for _, opt := range opts {
		var kind optionKind
		switch x := opt.(type) {
		case contextOption:
			o.ctx, kind = x.ctx, takesContext
		case inPlaceOption:
			o.inPlace, kind = true, takesInPlace
		case Checkpoint:
			keep := x
			o.keep, kind = &keep, takesCheckpoint
		case EigenPart:
			o.part, kind = x, takesPart
		case SingularPart:
			o.singular, kind = x, takesSingular
		case GeneralizedForm:
			o.form, kind = x, takesForm
			bad.Check(x <= BAxIsLambdaX, "%s has no GeneralizedForm %d", function, x)
		case Reduction:
			o.reduction, kind = x, takesReduction
			bad.Check(x <= TwoStages, "%s has no %v", function, x)
		case TruncatedOptions:
			o.truncated, kind = x, takesTruncated
		case LeastNorm:
			norm := x
			o.leastNorm, kind = &norm, takesLeastNorm
		}
		if kind&^takes != 0 {
			bad.Add("%s takes no %v", function, kind)
		}
	}
	return o, engine.ErrorOf(bad)
}

// contextOf returns the context of a call of the named method, which takes no other option.
func contextOf(method string, opts []CallOption) (context.Context, error) {
	if len(opts) == 0 {
		return context.Background(), nil
	}
	o, err := optionsOf(method, 0, opts)
	return o.ctx, err
}

// mustContext is contextOf for a method that returns no error: it panics instead.
func mustContext(method string, opts []CallOption) context.Context {
	ctx, err := contextOf(method, opts)
	if err != nil {
		panic(err)
	}
	return ctx
}

// tilesInPlace returns a, which op is to overwrite, as a matrix of tiles. It returns a *ShapeError, in which name is a's
// and want the kind's, unless a is one of that kind.
func tilesInPlace[T Element](op, name string, a Source[T], kind blocked.Kind, want string) (*blocked.Matrix[T], error) {
	m, ok := a.(*blocked.Matrix[T])
	switch {
	case !ok:
		return nil, &ShapeError{op, fmt.Sprintf("%s is a %T, and InPlace overwrites only *blocked.Matrix", name, a)}
	case m.Kind() != kind:
		return nil, &ShapeError{op, fmt.Sprintf("%s is %v, want %s in place", name, m.Kind(), want)}
	}
	return m, nil
}
