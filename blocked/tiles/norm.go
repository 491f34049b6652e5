package tiles

import (
	"math"

	"github.com/tessera-la/tessera/internal/abssum"
	"gonum.org/v1/gonum/lapack"
)

// Norm returns a norm of a: the largest magnitude (lapack.MaxAbs, not a matrix
// norm), the largest sum of magnitudes of a column (lapack.MaxColumnSum, the
// 1-norm) or a row (lapack.MaxRowSum, the ∞-norm), or the square root of the
// sum of squares (lapack.Frobenius). Both halves of a symmetric matrix count, and
// only the triangle of a triangular one. The norm of a matrix without elements is
// 0. If there is a NaN, the norm is NaN.
//
// Norms are summed in float64 for both types. The Frobenius norm is scaled if
// squares would overflow or vanish. The other sums are not scaled, and are +Inf if
// they overflow. At most workers goroutines work (0 or less: GOMAXPROCS), and all
// have ended when Norm returns. The result does not depend on workers. Norm panics
// with ErrKind if norm is none of the four.
//
// Reference: LAPACK xLANGE, xLANSY, xLANTR; xLASSQ for the scaling.
func (a *Matrix[T]) Norm(norm lapack.MatrixNorm, workers int) float64 {
	switch norm {
	case lapack.MaxColumnSum:
		return a.stats(workers).Norm
	case lapack.MaxRowSum:
		return a.normInf(workers)
	case lapack.MaxAbs:
		return a.normMax(workers)
	case lapack.Frobenius:
		return a.normFrobenius(workers)
	}
	panic(ErrKind)
}

// ColumnSums returns the sum of the magnitudes of each column of a, added as in [Matrix.Norm] on at
// most workers goroutines.
func (a *Matrix[T]) ColumnSums(workers int) []float64 { return a.stats(workers).Columns }

// UpperColumnSums is ColumnSums of the upper triangle of the leading k×k block of a Full matrix a, such
// as R after Geqrf. It panics as [Matrix.Leading] does.
func (a *Matrix[T]) UpperColumnSums(k, workers int) []float64 {
	r := a.Leading(k, k)
	r.kind = TriUpper
	return r.ColumnSums(workers)
}

// RowSums is ColumnSums for the rows of a.
func (a *Matrix[T]) RowSums(workers int) []float64 {
	if a.kind == SymLower || a.kind == SymUpper {
		return a.ColumnSums(workers)
	}
	// As in tally, each tile has its own place: sums is nt×m.
	sums := make([]float64, a.nt*a.rows)
	a.EachTile(workers, func(i, j int) {
		t := a.here(i*a.nt + j)
		row := sums[j*a.rows+i*a.nb:]
		for r := range t.Rows {
			lo, hi := a.storedColumns(i, j, r)
			row[r] = absSum(t.Row(r)[lo:hi])
		}
	})
	rows := make([]float64, a.rows)
	for j := range a.nt {
		for r, v := range sums[j*a.rows : (j+1)*a.rows] {
			rows[r] += v
		}
	}
	return rows
}

// normInf returns the ∞-norm.
func (a *Matrix[T]) normInf(workers int) float64 {
	norm := 0.0
	for _, sum := range a.RowSums(workers) {
		norm = max(norm, sum)
	}
	return norm
}

func (a *Matrix[T]) normMax(workers int) float64 {
	tops := make([]float64, len(a.tiles))
	a.EachTile(workers, func(i, j int) {
		t := a.here(i*a.nt + j)
		top := uint64(0)
		for r := range t.Rows {
			lo, hi := a.storedColumns(i, j, r)
			top = max(top, abssum.TopBits(t.Row(r)[lo:hi]))
		}
		tops[i*a.nt+j] = math.Float64frombits(top)
	})
	norm := 0.0
	for _, v := range tops {
		norm = max(norm, v)
	}
	return norm
}

func (a *Matrix[T]) normFrobenius(workers int) float64 {
	symmetric := a.kind == SymLower || a.kind == SymUpper
	parts := make([]Squares, len(a.tiles))
	a.EachTile(workers, func(i, j int) {
		t := a.here(i*a.nt + j)
		var s, diag Squares
		for r := range t.Rows {
			lo, hi := a.storedColumns(i, j, r)
			row := t.Row(r)
			if symmetric && i == j {
				diag = diag.Add(sumSquares(row[r : r+1]))
				if lo == r {
					lo++
				} else {
					hi--
				}
			}
			s = s.Add(sumSquares(row[lo:hi]))
		}
		if symmetric {
			s.Sum *= 2
		}
		parts[i*a.nt+j] = s.Add(diag)
	})
	var s Squares
	for _, p := range parts {
		s = s.Add(p)
	}
	return s.Scale * math.Sqrt(s.Sum)
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

// sumSquares returns the sum of the squares of x.
func sumSquares[T Element](x []T) Squares {
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
	// Above the lower bound what vanished in the squares is below rounding.
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
	if top-top != 0 {
		return Squares{top, 1}
	}
	// One of two scales, so that most sums need no rescaling when added.
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

// absSum returns the sum of the magnitudes of x.
func absSum[T Element](x []T) float64 {
	var s0, s1, s2, s3 float64
	j := 0
	for ; j+4 <= len(x); j += 4 {
		v := (*[4]T)(x[j:])
		s0 += math.Abs(float64(v[0]))
		s1 += math.Abs(float64(v[1]))
		s2 += math.Abs(float64(v[2]))
		s3 += math.Abs(float64(v[3]))
	}
	for _, v := range x[j:] {
		s0 += math.Abs(float64(v))
	}
	return s0 + s1 + (s2 + s3)
}
