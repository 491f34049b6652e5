package csr

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/tessera-la/tessera/exec/loop"
	"github.com/tessera-la/tessera/kernels/cpu/native"
	"github.com/tessera-la/tessera/la"
)

// MulVecTo computes
//
//	dst = A·x, or dst = Aᵀ·x if trans is set,
//
// where op(A) is m×n, x has n elements, and dst has m. The bits are the same on any number of workers. For Aᵀ
// MulVecTo makes the transpose: see [Matrix.T]. The first product also copies the columns into 32 bits, which
// takes a quarter of the memory of A: later products then read less.
//
// The error is an *[la.ShapeError], or that of [loop.For]; dst is then undefined. MulVecTo panics with
// [ErrOverlap] if dst and x begin at the same element.
func (a *Matrix) MulVecTo(ctx context.Context, dst []float64, trans bool, x []float64) error {
	if m, n := a.op(trans); len(dst) != m || len(x) != n {
		return &la.ShapeError{Op: "MulVecTo", Detail: fmt.Sprintf("op(A) is %d×%d, x has %d elements and dst %d", m, n, len(x), len(dst))}
	}
	if len(dst) > 0 && unsafe.SliceData(dst) == unsafe.SliceData(x) {
		panic(ErrOverlap)
	}
	if trans {
		a = a.T()
	}
	narrow := a.narrowed()
	return loop.For(ctx, a.rt, a.Blocks(), loop.Options{Site: &a.products}, func(c loop.Chunk) error {
		if lo, hi := a.starts[c.Lo], a.starts[c.Hi]; narrow {
			a.mulVecNarrow(dst, x, lo, hi)
		} else {
			a.mulVec(dst, x, lo, hi)
		}
		return nil
	})
}

// op returns the shape of A, or of Aᵀ.
func (a *Matrix) op(trans bool) (m, n int) {
	if trans {
		return a.cols, a.rows
	}
	return a.rows, a.cols
}

// mulVec computes elements lo to hi−1 of the product. It adds each sum in four parts: a core can begin an
// addition in each cycle, but an addition takes several.
func (a *Matrix) mulVec(dst, x []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		from, to := a.ia[i], a.ia[i+1]
		ja := a.ja[from:to]
		data := a.data[from:to:to][:len(ja)]
		var s0, s1, s2, s3 float64
		k := 0
		for ; k+4 <= len(ja); k += 4 {
			j, d := ja[k:k+4:k+4], data[k:k+4:k+4]
			s0 += d[0] * x[j[0]]
			s1 += d[1] * x[j[1]]
			s2 += d[2] * x[j[2]]
			s3 += d[3] * x[j[3]]
		}
		for ; k < len(ja); k++ {
			s0 += data[k] * x[ja[k]]
		}
		dst[i] = (s0 + s1) + (s2 + s3)
	}
}

// mulVecNarrow is mulVec with the columns in 32 bits; the results have the same bits. The caller cannot
// change these columns, and narrowed has checked that they are below the number of elements of x. So
// mulVecNarrow checks only the row pointers, which the caller can change. Checks of entries would take a
// tenth of the time. Assembly computes the rows up to the first one with wrong pointers.
func (a *Matrix) mulVecNarrow(dst, x []float64, lo, hi int) {
	if spmv := native.Best().F64.SpMV; spmv != nil && lo < hi {
		_, _ = dst[hi-1], a.ia[hi]
		lo += spmv(&dst[0], unsafe.SliceData(x), &a.ia[0], unsafe.SliceData(a.narrow), unsafe.SliceData(a.data), len(a.narrow), lo, hi)
	}
	columns, values, vector := unsafe.Pointer(unsafe.SliceData(a.narrow)), unsafe.Pointer(unsafe.SliceData(a.data)), unsafe.Pointer(unsafe.SliceData(x))
	at := func(j uint32) float64 { return *(*float64)(unsafe.Add(vector, 8*uintptr(j))) }
	for i := lo; i < hi; i++ {
		k, to := a.ia[i], a.ia[i+1]
		if uint(k) > uint(to) || to > len(a.narrow) { // there are as many values as columns
			panic(ErrChanged)
		}
		var s0, s1, s2, s3 float64
		for ; k+4 <= to; k += 4 {
			j, d := (*[4]uint32)(unsafe.Add(columns, 4*k)), (*[4]float64)(unsafe.Add(values, 8*k))
			s0 += d[0] * at(j[0])
			s1 += d[1] * at(j[1])
			s2 += d[2] * at(j[2])
			s3 += d[3] * at(j[3])
		}
		for ; k < to; k++ {
			s0 += a.data[k] * at(*(*uint32)(unsafe.Add(columns, 4*k)))
		}
		dst[i] = (s0 + s1) + (s2 + s3)
	}
}
