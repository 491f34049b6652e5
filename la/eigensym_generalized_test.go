package la_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

var generalizedForms = []la.GeneralizedForm{la.AxIsLambdaBx, la.ABxIsLambdaX, la.BAxIsLambdaX}

// standardProblem returns the symmetric matrix of the standard problem, by explicit inverses.
func standardProblem(a, b mat.Symmetric, form la.GeneralizedForm) *mat.SymDense {
	n := a.SymmetricDim()
	var chol mat.Cholesky
	if !chol.Factorize(b) {
		panic("B is not positive definite")
	}
	var u, inverse mat.TriDense
	chol.UTo(&u)
	var c mat.Dense
	if form == la.AxIsLambdaBx {
		if err := inverse.InverseTri(&u); err != nil {
			panic(err)
		}
		c.Product(inverse.T(), a, &inverse)
	} else {
		c.Product(&u, a, u.T())
	}
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, c.At(i, j)/2+c.At(j, i)/2)
		}
	}
	return s
}

// generalizedErrors returns the residual of the form, and the loss of orthogonality with B or its inverse, in units of n·ε.
func generalizedErrors(a, b mat.Symmetric, form la.GeneralizedForm, values []float64, x *mat.Dense, eps float64) (residual, loss float64) {
	n := a.SymmetricDim()
	var bx, left, right, gram mat.Dense
	bx.Mul(b, x)
	lambda := func(_, j int, x float64) float64 { return x * values[j] }
	unit := mat.Norm(a, 1) * mat.Norm(b, 1) * mat.Norm(x, 1)
	switch form {
	case la.AxIsLambdaBx:
		left.Mul(a, x)
		right.Apply(lambda, &bx)
		unit = mat.Norm(a, 1)*mat.Norm(x, 1) + mat.Norm(&right, 1)
	case la.ABxIsLambdaX:
		left.Mul(a, &bx)
		right.Apply(lambda, x)
	default:
		left.Product(b, a, x)
		right.Apply(lambda, x)
	}
	left.Sub(&left, &right)
	if form == la.BAxIsLambdaX { // Xᵀ·B⁻¹·X = I
		gram.Mul(x, x.T())
		gram.Sub(&gram, b)
	} else {
		gram.Mul(x.T(), &bx)
		for i := range n {
			gram.Set(i, i, gram.At(i, i)-1)
		}
	}
	return mat.Norm(&left, 1) / max(unit, math.SmallestNonzeroFloat64) / float64(n) / eps, mat.Norm(&gram, 1) / float64(n) / eps
}

// definite returns a random symmetric positive definite matrix of condition number 9 or less.
func definite(n int, rng *rand.Rand) *mat.SymDense {
	b := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			b.SetSym(i, j, 0.8*(2*rng.Float64()-1)/float64(n))
		}
		b.SetSym(i, i, 1)
	}
	return b
}

// TestEigenSymGeneralized: small residuals, vectors that are orthogonal with B, and the eigenvalues of the standard problem
// by gonum, for hostile matrices A.
func TestEigenSymGeneralized(t *testing.T) {
	e := engineOf(t, la.Options{Workers: 2})
	rng := rand.New(rand.NewPCG(31, 32))
	c := la.NewEigenSymGeneralized[float64](e)
	for i, h := range hardMatrices {
		for _, n := range []int{1, 2, 33, 65, 130, 290} {
			if n == 290 && i%7 != 0 || n == 130 && i%3 != 0 {
				continue
			}
			a, b := mat.NewSymDense(n, nil), definite(n, rng)
			for i := range n {
				for j := i; j < n; j++ {
					a.SetSym(i, j, h.at(n, i, j, rng))
				}
			}
			for _, form := range generalizedForms {
				what := fmt.Sprintf("%s, order %d, form %d", h.name, n, form)
				if err := c.Factorize(a, b, true, form); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				values := c.Values(nil)
				var x mat.Dense
				c.VectorsTo(&x)
				if r, o := generalizedErrors(a, b, form, values, &x, 0x1p-52); !(r < 30 && o < 30) {
					t.Errorf("%s: residual %.3g, orthogonality %.3g", what, r, o)
				}
				size := max(math.Abs(values[0]), math.Abs(values[n-1]))
				limit := 100*float64(n)*0x1p-52*size + 1e-300
				var gonum mat.EigenSym
				if n <= 65 && gonum.Factorize(standardProblem(a, b, form), true) && !floats.EqualApprox(values, gonum.Values(nil), limit) {
					t.Errorf("%s: other values than gonum's", what)
				}
				if err := c.Factorize(a, b, false, form); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !floats.EqualApprox(values, c.Values(nil), limit) {
					t.Errorf("%s: other values without vectors", what)
				}
			}
		}
	}
}

