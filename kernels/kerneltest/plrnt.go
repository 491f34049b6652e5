package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// Plrnt checks that a matrix is the same in any tiles, that it is symmetric if it is to
// be, and that its elements are spread as they should.
func (s *suite[T]) Plrnt(t *testing.T) {
	const n = 40
	for _, symmetric := range []bool{false, true} {
		p := op.Plrnt{Seed: 5, Row: 3, Col: 3, Bump: 7, Symmetric: symmetric}
		whole := newTile[T](n, n, 1)
		s.must(t, &p, whole)
		part := newTile[T](9, 14, 0)
		q := p
		q.Row, q.Col = p.Row+4, p.Col+2
		s.must(t, &q, part)
		for i, j := range cells(part.Rows, part.Cols) {
			if part.At(i, j) != whole.At(4+i, 2+j) {
				t.Fatalf("(%d, %d) is %v in one tile and %v in another", i, j, part.At(i, j), whole.At(4+i, 2+j))
			}
		}
		sum, squares, unlike := 0.0, 0.0, 0
		for i, j := range cells(n, n) {
			x := float64(whole.At(i, j))
			if i == j {
				x -= 7
			}
			if !(x >= -0.5 && x <= 0.5) {
				t.Fatalf("(%d, %d) is %v", i, j, x)
			}
			sum, squares = sum+x, squares+x*x
			if whole.At(i, j) != whole.At(j, i) {
				unlike++
			}
		}
		// Of n² numbers: mean 0 and mean square 1/12, each within five deviations.
		if mean, square := sum/(n*n), squares/(n*n); math.Abs(mean) > 5*0.29/n*math.Sqrt2 || math.Abs(square-1.0/12) > 5*0.075/n*math.Sqrt2 {
			t.Errorf("mean %v, mean square %v", mean, square)
		}
		if symmetric && unlike > 0 || !symmetric && unlike < n*(n-1)-4 {
			t.Errorf("symmetric %t: %d elements differ from their mirror images", symmetric, unlike)
		}
	}
	s.work(t, 6, &op.Plrnt{}, newTile[T](2, 3, 0))
}

func (s *suite[T]) Asum(t *testing.T) {
	eachPart(func(m, n int, uplo blas.Uplo) {
		for _, symmetric := range []bool{false, true} {
			if symmetric && (m != n || uplo == blas.All) {
				continue
			}
			a, got := newTile[T](m, n, 1), newTile[float64](3, max(m, n)+1, 1)
			s.fill(a, 1, nil)
			for r, k := range cells(got.Rows, got.Cols) {
				got.Set(r, k, 7)
			}
			columns, rows, tops := make([]float64, got.Cols), make([]float64, got.Cols), make([]float64, got.Cols)
			for i, j := range cells(m, n) {
				v := math.Abs(float64(a.At(i, j)))
				if symmetric && !inPart(uplo, i, j) {
					v = math.Abs(float64(a.At(j, i)))
				}
				if symmetric || inPart(uplo, i, j) {
					columns[j] += v
					rows[i] += v
					tops[0] = max(tops[0], v)
				}
			}
			s.must(t, &op.Asum{Uplo: uplo, Symmetric: symmetric}, a, got)
			for k := range got.Cols {
				for r, want := range []float64{columns[k], rows[k], tops[k]} {
					if x := got.At(r, k); !(math.Abs(x-want) <= 100*eps[T]()*(1+want)) {
						t.Fatalf("%d×%d, %c, symmetric %t: s(%d, %d) is %v, want %v", m, n, uplo, symmetric, r, k, x, want)
					}
				}
			}
		}
	})
	a, got := newTile[T](3, 3, 0), newTile[float64](3, 3, 0)
	s.fill(a, 1, nil)
	a.Set(1, 2, T(math.NaN()))
	a.Set(2, 0, T(math.Inf(-1)))
	s.must(t, &op.Asum{Uplo: blas.All}, a, got)
	if x := got.Row(0); !math.IsInf(x[0], 1) || math.IsNaN(x[1]) || !math.IsNaN(x[2]) {
		t.Errorf("sums of columns with an infinity and a NaN: %v", x)
	}
	s.work(t, 6, &op.Asum{Uplo: blas.All}, newTile[T](2, 3, 0), newTile[float64](3, 3, 0))
}
