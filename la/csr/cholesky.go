package csr

import (
	"context"
	"math"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr/internal/order"
	"github.com/tessera-la/tessera/la/csr/internal/simplicial"
	"github.com/tessera-la/tessera/la/csr/internal/supernodal"
)

// ErrNotFactorized is the panic of a method of [Cholesky] that needs a factorization and finds none.
const ErrNotFactorized Error = "csr: no valid factorization"

// Cholesky is the factorization of a sparse symmetric positive definite n×n matrix,
//
//	P·A·Pᵀ = L·Lᵀ,
//
// with a permutation P and L lower triangular. P is an order of elimination in which L has few entries. The element type
// T is that of L and of solutions: with float32 the factor takes half the memory.
//
// The factor is computed by supernodes: consecutive columns that have the same rows, or almost so, are a dense matrix. A
// factor with few entries and operations is computed column by column instead.
//
// It takes the place of package sparse's Cholesky, which solves with parts of both factors once it has factored a second
// matrix.
//
// The zero value holds no factorization and has the options of the zero value. Several goroutines may read a Cholesky at
// once.
//
// References: Duff and Reid, The multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS 9
// (1983); Chen, Davis, Hager and Rajamanickam, Algorithm 887: CHOLMOD, ACM TOMS 35 (2008).
type Cholesky[T la.Element] struct {
	opt      CholeskyOptions
	valid    bool
	pattern  *order.Graph // of the last matrix that was analyzed
	known    *places      // its entries, if the factor is computed column by column and both triangles are read
	ordering Ordering     // what Automatic has come to for it
	factor   choleskyFactor[T]
	rt       exec.Runtime // of the last matrix
	exp      int          // it is the factorization of A divided by two to this power
	norm     float64      // ‖A‖₁, of A divided by it
}

// choleskyFactor is a factor with its memory: *fronts, or *columns if supernodes do not pay.
type choleskyFactor[T la.Element] interface {
	// factorize computes the factor of m, whose elements are multiplied by scale. The error is a
	// *supernodal.NotPositiveDefiniteError, the cause of the context's end, or that of the runtime.
	factorize(ctx context.Context, rt exec.Runtime, m *supernodal.Matrix, scale float64) error
	// solve overwrites the right-hand sides x, an n×nrhs matrix whose rows are in the order of the factor, with the
	// solutions. The error is the cause of the context's end, or that of the runtime.
	solve(ctx context.Context, rt exec.Runtime, x []T, nrhs int) error
	// permutation returns the order of elimination and its inverse.
	permutation() (order, inverse []int32)
	// stats describes the factor, but for the name of the order.
	stats() CholeskyStats
	LogDet() float64
}

// NewCholesky returns an empty factorization with the options given.
func NewCholesky[T la.Element](opt CholeskyOptions) *Cholesky[T] { return &Cholesky[T]{opt: opt} }

// caches returns the sizes of the caches of a core.
var caches = sync.OnceValue(func() cpu.Caches {
	m := topo.Here()
	return cpu.Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)}
})

// Factorize computes the factorization of a, which does not change. It replaces an earlier factorization and uses its
// memory again. If a has the pattern of the matrix of the last call, the order of elimination and all that follows from
// the pattern are those of that call.
//
// The error is one of:
//   - a *[la.OptionsError];
//   - a *[StructureError] if a is not square;
//   - a *[la.NonFiniteError] or a *[SymmetryError];
//   - a *[MemoryError] if the factorization takes more memory than it may;
//   - a *[NotPositiveDefiniteError];
//   - the cause of the context's end.
//
// f is then empty.
func (f *Cholesky[T]) Factorize(ctx context.Context, a *Matrix) error {
	f.valid = false
	if err := f.opt.validate(a.rows); err != nil {
		return err
	}
	m := &supernodal.Matrix{Ptr: a.ia, Cols: a.ja, Data: a.data}
	top, norm, known := 0.0, 0.0, false
	if f.known != nil && a.rows == a.cols {
		top, norm, known = f.known.read(m)
	}
	if !known {
		var err error
		if m, err = symmetric(a, f.opt.Triangle); err != nil {
			return err
		}
		top, norm = size(m, 1)
	}
	if !known && !hasPattern(m, f.pattern) {
		if err := f.analyze(ctx, m, a.rt); err != nil {
			return err
		}
	} else if fr, ok := f.factor.(*fronts[T]); ok && fr.cores != cores(a.rt) {
		// The division for other cores will do if there is no memory for a new one.
		if d, err := f.divide(fr.Analysis, cores(a.rt)); err == nil {
			fr.divide(d)
		}
	}
	f.rt, f.exp = a.rt, exponent[T](top)
	scale := math.Ldexp(1, -f.exp)
	if f.norm = norm * scale; norm > math.MaxFloat64 { // the elements are in range, and their sum is not
		_, f.norm = size(m, scale)
	}
	err := f.factor.factorize(ctx, a.rt, m, scale)
	if e, ok := err.(*supernodal.NotPositiveDefiniteError); ok {
		err = &NotPositiveDefiniteError{int(e.Row) + 1}
	}
	f.valid = err == nil
	return err
}

