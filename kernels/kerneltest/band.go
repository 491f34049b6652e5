package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// bands are orders and bandwidths: narrow ones, which are factored row by row, and wide ones, of several panels.
var bands = [][3]int{{1, 0, 0}, {2, 1, 1}, {9, 1, 1}, {9, 0, 3}, {9, 3, 0}, {30, 3, 5}, {61, 33, 5}, {90, 40, 60}, {130, 129, 70}}

// band is a band matrix as a tile, whose diagonals from -lower to upper are its columns.
type band[T kernels.Element] struct {
	*kernels.Tile[T]
	lower int
}

// newBand returns an n×n band matrix with room for lower and upper diagonals. Those from -kl to ku are random, and others
// zero. The diagonal is multiplied by by.
func (s *suite[T]) newBand(n, kl, ku, lower, upper int, by float64) band[T] {
	b := band[T]{newTile[T](n, lower+upper+1, 0), lower}
	for i := range n {
		for j := max(0, i-lower); j <= min(n-1, i+upper); j++ {
			v := T(0)
			if i == j {
				v = T(by * (1 + math.Abs(s.rnd.NormFloat64())))
			} else if j-i >= -kl && j-i <= ku {
				v = T(s.rnd.NormFloat64())
			}
			b.Set(i, lower+j-i, v)
		}
	}
	return b
}

// at returns element (i, j).
func (b band[T]) at(i, j int) float64 {
	if c := b.lower + j - i; c >= 0 && c < b.Cols {
		return float64(b.At(i, c))
	}
	return 0
}

// column returns column c of x, in float64.
func column[T kernels.Element](x *kernels.Tile[T], c int) []float64 {
	y := make([]float64, x.Rows)
	for i := range y {
		y[i] = float64(x.At(i, c))
	}
	return y
}

// mulUpper overwrites y with U·y, or Uᵀ·y if trans, for the upper triangle of b, and mulUnit with its product by columns
// j to j+jb−1 of the unit lower triangle, in rows to j+m−1.
func (b band[T]) mulUpper(trans bool, y []float64) {
	n := b.Rows
	x := append([]float64(nil), y...)
	clear(y)
	for i := range n {
		for j := i; j < min(n, i+b.Cols-b.lower); j++ {
			if trans {
				y[j] += b.at(i, j) * x[i]
			} else {
				y[i] += b.at(i, j) * x[j]
			}
		}
	}
}

func (b band[T]) mulUnit(trans bool, j, jb, m int, y []float64) {
	x := append([]float64(nil), y...)
	for r := 1; r < m; r++ {
		for c := range min(r, jb) {
			if l := b.at(j+r, j+c); trans {
				y[j+c] += l * x[j+r]
			} else {
				y[j+r] += l * x[j+c]
			}
		}
	}
}

// mulFactors overwrites y with op(A)·y for the factors in b.
func (b band[T]) mulFactors(trans bool, nb, kl int, swaps []int, y []float64) {
	n := b.Rows
	panel := func(j int) {
		jb := min(nb, n-j)
		m := min(jb+kl, n-j)
		exchange := func(i int) { y[j+i], y[swaps[j+i]] = y[swaps[j+i]], y[j+i] }
		if trans {
			for i := range jb {
				exchange(i)
			}
			b.mulUnit(true, j, jb, m, y)
			return
		}
		b.mulUnit(false, j, jb, m, y)
		for i := jb - 1; i >= 0; i-- {
			exchange(i)
		}
	}
	if trans {
		for j := 0; j < n; j += nb {
			panel(j)
		}
		b.mulUpper(true, y)
		return
	}
	b.mulUpper(false, y)
	for j := (n - 1) / nb * nb; j >= 0; j -= nb {
		panel(j)
	}
}

// judge fails t unless got is want, but for errors of rounding as in sums of that length.
func judge[T kernels.Element](t *testing.T, what string, got, want []float64, length int) {
	t.Helper()
	worst, top := 0.0, 0.0
	for i, v := range want {
		worst, top = max(worst, math.Abs(got[i]-v)), max(top, math.Abs(v))
		if got[i] != got[i] {
			worst = math.Inf(1)
		}
	}
	if !(worst <= 30*float64(length)*eps[T]()*max(top, math.SmallestNonzeroFloat64)) {
		t.Errorf("%s: error %.3g of %.3g", what, worst, top)
	}
}

// Pbtrf judges by UᵀU.
func (s *suite[T]) Pbtrf(t *testing.T) {
	for _, c := range bands {
		n, k := c[0], min(c[2], c[0]-1)
		p := &op.Pbtrf{K: k}
		a := s.newBand(n, 0, k, 0, p.Room(), float64(3*k+3))
		was := clone(a.Tile)
		s.must(t, p, a.Tile)
		before := band[T]{was, 0}
		untouched(t, "pbtrf: A", a.Tile, was, func(i, j int) bool { return j <= k && i+j < n })
		for range 2 {
			y := make([]float64, n)
			for i := range y {
				y[i] = s.rnd.NormFloat64()
			}
			want := append([]float64(nil), y...)
			before.mulUpper(false, want)
			below := append([]float64(nil), y...)
			before.mulUpper(true, below)
			for i := range want {
				want[i] += below[i] - before.at(i, i)*y[i]
			}
			a.mulUpper(false, y)
			a.mulUpper(true, y)
			judge[T](t, "pbtrf", y, want, k+3)
		}
		a = s.newBand(n, 0, k, 0, p.Room(), float64(3*k+3))
		a.Set(n/2, 0, -1)
		if err, ok := s.run(p, a.Tile).(*kernels.NotPositiveDefiniteError); !ok || err.Minor != n/2+1 {
			t.Errorf("n %d, k %d: minor %d is not positive, got %v", n, k, n/2+1, err)
		}
	}
	p := &op.Pbtrf{K: 2}
	s.work(t, 54, p, s.newBand(6, 0, 2, 0, p.Room(), 1).Tile)
}

