package kerneltest

import (
	"iter"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
)

// guard is the number of elements behind a tile that nobody may touch.
const guard = 8

// newTile returns an r×c tile of NaN with the given padding between its rows
// and a guard behind it.
func newTile[T kernels.Element](r, c, pad int) *kernels.Tile[T] {
	ld := max(1, c+pad)
	n := 0
	if r > 0 && c > 0 {
		n = (r-1)*ld + c
	}
	data := make([]T, n+guard)
	for i := range data {
		data[i] = T(math.NaN())
	}
	return &kernels.Tile[T]{Rows: r, Cols: c, Stride: ld, Data: data[:n]}
}

// recipe is a matrix by its elements, with a name. Recipes stand in slices, as those that draw from a stream have to come
// in the same order each time.
type recipe struct {
	name string
	at   func(i, j int) float64
}

// pairs yields each of as with each of bs.
func pairs[A, B any](as []A, bs []B) iter.Seq2[A, B] {
	return func(yield func(A, B) bool) {
		for _, a := range as {
			for _, b := range bs {
				if !yield(a, b) {
					return
				}
			}
		}
	}
}

// cells yields the indices of the elements of an m×n matrix, row by row.
func cells(m, n int) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		for i := range m {
			for j := range n {
				if !yield(i, j) {
					return
				}
			}
		}
	}
}

// clone returns a copy of a with its padding and guard.
func clone[T kernels.Element](a *kernels.Tile[T]) *kernels.Tile[T] {
	b := *a
	full := a.Data[:len(a.Data)+guard]
	b.Data = append([]T(nil), full...)[:len(a.Data)]
	return &b
}

// untouched fails t unless a and was, of the same shape, have the same bits
// outside the elements for which written(i, j) holds; nil means that none may
// have been written.
func untouched[T kernels.Element](t *testing.T, what string, a, was *kernels.Tile[T], written func(i, j int) bool) {
	t.Helper()
	x, y := a.Data[:len(a.Data)+guard], was.Data[:len(was.Data)+guard]
	for p := range x {
		i, j := p/a.Stride, p%a.Stride
		if written != nil && p < len(a.Data) && j < a.Cols && written(i, j) {
			continue
		}
		if !same(x[p], y[p]) {
			t.Fatalf("%s: element (%d, %d) of a %d×%d tile with stride %d was overwritten: %v, was %v",
				what, i, j, a.Rows, a.Cols, a.Stride, x[p], y[p])
		}
	}
}

// same reports whether x and y are the same value or both NaN. Signs of zero
// count.
func same[T kernels.Element](x, y T) bool {
	if x != x || y != y {
		return x != x && y != y
	}
	return x == y && math.Signbit(float64(x)) == math.Signbit(float64(y))
}

func finite[T kernels.Element](x T) bool { return x-x == 0 }

// identical fails t unless all of a and b, the padding included, are the
// same.
func identical[T kernels.Element](t *testing.T, what string, a, b *kernels.Tile[T]) {
	t.Helper()
	untouched(t, what, a, b, nil)
}

// rows returns the m×n matrix f by rows.
func rows(m, n int, f func(i, j int) float64) [][]float64 {
	x := make([][]float64, m)
	for i := range x {
		x[i] = make([]float64, n)
		for j := range x[i] {
			x[i][j] = f(i, j)
		}
	}
	return x
}

// transpose returns f with its indices exchanged.
func transpose(f func(i, j int) float64) func(i, j int) float64 {
	return func(i, j int) float64 { return f(j, i) }
}

// norm1 returns the largest column sum of |f(i, j)| over m×n.
func norm1(m, n int, f func(i, j int) float64) float64 {
	norm := 0.0
	for j := range n {
		s := 0.0
		for i := range m {
			s += math.Abs(f(i, j))
		}
		if !(s <= norm) {
			norm = s // NaN sticks
		}
	}
	return norm
}

// at returns a as a function of its indices, transposed if trans.
func at[T kernels.Element](a *kernels.Tile[T], trans bool) func(i, j int) float64 {
	if trans {
		return func(i, j int) float64 { return float64(a.At(j, i)) }
	}
	return func(i, j int) float64 { return float64(a.At(i, j)) }
}
