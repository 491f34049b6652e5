package la_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
)

// hostile returns square matrices, singular to working precision or near to it, and others.
func hostile() map[string]*mat.Dense {
	all := map[string]*mat.Dense{}
	fill := func(name string, n int, f func(i, j int) float64) *mat.Dense {
		a := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				a.Set(i, j, f(i, j))
			}
		}
		all[name] = a
		return a
	}
	rnd := rand.New(rand.NewPCG(34, 1))
	random := func(m, n int) *mat.Dense {
		a := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				a.Set(i, j, rnd.NormFloat64())
			}
		}
		return a
	}
	for _, n := range []int{20, 60, 90, 120} {
		s, c := math.Sincos(1.2)
		fill(fmt.Sprint("Kahan ", n), n, func(i, j int) float64 {
			switch {
			case i == j:
				return math.Pow(s, float64(i))
			case i < j:
				return -c * math.Pow(s, float64(i))
			}
			return 0
		})
	}
	for _, n := range []int{10, 30, 60, 80} {
		unit := func(upper bool) func(i, j int) float64 {
			return func(i, j int) float64 {
				switch {
				case i == j:
					return 1
				case i < j == upper:
					return -1
				}
				return 0
			}
		}
		fill(fmt.Sprint("unit upper ", n), n, unit(true))
		fill(fmt.Sprint("unit lower ", n), n, unit(false))
		for _, upper := range []bool{true, false} {
			rows, columns := rnd.Perm(n), rnd.Perm(n)
			f := unit(upper)
			fill(fmt.Sprint("unit, permuted ", n, upper), n, func(i, j int) float64 { return f(rows[i], j) })
			fill(fmt.Sprint("unit, both permuted ", n, upper), n, func(i, j int) float64 { return f(rows[i], columns[j]) })
		}
		fill(fmt.Sprint("Wilkinson ", n), n, func(i, j int) float64 {
			switch {
			case i == j || j == n-1:
				return 1
			case i > j:
				return -1
			}
			return 0
		})
	}
	for _, n := range []int{5, 8, 14, 18, 25} {
		fill(fmt.Sprint("Hilbert ", n), n, func(i, j int) float64 { return 1 / float64(i+j+1) })
		fill(fmt.Sprint("Gauss kernel ", n), n, func(i, j int) float64 { return math.Exp(-math.Pow(float64(i-j)/6, 2)) })
	}
	for _, n := range []int{30, 60} {
		l, u := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				h := math.Sin(float64(i*37 + j*101))
				switch {
				case i == j:
					l.Set(i, i, 1)
					u.Set(i, i, 1)
				case j < i:
					l.Set(i, j, h/4)
				default:
					u.Set(i, j, -1+h/100)
				}
			}
		}
		var a mat.Dense
		a.Mul(l, u)
		all[fmt.Sprint("noisy L·U ", n)] = &a
	}
	for _, n := range []int{4, 25, 70} {
		for _, rank := range []int{1, n / 2, n - 1} {
			var a, s mat.Dense
			u := random(n, rank)
			a.Mul(u, random(rank, n))
			all[fmt.Sprint("rank ", rank, " of ", n)] = &a
			s.Mul(u, u.T())
			all[fmt.Sprint("symmetric rank ", rank, " of ", n)] = &s
			b := mat.DenseCopyOf(&a)
			b.Apply(func(i, j int, v float64) float64 { return v + 1e-10*rnd.NormFloat64() }, b)
			all[fmt.Sprint("rank ", rank, " of ", n, " and noise")] = b
		}
		r := random(n, n)
		all[fmt.Sprint("random ", n)] = r
		var s mat.Dense
		s.Mul(r, r.T())
		all[fmt.Sprint("random positive definite ", n)] = &s
		g := mat.DenseCopyOf(r)
		g.Apply(func(i, _ int, v float64) float64 { return v * math.Pow(10, -14*float64(i)/float64(n)) }, g)
		all[fmt.Sprint("rows graded to 1e-14, ", n)] = g
		h := mat.DenseCopyOf(r)
		h.Apply(func(i, _ int, v float64) float64 { return v * math.Pow(10, -30*float64(i)/float64(n)) }, h)
		all[fmt.Sprint("rows graded to 1e-30, ", n)] = h
	}
	return all
}

// within is how far gonum's condition number, which is in the ∞-norm, may be from the tolerance in
// the 1-norm, for a matrix of order n, where the verdicts need not be the same.
func within(c float64, n int) bool {
	f := 2 * float64(n)
	return c > mat.ConditionTolerance/f/10 && c < mat.ConditionTolerance*f
}

