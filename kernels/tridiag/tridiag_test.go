package tridiag

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/blas"
	blasgonum "gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"

	"github.com/tessera-la/tessera/internal/scalar"
)

// mul is a product by gonum.
func mul[T scalar.Real](m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T) {
	var by blasgonum.Implementation
	switch a := any(a).(type) {
	case []float64:
		by.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, lda, any(b).([]float64), ldb, 0, any(c).([]float64), ldc)
	case []float32:
		by.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, lda, any(b).([]float32), ldb, 0, any(c).([]float32), ldc)
	}
}

// byGonum is products by gonum, which need no scratch.
func byGonum[T scalar.Real]() Tools[T] {
	return Tools[T]{Work: func(int) int { return 0 }, Mul: mul[T]}
}

// together is a crew of several units, each of which takes the next part.
func together[T scalar.Real](parts, work int, f func(part, parts int, work []T)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(parts); i = next.Add(1) - 1 {
				f(int(i), parts, make([]T, work))
			}
		})
	}
	all.Wait()
}

// problem is a tridiagonal matrix.
type problem struct {
	name string
	d, e []float64
}

// problems returns matrices that are known to be hard for one algorithm or another, of order n ≥ 1.
func problems(n int, rng *rand.Rand) (all []problem) {
	add := func(name string, d, e func(i int) float64) {
		p := problem{name, make([]float64, n), make([]float64, n-1)}
		for i := range p.d {
			p.d[i] = d(i)
		}
		for i := range p.e {
			p.e[i] = e(i)
		}
		all = append(all, p)
	}
	constant := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	random := func(int) float64 { return 2*rng.Float64() - 1 }
	add("random", random, random)
	add("zero", constant(0), constant(0))
	add("identity", constant(1), constant(0))
	add("diagonal", random, constant(0))
	add("1-2-1", constant(2), constant(-1))
	add("constant diagonal", constant(0), constant(1))
	add("Wilkinson", func(i int) float64 { return math.Abs(float64(n-1)/2 - float64(i)) }, constant(1))
	for _, delta := range []float64{1e-4, 1e-8, 1e-14} {
		add(fmt.Sprintf("Wilkinson, glued by %g", delta), func(i int) float64 { return math.Abs(10 - float64(i%21)) }, func(i int) float64 {
			if i%21 == 20 {
				return delta
			}
			return 1
		})
	}
	add("Clement", constant(0), func(i int) float64 { return math.Sqrt(float64(i+1) * float64(n-1-i)) })
	add("graded down", func(i int) float64 { return math.Pow(2, -float64(i)) }, func(i int) float64 { return math.Pow(2, -float64(i)-1) })
	add("graded up", func(i int) float64 { return math.Pow(2, float64(i-n)) }, func(i int) float64 { return math.Pow(2, float64(i-n)-1) })
	add("cluster at eps", func(i int) float64 { return 1 + float64(i%3)*1e-16 }, constant(1e-15))
	add("weak couplings", random, func(i int) float64 { return math.Pow(10, -float64(i%17)) })
	add("huge", func(i int) float64 { return 1e300 * random(i) }, func(i int) float64 { return 1e300 * random(i) })
	add("tiny", func(i int) float64 { return 1e-300 * random(i) }, func(i int) float64 { return 1e-300 * random(i) })
	add("denormal", func(i int) float64 { return 5e-324 * float64(i%5) }, constant(5e-324))
	add("one large", func(i int) float64 {
		if i == n/2 {
			return 1e10
		}
		return random(i)
	}, random)
	add("Legendre", constant(0), func(i int) float64 { k := float64(i + 1); return k / math.Sqrt(4*k*k-1) })
	return all
}

// check returns the scaled residual ‖T·Q' − Q'·Λ‖₁/(n·‖T‖₁·ε) and the loss of orthogonality
// ‖Q·Qᵀ − I‖/(n·ε), of rows Q, one for each of values.
func check[T scalar.Real](d, e, values []T, q Matrix[T]) (residual, loss float64) {
	n := len(d)
	eps := 2 * scalar.Eps[T]()
	at := func(x []T, i int) float64 {
		if i < 0 || i >= len(x) {
			return 0
		}
		return float64(x[i])
	}
	norm := 0.0
	for i := range n {
		norm = max(norm, math.Abs(at(e, i-1))+math.Abs(at(d, i))+math.Abs(at(e, i)))
	}
	// Values are rounded to the smallest numbers that there are.
	norm = max(norm, scalar.Pick[T](math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64)/eps)
	_, exp := math.Frexp(norm)
	scaled := func(x float64) float64 { return math.Ldexp(math.Ldexp(x, -exp/2), exp/2-exp) }
	for k := range values {
		x := q.Row(k)
		sum := 0.0
		for i := range n {
			sum += math.Abs(scaled(at(e, i-1))*at(x, i-1) + scaled(at(d, i))*at(x, i) + scaled(at(e, i))*at(x, i+1) - scaled(float64(values[k]))*at(x, i))
		}
		residual = max(residual, sum/scaled(norm)/float64(n)/eps)
		for l := range k + 1 {
			y, dot := q.Row(l), 0.0
			for i := range n {
				dot += float64(x[i]) * float64(y[i])
			}
			if l == k {
				dot--
			}
			loss = max(loss, math.Abs(dot)/float64(n)/eps)
		}
	}
	return residual, loss
}

