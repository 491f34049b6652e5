package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// observations returns m observations of n variables with different variances and means.
func observations(m, n int, rng *rand.Rand) *mat.Dense {
	a := mat.NewDense(m, n, nil)
	for i := range m {
		common := rng.NormFloat64()
		for j := range n {
			a.Set(i, j, float64(100*j)+common+rng.NormFloat64()/float64(j+1))
		}
	}
	return a
}

// TestPCA: variances, components and means are gonum's.
func TestPCA(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := la.NewPCA[float64](nil)
	for _, s := range [][2]int{{2, 1}, {2, 5}, {10, 10}, {19, 10}, {21, 10}, {200, 30}, {30, 60}} {
		m, n := s[0], s[1]
		a := observations(m, n, rng)
		before := mat.DenseCopyOf(a)
		some := make([]float64, m)
		for i := range some {
			some[i] = 1 + rng.Float64()
		}
		some[0] = 0
		for _, weights := range [][]float64{nil, some} {
			var want stat.PC
			if !want.PrincipalComponents(a, weights) {
				t.Fatal("gonum")
			}
			if err := c.Factorize(a, weights); err != nil {
				t.Fatal(err)
			}
			vars, wantVars := c.Variances(nil), want.VarsTo(nil)
			if !floats.EqualApprox(vars, wantVars, 1e-12*wantVars[0]) {
				t.Errorf("%d×%d: variances %v, want %v", m, n, vars, wantVars)
			}
			var v, w mat.Dense
			c.VectorsTo(&v)
			want.VectorsTo(&w)
			if rows, cols := v.Dims(); rows != n || cols != min(m, n) {
				t.Fatalf("%d×%d: components %d×%d", m, n, rows, cols)
			}
			for k := range min(m, n) {
				if wantVars[k] < 1e-20*wantVars[0] { // any vector
					continue
				}
				// A component is as certain as its variance is apart from its neighbours'.
				gap := math.Inf(1)
				for i, x := range wantVars {
					if i != k {
						gap = min(gap, math.Abs(math.Sqrt(x)-math.Sqrt(wantVars[k])))
					}
				}
				if dot := math.Abs(mat.Dot(v.ColView(k), w.ColView(k))); 1-dot > 1e-10*math.Pow(math.Sqrt(wantVars[0])/gap, 2) {
					t.Errorf("%d×%d: component %d is off by %.3g", m, n, k, 1-dot)
				}
			}
			for j, mean := range c.Means(nil) {
				if x := stat.Mean(mat.Col(nil, j, a), weights); math.Abs(mean-x) > 1e-13*math.Abs(x)+1e-13 {
					t.Errorf("%d×%d: mean %v, want %v", m, n, mean, x)
				}
			}
			if variables, components := c.Dims(); variables != n || components != min(m, n) {
				t.Error(c.Dims())
			}
		}
		if !mat.Equal(a, before) {
			t.Error("A is changed")
		}
	}
}

func TestPCAErrors(t *testing.T) {
	c := la.NewPCA[float64](nil)
	a := observations(4, 2, rand.New(rand.NewPCG(1, 2)))
	for _, w := range [][]float64{{1, 1, -1, 1}, {1, math.NaN(), 1, 1}, {1, math.Inf(1), 1, 1}, {0, 0, 1, 0}} {
		if err := c.Factorize(a, w); err != la.ErrWeights {
			t.Errorf("%v: %v", w, err)
		}
	}
	var shape *la.ShapeError
	if err := c.Factorize(a, []float64{1}); !errors.As(err, &shape) {
		t.Error(err)
	}
	if err := c.Factorize(a.Slice(0, 1, 0, 2), nil); err != la.ErrWeights {
		t.Error(err)
	}
	a.Set(2, 1, math.NaN())
	var bad *la.NonFiniteError
	if err := c.Factorize(a, nil); !errors.As(err, &bad) || bad.Row != 2 || bad.Col != 1 {
		t.Error(err)
	}
	defer func() {
		if r := recover(); r != la.ErrNotFactorized {
			t.Error(r)
		}
	}()
	c.Variances(nil)
}

func ExamplePCA() {
	// Heights in cm and weights in kg.
	a := mat.NewDense(5, 2, []float64{
		160, 55,
		165, 61,
		170, 64,
		180, 78,
		190, 86,
	})
	var c la.PCA[float64]
	if err := c.Factorize(a, nil); err != nil {
		panic(err)
	}
	fmt.Printf("means %.1f, variances %.2f\n", c.Means(nil), c.Variances(nil))
	// Output: means [173.0 68.8], variances [307.88 0.82]
}

func BenchmarkPCA(b *testing.B) {
	a := observations(5000, 300, rand.New(rand.NewPCG(1, 2)))
	b.Run("la", func(b *testing.B) {
		c := la.NewPCA[float64](nil)
		for b.Loop() {
			if err := c.Factorize(a, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gonum", func(b *testing.B) {
		var c stat.PC
		for b.Loop() {
			c.PrincipalComponents(a, nil)
		}
	})
}
