package la

import (
	"context"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la/engine"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// LDL is the factorization of a symmetric n×n matrix, which need not be definite,
//
//	P·A·Pᵀ = L·D·Lᵀ:
//
// P is a permutation, L lower triangular with a unit diagonal, and D block diagonal with blocks of order 1 and 2. It
// takes half the operations of LU, and tells how many eigenvalues are positive and negative.
//
// Pivots are chosen by Bunch-Kaufman pivoting. The errors of solutions are those of LU with partial pivoting. Elements
// of L may be large nevertheless; see [LDLOptions].
//
// The zero value holds no factorization and uses the default engine. Several goroutines may read an LDL at once.
type LDL[T Element] struct {
	engine *Engine
	opt    LDLOptions
	valid  bool
	a      *blocked.Matrix[T] // one tile: Lᵀ above the diagonal. Its memory is used again.
	d      *blocked.Matrix[T] // one tile, 2×n: the diagonal of D, and its elements beside the diagonal
	tiles  *blocked.Matrix[T] // a in tiles, for solutions with vectors
	pivots kernels.Pivots
	norm   norms // of A
	exp    int   // it is the factorization of A divided by two to this power
}

// LDLOptions are options of an LDL factorization. The zero value is what NewLDL takes.
type LDLOptions struct {
	// Rook chooses pivots by bounded Bunch-Kaufman pivoting, also known as rook pivoting. It bounds the elements of L
	// by 2.8, and the condition number of L with them. A factorization takes up to a quarter longer, and for some
	// matrices, which are rare, as many comparisons as multiplications.
	Rook bool
}

// NewLDL returns an empty factorization that computes on e.
func NewLDL[T Element](e *Engine) *LDL[T] { return &LDL[T]{engine: e} }

// NewLDLWith returns an empty factorization that computes on e with the options given.
func NewLDLWith[T Element](e *Engine, opt LDLOptions) *LDL[T] { return &LDL[T]{engine: e, opt: opt} }

// Factorize computes the factorization of a, which does not change. It replaces an earlier
// tileSize returns the tile size in which f solves.
func (f *LDL[T]) tileSize() int {
	n := f.a.Dim()
	nb, _ := engine.TileSize[T](f.engine, engine.OpTrsm, n, n)
	return max(nb, 1)
}

// factorization and uses its memory again. Of a matrix in memory it reads only the stored
// triangle, of a Full *blocked.Matrix the upper one.
//
// The error is a *SingularError if a block of D is zero. The factorization is then complete, and the methods that do
// not divide by D work. After any other error f is empty: a *NonFiniteError, an *exec.TaskError that names the version
// that failed, exec.ErrClosed, or blocked.ErrAway for a distributed matrix.
//
// The option is [WithContext]. A factorization that has begun is not broken off when the context ends, but its result is
// then dropped.
//
// Reference: LAPACK xSYTRF and, for the form of the factors and rook pivoting, xSYTRF_RK.
func (f *LDL[T]) Factorize(a SymmetricSource[T], opts ...CallOption) error {
	ctx, err := contextOf("LDL.Factorize", opts)
	if err != nil {
		f.Reset()
		return err
	}
	return f.factorize(ctx, a)
}

// factorize is Factorize in a context.
func (f *LDL[T]) factorize(ctx context.Context, a SymmetricSource[T]) error {
	n := a.SymmetricDim()
	f.Reset()
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	m, isMatrix := any(a).(*blocked.Matrix[T])
	if isMatrix && m.IsDistributed() {
		return blocked.ErrAway
	}
	if isMatrix && m.Kind() == blocked.TriLower {
		a, _ = blocked.From[T](m, blocked.SymLower, m.NB(), copying(f.engine))
	}
	if !fits(f.a, n, n, max(n, 1)) {
		f.a, f.d = blocked.New[T](blocked.SymUpper, n, n, max(n, 1)), blocked.New[T](blocked.Full, 2, n, max(n, 2))
		f.tiles = f.factor(blocked.Full, min(f.tileSize(), 512))
	}
	r := newReading(f.engine, f.factor(blocked.SymUpper, ldlRead), Source[T](a), blocked.SymUpper, ldlRead, readingOptions{alone: true})
	if err := r.nonFinite(); err != nil {
		return err
	}
	stats, exp := scaleCopy(f.engine, f.a, r.stats)
	f.pivots.Rows, f.pivots.Info = f.pivots.Rows[:0], 0
	if n > 0 {
		o := engine.Ops[T](f.engine).Op("sytrf")
		err := callWhole(ctx, f.engine, n <= ldlDirect, "LDL", o, &op.Sytrf{Rook: f.opt.Rook}, f.a.Tile(0, 0), f.d.Tile(0, 0), &f.pivots)
		if err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f.valid, f.norm, f.exp = true, newNorms(stats.Columns), exp
	return f.singular()
}

// ldlDirect is the order up to which a factorization is a call of one kernel by the caller's goroutine: no other unit
// would have anything to do.
const ldlDirect = 192

// ldlRead is the order of the tiles of a matrix that are read at once, by all units.
const ldlRead = 256

// check panics with ErrNotFactorized if there is no factorization.
func (f *LDL[T]) check() {
	if !f.valid {
		panic(ErrNotFactorized)
	}
}

// singular returns a *SingularError if a block of D is zero.
func (f *LDL[T]) singular() error {
	if k := f.pivots.Info; k != 0 {
		return &SingularError{Column: f.permutation()[k-1] + 1, pivoted: true}
	}
	return nil
}

// permutation returns the rows of A in the order of L's.
func (f *LDL[T]) permutation() []int {
	p := make([]int, len(f.pivots.Rows))
	for i := range p {
		p[i] = i
	}
	for k, r := range f.pivots.Rows {
		p[k], p[r] = p[r], p[k]
	}
	return p
}

// diagonal returns the diagonal of D and its elements beside the diagonal.
func (f *LDL[T]) diagonal() (d, e []T) {
	if f.a.Dim() == 0 {
		return nil, nil
	}
	t := f.d.Tile(0, 0)
	return t.Row(0), t.Row(1)
}

// factor returns Lᵀ in tiles of nb×nb, as a view of a matrix of the given kind. What is on the diagonal is undefined.
func (f *LDL[T]) factor(kind blocked.Kind, nb int) *blocked.Matrix[T] {
	n := f.a.Dim()
	if n == 0 {
		return blocked.New[T](kind, 0, 0, nb)
	}
	t := f.a.Tile(0, 0)
	var a Source[T] = General[T]{Rows: n, Cols: n, Stride: t.Stride, Data: t.Data}
	if kind == blocked.SymUpper {
		a = Symmetric[T]{Uplo: blas.Upper, N: n, Stride: t.Stride, Data: t.Data}
	}
	v, _, _ := tiles.ViewOf(a, nb)
	return v
}

// IsEmpty reports whether f holds no factorization.
func (f *LDL[T]) IsEmpty() bool { return !f.valid }

// SymmetricDim returns n. Like all methods but Factorize, IsEmpty and Reset, it panics with ErrNotFactorized if there is
// no factorization.
func (f *LDL[T]) SymmetricDim() int {
	f.check()
	return f.a.Dim()
}

// Reset drops the factorization. Its memory stays for the next one of the same size; drop f to free it.
func (f *LDL[T]) Reset() { f.valid, f.norm, f.exp = false, norms{}, 0 }

// Inertia returns how many eigenvalues of A are positive, negative and zero. But for rounding errors in the
// factorization: eigenvalues of the size of n·ε·‖A‖ may have any sign.
//
// Reference: Sylvester's law of inertia.
func (f *LDL[T]) Inertia() (positive, negative, zero int) {
	f.check()
	d, e := f.diagonal()
	count := func(x float64) {
		switch {
		case x > 0:
			positive++
		case x < 0:
			negative++
		default:
			zero++
		}
	}
	for k := 0; k < len(d); k++ {
		if e[k] == 0 {
			count(float64(d[k]))
			continue
		}
		// The determinant of a block of order 2 is negative, but for rounding.
		count(determinant(d[k], e[k], d[k+1]) * math.Copysign(1, float64(d[k]+d[k+1])))
		count(math.Copysign(1, float64(d[k]+d[k+1])))
		k++
	}
	return positive, negative, zero
}

// determinant returns the determinant of a block of order 2 divided by the square of its element beside the diagonal.
func determinant[T Element](p, e, q T) float64 {
	return float64(p)/float64(e)*(float64(q)/float64(e)) - 1
}

// Det returns the determinant of A: 0 if A is singular or the determinant underflows, an infinity if it overflows.
func (f *LDL[T]) Det() float64 {
	log, sign := f.LogDet()
	return sign * math.Exp(log)
}

// LogDet returns the logarithm of the magnitude of the determinant of A, and its sign, 1 or -1. The determinant of a
// singular matrix has logarithm -Inf and sign 0.
func (f *LDL[T]) LogDet() (log, sign float64) {
	f.check()
	sign = 1
	d, e := f.diagonal()
	for k := 0; k < len(d); k++ {
		x := float64(d[k])
		if e[k] != 0 {
			x = determinant(d[k], e[k], d[k+1])
			log += 2 * logAbs(e[k])
			k++
		}
		if x == 0 {
			return math.Inf(-1), 0
		}
		if x < 0 {
			sign = -sign
		}
		log += math.Log(math.Abs(x))
	}
	return log + float64(len(d)*f.exp)*math.Ln2, sign
}

// Pivots returns the permutation P: row i of P·A is row p[i] of A. If dst is not nil the result goes there; Pivots
// panics with ErrSliceLength unless dst has n elements.
func (f *LDL[T]) Pivots(dst []int) []int {
	f.check()
	p := f.permutation()
	if dst == nil {
		return p
	}
	if len(dst) != len(p) {
		panic(ErrSliceLength)
	}
	copy(dst, p)
	return dst
}

// LTo copies L to dst, which must be lower triangular; an empty *mat.TriDense becomes lower triangular. LTo sets the
// diagonal of dst to ones, unless dst has a unit diagonal. It panics with mat.ErrShape if dst is not n×n, and with
// mat.ErrTriangle if dst is upper triangular.
func (f *LDL[T]) LTo(dst TriangularSink[T]) {
	f.check()
	n := f.a.Dim()
	unit, empty := shapeTriangle(dst, n, mat.Lower, true)
	if empty || n == 0 {
		return
	}
	f.factor(blocked.SymUpper, n).CopyTo(dst, f.engine.Options().Workers)
	if !unit {
		for i := range n {
			dst.SetTri(i, i, 1)
		}
	}
}

// DTo copies D with its zeros to dst. An empty *mat.SymDense takes the shape. It panics with mat.ErrShape if dst is not
// n×n.
func (f *LDL[T]) DTo(dst SymmetricSink[T]) {
	f.check()
	n := f.a.Dim()
	shape[T](dst, n, n)
	if dst.SymmetricDim() != n {
		panic(mat.ErrShape)
	}
	d, e := f.diagonal()
	for i := range n {
		for j := i; j < n; j++ {
			var x T
			switch j - i {
			case 0:
				x = d[i]
			case 1:
				x = e[i]
			}
			dst.SetSym(i, j, T(math.Ldexp(float64(x), f.exp)))
		}
	}
}
