package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// decaying returns an m×n matrix with singular values rate^i times scale.
func decaying(m, n int, rate, scale float64, rng *rand.Rand) *mat.Dense {
	k := min(m, n)
	random := func(rows int) *mat.Dense {
		x := mat.NewDense(rows, k, nil)
		for i := range rows {
			for j := range k {
				x.Set(i, j, rng.NormFloat64())
			}
		}
		var qr mat.QR
		qr.Factorize(x)
		var q mat.Dense
		qr.QTo(&q)
		return mat.DenseCopyOf(q.Slice(0, rows, 0, k))
	}
	u, v := random(m), random(n)
	for j := range k {
		f := scale * math.Pow(rate, float64(j))
		for i := range m {
			u.Set(i, j, u.At(i, j)*f)
		}
	}
	var a mat.Dense
	a.Mul(u, v.T())
	return &a
}

// TestTruncatedSVD: the error in the 2-norm is within the bound, and near the least for the rank.
func TestTruncatedSVD(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	ctx := t.Context()
	for _, s := range []struct {
		m, n, k int
		rate    float64
		scale   float64
	}{
		{60, 40, 5, 0.7, 1}, {40, 60, 5, 0.7, 1}, {100, 30, 1, 0.9, 1}, {50, 50, 0, 0.8, 1}, {20, 12, 12, 0.8, 1}, {20, 20, 7, 1, 1},
		{90, 70, 10, 0.95, 1e300}, {70, 90, 10, 0.95, 1e-300}, {30, 20, 4, 0, 1}, {300, 200, 20, 0.9, 1},
	} {
		a := decaying(s.m, s.n, s.rate, s.scale, rng)
		for name, x := range map[string]mat.Matrix{"plain": a, "transposed": mat.DenseCopyOf(a.T()).T()} {
			c := la.NewTruncatedSVD[float64](nil)
			if err := c.Factorize(x, s.k); err != nil {
				t.Fatalf("%v %s: %v", s, name, err)
			}
			least := s.scale * math.Pow(s.rate, float64(s.k))
			if s.k == min(s.m, s.n) {
				least = 0
			}
			rounding := 1e-12 * s.scale
			if c.Bound() < least-rounding {
				t.Errorf("%v: bound %g is less than what any matrix of rank %d reaches, %g", s, c.Bound(), s.k, least)
			}
			if s.k == 0 {
				continue
			}
			values := c.Values(nil)
			var u, v mat.Dense
			c.UTo(&u)
			c.VTo(&v)
			for _, q := range []*mat.Dense{&u, &v} {
				var gram mat.Dense
				gram.Mul(q.T(), q)
				for i := range s.k {
					gram.Set(i, i, gram.At(i, i)-1)
				}
				if mat.Norm(&gram, 2) > 1e-12 {
					t.Errorf("%v: vectors are orthonormal within %g", s, mat.Norm(&gram, 2))
				}
			}
			var rest mat.Dense
			for i, x := range values {
				if want := s.scale * math.Pow(s.rate, float64(i)); math.Abs(x-want) > c.Bound()+rounding || x > want+rounding {
					t.Errorf("%v: value %d is %g, want %g", s, i, x, want)
				}
				for j := range s.m {
					u.Set(j, i, u.At(j, i)*x)
				}
			}
			rest.Mul(&u, v.T())
			rest.Sub(x, &rest)
			w, err := la.SingularValues[float64](ctx, nil, &rest)
			if err != nil {
				t.Fatal(err)
			}
			if c.Bound() > 5*w[0]+rounding {
				t.Errorf("%v: the bound is %g, the error %g", s, c.Bound(), w[0])
			}
			if w[0] > c.Bound()+rounding || w[0] > 1.5*least+rounding {
				t.Errorf("%v: the error is %g, the bound %g, the least for the rank %g", s, w[0], c.Bound(), least)
			}
		}
	}
}

