package tiles

import (
	"math"
	"unsafe"

	"github.com/tessera-la/tessera/internal/scalar"
	"gonum.org/v1/gonum/blas"
)

// Bytes returns the memory that [New] takes for an m×n matrix, with the padding of rows, the bytes that align
// tiles, and the table of tiles. It returns math.MaxInt64 if that is 2⁶³ or more. m, n and nb are below 2³¹, and
// m = n unless kind is Full.
func Bytes[T Element](kind Kind, m, n, nb int64) int64 {
	rows, cols, r, c := m/nb, n/nb, m%nb, n%nb // numbers of whole tiles, and what is left
	whole, bottom, right := rows*cols, cols, rows
	switch kind.Uplo() {
	case blas.Lower:
		whole, right = rows*(rows+1)/2, 0
	case blas.Upper:
		whole, bottom = rows*(rows+1)/2, 0
	}
	size := int64(scalar.Size[T]())
	sum := float64((rows+min(r, 1))*(cols+min(c, 1))) * float64(unsafe.Sizeof(Tile[T]{})+tileAlign)
	for _, x := range [...]struct{ count, r, c int64 }{{whole, nb, nb}, {bottom, r, nb}, {right, nb, c}, {1, r, c}} {
		if x.r > 0 && x.c > 0 {
			sum += float64(x.count) * float64(x.r) * float64(strideFor(x.r, x.c, size)*size)
		}
	}
	if sum >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}
