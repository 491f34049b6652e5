package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// newBand returns a random n×n band matrix, and the same as a dense one. Its diagonal is multiplied by by.
func newBand[T la.Element](rnd *rand.Rand, n, kl, ku int, by float64) (la.Band[T], la.General[T]) {
	stride := kl + ku + 2
	b := la.Band[T]{Rows: n, Cols: n, KL: kl, KU: ku, Stride: stride, Data: make([]T, n*stride)}
	for i := range b.Data {
		b.Data[i] = T(math.NaN()) // of which the corners remain
	}
	g := la.General[T]{Rows: n, Cols: n, Stride: n, Data: make([]T, n*n)}
	for i := range n {
		for j := max(0, i-kl); j <= min(n-1, i+ku); j++ {
			v := T(rnd.NormFloat64())
			if i == j {
				v = T(by) * (1 + v*v)
			}
			b.Data[i*stride+kl+j-i] = v
			g.Set(i, j, v)
		}
	}
	return b, g
}

// newSymmetricBand is newBand for a positive definite matrix.
func newSymmetricBand[T la.Element](rnd *rand.Rand, n, k int, uplo blas.Uplo) (la.SymmetricBand[T], la.General[T]) {
	b, g := newBand[T](rnd, n, k, k, float64(4*k+4))
	s := la.SymmetricBand[T]{Uplo: uplo, N: n, K: k, Stride: k + 2, Data: make([]T, n*(k+2))}
	for i := range s.Data {
		s.Data[i] = T(math.NaN())
	}
	for i := range n {
		for j := max(0, i-k); j <= i; j++ {
			v := b.At(i, j)
			g.Set(j, i, v)
			if uplo == blas.Lower {
				s.Data[i*s.Stride+k+j-i] = v
			} else {
				s.Data[j*s.Stride+i-j] = v
			}
		}
	}
	return s, g
}

func testBand[T la.Element](t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	one, many := start(t, la.Options{Workers: 1, Deterministic: true}), start(t, la.Options{Workers: 3, Deterministic: true})
	for _, c := range [][3]int{{0, 1, 1}, {1, 0, 0}, {1, 2, 3}, {2, 1, 1}, {50, 1, 1}, {60, 5, 0}, {60, 0, 5}, {90, 3, 40}, {200, 45, 30}, {500, 210, 220}} {
		n, kl, ku := c[0], c[1], c[2]
		a, dense := newBand[T](rnd, n, kl, ku, []float64{3, 0.5}[min(1, kl, ku)])
		k := min(ku, 40)
		s, full := newSymmetricBand[T](rnd, n, k, []blas.Uplo{blas.Upper, blas.Lower}[n/10%2])
		for _, nrhs := range []int{1, 3, 100} {
			b := random[T](rnd, n, nrhs, 1)
			what := fmt.Sprintf("n %d, kl %d, ku %d, nrhs %d", n, kl, ku, nrhs)
			var got [2][]la.General[T]
			for k, e := range []*la.Engine{one, many} {
				f, ch := la.NewBandLU[T](e), la.NewBandCholesky[T](e)
				if err := errors.Join(f.Factorize(a), ch.Factorize(s)); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for _, trans := range []bool{false, true} {
					x := la.General[T]{Rows: n, Cols: nrhs, Stride: nrhs, Data: make([]T, n*nrhs)}
					if err := f.SolveTo(x, trans, b); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					by := blas.NoTrans
					if trans {
						by = blas.Trans
					}
					small(t, solveResidual[T](load[T](dense, by), load[T](x, blas.NoTrans), load[T](b, blas.NoTrans)), 30, "%s, %v", what, trans)
					got[k] = append(got[k], x)
				}
				x := la.General[T]{Rows: n, Cols: nrhs, Stride: nrhs, Data: make([]T, n*nrhs)}
				if err := ch.SolveTo(x, b); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				small(t, solveResidual[T](load[T](full, blas.NoTrans), load[T](x, blas.NoTrans), load[T](b, blas.NoTrans)), 30, "Cholesky, %s", what)
				got[k] = append(got[k], x)
				if n == 0 || k > 0 {
					continue
				}
				lu, chol := la.NewLU[T](e), la.NewCholesky[T](e)
				if err := errors.Join(lu.Factorize(dense), chol.Factorize(la.Symmetric[T]{Uplo: blas.Upper, N: n, Stride: n, Data: full.Data})); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				log, sign := f.LogDet()
				if want, w := lu.LogDet(); math.Abs(log-want) > 1e-3*(1+math.Abs(want)) || sign != w {
					t.Errorf("%s: determinant %v·e^%v, want %v·e^%v", what, sign, log, w, want)
				}
				if log, want := ch.LogDet(), chol.LogDet(); math.Abs(log-want) > 1e-3*(1+math.Abs(want)) {
					t.Errorf("%s: Cholesky: determinant e^%v, want e^%v", what, log, want)
				}
				if k, want := f.Cond(), lu.Cond(); !(math.Abs(k-want) <= 0.05*want) {
					t.Errorf("%s: condition %v, want %v", what, k, want)
				}
				if k, want := ch.Cond(), chol.Cond(); !(math.Abs(k-want) <= 0.01*want) {
					t.Errorf("%s: Cholesky: condition %v, want %v", what, k, want)
				}
			}
			if !reflect.DeepEqual(got[0], got[1]) {
				t.Errorf("%s: other bits with other workers", what)
			}
		}
	}
}

