package cpu

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

// TestGer: the portable code and every instruction set agree with products in float64, for all widths around those of
// vectors and strips; what lies beside the rows is neither read nor written.
func TestGer(t *testing.T) {
	t.Run("float64", testGer[float64])
	t.Run("float32", testGer[float32])
}

func testGer[T Element](t *testing.T) {
	eps := 0x1p-52
	if unsafe.Sizeof(T(0)) == 4 {
		eps = 0x1p-23
	}
	for name, p := range everyPacked[T]() {
		for _, m := range []int{0, 1, 5, 64, 67, 130} {
			for _, n := range []int{0, 1, 3, 8, 17, 31, 64, 65, 100, 128, 129, 300} {
				lda, alpha := n+3, T(-1.5)
				a, x, y := randomSlice[T](m*lda+1), randomSlice[T](m), randomSlice[T](n)
				for i := range a {
					if i%lda >= n {
						a[i] = T(math.NaN())
					}
				}
				got := slices.Clone(a)
				p.Ger(m, n, alpha, x, y, got, lda)
				for i, v := range got {
					if r, c := i/lda, i%lda; r < m && c < n {
						product := float64(alpha) * float64(x[r]) * float64(y[c])
						want := float64(a[i]) + product
						if d := math.Abs(float64(v) - want); !(d <= 3*eps*(math.Abs(product)+math.Abs(float64(a[i])))) {
							t.Fatalf("%s: %d×%d: element %d, %d is %v, want %v", name, m, n, r, c, v, want)
						}
					} else if c >= n && v == v {
						t.Fatalf("%s: %d×%d: has written beside row %d", name, m, n, r)
					}
				}
			}
		}
	}
}
