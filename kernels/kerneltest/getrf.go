package kerneltest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	lapack "gonum.org/v1/gonum/lapack/gonum"
)

// panelCase is a call of an op on a panel.
type panelCase[T kernels.Element] struct {
	tiles []*kernels.Tile[T]
	m, n  int
	piv   kernels.Pivots
	info  int // that is expected
}

// stack cuts an m×n panel with elements f(i, j) into tiles: the first has at
// least min(m, n) rows, the others are ragged.
func (s *suite[T]) stack(m, n int, f func(i, j int) float64) *panelCase[T] {
	c := &panelCase[T]{m: m, n: n}
	for top := 0; top < m || top == 0; {
		h := m - top
		switch {
		case top == 0 && s.rnd.IntN(2) == 0:
			h = min(m, n) + s.rnd.IntN(m-min(m, n)+1)
		case top > 0:
			h = s.rnd.IntN(h + 1)
		}
		t := newTile[T](h, n, s.rnd.IntN(4))
		for i, j := range cells(h, n) {
			t.Set(i, j, T(f(top+i, j)))
		}
		s.mark(t, nil)
		c.tiles = append(c.tiles, t)
		top += h
		if m == 0 {
			break
		}
	}
	return c
}

func (c *panelCase[T]) clone() *panelCase[T] {
	d := *c
	d.tiles = nil
	for _, t := range c.tiles {
		d.tiles = append(d.tiles, clone(t))
	}
	return &d
}

// at returns the panel as a function of its indices.
func (c *panelCase[T]) at(i, j int) float64 {
	for _, t := range c.tiles {
		if i < t.Rows {
			return float64(t.At(i, j))
		}
		i -= t.Rows
	}
	panic("no such row")
}

// String describes the shape.
func (c *panelCase[T]) String() string {
	s := fmt.Sprintf("m=%d n=%d tiles", c.m, c.n)
	for _, t := range c.tiles {
		s += fmt.Sprintf(" %d/%d", t.Rows, t.Stride)
	}
	return s
}

// args returns the operands of getrf.
func (c *panelCase[T]) args() []any {
	var args []any
	for _, t := range c.tiles {
		args = append(args, t)
	}
	return append(args, &c.piv)
}

// check runs getrf and checks ‖P·L·U−A‖ / (n·‖A‖·ε) < 30, that no multiplier
// exceeds one, and that nothing else was written.
func (s *suite[T]) check(t *testing.T, c *panelCase[T]) {
	t.Helper()
	a0 := c.clone()
	c.piv = kernels.Pivots{Rows: []int{-7, -7}, Info: -7}
	s.must(t, &op.Getrf{Offset: 100}, c.args()...)
	k := min(c.m, c.n)
	if len(c.piv.Rows) != k {
		t.Fatalf("%v: %d pivots", c, len(c.piv.Rows))
	}
	for i, p := range c.piv.Rows {
		if p < i || p >= c.m {
			t.Fatalf("%v: row %d exchanged with row %d", c, i, p)
		}
	}
	for i := range c.m {
		for j := range min(i, k) {
			if l := c.at(i, j); !(math.Abs(l) <= 1) {
				t.Fatalf("%v: L(%d, %d) = %v", c, i, j, l)
			}
		}
	}
	c.residual(t, a0, c.piv.Rows)
	want := c.info
	if want != 0 {
		want += 100
	}
	if c.piv.Info != want {
		t.Fatalf("%v: info %d, want %d", c, c.piv.Info, want)
	}
}

// residual checks the factors against a0 with its rows exchanged by ipiv.
func (c *panelCase[T]) residual(t *testing.T, a0 *panelCase[T], ipiv []int) {
	t.Helper()
	m, n, k := c.m, c.n, min(c.m, c.n)
	for i := range c.tiles {
		untouched(t, c.String(), c.tiles[i], a0.tiles[i], func(i, j int) bool { return true })
	}
	l := rows(m, k, func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i > j:
			return c.at(i, j)
		}
		return 0
	})
	u := rows(n, k, func(j, i int) float64 {
		if i <= j {
			return c.at(i, j)
		}
		return 0
	})
	perm := permutation(m, ipiv)
	residual := norm1(m, n, func(i, j int) float64 {
		w := min(i+1, j+1, k) // beyond is a zero in one of them
		return a0.at(perm[i], j) - dot2.Dot(0, l[i][:w], u[j][:w])
	})
	ratio(t, c.String(), residual, norm1(m, n, a0.at)*eps[T]()*float64(max(m, n)), 30)
}

// permutation returns the rows of A in their order in Pᵀ·A.
func permutation(m int, ipiv []int) []int {
	perm := make([]int, m)
	for i := range perm {
		perm[i] = i
	}
	for i, p := range ipiv {
		perm[i], perm[p] = perm[p], perm[i]
	}
	return perm
}

