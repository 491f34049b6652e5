package csr

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/internal/pages"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/krylov"
)

// Single is an m×n sparse matrix with elements in float32, for products with vectors in float64: sums are computed
// in float64, too. An entry takes 8 bytes, where a [Matrix] reads 12 for a product. As an operator of package
// la/krylov it has the solution of a system with the rounded matrix to any tolerance. It is safe for concurrent use
// as long as no goroutine writes its elements.
type Single struct {
	m     *Matrix // all but the elements
	data  []float32
	scale float64 // the elements are those of data times this, a power of two
}

// NewSingle returns a matrix with these arrays, which it shares: row i has the elements data[ia[i]:ia[i+1]] in the
// columns ja[ia[i]:ia[i+1]], in any order. If a column occurs twice, both entries count. ia and ja must not change.
// Products run on the workers of rt. The error is a *[StructureError].
func NewSingle(rt exec.Runtime, rows, cols int, ia []int, ja []int32, data []float32) (*Single, error) {
	if err := checkRows(rows, cols, ia, ja, len(data)); err != nil {
		return nil, err
	}
	return newSingle(rt, rows, cols, ia, ja[:ia[rows]], data[:ia[rows]], 1), nil
}

func newSingle(rt exec.Runtime, rows, cols int, ia []int, ja []int32, data []float32, scale float64) *Single {
	return &Single{&Matrix{rows: rows, cols: cols, ia: ia, narrow: ja, starts: balance(ia, blockWork), rt: rt}, data, scale}
}

// Single returns a copy of a with the elements rounded to float32. It multiplies all by a power of two, so that the
// largest is in range; elements that are smaller by more than 10³⁸ lose digits. The error is a *[StructureError] if
// a has more than 2³¹−1 columns.
func (a *Matrix) Single() (*Single, error) {
	if !a.narrowed() {
		return nil, &StructureError{-1, fmt.Sprintf("%d columns, and those of a Single have 32 bits", a.cols)}
	}
	top := 0.0
	for _, v := range a.data {
		if !math.IsInf(v, 0) { // also not NaN
			top = max(top, math.Abs(v))
		}
	}
	_, exp := math.Frexp(top)
	const most = 1000
	exp = max(-most, min(most, exp))
	data, down := make([]float32, len(a.data)), math.Ldexp(1, -exp)
	pages.Large(data)
	for k, v := range a.data {
		data[k] = float32(v * down)
	}
	return newSingle(a.rt, a.rows, a.cols, a.ia, a.narrow, data, math.Ldexp(1, exp)), nil
}

// Dims returns the number of rows and columns.
func (s *Single) Dims() (m, n int) { return s.m.rows, s.m.cols }

// Entries returns the number of stored elements.
func (s *Single) Entries() int { return len(s.data) }

// MulVecTo computes
//
//	dst = A·x, or dst = Aᵀ·x if trans is set,
//
// where op(A) is m×n, x has n elements, and dst has m. The bits are the same on any number of workers. Aᵀ·x is for
// one worker. The error is an *[la.ShapeError], or that of [loop.For]; dst is then undefined. MulVecTo panics with
// [ErrOverlap] if dst and x begin at the same element.
func (s *Single) MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error {
	if m, n := s.m.op(trans); len(dst) != m || len(x) != n {
		return &la.ShapeError{Op: "MulVecTo", Detail: fmt.Sprintf("op(A) is %d×%d, x has %d elements and dst %d", m, n, len(x), len(dst))}
	}
	if len(dst) > 0 && unsafe.SliceData(dst) == unsafe.SliceData(x) {
		panic(ErrOverlap)
	}
	if trans {
		clear(dst)
		for i, v := range x {
			v *= s.scale
			lo, hi := s.m.ia[i], s.m.ia[i+1]
			data := s.data[lo:hi]
			for k, j := range s.m.narrow[lo:hi] {
				dst[j] += float64(data[k]) * v
			}
		}
		return context.Cause(ctx)
	}
	return loop.For(ctx, s.m.rt, s.m.Blocks(), loop.Options{Site: &s.m.products}, func(c loop.Chunk) error {
		s.mulVec(dst, x, s.m.starts[c.Lo], s.m.starts[c.Hi])
		return nil
	})
}

// mulVec computes elements lo to hi−1 of A·x, each in four sums as [Matrix] does.
func (s *Single) mulVec(dst, x []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		from, to := s.m.ia[i], s.m.ia[i+1]
		ja := s.m.narrow[from:to]
		data := s.data[from:to:to][:len(ja)]
		var s0, s1, s2, s3 float64
		k := 0
		for ; k+4 <= len(ja); k += 4 {
			j, d := ja[k:k+4:k+4], data[k:k+4:k+4]
			s0 += float64(d[0]) * x[j[0]]
			s1 += float64(d[1]) * x[j[1]]
			s2 += float64(d[2]) * x[j[2]]
			s3 += float64(d[3]) * x[j[3]]
		}
		for ; k < len(ja); k++ {
			s0 += float64(data[k]) * x[ja[k]]
		}
		dst[i] = ((s0 + s1) + (s2 + s3)) * s.scale
	}
}

// Vectors implements krylov.Keeper, as [Matrix.Vectors].
func (s *Single) Vectors(ctx context.Context, operator krylov.Operator) (krylov.Vectors, error) {
	if operator != krylov.Operator(s) {
		return nil, nil
	}
	return &local{ctx: ctx, whole: context.WithoutCancel(ctx), a: s.m, op: s}, nil
}
