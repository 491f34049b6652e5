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
// where s(0, 0) is 0, 1, 2⁶⁰⁰, 2⁻⁶⁰⁰, infinite or NaN. With Symmetric the
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
		Op:     versions.Op{Name: "lange", Work: elements[T](0), NewParams: fresh[Lange]},
		about:  "norm of a tile",
		copies: lange[T],
	}
}

// langeOf returns the operands of op "lange".
func langeOf[T kernels.Element](call *versions.Call) (a *kernels.Tile[T], s *kernels.Tile[float64]) {
	panicIf(len(call.Args) != 2, kernels.ErrArgs)
	a, s = arg[T](call, 0), arg[float64](call, 1)
	panicIf(s.Rows != 1 || s.Cols != max(a.Cols, 2), kernels.ErrShape)
	return a, s
}

// lange is the function of the version of op "lange".
func lange[T kernels.Element](call *versions.Call) error {
	p := params[Lange](call)
	a, s := langeOf[T](call)
	panicIf(p.Symmetric && a.Rows != a.Cols, kernels.ErrShape)
	Measure(p, a, s)
	return nil
}

// Measure computes op "lange". The caller has checked the shapes of the operands.
func Measure[T kernels.Element](p *Lange, a *kernels.Tile[T], s *kernels.Tile[float64]) {
	tops := s.Row(0)
	clear(tops)
	if p.Squares {
		q := sumTile(p, a)
		if math.IsNaN(q.Sum) {
			q.Scale = q.Sum
		}
		tops[0], tops[1] = q.Scale, q.Sum
		return
	}
	for i := range a.Rows * min(a.Cols, 1) { // without columns there is no memory
		lo, hi := triangle(p.Uplo, i, a.Cols)
		top := tops[lo:hi]
		for j, v := range a.Row(i)[lo:hi] {
			top[j] = max(top[j], math.Abs(float64(v)))
		}
	}
}

// Squares is the sum of squares Scale²·Sum. Its zero value is 0. Scale or Sum is
// NaN if a summand is NaN. Scale is +Inf if a summand is infinite and none is NaN.
type Squares struct{ Scale, Sum float64 }

// Add returns p + q. Unequal scales differ by a power of two, so nothing is
// rounded but the sum.
func (p Squares) Add(q Squares) Squares {
	if p.Sum == 0 {
		return q
	}
	if q.Sum == 0 {
		return p
	}
	if p.Scale == q.Scale {
		return Squares{p.Scale, p.Sum + q.Sum}
	}
	if p.Scale < q.Scale {
		p, q = q, p
	}
	ratio := q.Scale / p.Scale
	return Squares{p.Scale, p.Sum + q.Sum*ratio*ratio}
}

// sumTile returns the sum of squares that p asks for.
func sumTile[T kernels.Element](p *Lange, a *kernels.Tile[T]) Squares {
	var s, diagonal Squares
	for i := range a.Rows * min(a.Cols, 1) {
		lo, hi := triangle(p.Uplo, i, a.Cols)
		row := a.Row(i)
		if p.Symmetric {
			diagonal = diagonal.Add(sumSquares(row[i : i+1]))
			if lo == i {
				lo++
			} else {
				hi--
			}
		}
		s = s.Add(sumSquares(row[lo:hi]))
	}
	if p.Symmetric {
		s.Sum *= 2
	}
	return s.Add(diagonal)
}

// sumSquares returns the sum of the squares of x.
func sumSquares[T kernels.Element](x []T) Squares {
	var s0, s1, s2, s3 float64
	j := 0
	for ; j+4 <= len(x); j += 4 {
		v := (*[4]T)(x[j:])
		s0 += float64(v[0]) * float64(v[0])
		s1 += float64(v[1]) * float64(v[1])
		s2 += float64(v[2]) * float64(v[2])
		s3 += float64(v[3]) * float64(v[3])
	}
	for _, v := range x[j:] {
		s0 += float64(v) * float64(v)
	}
	sum := s0 + s1 + (s2 + s3)
	// Between these bounds no square has overflowed, and squares that vanished are less than rounding
	// errors in the sum.
	if sum > 0x1p-900 && sum < 0x1p1000 {
		return Squares{1, sum}
	}
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(float64(v)))
	}
	if top == 0 {
		return Squares{}
	}
	if top-top != 0 { // infinite or NaN
		return Squares{top, 1}
	}
	// There are only two scales, so that Add seldom has to rescale a sum.
	scale := 0x1p600
	if top < 1 {
		scale = 0x1p-600
	}
	sum = 0
	for _, v := range x {
		w := float64(v) / scale
		sum += w * w
	}
	return Squares{scale, sum}
}
