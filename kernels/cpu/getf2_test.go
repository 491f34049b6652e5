package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/sorted"
)

// TestGetf2: in every instruction set L·U is A but for rounding, with multipliers of at most 1 and the pivots of a loop, and
// nothing else is read or written.
func TestGetf2(t *testing.T) {
	t.Run("float64", testGetf2[float64])
	t.Run("float32", testGetf2[float32])
}

func testGetf2[T Element](t *testing.T) {
	rnd, eps := rand.New(rand.NewPCG(11, 12)), scalar.Eps[T]()
	for set, p := range sorted.Map(natives[T](Caches{})) {
		if p.vectors.Ger2 == nil {
			continue // Getrf factors all matrices there
		}
		for _, n := range []int{1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 34, 47, 48} {
			for _, kind := range []string{"random", "zero columns", "small integers"} {
				lda := n + rnd.IntN(3)
				a := randomSlice[T]((n-1)*lda + n)
				for i := range a {
					switch j := i % lda; {
					case j >= n:
						a[i] = T(math.NaN())
					case kind == "zero columns" && j%5 == 3:
						a[i] = 0
					case kind == "small integers": // pivots of the same size, and dependent rows
						a[i] = T(rnd.IntN(5) - 2)
					}
				}
				f, loop, ipiv, pivots := slices.Clone(a), slices.Clone(a), make([]int, n), make([]int, n)
				info, done := p.Getf2(n, f, lda, ipiv)
				if !done {
					t.Fatalf("%s, %d: not factored, though there is a kernel", set, n)
				}
				if want := SmallGetrf(n, n, loop, lda, pivots); kind == "random" && (info != want || !slices.Equal(ipiv, pivots)) {
					t.Fatalf("%s: %s, order %d: info %d, pivots %v, want %d, %v", set, kind, n, info, ipiv, want, pivots)
				}
				for i, r := range ipiv {
					for j := range n {
						a[i*lda+j], a[r*lda+j] = a[r*lda+j], a[i*lda+j]
					}
				}
				for i := range n {
					for j := range n {
						if i > j && !(abs(f[i*lda+j]) <= 1) {
							t.Fatalf("%s: %s, order %d: multiplier (%d, %d) is %v", set, kind, n, i, j, f[i*lda+j])
						}
						s, size := 0.0, 0.0
						for k := range min(i, j) + 1 {
							l := 1.0
							if k < i {
								l = float64(f[i*lda+k])
							}
							x := l * float64(f[k*lda+j])
							s, size = s+x, size+math.Abs(x)
						}
						if d := math.Abs(s - float64(a[i*lda+j])); !(d <= 2*eps*float64(n)*size) {
							t.Fatalf("%s: %s, order %d: element (%d, %d) of L·U is %v, want %v", set, kind, n, i, j, s, a[i*lda+j])
						}
					}
				}
				for i := range n - 1 {
					for j := n; j < lda; j++ {
						if f[i*lda+j] == f[i*lda+j] {
							t.Fatalf("%s: the element behind row %d is written", set, i)
						}
					}
				}
			}
		}
	}
}
