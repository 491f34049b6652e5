package kerneltest

import (
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

// inPart reports whether element (i, j) belongs to the uplo part.
func inPart(uplo blas.Uplo, i, j int) bool {
	return uplo == blas.All || (uplo == blas.Lower) == (i > j) || i == j
}

// eachPart calls test for the shapes and the parts that ops lacpy and laset know.
func eachPart(test func(m, n int, uplo blas.Uplo)) {
	for m, n := range pairs([]int{0, 1, 2, 7, 9}, []int{0, 1, 2, 5, 16}) {
		for _, uplo := range []blas.Uplo{blas.All, blas.Lower, blas.Upper} {
			test(m, n, uplo)
		}
	}
}

func (s *suite[T]) Lacpy(t *testing.T) {
	eachPart(func(m, n int, uplo blas.Uplo) {
		for more := range 2 { // A is larger than B
			a, b := newTile[T](m+more, n+2*more, 1), newTile[T](m, n, more)
			s.fill(a, 1, nil)
			s.fill(b, 1, nil)
			s.mark(b, nil)
			before := clone(b)
			s.must(t, &op.Lacpy{Uplo: uplo}, a, b)
			for i, j := range cells(m, n) {
				if inPart(uplo, i, j) && b.At(i, j) != a.At(i, j) {
					t.Fatalf("%d×%d, %c: (%d, %d) is %v, want %v", m, n, uplo, i, j, b.At(i, j), a.At(i, j))
				}
			}
			untouched(t, "lacpy", b, before, func(i, j int) bool { return inPart(uplo, i, j) })
		}
	})
	s.work(t, 6, &op.Lacpy{Uplo: blas.All}, newTile[T](4, 3, 0), newTile[T](2, 3, 0))
}

func (s *suite[T]) Laset(t *testing.T) {
	eachPart(func(m, n int, uplo blas.Uplo) {
		a := newTile[T](m, n, 1)
		s.fill(a, 1, nil)
		s.mark(a, nil)
		before := clone(a)
		s.must(t, &op.Laset[T]{Uplo: uplo, Alpha: 3, Beta: -2}, a)
		for i, j := range cells(m, n) {
			want := T(3)
			if i == j {
				want = -2
			}
			if inPart(uplo, i, j) && a.At(i, j) != want {
				t.Fatalf("%d×%d, %c: (%d, %d) is %v, want %v", m, n, uplo, i, j, a.At(i, j), want)
			}
		}
		untouched(t, "laset", a, before, func(i, j int) bool { return inPart(uplo, i, j) })
	})
	s.work(t, 6, &op.Laset[T]{Uplo: blas.All}, newTile[T](2, 3, 0))
}

// recut: windows of all places in grids of unlike tiles, of which one triangle may be missing.
func (s *suite[T]) Recut(t *testing.T) {
	highs, wides := []int{3, 1, 4, 2}, []int{2, 5, 1, 3}
	for _, uplo := range []blas.Uplo{blas.All, blas.Lower, blas.Upper} {
		var tiles []any
		var place [][2]int // of the tile of each row and column
		at, rows, cols := map[[2]int]*kernels.Tile[T]{}, 0, 0
		for i, high := range highs {
			for j, wide := range wides {
				if inPart(uplo, i, j) {
					a := newTile[T](high, wide, 1)
					s.fill(a, 1, nil)
					tiles, at[[2]int{i, j}] = append(tiles, a), a
				}
			}
			for r := range high {
				place, rows = append(place, [2]int{i, r}), rows+1
			}
		}
		var across [][2]int
		for j, wide := range wides {
			for c := range wide {
				across, cols = append(across, [2]int{j, c}), cols+1
			}
		}
		for range 200 {
			row, col := s.rnd.IntN(rows), s.rnd.IntN(cols)
			b := newTile[T](s.rnd.IntN(rows-row+1), s.rnd.IntN(cols-col+1), 1)
			s.mark(b, nil)
			before := clone(b)
			s.must(t, &op.Recut{Across: len(wides), Row: row, Col: col, Uplo: uplo}, append([]any{b}, tiles...)...)
			for i, j := range cells(b.Rows, b.Cols) {
				y, x := place[row+i], across[col+j]
				if a := at[[2]int{y[0], x[0]}]; a != nil && b.At(i, j) != a.At(y[1], x[1]) {
					t.Fatalf("%c, from (%d, %d) on: (%d, %d) is %v, want %v", uplo, row, col, i, j, b.At(i, j), a.At(y[1], x[1]))
				}
			}
			untouched(t, "recut", b, before, func(int, int) bool { return true })
			mirror := newTile[T](b.Cols, b.Rows, 1)
			s.must(t, &op.Recut{Across: len(wides), Row: row, Col: col, Uplo: uplo, Trans: true}, append([]any{mirror}, tiles...)...)
			for i, j := range cells(b.Rows, b.Cols) {
				if uplo == blas.All && mirror.At(j, i) != b.At(i, j) {
					t.Fatalf("from (%d, %d) on, transposed: (%d, %d) is %v, want %v", row, col, j, i, mirror.At(j, i), b.At(i, j))
				}
			}
		}
	}
	s.work(t, 6, &op.Recut{Across: 1}, newTile[T](2, 3, 0), newTile[T](2, 3, 0))
}
