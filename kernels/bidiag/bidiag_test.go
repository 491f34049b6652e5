package bidiag

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
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/tridiag"
)

// byGonum is products by gonum, which need no scratch.
func byGonum[T scalar.Real]() tridiag.Tools[T] {
	return tridiag.Tools[T]{Work: func(int) int { return 0 }, Mul: func(m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int, work []T) {
		var by blasgonum.Implementation
		switch a := any(a).(type) {
		case []float64:
			by.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, lda, any(b).([]float64), ldb, 0, any(c).([]float64), ldc)
		case []float32:
			by.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, lda, any(b).([]float32), ldb, 0, any(c).([]float32), ldc)
		}
	}}
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

// problem is a bidiagonal matrix.
type problem struct {
	name string
	d, e []float64
}

// problems returns matrices that are known to be hard for one algorithm or another, of order n.
func problems(n int, rng *rand.Rand) (all []problem) {
	add := func(name string, d, e func(i int) float64) {
		p := problem{name, make([]float64, n), make([]float64, max(n-1, 0))}
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
	add("diagonal of rank one third", func(i int) float64 { return float64(max(0, 1-i%3)) }, constant(0))
	add("no diagonal", constant(0), random)
	add("zeros on the diagonal", func(i int) float64 { return float64(i % 2) }, random)
	add("1-1", constant(1), constant(1))
	add("1-(-1)", constant(-1), constant(1))
	add("constant", constant(2), constant(-1))
	add("graded down", func(i int) float64 { return math.Pow(2, -float64(i)) }, func(i int) float64 { return math.Pow(2, -float64(i)) })
	add("graded up", func(i int) float64 { return math.Pow(2, float64(i-n)) }, func(i int) float64 { return math.Pow(2, float64(i-n)) })
	add("graded both ways", func(i int) float64 { return math.Pow(10, -math.Abs(float64(i-n/2))) }, func(i int) float64 { return math.Pow(10, -math.Abs(float64(i-n/2))) })
	add("graded zigzag", func(i int) float64 { return math.Pow(10, -float64(i%16)) }, func(i int) float64 { return math.Pow(10, -float64(15-i%16)) })
	add("cluster at eps", func(i int) float64 { return 1 + float64(i%3)*1e-16 }, constant(1e-15))
	add("two clusters", func(i int) float64 { return 1 - .5*float64(i%2) }, constant(1e-9))
	add("weak couplings", random, func(i int) float64 { return math.Pow(10, -float64(i%17)) })
	add("glued", func(i int) float64 { return float64(1 + i%16) }, func(i int) float64 {
		if i%16 == 15 {
			return 1e-9
		}
		return 1
	})
	add("Kahan", func(i int) float64 { return math.Pow(math.Sin(1.2), float64(i)) }, func(i int) float64 { return -math.Cos(1.2) * math.Pow(math.Sin(1.2), float64(i)) })
	add("huge", func(i int) float64 { return 1e300 * random(i) }, func(i int) float64 { return 1e300 * random(i) })
	add("tiny", func(i int) float64 { return 1e-300 * random(i) }, func(i int) float64 { return 1e-300 * random(i) })
	add("denormal", func(i int) float64 { return 5e-324 * float64(i%5) }, constant(5e-324))
	add("one large", func(i int) float64 {
		if i == n/2 {
			return 1e10
		}
		return random(i)
	}, random)
	add("a tiny block", func(i int) float64 {
		if i < n/2 {
			return 1e-200 * random(i)
		}
		return random(i)
	}, func(i int) float64 {
		if i < n/2 {
			return 1e-200 * random(i)
		}
		return random(i)
	})
	add("of a random matrix", func(i int) float64 { return math.Sqrt(float64(n-i)) + .7*rng.NormFloat64() }, func(i int) float64 { return math.Sqrt(float64(n-i-1)) + .7*rng.NormFloat64() })
	add("singular", func(i int) float64 {
		if i == n-1 {
			return 0
		}
		return random(i)
	}, random)
	return all
}

// check returns the scaled residual ‖U·B·Vᵀ − Σ‖/(n·‖B‖·ε) of rows U and V and the loss of orthogonality
// ‖Q·Qᵀ − I‖/(n·ε).
func check[T scalar.Real](d, e, values []T, u, v Matrix[T]) (residual, loss float64) {
	n := len(d)
	eps := 2 * scalar.Eps[T]()
	norm := 0.0
	for i := range n {
		x := math.Abs(float64(d[i]))
		if i > 0 {
			x += math.Abs(float64(e[i-1]))
		}
		norm = max(norm, x)
	}
	// Values are rounded to the smallest numbers that there are.
	norm = max(norm, scalar.Pick[T](math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64)/eps)
	_, exp := math.Frexp(norm)
	scaled := func(x float64) float64 { return math.Ldexp(math.Ldexp(x, -exp/2), exp/2-exp) }
	for k := range n {
		x, y := u.Row(k), v.Row(k)
		sum := 0.0
		for i := range n { // B·v − σ·u
			r := scaled(float64(d[i]))*float64(y[i]) - scaled(float64(values[k]))*float64(x[i])
			if i < n-1 {
				r += scaled(float64(e[i])) * float64(y[i+1])
			}
			sum += math.Abs(r)
		}
		residual = max(residual, sum/scaled(norm)/float64(n)/eps)
		for _, q := range []Matrix[T]{u, v} {
			for l := range k + 1 {
				dot := 0.0
				for i, a := range q.Row(k) {
					dot += float64(a) * float64(q.Row(l)[i])
				}
				if l == k {
					dot--
				}
				loss = max(loss, math.Abs(dot)/float64(n)/eps)
			}
		}
	}
	return residual, loss
}

// converted returns a matrix in T. If all elements are out of the range of float32, they become of its range.
func converted[T scalar.Real](p problem) (d, e []T) {
	most := 0.0
	for _, v := range slices.Concat(p.d, p.e) {
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
	in := func(x []float64) []T {
		y := make([]T, len(x))
		for i, v := range x {
			y[i] = T(v * scale)
		}
		return y
	}
	return in(p.d), in(p.e)
}

// padded returns an n×n matrix with something beside it.
func padded[T scalar.Real](n int) Matrix[T] {
	q := Matrix[T]{Rows: n, Cols: n, Stride: n + 3, Data: make([]T, n*(n+3))}
	for i := range q.Data {
		q.Data[i] = T(math.NaN())
	}
	return q
}

// solve runs Bdsdc, or Bdsqr, on copies.
func solve[T scalar.Real](d, e []T, dc bool, crew tridiag.Crew[T]) (values []T, u, v Matrix[T], err error) {
	n := len(d)
	w, f := slices.Clone(d), slices.Clone(e)
	u, v = padded[T](n), padded[T](n)
	if dc {
		work := make([]T, WorkBdsdc(n))
		for i := range work {
			work[i] = T(math.NaN())
		}
		return w, u, v, Bdsdc(w, f, u, v, work, byGonum[T](), crew, nil)
	}
	for i := range n {
		clear(u.Row(i))
		clear(v.Row(i))
		u.Row(i)[i], v.Row(i)[i] = 1, 1
	}
	return w, u, v, Bdsqr(w, f, u, v, nil)
}

func testSolve[T scalar.Real](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 2, 3, 10, Leaf - 1, Leaf, Leaf + 1, 2*Leaf + 1, 2*Leaf + 2}
	if !testing.Short() {
		sizes = append(sizes, 3*Leaf+5, 200)
	}
	for _, n := range sizes {
		for _, p := range problems(n, rng) {
			for _, dc := range []bool{false, true} {
				d, e := converted[T](p)
				w, u, v, err := solve(d, e, dc, together[T])
				if err != nil {
					t.Errorf("%s %d dc %v: %v", p.name, n, dc, err)
					continue
				}
				for i, x := range w {
					if !(x >= 0) || i > 0 && x > w[i-1] {
						t.Errorf("%s %d: value %d is %v", p.name, n, i, x)
					}
				}
				if r, o := check(d, e, w, u, v); !(r < 30 && o < 30) {
					t.Errorf("%s %d dc %v: residual %.3g, orthogonality %.3g", p.name, n, dc, r, o)
				}
				for _, q := range []Matrix[T]{u, v} {
					for i := range n {
						for _, x := range q.Data[i*q.Stride+n : (i+1)*q.Stride] {
							if x == x {
								t.Fatal("written beside a matrix")
							}
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
	const n = 420 // several chunks, and four merges abreast
	for i, p := range problems(n, rng) {
		if testing.Short() && i%6 != 0 {
			continue
		}
		w, u, v, err := solve(p.d, p.e, true, together[float64])
		if err != nil {
			t.Fatal(err)
		}
		alone, u1, v1, err := solve(p.d, p.e, true, tridiag.Alone(make([]float64, tridiag.MergeScratch(n))))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(alone, w) {
			t.Errorf("%s: other values", p.name)
		}
		for i := range n {
			if !slices.Equal(u.Row(i), u1.Row(i)) || !slices.Equal(v.Row(i), v1.Row(i)) {
				t.Errorf("%s: another vector %d", p.name, i)
				break
			}
		}
	}
}

// TestValues: the values are gonum's: with a small relative error by Bdsqr, with one that is small beside the largest by
// Bdsdc.
func TestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 20, 50, 100, 230} {
		for _, p := range problems(n, rng) {
			if p.name == "denormal" {
				continue
			}
			want, f := slices.Clone(p.d), slices.Clone(p.e)
			scale := tridiag.ScaleFor(want, f, 1)
			tridiag.Multiply(want, scale)
			tridiag.Multiply(f, scale)
			if !(lapackgonum.Implementation{}).Dbdsqr(blas.Upper, n, 0, 0, 0, want, f, nil, 1, nil, 1, nil, 1, make([]float64, 4*n)) {
				t.Fatalf("%s: gonum's has not converged", p.name)
			}
			tridiag.Multiply(want, 1/scale)
			dc, _, _, err := solve(p.d, p.e, true, together[float64])
			if err != nil {
				t.Fatal(err)
			}
			qr, _, _, err := solve(p.d, p.e, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			alone := slices.Clone(p.d)
			if err := Bdsqr(alone, slices.Clone(p.e), Matrix[float64]{Rows: n}, Matrix[float64]{Rows: n}, nil); err != nil {
				t.Fatal(err)
			}
			for i, x := range want {
				relative := 100*float64(n)*0x1p-53*x + 1e-300*math.Abs(want[0])
				absolute := 20*float64(n)*0x1p-53*want[0] + 1e-320
				if math.Abs(qr[i]-x) > relative || math.Abs(alone[i]-x) > relative || math.Abs(dc[i]-x) > absolute {
					t.Errorf("%s %d: value %d is %v by Bdsqr, %v alone and %v by Bdsdc, gonum's %v", p.name, n, i, qr[i], alone[i], dc[i], x)
					break
				}
			}
		}
	}
}

// TestZeroValues: values that are exactly zero are that by divide and conquer too, unless others are added to them.
func TestZeroValues(t *testing.T) {
	for _, p := range problems(150, rand.New(rand.NewPCG(5, 6))) {
		if p.name != "diagonal of rank one third" {
			continue
		}
		w, _, _, err := solve(p.d, p.e, true, together[float64])
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range w {
			if x != float64(min(1, max(0, 50-i))) {
				t.Errorf("value %d is %v", i, x)
			}
		}
	}
}

// TestChosen: vectors that are chosen are those of a call for all, bit by bit, and no others are computed.
func TestChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 2, Leaf, Leaf + 1, 150} {
		for _, p := range problems(n, rng) {
			w, u, v, err := solve(p.d, p.e, true, together[float64])
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range [][2]int{{0, 0}, {0, 1}, {n - 1, n}, {n / 3, n/3 + min(n/3, 5)}, {0, n}} {
				first, last := part[0], part[1]
				d, u1, v1 := slices.Clone(p.d), padded[float64](n), padded[float64](n)
				calls := 0
				err := Bdsdc(d, slices.Clone(p.e), u1, v1, make([]float64, WorkBdsdc(n)), byGonum[float64](), together[float64],
					func(values []float64) (int, int) {
						if calls++; !slices.Equal(values, w) {
							t.Errorf("%s %d: other values to choose from", p.name, n)
						}
						return first, last
					})
				if err != nil || !slices.Equal(d, w) || calls != 1 {
					t.Fatalf("%s %d: %v, %d calls, or other values", p.name, n, err, calls)
				}
				for i := range last - first {
					if !slices.Equal(u1.Row(i), u.Row(first+i)) || !slices.Equal(v1.Row(i), v.Row(first+i)) {
						t.Errorf("%s %d, %d to %d: another vector %d", p.name, n, first, last, first+i)
						break
					}
				}
			}
		}
	}
}

func BenchmarkBdsdc(b *testing.B) {
	for _, n := range []int{64, 500, 1000} {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, p := range problems(n, rng) {
			if p.name != "of a random matrix" && p.name != "1-1" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", p.name, n), func(b *testing.B) {
				u, v := padded[float64](n), padded[float64](n)
				work := make([]float64, WorkBdsdc(n))
				scratch := make([]float64, tridiag.MergeScratch(n))
				for b.Loop() {
					if err := Bdsdc(slices.Clone(p.d), slices.Clone(p.e), u, v, work, byGonum[float64](), tridiag.Alone(scratch), nil); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%d/values", p.name, n), func(b *testing.B) {
				for b.Loop() {
					if err := Bdsqr(slices.Clone(p.d), slices.Clone(p.e), Matrix[float64]{Rows: n}, Matrix[float64]{Rows: n}, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestTinyPart: a part of a matrix whose elements are near the least numbers of the type leaves no NaN.
func TestTinyPart(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testTinyPart[float64](t, math.SmallestNonzeroFloat64) })
	t.Run("float32", func(t *testing.T) { testTinyPart[float32](t, math.SmallestNonzeroFloat32) })
}

func testTinyPart[T scalar.Real](t *testing.T, least T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := 70; n < 300; n += 5 {
		d, e := make([]T, n), make([]T, n-1)
		for i := range d {
			x, y := T(2*rng.Float64()-1), T(2*rng.Float64()-1)
			if i >= n/3 {
				x, y = T(rng.IntN(21)-10)*least, T(rng.IntN(21)-10)*least
			}
			if d[i] = x; i < n-1 {
				e[i] = y
			}
		}
		want, we := slices.Clone(d), slices.Clone(e)
		if err := Bdsqr(want, we, Matrix[T]{}, Matrix[T]{}, nil); err != nil {
			t.Fatal(err)
		}
		square := func() Matrix[T] { return Matrix[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)} }
		u, v := square(), square()
		if err := Bdsdc(d, e, u, v, make([]T, WorkBdsdc(n)), byGonum[T](), together[T], nil); err != nil {
			t.Fatal(err)
		}
		for i := range d {
			if !(abs(d[i]-want[i]) <= T(float64(n)*scalar.Eps[T]())*want[0]) {
				t.Fatalf("order %d: value %d is %v, want %v", n, i, d[i], want[i])
			}
		}
		for _, m := range []Matrix[T]{u, v} {
			for _, x := range m.Data {
				if x != x {
					t.Fatalf("order %d: a NaN in the vectors", n)
				}
			}
		}
	}
}
