package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/internal/sorted"
	"gonum.org/v1/gonum/blas"
)

// everyQR is the QR routines of all implementations that this processor and
// build have.
func everyQR[T Element]() map[string]QRRoutines[T] {
	c := Caches{L1: 32 << 10, L2: 1 << 20, L3: 8 << 20}
	all := map[string]QRRoutines[T]{"go": NewQR[T](Portable[T]())}
	for name, p := range natives[T](c) {
		all[name] = NewQR[T](p)
	}
	if q, ok := BLASQR[T](); ok {
		all["blas"] = q
	}
	return all
}

// Every column of R is as long as that of A, whatever the sizes of the others
// are: no bits are lost where small columns meet large or less small ones.
func TestGeqrtColumnSizes(t *testing.T) {
	t.Run("float64", func(t *testing.T) {
		testColumnSizes[float64](t, 1e-13, []float64{1, 0x1p-190, 0x1p190, 0x1p-950, 0x1p-900, 0x1p-30, 0x1p500})
	})
	t.Run("float32", func(t *testing.T) {
		testColumnSizes[float32](t, 1e-5, []float64{1, 0x1p-29, 0x1p28, 0x1p-110, 0x1p-100, 0x1p-8, 0x1p60})
	})
}

func testColumnSizes[T Element](t *testing.T, tol float64, scales []float64) {
	const m, n, ib = 20, 11, 4
	rnd := rand.New(rand.NewPCG(17, 18))
	for name, q := range sorted.Map(everyQR[T]()) {
		for first, s0 := range scales {
			for _, s1 := range scales {
				a := make([]T, m*n)
				for i := range a {
					s := s1
					if i%n == 0 || i%n == 5 {
						s = s0
					}
					a[i] = T(s * rnd.NormFloat64())
				}
				length := func(j, rows int) float64 {
					sum := 0.0
					for i := range rows {
						sum = math.Hypot(sum, float64(a[i*n+j]))
					}
					return sum
				}
				var want [n]float64
				for j := range want {
					want[j] = length(j, m)
				}
				q.Geqrt(m, n, ib, a, n, make([]T, ib*n), n, make([]T, q.Work(m, n, ib)))
				for j, w := range want {
					if got := length(j, j+1); !(math.Abs(got/w-1) < tol) {
						t.Errorf("%s, sizes %v (%d) and %v: column %d is %v long, want %v: off by %.1g", name, s0, first, s1, j, got, w, got/w-1)
					}
				}
			}
		}
	}
}

// The scratch of a panel as high as a large matrix stays in proportion to it,
// and suffices in any proportion.
func TestQRWork(t *testing.T) {
	t.Run("float64", testQRWork[float64])
	t.Run("float32", testQRWork[float32])
}

func testQRWork[T Element](t *testing.T) {
	for name, q := range everyQR[T]() {
		const high, k, ib = 1 << 20, 48, 32
		// A strip of C, and the Go version's is wide.
		most := high * 128
		if name == "go" {
			most = high * 300
		}
		if got := q.Work(high, k, ib); got > most {
			t.Errorf("%s: %d elements of scratch for each row of %d columns", name, got/high, k)
		}
		for _, d := range [][3]int{{0, 3, 2}, {3, 0, 2}, {1, 1, 5}, {40, 1, 9}, {300, 5, 32}, {5, 300, 32}, {70, 70, 100}, {5, 520, 257}} {
			t.Run(fmt.Sprint(name, d), func(t *testing.T) { exactWork(t, q, d[0], d[1], d[2]) })
		}
	}
}

// exactWork calls the routines with scratch that ends where Work says.
func exactWork[T Element](t *testing.T, q QRRoutines[T], m, n, ib int) {
	line := 64 / int(unsafe.Sizeof(*new(T)))
	random := func(m, n int) []T { return randomSlice[T](m*n + line) }
	k := min(m, n)
	work := func(dim, k int) []T { return make([]T, q.Work(dim, k, ib)) }
	a, tt := random(m, n), random(min(ib, k), max(k, 1))
	q.Geqrt(m, n, ib, a, max(n, 1), tt, max(k, 1), work(max(m, n), k))
	for _, side := range []blas.Side{blas.Left, blas.Right} {
		for _, w := range []int{1, 60, 400} {
			rows, cols := m, w
			if side == blas.Right {
				rows, cols = w, m
			}
			q.Gemqrt(side, blas.Trans, rows, cols, k, ib, a, max(n, 1), tt, max(k, 1), random(rows, cols), max(cols, 1), work(max(rows, cols), k))
		}
	}
	if n == 0 {
		return
	}
	r, b, tn := random(n, n), random(m, n), random(min(ib, n), n)
	q.Tpqrt(m, n, 0, ib, r, n, b, n, tn, n, work(max(m, n), n))
	q.Tpmqrt(blas.Left, blas.Trans, m, 60, n, 0, ib, b, n, tn, n, random(n, 60), 60, random(m, 60), 60, work(max(m, n, 60), n))
	q.Tpmqrt(blas.Right, blas.Trans, 60, m, n, 0, ib, b, n, tn, n, random(60, n), n, random(60, m), max(m, 1), work(max(m, n, 60), n))
	if m > n {
		return
	}
	q.Tpqrt(m, n, m, ib, r, n, b, n, tn, n, work(n, n))
	q.Tpmqrt(blas.Left, blas.Trans, m, 60, n, m, ib, b, n, tn, n, random(n, 60), 60, random(m, 60), 60, work(max(n, 60), n))
}