// converted returns x in T. Elements that float32 does not have become of its range.
func converted[T scalar.Real](x []float64) []T {
	y := make([]T, len(x))
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	scale := 1.0
	if scalar.Of[T]() == scalar.Float32 {
		if most > 1e38 {
			scale = 1e-265
		} else if most > 0 && most < 1e-38 {
			scale = 1e262
		}
	}
	for i, v := range x {
		y[i] = T(v * scale)
	}
	return y
}

// solve runs Stedc, or Steqr, on copies.
func solve[T scalar.Real](d, e []T, dc bool) ([]T, Matrix[T], error) {
	n := len(d)
	w, f := slices.Clone(d), slices.Clone(e)
	q := Matrix[T]{n, n, n + 3, make([]T, n*(n+3))}
	for i := range q.Data {
		q.Data[i] = T(math.NaN())
	}
	if dc {
		work := make([]T, WorkStedc(n))
		for i := range work {
			work[i] = T(math.NaN())
		}
		return w, q, Stedc(w, f, q, work, byGonum[T](), together[T], nil)
	}
	for i := range n {
		clear(q.Row(i))
		q.Row(i)[i] = 1
	}
	return w, q, Steqr(w, f, q, nil)
}

func testSolve[T scalar.Real](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 2, 3, 10, Leaf - 1, Leaf, Leaf + 1, 2*Leaf + 1}
	if !testing.Short() {
		sizes = append(sizes, 200)
	}
	for _, n := range sizes {
		for _, p := range problems(n, rng) {
			for _, dc := range []bool{false, true} {
				d, e := converted[T](p.d), converted[T](p.e)
				w, q, err := solve(d, e, dc)
				if err != nil {
					t.Errorf("%s %d: %v", p.name, n, err)
					continue
				}
				if !slices.IsSorted(w) {
					t.Errorf("%s %d: values not in order", p.name, n)
				}
				if r, o := check(d, e, w, q); !(r < 30 && o < 30) {
					t.Errorf("%s %d dc %v: residual %.3g, orthogonality %.3g", p.name, n, dc, r, o)
				}
				for i := range n {
					for _, x := range q.Data[i*q.Stride+n : (i+1)*q.Stride] {
						if x == x {
							t.Fatal("written beside q")
						}
					}
				}
			}
		}
	}
}

func TestSolve(t *testing.T) {
	t.Run("float64", testSolve[float64])
	t.Run("float32", testSolve[float32])
}

// TestBits: the crew makes no difference.
func TestBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 420 // two chunks, and four merges abreast
	for i, p := range problems(n, rng) {
		if testing.Short() && i%4 != 0 {
			continue
		}
		w, q, err := solve(p.d, p.e, true)
		if err != nil {
			t.Fatal(err)
		}
		d, e := slices.Clone(p.d), slices.Clone(p.e)
		alone := Matrix[float64]{n, n, n, make([]float64, n*n)}
		if err := Stedc(d, e, alone, make([]float64, WorkStedc(n)), byGonum[float64](), Alone(make([]float64, MergeScratch(n))), nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d, w) {
			t.Errorf("%s: other values", p.name)
		}
		for i := range n {
			if !slices.Equal(alone.Row(i), q.Row(i)) {
				t.Errorf("%s: another vector %d", p.name, i)
				break
			}
		}
	}
}