// TestTruncatedSVDSeed: the same seed gives the same bits, with any number of workers.
func TestTruncatedSVDSeed(t *testing.T) {
	a := decaying(150, 120, 0.98, 1, rand.New(rand.NewPCG(7, 8)))
	var first []float64
	for _, workers := range []int{1, 2, 3} {
		e, err := la.NewEngine(la.Options{Workers: workers, Deterministic: true})
		if err != nil {
			t.Fatal(err)
		}
		c := la.NewTruncatedSVD[float64](e)
		if err := c.Factorize(a, 5, la.TruncatedOptions{Seed: 3}, la.WithContext(t.Context())); err != nil {
			t.Fatal(err)
		}
		got := append(c.Values(nil), c.Bound())
		if first == nil {
			first = got
		}
		if !floats.Equal(got, first) {
			t.Errorf("%d workers: %v, want %v", workers, got, first)
		}
		if err := c.Factorize(a, 5, la.TruncatedOptions{Seed: 4, Iterations: -1}, la.WithContext(t.Context())); err != nil {
			t.Fatal(err)
		}
		if floats.Equal(c.Values(nil), first[:5]) {
			t.Error("another seed, and no iterations, give the same values")
		}
		e.Close()
	}
}

func TestTruncatedSVDErrors(t *testing.T) {
	a := decaying(30, 20, 0.9, 1, rand.New(rand.NewPCG(7, 8)))
	c := la.NewTruncatedSVD[float64](nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Factorize(a, 3, la.WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var shape *la.ShapeError
	for _, opt := range []la.TruncatedOptions{{Oversampling: -1}, {Iterations: -2}} {
		if err := c.Factorize(a, 3, opt, la.WithContext(t.Context())); !errors.As(err, &shape) {
			t.Errorf("%v: %v", opt, err)
		}
	}
	a.Set(7, 11, math.Inf(-1))
	var bad *la.NonFiniteError
	if err := c.Factorize(a, 3); !errors.As(err, &bad) || bad.Row != 7 || bad.Col != 11 {
		t.Error(err)
	}
	if err := c.Factorize(a.T(), 3); !errors.As(err, &bad) || bad.Row != 11 || bad.Col != 7 {
		t.Error(err)
	}
	panics := func(name string, want any, f func()) {
		defer func() {
			if r := recover(); r != want {
				t.Errorf("%s: %v, want %v", name, r, want)
			}
		}()
		f()
	}
	panics("k", la.ErrRank, func() { c.Factorize(a, 21) })
	panics("k", la.ErrRank, func() { c.Factorize(a, -1) })
	panics("values", la.ErrNotFactorized, func() { c.Values(nil) })
	panics("bound", la.ErrNotFactorized, func() { c.Bound() })
	a.Set(7, 11, 0)
	if err := c.Factorize(a, 3); err != nil {
		t.Fatal(err)
	}
	panics("shape", mat.ErrShape, func() { c.UTo(mat.NewDense(30, 4, nil)) })
	c.Reset()
	panics("reset", la.ErrNotFactorized, func() { c.Dims() })
}

func ExampleTruncatedSVD() {
	a := mat.NewDense(4, 3, []float64{
		2, 4, 6,
		1, 2, 3,
		3, 6, 9,
		0, 0, 0,
	})
	var c la.TruncatedSVD[float64]
	if err := c.Factorize(a, 1); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f, and the rest is below %.0e: %t\n", c.Values(nil), 1e-12, c.Bound() < 1e-12)
	// Output: [14.000], and the rest is below 1e-12: true
}

func BenchmarkTruncatedSVD(b *testing.B) {
	a := decaying(2000, 1000, 0.99, 1, rand.New(rand.NewPCG(1, 2)))
	b.Run("k=20", func(b *testing.B) {
		c := la.NewTruncatedSVD[float64](nil)
		for b.Loop() {
			if err := c.Factorize(a, 20); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("SVD", func(b *testing.B) {
		c := la.NewSVD[float64](nil)
		for b.Loop() {
			if err := c.Factorize(a, mat.SVDThin); err != nil {
				b.Fatal(err)
			}
		}
	})
}