// Pbtrs judges by the product of a random factor and the solution.
func (s *suite[T]) Pbtrs(t *testing.T) {
	for _, c := range bands {
		n, k := c[0], min(c[2], c[0]-1)
		u := s.newBand(n, 0, k, 0, (&op.Pbtrf{K: k}).Room(), float64(2*k+2))
		factor := clone(u.Tile)
		for _, nrhs := range []int{0, 1, 3, 18} {
			x := s.random(n, nrhs, 1)
			was := clone(x)
			s.must(t, &op.Pbtrs{K: k}, u.Tile, x)
			untouched(t, "pbtrs: A", u.Tile, factor, nil)
			untouched(t, "pbtrs: B", x, was, func(int, int) bool { return true })
			for r := range nrhs {
				y := column(x, r)
				u.mulUpper(false, y)
				u.mulUpper(true, y)
				judge[T](t, "pbtrs", y, column(was, r), n+3)
			}
		}
	}
	u := s.newBand(6, 0, 2, 0, (&op.Pbtrf{K: 2}).Room(), 9)
	s.work(t, 120, &op.Pbtrs{K: 2}, u.Tile, s.random(6, 2, 0))
}

// Gbtrf judges by the product of the factors.
func (s *suite[T]) Gbtrf(t *testing.T) {
	for _, c := range bands {
		n, kl, ku := c[0], c[1], c[2]
		p := &op.Gbtrf{KL: kl, KU: ku}
		lower, upper := p.Room()
		for _, diagonal := range []float64{0.25, 1, float64(kl + ku + 1)} {
			a := s.newBand(n, kl, ku, lower, upper, diagonal)
			before := band[T]{clone(a.Tile), lower}
			v := new(kernels.Pivots)
			s.must(t, p, a.Tile, v)
			if v.Info != 0 {
				t.Errorf("n %d, kl %d, ku %d: zero pivot %d", n, kl, ku, v.Info)
			}
			for _, trans := range []bool{false, true} {
				y, want := make([]float64, n), make([]float64, n)
				for i := range y {
					y[i] = s.rnd.NormFloat64()
				}
				for i := range n {
					for j := max(0, i-kl); j <= min(n-1, i+ku); j++ {
						if trans {
							want[j] += before.at(i, j) * y[i]
						} else {
							want[i] += before.at(i, j) * y[j]
						}
					}
				}
				a.mulFactors(trans, lower-kl+1, kl, v.Rows, y)
				judge[T](t, "gbtrf", y, want, n+kl+3)
			}
		}
		a := s.newBand(n, kl, ku, lower, upper, 1)
		for i := max(0, n/2-ku); i <= min(n-1, n/2+kl); i++ { // column n/2
			a.Set(i, lower+n/2-i, 0)
		}
		v := new(kernels.Pivots)
		s.must(t, p, a.Tile, v)
		if v.Info != n/2+1 {
			t.Errorf("n %d, kl %d, ku %d: column %d is zero, got %d", n, kl, ku, n/2+1, v.Info)
		}
	}
	p := &op.Gbtrf{KL: 2, KU: 3}
	lower, upper := p.Room()
	s.work(t, 96, p, s.newBand(6, 2, 3, lower, upper, 1).Tile, new(kernels.Pivots))
}

// Gbtrs judges by the product of random factors and the solution.
func (s *suite[T]) Gbtrs(t *testing.T) {
	for _, c := range bands {
		n, kl, ku := c[0], c[1], c[2]
		lower, upper := (&op.Gbtrf{KL: kl, KU: ku}).Room()
		nb := lower - kl + 1
		a := s.newBand(n, 0, kl+ku, lower, upper, float64(kl+ku+2))
		v := &kernels.Pivots{Rows: make([]int, n)}
		for j := 0; j < n; j += nb {
			jb := min(nb, n-j)
			m := min(jb+kl, n-j)
			for i := range jb {
				v.Rows[j+i] = j + i + s.rnd.IntN(m-i)
				for r := i + 1; r < m; r++ {
					a.Set(j+r, lower+i-r, T(s.rnd.Float64()-0.5)/T(kl+1))
				}
			}
		}
		factor := clone(a.Tile)
		for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, nrhs := range []int{0, 1, 3, 18} {
				x := s.random(n, nrhs, 1)
				was := clone(x)
				s.must(t, &op.Gbtrs{KL: kl, KU: ku, Trans: trans}, a.Tile, v, x)
				untouched(t, "gbtrs: A", a.Tile, factor, nil)
				untouched(t, "gbtrs: B", x, was, func(int, int) bool { return true })
				for r := range nrhs {
					y := column(x, r)
					a.mulFactors(trans == blas.Trans, nb, kl, v.Rows, y)
					judge[T](t, "gbtrs", y, column(was, r), n+kl+3)
				}
			}
		}
	}
	lower, upper := (&op.Gbtrf{KL: 1, KU: 1}).Room()
	v := &kernels.Pivots{Rows: []int{0, 1, 2, 3}}
	s.work(t, 48, &op.Gbtrs{KL: 1, KU: 1, Trans: blas.NoTrans}, s.newBand(4, 1, 1, lower, upper, 5).Tile, v, s.random(4, 2, 0))
}
