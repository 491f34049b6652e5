package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// params returns the parameter of call as *P.
func params[P any](call *versions.Call) *P {
	p, ok := call.Params.(*P)
	if !ok {
		panic(kernels.ErrParams)
	}
	return p
}

// args returns the first and the last operand of call, which must have n.
func args[T kernels.Element](call *versions.Call, n int) (first, last *kernels.Tile[T]) {
	if len(call.Args) != n {
		panic(kernels.ErrArgs)
	}
	return arg[T](call, 0), arg[T](call, n-1)
}

func arg[T kernels.Element](call *versions.Call, i int) *kernels.Tile[T] {
	return operand[*kernels.Tile[T]](call, i)
}

// operand returns operand i of call, which must be there and a V.
func operand[V any](call *versions.Call, i int) V {
	if i < 0 || i >= len(call.Args) {
		panic(kernels.ErrArgs)
	}
	v, ok := call.Args[i].(V)
	if !ok {
		panic(kernels.ErrArgs)
	}
	return v
}

// along returns the order of a square factor on that side of a matrix, and the other
// dimension of that.
func along(side blas.Side, rows, cols int) (order, others int) {
	if side == blas.Right {
		return cols, rows
	}
	return rows, cols
}

// dims returns the shape of op(t).
func dims[T kernels.Element](t *kernels.Tile[T], trans blas.Transpose) (r, c int) {
	if trans == blas.NoTrans {
		return t.Rows, t.Cols
	}
	return t.Cols, t.Rows
}

// below returns t from a row on.
func below[T kernels.Element](t *kernels.Tile[T], row int) kernels.Tile[T] {
	if uint(row) > uint(t.Rows) {
		panic(kernels.ErrShape)
	}
	return kernels.Tile[T]{Rows: t.Rows - row, Cols: t.Cols, Stride: t.Stride, Data: t.Data[min(row*t.Stride, len(t.Data)):]}
}

// beside returns t from a column on.
func beside[T kernels.Element](t *kernels.Tile[T], col int) kernels.Tile[T] {
	if uint(col) > uint(t.Cols) {
		panic(kernels.ErrShape)
	}
	return kernels.Tile[T]{Rows: t.Rows, Cols: t.Cols - col, Stride: t.Stride, Data: t.Data[min(col, len(t.Data)):]}
}

// triangle returns the columns of row i, of n, that belong to the uplo part.
func triangle(uplo blas.Uplo, i, n int) (lo, hi int) {
	switch uplo {
	case blas.Lower:
		return 0, min(i+1, n)
	case blas.Upper:
		return min(i, n), n
	}
	return 0, n
}

// checkT panics unless t holds the triangles of k reflectors in blocks of ib.
func checkT[T kernels.Element](t *kernels.Tile[T], ib, k int) {
	if t.Rows < min(ib, k) || t.Cols < k {
		panic(kernels.ErrShape)
	}
}

// thin reports whether one of the operands has at most eight rows or columns. On one
// core of a Xeon (model 167) a product of 512×512 by 512×1 then took 32 µs, one of 64×64
// by 64×64 with the same work 6, and of the kernels that were measured now on one
// and now on the other the slower one was taken.
func thin[T kernels.Element](call *versions.Call) bool {
	for _, a := range call.Args {
		if t, ok := a.(*kernels.Tile[T]); ok && min(t.Rows, t.Cols) <= 8 {
			return true
		}
	}
	return false
}

// fresh returns a parameter with every field zero.
func fresh[P any]() any { return new(P) }
