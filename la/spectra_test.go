package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// hardMatrix is a kind of matrices, as a function of the order and the place.
type hardMatrix struct {
	name string
	at   func(n, i, j int, rng *rand.Rand) float64
}

// leastMatrices are matrices of so small elements that rounding errors are not relative ones.
var leastMatrices = []hardMatrix{
	{"denormal", func(n, i, j int, rng *rand.Rand) float64 { return 5e-324 * float64(rng.IntN(7)-3) }},
	{"nearly zero", func(n, i, j int, rng *rand.Rand) float64 { return 1e-317 * rng.NormFloat64() }},
}

// hardMatrices are matrices that are known to be hard for one algorithm or another.
var hardMatrices = []hardMatrix{
	{"random", func(n, i, j int, rng *rand.Rand) float64 { return rng.NormFloat64() }},
	{"zero", func(n, i, j int, rng *rand.Rand) float64 { return 0 }},
	{"identity", func(n, i, j int, rng *rand.Rand) float64 { return math.Max(0, float64(1-abs(i-j))) }},
	{"ones", func(n, i, j int, rng *rand.Rand) float64 { return 1 }},
	{"tiny", func(n, i, j int, rng *rand.Rand) float64 { return 1e-150 * rng.NormFloat64() }},
	{"huge", func(n, i, j int, rng *rand.Rand) float64 { return 1e150 * rng.NormFloat64() }},
	{"tiniest", func(n, i, j int, rng *rand.Rand) float64 { return 1e-300 * rng.NormFloat64() }},
	{"hugest", func(n, i, j int, rng *rand.Rand) float64 { return 1e300 * rng.NormFloat64() }},
	{"graded", func(n, i, j int, rng *rand.Rand) float64 {
		return rng.NormFloat64() * math.Pow(10, -16*float64(i+j)/float64(2*n))
	}},
	{"graded the other way", func(n, i, j int, rng *rand.Rand) float64 {
		return rng.NormFloat64() * math.Pow(10, 16*float64(i+j-2*n)/float64(2*n))
	}},
	{"geometric diagonal", func(n, i, j int, rng *rand.Rand) float64 {
		return 1e-16*rng.NormFloat64() + math.Max(0, float64(1-abs(i-j)))*math.Pow(10, -16*float64(i)/float64(n))
	}},
	{"cluster", func(n, i, j int, rng *rand.Rand) float64 {
		return 1e-15*rng.NormFloat64() + math.Max(0, float64(1-abs(i-j)))
	}},
	{"1-2-1", banded(func(n, i int) float64 { return 2 }, func(n, i int) float64 { return 1 })},
	{"Wilkinson", banded(func(n, i int) float64 { return math.Abs(float64(2*i-n+1) / 2) }, func(n, i int) float64 { return 1 })},
	{"glued Wilkinson", glued(1e-8)},
	{"glued Wilkinson, 1e-4", glued(1e-4)},
	{"glued Wilkinson, 1e-14", glued(1e-14)},
	{"Clement", banded(func(n, i int) float64 { return 0 }, func(n, i int) float64 { return math.Sqrt(float64((i + 1) * (n - 1 - i))) })},
	{"Hilbert", func(n, i, j int, rng *rand.Rand) float64 { return 1 / float64(i+j+1) }},
	{"Kahan", func(n, i, j int, rng *rand.Rand) float64 {
		if i == j {
			return math.Pow(0.8, float64(i))
		}
		return -0.6 * math.Pow(0.8, float64(min(i, j)))
	}},
	{"rank two", func(n, i, j int, rng *rand.Rand) float64 { return float64(i + j) }},
	{"arrow", func(n, i, j int, rng *rand.Rand) float64 {
		if i == j || min(i, j) == 0 {
			return float64(i + j + 1)
		}
		return 0
	}},
	{"arithmetic diagonal", banded(func(n, i int) float64 { return 1 - float64(i)/float64(n) }, func(n, i int) float64 { return 1e-16 })},
	{"two blocks", func(n, i, j int, rng *rand.Rand) float64 {
		if (i < n/2) != (j < n/2) {
			return 0
		}
		return rng.NormFloat64()
	}},
}

