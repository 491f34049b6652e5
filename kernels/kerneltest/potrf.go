package kerneltest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/internal/dot2"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

func (s *suite[T]) Potrf(t *testing.T) {
	t.Run("sizes", func(t *testing.T) {
		for _, uplo := range uplos {
			for n := range 40 {
				s.potrfCase(t, uplo, s.spd(uplo, n, s.rnd.IntN(4), 1))
			}
			for _, n := range [...]int{47, 48, 49, 63, 64, 65, 70} {
				s.potrfCase(t, uplo, s.spd(uplo, n, s.rnd.IntN(4), 1))
			}
			for _, n := range large {
				s.potrfCase(t, uplo, s.spd(uplo, n, 1, 1))
			}
		}
	})
	t.Run("conditioned", func(t *testing.T) {
		for uplo, n := range pairs(uplos[:], []int{5, 33, 70}) {
			for _, kappa := range [...]float64{2, math.Sqrt(0.1 / eps[T]()), 0.01 / eps[T]()} {
				s.potrfCase(t, uplo, s.graded(uplo, n, kappa))
			}
		}
	})
	t.Run("extreme", func(t *testing.T) {
		big := extreme[T]() * extreme[T]() / 0x1p20
		for uplo, n := range pairs(uplos[:], []int{5, 33, 70}) {
			s.potrfCase(t, uplo, s.spd(uplo, n, 1, big))
			s.potrfCase(t, uplo, s.spd(uplo, n, 1, 1/big))
		}
	})
	t.Run("minor", func(t *testing.T) { s.potrfMinor(t) })
	t.Run("repeat", func(t *testing.T) {
		for _, uplo := range uplos {
			p := &op.Potrf{Uplo: uplo}
			for _, n := range [...]int{7, 33, 131} {
				a := s.spd(uplo, n, 1, 1)
				s.checkSameBits(t, p, a)
				// A factor is not positive definite as a rule, and an error
				// allocates: the identity is its own factor.
				id := s.spd(uplo, n, 1, 0)
				for i := range n {
					id.Set(i, i, 1)
				}
				s.noAllocs(t, p, id)
			}
		}
	})
	s.work(t, 14, &op.Potrf{Uplo: blas.Lower}, newTile[T](3, 3, 0))
}

// spd returns the uplo triangle of a symmetric positive definite matrix of
// order n, diagonally dominant and of size scale, with NaN or a mark in the other one.
func (s *suite[T]) spd(uplo blas.Uplo, n, pad int, scale float64) *kernels.Tile[T] {
	a := newTile[T](n, n, pad)
	s.fill(a, scale/math.Sqrt(float64(n)), inTriangle(uplo))
	for i := range n {
		a.Set(i, i, T(scale*(4+s.rnd.Float64())))
	}
	s.mark(a, inTriangle(uplo))
	return a
}

// graded returns the uplo triangle of L·Lᵀ with a condition number of about
// kappa: L is unit lower triangular but for columns that fall off to κ^-½.
func (s *suite[T]) graded(uplo blas.Uplo, n int, kappa float64) *kernels.Tile[T] {
	l := make([]float64, n*n)
	for j := range n {
		d := math.Pow(kappa, -0.5*float64(j)/float64(max(1, n-1)))
		l[j*n+j] = d
		for i := j + 1; i < n; i++ {
			l[i*n+j] = d * s.rnd.NormFloat64() / math.Sqrt(float64(n))
		}
	}
	a := newTile[T](n, n, 1)
	for i := range n {
		for j := range i + 1 {
			v := dot2.Dot(0, l[i*n:i*n+j+1], l[j*n:j*n+j+1])
			if uplo == blas.Lower {
				a.Set(i, j, T(v))
			} else {
				a.Set(j, i, T(v))
			}
		}
	}
	return a
}

