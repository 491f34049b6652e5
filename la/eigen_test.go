package la_test

import (
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// generalError returns the largest element of A·V − V·Λ in units of n·‖A‖·ε. A vector has norm 1.
func generalError(a mat.Matrix, values []complex128, v *mat.CDense, eps float64) (worst float64) {
	n, _ := a.Dims()
	var re, im, are, aim mat.Dense
	re.ReuseAs(n, n)
	im.ReuseAs(n, n)
	for i := range n {
		for j := range n {
			re.Set(i, j, real(v.At(i, j)))
			im.Set(i, j, imag(v.At(i, j)))
		}
	}
	are.Mul(a, &re)
	aim.Mul(a, &im)
	for i := range n {
		for j := range n {
			worst = max(worst, cmplx.Abs(complex(are.At(i, j), aim.At(i, j))-values[j]*v.At(i, j)))
		}
	}
	return worst / (float64(n) * mat.Norm(a, 2) * eps)
}

func TestEigen(t *testing.T) {
	e := engineOf(t, la.Options{Workers: 2})
	rng := rand.New(rand.NewPCG(1, 2))
	for _, on := range []*la.Engine{nil, e} {
		c := la.NewEigen[float64](on)
		for _, n := range []int{1, 2, 3, 50, 193, 300, 193} {
			a := randomSVD(n, n, rng)
			if err := c.Factorize(a, mat.EigenBoth); err != nil {
				t.Fatal(err)
			}
			values := c.Values(nil)
			var v, u mat.CDense
			c.VectorsTo(&v)
			c.LeftVectorsTo(&u)
			if r := generalError(a, values, &v, 0x1p-52); !(r < 30) {
				t.Errorf("n = %d: residual %.3g", n, r)
			}
			conjugate := slices.Clone(values) // Aᵀ·u = λ̄·u
			for i, x := range conjugate {
				conjugate[i] = cmplx.Conj(x)
			}
			if r := generalError(mat.DenseCopyOf(a.T()), conjugate, &u, 0x1p-52); !(r < 30) {
				t.Errorf("n = %d: residual of left vectors %.3g", n, r)
			}
			if err := c.Factorize(a, mat.EigenNone); err != nil {
				t.Fatal(err)
			}
			nearest(t, c.Values(nil), values, 1e-10*mat.Norm(a, 2))
			if got := panics(func() { c.VectorsTo(&v) }); got != la.ErrNoVectors {
				t.Errorf("no vectors: %v", got)
			}
		}
	}
}

// nearest fails t unless the values are others, in any order and up to a distance.
func nearest(t *testing.T, values, others []complex128, within float64) {
	t.Helper()
	taken := make([]bool, len(others))
	for _, x := range values {
		at, least := 0, math.Inf(1)
		for j, y := range others {
			if d := cmplx.Abs(x - y); !taken[j] && d < least {
				at, least = j, d
			}
		}
		taken[at] = true
		if !(least <= within) {
			t.Errorf("value %v is %.3g off", x, least)
		}
	}
}

// TestEigenSources: the same bits from all kinds of matrices, by any number of workers.
func TestEigenSources(t *testing.T) {
	const n = 280
	a := randomSVD(n, n, rand.New(rand.NewPCG(3, 4)))
	raw := la.General[float64]{Rows: n, Cols: n, Stride: n + 2, Data: make([]float64, n*(n+2))}
	for i := range n {
		copy(raw.Data[i*raw.Stride:], a.RawRowView(i))
		raw.Data[i*raw.Stride+n] = math.NaN()
	}
	full, _ := blocked.From[float64](a, blocked.Full, 64, blocked.CopyOptions{})
	want := la.NewEigen[float64](engineOf(t, la.Options{Deterministic: true}))
	if err := want.Factorize(a, mat.EigenBoth); err != nil {
		t.Fatal(err)
	}
	var v, u mat.CDense
	want.VectorsTo(&v)
	want.LeftVectorsTo(&u)
	for i, s := range []la.Source[float64]{raw, full, mat.DenseCopyOf(a.T()).T()} {
		for _, workers := range []int{1, 2, 3} {
			c := la.NewEigen[float64](engineOf(t, la.Options{Workers: workers, Deterministic: true}))
			if err := c.Factorize(s, mat.EigenBoth); err != nil {
				t.Fatal(err)
			}
			var v1, u1 mat.CDense
			c.VectorsTo(&v1)
			c.LeftVectorsTo(&u1)
			if !slices.Equal(c.Values(nil), want.Values(nil)) || !slices.Equal(v1.RawCMatrix().Data, v.RawCMatrix().Data) || !slices.Equal(u1.RawCMatrix().Data, u.RawCMatrix().Data) {
				t.Errorf("source %d, %d workers: other bits", i, workers)
			}
		}
	}
	re, im := make([]float64, n), make([]float64, n)
	var left, right mat.Dense
	want.RealTo(re, im, &left, &right)
	for j, x := range want.Values(nil) {
		if complex(re[j], im[j]) != x {
			t.Fatalf("value %d is %v, its parts are %v and %v", j, x, re[j], im[j])
		}
		for i := range n {
			if im[j] >= 0 && (real(v.At(i, j)) != right.At(i, j) || im[j] > 0 && imag(u.At(i, j)) != left.At(i, j+1)) {
				t.Fatalf("vector %d is not that of its parts", j)
			}
		}
	}
}

// TestEigen32: float32, and a matrix whose eigenvalues are known.
func TestEigen32(t *testing.T) {
	const n = 90
	a := la.General[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
	want := make([]complex128, n)
	for i := range n { // an orthogonal circulant: a permutation
		a.Data[i*n+(i+1)%n] = 2
		want[i] = cmplx.Rect(2, 2*math.Pi*float64(i)/n)
	}
	var c la.Eigen[float32]
	if err := c.Factorize(a, mat.EigenRight); err != nil {
		t.Fatal(err)
	}
	nearest(t, c.Values(nil), want, 1e-5)
}

// TestEigenCompanion: the eigenvalues of companion matrices are the roots of their polynomials. Simple roots on the unit circle are found
// to rounding errors; small integers to those times their condition, which is large from degree 10 on.
func TestEigenCompanion(t *testing.T) {
	roots := func(name string, coefficients []float64, want []complex128, within float64) {
		n := len(coefficients) // of xⁿ + c[0]·xⁿ⁻¹ + …
		a := mat.NewDense(n, n, nil)
		for j, x := range coefficients {
			a.Set(0, j, -x)
			if j+1 < n {
				a.Set(j+1, j, 1)
			}
		}
		var c la.Eigen[float64]
		if err := c.Factorize(a, mat.EigenRight); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		nearest(t, c.Values(nil), want, within)
		var v mat.CDense
		c.VectorsTo(&v)
		if r := generalError(a, c.Values(nil), &v, 0x1p-52); !(r < 30) {
			t.Errorf("%s: residual %.3g", name, r)
		}
	}
	for _, n := range []int{1, 2, 5, 64, 150} {
		var ones []float64 // 1 + x + … + xⁿ
		unity, sum := make([]float64, n), make([]complex128, 0, n)
		var all []complex128
		for i := range n {
			ones = append(ones, 1)
			sum = append(sum, cmplx.Rect(1, 2*math.Pi*float64(i+1)/float64(n+1)))
			all = append(all, cmplx.Rect(1, 2*math.Pi*float64(i)/float64(n)))
		}
		unity[n-1] = -1
		roots("roots of unity", unity, all, 1e-13)
		roots("roots of unity but 1", ones, sum, 1e-11)
	}
	coefficients, want := []float64{1}, []complex128(nil)
	for k := 1; k <= 10; k++ { // times x − k
		coefficients = append(coefficients, 0)
		for i := k; i > 0; i-- {
			coefficients[i] -= float64(k) * coefficients[i-1]
		}
		want = append(want, complex(float64(k), 0))
	}
	roots("Wilkinson's polynomial of degree 10", coefficients[1:], want, 1e-6)
}

// TestDenormal: of matrices of the least numbers that there are, the values are those of the same matrix of integers, to one unit, and
// the vectors are vectors of that.
func TestDenormal(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, n := range []int{2, 3, 40, 100} {
		sym, a := mat.NewSymDense(n, nil), mat.NewDense(n, n+2, nil)
		for i := range n {
			for j := range n + 2 {
				x := float64(rng.IntN(9) - 4)
				a.Set(i, j, x)
				if i <= j && j < n {
					sym.SetSym(i, j, x)
				}
			}
		}
		square := a.Slice(0, n, 0, n).(*mat.Dense)
		var c, tiny la.EigenSym[float64]
		var s, tinyS la.SVD[float64]
		var g, tinyG la.Eigen[float64]
		var symDown mat.SymDense
		var aDown, squareDown mat.Dense
		symDown.ScaleSym(math.SmallestNonzeroFloat64, sym)
		aDown.Scale(math.SmallestNonzeroFloat64, a)
		squareDown.Scale(math.SmallestNonzeroFloat64, square)
		for _, err := range []error{
			c.Factorize(sym, true), tiny.Factorize(&symDown, true), s.Factorize(a, mat.SVDThin), tinyS.Factorize(&aDown, mat.SVDThin),
			g.Factorize(square, mat.EigenRight), tinyG.Factorize(&squareDown, mat.EigenRight),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		near := func(what string, tiny, want []float64) {
			for i, x := range tiny {
				if d := math.Abs(math.Ldexp(x, 1074) - want[i]); !(d <= 1) {
					t.Errorf("n = %d: %s: value %d is %v units, want %v", n, what, i, math.Ldexp(x, 1074), want[i])
				}
			}
		}
		near("EigenSym", tiny.Values(nil), c.Values(nil))
		near("SVD", tinyS.Values(nil), s.Values(nil))
		values := tinyG.Values(nil)
		for i, x := range values {
			values[i] = complex(math.Ldexp(real(x), 1074), math.Ldexp(imag(x), 1074))
		}
		nearest(t, values, g.Values(nil), 1)
		var z, u, v mat.Dense
		tiny.VectorsTo(&z)
		tinyS.UTo(&u)
		tinyS.VTo(&v)
		if r, o := eigenErrors(sym, c.Values(nil), &z, 0x1p-52); !(r < 30 && o < 30) {
			t.Errorf("n = %d: EigenSym: residual %.3g, orthogonality %.3g", n, r, o)
		}
		if r, o := svdErrors(a, s.Values(nil), &u, &v, 0x1p-52); !(r < 30 && o < 30) {
			t.Errorf("n = %d: SVD: residual %.3g, orthogonality %.3g", n, r, o)
		}
		var w mat.CDense
		tinyG.VectorsTo(&w)
		if r := generalError(square, g.Values(nil), &w, 0x1p-52); !(r < 30) {
			t.Errorf("n = %d: Eigen: residual %.3g", n, r)
		}
	}
}

func TestEigenErrors(t *testing.T) {
	var c la.Eigen[float64]
	for _, f := range []func(){func() { c.Values(nil) }, func() { c.VectorsTo(new(mat.CDense)) }, func() { c.LeftVectorsTo(new(mat.CDense)) }} {
		if got := panics(f); got != la.ErrNotFactorized {
			t.Errorf("not factorized: %v", got)
		}
	}
	if err := c.Factorize(mat.NewDense(2, 3, nil), mat.EigenNone); err == nil || !c.IsEmpty() || c.Kind() != -1 {
		t.Errorf("2×3: %v", err)
	} else if _, ok := errors.AsType[*la.ShapeError](err); !ok {
		t.Errorf("2×3: %v", err)
	}
	a := mat.NewDense(40, 40, nil)
	a.Set(7, 3, math.NaN())
	if e, ok := errors.AsType[*la.NonFiniteError](c.Factorize(a, mat.EigenRight)); !ok || e.Row != 7 || e.Col != 3 {
		t.Errorf("NaN: %v", e)
	}
	a.Zero()
	if err := c.Factorize(a, mat.EigenRight); err != nil || c.Kind() != mat.EigenRight {
		t.Errorf("zero: %v", err)
	}
	if got := panics(func() { c.VectorsTo(mat.NewCDense(3, 40, nil)) }); got != mat.ErrShape {
		t.Errorf("another shape: %v", got)
	}
	if got := panics(func() { c.Values(make([]complex128, 3)) }); got != mat.ErrSliceLengthMismatch {
		t.Errorf("another length: %v", got)
	}
	c.Reset()
	if !c.IsEmpty() {
		t.Error("not empty")
	}
	if err := c.Factorize(la.General[float64]{Stride: 1}, mat.EigenBoth); err != nil || len(c.Values(nil)) != 0 {
		t.Errorf("order 0: %v", err)
	}
}
