package op

import (
	"math"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cpu"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Asum is the parameter of op "asum" (PLASMA's core_asum): sums of the magnitudes in a tile (Uplo =
// All) or in its Uplo triangle,
//
//	s(0, j) = Σᵢ |a(i, j)|,  s(1, i) = Σⱼ |a(i, j)|,  s(2, 0) = max |a(i, j)|.
//
// With Symmetric the tile is symmetric and stores its Uplo triangle; both sums are those of the
// whole tile. A NaN or an infinity makes each sum that includes it NaN or infinite; the largest
// magnitude is then NaN or infinite. Sums are in float64.
//
// Operands: A (in, m×n), S (out, float64, 3 rows, max(m, n) columns or more; the rest is 0).
type Asum struct {
	Uplo      blas.Uplo `uplo:"all"`
	Symmetric bool
}

// Validate returns an error if a field is out of range.
func (p *Asum) Validate() error { return check("asum", p) }

// asumOp defines op "asum".
func asumOp[T kernels.Element]() definition[T] {
	return definition[T]{
		Op:     versions.Op{Name: "asum", Work: elements[T](0), NewParams: fresh[Asum]},
		about:  "sums of absolute values, for norms",
		copies: asum[T],
	}
}

// asumOf returns the operands of op "asum".
func asumOf[T kernels.Element](call *versions.Call) (a *kernels.Tile[T], s *kernels.Tile[float64]) {
	panicIf(len(call.Args) != 2, kernels.ErrArgs)
	a, s = arg[T](call, 0), arg[float64](call, 1)
	panicIf(s.Rows != 3 || s.Cols < max(a.Rows, a.Cols), kernels.ErrShape)
	return a, s
}

// asum is the function of the version of op "asum".
func asum[T kernels.Element](call *versions.Call) error {
	p := params[Asum](call)
	a, s := asumOf[T](call)
	panicIf(p.Symmetric && a.Rows != a.Cols, kernels.ErrShape)
	for line := range s.Rows {
		clear(s.Row(line))
	}
	AddMagnitudes(p.Uplo, p.Symmetric, a, 0, a.Rows, s)
	if p.Symmetric {
		copy(s.Row(1), s.Row(0))
	}
	for _, sum := range s.Row(0) {
		if math.IsNaN(sum) {
			s.Set(2, 0, sum)
		}
	}
	return nil
}

// AddMagnitudes adds rows first to end−1 of A to the sums S of op "asum", which are 0 before the
// first row. first is a multiple of 4, as is end unless it is the last row; then S does not depend on
// how the rows are divided. If symmetric, the sums of columns are those of the whole tile, and the
// sums of rows stay as they are. If there is a NaN, the largest magnitude is undefined.
func AddMagnitudes[T kernels.Element](uplo blas.Uplo, symmetric bool, a *kernels.Tile[T], first, end int,
	s *kernels.Tile[float64]) {
	n := a.Cols
	if first >= end || n == 0 {
		return
	}
	columns, rows, top := s.Row(0), s.Row(1), &s.Row(2)[0]
	if symmetric {
		rows = columns // the row of an element is the column of its mirror image
	}
	// Four rows at a time: for triangles a small one on the diagonal, and a rectangle beside it.
	for r := first; r < end; r += 4 {
		next := min(r+4, end)
		lo, hi := 0, n // the rectangle
		switch uplo {
		case blas.Lower:
			hi = min(r, n)
		case blas.Upper:
			lo = min(next, n)
		}
		for i := r; i < next && hi-lo < n; i++ {
			if i < n {
				v := math.Abs(float64(a.Row(i)[i]))
				columns[i] += v
				if !symmetric {
					rows[i] += v
				}
				*top = max(*top, v)
			}
			from, to := hi, min(i, n)
			if uplo == blas.Upper {
				from, to = min(i+1, n), lo
			}
			rows[i] += cpu.AbsOne(a.Row(i)[from:], columns[from:to], top)
		}
		if next < r+4 {
			for i := r; i < next; i++ {
				rows[i] += cpu.AbsOne(a.Row(i)[lo:], columns[lo:hi], top)
			}
			continue
		}
		for i, sum := range cpu.AbsFour(a.Data[r*a.Stride+lo:], a.Stride, columns[lo:hi], top) {
			rows[r+i] += sum
		}
	}
}

// MaxMagnitude returns the largest magnitude in the uplo part of A; NaN if there is a NaN.
func MaxMagnitude[T kernels.Element](uplo blas.Uplo, a *kernels.Tile[T]) float64 {
	top := uint64(0)
	for i := range a.Rows * min(a.Cols, 1) { // without columns there is no memory
		lo, hi := triangle(uplo, i, a.Cols)
		top = max(top, cpu.TopBits(a.Row(i)[lo:hi]))
	}
	return math.Float64frombits(top)
}
