package csr

import (
	"slices"
	"sort"

	"github.com/tessera-la/tessera/internal/vector"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas/blas64"
)

// operands returns those of a product: op(A) is m×n, x has so many rows as it has columns, and
// y as it has rows. It panics with ErrShape unless they fit.
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

// elements returns the elements of a tile of one column. It panics with ErrShape if it has more, or
// its elements do not lie together.
func elements(t *tile) []float64 {
	if t.Cols != 1 || t.Stride != 1 {
		panic(ErrShape)
	}
	return t.Data[:t.Rows]
}

// runMV is op "csrmv", of a vector as a whole.
func runMV(call *versions.Call) error {
	a, tx, ty, err := operands(call, false)
	if err != nil {
		return err
	}
	x, y := elements(tx), elements(ty)
	a.mulVecNarrow(y, x, 0, a.rows)
	return nil
}

// A span says what a block of A needs of x. It has a row for each part of x: with which element of
// the vector the part begins, and which of its elements, lo to hi−1, the block has columns of. Where
// it has none both are 0. What comes of the part begins with its element from.
const (
	spanFirst = iota
	spanLo
	spanHi
	spanFrom
	spanned // the columns of a span
)

// runSpan is op "csrspan". Entries of a row mostly lie in the part in which the last one was.
func runSpan(call *versions.Call) error {
	b, starts, to := call.Args[0].(*Block), call.Args[1].(*tile), call.Args[2].(*tile)
	switch {
	case b.ia == nil:
		return errUnfilled()
	case starts.Rows != to.Rows+1 || starts.Cols != 1 || to.Cols != spanned || to.Rows == 0:
		panic(ErrShape)
	}
	at := make([]int, starts.Rows)
	for k := range at {
		at[k] = int(starts.At(k, 0))
	}
	if at[0] != 0 || at[to.Rows] != b.cols || !slices.IsSorted(at) {
		panic(ErrShape)
	}
	for k := range to.Rows {
		copy(to.Row(k), []float64{spanFirst: float64(at[k]), spanFrom: 0})
	}
	k := 0
	for _, j := range b.ja {
		j := int(j)
		if j < at[k] || j >= at[k+1] {
			k = sort.SearchInts(at, j+1) - 1
		}
		row, i := to.Row(k), float64(j-at[k])
		if row[spanHi] == 0 {
			row[spanLo], row[spanHi] = i, i+1
		} else {
			row[spanLo], row[spanHi] = min(row[spanLo], i), max(row[spanHi], i+1)
		}
	}
	return nil
}

// runMVS is op "csrmvs", of a vector in parts. It puts the elements of x that the block needs where
// they are in the whole vector. They come in parts of x, or in slices of them. The rest of that memory
// is there, and is not touched.
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

// runMM is op "csrmm", of a dense matrix.
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

// runTMV is op "csrtmv", which goes through the rows of A, as they are stored.
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
type sliceParams struct{ Row int } // of x, with which y begins

// runSlice is op "csrslice". A block before x and y is there for its place only.
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

// runAdd is op "csradd". Of one operand, which is x and y, it makes αy.
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
	First int // the number in the whole vector of the part's first element
	Scale float64
}

// runDot is op "csrdot". Of two operands the first is x and y.
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
