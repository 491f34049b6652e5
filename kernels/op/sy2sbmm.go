package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Sy2sbmm is the parameter of op "sy2sbmm": what one column of tiles does in a step of the reduction of a symmetric N×N
// matrix A to a band, see [Sy2sbqr]. The matrix is in tiles of NB×NB, of which the upper triangle is stored, and only rows
// and columns from First on count. In one pass over the tiles of the column, the op updates A by the panel before, adds
// what the column contributes to the product with the next panel, and copies the rows of the panel after that:
//
//	A −= V'·W'ᵀ + W'·V'ᵀ        unless Old is false
//	Y += A·V                    the elements of the column and their mirror images; Clear begins with Y = 0
//	R  = A(First : First+Rows)  the part in this column, with the mirror images of the tile on the diagonal
//
// With Begin, the op only mirrors the upper triangle of the tile on the diagonal, and copies R.
//
// Operands: the tiles of column Column from the row of First to the diagonal (inout); R (out, Rows or more rows, as wide
// as the tiles), if Rows > 0; unless Begin is set, Y (inout) and V (in), with as many columns as V has or more; if Old is
// set, V' and W' (in), likewise. The last rows of Y, V, V' and W' are the last ones of A.
type Sy2sbmm struct {
	N, NB, Column, First, Rows int
	Begin, Clear, Old          bool
}

// Validate returns an error if a field is out of range.
func (p *Sy2sbmm) Validate() error { return check("sy2sbmm", p) }

// sy2sbmmOp defines op "sy2sbmm".
func sy2sbmmOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:    versions.Op{Name: "sy2sbmm", Work: sy2sbmmWork[T], NewParams: fresh[Sy2sbmm]},
		about: "reduction to a band: update and product of a column",
		run:   sy2sbmm[T],
		help:  byWork[T](sy2sbmmWork[T]),
		cuda:  versions.Version{Run: cudaSy2sbmm[T]},
	}
}

// bandColumn is the operands of a call of op "sy2sbmm".
type bandColumn[T kernels.Element] struct {
	*Sy2sbmm
	top                   int // the row of the first tile, in tiles
	lo, hi                int // columns of A that count
	tiles                 []any
	r, y, v, vOld, wOld   *kernels.Tile[T] // nil if there is none
	columns, columnsOfOld int              // of V and V'
}

// sy2sbmmOf returns the operands of op "sy2sbmm".
func sy2sbmmOf[T kernels.Element](call *versions.Call) (c bandColumn[T]) {
	c.Sy2sbmm = params[Sy2sbmm](call)
	c.top, c.lo, c.hi = c.First/max(c.NB, 1), max(c.First, c.Column*c.NB), min((c.Column+1)*c.NB, c.N)
	count := c.Column - c.top + 1
	panicIf(c.NB < 1 || c.lo >= c.hi || count > len(call.Args) || c.First+c.Rows > min((c.top+1)*c.NB, c.N), kernels.ErrShape)
	c.tiles = call.Args[:count]
	next := count
	take := func(rows int) *kernels.Tile[T] {
		t := arg[T](call, next)
		next++
		panicIf(t.Rows < rows, kernels.ErrShape)
		return t
	}
	for i := range c.tiles {
		t, at := arg[T](call, i), (c.top+i)*c.NB
		panicIf(t.Rows != min(c.NB, c.N-at) || t.Cols != c.hi-c.Column*c.NB, kernels.ErrShape)
	}
	if c.Rows > 0 {
		if c.r = take(c.Rows); c.r.Cols != c.hi-c.Column*c.NB {
			panic(kernels.ErrShape)
		}
	}
	rest := c.N - c.First
	if !c.Begin {
		c.y, c.v = take(rest), take(rest)
		if c.columns = c.v.Cols; c.y.Cols < c.columns {
			panic(kernels.ErrShape)
		}
	}
	if c.Old {
		c.vOld, c.wOld = take(rest), take(rest)
		if c.columnsOfOld = c.vOld.Cols; c.wOld.Cols < c.columnsOfOld {
			panic(kernels.ErrShape)
		}
	}
	panicIf(next != len(call.Args), kernels.ErrArgs)
	return c
}

