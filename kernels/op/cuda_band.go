package op

import (
	"unsafe"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// cudaSy2sbmm enqueues a call of op "sy2sbmm". Tiles are one after the other, so what they contribute to Y needs no sums of
// its own.
func cudaSy2sbmm[T kernels.Element](call *versions.Call) error {
	c, q := sy2sbmmOf[T](call), queueOf[T](call)
	wide, rest, last := c.hi-c.lo, c.N-c.First, len(c.tiles)-1
	column := c.lo - c.Column*c.NB // the first one that counts, in its tile
	if c.Begin {
		t, n := q.operand(last), c.tiles[last].(*kernels.Tile[T]).Rows
		if err := q.s.CopyUpper(q.typ, n, n, 1, q.rowMajor(t), q.rowMajorT(t), false); err != nil {
			return err
		}
	}
	next := last + 1
	take := func() stored {
		next++
		return q.operand(next - 1)
	}
	// The last rows of an operand are those of A.
	atEnd := func(x stored, t *kernels.Tile[T], i int) stored { return q.from(x, t.Rows-c.N+i, 0) }
	var r, y, v, vOld, wOld stored
	if c.Rows > 0 {
		r = take()
	}
	if !c.Begin {
		y, v = take(), take()
	}
	if c.Old {
		vOld, wOld = take(), take()
	}
	if !c.Begin && c.Clear {
		if err := q.gemm(blas.NoTrans, blas.NoTrans, rest, c.columns, 0, 1, y, y, 0, atEnd(y, c.y, c.First)); err != nil {
			return err
		}
	}
	for part := range c.tiles {
		if c.Begin {
			break
		}
		i := c.top + part
		lo := max(c.First, i*c.NB)
		m := i*c.NB + c.tiles[part].(*kernels.Tile[T]).Rows - lo
		a := q.from(q.operand(part), lo-i*c.NB, column)
		if k := c.columnsOfOld; c.Old && k > 0 {
			v, w := atEnd(vOld, c.vOld, 0), atEnd(wOld, c.wOld, 0)
			if err := untilError(
				func() error {
					return q.gemm(blas.NoTrans, blas.Trans, m, wide, k, -1, q.from(v, lo, 0), q.from(w, c.lo, 0), 1, a)
				},
				func() error {
					return q.gemm(blas.NoTrans, blas.Trans, m, wide, k, -1, q.from(w, lo, 0), q.from(v, c.lo, 0), 1, a)
				},
			); err != nil {
				return err
			}
		}
		k := c.columns
		if k == 0 {
			continue
		}
		if err := q.gemm(blas.NoTrans, blas.NoTrans, m, k, wide, 1, a, atEnd(v, c.v, c.lo), 1, atEnd(y, c.y, lo)); err != nil {
			return err
		}
		if part < last {
			if err := q.gemm(blas.Trans, blas.NoTrans, wide, k, m, 1, a, atEnd(v, c.v, lo), 1, atEnd(y, c.y, c.lo)); err != nil {
				return err
			}
		}
	}
	return q.copy(c.Rows, wide, q.from(q.operand(0), c.First-c.top*c.NB, column), q.from(r, 0, column))
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
