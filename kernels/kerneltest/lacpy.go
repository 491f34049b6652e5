package kerneltest

import (
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// inPart reports whether element (i, j) belongs to the uplo part.
func inPart(uplo blas.Uplo, i, j int) bool {
	return uplo == blas.All || (uplo == blas.Lower) == (i > j) || i == j
}

// eachPart calls test for the shapes and the parts that ops lacpy and laset know.
func eachPart(test func(m, n int, uplo blas.Uplo)) {
	for _, m := range []int{0, 1, 2, 7, 9} {
		for _, n := range []int{0, 1, 2, 5, 16} {
			for _, uplo := range []blas.Uplo{blas.All, blas.Lower, blas.Upper} {
				test(m, n, uplo)
			}
		}
	}
}

func (s *suite[T]) lacpy(t *testing.T) {
	eachPart(func(m, n int, uplo blas.Uplo) {
		for more := range 2 { // A is larger than B
			a, b := newTile[T](m+more, n+2*more, 1), newTile[T](m, n, more)
			s.fill(a, 1, nil)
			s.fill(b, 1, nil)
			s.mark(b, nil)
			before := clone(b)
			s.must(t, &kernels.Lacpy{Uplo: uplo}, a, b)
			for i := range m {
				for j := range n {
					if inPart(uplo, i, j) && b.At(i, j) != a.At(i, j) {
						t.Fatalf("%d×%d, %c: (%d, %d) is %v, want %v", m, n, uplo, i, j, b.At(i, j), a.At(i, j))
					}
				}
			}
			untouched(t, "lacpy", b, before, func(i, j int) bool { return inPart(uplo, i, j) })
		}
	})
	s.work(t, 6, &kernels.Lacpy{Uplo: blas.All}, newTile[T](4, 3, 0), newTile[T](2, 3, 0))
}

func (s *suite[T]) laset(t *testing.T) {
	eachPart(func(m, n int, uplo blas.Uplo) {
		a := newTile[T](m, n, 1)
		s.fill(a, 1, nil)
		s.mark(a, nil)
		before := clone(a)
		s.must(t, &kernels.Laset{Uplo: uplo, Alpha: 3, Beta: -2}, a)
		for i := range m {
			for j := range n {
				want := T(3)
				if i == j {
					want = -2
				}
				if inPart(uplo, i, j) && a.At(i, j) != want {
					t.Fatalf("%d×%d, %c: (%d, %d) is %v, want %v", m, n, uplo, i, j, a.At(i, j), want)
				}
			}
		}
		untouched(t, "laset", a, before, func(i, j int) bool { return inPart(uplo, i, j) })
	})
	s.work(t, 6, &kernels.Laset{Uplo: blas.All}, newTile[T](2, 3, 0))
}
