package cpu

import (
	"fmt"
	"math/rand/v2"
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
	onNatives(b, func(b *testing.B, isa peak.ISA, p *Packed[T], c Caches) {
		l := NewLU(p, c)
		for _, n := range []int{128, 192, 256, 320} {
			for _, tiles := range []int{1, 2, 4, 8, 16} {
				b.Run(fmt.Sprintf("%dx%d", tiles*n, n), func(b *testing.B) { ratio[T](b, isa, getrfCase(l, tiles, n)) })
			}
		}
	})
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

// BenchmarkLaswp reports the rate at which the interchanges of a panel move the
// rows of a column of tiles, each of which is read and written.
func BenchmarkLaswp(b *testing.B) {
	const n = 256
	m := topo.Detect()
	c := Caches{L1: m.CacheSize(1), L2: m.CacheSize(2), L3: m.CacheSize(3)}
	ls := map[string]*LU[float64]{"go": NewLU(Portable[float64](), c)}
	for name, p := range natives[float64](c) {
		ls[name] = NewLU(p, c)
	}
	for name, l := range ls {
		for _, tiles := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, tiles*n, n), func(b *testing.B) {
				a, ipiv := make([]Block[float64], tiles), make([]int, n)
				for i := range a {
					a[i] = Block[float64]{Rows: n, Stride: n, Data: randomSlice[float64](n * n)}
				}
				for i := range ipiv {
					ipiv[i] = i + rand.IntN(tiles*n-i)
				}
				for b.Loop() {
					l.Laswp(n, a, ipiv, false)
				}
				b.SetBytes(4 * 8 * n * n)
			})
		}
	}
}
