package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/internal/scalar"
)

// TestGeqp3: P·B = L·Qᵀ with an orthogonal Q and a descending diagonal, by Ormlq on the identity.
func TestGeqp3(t *testing.T) {
	t.Run("float64", testGeqp3[float64])
	t.Run("float32", testGeqp3[float32])
}

func testGeqp3[T Element](t *testing.T) {
	for name, p := range everyPacked[T]() {
		for _, dims := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 4}, {4, 1}, {2, 2}, {3, 5}, {31, 33}, {33, 31}, {64, 64}, {65, 70}, {100, 40},
			{40, 100}, {200, 200}, {300, 170}, {170, 300}} {
			for _, kind := range []string{"random", "zero", "rank 3", "decay", "ones"} {
				if dims[0]*dims[1] > 10000 && (kind != "decay" && (name == "go" || kind != "rank 3") || raceEnabled) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d×%d", name, kind, dims[0], dims[1]), func(t *testing.T) {
					checkGeqp3(t, p, kind, dims[0], dims[1], false)
					checkGeqp3(t, p, kind, dims[0], dims[1], true)
				})
			}
		}
	}
}

// pivotedMatrix returns an n×m matrix whose rows are lda elements apart.
func pivotedMatrix[T Element](rng *rand.Rand, kind string, n, m, ldb int) []T {
	b := make([]T, n*ldb)
	x, y := make([]float64, 3*n), make([]float64, 3*m)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	for i := range n {
		for j := range ldb {
			v := math.NaN()
			if j < m {
				switch kind {
				case "random":
					v = rng.NormFloat64()
				case "zero":
					v = 0
				case "ones":
					v = 1
				case "rank 3":
					v = x[i]*y[j] + x[n+i]*y[m+j] + x[2*n+i]*y[2*m+j]
				case "decay":
					v = rng.NormFloat64() * math.Pow(0.8, float64(i)) * math.Pow(0.9, float64(j))
				}
			}
			b[i*ldb+j] = T(v)
		}
	}
	return b
}

func checkGeqp3[T Element](t *testing.T, r Routines[T], kind string, n, m int, sketched bool) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	ldb := m + 2
	b := pivotedMatrix[T](rng, kind, n, m, ldb)
	was := slices.Clone(b)
	k := min(m, n)
	perm, tau := make([]int, n), make([]T, k)
	f := NewPivoted(r, nil)
	f.Geqp3(sketched, n, m, b, ldb, perm, tau, dirty[T](Geqp3Work(n, m)))
	if got := slices.Sorted(slices.Values(perm)); len(got) > 0 && (got[0] != 0 || got[n-1] != n-1 || len(slices.Compact(got)) != n) {
		t.Fatalf("not a permutation: %v", perm)
	}
	q := make([]T, m*m) // Qᵀ: row i is what H makes of the identity
	for i := range m {
		q[i*m+i] = 1
	}
	f.Ormlq(true, m, m, k, b, ldb, tau, q, max(m, 1), dirty[T](OrmlqWork(m)))
	eps := 2 * scalar.Eps[T]()
	loss, worst, top := 0.0, 0.0, 0.0
	for i := range m {
		for j := range i + 1 {
			s := 0.0
			for l := range m {
				s += float64(q[i*m+l]) * float64(q[j*m+l])
			}
			if i == j {
				s--
			}
			loss = max(loss, math.Abs(s))
		}
	}
	for i := range n {
		norm := 0.0
		for j := range m {
			x := float64(was[perm[i]*ldb+j])
			s := -x
			norm += x * x
			for l := range min(i+1, k) {
				s += float64(b[i*ldb+l]) * float64(q[l*m+j])
			}
			worst = max(worst, math.Abs(s))
		}
		top = max(top, math.Sqrt(norm))
	}
	if !(loss <= 30*eps*float64(m+n)) || !(worst <= 30*eps*float64(m+n)*top) {
		t.Errorf("sketched %v: orthogonality %.3g, residual %.3g of %.3g", sketched, loss/eps, worst/eps, top)
	}
	for i := 1; i < k && !sketched; i++ {
		x, y := math.Abs(float64(b[(i-1)*ldb+i-1])), math.Abs(float64(b[i*ldb+i]))
		if !(y <= x*1.01+30*eps*top) {
			t.Errorf("diagonal %d is %v after %v", i, y, x)
		}
	}
	// X·Q·Qᵀ = X
	x := make([]T, 2*m)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	y := slices.Clone(x)
	f.Ormlq(false, 2, m, k, b, ldb, tau, y, max(m, 1), dirty[T](OrmlqWork(m)))
	f.Ormlq(true, 2, m, k, b, ldb, tau, y, max(m, 1), dirty[T](OrmlqWork(m)))
	for i, v := range x {
		if !(math.Abs(float64(v-y[i])) <= 30*eps*float64(m)) {
			t.Fatalf("X·Q·Qᵀ has %v, want %v", y[i], v)
		}
	}
	// In parts, with the same bits.
	for _, units := range []int{2, 3} {
		c, perm2, tau2 := slices.Clone(was), make([]int, n), make([]T, k)
		NewPivoted(r, inTurns[T](units)).Geqp3(sketched, n, m, c, ldb, perm2, tau2, make([]T, Geqp3Work(n, m)))
		same := slices.Equal(perm, perm2) && slices.Equal(tau, tau2)
		for i := range n {
			same = same && slices.Equal(b[i*ldb:][:m], c[i*ldb:][:m])
		}
		if !same {
			t.Errorf("%d units: other bits", units)
		}
	}
}

func BenchmarkGeqp3(b *testing.B) {
	p := Fastest[float64](Caches{L1: 48 << 10, L2: 2 << 20, L3: 32 << 20})
	for _, n := range []int{100, 250, 500, 1000, 2000} {
		for _, sketched := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%v", n, sketched), func(b *testing.B) {
				a := pivotedMatrix[float64](rand.New(rand.NewPCG(1, 1)), "random", n, n, n)
				c, perm, tau, work := slices.Clone(a), make([]int, n), make([]float64, n), make([]float64, Geqp3Work(n, n))
				scratch := make([]float64, p.Work(n)+1<<16)
				f := NewPivoted[float64](p, func(parts, work int, f func(part, parts int, work []float64)) {
					for i := range parts {
						f(i, parts, scratch)
					}
				})
				for b.Loop() {
					copy(c, a)
					f.Geqp3(sketched, n, n, c, n, perm, tau, work)
				}
				b.ReportMetric(float64(n)*float64(n)*float64(n)*4/3*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
			})
		}
	}
}