// TestEigenSymGeneralizedSizes: of B, near the ends of the range and ill conditioned, and in float32.
func TestEigenSymGeneralizedSizes(t *testing.T) {
	const n = 70
	rng := rand.New(rand.NewPCG(33, 34))
	a, b := randomSymmetric(n, rng), definite(n, rng)
	var want, c la.EigenSymGeneralized[float64]
	for _, form := range generalizedForms {
		if err := want.Factorize(a, b, true, form); err != nil {
			t.Fatal(err)
		}
		var x mat.Dense
		want.VectorsTo(&x)
		for _, exp := range []int{-1000, -980, 940} { // powers of two change nothing
			var scaledA, scaledB mat.SymDense
			scaledB.ScaleSym(math.Ldexp(1, exp), b)
			if scaledA.ScaleSym(math.Ldexp(1, exp), a); form != la.AxIsLambdaBx {
				scaledA.ScaleSym(math.Ldexp(1, -exp), a)
			}
			if err := c.Factorize(&scaledA, &scaledB, true, form); err != nil {
				t.Fatal(err)
			}
			var y mat.Dense
			c.VectorsTo(&y)
			root := math.Ldexp(1, exp/2)
			if form == la.BAxIsLambdaX {
				root = 1 / root
			}
			y.Scale(root, &y)
			if !floats.EqualApprox(want.Values(nil), c.Values(nil), 1e-12*float64(n)) || !mat.EqualApprox(&x, &y, 1e-9) {
				t.Errorf("form %d, B·2^%d: other results", form, exp)
			}
		}
	}
	// The eigenvalues 1 … n of Uᵀ·Λ·U and B = Uᵀ·U, whose condition number is about 1e10.
	u := mat.NewTriDense(n, mat.Upper, nil)
	for i := range n {
		u.SetTri(i, i, math.Pow(10, -5*float64(i)/(n-1)))
		if i+1 < n {
			u.SetTri(i, i+1, 0.5*u.At(i, i))
		}
	}
	diagonal := mat.NewDiagDense(n, nil)
	for i := range n {
		diagonal.SetDiag(i, float64(i+1))
	}
	var product, square mat.Dense
	product.Product(u.T(), diagonal, u)
	square.Mul(u.T(), u)
	ill, by := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			ill.SetSym(i, j, product.At(i, j))
			by.SetSym(i, j, square.At(i, j))
		}
	}
	values, err := la.GeneralizedEigenvalues[float64](t.Context(), nil, ill, by)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if math.Abs(v-float64(i+1)) > 1e-4 {
			t.Errorf("ill conditioned: value %d is %v", i, v)
		}
	}

	half := func(s *mat.SymDense) la.Symmetric[float32] {
		h := la.Symmetric[float32]{Uplo: blas.Upper, N: n, Stride: n, Data: make([]float32, n*n)}
		for i := range n {
			for j := range n {
				h.Data[i*n+j] = float32(s.At(i, j))
			}
		}
		return h
	}
	var single la.EigenSymGeneralized[float32]
	for _, form := range generalizedForms {
		if err := single.Factorize(half(a), half(b), true, form); err != nil {
			t.Fatal(err)
		}
		g := la.General[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
		single.VectorsTo(g)
		if r, o := generalizedErrors(a, b, form, wide(single.Values(nil)), mat.NewDense(n, n, wide(g.Data)), 0x1p-23); !(r < 30 && o < 30) {
			t.Errorf("float32, form %d: residual %.3g, orthogonality %.3g", form, r, o)
		}
	}
}

