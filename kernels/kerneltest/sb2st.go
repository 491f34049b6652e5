package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
)

// sweep calls f for each reflector of a tile of sweeps of order n, which is that of its first row, from the last one to
// the first one: f gets its first column there, its vector and its factor.
func sweep[T kernels.Element](q *kernels.Tile[T], n, b int, f func(at int, v []T, tau T)) {
	for s := q.Rows - 1; s >= 0; s-- {
		for u := 0; s+1+u*b < n; u++ {
			at := s + 1 + u*b
			f(at, q.Row(s)[at:min(at+b, n)], q.At(s, n+u))
		}
	}
}

// reflected overwrites the elements of x with those of x·(I − tau·v·vᵀ).
func reflected[T kernels.Element](x []float64, v []T, tau T) {
	sum := 0.0
	for j, y := range v {
		sum += x[j] * float64(y)
	}
	for j, y := range v {
		x[j] -= float64(tau) * sum * float64(y)
	}
}

// Sb2st checks that the reflectors take T back to the band, and that T is the same without them.
func (s *suite[T]) Sb2st(t *testing.T) {
	for _, size := range [][3]int{{0, 2, 4}, {1, 2, 4}, {2, 2, 4}, {7, 3, 4}, {9, 16, 3}, {40, 1, 16}, {50, 6, 16}, {65, 16, 100}} {
		n, b, sweeps := size[0], size[1], size[2]
		whole, high := newTile[T](n, n, 0), 3
		for i, j := range cells(n, n) {
			whole.Set(i, j, 0)
		}
		var rows []any
		for first := 0; first < n; first += high {
			c := newTile[T](min(high, n-first), b+min(high, n-first), 1)
			for i := range c.Rows {
				for l := i; l <= i+b && first+l < n; l++ {
					x := T(s.rnd.NormFloat64())
					c.Set(i, l, x)
					whole.Set(first+i, first+l, x)
					whole.Set(first+l, first+i, x)
				}
			}
			rows = append(rows, c)
		}
		tri := newTile[T](2, n, 1)
		args := []any{tri}
		var q []*kernels.Tile[T]
		for i := range op.SweepTiles(n, sweeps) {
			r, c := op.SweepTile(n, b, sweeps, i)
			q = append(q, newTile[T](r, c, 1))
			args = append(args, q[i])
		}
		s.must(t, &op.Sb2st{B: b, Sweeps: sweeps}, append(args, rows...)...)
		// C = Q·T·Qᵀ: T's rows are multiplied by Qᵀ, and then the columns.
		product := make([][]float64, n)
		for i := range n {
			product[i] = make([]float64, n)
			product[i][i] = float64(tri.At(0, i))
			if i > 0 {
				product[i][i-1] = float64(tri.At(1, i-1))
			}
			if i+1 < n {
				product[i][i+1] = float64(tri.At(1, i))
			}
		}
		for range 2 {
			for i := len(q) - 1; i >= 0; i-- {
				sweep(q[i], n-i*sweeps, b, func(at int, v []T, tau T) {
					for r := range n {
						reflected(product[r][i*sweeps+at:], v, tau)
					}
				})
			}
			for i := range n {
				for j := range i {
					product[i][j], product[j][i] = product[j][i], product[i][j]
				}
			}
		}
		for i, j := range cells(n, n) {
			if d := math.Abs(product[i][j] - float64(whole.At(i, j))); !(d <= 100*float64(n)*eps[T]()) {
				t.Fatalf("%v: Q·T·Qᵀ has %v as element (%d, %d), want %v", size, product[i][j], i, j, whole.At(i, j))
			}
		}
		alone := newTile[T](2, n, 0)
		s.must(t, &op.Sb2st{B: b}, append([]any{alone}, rows...)...)
		for i, j := range cells(2, n) {
			if alone.At(i, j) != tri.At(i, j) {
				t.Fatalf("%v: without reflectors, T has %v, want %v", size, alone.At(i, j), tri.At(i, j))
			}
		}
	}
	s.work(t, 6*2*9, &op.Sb2st{B: 2}, newTile[T](2, 3, 0), newTile[T](3, 5, 0))
}

