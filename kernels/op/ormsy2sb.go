package op

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Ormsy2sb is the parameter of op "ormsy2sb": the product of rows with the transposes of block reflectors of op "sy2sbqr",
//
//	X = X·(I − V·F·Vᵀ)ᵀ,
//
// for one pair of V and F after the other.
//
// Operands: X (inout), and pairs of V (in) and F (in). The last rows of V meet the last columns of X. V has its ones and
// zeros stored.
type Ormsy2sb struct{}

// ormsy2sbOp defines op "ormsy2sb".
func ormsy2sbOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "ormsy2sb", Work: ormsy2sbWork[T], NewParams: fresh[Ormsy2sb]},
		about: "product with the reflectors of the reduction to a band",
		run:   ormsy2sb[T],
		help:  byWork[T](ormsy2sbWork[T]),
		cuda:  versions.Version{Run: cudaOrmsy2sb[T], Memory: cudaOrmsy2sbMemory[T]},
	}
}

// ormsy2sbOf returns the operands of op "ormsy2sb", and the most columns of a V.
func ormsy2sbOf[T kernels.Element](call *versions.Call) (x *kernels.Tile[T], pairs []any, columns int) {
	params[Ormsy2sb](call)
	x = arg[T](call, 0)
	pairs = call.Args[1:]
	panicIf(len(pairs)%2 != 0, kernels.ErrArgs)
	for i := 0; i < len(pairs); i += 2 {
		v, f := arg[T](call, 1+i), arg[T](call, 2+i)
		panicIf(v.Rows > x.Cols || f.Rows != v.Cols || f.Cols != v.Cols, kernels.ErrShape)
		columns = max(columns, v.Cols)
	}
	return x, pairs, columns
}

// ormsy2sbWork returns 4 operations for each element of X that meets a V, and column of V.
func ormsy2sbWork[T kernels.Element](call *versions.Call) (flops float64) {
	x, pairs, _ := ormsy2sbOf[T](call)
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i].(*kernels.Tile[T])
		flops += 4 * float64(x.Rows) * float64(v.Rows) * float64(v.Cols)
	}
	return flops
}

// ormsy2sb returns the function of a version of op "ormsy2sb".
func ormsy2sb[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		x, pairs, k := ormsy2sbOf[T](call)
		// Each part packs V anew. With 200 rows of 600, 5000 columns and a V of 60, a core had 57 GFLOP/s, with 128 it had 44.
		const most = 200 // rows of X
		if x.Rows == 0 {
			return nil
		}
		parts := (x.Rows + most - 1) / most
		high := (x.Rows + parts - 1) / parts
		crewOrAlone[T](call)(parts, 2*high*k+by.blas.Work(max(x.Cols, high)), func(part, _ int, work []T) {
			m := min(high, x.Rows-part*high)
			y, z, work := work[:high*k], work[high*k:2*high*k], work[2*high*k:]
			for i := 0; i < len(pairs); i += 2 {
				v, f := pairs[i].(*kernels.Tile[T]), pairs[i+1].(*kernels.Tile[T])
				if v.Rows == 0 || v.Cols == 0 {
					continue
				}
				to := x.Data[part*high*x.Stride+x.Cols-v.Rows:]
				by.blas.Gemm(blas.NoTrans, blas.NoTrans, m, v.Cols, v.Rows, 1, to, x.Stride, v.Data, v.Stride, 0, y, k, work)
				by.blas.Gemm(blas.NoTrans, blas.Trans, m, v.Cols, v.Cols, 1, y, k, f.Data, f.Stride, 0, z, k, work)
				by.blas.Gemm(blas.NoTrans, blas.Trans, m, v.Rows, v.Cols, -1, z, k, v.Data, v.Stride, 1, to, x.Stride, work)
			}
		})
		return nil
	}
}

// cudaOrmsy2sb enqueues a call of op "ormsy2sb".
func cudaOrmsy2sb[T kernels.Element](call *versions.Call) error {
	x, pairs, columns := ormsy2sbOf[T](call)
	q := queueOf[T](call)
	if x.Rows == 0 || columns == 0 {
		return nil
	}
	y, err := q.scratch(x.Rows, columns)
	if err != nil {
		return err
	}
	z, err := q.scratch(x.Rows, columns)
	if err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		of := pairs[i].(*kernels.Tile[T])
		m, n, k := x.Rows, of.Rows, of.Cols
		if n == 0 || k == 0 {
			continue
		}
		v, f, to := q.operand(1+i), q.operand(2+i), q.from(q.operand(0), 0, x.Cols-n)
		if err := untilError(
			func() error { return q.gemm(blas.NoTrans, blas.NoTrans, m, k, n, 1, to, v, 0, y) },
			func() error { return q.gemm(blas.NoTrans, blas.Trans, m, k, k, 1, y, f, 0, z) },
			func() error { return q.gemm(blas.NoTrans, blas.Trans, m, n, k, -1, z, v, 1, to) },
		); err != nil {
			return err
		}
	}
	return nil
}

// cudaOrmsy2sbMemory returns the bytes of both products.
func cudaOrmsy2sbMemory[T kernels.Element](call *versions.Call) int64 {
	x, _, columns := ormsy2sbOf[T](call)
	return 2 * (int64(x.Rows)*int64(columns)*int64(unsafe.Sizeof(*new(T))) + scratchUnit)
}
