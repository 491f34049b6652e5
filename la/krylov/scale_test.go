package krylov_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/mat"
)

// times returns 2^exp·x.
func times(exp int, x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Ldexp(v, exp)
	}
	return y
}

// chain is a definite matrix of small integers.
func chain(n int) *mat.Dense {
	a := mat.NewDense(n, n, nil)
	for i := range n {
		a.Set(i, i, float64(4+i%3))
		if i > 0 {
			a.Set(i, i-1, -1)
			a.Set(i-1, i, -1)
		}
	}
	return a
}

// integers returns a matrix of small integers.
func integers(m, n int) *mat.Dense {
	a := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, float64((i*i*3+i*j*7+j*j)%13-6))
		}
	}
	return a
}

// solver is a method, for an A and λ that are scaled by 2^k.
type solver struct {
	name  string
	a     *mat.Dense
	b     []float64
	begin []float64 // an x to begin with, nil: zeros
	solve func(a krylov.Operator, k int, x, b []float64) (iterations int, residual float64, err error)
}

func solvers(t *testing.T, rt exec.Runtime) (all []solver) {
	plain := func(method string) func(a krylov.Operator, _ int, x, b []float64) (int, float64, error) {
		return func(a krylov.Operator, _ int, x, b []float64) (int, float64, error) {
			return square[method](context.Background(), a, x, b, settings{tolerance: 1e-14})
		}
	}
	cg := plain("CG")
	with := func(method string, d *mat.Dense, precondition func(a *csr.Matrix) (krylov.Preconditioner, error)) func(a krylov.Operator, k int, x, b []float64) (int, float64, error) {
		return func(a krylov.Operator, k int, x, b []float64) (int, float64, error) {
			m, err := precondition(sparseOf(t, rt, d, k))
			if err != nil {
				return 0, 0, err
			}
			return square[method](context.Background(), a, x, b, settings{tolerance: 1e-14, m: m})
		}
	}
	jacobi := func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewJacobi(a) }
	ic := func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewIC(a, csr.ICOptions{Relax: 0.5, Drop: 0.2})
	}
	ssor := func(a *csr.Matrix) (krylov.Preconditioner, error) { return csr.NewSSOR(a, 1.25) }
	ilu := func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewILU(a, csr.ILUOptions{Relax: 0.5, Drop: 0.1})
	}
	blocks := func(a *csr.Matrix) (krylov.Preconditioner, error) {
		return csr.NewBlockJacobi(a, csr.BlockJacobiOptions{Size: 4})
	}
	lsqr := func(damp float64) func(a krylov.Operator, k int, x, b []float64) (int, float64, error) {
		return func(a krylov.Operator, k int, x, b []float64) (int, float64, error) {
			r, err := krylov.LSQR(context.Background(), a, x, b, krylov.LSQROptions{ATol: 1e-14, BTol: 1e-14, Damp: math.Ldexp(damp, k)})
			if (err == nil) != (r.Stop != krylov.StopNone) {
				err = fmt.Errorf("stop %v beside error %v", r.Stop, err)
			}
			return r.Iterations, r.Residual, err
		}
	}
	return []solver{
		{"CG 2×2", mat.NewDense(2, 2, []float64{4, 1, 1, 3}), []float64{5, 4}, nil, cg},
		{"CG 70×70", chain(70), integers(70, 1).RawMatrix().Data, nil, cg},
		{"CG 9×9 from elsewhere", chain(9), integers(9, 1).RawMatrix().Data, integers(9, 2).RawMatrix().Data[9:], cg},
		{"CG 70×70 with Jacobi", chain(70), integers(70, 1).RawMatrix().Data, nil, with("CG", chain(70), jacobi)},
		{"CG 9×9 with IC from elsewhere", chain(9), integers(9, 1).RawMatrix().Data, integers(9, 2).RawMatrix().Data[9:], with("CG", chain(9), ic)},
		{"GMRES 2×2", mat.NewDense(2, 2, []float64{4, 1, -2, 3}), []float64{5, 4}, nil, plain("GMRES")},
		{"GMRES(4) 9×9 from elsewhere", chain(9), integers(9, 1).RawMatrix().Data, integers(9, 2).RawMatrix().Data[9:], plain("GMRES(4)")},
		{"GMRES 9×9 with IC", chain(9), integers(9, 1).RawMatrix().Data, nil, with("GMRES", chain(9), ic)},
		{"BiCGSTAB 2×2", mat.NewDense(2, 2, []float64{4, 1, -2, 3}), []float64{5, 4}, nil, plain("BiCGSTAB")},
		{"BiCGSTAB 9×9 with Jacobi from elsewhere", chain(9), integers(9, 1).RawMatrix().Data, integers(9, 2).RawMatrix().Data[9:], with("BiCGSTAB", chain(9), jacobi)},
		{"MINRES 2×2", mat.NewDense(2, 2, []float64{4, 1, 1, -3}), []float64{5, 4}, nil, plain("MINRES")},
		{"MINRES 9×9 from elsewhere", chain(9), integers(9, 1).RawMatrix().Data, integers(9, 2).RawMatrix().Data[9:], plain("MINRES")},
		{"MINRES 9×9 with IC", chain(9), integers(9, 1).RawMatrix().Data, nil, with("MINRES", chain(9), ic)},
		{"CG 9×9 with SSOR", chain(9), integers(9, 1).RawMatrix().Data, nil, with("CG", chain(9), ssor)},
		{"BiCGSTAB 9×9 with ILU", chain(9), integers(9, 1).RawMatrix().Data, nil, with("BiCGSTAB", chain(9), ilu)},
		{"GMRES(4) 9×9 with blocks", chain(9), integers(9, 1).RawMatrix().Data, nil, with("GMRES(4)", chain(9), blocks)},
		{"LSQR 2×2", mat.NewDense(2, 2, []float64{4, 1, 1, 3}), []float64{5, 4}, nil, lsqr(0)},
		{"LSQR 30×8", integers(30, 8), integers(30, 2).RawMatrix().Data[30:], nil, lsqr(0)},
		{"LSQR 8×30", integers(8, 30), integers(8, 2).RawMatrix().Data[8:], nil, lsqr(0)},
		{"LSQR 30×8 damped", integers(30, 8), integers(30, 2).RawMatrix().Data[30:], nil, lsqr(2)},
	}
}