// glued returns copies of Wilkinson's matrix of order 21, next to one another and coupled by delta.
func glued(delta float64) func(n, i, j int, rng *rand.Rand) float64 {
	return banded(func(n, i int) float64 { return math.Abs(float64(i%21 - 10)) }, func(n, i int) float64 {
		if i%21 == 20 {
			return delta
		}
		return 1
	})
}

// banded returns a tridiagonal matrix.
func banded(d, e func(n, i int) float64) func(n, i, j int, rng *rand.Rand) float64 {
	return func(n, i, j int, rng *rand.Rand) float64 {
		switch abs(i - j) {
		case 0:
			return d(n, i)
		case 1:
			return e(n, min(i, j))
		}
		return 0
	}
}

func abs(i int) int { return max(i, -i) }

// lift multiplies the elements x of a matrix and its values by a power of two if they are so small that they are rounded to the least
// numbers that there are, and returns an eps that has that in it.
func lift(x, values []float64, eps float64) float64 {
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(v))
	}
	if top == 0 || top > 1e-290 {
		return eps
	}
	for _, y := range [][]float64{x, values} {
		for i := range y {
			y[i] = math.Ldexp(y[i], 600)
		}
	}
	return max(eps, math.Ldexp(math.SmallestNonzeroFloat64, 600)/math.Ldexp(top, 600))
}

// TestManySpectra: three thousand random and hostile matrices of all shapes to 300 have small residuals and orthogonal vectors. Some of
// the larger ones are decomposed by 1, 2 and 3 workers, with the same bits.
func TestManySpectra(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: run by make test-long")
	}
	const count, eps = 3000, 0x1p-52
	engines := []*la.Engine{nil}
	for workers := 1; workers <= 3; workers++ {
		engines = append(engines, engineOf(t, la.Options{Workers: workers, Deterministic: true}))
	}
	rng := rand.New(rand.NewPCG(23, 24))
	size := func() int { return 1 + int(300*math.Pow(rng.Float64(), 5)) }
	shared, kinds := 0, slices.Concat(hardMatrices, leastMatrices)
	for k := range count {
		h := kinds[k%len(kinds)]
		m, n := size(), size()
		symmetric := k/len(kinds)%2 == 0
		if symmetric {
			m = n
		} else if k%3 == 0 {
			m, n = max(m, n), max(m, n)
		}
		what := fmt.Sprintf("matrix %d, %s, %d×%d", k, h.name, m, n)
		a := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				if symmetric && j < i {
					a.Set(i, j, a.At(j, i))
				} else {
					a.Set(i, j, h.at(max(m, n), i, j, rng))
				}
			}
		}
		on := engines[:1]
		if max(m, n) > 200 && k%4 == 0 {
			on = engines[1:]
			shared++
		}
		var values []float64
		var u, v mat.Dense
		for i, e := range on {
			var x []float64
			var left, right mat.Dense
			if symmetric {
				c, way := la.NewEigenSym[float64](e), la.OneStage
				if k%3 == 0 {
					way = la.TwoStages
				}
				if err := c.Factorize(la.Symmetric[float64]{Uplo: 'U', N: n, Stride: n, Data: a.RawMatrix().Data}, true, way); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				x = c.Values(nil)
				c.VectorsTo(&left)
			} else {
				c, way := la.NewSVD[float64](e), la.OneStage
				if k%2 == 0 {
					way = la.TwoStages
				}
				if err := c.Factorize(a, mat.SVDThin, way); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				x = c.Values(nil)
				c.UTo(&left)
				c.VTo(&right)
			}
			if i > 0 {
				if !slices.Equal(x, values) || !mat.Equal(&left, &u) || !symmetric && !mat.Equal(&right, &v) {
					t.Errorf("%s: other bits with %d workers", what, i+1)
				}
				continue
			}
			values, u, v = x, left, right
		}
		about := lift(a.RawMatrix().Data, values, eps)
		var r, o float64
		if symmetric {
			r, o = eigenErrors(mat.NewSymDense(n, a.RawMatrix().Data), values, &u, about)
		} else {
			r, o = svdErrors(a, values, &u, &v, about)
		}
		if !(r < 30 && o*about/eps < 30) {
			t.Errorf("%s: residual %.3g, orthogonality %.3g", what, r, o*about/eps)
		}
	}
	t.Logf("%d matrices, %d of them with 1, 2 and 3 workers", count, shared)
}

