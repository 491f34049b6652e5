package kerneltest

import (
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// tridiagonals yields names and matrices of order n, as op "sb2st" leaves them: a random one; one whose halves have the
// same eigenvalues; one with many eigenvalues that are nearly equal; one whose halves are not coupled; one that is large;
// and 0.
func (s *suite[T]) tridiagonals(n int) iter.Seq2[string, *kernels.Tile[T]] {
	return func(yield func(string, *kernels.Tile[T]) bool) {
		for _, c := range []recipe{
			{"random", func(int, int) float64 { return s.rnd.NormFloat64() }},
			{"1-2-1", func(row, _ int) float64 { return float64(2 - row) }},
			{"equal", func(row, i int) float64 {
				if row == 1 && i%7 > 0 {
					return 1e-9 * s.rnd.Float64()
				}
				return 1
			}},
			{"apart", func(row, i int) float64 {
				if row == 1 && i == n/2-1 {
					return 0
				}
				return -s.rnd.Float64()
			}},
			{"large", func(int, int) float64 { return 1e15 * s.rnd.NormFloat64() }},
			{"zero", func(int, int) float64 { return 0 }},
		} {
			tri := newTile[T](2, n, 1)
			for i, j := range cells(2, n) {
				tri.Set(i, j, T(c.at(i, j)))
			}
			tri.Set(1, n-1, 0)
			if !yield(c.name, tri) {
				return
			}
		}
	}
}

// half returns a half of tri: its diagonal, and what is beside it.
func half[T kernels.Element](tri *kernels.Tile[T], second bool) (d, e []T) {
	n := tri.Cols
	m := op.HalfOrder(n, second)
	d, e = make([]T, m), make([]T, m-1)
	tridiag.Half(tri.Row(0), tri.Row(1)[:n-1], second, d, e)
	return d, e
}

// whole returns the matrix with the diagonal d and e beside it.
func whole[T kernels.Element](d, e []T) *kernels.Tile[T] {
	a := newTile[T](len(d), len(d), 0)
	for i, j := range cells(len(d), len(d)) {
		switch max(i-j, j-i) {
		case 0:
			a.Set(i, j, d[i])
		case 1:
			a.Set(i, j, e[min(i, j)])
		default:
			a.Set(i, j, 0)
		}
	}
	return a
}

// columns copies columns first to first+cols−1 of a to a new tile.
func columns[T kernels.Element](a *kernels.Tile[T], first, cols int) *kernels.Tile[T] {
	part := newTile[T](a.Rows, cols, 1)
	for i, j := range cells(a.Rows, cols) {
		part.Set(i, j, a.At(i, first+j))
	}
	return part
}

// Laed0 judges by residual and orthogonality, and compares the column beside the other half.
func (s *suite[T]) Laed0(t *testing.T) {
	for _, n := range []int{2, 3, 9, 121} {
		for name, tri := range s.tridiagonals(n) {
			for _, second := range []bool{false, true} {
				m, before := op.HalfOrder(n, second), clone(tri)
				w, left, right := newTile[T](2, m, 1), newTile[T](m, m/3, 1), newTile[T](m, m-m/3, 2)
				s.must(t, &op.Laed0{Second: second}, w, left, right, tri)
				untouched(t, "laed0: T", tri, before, nil)
				z, beside := newTile[T](m, m, 0), m-1
				if second {
					beside = 0
				}
				for i := range m {
					copy(z.Row(i)[copy(z.Row(i), left.Row(i)):], right.Row(i))
					if w.At(1, i) != z.At(i, beside) {
						t.Errorf("%s, order %d: element %d beside the other half is %v, want %v", name, n, i, w.At(1, i), z.At(i, beside))
					}
				}
				if residual, loss := spectralErrors(whole(half(tri, second)), w, z, z); !(residual < 30 && loss < 30) || !slices.IsSorted(w.Row(0)) {
					t.Errorf("%s, order %d, second %t: residual %.3g, orthogonality %.3g", name, n, second, residual, loss)
				}
			}
		}
	}
	s.work(t, 36, &op.Laed0{}, newTile[T](2, 3, 0), newTile[T](3, 3, 0), newTile[T](2, 6, 0))
}

// Laed4 checks that roots of a matrix without deflation solve the secular equation, and that they do not depend on the
// number of parts.
func (s *suite[T]) Laed4(t *testing.T) {
	for _, n := range []int{2, 3, 70, 300} {
		m := n / 2
		tri, w1, w2 := newTile[T](2, n, 0), newTile[T](2, m, 1), newTile[T](2, n-m, 0)
		s.fill(tri, 0, nil)
		const beta = 0.75 // the largest element, so T is not scaled
		tri.Set(1, m-1, -beta)
		poles, weights := make([]float64, n), make([]float64, n)
		for i := range n { // in turns of both halves
			w, j := w1, i/2
			if i%2 == 1 || j == m {
				w, j = w2, (i-1)/2
				if i%2 == 0 {
					j = n - m - 1
				}
			}
			w.Set(0, j, T(float64(i)/float64(n)))
			w.Set(1, j, T((1+s.rnd.Float64())/math.Sqrt(float64(n))))
			poles[i], weights[i] = float64(w.At(0, j)), beta*float64(w.At(1, j))*float64(w.At(1, j))
		}
		all := newTile[T](op.RootsRows, n, 1)
		s.must(t, &op.Laed4{Parts: 1}, all, w1, w2, tri)
		for j := range n {
			sum, size, origin := 1.0, 1.0, poles[int(all.At(1, j))]
			for i, pole := range poles {
				x := weights[i] / (pole - origin - float64(all.At(0, j)))
				sum, size = sum+x, size+math.Abs(x)
			}
			// a difference of a root to a pole has some rounding errors
			if !(math.Abs(sum) <= 100*float64(n)*eps[T]()*size) {
				t.Errorf("order %d: root %d is %v behind pole %v: the equation has %g, of terms that add up to %g", n, j, all.At(0, j), all.At(1, j), sum, size)
			}
		}
		together := newTile[T](op.RootsRows, n, 0)
		for part := range 3 {
			some := newTile[T](op.RootsRows, n, 0)
			s.must(t, &op.Laed4{Part: part, Parts: 3}, some, w1, w2, tri)
			for i, j := range cells(2, n) {
				if some.At(0, j) != 0 {
					together.Set(i, j, some.At(i, j))
				}
			}
		}
		for i, j := range cells(2, n) {
			if together.At(i, j) != all.At(i, j) {
				t.Errorf("order %d: root %d of three parts is not that of one", n, j)
			}
		}
	}
	s.work(t, 20*36/3, &op.Laed4{Part: 2, Parts: 3}, newTile[T](3, 6, 0), newTile[T](2, 3, 0), newTile[T](2, 3, 0), newTile[T](2, 6, 0))
}

// Laed3 judges by residual and orthogonality, and compares the vectors of a part with those of the whole.
func (s *suite[T]) Laed3(t *testing.T) {
	inTurn := func(parts, work int, f func(part, parts int, work []T)) {
		for i := range parts {
			f(i, parts, make([]T, work))
		}
	}
	for _, n := range []int{2, 3, 10, 40, 150} {
		for name, tri := range s.tridiagonals(n) {
			var w, q [2]*kernels.Tile[T]
			var values, z []T
			for i, second := range [...]bool{false, true} {
				d, e := half(tri, second)
				m := len(d)
				q[i], w[i] = newTile[T](m, m, 0), newTile[T](2, m, 1)
				for r, c := range cells(m, m) {
					q[i].Set(r, c, 0)
				}
				for r := range m {
					q[i].Set(r, r, 1)
				}
				if err := tridiag.Steqr(d, e, tridiag.Matrix[T]{Rows: m, Cols: m, Stride: q[i].Stride, Data: q[i].Data}, nil); err != nil {
					t.Fatal(err)
				}
				for r := range m {
					w[i].Set(0, r, d[r])
					w[i].Set(1, r, q[i].At(r, (1-i)*(m-1)))
				}
				values, z = append(values, w[i].Row(0)...), append(z, w[i].Row(1)...)
			}
			const parts = 2
			var found []any
			for part := range parts {
				f := newTile[T](op.RootsRows, n, 1)
				top := tridiag.NewTop(tri.Row(0), tri.Row(1)[:n-1], values, z, tridiag.Matrix[T]{Rows: n}, false, tridiag.Tools[T]{}, inTurn)
				top.Roots(part, parts, tridiag.Matrix[T]{Rows: f.Rows, Cols: n, Stride: f.Stride, Data: f.Data}, make([]T, tridiag.WorkRoots(n, parts)))
				found = append(found, f)
			}
			rest := append(found, w[0], w[1], tri)
			all, lambda, first, last := newTile[T](n, n, 0), newTile[T](1, n, 0), n/3, n-n/4
			for i, second := range [...]bool{false, true} {
				m, at := q[i].Rows, i*q[0].Rows
				for _, block := range [...][2]int{{0, m / 3}, {m / 3, m}} {
					cols := block[1] - block[0]
					part := columns(q[i], block[0], cols)
					top, bottom := newTile[T](n/2, cols, 1), newTile[T](n-n/2, cols, 0)
					s.must(t, &op.Laed3{Parts: parts, Second: second, Values: true}, append([]any{lambda, top, bottom, part}, rest...)...)
					for r, c := range cells(n, cols) {
						if x := top; r < n/2 {
							all.Set(r, at+block[0]+c, x.At(r, c))
						} else {
							all.Set(r, at+block[0]+c, bottom.At(r-n/2, c))
						}
					}
					some := newTile[T](last-first, cols, 1)
					s.must(t, &op.Laed3{First: first, Parts: parts, Second: second}, append([]any{some, part}, rest...)...)
					for r, c := range cells(last-first, cols) {
						// A library's products of fewer rows may round otherwise.
						if d := math.Abs(float64(some.At(r, c) - all.At(first+r, at+block[0]+c))); !(d <= 20*eps[T]()) {
							t.Fatalf("%s, order %d: vector %d of a part has %v, want %v", name, n, first+r, some.At(r, c), all.At(first+r, at+block[0]+c))
						}
					}
				}
			}
			if residual, loss := spectralErrors(whole(tri.Row(0), tri.Row(1)), lambda, all, all); !(residual < 30 && loss < 30) || !slices.IsSorted(lambda.Row(0)) {
				t.Errorf("%s, order %d: residual %.3g, orthogonality %.3g", name, n, residual, loss)
			}
		}
	}
	s.work(t, 2*4*2*3, &op.Laed3{First: 1, Parts: 1}, newTile[T](4, 2, 0), newTile[T](3, 2, 0), newTile[T](3, 6, 0), newTile[T](2, 3, 0), newTile[T](2, 3, 0), newTile[T](2, 6, 0))
}
