package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/sorted"
)

// TestLasr: in every instruction set rows are rotated as by a loop in either direction, and nothing else is read or written.
func TestLasr(t *testing.T) {
	t.Run("float64", testLasr[float64])
	t.Run("float32", testLasr[float32])
}

func testLasr[T Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for set, p := range sorted.Map(natives[T](Caches{})) {
		lasr := LasrBy[T](p)
		if lasr == nil {
			continue
		}
		for _, k := range []int{0, 1, 2, 31} {
			for _, n := range []int{1, 3, 4, 8, 9, 16, 17, 31, 33, 64, 65, 129, 260} {
				for _, down := range []bool{false, true} {
					ld := n + 1 + rnd.IntN(3)
					a := randomSlice[T]((k + 1) * ld)
					for i := range a {
						if i%ld >= n {
							a[i] = T(math.NaN())
						}
					}
					want, cs := slices.Clone(a), make([]T, 2*k)
					first, step := 0, ld
					if down {
						first, step = k*ld, -ld
					}
					for r := range k {
						s, c := math.Sincos(rnd.Float64() * 7)
						cs[2*r], cs[2*r+1] = T(c), T(s)
						x, y := want[first+r*step:][:n], want[first+(r+1)*step:][:n]
						for j := range x {
							x[j], y[j] = cs[2*r]*x[j]+cs[2*r+1]*y[j], cs[2*r]*y[j]-cs[2*r+1]*x[j]
						}
					}
					lasr(n, a, first, step, cs)
					if i := differ(a, want); i >= 0 {
						t.Fatalf("%s: %d rotations of %d elements, step %d: element %d is %v, want %v", set, k, n, step, i, a[i], want[i])
					}
				}
			}
		}
	}
}
