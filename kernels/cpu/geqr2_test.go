package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/internal/sorted"
)

// TestGeqr2: in every instruction set Q·R is A, the reflectors are orthogonal and T is theirs, for all shapes around those
// of vectors and strips and for hostile columns, and nothing else is read or written.
func TestGeqr2(t *testing.T) {
	t.Run("float64", testGeqr2[float64])
	t.Run("float32", testGeqr2[float32])
}

func testGeqr2[T Element](t *testing.T) {
	far := scalar.Pick[T](0x1p-38, 0x1p-390)
	hostile := map[string]func(a []T, m, n, lda int, i, j int) T{
		"random": func(a []T, m, n, lda, i, j int) T { return a[i*lda+j] },
		"zero below the diagonal": func(a []T, m, n, lda, i, j int) T {
			if j%3 == 1 && i > j {
				return 0
			}
			return a[i*lda+j]
		},
		"zero columns":      func(a []T, m, n, lda, i, j int) T { return a[i*lda+j] * T(j%3/2) },
		"dependent columns": func(a []T, m, n, lda, i, j int) T { return a[i*lda+j/2] },
		"small columns":     func(a []T, m, n, lda, i, j int) T { return a[i*lda+j/2] * T(far) },
		"graded rows":       func(a []T, m, n, lda, i, j int) T { return a[i*lda+j] * T(math.Ldexp(1, -i/2)) },
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	eps := scalar.Eps[T]()
	for set, p := range sorted.Map(natives[T](Caches{})) {
		block := p.ReflectorBlock()
		if block == 0 {
			continue
		}
		for _, shape := range [][3]int{{1, 1, 1}, {2, 1, 1}, {2, 2, 2}, {3, 5, 2}, {5, 5, 5}, {8, 9, 8}, {17, 16, 16}, {20, 19, 17}, {33, 33, 33},
			{64, 65, 64}, {40, 150, 40}, {150, 35, 31}} {
			m, n, k := shape[0], shape[1], shape[2]
			for kind, element := range sorted.Map(hostile) {
				name := fmt.Sprintf("%s: %d×%d, %d reflectors, %s", set, m, n, k, kind)
				lda := n + rnd.IntN(3)
				random := randomSlice[T](m * lda)
				a := slices.Clone(random)
				for i := range m {
					for j := range lda {
						a[i*lda+j] = T(math.NaN())
						if j < n {
							a[i*lda+j] = element(random, m, n, lda, i, j)
						}
					}
				}
				f, alone := slices.Clone(a), slices.Clone(a)
				f, alone = f[:(m-1)*lda+n], alone[:(m-1)*lda+n]
				tt, tau := dirty[T](min(block, k)*k), dirty[T](k)
				p.Geqr2(m, n, k, f, lda, tt, k)
				p.Geqr2(m, n, k, alone, lda, tau, 0)
				v := func(i, j int) float64 {
					switch {
					case i == j:
						return 1
					case i < j:
						return 0
					}
					return float64(f[i*lda+j])
				}
				dot := func(i, j int) (s float64) {
					for l := range m {
						s += v(l, i) * v(l, j)
					}
					return s
				}
				for j := range k {
					c := j % block
					by := float64(tt[c*k+j])
					if tau[j] != tt[c*k+j] {
						t.Fatalf("%s: factor %d is %v, and %v in T", name, j, tau[j], by)
					}
					if d := math.Abs(by*dot(j, j)-2) / float64(m); by != 0 && !(d <= 4*eps) {
						t.Fatalf("%s: reflector %d is not orthogonal by %v", name, j, d)
					}
					for i := range c {
						s, size := 0.0, 0.0
						for l := i; l < c; l++ {
							x := by * float64(tt[i*k+j-c+l]) * dot(j-c+l, j)
							s, size = s-x, size+math.Abs(x)
						}
						if !(math.Abs(float64(tt[i*k+j])-s) <= 4*eps*float64(m)*(size+math.Abs(by))) {
							t.Fatalf("%s: T(%d, %d) is %v, want %v", name, i, j, tt[i*k+j], s)
						}
					}
				}
				for j := range n {
					x, size := make([]float64, m), 0.0
					for i := range x {
						if size = math.Hypot(size, float64(a[i*lda+j])); i <= j || j >= k {
							x[i] = float64(f[i*lda+j])
						}
						if f[i*lda+j] != alone[i*lda+j] {
							t.Fatalf("%s: element (%d, %d) differs with T", name, i, j)
						}
					}
					for r := k - 1; r >= 0; r-- {
						s := 0.0
						for i := range x {
							s += v(i, r) * x[i]
						}
						for i := range x {
							x[i] -= float64(tau[r]) * s * v(i, r)
						}
					}
					for i := range x {
						if d := math.Abs(x[i] - float64(a[i*lda+j])); !(d <= 4*eps*float64(m)*size) {
							t.Fatalf("%s: element (%d, %d) of Q·R is %v, want %v", name, i, j, x[i], a[i*lda+j])
						}
					}
				}
				for i := range m - 1 {
					for j := n; j < lda; j++ {
						if f[i*lda+j] == f[i*lda+j] {
							t.Fatalf("%s: the element behind row %d is written", name, i)
						}
					}
				}
			}
		}
	}
}
