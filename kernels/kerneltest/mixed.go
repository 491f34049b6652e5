package kerneltest

import (
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels/op"
	"gonum.org/v1/gonum/blas"
)

func (s *suite[T]) Lange(t *testing.T) {
	eachPart(func(m, n int, uplo blas.Uplo) {
		for _, symmetric := range []bool{false, true} {
			if symmetric && (m != n || uplo == blas.All) {
				continue
			}
			for _, scale := range []float64{1, 0x1p-120, 0x1p120} {
				a, got := newTile[T](m, n, 1), newTile[float64](1, max(n, 2), 0)
				s.fill(a, scale, nil)
				tops, sum := make([]float64, max(n, 2)), 0.0
				for i, j := range cells(m, n) {
					v := float64(a.At(i, j)) / scale
					if symmetric && !inPart(uplo, i, j) {
						v = float64(a.At(j, i)) / scale
					}
					if symmetric || inPart(uplo, i, j) {
						sum += v * v
					}
					if inPart(uplo, i, j) {
						tops[j] = max(tops[j], math.Abs(float64(a.At(i, j))))
					}
				}
				s.must(t, &op.Lange{Uplo: uplo, Symmetric: symmetric}, a, got)
				for j, want := range tops {
					if got.At(0, j) != want {
						t.Fatalf("%d×%d, %c: column %d has %v, want %v", m, n, uplo, j, got.At(0, j), want)
					}
				}
				s.must(t, &op.Lange{Uplo: uplo, Symmetric: symmetric, Squares: true}, a, got)
				if x := got.At(0, 0) * math.Sqrt(got.At(0, 1)) / scale; !(math.Abs(x-math.Sqrt(sum)) <= 1e-12*(1+sum)) {
					t.Fatalf("%d×%d, %c, symmetric %t: root of the squares %v, want %v", m, n, uplo, symmetric, x, math.Sqrt(sum))
				}
			}
		}
	})
	a, got := newTile[T](3, 3, 0), newTile[float64](1, 3, 0)
	s.fill(a, 1, nil)
	a.Set(1, 2, T(math.NaN()))
	a.Set(2, 0, T(math.Inf(-1)))
	s.must(t, &op.Lange{Uplo: blas.All}, a, got)
	if x := got.Row(0); !math.IsInf(x[0], 1) || x[1] != x[1] || x[2] == x[2] {
		t.Errorf("largest of columns with an infinity and a NaN: %v", x)
	}
	s.must(t, &op.Lange{Uplo: blas.All, Squares: true}, a, got)
	if x := got.At(0, 0); x == x {
		t.Errorf("squares with a NaN: %v", x)
	}
	if big := T(math.MaxFloat32); s.op.Type == "f64" { // squares are out of range
		for _, v := range []float64{1e300, 1e-300} {
			s.fill(a, 0, func(i, j int) bool { return false })
			for k := range 3 {
				a.Row(k)[0], a.Row(k)[1], a.Row(k)[2] = big*0, T(v), big*0
			}
			s.must(t, &op.Lange{Uplo: blas.All, Squares: true}, a, got)
			if x := got.At(0, 0) * math.Sqrt(got.At(0, 1)) / v; math.Abs(x-math.Sqrt(3)) > 1e-14 {
				t.Errorf("three of %v: %v", v, x)
			}
		}
	}
	s.work(t, 6, &op.Lange{Uplo: blas.All}, newTile[T](2, 3, 0), newTile[float64](1, 3, 0))
}

func (s *suite[T]) Lag2s(t *testing.T) { s.lag(t) }

func (s *suite[T]) Lag2d(t *testing.T) { s.lag(t) }

// lag checks that elements are rounded once, and added to where they should be.
func (s *suite[T]) lag(t *testing.T) {
	for m, n := range pairs([]int{0, 1, 3, 17}, []int{0, 1, 2, 16}) {
		d := newTile[float64](1, n, 0)
		for j := range n {
			d.Set(0, j, math.Ldexp(1, j-3))
		}
		wide, single := newTile[T](m, n, 1), newTile[float32](m, n, 2)
		s.fill(wide, 1, nil)
		before := clone(wide)
		if s.op.Name == "lag2s" {
			s.must(t, &op.Lag2s{}, wide, d, single)
			for i, j := range cells(m, n) {
				if got, want := single.At(i, j), float32(float64(wide.At(i, j))*d.At(0, j)); got != want {
					t.Fatalf("(%d, %d) is %v, want %v", i, j, got, want)
				}
			}
			continue
		}
		for i, j := range cells(m, n) {
			single.Set(i, j, float32(i-j)/3)
		}
		for _, add := range []bool{true, false} {
			s.must(t, &op.Lag2d{Add: add}, single, d, wide)
			for i, j := range cells(m, n) {
				want := float64(single.At(i, j)) * d.At(0, j)
				if add {
					want += float64(before.At(i, j))
				}
				if got := wide.At(i, j); got != T(want) {
					t.Fatalf("(%d, %d) is %v, want %v", i, j, got, T(want))
				}
			}
		}
	}
	wide, d, single := newTile[T](2, 3, 0), newTile[float64](1, 3, 0), newTile[float32](2, 3, 0)
	if s.op.Name == "lag2s" {
		s.work(t, 6, &op.Lag2s{}, wide, d, single)
	} else {
		s.work(t, 6, &op.Lag2d{}, single, d, wide)
	}
}

func (s *suite[T]) Lasym(t *testing.T) {
	for n, uplo := range pairs([]int{0, 1, 2, 9}, []blas.Uplo{blas.Lower, blas.Upper}) {
		a, b := newTile[T](n, n, 1), newTile[T](n, n, 2)
		s.fill(a, 1, nil)
		s.must(t, &op.Lasym{Uplo: uplo}, a, b)
		for i, j := range cells(n, n) {
			want := a.At(i, j)
			if !inPart(uplo, i, j) {
				want = a.At(j, i)
			}
			if b.At(i, j) != want {
				t.Fatalf("%c: (%d, %d) is %v, want %v", uplo, i, j, b.At(i, j), want)
			}
		}
	}
	s.work(t, 9, &op.Lasym{Uplo: blas.Upper}, newTile[T](3, 3, 0), newTile[T](3, 3, 0))
}