// sy2sbmmWork returns 4 operations for each element of the column and column of V, for those above the diagonal, and as
// many for V'.
func sy2sbmmWork[T kernels.Element](call *versions.Call) float64 {
	c := sy2sbmmOf[T](call)
	wide := float64(c.hi - c.lo)
	elements := float64(c.lo-c.First)*wide + wide*wide/2
	return 4 * elements * float64(c.columns+c.columnsOfOld)
}

// atEnd returns the elements of t from the row on that is row i of a matrix of n rows. The last rows of both are the same.
func atEnd[T kernels.Element](t *kernels.Tile[T], n, i int) []T {
	return t.Data[(t.Rows-n+i)*t.Stride:]
}

// sy2sbmm returns the function of a version of op "sy2sbmm".
func sy2sbmm[T kernels.Element](by implementation[T]) func(*versions.Call) error {
	return func(call *versions.Call) error {
		c := sy2sbmmOf[T](call)
		wide := c.hi - c.lo
		if c.Begin {
			t := arg[T](call, len(c.tiles)-1)
			for i := range t.Rows {
				for j := range i {
					t.Set(i, j, t.At(j, i))
				}
			}
		} else if c.Clear {
			for i := c.First; i < c.N; i++ {
				clear(atEnd(c.y, c.N, i)[:c.columns])
			}
		}
		// What a tile above the diagonal contributes to the rows of Y of this column, since other tiles do as well.
		var sums []T
		if !c.Begin {
			sums = versions.Scratch[T](call.Work, len(c.tiles)*wide*c.columns)
		}
		crewOrAlone[T](call)(len(c.tiles), by.blas.Work(max(c.NB, c.columns, c.columnsOfOld)), func(part, _ int, work []T) {
			c.tile(by.blas, part, sums, work)
		})
		if !c.Begin {
			for part := range len(c.tiles) - 1 {
				for i := range wide {
					y := atEnd(c.y, c.N, c.lo+i)[:c.columns]
					for l, x := range sums[(part*wide+i)*c.columns:][:c.columns] {
						y[l] += x
					}
				}
			}
		}
		if c.Rows > 0 {
			t := arg[T](call, 0)
			for i := range c.Rows {
				copy(c.r.Row(i)[c.lo-c.Column*c.NB:], t.Row(c.First - c.top*c.NB + i)[c.lo-c.Column*c.NB:])
			}
		}
		return nil
	}
}

// tile updates a tile and multiplies with it.
func (c *bandColumn[T]) tile(r cpu.Routines[T], part int, sums, work []T) {
	if c.Begin {
		return
	}
	i := c.top + part
	t := c.tiles[part].(*kernels.Tile[T])
	lo := max(c.First, i*c.NB)
	m, n := i*c.NB+t.Rows-lo, c.hi-c.lo
	a := t.Data[(lo-i*c.NB)*t.Stride+c.lo-c.Column*c.NB:]
	if k := c.columnsOfOld; c.Old && k > 0 {
		v, w := c.vOld, c.wOld
		r.Gemm(blas.NoTrans, blas.Trans, m, n, k, -1, atEnd(v, c.N, lo), v.Stride, atEnd(w, c.N, c.lo), w.Stride, 1, a, t.Stride, work)
		r.Gemm(blas.NoTrans, blas.Trans, m, n, k, -1, atEnd(w, c.N, lo), w.Stride, atEnd(v, c.N, c.lo), v.Stride, 1, a, t.Stride, work)
	}
	k, v, y := c.columns, c.v, c.y
	if k == 0 {
		return
	}
	r.Gemm(blas.NoTrans, blas.NoTrans, m, k, n, 1, a, t.Stride, atEnd(v, c.N, c.lo), v.Stride, 1, atEnd(y, c.N, lo), y.Stride, work)
	if i < c.Column {
		r.Gemm(blas.Trans, blas.NoTrans, n, k, m, 1, a, t.Stride, atEnd(v, c.N, lo), v.Stride, 0, sums[part*n*k:], k, work)
	}
}

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