// reference compares the pivots and info for the m×n panel f with those of
// gonum's Dgetrf.
func (s *suite[T]) reference(t *testing.T, what string, m, n int, f func(i, j int) float64) {
	t.Helper()
	c := s.stack(m, n, f)
	ipiv, u := referencePivots(c.m, c.n, c.at)
	s.must(t, &op.Getrf{}, c.args()...)
	if !slices.Equal(c.piv.Rows, ipiv) {
		t.Fatalf("%s, %v: pivots\n%v, want\n%v", what, c, c.piv.Rows, ipiv)
	}
	info := slices.Index(u, 0) + 1
	if c.piv.Info != info {
		t.Fatalf("%s, %v: info %d, want %d", what, c, c.piv.Info, info)
	}
}

// referencePivots returns the pivots that gonum's Dgetrf finds, and the
// diagonal of U.
func referencePivots(m, n int, f func(i, j int) float64) (ipiv []int, u []float64) {
	k := min(m, n)
	ipiv, u = make([]int, k), make([]float64, k)
	if k == 0 {
		return ipiv, u
	}
	a := make([]float64, m*n)
	for i, j := range cells(m, n) {
		a[i*n+j] = f(i, j)
	}
	lapack.Implementation{}.Dgetrf(m, n, a, n, ipiv)
	for i := range u {
		u[i] = a[i*n+i]
	}
	return ipiv, u
}

// normal returns a matrix of normal variates times scale.
func (s *suite[T]) normal(m, n int, scale float64) func(i, j int) float64 {
	x := rows(m, n, func(i, j int) float64 { return scale * s.rnd.NormFloat64() })
	return func(i, j int) float64 { return x[i][j] }
}

// exact returns a matrix of rank at most min(m/2, n) of which every step of the
// factorization is exact in any order: pivots are powers of two, multipliers 0,
// ½ and 1. Those of 1 are ties that the pivot wins by lying above, while often
// not on the diagonal.
func (s *suite[T]) exact(m, n int) func(i, j int) float64 {
	k := min(m/2, n, 20)
	l := rows(m, k, func(i, j int) float64 {
		switch {
		case i == j:
			return 1
		case i < j || i >= k && i < 2*k:
			return 0
		case i < k:
			return float64(s.rnd.IntN(3)-1) / 2
		}
		return float64(s.rnd.IntN(5)-2) / 2
	})
	for i := range k {
		if s.rnd.IntN(2) == 0 {
			l[i], l[k+i] = l[k+i], l[i]
		}
	}
	u := rows(k, n, func(i, j int) float64 {
		switch {
		case i == j:
			return math.Ldexp(1, s.rnd.IntN(3))
		case i > j:
			return 0
		}
		return float64(s.rnd.IntN(9) - 4)
	})
	return func(i, j int) float64 {
		s := 0.0
		for p := range k {
			s += l[i][p] * u[p][j]
		}
		return s
	}
}

// twins returns a matrix in which rows occur twice, or with their sign changed.
// Half of its rows are different from all others.
func (s *suite[T]) twins(m, n int) func(i, j int) float64 {
	f := s.normal(m, n, 1)
	of := make([]int, m)
	for i := range of {
		of[i] = s.rnd.IntN(m)
	}
	return func(i, j int) float64 {
		if i%2 == 1 {
			return float64(float32(f(of[i]/2*2, j))) * float64(1-i/2%2*2)
		}
		return float64(float32(f(i, j)))
	}
}

// panelSizes are the shapes of panels that the suites go through.
func panelSizes(f func(m, n int)) {
	for i, m := range sizes {
		for j := i % 3; j < len(sizes); j += 3 { // squares among them
			f(m, sizes[j])
		}
	}
	for i, m := range large {
		f(m, [...]int{1, 15, 64, 129}[i%4])
	}
	f(64, 257)
	f(700, 48)
}

