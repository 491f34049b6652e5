package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// symmetric returns the upper triangle of a random symmetric matrix of order n in tiles of nb×nb, with NaN below the
// diagonal, and the whole matrix.
func (s *suite[T]) symmetric(n, nb int) (tiles map[[2]int]*kernels.Tile[T], whole *kernels.Tile[T]) {
	tiles, whole = map[[2]int]*kernels.Tile[T]{}, newTile[T](n, n, 0)
	for i, j := range cells(n, n) {
		if i <= j {
			x := T(s.rnd.NormFloat64())
			whole.Set(i, j, x)
			whole.Set(j, i, x)
			at := [2]int{i / nb, j / nb}
			if tiles[at] == nil {
				tiles[at] = newTile[T](min(nb, n-i/nb*nb), min(nb, n-j/nb*nb), 1)
			}
			tiles[at].Set(i%nb, j%nb, x)
		}
	}
	return tiles, whole
}

// symmetricSizes are orders, tile sizes, first rows and rows of panels.
var symmetricSizes = [][4]int{{1, 4, 0, 1}, {9, 4, 0, 2}, {9, 4, 2, 2}, {20, 7, 9, 3}, {23, 8, 16, 4}, {90, 40, 12, 5}}

// timesAtEnd returns element (i, j) of X·Yᵀ, for the rows of x and y that are rows i and j of a matrix of n rows.
func timesAtEnd[T kernels.Element](x, y *kernels.Tile[T], n, i, j int) (sum float64) {
	for l := range min(x.Cols, y.Cols) {
		sum += float64(x.At(x.Rows-n+i, l)) * float64(y.At(y.Rows-n+j, l))
	}
	return sum
}

// Sy2sbmm compares the update, the product and the rows with loops over the whole matrix.
func (s *suite[T]) Sy2sbmm(t *testing.T) {
	for _, size := range symmetricSizes {
		n, nb, first, rows := size[0], size[1], size[2], size[3]
		for state := range 4 {
			p := op.Sy2sbmm{N: n, NB: nb, First: first, Rows: rows, Begin: state == 0, Clear: state == 1, Old: state == 3}
			tiles, whole := s.symmetric(n, nb)
			const k, old = 3, 2
			v, y := s.random(n-first, k, 1), s.random(n-first+2, k+1, 0)
			vOld, wOld := s.random(n-first+1, old, 0), s.random(n-first, old+2, 1)
			if p.Old {
				for i := first; i < n; i++ {
					for j := first; j < n; j++ {
						whole.Set(i, j, whole.At(i, j)-T(timesAtEnd(vOld, wOld, n, i, j)+timesAtEnd(wOld, vOld, n, i, j)))
					}
				}
				wOld = narrowed(wOld, old)
			}
			was := clone(y)
			for j := first / nb; j*nb < n; j++ {
				p := p
				p.Column, p.Clear = j, p.Clear && j == first/nb
				var args []any
				for i := first / nb; i <= j; i++ {
					tile := tiles[[2]int{i, j}]
					if state > 0 && i == j { // as op "sy2sbmm" has left it
						for r, c := range cells(tile.Rows, tile.Cols) {
							if r > c {
								tile.Set(r, c, tile.At(c, r))
							}
						}
					}
					args = append(args, tile)
				}
				r := newTile[T](rows+1, min(nb, n-j*nb), 1)
				before := clone(r)
				args = append(args, r)
				if !p.Begin {
					args = append(args, y, v)
				}
				if p.Old {
					args = append(args, vOld, wOld)
				}
				s.must(t, &p, args...)
				lo := max(first-j*nb, 0)
				untouched(t, "sy2sbmm: R", r, before, func(i, c int) bool { return i < rows && c >= lo })
				for i := range rows {
					for c := lo; c < r.Cols; c++ {
						if d := math.Abs(float64(r.At(i, c) - whole.At(first+i, j*nb+c))); !(d <= 100*eps[T]()) {
							t.Fatalf("%v, state %d: R(%d, %d) is %v, want %v", size, state, i, j*nb+c, r.At(i, c), whole.At(first+i, j*nb+c))
						}
					}
				}
			}
			for i := first; i < n && state > 0; i++ {
				for l := range k {
					want := 0.0
					if !p.Clear {
						want = float64(was.At(was.Rows-n+i, l))
					}
					for j := first; j < n; j++ {
						want += float64(whole.At(i, j)) * float64(v.At(j-first, l))
					}
					if got := float64(y.At(y.Rows-n+i, l)); !(math.Abs(got-want) <= 100*float64(n)*eps[T]()) {
						t.Fatalf("%v, state %d: Y(%d, %d) is %v, want %v", size, state, i, l, got, want)
					}
				}
			}
		}
	}
	s.work(t, 4*6*(1+2), &op.Sy2sbmm{N: 5, NB: 3, First: 1, Column: 1, Old: true}, newTile[T](3, 2, 0), newTile[T](2, 2, 0),
		newTile[T](4, 1, 0), newTile[T](4, 1, 0), newTile[T](4, 2, 0), newTile[T](4, 2, 0))
}

