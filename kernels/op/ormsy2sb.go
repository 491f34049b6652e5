package op

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
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
		// Each part packs V anew, so there are several only for other cores. See docs/internals/measurements.md.
		most := x.Rows // rows of X
		if call.Gang != nil {
			most = 200
		}
		if x.Rows == 0 {
			return nil
		}
		parts := (x.Rows + most - 1) / most
		high := (x.Rows + parts - 1) / parts
		crewOrAlone[T](call)(parts, 2*high*k+by.blas.Work(max(backColumns, k, high)), func(part, _ int, work []T) {
			reflectRows(by.blas, min(high, x.Rows-part*high), x.Cols, x.Data[part*high*x.Stride:], x.Stride, pairs, high*k, work)
		})
		return nil
	}
}

// backColumns is the number of columns of X that are updated by one block reflector and multiplied by the V of the next one
// while they are in the cache.
const backColumns = 384

// reflectRows multiplies the m×n matrix X by pairs of V and F. The first 2·size elements of work are for products.
func reflectRows[T kernels.Element](r cpu.Routines[T], m, n int, x []T, ldx int, pairs []any, size int, work []T) {
	y, z, work := work[:size], work[size:2*size], work[2*size:]
	var before *kernels.Tile[T] // the V whose product with z is to be subtracted
	for len(pairs) > 0 || before != nil {
		var v, f *kernels.Tile[T]
		first := n
		if before != nil {
			first = n - before.Rows
		}
		if len(pairs) > 0 {
			v, f = pairs[0].(*kernels.Tile[T]), pairs[1].(*kernels.Tile[T])
			pairs = pairs[2:]
			first = min(first, n-v.Rows)
			clear(y[:m*v.Cols])
		}
		for ; first < n; first += backColumns {
			last := min(first+backColumns, n)
			if before != nil {
				if lo := max(first, n-before.Rows); lo < last {
					r.Gemm(blas.NoTrans, blas.Trans, m, last-lo, before.Cols, -1, z, before.Cols, atEnd(before, n, lo), before.Stride, 1, x[lo:], ldx, work)
				}
			}
			if v != nil {
				if lo := max(first, n-v.Rows); lo < last {
					r.Gemm(blas.NoTrans, blas.NoTrans, m, v.Cols, last-lo, 1, x[lo:], ldx, atEnd(v, n, lo), v.Stride, 1, y, v.Cols, work)
				}
			}
		}
		if before = v; v != nil {
			r.Gemm(blas.NoTrans, blas.Trans, m, v.Cols, v.Cols, 1, y, v.Cols, f.Data, f.Stride, 0, z, v.Cols, work)
		}
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
	return 2 * (int64(x.Rows)*int64(columns)*int64(scalar.Size[T]()) + scratchUnit)
}
