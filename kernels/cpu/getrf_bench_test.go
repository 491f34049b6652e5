package cpu

import (
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/internal/peak"
	"github.com/tessera-la/tessera/internal/topo"
)

// BenchmarkGetrf reports the best rate of the factorization of a panel in tiles
// of as many rows as it has columns, and its ratio to the FMA peak.
func BenchmarkGetrf(b *testing.B) {
	b.Run("f64", benchGetrf[float64])
	b.Run("f32", benchGetrf[float32])
}

func benchGetrf[T Element](b *testing.B) {
	m := topo.Detect()
	c := Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)}
	for name, p := range natives[T](c) {
		isa, err := peak.ParseISA(name)
		if err != nil {
			b.Fatal(err)
		}
		l := NewLU(p, c)
		for _, n := range []int{128, 192, 256, 320} {
			for _, tiles := range []int{1, 2, 4, 8, 16} {
				b.Run(fmt.Sprintf("%s/%dx%d", name, tiles*n, n), func(b *testing.B) {
					ratio[T](b, isa, getrfCase(l, tiles, n))
				})
			}
		}
	}
}

func getrfCase[T Element](l *LU[T], tiles, n int) ratioCase {
	m := tiles * n
	a, was := make([]Block[T], tiles), randomSlice[T](m*n)
	for i := range a {
		a[i] = Block[T]{Rows: n, Stride: n, Data: make([]T, n*n)}
	}
	ipiv, work := make([]int, n), make([]T, l.Work(m, n))
	k := float64(n)
	return ratioCase{
		name:  "getrf",
		flops: k * k * (float64(m) - k/3),
		prepare: func() {
			for i := range a {
				copy(a[i].Data, was[i*n*n:])
			}
		},
		run: func() { l.Getrf(n, a, ipiv, work) },
	}
}
