package tiles_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/tiles"
)

// TestStructure breaks each property by one element at a time.
func TestStructure(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{0, 1, 2, 7, 40, 70} {
		for _, nb := range []int{4, 33, 100} {
			check := func(what string, a *tiles.Matrix[float64], want tiles.Structure) {
				t.Helper()
				if got := a.Structure(3); got != want {
					t.Errorf("%s, n %d, nb %d: %+v, want %+v", what, n, nb, got, want)
				}
			}
			diagonal := tiles.New[float64](tiles.Full, n, n, nb)
			symmetric := diagonal.Clone()
			for i := range n {
				diagonal.Set(i, i, float64(i))
				for j := range i + 1 {
					v := rnd.NormFloat64()
					symmetric.Set(i, j, v)
					symmetric.Set(j, i, v)
				}
			}
			check("diagonal", diagonal, tiles.Structure{Lower: true, Upper: true, Symmetric: true})
			if n > 0 {
				bad := diagonal.Clone()
				i := rnd.IntN(n)
				bad.Set(i, i, math.NaN())
				check("diagonal with NaN", bad, tiles.Structure{Lower: true, Upper: true})
			}
			if n < 2 {
				continue
			}
			check("symmetric", symmetric, tiles.Structure{Symmetric: true})
			for range 20 {
				i := 1 + rnd.IntN(n-1)
				j := rnd.IntN(i)
				what := fmt.Sprintf("one at (%d, %d)", i, j)
				a := diagonal.Clone()
				a.Set(i, j, 1)
				check(what, a, tiles.Structure{Lower: true})
				check(what+", transposed", a.Transposed(), tiles.Structure{Upper: true})
				a.Set(j, i, 1)
				check(what+" and its image", a, tiles.Structure{Symmetric: true})
				a.Set(j, i, math.Nextafter(1, 2))
				check(what+", and another", a, tiles.Structure{})
				b := symmetric.Clone()
				b.Set(i, j, math.Nextafter(b.At(i, j), 100))
				check(what+", changed", b, tiles.Structure{})
				b = symmetric.Clone()
				b.Set(i, j, math.NaN())
				b.Set(j, i, math.NaN())
				check(what+", NaN", b, tiles.Structure{})
			}
		}
	}
	for kind, want := range map[tiles.Kind]tiles.Structure{
		tiles.SymLower: {Symmetric: true}, tiles.SymUpper: {Symmetric: true},
		tiles.TriLower: {Lower: true}, tiles.TriUpper: {Upper: true},
	} {
		if got := tiles.New[float32](kind, 5, 5, 2).Structure(1); got != want {
			t.Errorf("%v: %+v", kind, got)
		}
	}
	if v := blockedtest.Recovered(func() { tiles.New[float32](tiles.Full, 5, 4, 2).Structure(1) }); v != tiles.ErrShape {
		t.Errorf("panic %v, want ErrShape", v)
	}
}

func BenchmarkStructure(b *testing.B) {
	const n = 4096
	a := tiles.New[float64](tiles.Full, n, n, 512)
	for i := range n {
		for j := range n {
			a.Set(i, j, float64(i+j+1))
		}
	}
	b.SetBytes(8 * n * n)
	for b.Loop() {
		if !a.Structure(0).Symmetric {
			b.Fatal("not symmetric")
		}
	}
}
