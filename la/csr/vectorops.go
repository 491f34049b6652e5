package csr

import (
	"slices"
	"sort"

	"github.com/tessera-la/tessera/internal/vector"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas/blas64"
)

// operands returns the operands of a product y = op(A)·x: for op(A) of m×n, x has n rows and y has m. It
// panics with ErrShape if they do not fit.
func operands(call *versions.Call, trans bool) (a *Matrix, x, y *tile, err error) {
	b := call.Args[0].(*Block)
	x, y = call.Args[1].(*tile), call.Args[2].(*tile)
	if b.ia == nil {
		return nil, nil, nil, errUnfilled()
	}
	a = b.view()
	if m, n := a.op(trans); x.Rows != n || y.Rows != m || x.Cols != y.Cols {
		panic(ErrShape)
	}
	return a, x, y, nil
}

// elements returns the elements of a tile of one column. It panics with ErrShape if the tile has another
// number of columns, or if its elements are not contiguous.
func elements(t *tile) []float64 {
	if t.Cols != 1 || t.Stride != 1 {
		panic(ErrShape)
	}
	return t.Data[:t.Rows]
}

// runMV is op "csrmv", for x in one piece.
func runMV(call *versions.Call) error {
	a, tx, ty, err := operands(call, false)
	if err != nil {
		return err
	}
	x, y := elements(tx), elements(ty)
	a.mulVecNarrow(y, x, 0, a.rows)
	return nil
}

// A span says which elements of x a block of A needs. It has one row for each part of x. The columns of the
// row are: the number in x of the first element of the part; the range lo to hi−1 of elements of the part for
// which the block has columns, both 0 if it has none; and the element of the part with which the slice begins
// that the block gets.
const (
	spanFirst = iota
	spanLo
	spanHi
	spanFrom
	spanned // the columns of a span
)

// runSpan is op "csrspan". It looks first in the part of the entry before: most entries of a row are in one
// part.
func runSpan(call *versions.Call) error {
	b, starts, to := call.Args[0].(*Block), call.Args[1].(*tile), call.Args[2].(*tile)
	switch {
	case b.ia == nil:
		return errUnfilled()
	case starts.Rows != to.Rows+1 || starts.Cols != 1 || to.Cols != spanned || to.Rows == 0:
		panic(ErrShape)
	}
	at := make([]int, starts.Rows)
	for part := range at {
		at[part] = int(starts.At(part, 0))
	}
	if at[0] != 0 || at[to.Rows] != b.cols || !slices.IsSorted(at) {
		panic(ErrShape)
	}
	for part := range to.Rows {
		copy(to.Row(part), []float64{spanFirst: float64(at[part]), spanFrom: 0})
	}
	part := 0
	for _, j := range b.ja {
		j := int(j)
		if j < at[part] || j >= at[part+1] {
			part = sort.SearchInts(at, j+1) - 1
		}
		row, i := to.Row(part), float64(j-at[part])
		if row[spanHi] == 0 {
			row[spanLo], row[spanHi] = i, i+1
		} else {
			row[spanLo], row[spanHi] = min(row[spanLo], i), max(row[spanHi], i+1)
		}
	}
	return nil
}

// runMVS is op "csrmvs", for x in parts. It copies the elements that the block needs, from parts of x or
// slices of parts, to their places in a vector as long as x. It does not touch the rest of that vector, so
// the rest takes only virtual memory.
func runMVS(call *versions.Call) error {
	b, span, y := call.Args[0].(*Block), call.Args[1].(*tile), call.Args[len(call.Args)-1].(*tile)
	if b.ia == nil {
		return errUnfilled()
	}
	parts := call.Args[2 : len(call.Args)-1]
	x := versions.Scratch[float64](call.Work, b.cols)
	if span.Cols != spanned {
		panic(ErrShape)
	}
	for k := range span.Rows {
		first, lo, hi, begin := int(span.At(k, spanFirst)), int(span.At(k, spanLo)), int(span.At(k, spanHi)), int(span.At(k, spanFrom))
		if lo == hi {
			continue
		}
		if len(parts) == 0 {
			panic(ErrShape)
		}
		from := elements(parts[0].(*tile))
		if parts = parts[1:]; first < 0 || begin < 0 || lo < begin || lo > hi || hi > b.cols-first || hi-begin > len(from) {
			panic(ErrShape)
		}
		copy(x[first+lo:first+hi], from[lo-begin:hi-begin])
	}
	if y.Rows != b.rows || len(parts) > 0 {
		panic(ErrShape)
	}
	b.view().mulVecNarrow(elements(y), x, 0, b.rows)
	return nil
}

// runMM is op "csrmm", for a dense matrix X.
func runMM(call *versions.Call) error {
	a, x, y, err := operands(call, false)
	if err != nil {
		return err
	}
	from := blas64.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data}
	for i := range a.rows {
		lo, hi := a.ia[i], a.ia[i+1]
		combine(y.Row(i), a.narrow[lo:hi], a.data[lo:hi], from)
	}
	return nil
}

// runTMV is op "csrtmv". It adds multiples of the rows of A, in the order in which they are stored.
func runTMV(call *versions.Call) error {
	a, tx, ty, err := operands(call, true)
	if err != nil {
		return err
	}
	x, y := elements(tx), elements(ty)
	clear(y)
	for i, v := range x {
		for k := a.ia[i]; k < a.ia[i+1]; k++ {
			y[a.narrow[k]] += a.data[k] * v
		}
	}
	return nil
}

// sliceParams is the parameter of op "csrslice".
type sliceParams struct{ Row int } // y begins with this element of x

// runSlice is op "csrslice". A block before x and y is not read: it makes the policy run the task where the
// block is.
func runSlice(call *versions.Call) error {
	n, row := len(call.Args), call.Params.(*sliceParams).Row
	x, y := elements(call.Args[n-2].(*tile)), elements(call.Args[n-1].(*tile))
	if row < 0 || row > len(x) || len(y) > len(x)-row {
		panic(ErrShape)
	}
	copy(y, x[row:])
	return nil
}

// addParams is the parameter of op "csradd".
type addParams struct{ Alpha, Beta float64 }

// runAdd is op "csradd". If there is one operand, it is both x and y.
func runAdd(call *versions.Call) error {
	p, n := call.Params.(*addParams), len(call.Args)
	x, y := elements(call.Args[0].(*tile)), elements(call.Args[n-1].(*tile))
	if len(x) != len(y) {
		panic(ErrShape)
	}
	vector.Add(p.Alpha, x, p.Beta, y)
	return nil
}

// dotParams is the parameter of op "csrdot".
type dotParams struct {
	First int // number of the part's first element in the whole vector
	Scale float64
}

// runDot is op "csrdot". If there are two operands, the first is both x and y.
func runDot(call *versions.Call) error {
	p, n := call.Params.(*dotParams), len(call.Args)
	x, y := elements(call.Args[0].(*tile)), elements(call.Args[n-2].(*tile))
	to := elements(call.Args[n-1].(*tile))
	if len(x) != len(y) || p.First < 0 || len(to) != vector.Len(p.First, len(x)) {
		panic(ErrShape)
	}
	vector.Part(to, p.First, x, y, p.Scale)
	return nil
}