// exponents are sizes of A and b, up to both ends of the range.
var exponents = []int{-1070, -1045, -1022, -1000, -700, -520, -399, -101, 0, 99, 398, 511, 700, 980, 1015}

// TestScales: with 2^k·A and 2^j·b the bits of x are those of k = j = 0, whatever k and j are, unless
// elements of x leave the range: then there is an error, or they are rounded once.
func TestScales(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 1, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, s := range solvers(t, rt) {
		m, n := s.a.Dims()
		for kind, operator := range map[string]func(k int) krylov.Operator{
			"dense": func(k int) krylov.Operator {
				return &dense{Dense: mat.NewDense(m, n, times(k, s.a.RawMatrix().Data))}
			},
			"csr": func(k int) krylov.Operator { return sparseOf(t, rt, s.a, k) },
			"scattered": func(k int) krylov.Operator {
				a, err := csr.Scatter(t.Context(), rt, sparseOf(t, rt, s.a, k), 2)
				if err != nil {
					t.Fatal(err)
				}
				return a
			},
		} {
			begin := s.begin
			if begin == nil {
				begin = make([]float64, n)
			}
			want := times(0, begin)
			iterations, residual, err := s.solve(operator(0), 0, want, s.b)
			if err != nil || iterations == 0 {
				t.Fatal(s.name, err)
			}
			some := exponents
			if kind == "scattered" || testing.Short() && m > 2 {
				some = []int{-1070, -399, 0, 511, 1015}
			}
			for _, k := range some {
				for _, j := range some {
					x := times(j-k, begin)
					many, r, err := s.solve(operator(k), k, x, times(j, s.b))
					what := fmt.Sprintf("%s, %s, A·2^%d, b·2^%d", s.name, kind, k, j)
					scaled := times(j-k, want)
					if !finite(scaled) || !finite(times(j-k, begin)) {
						if _, ok := errors.AsType[*krylov.NonFiniteError](err); !ok {
							t.Errorf("%s: x overflows, and the error is %v", what, err)
						}
						continue
					}
					if s.begin != nil && j-k < -1022 { // it does not begin at the same x
						continue
					}
					if err != nil || many != iterations || math.Abs(r-math.Ldexp(residual, j)) > 0x1p-1074 {
						t.Errorf("%s: %v, %d iterations, want %d, residual %g, want %g", what, err, many, iterations, r, math.Ldexp(residual, j))
					}
					for i, v := range x {
						if math.Abs(v-scaled[i]) > 0 {
							t.Errorf("%s: x[%d] is %g, want %g", what, i, v, scaled[i])
							break
						}
					}
				}
			}
		}
	}
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return false
		}
	}
	return true
}

