package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Recut is the parameter of op "recut": B = the m×n elements from (Row, Col) on of a matrix in
// tiles of other sizes, Across of them in a row:
//
//	A1 │ A2 │ A3       Across = 3
//	───┼────┼───
//	A4 │┌A5─┼──┐A6     Row and Col are counted from
//	───┼┼───┼──┼       the first element of A1
//	A7 ││A8 │ B│A9
//	   │└───┼──┘
//
// Operands, in order: B (out, m×n), the tiles (in) by rows; all tiles of a row have the same
// height, and all of a column the same width. With Uplo = Lower or Upper there are as many rows
// of tiles as columns, and only the tiles of that triangle are operands; B is undefined in the
// others. With Trans, B is n×m, the transpose of these elements.
type Recut struct {
	Across, Row, Col int
	Uplo             blas.Uplo `uplo:"all"`
	Trans            bool
}

// Validate returns an error if a field is out of range.
func (p *Recut) Validate() error { return check("recut", p) }

// recutOp defines op "recut".
func recutOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "recut", Work: elements[T](0), NewParams: fresh[Recut]},
		about:  "copies between tiles of different sizes",
		copies: recut[T],
	}
}

// recut copies the part of each tile that lies in B.
func recut[T kernels.Element](call *versions.Call) error {
	p, b := params[Recut](call), arg[T](call, 0)
	rows, cols := b.Rows, b.Cols
	if p.Trans {
		rows, cols = cols, rows
	}
	tiles := len(call.Args) - 1
	down := 0
	switch across := p.Across; {
	case across < 1:
	case p.Uplo != blas.Lower && p.Uplo != blas.Upper:
		down = tiles / across
	case tiles == across*(across+1)/2:
		down = across
	}
	panicIf(down == 0 || min(p.Row, p.Col) < 0, kernels.ErrShape)
	widths := make([]int, p.Across)  // of the columns of tiles; 0 until a tile of that column is seen
	next, top, right := 1, -p.Row, 0 // the next tile, its first row in B, and where the widest row of tiles ends
	for i := range down {
		lo, hi := triangle(p.Uplo, i, p.Across)
		height, left := arg[T](call, next).Rows, -p.Col
		for j := range p.Across {
			if j >= lo && j < hi {
				a := arg[T](call, next)
				panicIf(a.Rows != height || widths[j] != 0 && a.Cols != widths[j], kernels.ErrShape)
				widths[j] = a.Cols
				from, to := max(left, 0), min(left+a.Cols, cols)
				for r := max(top, 0); r < min(top+height, rows) && from < to; r++ {
					part := a.Row(r - top)[from-left : to-left]
					if !p.Trans {
						copy(b.Row(r)[from:to], part)
						continue
					}
					for c, x := range part {
						b.Set(from+c, r, x)
					}
				}
				next++
			}
			left += widths[j]
		}
		top, right = top+height, max(right, left)
	}
	panicIf(next <= tiles || top < rows || right < cols, kernels.ErrShape)
	return nil
}