// TestEigenSymGeneralizedSources: the same bits from all kinds of matrices, by any number of workers, and for parts.
func TestEigenSymGeneralizedSources(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(35, 36))
	a, b := randomSymmetric(n, rng), definite(n, rng)
	lower := func(s mat.Symmetric) *blocked.Matrix[float64] {
		x, _ := blocked.From[float64](s, blocked.SymLower, 64, blocked.CopyOptions{})
		return x
	}
	half := func(s mat.Symmetric) la.Symmetric[float64] {
		h := la.Symmetric[float64]{Uplo: blas.Lower, N: n, Stride: n + 1, Data: make([]float64, n*(n+1))}
		for i := range h.Data {
			h.Data[i] = math.NaN()
		}
		for i := range n {
			for j := range i + 1 {
				h.Data[i*h.Stride+j] = s.At(i, j)
			}
		}
		return h
	}
	for _, form := range generalizedForms {
		want := la.NewEigenSymGeneralized[float64](engineOf(t, la.Options{Workers: 1, Deterministic: true}))
		if err := want.Factorize(a, b, true, form); err != nil {
			t.Fatal(err)
		}
		var x mat.Dense
		want.VectorsTo(&x)
		for workers := 1; workers <= 3; workers++ {
			c := la.NewEigenSymGeneralized[float64](engineOf(t, la.Options{Workers: workers, Deterministic: true}))
			var from, by la.SymmetricSource[float64] = half(a), lower(b)
			if workers == 2 {
				from, by = lower(a), half(b)
			}
			if err := c.Factorize(from, by, true, form); err != nil {
				t.Fatal(err)
			}
			var y mat.Dense
			c.VectorsTo(&y)
			if !slices.Equal(c.Values(nil), want.Values(nil)) || !mat.Equal(&x, &y) {
				t.Errorf("form %d, %d workers: other bits", form, workers)
			}
			values := want.Values(nil)
			for _, part := range []la.EigenPart{la.EigenIndices(n-100, n), la.EigenInterval(values[n-101], math.Inf(1))} {
				if err := c.Factorize(a, b, true, form, part); err != nil {
					t.Fatal(err)
				}
				var some mat.Dense
				c.VectorsTo(&some)
				if !slices.Equal(c.Values(nil), values[n-100:]) || !mat.Equal(&some, x.Slice(0, n, n-100, n)) {
					t.Errorf("form %d, %d workers: other bits of a part", form, workers)
				}
			}
		}
	}
}