// TestBand: factorizations of bands solve as dense ones do, with the same bits for any number of workers.
func TestBand(t *testing.T) {
	t.Run("float64", testBand[float64])
	t.Run("float32", testBand[float32])
}

// TestBandErrors: what cannot be factored or solved says so.
func TestBandErrors(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, k := range []int{2, 50} {
		n := 120
		a, _ := newBand[float64](rnd, n, k, k, 1)
		s, _ := newSymmetricBand[float64](rnd, n, k, blas.Upper)
		f, c := la.NewBandLU[float64](nil), la.NewBandCholesky[float64](nil)
		var bad *la.NonFiniteError
		a.Data[7*a.Stride+k-1] = math.Inf(1)
		if err := f.Factorize(a); !errors.As(err, &bad) || bad.Row != 7 || bad.Col != 6 || !f.IsEmpty() {
			t.Errorf("k %d: infinity: %v", k, err)
		}
		var singular *la.SingularError
		for i := 30 - k; i <= 30+k; i++ {
			if i >= 0 {
				a.Data[i*a.Stride+k+30-i] = 0
			}
		}
		a.Data[7*a.Stride+k-1] = 1
		if err := f.Factorize(a); !errors.As(err, &singular) || singular.Column != 31 || f.IsEmpty() {
			t.Errorf("k %d: zero column: %v", k, err)
		}
		if err := f.SolveVecTo(make(la.Vector[float64], n), false, make(la.Vector[float64], n)); !errors.As(err, &singular) {
			t.Errorf("k %d: solution of a singular matrix: %v", k, err)
		}
		if log, sign := f.LogDet(); !math.IsInf(log, -1) || sign != 0 || f.Det() != 0 {
			t.Errorf("k %d: determinant of a singular matrix: %v·e^%v", k, sign, log)
		}
		s.Data[40*s.Stride] = -1
		var npd *la.NotPositiveDefiniteError
		if err := c.Factorize(s); !errors.As(err, &npd) || npd.Minor != 41 || !c.IsEmpty() {
			t.Errorf("k %d: negative diagonal: %v", k, err)
		}
		var shape *la.ShapeError
		if err := f.Factorize(la.Band[float64]{Rows: 3, Cols: 4, KL: 1, KU: 1, Stride: 3, Data: make([]float64, 9)}); !errors.As(err, &shape) {
			t.Errorf("3×4: %v", err)
		}
		// Columns that depend on each other: Cond and the verdict notice.
		d, _ := newBand[float64](rnd, n, k, k, 1)
		for i := range n {
			if v := d.At(i, 50); i >= 51-k && i <= 50+k {
				d.Data[i*d.Stride+k+51-i] = v
			}
		}
		d.Data[(50-k)*d.Stride+k+k], d.Data[(51+k)*d.Stride] = 0, 0
		var cond mat.Condition
		if err := f.Factorize(d); err == nil {
			err = f.SolveVecTo(make(la.Vector[float64], n), false, make(la.Vector[float64], n))
			if !errors.As(err, &cond) {
				t.Errorf("k %d: two equal columns: %v", k, err)
			}
		} else if !errors.As(err, &singular) {
			t.Errorf("k %d: two equal columns: %v", k, err)
		}
	}
}