// refused reports whether err says that a matrix is singular to working precision; all other errors
// fail the test.
func refused(t *testing.T, what string, err error) bool {
	t.Helper()
	var singular *la.SingularError
	if _, ok := err.(mat.Condition); err == nil || ok || errors.As(err, &singular) {
		return err != nil
	}
	t.Errorf("%s: %v", what, err)
	return false
}

// TestVerdictOfGonum: every solution tells that a matrix is singular to working precision, where
// gonum says so.
func TestVerdictOfGonum(t *testing.T) {
	e := start(t, la.Options{Workers: 2, NB: 24})
	ctx := t.Context()
	for name, a := range hostile() {
		n, _ := a.Dims()
		var lu mat.LU
		lu.Factorize(a)
		want := !(lu.Cond() <= mat.ConditionTolerance)
		b := mat.NewDense(n, 1, nil)
		b.Mul(a, mat.NewDense(n, 1, ones(n)))
		var x mat.Dense
		check := func(method string, err error) {
			t.Helper()
			if got := refused(t, name+", "+method, err); got != want && !within(lu.Cond(), n) {
				t.Errorf("%s, %s: %v; gonum's condition number is %.3g", name, method, err, lu.Cond())
			}
		}
		for engine, e := range map[string]*la.Engine{"": nil, ", in tiles": e} {
			_, err := la.Solve[float64](ctx, e, &x, a, b)
			check("Solve"+engine, err)
			_, err = la.SolveGeneral(ctx, e, &x, a, b)
			check("SolveGeneral"+engine, err)
			x.Reset()
			_, err = la.Inverse[float64](ctx, e, &x, a)
			check("Inverse"+engine, err)
			x.Reset()
			f := la.NewLU[float64](e)
			if err = f.Factorize(a); err == nil {
				err = f.SolveTo(&x, false, b)
				check("LU, trans"+engine, f.SolveTo(&x, true, b))
			}
			check("LU"+engine, err)
			// As least squares, of which R is the same.
			tall := mat.NewDense(2*n, n, nil)
			tall.Slice(0, n, 0, n).(*mat.Dense).Scale(0.6, a)
			tall.Slice(n, 2*n, 0, n).(*mat.Dense).Scale(0.8, a)
			var right mat.Dense
			right.Mul(tall, mat.NewDense(n, 1, ones(n)))
			x.Reset()
			var qr mat.QR
			qr.Factorize(tall)
			if err := la.LeastSquares[float64](ctx, e, &x, tall, &right); refused(t, name, err) != (qr.Cond() > mat.ConditionTolerance) && !within(qr.Cond(), n) {
				t.Errorf("%s, LeastSquares%s: %v; gonum's condition number is %.3g", name, engine, err, qr.Cond())
			}
			x.Reset()
			if mat.Equal(a, a.T()) {
				s := mat.NewSymDense(n, nil)
				s.CopySym(asSymmetric{a})
				_, err := la.Solve[float64](ctx, e, &x, s, b)
				check("Solve, symmetric"+engine, err)
				_, err = la.SolveSPD(ctx, e, &x, s, b)
				if npd := (*la.NotPositiveDefiniteError)(nil); !errors.As(err, &npd) {
					check("SolveSPD"+engine, err)
				}
				c := la.NewCholesky[float64](e)
				if c.Factorize(s) == nil {
					check("Cholesky"+engine, c.SolveTo(&x, b))
				}
			}
		}
	}
}

// asSymmetric makes a symmetric matrix a mat.Symmetric.
type asSymmetric struct{ *mat.Dense }