// potrfCase checks one factorization by ‖L·Lᵀ−A‖ / (n·‖A‖·ε) < 30.
func (s *suite[T]) potrfCase(t *testing.T, uplo blas.Uplo, a *kernels.Tile[T]) {
	t.Helper()
	n := a.Rows
	what := fmt.Sprintf("%c n=%d stride=%d", uplo, n, a.Stride)
	a0 := clone(a)
	if err := s.run(&op.Potrf{Uplo: uplo}, a); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	untouched(t, what, a, a0, inTriangle(uplo))

	// L, and A, as functions of the indices in the lower triangle.
	l, was := at(a, uplo == blas.Upper), at(a0, uplo == blas.Upper)
	sym := func(f func(i, j int) float64) func(i, j int) float64 {
		return func(i, j int) float64 { return f(max(i, j), min(i, j)) }
	}
	rl := rows(n, n, func(i, j int) float64 {
		if i < j {
			return 0
		}
		return l(i, j)
	})
	difference := rows(n, n, func(i, j int) float64 {
		if i < j {
			return 0
		}
		return dot2.Dot(0, rl[i][:j+1], rl[j]) - was(i, j)
	})
	residual := norm1(n, n, sym(func(i, j int) float64 { return difference[i][j] }))
	ratio(t, what, residual, float64(n)*norm1(n, n, sym(was))*eps[T](), 30)
}

// potrfMinor puts the failing minor at the borders of all leaves and vectors of a
// matrix that spans several leaves, in several ways.
func (s *suite[T]) potrfMinor(t *testing.T) {
	const n, offset = 70, 1000
	fails := func(what string, uplo blas.Uplo, a *kernels.Tile[T], minor int) {
		t.Helper()
		a0 := clone(a)
		err := s.run(&op.Potrf{Uplo: uplo, Offset: offset}, a)
		var npd *kernels.NotPositiveDefiniteError
		if !errors.As(err, &npd) {
			t.Fatalf("%c, %s, minor %d: error %v", uplo, what, minor, err)
		}
		if npd.Minor != offset+minor {
			t.Fatalf("%c, %s: minor %d, want %d", uplo, what, npd.Minor-offset, minor)
		}
		untouched(t, what, a, a0, inTriangle(uplo))
	}
	set := func(uplo blas.Uplo, a *kernels.Tile[T], i, j int, v float64) {
		if inTriangle(uplo)(i, j) {
			a.Set(i, j, T(v))
		} else {
			a.Set(j, i, T(v))
		}
	}
	for _, uplo := range uplos {
		for i := range n {
			if i%8 > 1 && i%8 < 7 && i != n-1 {
				continue
			}
			for _, bad := range [...]float64{-1, 0, math.NaN(), math.Inf(-1)} {
				a := s.spd(uplo, n, 1, 1)
				a.Set(i, i, T(bad))
				if bad == 0 {
					// Alone in its row and column, the pivot is exactly zero.
					for j := range n {
						if j != i {
							set(uplo, a, i, j, 0)
						}
					}
				}
				fails(fmt.Sprintf("%v on the diagonal", bad), uplo, a, i+1)
			}
			// The first of two counts.
			a := s.spd(uplo, n, 1, 1)
			a.Set(i, i, -1)
			a.Set(n-1, n-1, -1)
			fails("two on the diagonal", uplo, a, i+1)
			// Off the diagonal, the later of row and column is the one.
			if i > 0 {
				for _, bad := range [...]float64{100, math.NaN(), math.Inf(1)} {
					a := s.spd(uplo, n, 1, 1)
					set(uplo, a, i, s.rnd.IntN(i), bad)
					fails(fmt.Sprintf("%v off the diagonal", bad), uplo, a, i+1)
				}
			}
		}
		zero := s.spd(uplo, n, 1, 0)
		fails("zero matrix", uplo, zero, 1)
		ones := s.spd(uplo, n, 1, 0)
		for i := range n {
			for j := range i + 1 {
				set(uplo, ones, i, j, 1)
			}
		}
		fails("rank one", uplo, ones, 2)
	}
}
