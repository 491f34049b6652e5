package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
)

// TestSecular: the kernels of every instruction set agree with sums and quotients in float64, and leave elements
// behind the whole vectors alone.
func TestSecular(t *testing.T) {
	t.Run("float64", testSecular[float64])
	t.Run("float32", testSecular[float32])
}

func testSecular[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	if SecularBy[T](Portable[T]()) != nil {
		t.Fatal("the portable code has kernels")
	}
	for name, p := range sorted.Map(natives[T](Caches{})) {
		s := SecularBy[T](p)
		if s == nil {
			continue
		}
		for n := range 70 {
			d, w, x := make([]T, n), randomSlice[T](n), make([]T, n)
			for i := range n {
				d[i], x[i] = T(i)+T(rnd.Float64())/2, T(1+rnd.Float64())
			}
			tau := T(-0.25)
			done, value, slope := s.Sums(d, w, tau)
			var sums [2]float64
			for i := range done {
				q := 1 / (float64(d[i]) - float64(tau))
				sums[0] += float64(w[i]) * q
				sums[1] += float64(w[i]) * q * q
			}
			if i := differ([]T{value, slope}, []T{T(sums[0]), T(sums[1])}); i >= 0 || n-done >= 16 || done > n {
				t.Fatalf("%s: %d of %d elements have the sums %v %v, want %v", name, done, n, value, slope, sums)
			}
			for _, squares := range []bool{false, true} {
				f, want := randomSlice[T](n), make([]T, n)
				copy(want, f)
				for i := range done {
					divisor := float64(d[i]) - float64(tau)
					if squares {
						divisor *= float64(d[i]) + float64(tau)
					}
					want[i] *= T(float64(x[i]) / divisor)
				}
				if s.Factors(d, tau, squares, x, f) != done {
					t.Fatalf("%s: not as many factors as sums", name)
				}
				if i := differ(f, want); i >= 0 {
					t.Fatalf("%s: factor %d of %d is %v, want %v", name, i, n, f[i], want[i])
				}
			}
			y, want := make([]T, n), make([]T, n)
			for i := range done {
				want[i] = w[i] / x[i]
			}
			s.Quotients(w, x, y)
			if i := differ(y, want); i >= 0 {
				t.Fatalf("%s: quotient %d of %d is %v, want %v", name, i, n, y[i], want[i])
			}
		}
	}
}

// TestStrips: products with strips are those of the portable code. Memory between rows is NaN.
func TestStrips(t *testing.T) {
	t.Run("float64", testStrips[float64])
	t.Run("float32", testStrips[float32])
}

func testStrips[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for name, p := range sorted.Map(natives[T](Caches{})) {
		by, plain := newCondensed[T](p, nil), newCondensed[T](Portable[T](), nil)
		for n := 1; n < 300; n += 1 + n/20 {
			for _, m := range []int{1, 3, 4, 6, 17} {
				lda, first := n+1+rnd.IntN(3), rnd.IntN(200)
				a := randomSlice[T](m * lda)
				for i := range a {
					if i%lda >= n {
						a[i] = T(math.NaN())
					}
				}
				x, y, w, z := randomSlice[T](m), randomSlice[T](m), randomSlice[T](n), randomSlice[T](n)
				got, want := slices.Clone(a), slices.Clone(a)
				by.stripUpdate(m, n, got, lda, x, y, w, z)
				plain.stripUpdate(m, n, want, lda, x, y, w, z)
				for i := range m {
					if j := differ(got[i*lda:][:n], want[i*lda:][:n]); j >= 0 || got[i*lda+n] == got[i*lda+n] {
						t.Fatalf("%s: %d×%d, update: row %d is wrong at %d", name, m, n, i, j)
					}
				}
				for _, columns := range []bool{true, false} {
					x, y := randomSlice[T](m), randomSlice[T](n+1)
					product := (*condensed[T]).stripColumns
					if !columns {
						x, y = y[:n], append(x, 1)
						product = (*condensed[T]).stripRows
					}
					got, want := append([]T(nil), y...), append([]T(nil), y...)
					product(&by, first, m, n, a, lda, x, got[:len(y)-1])
					product(&plain, first, m, n, a, lda, x, want[:len(y)-1])
					if i := differ(got, want); i >= 0 {
						t.Fatalf("%s: %d×%d, columns %t: element %d is %v, want %v", name, m, n, columns, i, got[i], want[i])
					}
				}
			}
		}
	}
}