func (s asSymmetric) SymmetricDim() int { return s.RawMatrix().Rows }

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// TestVerdictOnce: the verdict is that of the matrix, not of its type, nor of the order of its rows
// and columns; scale of columns is no reason for an error.
func TestVerdictOnce(t *testing.T) {
	ctx := t.Context()
	n := 3
	for _, c := range []struct {
		diagonal []float64
		beside   float64 // element (0, 2)
		want     bool
	}{{[]float64{1, 1e-20, 1}, 0, false}, {[]float64{1, 1, 1}, 0, false}, {[]float64{1, 1e-20, 3}, 1, false},
		{[]float64{1, 2, 1e-20}, 1, true}, {[]float64{1, 1e-300, 1}, 0, false}} {
		a := mat.NewDense(n, n, nil)
		for i, v := range c.diagonal {
			a.Set(i, i, v)
		}
		a.Set(0, 2, c.beside)
		forms := map[string]mat.Matrix{"dense": a, "upper": mat.NewTriDense(n, mat.Upper, mat.DenseCopyOf(a).RawMatrix().Data),
			"lower, transposed": mat.NewTriDense(n, mat.Lower, mat.DenseCopyOf(a.T()).RawMatrix().Data).T()}
		band := mat.NewBandDense(n, n, 0, 2, nil)
		tri := mat.NewTriBandDense(n, 2, mat.Upper, nil)
		for i := range n {
			for j := i; j < n; j++ {
				band.SetBand(i, j, a.At(i, j))
				tri.SetTriBand(i, j, a.At(i, j))
			}
		}
		forms["band"], forms["triangular band"] = band, tri
		if c.beside == 0 {
			forms["diagonal"] = mat.NewDiagDense(n, c.diagonal)
			forms["symmetric"] = mat.NewSymDense(n, mat.DenseCopyOf(a).RawMatrix().Data)
			forms["symmetric band"] = mat.NewSymBandDense(n, 0, c.diagonal)
			forms["tridiagonal"] = mat.NewTridiag(n, make([]float64, n-1), c.diagonal, make([]float64, n-1))
		}
		for _, rows := range [][]int{{1, 2, 0}, {0, 2, 1}, {2, 1, 0}} {
			for _, columns := range [][]int{{0, 1, 2}, {2, 0, 1}, {0, 2, 1}} {
				p := mat.NewDense(n, n, nil)
				for i := range n {
					for j := range n {
						p.Set(i, j, a.At(rows[i], columns[j]))
					}
				}
				forms[fmt.Sprint("permuted ", rows, columns)] = p
			}
		}
		b := mat.NewDense(n, 1, []float64{1, 1, 1})
		for name, m := range forms {
			what := fmt.Sprintf("%v, %s", c.diagonal, name)
			var x mat.Dense
			_, err := la.Solve[float64](ctx, nil, &x, m, b)
			if refused(t, what, err) != c.want {
				t.Errorf("%s: Solve: %v", what, err)
			}
			x.Reset()
			if err := la.LeastSquares[float64](ctx, nil, &x, m, b); refused(t, what, err) != c.want {
				t.Errorf("%s: LeastSquares: %v", what, err)
			}
			_, err = la.SolveGeneral(ctx, nil, &x, m, b)
			if refused(t, what, err) != c.want {
				t.Errorf("%s: SolveGeneral: %v", what, err)
			}
			x.Reset()
			_, err = la.Inverse[float64](ctx, nil, &x, m)
			if refused(t, what, err) != c.want {
				t.Errorf("%s: Inverse: %v", what, err)
			}
		}
	}
}

// TestLine: a line through points far from zero has ten right digits, and no error.
func TestLine(t *testing.T) {
	const n = 60
	for _, origin := range []float64{4155915305, 4155915305e3, 1e-30} {
		a, b := mat.NewDense(n, 2, nil), mat.NewDense(n, 1, nil)
		for i := range n {
			a.Set(i, 0, origin*(1+190./4155915305*float64(i)))
			a.Set(i, 1, 1)
			b.Set(i, 0, 1000+570*float64(i))
		}
		var x mat.Dense
		if err := la.LeastSquares[float64](t.Context(), nil, &x, a, b); err != nil {
			t.Errorf("from %g on: %v", origin, err)
		}
		want := 570 / (origin * 190. / 4155915305)
		if got := x.At(0, 0); !(math.Abs(got/want-1) < 1e-8) {
			t.Errorf("from %g on: slope %v, want %v", origin, got, want)
		}
	}
}

// TestVerdictFloat32 is TestVerdictOfGonum for a few in float32.
func TestVerdictFloat32(t *testing.T) {
	for _, n := range []int{8, 30, 60} {
		a := la.General[float32]{Rows: n, Cols: n, Stride: n, Data: make([]float32, n*n)}
		for i := range n {
			for j := i; j < n; j++ {
				a.Set(i, j, -1)
			}
			a.Set(i, i, 1)
		}
		x := make(la.Vector[float32], n)
		want := math.Ldexp(float64(n), n-1) > 1.9e7
		_, err := la.Solve[float32](t.Context(), nil, x, a, make(la.Vector[float32], n))
		if refused(t, "Solve", err) != want {
			t.Errorf("order %d: Solve: %v", n, err)
		}
		if err := la.LeastSquares[float32](t.Context(), nil, x, a, make(la.Vector[float32], n)); refused(t, "LeastSquares", err) != want {
			t.Errorf("order %d: LeastSquares: %v", n, err)
		}
	}
}
