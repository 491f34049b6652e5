package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// maker makes the operands of a problem.
type maker[T la.Element] struct {
	base[T]
	ctx   context.Context
	spec  Spec
	input *blocked.Matrix[T] // the first operand, if it came from a file
	blank bool               // leave the elements unset, since nothing reads them
	err   error              // the first error; matrices made after it are unusable
}

// extent says which elements an operand has.
type extent bool

const (
	fullMatrix extent = false
	lowerHalf  extent = true // zeros above
)

// first returns the first operand, which is m×n. It comes from the input file if there is one.
func (f *maker[T]) first(m, n int, what extent) la.General[T] {
	if f.input == nil {
		return f.generate(f.spec.Matrix, 0, m, n, what)
	}
	g := empty[T](m, n)
	if what == lowerHalf {
		f.input.CopyTo(la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Data: g.Data, Stride: g.Stride}, f.workers)
	} else {
		f.input.CopyTo(g, f.workers)
	}
	symmetric := what == lowerHalf && find(f.spec.Op).needsSymmetric(f.spec)
	f.input = nil // no longer needed
	f.note(f.finite(g, symmetric))
	return g
}

func (f *maker[T]) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// generate returns an m×n matrix of the given kind. Each number of an operand gives another matrix.
func (f *maker[T]) generate(kind matgen.Kind, operand uint64, m, n int, what extent) la.General[T] {
	g := f.empty(m, n)
	if f.blank {
		return g
	}
	gen, err := matgen.New[T](matgen.Spec{Kind: kind, M: m, N: n, Seed: f.spec.Seed + operand})
	if f.note(err); f.err != nil {
		return g
	}
	parallel(f.workers, m, min(m, 256), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			if f.ctx.Err() != nil {
				return
			}
			width := n
			if what == lowerHalf {
				width = i + 1
			}
			gen.Block(i, 0, 1, width, g.Data[i*g.Stride:], g.Stride)
		}
	})
	if f.ctx.Err() != nil {
		f.note(context.Cause(f.ctx))
	}
	return g
}

// symmetric returns the first operand as a symmetric n×n matrix, stored in the lower triangle.
func (f *maker[T]) symmetric(n int) la.Symmetric[T] {
	if f.input != nil && f.input.Kind() == blocked.Full {
		f.note(f.checkSymmetry(n))
	}
	g := f.first(n, n, lowerHalf)
	return la.Symmetric[T]{Uplo: blas.Lower, N: n, Data: g.Data, Stride: g.Stride}
}

// empty returns an m×n matrix of zeros. For a blank problem it takes no memory until it is written.
func (f *maker[T]) empty(m, n int) la.General[T] {
	if f.blank {
		data, err := reserve[T](m * n)
		f.note(err)
		return la.General[T]{Rows: m, Cols: n, Stride: max(n, 1), Data: data}
	}
	return empty[T](m, n)
}

// mirror copies the lower triangle of a's memory to the upper triangle.
func mirror[T la.Element](a la.Symmetric[T], workers int) {
	const block = 64 // rows and columns that fit into the cache together
	parallel(workers, (a.N+block-1)/block, stripes, func(_, lo, hi int) {
		for i0 := lo * block; i0 < min(hi*block, a.N); i0 += block {
			for j0 := 0; j0 <= i0; j0 += block {
				for i := i0; i < min(i0+block, a.N); i++ {
					for j := j0; j < min(j0+block, i); j++ {
						a.Data[j*a.Stride+i] = a.Data[i*a.Stride+j]
					}
				}
			}
		}
	})
}

// checkSymmetry returns a *ShapeError if an input file that does not declare its matrix symmetric holds an
// unsymmetric one. The program that wrote the file may have rounded the two halves differently.
func (f *maker[T]) checkSymmetry(n int) error {
	a := f.input
	top := 0.0
	for i := range n {
		for j := range n {
			top = max(top, math.Abs(float64(a.At(i, j))))
		}
	}
	allowed := 4 * float64(n) * epsilon[T]() * top
	for i := range n {
		for j := range i {
			if x, y := float64(a.At(i, j)), float64(a.At(j, i)); math.Abs(x-y) > allowed {
				return &ShapeError{f.spec.Input, fmt.Sprintf(
					"the matrix is not symmetric: element (%d, %d), counted from 1, is %.9g and (%d, %d) is %.9g", i+1, j+1, x, j+1, i+1, y)}
			}
		}
	}
	return nil
}

// spoil fills a with NaN, so that elements that are never written are noticed.
func spoil[T la.Element](a la.General[T], workers int) {
	nan := T(math.NaN())
	parallel(workers, len(a.Data), stripes, func(_, lo, hi int) {
		row := a.Data[lo:hi]
		for i := range row {
			row[i] = nan
		}
	})
}

// finite returns an *InputError if g, which comes from the input file, has an infinite or NaN element. If
// symmetric is set, only its lower triangle is examined.
func (f *maker[T]) finite(g la.General[T], symmetric bool) error {
	bad := func(v T) bool { return v-v != 0 }
	if !slices.ContainsFunc(g.Data, bad) {
		return nil
	}
	for i := range g.Rows {
		for j := range g.Cols {
			v := g.Data[i*g.Stride+j]
			if symmetric && i < j {
				v = g.Data[j*g.Stride+i]
			}
			if bad(v) {
				return &InputError{File: f.spec.Input, Row: i, Col: j, Value: float64(v)}
			}
		}
	}
	panic("bench: lost an element that is not finite") // no other code has access to g
}