// TestValues: the eigenvalues are gonum's.
func TestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 50, 100, 230} {
		for _, p := range problems(n, rng) {
			d, e := slices.Clone(p.d), slices.Clone(p.e)
			scale := ScaleFor(d, e, 1) // gonum does not solve tiny and huge ones
			Multiply(d, scale)
			Multiply(e, scale)
			if !(lapackgonum.Implementation{}).Dsterf(n, d, e) {
				continue
			}
			for i := range d {
				d[i] /= scale
			}
			norm := 0.0
			for i := range n {
				norm = max(norm, math.Abs(p.d[i]))
				if i < n-1 {
					norm = max(norm, math.Abs(p.e[i]))
				}
			}
			w, _, err := solve(p.d, p.e, true)
			if err != nil {
				t.Fatal(err)
			}
			f := slices.Clone(p.d)
			if err := Sterf(f, slices.Clone(p.e)); err != nil {
				t.Fatal(err)
			}
			v, alone := slices.Clone(p.d), slices.Clone(p.d)
			if err := Values(v, slices.Clone(p.e), make([]float64, WorkValues(n)), byGonum[float64](), together[float64]); err != nil {
				t.Fatal(err)
			}
			if err := Values(alone, slices.Clone(p.e), make([]float64, WorkValues(n)), byGonum[float64](), Alone(make([]float64, MergeScratch(n)))); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(v, alone) || !slices.IsSorted(v) {
				t.Errorf("%s %d: the values depend on the units, or are not in order", p.name, n)
			}
			limit := 20*float64(n)*0x1p-53*norm + 5*math.SmallestNonzeroFloat64
			for i := range d {
				if math.Abs(w[i]-d[i]) > limit || math.Abs(f[i]-d[i]) > limit || math.Abs(v[i]-d[i]) > limit {
					t.Errorf("%s %d: value %d is %v by Stedc, %v by Sterf and %v by Values, gonum's %v", p.name, n, i, w[i], f[i], v[i], d[i])
					break
				}
			}
		}
	}
}

// TestChosen: vectors that are chosen are those of a call for all, bit by bit, and no others are computed.
func TestChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 2, Leaf, Leaf + 1, 300} {
		for _, p := range problems(n, rng) {
			w, q, err := solve(p.d, p.e, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range [][2]int{{0, 0}, {0, 1}, {n - 1, n}, {n / 3, n/3 + min(n/3, 5)}, {0, n}} {
				first, last := part[0], part[1]
				d, some := slices.Clone(p.d), Matrix[float64]{n, n, n, make([]float64, n*n)}
				calls := 0
				err := Stedc(d, slices.Clone(p.e), some, make([]float64, WorkStedc(n)), byGonum[float64](), Alone(make([]float64, MergeScratch(n))),
					func(values []float64) (int, int) {
						if calls++; !slices.Equal(values, w) {
							t.Errorf("%s %d: other values to choose from", p.name, n)
						}
						return first, last
					})
				if err != nil || !slices.Equal(d, w) || calls != 1 && n > 1 {
					t.Fatalf("%s %d: %v, %d calls, or other values", p.name, n, err, calls)
				}
				for i := range last - first {
					if !slices.Equal(some.Row(i), q.Row(first+i)) {
						t.Errorf("%s %d, %d to %d: another vector %d", p.name, n, first, last, first+i)
						break
					}
				}
			}
		}
	}
}

// TestGather: rows come to their places, whatever chains and cycles these make.
func TestGather(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for trial := range 500 {
		n := 1 + trial%9
		const cols = gatherColumns + 1 // two parts
		x := Matrix[float64]{n, cols, cols + 1, make([]float64, n*(cols+1))}
		for i := range n {
			x.Row(i)[0], x.Row(i)[cols-1] = float64(i), -float64(i)
		}
		var from []int32
		for _, r := range rng.Perm(n)[:rng.IntN(n+1)] {
			from = append(from, int32(r))
		}
		Gather(from, Alone(make([]float64, gatherColumns)), x)
		for i, r := range from {
			if want := float64(r); x.Row(i)[0] != want || x.Row(i)[cols-1] != -want {
				t.Fatalf("%v: row %d is that of %v, %v", from, i, x.Row(i)[0], x.Row(i)[cols-1])
			}
		}
	}
}

func BenchmarkStedc(b *testing.B) {
	for _, n := range []int{64, 500, 1000, 2000} {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, p := range problems(n, rng) {
			if p.name != "random" && p.name != "Clement" && p.name != "1-2-1" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", p.name, n), func(b *testing.B) {
				q := Matrix[float64]{n, n, n, make([]float64, n*n)}
				work := make([]float64, WorkStedc(n))
				for b.Loop() {
					if err := Stedc(slices.Clone(p.d), slices.Clone(p.e), q, work, byGonum[float64](), Alone(make([]float64, MergeScratch(n))), nil); err != nil {
						b.Fatal(err)
					}
				}
			})
			if n <= 1000 {
				b.Run(fmt.Sprintf("%s/%d/gonum", p.name, n), func(b *testing.B) {
					q := make([]float64, n*n)
					work := make([]float64, 2*n)
					for b.Loop() {
						(lapackgonum.Implementation{}).Dsteqr(lapack.EVTridiag, n, slices.Clone(p.d), slices.Clone(p.e), q, n, work)
					}
				})
			}
		}
	}
}