// Ormsb2st compares the product with that of one reflector after the other.
func (s *suite[T]) Ormsb2st(t *testing.T) {
	for _, size := range [][5]int{{0, 9, 4, 3, 9}, {1, 2, 3, 1, 2}, {5, 9, 4, 3, 7}, {300, 80, 32, 40, 66}, {7, 70, 5, 69, 70}} {
		m, cols, b, sweeps, n := size[0], size[1], size[2], size[3], size[4]
		_, wide := op.SweepTile(n, b, n, 0)
		q := newTile[T](sweeps, wide, 1)
		s.fill(q, 1, nil)
		for r := range sweeps {
			for u := 0; r+1+u*b < n; u++ {
				at, sum := r+1+u*b, 0.0
				q.Set(r, at, 1)
				for _, x := range q.Row(r)[at:min(at+b, n)] {
					sum += float64(x) * float64(x)
				}
				q.Set(r, n+u, T(2/sum))
			}
		}
		x := s.random(m, cols, 2)
		was := clone(x)
		s.must(t, &op.Ormsb2st{B: b}, x, q)
		untouched(t, "ormsb2st", x, was, func(_, j int) bool { return j >= cols-n })
		for i := range m {
			row := make([]float64, cols)
			for j := range cols {
				row[j] = float64(was.At(i, j))
			}
			sweep(q, n, b, func(at int, v []T, tau T) { reflected(row[cols-n+at:], v, tau) })
			for j, want := range row {
				if d := math.Abs(float64(x.At(i, j)) - want); !(d <= 100*float64(n)*eps[T]()) {
					t.Fatalf("%v: (%d, %d) is %v, want %v", size, i, j, x.At(i, j), want)
				}
			}
		}
	}
	s.work(t, 4*5*2*(4-1), &op.Ormsb2st{B: 2}, newTile[T](5, 4, 0), newTile[T](2, 6, 0))
}

// Stedc judges by residual and orthogonality, and eigenvalues alone by those that come with vectors.
func (s *suite[T]) Stedc(t *testing.T) {
	for _, n := range []int{0, 1, 2, 48, 60, 140} {
		tri, whole := newTile[T](2, n, 1), newTile[T](n, n, 0)
		s.fill(tri, 1, nil)
		for i, j := range cells(n, n) {
			switch {
			case i == j:
				whole.Set(i, j, tri.At(0, i))
			case max(i-j, j-i) == 1:
				whole.Set(i, j, tri.At(1, min(i, j)))
			default:
				whole.Set(i, j, 0)
			}
		}
		all, w := newTile[T](n, n, 1), newTile[T](1, n, 0)
		before := clone(tri)
		if s.must(t, &op.Stedc{}, w, all, tri); n > 0 {
			untouched(t, "stedc: T", tri, before, nil)
		}
		residual, loss := spectralErrors(whole, w, all, all)
		if !(residual < 30 && loss < 30) {
			t.Errorf("order %d: residual %.3g, orthogonality %.3g", n, residual, loss)
		}
		if n == 0 {
			continue
		}
		first, last := n/3, n-n/4
		values, top, bottom := newTile[T](1, n, 0), newTile[T]((last-first)/2, n, 0), newTile[T](last-first-(last-first)/2, n, 2)
		s.must(t, &op.Stedc{First: first}, values, top, bottom, tri)
		identical(t, "values of a part", values, w)
		for i, j := range cells(last-first, n) {
			part, row := top, i
			if i >= top.Rows {
				part, row = bottom, i-top.Rows
			}
			// A library's products of fewer rows may round otherwise.
			if d := math.Abs(float64(part.At(row, j) - all.At(first+i, j))); !(d <= 20*eps[T]()) {
				t.Fatalf("order %d: vector %d of a part has %v, want %v", n, first+i, part.At(row, j), all.At(first+i, j))
			}
		}
		s.must(t, &op.Stedc{}, values, tri)
		sameValues(t, "stedc", values, w, 4)
	}
	s.work(t, 36, &op.Stedc{}, newTile[T](1, 3, 0), newTile[T](3, 3, 0), newTile[T](2, 3, 0))
	s.work(t, 180, &op.Stedc{}, newTile[T](1, 3, 0), newTile[T](2, 3, 0))
}