// TestEdges: orders around the sizes of leaves, bands, panels and parts, and around those from which on another algorithm is taken.
func TestEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	var c, two la.EigenSym[float64]
	var d, d2 la.SVD[float64]
	var g la.Eigen[float64]
	for _, edge := range []int{16, 32, 48, 64, 96, 128} {
		for n := edge - 1; n <= edge+1; n++ {
			s, a := randomSymmetric(n, rng), randomSVD(n+1, n, rng)
			square := a.Slice(0, n, 0, n).(*mat.Dense)
			if err := errors.Join(c.Factorize(s, true, la.OneStage), two.Factorize(s, true, la.TwoStages), d.Factorize(a, mat.SVDThin, la.OneStage),
				d2.Factorize(a, mat.SVDThin, la.TwoStages), g.Factorize(square, mat.EigenRight)); err != nil {
				t.Fatal(err)
			}
			var z, z2, u, v mat.Dense
			var x mat.CDense
			c.VectorsTo(&z)
			two.VectorsTo(&z2)
			d.UTo(&u)
			d.VTo(&v)
			g.VectorsTo(&x)
			judge := func(what string, r, o float64) {
				if !(r < 30 && o < 30) {
					t.Errorf("order %d: %s: residual %.3g, orthogonality %.3g", n, what, r, o)
				}
			}
			r, o := eigenErrors(s, c.Values(nil), &z, 0x1p-52)
			judge("EigenSym", r, o)
			r, o = eigenErrors(s, two.Values(nil), &z2, 0x1p-52)
			judge("EigenSym in two stages", r, o)
			r, o = svdErrors(a, d.Values(nil), &u, &v, 0x1p-52)
			judge("SVD", r, o)
			d2.UTo(&u)
			d2.VTo(&v)
			r, o = svdErrors(a, d2.Values(nil), &u, &v, 0x1p-52)
			judge("SVD in two stages", r, o)
			judge("Eigen", generalError(square, g.Values(nil), &x, 0x1p-52), 0)
		}
	}
}

// TestSpectra: hundreds of random and hostile matrices to order 300, and a few larger ones, have small residuals and orthogonal vectors, and eigenvalues and
// singular values without vectors are the same but for rounding, with the same bits for any number of workers.
func TestSpectra(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: run by make test-long")
	}
	t.Run("float64", func(t *testing.T) { testSpectra[float64](t, 0x1p-52) })
	t.Run("float32", func(t *testing.T) { testSpectra[float32](t, 0x1p-23) })
}

func testSpectra[T la.Element](t *testing.T, eps float64) {
	var engines []*la.Engine
	for _, workers := range []int{1, 2, 3} {
		engines = append(engines, engineOf(t, la.Options{Workers: workers, Deterministic: true}))
	}
	rng := rand.New(rand.NewPCG(21, 22))
	count := 0
	for n := 1; n <= 300; n += 1 + n/100*10 {
		for range 7 {
			spectrum[T](t, n, count%len(hardMatrices), engines, rng, eps)
			count++
		}
	}
	for _, n := range []int{350, 511} {
		for _, kind := range []int{8, 14} {
			spectrum[T](t, n, kind, engines, rng, eps)
		}
	}
}

