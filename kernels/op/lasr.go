package op

import (
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Lasr is the parameter of op "lasr" (LAPACK xLASR with SIDE = 'R', PIVOT = 'V'): a sequence of
// plane rotations applied to neighbouring columns of a tile,
//
//	A = A·Pᵀ,  P = P(n−2)·…·P(1)·P(0), or P(0)·P(1)·…·P(n−2) if Backward,
//
// where P(j) is the rotation
//
//	⎡  c(j)  s(j)⎤
//	⎣ −s(j)  c(j)⎦
//
// of rows j and j+1. So the implicit QR iteration for a tridiagonal or bidiagonal matrix updates
// the vectors.
//
// Operands: G (in, 2×(n−1): c in row 0, s in row 1; without columns if n is 0), A (inout, m×n).
type Lasr struct {
	Backward bool
}

// lasrOp defines op "lasr".
func lasrOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "lasr", Work: lasrWork[T], NewParams: fresh[Lasr]},
		about:  "a sequence of plane rotations, applied to columns",
		copies: lasr[T],
	}
}

// lasrOf returns the operands of op "lasr".
func lasrOf[T kernels.Element](call *versions.Call) (g, a *kernels.Tile[T]) {
	g, a = args[T](call, 2)
	panicIf(g.Rows != 2 || g.Cols != max(a.Cols-1, 0), kernels.ErrShape)
	return g, a
}

// lasrWork returns 6·m·(n−1).
func lasrWork[T kernels.Element](call *versions.Call) float64 {
	g, a := lasrOf[T](call)
	return 6 * float64(a.Rows) * float64(g.Cols)
}

// lasr is the function of the version of op "lasr". It goes through A by rows, in the order of memory.
func lasr[T kernels.Element](call *versions.Call) error {
	p := params[Lasr](call)
	g, a := lasrOf[T](call)
	c, s := g.Row(0), g.Row(1)
	for i := range a.Rows {
		x := a.Row(i)
		if p.Backward {
			for j := len(c) - 1; j >= 0; j-- {
				x[j], x[j+1] = rotate(c[j], s[j], x[j], x[j+1])
			}
			continue
		}
		for j := range c {
			x[j], x[j+1] = rotate(c[j], s[j], x[j], x[j+1])
		}
	}
	return nil
}

// rotate returns c·x + s·y and c·y − s·x.
func rotate[T kernels.Element](c, s, x, y T) (T, T) { return c*x + s*y, c*y - s*x }