// narrowed returns a with only its first columns.
func narrowed[T kernels.Element](a *kernels.Tile[T], cols int) *kernels.Tile[T] {
	b := *a
	b.Cols = cols
	return &b
}

// Sy2sbqr compares W with loops, and checks that the reflectors are orthogonal and take the panel to the band.
func (s *suite[T]) Sy2sbqr(t *testing.T) {
	for _, size := range symmetricSizes {
		for _, b := range []int{size[3], size[3] + 2, size[0] + 1} {
			s.sy2sbqrCase(t, fmt.Sprint(size, b), size[0], size[1], size[2], size[3], b)
		}
	}
	s.work(t, 2*2*4, &op.Sy2sbqr{N: 4, NB: 3, B: 2, Rows: 2}, newTile[T](2, 2, 0), newTile[T](2, 2, 0), newTile[T](2, 4, 0), newTile[T](2, 3, 0), newTile[T](2, 1, 0))
}

// bandPanelCase is a call of op "sy2sbqr" on random operands: the panel P is rows of a symmetric matrix, which the last
// panel's reflectors have still to update.
type bandPanelCase[T kernels.Element] struct {
	what       string
	p          op.Sy2sbqr
	rest       int                // order of the trailing matrix, whose first rows are P
	whole      *kernels.Tile[T]   // the symmetric matrix
	v, f, c    *kernels.Tile[T]   // of the result: P·(I − V·F·Vᵀ) = C
	w          *kernels.Tile[T]   // of the result, for the last panel
	vOld, fOld *kernels.Tile[T]   // reflectors of the last panel …
	ys         []*kernels.Tile[T] // … and A times these, in two parts
	tol        float64
}

// oldReflectors is the number of reflectors of the last panel.
const oldReflectors = 2

func (s *suite[T]) sy2sbqrCase(t *testing.T, what string, n, nb, first, rows, b int) {
	rest, old := n-first, oldReflectors
	c := &bandPanelCase[T]{what: what, p: op.Sy2sbqr{N: n, NB: nb, B: b, First: first, Rows: rows}, rest: rest, tol: 1e3 * float64(n) * eps[T]()}
	_, c.whole = s.symmetric(n, nb)
	var args []any
	c.v, c.f = newTile[T](rest-rows, rows, 1), newTile[T](rows, rows, 1)
	if rows < rest {
		args = append(args, c.v, c.f)
	}
	c.c = newTile[T](rows, b+rows, 1)
	args = append(args, c.c)
	c.w = newTile[T](rest+1, old+1, 0)
	if first > 0 {
		args = append(args, c.w)
	}
	for j := first / nb; j*nb < n; j++ {
		r := newTile[T](rows+1, min(nb, n-j*nb), 0)
		for i, l := range cells(rows, r.Cols) {
			if j*nb+l >= first {
				r.Set(i, l, c.whole.At(first+i, j*nb+l))
			}
		}
		args = append(args, r)
	}
	c.vOld, c.fOld = s.random(rest, old, 1), s.random(old, old, 0)
	c.ys = []*kernels.Tile[T]{s.random(rest, old, 0), s.random(rest+3, old+1, 1)}
	if first > 0 {
		args = append(args, c.vOld, c.fOld, c.ys[0], c.ys[1])
	}
	s.must(t, &c.p, args...)
	if first > 0 {
		c.checkW(t)
		w := narrowed(c.w, old)
		for i := range rows {
			for j := first; j < n; j++ {
				c.whole.Set(first+i, j, c.whole.At(first+i, j)-T(timesAtEnd(c.vOld, w, n, first+i, j)+timesAtEnd(w, c.vOld, n, first+i, j)))
			}
		}
	}
	c.checkPanel(t)
}

// checkW compares W with Z − V·Fᵀ·(Vᵀ·Z)/2 for the last panel's V and F, and Z = Y·F.
func (c *bandPanelCase[T]) checkW(t *testing.T) {
	const old = oldReflectors
	z, gram := make([][old]float64, c.rest), [old][old]float64{}
	for i := range c.rest {
		for l := range old {
			for k := range old {
				z[i][l] += (float64(c.ys[0].At(i, k)) + float64(c.ys[1].At(i+3, k))) * float64(c.fOld.At(k, l))
			}
			for k := range old {
				gram[k][l] += float64(c.vOld.At(i, k)) * z[i][l]
			}
		}
	}
	for i := range c.rest {
		for l := range old {
			want := z[i][l]
			for k := range old {
				for h := range old {
					want -= float64(c.vOld.At(i, k)) / 2 * float64(c.fOld.At(h, k)) * gram[h][l]
				}
			}
			if got := float64(c.w.At(i+1, l)); !(math.Abs(got-want) <= c.tol*float64(c.p.N)) {
				t.Fatalf("%s: W(%d, %d) is %v, want %v", c.what, i, l, got, want)
			}
		}
	}
}

