package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

var uplos = [...]blas.Uplo{blas.Lower, blas.Upper}

func (s *suite[T]) Syrk(t *testing.T) {
	t.Run("sizes", func(t *testing.T) {
		for _, p := range syrkParams[T](1, 1) {
			for _, n := range sizes {
				for range 2 {
					k := sizes[s.rnd.IntN(len(sizes))]
					s.syrkCase(t, p, n, k, s.rnd.IntN(4), 1)
				}
			}
			s.syrkCase(t, p, 64, 64, 0, 1)
		}
		for i, d := range large {
			s.syrkCase(t, syrkParams[T](1, 1)[i%4], d, 19, 1, 1)
			s.syrkCase(t, syrkParams[T](1, 1)[(i+1)%4], 21, d, 1, 1)
		}
		s.syrkCase(t, syrkParams[T](-1, 1)[0], 259, 261, 3, 1)
	})
	t.Run("scalars", func(t *testing.T) {
		for alpha, beta := range pairs(scalars[:], scalars[:]) {
			for _, p := range syrkParams[T](T(alpha), T(beta)) {
				d := [...]int{1, 5, 18, 35}[s.rnd.IntN(4)]
				s.syrkCase(t, p, d, d+1, 1, 1)
			}
		}
		s.syrkCase(t, op.Syrk[T]{Uplo: blas.Upper, Trans: blas.ConjTrans, Alpha: 1}, 9, 8, 0, 1)
	})
	t.Run("extreme", func(t *testing.T) {
		for size, p := range pairs([]float64{extreme[T](), 1 / extreme[T]()}, syrkParams[T](1, 0)) {
			s.syrkCase(t, p, 37, 39, 1, size)
		}
	})
	t.Run("nonfinite", func(t *testing.T) { s.syrkNonFinite(t) })
	t.Run("repeat", func(t *testing.T) {
		for p, d := range pairs(syrkParams[T](-1, 1), []int{7, 33, 131}) {
			a, c := s.random(d, d, 2), s.random(d, d, 3)
			s.checkRepeatable(t, &p, a, c)
		}
	})
	s.work(t, 3*4*5, &op.Syrk[T]{Uplo: blas.Lower, Trans: blas.Trans}, newTile[T](5, 3, 0), newTile[T](3, 3, 0))
}

func syrkParams[T kernels.Element](alpha, beta T) (ps []op.Syrk[T]) {
	for uplo, tr := range pairs(uplos[:], transposes[:]) {
		ps = append(ps, op.Syrk[T]{Uplo: uplo, Trans: tr, Alpha: alpha, Beta: beta})
	}
	return ps
}

// inTriangle returns whether (i, j) is in the uplo triangle.
func inTriangle(uplo blas.Uplo) func(i, j int) bool {
	if uplo == blas.Lower {
		return func(i, j int) bool { return i >= j }
	}
	return func(i, j int) bool { return i <= j }
}

func syrkTile[T kernels.Element](p op.Syrk[T], n, k, pad int) *kernels.Tile[T] {
	if p.Trans != blas.NoTrans {
		return newTile[T](k, n, pad)
	}
	return newTile[T](n, k, pad)
}

// syrkCase checks one call as gemmCase does, over the triangle.
func (s *suite[T]) syrkCase(t *testing.T, p op.Syrk[T], n, k, pad int, scale float64) {
	t.Helper()
	what := fmt.Sprintf("%c%c n=%d k=%d alpha=%v beta=%v pad=%d scale=%.3g", p.Uplo, p.Trans, n, k, p.Alpha, p.Beta, pad, scale)
	in := inTriangle(p.Uplo)
	a, c := syrkTile[T](p, n, k, pad), newTile[T](n, n, 2*pad)
	if p.Alpha != 0 {
		s.fill(a, scale, nil)
	}
	if p.Beta != 0 {
		s.fill(c, scale, in)
	}
	s.mark(c, in)
	a0, c0 := clone(a), clone(c)
	s.must(t, &p, a, c)
	identical(t, what+": A", a, a0)
	untouched(t, what+": C", c, c0, in)

	fa := at(a, p.Trans != blas.NoTrans)
	accumulated(t, what, c, c0, in, k, float64(p.Alpha), fa, transpose(fa), float64(p.Beta))
}

// syrkNonFinite checks that a NaN or an infinity in row i of op(A) reaches
// row and column i of C and nothing else.
func (s *suite[T]) syrkNonFinite(t *testing.T) {
	for _, p := range syrkParams[T](1, 1) {
		in := inTriangle(p.Uplo)
		for n, bad := range pairs([]int{3, 19, 37}, []float64{math.NaN(), math.Inf(1)}) {
			k := n + 1
			i0, l0 := s.rnd.IntN(n), s.rnd.IntN(k)
			a, c := syrkTile[T](p, n, k, 1), newTile[T](n, n, 1)
			s.fill(a, 1, nil)
			s.fill(c, 1, in)
			setOp(a, p.Trans, i0, l0, T(bad))
			s.must(t, &p, a, c)
			for i, j := range cells(n, n) {
				if x := c.At(i, j); in(i, j) && (i == i0 || j == i0) == finite(x) {
					t.Fatalf("%c%c n=%d k=%d, %v in row %d: C(%d, %d) = %v", p.Uplo, p.Trans, n, k, bad, i0, i, j, x)
				}
			}
		}
	}
}
