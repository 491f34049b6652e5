package op

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Lange is the parameter of op "lange" (LAPACK xLANGE, xLASSQ): the largest magnitude of each
// column of a tile, in all of it (Uplo = All) or in its Uplo triangle,
//
//	s(0, j) = maxᵢ |a(i, j)|,
//
// NaN if an element is NaN. With Squares it is the sum of squares instead,
//
//	s(0, 0)²·s(0, 1) = Σ a(i, j)²,
//
// where s(0, 0) is 1, 2⁶⁰⁰ or 2⁻⁶⁰⁰, or an element of A that is not finite. With Symmetric the
// tile is symmetric and stores its Uplo triangle; the squares are those of the whole tile.
//
// Operands: A (in, m×n), S (out, float64, 1 row, max(n, 2) columns).
type Lange struct {
	Uplo      blas.Uplo `uplo:"all"`
	Symmetric bool
	Squares   bool
}

// Validate returns an error if a field is out of range.
func (p *Lange) Validate() error { return check("lange", p) }

// langeOp defines op "lange".
func langeOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "lange", Work: langeWork[T], NewParams: fresh[Lange]},
		about:  "norm of a tile",
		copies: lange[T],
	}
}

// langeOf returns the operands of op "lange".
func langeOf[T kernels.Element](call *versions.Call) (a *kernels.Tile[T], s *kernels.Tile[float64]) {
	if len(call.Args) != 2 {
		panic(kernels.ErrArgs)
	}
	a, s = arg[T](call, 0), arg[float64](call, 1)
	if s.Rows != 1 || s.Cols != max(a.Cols, 2) {
		panic(kernels.ErrShape)
	}
	return a, s
}

// langeWork returns the elements of A.
func langeWork[T kernels.Element](call *versions.Call) float64 {
	a, _ := langeOf[T](call)
	return float64(a.Rows) * float64(a.Cols)
}

func lange[T kernels.Element](call *versions.Call) error {
	p := params[Lange](call)
	a, s := langeOf[T](call)
	if p.Symmetric && a.Rows != a.Cols {
		panic(kernels.ErrShape)
	}
	tops := s.Row(0)
	clear(tops)
	for i := range a.Rows * min(a.Cols, 1) { // without columns there is no memory
		lo, hi := triangle(p.Uplo, i, a.Cols)
		for j, v := range a.Row(i)[lo:hi] {
			tops[lo+j] = max(tops[lo+j], math.Abs(float64(v)))
		}
	}
	if !p.Squares {
		return nil
	}
	top := 0.0
	for _, v := range tops {
		top = max(top, v)
	}
	clear(tops)
	tops[0], tops[1] = 1, 1
	switch {
	case top-top != 0:
		tops[0] = top
		return nil
	case top >= 0x1p480:
		tops[0] = 0x1p600
	case top < 0x1p-400 && top > 0:
		tops[0] = 0x1p-600
	}
	inverse, sum, diagonal := 1/tops[0], 0.0, 0.0
	for i := range a.Rows * min(a.Cols, 1) {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		row := 0.0
		for _, v := range a.Row(i)[lo:hi] {
			w := float64(v) * inverse
			row += w * w
		}
		sum += row
		if p.Symmetric {
			w := float64(a.At(i, i)) * inverse
			diagonal += w * w
		}
	}
	if p.Symmetric {
		sum = 2*sum - diagonal
	}
	tops[1] = sum
	return nil
}
