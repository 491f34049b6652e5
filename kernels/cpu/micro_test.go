package cpu

import (
	"testing"

	"gonum.org/v1/gonum/blas"
)

// TestMicros: a product has the same bits with both micro-kernels in Go.
func TestMicros(t *testing.T) {
	t.Run("float64", testMicros[float64])
	t.Run("float32", testMicros[float32])
}

func testMicros[T Element](t *testing.T) {
	narrow, wide := Portable[T](), Portable[T]()
	narrow.NR, narrow.Micro = 2, micro4x2[T]
	wide.NR, wide.Micro = 4, micro4x4[T]
	for _, n := range []int{13, 16, 33, 70} {
		for _, k := range []int{1, 3, 4, 17, 300} {
			a, b, c := randomSlice[T](n*k), randomSlice[T](k*n), randomSlice[T](n*n)
			want := clone(c)
			for p, x := range map[*Packed[T]][]T{narrow: want, wide: c} {
				p.Gemm(blas.NoTrans, blas.NoTrans, n, n, k, 0.5, a, k, b, n, 1, x, n, dirty[T](p.Work(max(n, k))))
			}
			for i, v := range c {
				if v != want[i] {
					t.Fatalf("order %d over %d: element %d is %v, want %v", n, k, i, v, want[i])
				}
			}
		}
	}
}
