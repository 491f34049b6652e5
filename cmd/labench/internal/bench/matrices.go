package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/file"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
)

// newProblem makes the matrices of s. It returns the problem, and s with the shape of the matrix in an input
// file.
func newProblem[T la.Element](ctx context.Context, s Spec, workers int) (problem, Spec, error) {
	if s.Distributed {
		return newDistributed[T](ctx, s)
	}
	var input *blocked.Matrix[T]
	if s.Input != "" {
		opt := &file.ReadOptions{MaxBytes: math.MaxInt64, Workers: workers, Warn: s.Warn}
		opt.Check = func(h file.Header) (err error) { // before a compressed file is decompressed
			if s, err = find(s.Op).take(s, h.Rows, h.Cols); err == nil {
				err = fits(s)
			}
			return err
		}
		var err error
		if input, err = file.Read[T](s.Input, opt); err != nil {
			return nil, s, err
		}
	}
	f := &maker[T]{base: base[T]{s.Seed, workers}, ctx: ctx, spec: s, input: input}
	p := create(find(s.Op), f)
	return p, s, f.err
}

// ShapeError reports a matrix file whose shape does not fit the operation or the flags.
type ShapeError struct{ File, Reason string }

func (e *ShapeError) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Reason) }

// maker makes the operands of a problem.
type maker[T la.Element] struct {
	base[T]
	ctx   context.Context
	spec  Spec
	input *blocked.Matrix[T] // the first operand, if it came from a file
	err   error              // the first error; matrices made after it are unusable
}

// first returns the first operand, which is m×n. It comes from the input file if there is one. If half is set,
// it is the lower triangle, with zeros above.
func (f *maker[T]) first(m, n int, half bool) la.General[T] {
	if f.input == nil {
		return f.generate(f.spec.Matrix, 0, m, n, half)
	}
	g := empty[T](m, n)
	if half {
		f.input.CopyTo(la.Triangular[T]{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Data: g.Data, Stride: g.Stride}, f.workers)
	} else {
		f.input.CopyTo(g, f.workers)
	}
	symmetric := half && find(f.spec.Op).needsSymmetric(f.spec)
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
func (f *maker[T]) generate(kind matgen.Kind, operand uint64, m, n int, half bool) la.General[T] {
	g := f.empty(m, n)
	if f.spec.blank {
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
			if half {
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
	g := f.first(n, n, true)
	return la.Symmetric[T]{Uplo: blas.Lower, N: n, Data: g.Data, Stride: g.Stride}
}

// empty returns an m×n matrix of zeros. For a blank problem it takes no memory until it is written.
func (f *maker[T]) empty(m, n int) la.General[T] {
	if f.spec.blank {
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
