package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Lapmt is the parameter of op "lapmt", which applies the interchanges of a panel to the columns of
// a row of tiles: B = B·P, or B = B·Pᵀ if Inverse, for the P of op "getrf". It is named after LAPACK
// xLAPMT, which takes a permutation instead of interchanges.
//
// Operands: a *Pivots (in), then the tiles from left to right (inout), at least one. The tiles have
// the same number of rows and of columns; the last may have fewer columns. Columns are counted
// through all tiles: column i is exchanged with column Rows[i].
//
// It panics with kernels.ErrShape if the shapes do not fit together or a pivot is out of range, and
// with kernels.ErrArgs if an operand is missing or has another type.
type Lapmt struct {
	Inverse bool
}

// lapmtOp defines op "lapmt".
func lapmtOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "lapmt", Work: lapmtWork[T], NewParams: fresh[Lapmt]},
		about: "a permutation of columns",
		run:   func(implementation[T]) func(*versions.Call) error { return lapmt[T] },
	}
}

// lapmtRows is the number of rows in which columns are exchanged at a time. So few rows stay in the
// second-level cache while all interchanges go over them.
const lapmtRows = 8

// lapmtArgs returns the operands of op "lapmt", without conversion of the tiles. It checks the type
// of the first one.
func lapmtArgs[T kernels.Element](call *versions.Call) (v *kernels.Pivots, tiles []any) {
	v = operand[*kernels.Pivots](call, 0)
	arg[T](call, 1)
	return v, call.Args[1:]
}

// lapmtWork returns 2·m·k for k pivots and tiles of m rows.
func lapmtWork[T kernels.Element](call *versions.Call) float64 {
	v, tiles := lapmtArgs[T](call)
	return 2 * float64(tiles[0].(*kernels.Tile[T]).Rows) * float64(len(v.Rows))
}

// lapmt is the function of the versions of op "lapmt".
func lapmt[T kernels.Element](call *versions.Call) error {
	p := params[Lapmt](call)
	piv, tiles := lapmtArgs[T](call)
	first := tiles[0].(*kernels.Tile[T])
	width := 0
	for i := range tiles {
		t := arg[T](call, i+1)
		panicIf(t.Rows != first.Rows || t.Cols > first.Cols || width != i*first.Cols, kernels.ErrShape)
		width += t.Cols
	}
	for _, c := range piv.Rows {
		panicIf(c < 0 || c >= width, kernels.ErrShape)
	}
	panicIf(len(piv.Rows) > width, kernels.ErrShape)
	for r := 0; r < first.Rows; r += lapmtRows {
		exchangeColumns[T](tiles, r, min(r+lapmtRows, first.Rows), piv.Rows, p.Inverse)
	}
	return nil
}

// exchangeColumns exchanges column i with column with[i] in rows lo to hi-1, in reverse order if
// inverse. All tiles but the last have as many columns as the first.
func exchangeColumns[T kernels.Element](tiles []any, lo, hi int, with []int, inverse bool) {
	nb := max(tiles[0].(*kernels.Tile[T]).Cols, 1)
	for i := range with {
		if inverse {
			i = len(with) - 1 - i
		}
		c := with[i]
		if c == i {
			continue
		}
		x, y := tiles[i/nb].(*kernels.Tile[T]), tiles[c/nb].(*kernels.Tile[T])
		p, q := lo*x.Stride+i%nb, lo*y.Stride+c%nb
		for range hi - lo {
			x.Data[p], y.Data[q] = y.Data[q], x.Data[p]
			p += x.Stride
			q += y.Stride
		}
	}
}
