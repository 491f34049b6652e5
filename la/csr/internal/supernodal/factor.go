package supernodal

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu"
)

// Matrix is a symmetric sparse matrix in compressed rows, with both triangles. A row may have no column twice.
type Matrix struct {
	Ptr  []int
	Cols []int
	Data []float64
}

// Factor is a Cholesky factor, and the memory for what its fronts contribute.
type Factor[T scalar.Real] struct {
	*Analysis
	*Division
	Solving []Part // of a solution; Part.Work is elements of the factor
	Panels  []T
	r       routines[T]
	arenas  [2][]T
	waiting [][]T // what a supernode contributes to its parent, until that has it: packed in the same part, else in bands

	// The factorization that was begun last.
	m      *Matrix
	scale  float64
	failed atomic.Int64 // packPivot of the first front with a pivot that is not positive; else math.MaxInt64
}

// solveGrain is about the number of elements of the factor that a part of a solution takes: some tenths of a millisecond.
const solveGrain = 1 << 18

// NewFactor returns a factor without values. caches are those of a core.
func NewFactor[T scalar.Real](a *Analysis, d *Division, caches cpu.Caches) *Factor[T] {
	f := &Factor[T]{Analysis: a, Panels: make([]T, a.Panel[a.Supernodes()]), r: fastest[T](caches), waiting: make([][]T, a.Supernodes())}
	pages.Large(f.Panels)
	f.Divide(d)
	elements := make([]float64, a.Supernodes())
	for s := range elements {
		elements[s] = float64(a.Panel[s+1] - a.Panel[s])
	}
	f.Solving, _, _ = a.partition(elements, solveGrain)
	return f
}

// Divide divides factorizations from now on by d.
func (f *Factor[T]) Divide(d *Division) {
	f.Division = d
	for x, n := range d.Arena {
		f.arenas[x] = make([]T, n)
		pages.Large(f.arenas[x])
	}
}

// Workspace is the memory in which a goroutine computes fronts.
type Workspace[T scalar.Real] struct {
	at    []int32 // where a row of the matrix is in the front
	to    []int32 // where the rows of a contribution are in the front
	front []T     // what the front contributes to a parent in the same part, in bands
	stack []T     // contributions that wait for their parents
	top   int     // of the stack
	work  []T     // scratch of the routines

	r    cpu.Routines[T] // those of the factor, alone or by a crew
	crew cpu.Crew[T]     // nil if the goroutine is alone
}

// NewWorkspace returns memory for the fronts of f.
func (f *Factor[T]) NewWorkspace() *Workspace[T] {
	rows := f.maxRows()
	w := &Workspace[T]{at: make([]int32, len(f.Order)), to: make([]int32, rows), front: make([]T, f.Front), stack: make([]T, f.Stack), work: make([]T, f.r.Work(rows)), r: f.r}
	pages.Large(w.front)
	pages.Large(w.stack)
	return w
}

// NotPositiveDefiniteError reports a pivot that is not positive.
type NotPositiveDefiniteError struct {
	Row int32 // of the matrix, from 0
}

func (e *NotPositiveDefiniteError) Error() string {
	return fmt.Sprintf("the pivot of row %d (counted from 1) is not positive", e.Row+1)
}

// Begin begins the factorization of m, whose elements are multiplied by scale.
func (f *Factor[T]) Begin(m *Matrix, scale float64) {
	f.m, f.scale = m, scale
	f.failed.Store(math.MaxInt64)
}

// End returns an *NotPositiveDefiniteError if a pivot was not positive: that of the first front, whatever the division.
func (f *Factor[T]) End() error {
	f.m = nil
	if e := f.failed.Load(); e < math.MaxInt64 {
		_, k := unpackPivot(e)
		return &NotPositiveDefiniteError{f.Order[k]}
	}
	return nil
}

// fail notes that column k of the factor, in supernode s, has a pivot that is not positive.
func (f *Factor[T]) fail(s, k int32) {
	e := packPivot(s, k)
	for old := f.failed.Load(); e < old && !f.failed.CompareAndSwap(old, e); old = f.failed.Load() {
	}
}

// isAfterFailure reports whether a front before s has failed.
func (f *Factor[T]) isAfterFailure(s int32) bool {
	failed, _ := unpackPivot(f.failed.Load())
	return s > failed
}

// packPivot returns a number for column k of the factor, in supernode s, so that earlier ones have smaller numbers.
func packPivot(s, k int32) int64 { return int64(s)<<32 | int64(k) }

func unpackPivot(e int64) (s, k int32) { return int32(e >> 32), int32(e) }