// TestBandScaled: bands near the ends of the range have the solutions of scaled ones.
func TestBandScaled(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	a, _ := newBand[float64](rnd, 80, 3, 2, 3)
	s, _ := newSymmetricBand[float64](rnd, 80, 3, blas.Upper)
	b := random[float64](rnd, 80, 2, 0)
	solve := func() (x, y la.General[float64]) {
		x, y = padded[float64](80, 2, 0), padded[float64](80, 2, 0)
		f, c := la.NewBandLU[float64](nil), la.NewBandCholesky[float64](nil)
		if err := errors.Join(f.Factorize(a), f.SolveTo(x, false, b), c.Factorize(s), c.SolveTo(y, b)); err != nil {
			t.Fatal(err)
		}
		return x, y
	}
	x, y := solve()
	for _, data := range [][]float64{a.Data, s.Data, b.Data} {
		for i := range data {
			data[i] = math.Ldexp(data[i], -1015)
		}
	}
	u, v := solve()
	for i := range x.Data {
		if math.Abs(u.Data[i]-x.Data[i]) > 1e-9*math.Abs(x.Data[i]) || math.Abs(v.Data[i]-y.Data[i]) > 1e-9*math.Abs(y.Data[i]) {
			t.Fatalf("element %d: %v, %v; want %v, %v", i, u.Data[i], v.Data[i], x.Data[i], y.Data[i])
		}
	}
}

// TestSolveBand: Solve factors the band of gonum's matrices alone, so they may be long.
func TestSolveBand(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	const n = 30_000 // so that rounding errors of a step that comes again and again would show
	band := func(kl, ku int) blas64.Band {
		b := blas64.Band{Rows: n, Cols: n, KL: kl, KU: ku, Stride: kl + ku + 1, Data: make([]float64, n*(kl+ku+1))}
		for i := range b.Data {
			b.Data[i] = rnd.Float64()
		}
		for i := range n {
			b.Data[i*b.Stride+kl] = 4
		}
		return b
	}
	dense, sym, indefinite := new(mat.BandDense), mat.NewSymBandDense(n, 1, nil), mat.NewSymBandDense(n, 1, nil)
	dense.SetRawBand(band(2, 1))
	lower, upper := mat.NewTriBandDense(n, 2, mat.Lower, nil), mat.NewTriBandDense(n, 2, mat.Upper, nil)
	tri := mat.NewTridiag(n, nil, nil, nil)
	for i := range n {
		sym.SetSymBand(i, i, 4)
		indefinite.SetSymBand(i, i, 1)
		for j := max(0, i-2); j <= i; j++ {
			v := 4.0
			if i != j {
				v = rnd.Float64()
			}
			lower.SetTriBand(i, j, v)
			upper.SetTriBand(j, i, v)
			if i-j < 2 {
				tri.SetBand(i, j, v)
				tri.SetBand(j, i, v/2+1)
			}
		}
		if i > 0 {
			sym.SetSymBand(i-1, i, -1)
			indefinite.SetSymBand(i-1, i, 3)
		}
	}
	for name, c := range map[string]struct {
		a    mat.Banded
		want la.Method
	}{
		"BandDense":         {dense, la.MethodLU},
		"transposed":        {dense.TBand(), la.MethodLU},
		"SymBandDense":      {sym, la.MethodCholesky},
		"indefinite":        {indefinite, la.MethodLU},
		"Tridiag":           {tri, la.MethodLU},
		"TriBandDense":      {upper, la.MethodTriangular},
		"lower":             {lower, la.MethodTriangular},
		"lower, transposed": {lower.TBand(), la.MethodTriangular},
	} {
		b, rnd := mat.NewVecDense(n, nil), rand.New(rand.NewPCG(13, 14)) // the same for all, in any order
		for i := range n {
			b.SetVec(i, rnd.NormFloat64())
		}
		var x mat.Dense
		report, err := la.Solve[float64](t.Context(), nil, &x, c.a, b)
		if err != nil || report.Method != c.want || !report.Band {
			t.Errorf("%s: %+v, %v", name, report, err)
			continue
		}
		// The residual is small beside the largest row's terms: pivoting bounds no row's by its own.
		kl, ku := c.a.Bandwidth()
		residual, size := 0.0, 0.0
		for i := range n {
			sum, terms := -b.AtVec(i), math.Abs(b.AtVec(i))
			for j := max(0, i-kl); j <= min(n-1, i+ku); j++ {
				p := c.a.At(i, j) * x.At(j, 0)
				sum, terms = sum+p, terms+math.Abs(p)
			}
			residual, size = max(residual, math.Abs(sum)), max(size, terms)
		}
		if !(residual <= 1e-14*size) {
			t.Errorf("%s: residual %v, of terms of %v", name, residual, size)
		}
	}
}