// checkPanel checks, row by row, that P·(I − V·F·Vᵀ) is C, that these rows have the norms of those of P, and that V is
// zero where C is stored.
func (c *bandPanelCase[T]) checkPanel(t *testing.T) {
	n, first, rows := c.p.N, c.p.First, c.p.Rows
	norm := 1.0
	for i := range rows {
		for j := first; j < n; j++ {
			norm = max(norm, math.Abs(float64(c.whole.At(first+i, j))))
		}
	}
	for i := range rows {
		x, before := make([]float64, c.rest), 0.0
		for j := range c.rest {
			x[j] = float64(c.whole.At(first+i, first+j))
			before += x[j] * x[j]
		}
		after := 0.0
		if rows < c.rest {
			c.reflect(x[rows:])
		}
		for j, got := range x {
			after += got * got
			want := 0.0
			if j >= i && j < c.c.Cols {
				want = float64(c.c.At(i, j))
			} else if j < i {
				continue
			}
			if !(math.Abs(got-want) <= c.tol*norm) {
				t.Fatalf("%s: element %d of row %d of P·Q is %v, want %v", c.what, j, i, got, want)
			}
		}
		if !(math.Abs(after-before) <= c.tol*norm*norm*float64(n)) {
			t.Fatalf("%s: row %d of P·Q has the norm %v, want %v", c.what, i, after, before)
		}
		for j := range c.p.B - rows {
			if j < c.v.Rows && c.v.At(j, i) != 0 {
				t.Fatalf("%s: V(%d, %d) is %v", c.what, j, i, c.v.At(j, i))
			}
		}
	}
}

// reflect overwrites xᵀ by xᵀ·(I − V·F·Vᵀ).
func (c *bandPanelCase[T]) reflect(x []float64) {
	y := make([]float64, c.v.Cols)
	for l := range y {
		for j := range x {
			y[l] += x[j] * float64(c.v.At(j, l))
		}
	}
	for k := range y {
		z := 0.0
		for l := range y {
			z += y[l] * float64(c.f.At(l, k))
		}
		for j := range x {
			x[j] -= z * float64(c.v.At(j, k))
		}
	}
}

// Ormsy2sb compares the product with loops.
func (s *suite[T]) Ormsy2sb(t *testing.T) {
	for _, size := range [][3]int{{0, 5, 2}, {3, 5, 2}, {1, 1, 1}, {130, 20, 4}, {17, 70, 16}, {3, 800, 5}} {
		m, n, k := size[0], size[1], size[2]
		x := s.random(m, n, 2)
		vs, fs := []*kernels.Tile[T]{s.random(n, k, 1), s.random(max(n-2, 0), max(k-1, 1), 0)}, []*kernels.Tile[T]{s.random(k, k, 1), s.random(max(k-1, 1), max(k-1, 1), 0)}
		was := clone(x)
		s.must(t, &op.Ormsy2sb{}, x, vs[0], fs[0], vs[1], fs[1])
		untouched(t, "ormsy2sb", x, was, func(int, int) bool { return true })
		for i := range m {
			row := make([]float64, n)
			for j := range n {
				row[j] = float64(was.At(i, j))
			}
			for p, v := range vs {
				y := make([]float64, v.Cols)
				for l := range y {
					for j := range v.Rows {
						y[l] += row[n-v.Rows+j] * float64(v.At(j, l))
					}
				}
				for l := range y {
					for h, z := range y {
						for j := range v.Rows {
							row[n-v.Rows+j] -= z * float64(fs[p].At(l, h)) * float64(v.At(j, l))
						}
					}
				}
			}
			top := 1.0
			for _, want := range row {
				top = max(top, math.Abs(want))
			}
			for j, want := range row {
				if d := math.Abs(float64(x.At(i, j)) - want); !(d <= 1e3*float64(n)*eps[T]()*top) {
					t.Fatalf("%v: (%d, %d) is %v, want %v", size, i, j, x.At(i, j), want)
				}
			}
		}
	}
	s.work(t, 4*5*(3*2+2), &op.Ormsy2sb{}, newTile[T](5, 4, 0), newTile[T](3, 2, 0), newTile[T](2, 2, 0), newTile[T](2, 1, 0), newTile[T](1, 1, 0))
}
