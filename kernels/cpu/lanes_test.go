package cpu

import (
	"math"
	"testing"
	"unsafe"
)

// TestLanesGetrf: in each lane of every instruction set a matrix has the pivots of the portable code and, but for rounding,
// its factors. One matrix has a column of zeros.
func TestLanesGetrf(t *testing.T) {
	t.Run("float64", testLanesGetrf[float64])
	t.Run("float32", testLanesGetrf[float32])
}

func testLanesGetrf[T Element](t *testing.T) {
	eps := 0x1p-52
	if unsafe.Sizeof(T(0)) == 4 {
		eps = 0x1p-23
	}
	for name, p := range natives[T](Caches{}) {
		v := p.Lanes()
		if v == nil {
			continue
		}
		for _, n := range []int{1, 2, 3, 5, 8, 13} {
			lanes := v.Count()
			a, x := randomSlice[T](lanes*n*n), make([]T, lanes*n*n)
			for i := range n {
				a[i*n+n-1] = 0
			}
			ipiv, info := make([]int, lanes*n), make([]int, lanes)
			v.Interleave(n*n, x, a, n*n)
			v.Getrf(n, x, ipiv, info)
			got := make([]T, lanes*n*n)
			v.Separate(n*n, got, n*n, x)
			for l := range lanes {
				want, pivots := a[l*n*n:(l+1)*n*n], make([]int, n)
				if wanted := SmallGetrf(n, n, want, n, pivots); info[l] != wanted {
					t.Fatalf("%s: lane %d of order %d has info %d, want %d", name, l, n, info[l], wanted)
				}
				for i, w := range want {
					if d := math.Abs(float64(got[l*n*n+i] - w)); !(d <= 1e4*eps*(1+math.Abs(float64(w)))) {
						t.Fatalf("%s: lane %d of order %d has %v at %d, want %v", name, l, n, got[l*n*n+i], i, w)
					}
				}
				for k, r := range pivots {
					if ipiv[l*n+k] != r {
						t.Fatalf("%s: lane %d of order %d has pivot %d in step %d, want %d", name, l, n, ipiv[l*n+k], k, r)
					}
				}
			}
		}
	}
}