// sparseOf returns 2^k·a.
func sparseOf(t *testing.T, rt exec.Runtime, a *mat.Dense, k int) *csr.Matrix {
	t.Helper()
	m, n := a.Dims()
	var is, js []int
	var vs []float64
	for i := range m {
		for j := range n {
			if v := a.At(i, j); v != 0 {
				is, js, vs = append(is, i), append(js, j), append(vs, math.Ldexp(v, k))
			}
		}
	}
	s, err := csr.FromCOO(rt, m, n, is, js, vs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestScaledErrors: what is wrong with a matrix is said in its own size.
func TestScaledErrors(t *testing.T) {
	for _, k := range exponents {
		a := &dense{Dense: mat.NewDense(2, 2, times(k, []float64{1, 2, 2, 1}))}
		_, err := krylov.CG(t.Context(), a, make([]float64, 2), times(k, []float64{1, -3}), krylov.CGOptions{})
		if ie, ok := errors.AsType[*krylov.IndefiniteError](err); !ok || ie.Curvature != math.Ldexp(-0.2, k) {
			t.Errorf("an indefinite matrix of size 2^%d: %v", k, err)
		}
		b := times(k, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
		r, err := krylov.CG(t.Context(), &dense{Dense: chain(9)}, make([]float64, 9), b, krylov.CGOptions{MaxIterations: 2})
		if ce, ok := errors.AsType[*krylov.ConvergenceError](err); !ok || ce.Residual != r.Residual || !(r.Residual > 0) || !(r.Residual < b[8]) || k > -1000 && !(ce.Want > 0 && ce.Want < r.Residual) {
			t.Errorf("b of size 2^%d: %v", k, err)
		}
		for name, solve := range map[string]func() error{
			"CG": func() error {
				a := &dense{Dense: mat.NewDense(2, 2, append(times(k, []float64{1, 0, 0}), math.NaN()))}
				_, err := krylov.CG(t.Context(), a, make([]float64, 2), []float64{1, 1}, krylov.CGOptions{})
				return err
			},
			"LSQR": func() error {
				a := &dense{Dense: mat.NewDense(2, 2, append(times(k, []float64{1, 0, 0}), math.Inf(1)))}
				s, err := krylov.LSQR(t.Context(), a, make([]float64, 2), []float64{1, 1}, krylov.LSQROptions{})
				if s.Stop != krylov.StopNone {
					t.Errorf("LSQR stops with %v beside %v", s.Stop, err)
				}
				return err
			},
		} {
			if _, ok := errors.AsType[*krylov.NonFiniteError](solve()); !ok {
				t.Errorf("%s: a NaN or infinity beside 2^%d: %v", name, k, err)
			}
		}
	}
}

// TestLargeDamping: a λ far beyond A gives Aᵀ·b/λ², and a tiny one nothing.
func TestLargeDamping(t *testing.T) {
	d := integers(5, 3)
	b := []float64{1, -2, 3, 4, -1}
	var atb mat.VecDense
	atb.MulVec(d.T(), mat.NewVecDense(5, b))
	for _, k := range []int{-1070, -600, 0, 600} {
		for _, more := range []int{100, 301, 500, 900, 1500} {
			for _, j := range []int{-1000, 0, 1000} {
				exp := j + k - 2*(k+more) // of x
				if k+more > 1023 || exp > 1000 {
					continue
				}
				x := make([]float64, 3)
				s, err := krylov.LSQR(t.Context(), &dense{Dense: mat.NewDense(5, 3, times(k, d.RawMatrix().Data))}, x, times(j, b), krylov.LSQROptions{Damp: math.Ldexp(1, k+more)})
				if err != nil {
					t.Errorf("A·2^%d, b·2^%d, λ 2^%d: %v, %+v", k, j, k+more, err, s)
					continue
				}
				for i, v := range x {
					want := math.Ldexp(atb.AtVec(i), exp)
					if math.Abs(v-want) > 1e-14*math.Abs(want)+0x1p-1074 {
						t.Errorf("A·2^%d, b·2^%d, λ 2^%d: x[%d] is %g, want %g", k, j, k+more, i, v, want)
					}
				}
			}
		}
	}
	x, y := make([]float64, 3), make([]float64, 3)
	for damp, x := range map[float64][]float64{0: x, 5e-324: y} {
		if _, err := krylov.LSQR(t.Context(), &dense{Dense: d}, x, b, krylov.LSQROptions{Damp: damp}); err != nil {
			t.Error(err)
		}
	}
	for i, v := range x {
		if v != y[i] {
			t.Errorf("λ 5e-324: %v, want %v", y, x)
		}
	}
}