func (s *suite[T]) Getrf(t *testing.T) {
	double := s.op.Type == "f64"
	t.Run("sizes", func(t *testing.T) {
		panelSizes(func(m, n int) { s.check(t, s.stack(m, n, s.normal(m, n, 1))) })
	})
	t.Run("pivots", func(t *testing.T) {
		panelSizes(func(m, n int) {
			if double || m*n < 1000 {
				f := s.normal(m, n, 1)
				s.reference(t, "normal", m, n, func(i, j int) float64 { return float64(T(f(i, j))) })
			}
		})
	})
	t.Run("ties", func(t *testing.T) {
		panelSizes(func(m, n int) {
			s.reference(t, "exact", m, n, s.exact(m, n))
			// In a few columns equal rows stay so; products may treat them
			// differently, where they lie in different blocks.
			if n <= 7 && 2*n <= m {
				s.reference(t, "twins", m, n, s.twins(m, n))
			}
			s.reference(t, "ones", m, n, func(i, j int) float64 { return 1 })
			s.reference(t, "zeros", m, n, func(i, j int) float64 { return 0 })
		})
	})
	t.Run("zero columns", func(t *testing.T) {
		for _, m := range sizes {
			n := sizes[s.rnd.IntN(len(sizes))]
			if n == 0 || m == 0 {
				continue
			}
			f, zero := s.normal(m, n, 1), s.rnd.IntN(n)
			c := s.stack(m, n, func(i, j int) float64 {
				if j == zero {
					return 0
				}
				return f(i, j)
			})
			if zero < min(m, n) {
				c.info = zero + 1
			}
			s.check(t, c)
		}
	})
	t.Run("scales", func(t *testing.T) {
		big := extreme[T]() * extreme[T]() / 0x1p20
		for _, n := range [...]int{5, 33, 70} {
			// Below 1/big² a reciprocal overflows.
			for _, scale := range [...]float64{big, 1 / big, 1 / big / 0x1p40} {
				s.scaled(t, s.stack(n+10, n, func(i, j int) float64 { return 0 }), scale)
			}
		}
	})
	t.Run("nonfinite", func(t *testing.T) { s.getrfNonFinite(t) })
	t.Run("repeat", func(t *testing.T) {
		for _, d := range [...]int{7, 33, 131} {
			a := s.stack(d+50, d, s.normal(d+50, d, 1))
			s.checkRepeatable(t, &op.Getrf{}, a.args()...)
		}
	})
	// Column 1: 3 rows and 1 column are left; column 2: 2 rows.
	work := s.op.Work(s.call(&op.Getrf{}, newTile[T](3, 2, 0), newTile[T](1, 2, 0), &kernels.Pivots{}))
	if work < 2*3*1 || work > 2*(4*2+3*1) {
		t.Errorf("work %v", work)
	}
}

// scaled replaces the panel by one of normal variates of size scale and
// checks it.
func (s *suite[T]) scaled(t *testing.T, c *panelCase[T], scale float64) {
	t.Helper()
	for _, x := range c.tiles {
		s.fill(x, scale, nil)
	}
	a0 := c.clone()
	s.must(t, &op.Getrf{}, c.args()...)
	for i := range c.m {
		for j := range min(i, c.n) {
			if l := c.at(i, j); !(math.Abs(l) <= 1) {
				t.Fatalf("%v, scale %v: L(%d, %d) = %v", c, scale, i, j, l)
			}
		}
	}
	if scale*eps[T]() > 1/extreme[T]()/extreme[T]() {
		c.residual(t, a0, c.piv.Rows)
	}
}

// getrfNonFinite checks that with a NaN or an infinity in the last column the
// pivots are the reference's, and that one elsewhere comes to an end.
func (s *suite[T]) getrfNonFinite(t *testing.T) {
	for m, n := range pairs([]int{1, 5, 20, 40, 70}, []int{1, 4, 18, 35}) {
		for _, bad := range [...]float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			f, row := s.normal(m, n, 1), s.rnd.IntN(m)
			at := func(column int) func(i, j int) float64 {
				return func(i, j int) float64 {
					if i == row && j == column {
						return bad
					}
					return float64(T(f(i, j)))
				}
			}
			s.reference(t, fmt.Sprint(bad), m, n, at(n-1))
			c := s.stack(m, n, at(s.rnd.IntN(n)))
			s.must(t, &op.Getrf{}, c.args()...)
			for i, p := range c.piv.Rows {
				if p < i || p >= m {
					t.Fatalf("%v, %v: row %d exchanged with row %d", bad, c, i, p)
				}
			}
		}
	}
}

func (s *suite[T]) Getrfnp(t *testing.T) {
	p := &op.Getrfnp{Offset: 10}
	dominant := func(m, n int) *panelCase[T] {
		f := s.normal(m, n, 1/math.Sqrt(float64(m+n+1)))
		return s.stack(m, n, func(i, j int) float64 {
			if i == j {
				return 4 + s.rnd.Float64()
			}
			return f(i, j)
		})
	}
	t.Run("sizes", func(t *testing.T) {
		panelSizes(func(m, n int) {
			c := dominant(m, n)
			a0 := c.clone()
			c.piv = kernels.Pivots{Rows: []int{5, 4}, Info: -7}
			s.must(t, p, c.args()...)
			c.residual(t, a0, nil)
			if c.piv.Info != 0 || len(c.piv.Rows) != 0 {
				t.Fatalf("%v: %+v", c, c.piv)
			}
		})
	})
	t.Run("zero pivot", func(t *testing.T) {
		for _, d := range [...]int{3, 17, 40} {
			for z := range d {
				// Row z of L·U is that of a zero pivot.
				f := s.exact(d, d)
				c := s.stack(d, d, func(i, j int) float64 {
					switch {
					case i == z || j == z:
						return 0
					case i == j:
						return 64
					}
					return math.Mod(f(i, j), 2)
				})
				s.must(t, p, c.args()...)
				if c.piv.Info != 10+z+1 {
					t.Fatalf("n=%d: info %d, want %d", d, c.piv.Info, 10+z+1)
				}
			}
		}
	})
	t.Run("repeat", func(t *testing.T) {
		a := dominant(133, 70)
		s.checkRepeatable(t, p, a.args()...)
	})
}