// analyze finds an order of elimination for the pattern of m, and allocates the factor for a runtime.
func (f *Cholesky[T]) analyze(ctx context.Context, m *supernodal.Matrix, rt exec.Runtime) error {
	f.pattern, f.factor, f.known = nil, nil, nil
	g := graphOf(m)
	ordering, c, err := f.order(ctx, g, rt)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if fewOperations(c) {
		if err := f.limit(columnsMemory[T](c)); err != nil {
			return err
		}
		f.factor = &columns[T]{simplicial.NewFactor[T](g, c), c.Flops}
		if f.opt.Triangle == Both {
			f.known = placesOf(m)
		}
	} else {
		a := supernodal.Analyze(g, c)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		d, err := f.divide(a, cores(rt))
		if err != nil {
			return err
		}
		fr := &fronts[T]{Factor: supernodal.NewFactor[T](a, d.of, caches()), split: d}
		fr.make = fr.NewWorkspace
		f.factor = fr
	}
	f.pattern, f.ordering = g, ordering
	return nil
}

// limit returns e, with the limit, if that is too much memory.
func (f *Cholesky[T]) limit(e MemoryError) error {
	e.Limit = f.opt.MaxBytes
	if e.Limit == 0 {
		e.Limit = topo.Here().UsableMemory()
	}
	if (e.Limit <= 0 || e.Factor+e.Work <= e.Limit) && e.Factor <= math.MaxInt {
		return nil
	}
	return &e
}

// divide divides the fronts of an analysis for a runtime with so many cores. If there is not enough memory for several
// goroutines, it takes one. The error is a *MemoryError if there is not enough for one.
func (f *Cholesky[T]) divide(a *supernodal.Analysis, cores int) (split, error) {
	size := int64(scalar.Size[T]())
	for goroutines := cores; ; goroutines = 1 {
		d := a.Divide(a.Grain(goroutines))
		most := int64(min(goroutines, len(d.Parts)))
		err := f.limit(MemoryError{Rows: len(a.Order), Entries: a.Entries, Factor: size * a.Stored(),
			Work: size * (d.Arena[0] + d.Arena[1] + most*(d.Stack+d.Front))})
		if err == nil {
			return split{d, cores, goroutines}, nil
		}
		if goroutines == 1 {
			return split{}, err
		}
	}
}

// dissectFrom is the number of operations for each entry of the matrix from which on Automatic looks for separators. It is
// about where the factorization takes as long as that. (A grid of 60×60×60 on two cores with AVX-512, 2026-11-29:
// some 5 µs an entry, and 1e11 operations a second.)
const dissectFrom = 3e5

// order returns an order of elimination with its name, and the columns of its factor.
func (f *Cholesky[T]) order(ctx context.Context, g *order.Graph, rt exec.Runtime) (o Ordering, c *supernodal.Columns, err error) {
	switch f.opt.Ordering {
	case Natural:
		return Natural, supernodal.Count(g, order.Natural(g.N())), nil
	case Given:
		return Given, supernodal.Count(g, f.opt.permutation()), nil
	}
	if f.opt.Ordering != NestedDissection {
		c = supernodal.Count(g, order.AMD(g))
		if f.opt.Ordering == AMD || c.Flops < dissectFrom*float64(len(g.Adj)) {
			return AMD, c, nil
		}
	}
	p, err := order.NestedDissection(g, func(n int, do func(int)) error { return each(ctx, rt, n, do) })
	if err != nil {
		return 0, nil, err
	}
	if d := supernodal.Count(g, p); c == nil || d.Flops < c.Flops {
		return NestedDissection, d, nil
	}
	return AMD, c, nil
}

// exponent returns a power of two by which a matrix whose largest magnitude is top is divided so that the elements of its
// factor are in the middle of the range of T: 0 if they are without. It is itself in range.
func exponent[T la.Element](top float64) int {
	if _, e := math.Frexp(top); top > 0 && (e < -scalar.Pick[T](40, 400) || e > scalar.Pick[T](40, 400)) {
		const most = 1000
		return max(-most, min(most, e))
	}
	return 0
}

// check panics with ErrNotFactorized if there is no factorization.
func (f *Cholesky[T]) check() {
	if !f.valid {
		panic(ErrNotFactorized)
	}
}

// IsEmpty reports whether f holds no factorization.
func (f *Cholesky[T]) IsEmpty() bool { return !f.valid }

// SymmetricDim returns n. Like all methods but Factorize, IsEmpty and Reset, it panics with [ErrNotFactorized] if there is
// no factorization.
func (f *Cholesky[T]) SymmetricDim() int {
	f.check()
	return f.pattern.N()
}

// Reset drops the factorization. Its memory, and what follows from the pattern, stay for the next one; drop f to free
// them.
func (f *Cholesky[T]) Reset() { f.valid = false }

// LogDet returns the logarithm of the determinant of A. The sum is in float64.
func (f *Cholesky[T]) LogDet() float64 {
	f.check()
	return f.factor.LogDet() + float64(f.pattern.N()*f.exp)*math.Ln2
}

// Permutation returns the order of elimination: row k of P·A is row p[k] of A.
func (f *Cholesky[T]) Permutation() []int {
	f.check()
	order, _ := f.factor.permutation()
	p := make([]int, len(order))
	for k, i := range order {
		p[k] = int(i)
	}
	return p
}

// Stats describes the factorization.
func (f *Cholesky[T]) Stats() CholeskyStats {
	f.check()
	s := f.factor.stats()
	s.Ordering = f.ordering
	return s
}
