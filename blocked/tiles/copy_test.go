package tiles

import (
	"math"
	"testing"
)

// Rows that are copied with those ahead of them being fetched arrive whole, and
// what lies between them stays.
func TestCopyRows(t *testing.T) {
	t.Run("float64", testCopyRows[float64])
	t.Run("float32", testCopyRows[float32])
}

func testCopyRows[T Element](t *testing.T) {
	for cols := 1; cols < 60; cols++ {
		for _, rows := range []int{1, 2, 9} {
			for _, gap := range []int{0, 1, 5} {
				ss, ld := cols+gap, cols+2*gap
				src, dst := make([]T, (rows-1)*ss+cols), make([]T, rows*ld)
				for i := range src {
					src[i] = T(i + 1)
				}
				for i := range dst {
					dst[i] = T(math.NaN())
				}
				copyRows(dst, ld, src, ss, rows, cols, true)
				for i := range rows {
					for j, v := range dst[i*ld : (i+1)*ld] {
						if j < cols && v != T(i*ss+j+1) || j >= cols && v == v {
							t.Fatalf("%d×%d, strides %d and %d: element (%d, %d) is %v", rows, cols, ss, ld, i, j, v)
						}
					}
				}
			}
		}
	}
}
