package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/tridiag"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// panicIf panics with err if a call cannot be computed.
func panicIf(wrong bool, err kernels.Error) {
	if wrong {
		panic(err)
	}
}

// params returns the parameter of call as *P. It panics with ErrParams if it is of another type.
func params[P any](call *versions.Call) *P {
	p, ok := call.Params.(*P)
	if !ok {
		panic(kernels.ErrParams)
	}
	return p
}

// args returns the first and the last of the n operands of call. It panics with ErrArgs if their
// number or type is wrong.
func args[T kernels.Element](call *versions.Call, n int) (first, last *kernels.Tile[T]) {
	panicIf(len(call.Args) != n, kernels.ErrArgs)
	return arg[T](call, 0), arg[T](call, n-1)
}

// arg returns operand i of call, a tile.
func arg[T kernels.Element](call *versions.Call, i int) *kernels.Tile[T] {
	return operand[*kernels.Tile[T]](call, i)
}

// operand returns operand i of call as a V. It panics with ErrArgs if it is missing or of another
// type.
func operand[V any](call *versions.Call, i int) V {
	panicIf(i < 0 || i >= len(call.Args), kernels.ErrArgs)
	v, ok := call.Args[i].(V)
	panicIf(!ok, kernels.ErrArgs)
	return v
}

// elements returns the work of an op that does something with each element of operand i: their number.
func elements[T kernels.Element](i int) func(*versions.Call) float64 {
	return func(call *versions.Call) float64 {
		t := arg[T](call, i)
		return float64(t.Rows) * float64(t.Cols)
	}
}

// factorOrder returns the order of a square factor on the given side of a rows×cols matrix, and the
// other dimension of the matrix.
func factorOrder(side blas.Side, rows, cols int) (order, others int) {
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

// fromRow returns the rows of t from row on.
func fromRow[T kernels.Element](t *kernels.Tile[T], row int) kernels.Tile[T] {
	panicIf(uint(row) > uint(t.Rows), kernels.ErrShape)
	return kernels.Tile[T]{Rows: t.Rows - row, Cols: t.Cols, Stride: t.Stride,
		Data: t.Data[min(row*t.Stride, len(t.Data)):]}
}

// fromColumn returns the columns of t from col on.
func fromColumn[T kernels.Element](t *kernels.Tile[T], col int) kernels.Tile[T] {
	panicIf(uint(col) > uint(t.Cols), kernels.ErrShape)
	return kernels.Tile[T]{Rows: t.Rows, Cols: t.Cols - col, Stride: t.Stride, Data: t.Data[min(col, len(t.Data)):]}
}

// triangle returns the columns lo to hi−1 of row i, of n columns, that belong to the uplo part.
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
	panicIf(t.Rows < min(ib, k) || t.Cols < k, kernels.ErrShape)
}

// thinDim is the number of rows or columns up to which an operand is thin.
const thinDim = 8

// thin reports whether an operand of call is thin. The selector keeps the times of thin calls apart:
// on one core of a Xeon (model 167) a product of 512×512 by 512×1 takes 32 µs, and a product of 64×64
// by 64×64 with the same work takes 6 µs.
func thin[T kernels.Element](call *versions.Call) bool {
	for _, a := range call.Args {
		if t, ok := a.(*kernels.Tile[T]); ok && min(t.Rows, t.Cols) <= thinDim {
			return true
		}
	}
	return false
}

// fresh returns a parameter whose fields are zero.
func fresh[P any]() any { return new(P) }

// matrixOf returns the elements of x.
func matrixOf[T kernels.Element](x *kernels.Tile[T]) tridiag.Matrix[T] {
	return tridiag.Matrix[T]{Rows: x.Rows, Cols: x.Cols, Stride: x.Stride, Data: x.Data}
}