func TestEigenSymGeneralizedErrors(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(37, 38))
	a, b := randomSymmetric(n, rng), definite(n, rng)
	var c la.EigenSymGeneralized[float64]
	if got := panics(func() { c.Values(nil) }); got != la.ErrNotFactorized {
		t.Errorf("without a solution: %v", got)
	}
	if err := c.Factorize(a, b, false); err != nil || c.SymmetricDim() != n {
		t.Fatal(err)
	}
	if got := panics(func() { c.VectorsTo(new(mat.Dense)) }); got != la.ErrNoVectors {
		t.Errorf("no vectors: %v", got)
	}
	spoiled := func(s *mat.SymDense, i, j int, v float64) *mat.SymDense {
		x := mat.NewSymDense(n, nil)
		x.CopySym(s)
		x.SetSym(i, j, v)
		return x
	}
	if bad, ok := errors.AsType[*la.ShapeError](c.Factorize(a, mat.NewSymDense(3, nil), true)); !ok || !c.IsEmpty() {
		t.Errorf("another order: %v", bad)
	}
	if bad, ok := errors.AsType[*la.NonFiniteError](c.Factorize(spoiled(a, 3, 9, math.NaN()), b, true)); !ok || bad.Row != 3 || bad.Col != 9 {
		t.Errorf("NaN in A: %v", bad)
	}
	err := c.Factorize(a, spoiled(b, 4, 8, math.Inf(1)), true)
	if bad, ok := errors.AsType[*la.NonFiniteError](err); !ok || bad.Row != 4 || bad.Col != 8 || err.Error() == bad.Error() {
		t.Errorf("infinity in B: %v", err)
	}
	for _, k := range []int{0, 5, n - 1} {
		if bad, ok := errors.AsType[*la.NotPositiveDefiniteError](c.Factorize(a, spoiled(b, k, k, -1), true)); !ok || bad.Minor != k+1 || !c.IsEmpty() {
			t.Errorf("B with −1 at %d: %v", k, bad)
		}
	}
	tiny := mat.NewSymDense(n, nil)
	tiny.ScaleSym(1e-200, b)
	if bad, ok := errors.AsType[*la.OverflowError](c.Factorize(spoiled(a, 2, 2, 1e300), tiny, true)); !ok || bad.Row != bad.Col || !c.IsEmpty() {
		t.Errorf("eigenvalues out of range: %v", bad)
	}
	if _, ok := errors.AsType[*la.OptionsError](c.Factorize(a, b, true, la.GeneralizedForm(3))); !ok {
		t.Error("no form 3")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("mine")
	cancel(mine)
	if err := c.Factorize(a, b, true, la.WithContext(ctx)); !errors.Is(err, mine) || !c.IsEmpty() {
		t.Errorf("cancelled: %v", err)
	}
	if err := c.Factorize(&mat.SymDense{}, &mat.SymDense{}, true); err != nil || len(c.Values(nil)) != 0 {
		t.Errorf("order 0: %v", err)
	}
}

// TestGeneralizedRange: matrices near the ends of the range, whose eigenvalues are in it, and vectors of an interval.
func TestGeneralizedRange(t *testing.T) {
	a, b := mat.NewSymDense(3, nil), mat.NewSymDense(3, nil)
	for i, x := range []float64{2, 3e200, 4} {
		a.SetSym(i, i, x)
		b.SetSym(i, i, []float64{5e200, 6, 7e100}[i])
	}
	for _, test := range []struct {
		form la.GeneralizedForm
		at   int // the largest eigenvalue is that of element (at, at)
		want float64
	}{{la.AxIsLambdaBx, 1, 0.5e200}, {la.ABxIsLambdaX, 1, 18e200}, {la.BAxIsLambdaX, 1, 18e200}} {
		var c la.EigenSymGeneralized[float64]
		if err := c.Factorize(a, b, true, test.form, la.EigenInterval(test.want*0.9, test.want*1.1)); err != nil {
			t.Errorf("form %d: %v", test.form, err)
			continue
		}
		var x mat.Dense
		c.VectorsTo(&x)
		length := 1 / math.Sqrt(b.At(test.at, test.at))
		if test.form == la.BAxIsLambdaX {
			length = 1 / length
		}
		if got := c.Values(nil); len(got) != 1 || math.Abs(got[0]/test.want-1) > 1e-14 || math.Abs(math.Abs(x.At(test.at, 0))/length-1) > 1e-14 {
			t.Errorf("form %d: values %v, vectors %v; want %g, and ±%g as element %d", test.form, got, mat.Formatted(&x), test.want, length, test.at)
		}
	}
}

func ExampleEigenSymGeneralized() {
	stiffness := mat.NewSymDense(2, []float64{
		3, -1,
		-1, 1,
	})
	mass := mat.NewSymDense(2, []float64{
		2, 0,
		0, 1,
	})
	var c la.EigenSymGeneralized[float64]
	if err := c.Factorize(stiffness, mass, true); err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", c.Values(nil))
	// Output: [0.5000 2.0000]
}