// spectrum judges the decompositions of one matrix.
func spectrum[T la.Element](t *testing.T, n, kind int, engines []*la.Engine, rng *rand.Rand, eps float64) {
	h := hardMatrices[kind]
	what := fmt.Sprintf("%s, order %d", h.name, n)
	a := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
	plain := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			x := T(h.at(n, i, j, rng))
			if math.IsInf(float64(x), 0) { // no eigenvalue is to be too large for T
				x = T(math.Copysign(1e38/float64(n), float64(x)))
			}
			a.Data[i*n+j], a.Data[j*n+i] = x, x
			plain.SetSym(i, j, float64(x))
		}
	}
	if n <= 200 { // one goroutine decomposes it
		engines = engines[:1]
	}
	s := la.Symmetric[T]{Uplo: 'U', N: n, Stride: n, Data: a.Data}
	var values, inTwo, singular, singularInTwo []T
	var left, right mat.Dense // singular vectors in two stages
	for i, e := range engines {
		c, two, d := la.NewEigenSym[T](e), la.NewEigenSym[T](e), la.NewSVD[T](e)
		if err := errors.Join(c.Factorize(s, true, la.OneStage), two.Factorize(s, true, la.TwoStages)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		d2 := la.NewSVD[T](e)
		if err := errors.Join(d.Factorize(a, mat.SVDThin, la.OneStage), d2.Factorize(a, mat.SVDThin, la.TwoStages)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		vectors := func(to *mat.Dense, from func(la.Sink[T])) {
			x := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
			from(x)
			to.CloneFrom(mat.NewDense(n, n, wide(x.Data)))
		}
		var u2, w2 mat.Dense
		vectors(&u2, d2.UTo)
		vectors(&w2, d2.VTo)
		if i > 0 {
			if !slices.Equal(values, c.Values(nil)) || !slices.Equal(inTwo, two.Values(nil)) {
				t.Errorf("%s: other eigenvalues with %d workers", what, i+1)
			}
			if !slices.Equal(singular, d.Values(nil)) || !slices.Equal(singularInTwo, d2.Values(nil)) || !mat.Equal(&u2, &left) || !mat.Equal(&w2, &right) {
				t.Errorf("%s: other singular values or vectors with %d workers", what, i+1)
			}
			continue
		}
		values, inTwo, singular, singularInTwo = c.Values(nil), two.Values(nil), d.Values(nil), d2.Values(nil)
		left, right = u2, w2
		var v, v2, u, w mat.Dense
		vectors(&v, c.VectorsTo)
		vectors(&v2, two.VectorsTo)
		vectors(&u, d.UTo)
		vectors(&w, d.VTo)
		if r, o := eigenErrors(plain, wide(values), &v, eps); !(r < 30 && o < 30) {
			t.Errorf("%s: eigenvectors: residual %.3g, orthogonality %.3g", what, r, o)
		}
		if r, o := eigenErrors(plain, wide(inTwo), &v2, eps); !(r < 30 && o < 30) {
			t.Errorf("%s: eigenvectors in two stages: residual %.3g, orthogonality %.3g", what, r, o)
		}
		if r, o := svdErrors(plain, wide(singular), &u, &w, eps); !(r < 30 && o < 30) {
			t.Errorf("%s: singular vectors: residual %.3g, orthogonality %.3g", what, r, o)
		}
		if r, o := svdErrors(plain, wide(singularInTwo), &u2, &w2, eps); !(r < 30 && o < 30) {
			t.Errorf("%s: singular vectors in two stages: residual %.3g, orthogonality %.3g", what, r, o)
		}
		if err := errors.Join(c.Factorize(s, false, la.OneStage), two.Factorize(s, false, la.TwoStages)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := errors.Join(d.Factorize(a, mat.SVDNone, la.OneStage), d2.Factorize(a, mat.SVDNone, la.TwoStages)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		limit := 30*eps*math.Sqrt(float64(n))*float64(singular[0]) + 1e-322
		for k := range n {
			other := func(x []T) bool { return math.Abs(float64(x[k])-float64(values[k])) > limit }
			differs := func(x []T) bool { return math.Abs(float64(x[k])-float64(singular[k])) > limit }
			if other(c.Values(nil)) || other(two.Values(nil)) || other(inTwo) || differs(d.Values(nil)) || differs(d2.Values(nil)) || differs(singularInTwo) {
				t.Errorf("%s: value %d alone is another one", what, k)
				break
			}
		}
	}
}

// wide returns x in float64.
func wide[T la.Element](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
