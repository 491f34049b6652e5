package krylov_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dense is a matrix as an operator, that may end a context or fail in a product.
type dense struct {
	*mat.Dense
	products int
	at       int // the product that calls do
	do       func() error
}

func (d *dense) MulVecTo(_ context.Context, dst []float64, trans bool, x []float64) error {
	if d.products++; d.do != nil && d.products == d.at {
		if err := d.do(); err != nil {
			return err
		}
	}
	var a mat.Matrix = d.Dense
	if trans {
		a = a.T()
	}
	mat.NewVecDense(len(dst), dst).MulVec(a, mat.NewVecDense(len(x), x))
	return nil
}

func random(m, n int, seed uint64) *mat.Dense {
	rnd := rand.New(rand.NewPCG(seed, 1))
	a := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, rnd.NormFloat64())
		}
	}
	return a
}

func vector(n int, seed uint64) []float64 { return random(n, 1, seed).RawMatrix().Data }

// definite returns AᵀA + I.
func definite(n int, seed uint64) *mat.Dense {
	a, p := random(n, n, seed), mat.NewDense(n, n, nil)
	p.Mul(a.T(), a)
	for i := range n {
		p.Set(i, i, p.At(i, i)+1)
	}
	return p
}

// far returns ‖x − y‖ / ‖y‖.
func far(x, y []float64) float64 {
	d := mat.NewVecDense(len(x), nil)
	d.SubVec(mat.NewVecDense(len(x), x), mat.NewVecDense(len(y), y))
	return mat.Norm(d, 2) / mat.Norm(mat.NewVecDense(len(y), y), 2)
}

func TestCG(t *testing.T) {
	for _, n := range []int{1, 2, 10, 60} {
		for _, size := range []float64{1, 1e-120, 1e120} {
			a := &dense{Dense: definite(n, uint64(n))}
			b := vector(n, 2)
			for i := range b {
				b[i] *= size
			}
			var want mat.VecDense
			if err := want.SolveVec(a.Dense, mat.NewVecDense(n, b)); err != nil {
				t.Fatal(err)
			}
			x := vector(n, 3) // wherever it begins
			for i := range x {
				x[i] *= size
			}
			seen := 0
			s, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{Tolerance: 1e-13, Observe: func(i int, r float64) { seen = i }})
			if err != nil || far(x, want.RawVector().Data) > 1e-9 || seen != s.Iterations || s.Iterations == 0 {
				t.Errorf("n = %d, b·%v: %v, %+v, error %v", n, size, err, s, far(x, want.RawVector().Data))
			}
			again, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{Tolerance: 1e-12})
			if err != nil || again.Iterations != 0 {
				t.Errorf("n = %d: from the solution: %+v, %v", n, again, err)
			}
		}
	}
	x := []float64{7, 7}
	if s, err := krylov.CG(t.Context(), &dense{Dense: definite(2, 4)}, x, make([]float64, 2), krylov.CGOptions{}); err != nil || s.Iterations != 0 || x[0] != 0 || x[1] != 0 {
		t.Error(s, err, x)
	}
}

func TestCGFails(t *testing.T) {
	const n = 30
	b := vector(n, 5)
	one := func(d *mat.Dense, b []float64, opt krylov.CGOptions) error {
		_, err := krylov.CG(t.Context(), &dense{Dense: d}, make([]float64, len(b)), b, opt)
		return err
	}
	ce, ok := errors.AsType[*krylov.ConvergenceError](one(definite(n, 6), b, krylov.CGOptions{MaxIterations: 3}))
	if !ok || ce.Iterations != 3 || !(ce.Residual > ce.Want) || ce.Want <= 0 {
		t.Errorf("%+v", ce)
	}
	negative := definite(n, 6)
	negative.Scale(-1, negative)
	if ie, ok := errors.AsType[*krylov.IndefiniteError](one(negative, b, krylov.CGOptions{})); !ok || !(ie.Curvature < 0) || ie.Iteration != 1 {
		t.Errorf("%+v", ie)
	}
	bad := definite(n, 6)
	bad.Set(3, 4, math.NaN())
	if ne, ok := errors.AsType[*krylov.NonFiniteError](one(bad, b, krylov.CGOptions{})); !ok {
		t.Error(ne)
	}
	if ne, ok := errors.AsType[*krylov.NonFiniteError](one(definite(2, 6), []float64{1, math.Inf(1)}, krylov.CGOptions{})); !ok || ne.Iteration != 0 {
		t.Error(ne)
	}
	if _, ok := errors.AsType[*la.ShapeError](one(random(3, 2, 7), make([]float64, 3), krylov.CGOptions{})); !ok {
		t.Error("a matrix that is not square")
	}
	if _, ok := errors.AsType[*la.ShapeError](one(random(3, 3, 7), make([]float64, 2), krylov.CGOptions{})); !ok {
		t.Error("b of another length")
	}
	for _, opt := range []krylov.CGOptions{{Tolerance: -1}, {Tolerance: math.NaN()}, {MaxIterations: -1}} {
		if _, ok := errors.AsType[*krylov.OptionsError](one(definite(2, 6), make([]float64, 2), opt)); !ok {
			t.Errorf("%+v", opt)
		}
	}
}

// inverse is a preconditioner: the inverse of a matrix.
type inverse struct {
	*mat.Dense
	do func() error
}

func (m *inverse) SolveVecTo(_ context.Context, dst, r []float64) error {
	if m.do != nil {
		if err := m.do(); err != nil {
			return err
		}
	}
	mat.NewVecDense(len(dst), dst).MulVec(m.Dense, mat.NewVecDense(len(r), r))
	return nil
}

// TestPreconditioner: with the inverse of A one iteration suffices, and what is wrong with M is said.
func TestPreconditioner(t *testing.T) {
	const n = 30
	a, b := definite(n, 6), vector(n, 5)
	m := &inverse{Dense: new(mat.Dense)}
	if err := m.Inverse(a); err != nil {
		t.Fatal(err)
	}
	one := func(m krylov.Preconditioner) (krylov.CGResult, error) {
		return krylov.CG(t.Context(), &dense{Dense: a}, make([]float64, n), b, krylov.CGOptions{Preconditioner: m})
	}
	if r, err := one(m); err != nil || r.Iterations > 2 {
		t.Error(r, err)
	}
	cause := errors.New("not today")
	if _, err := one(&inverse{m.Dense, func() error { return cause }}); err != cause {
		t.Error(err)
	}
	minus := mat.DenseCopyOf(m.Dense)
	minus.Scale(-1, minus)
	_, err := one(&inverse{Dense: minus})
	if ie, ok := errors.AsType[*krylov.IndefiniteError](err); !ok || !ie.Preconditioner || !(ie.Curvature < 0) || ie.Iteration != 0 {
		t.Error(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		bad := mat.DenseCopyOf(m.Dense)
		bad.Set(1, 2, v)
		_, err := one(&inverse{Dense: bad})
		if ne, ok := errors.AsType[*krylov.NonFiniteError](err); !ok || ne.Iteration != 0 {
			t.Error(err)
		}
	}
	if _, err := one(&inverse{Dense: random(n, n+1, 1)}); err == nil {
		t.Error("a preconditioner of another shape")
	} else if _, ok := errors.AsType[*la.ShapeError](err); !ok {
		t.Error(err)
	}
}

// TestEnds: the context's end, and an operator's error, end all methods.
func TestEnds(t *testing.T) {
	const n = 40
	cause := errors.New("enough")
	methods := map[string]func(ctx context.Context, a krylov.Operator) error{
		"LSQR": func(ctx context.Context, a krylov.Operator) error {
			_, err := krylov.LSQR(ctx, a, make([]float64, n), vector(n, 8), krylov.LSQROptions{})
			return err
		},
	}
	for name, solve := range square {
		methods[name] = func(ctx context.Context, a krylov.Operator) error {
			_, _, err := solve(ctx, a, make([]float64, n), vector(n, 8), settings{})
			return err
		}
	}
	for name, method := range methods {
		ctx, cancel := context.WithCancelCause(t.Context())
		a := &dense{Dense: definite(n, 9), at: 5, do: func() error { cancel(cause); return nil }}
		if err := method(ctx, a); !errors.Is(err, cause) || a.products > 7 {
			t.Errorf("%s: %v after %d products", name, err, a.products)
		}
		a = &dense{Dense: definite(n, 9), at: 5, do: func() error { return cause }}
		if err := method(t.Context(), a); !errors.Is(err, cause) || a.products != 5 {
			t.Errorf("%s: %v after %d products", name, err, a.products)
		}
	}
}

// TestLSQR: against dense solutions, of tall, square and wide matrices, damped or not.
func TestLSQR(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {20, 20}, {50, 12}, {12, 50}, {200, 30}} {
		m, n := size[0], size[1]
		for _, damp := range []float64{0, 0.5, 3} {
			d := random(m, n, uint64(m))
			b := vector(m, 2)
			want := leastSquares(t, d, b, damp)
			x := vector(n, 3)
			s, err := krylov.LSQR(t.Context(), &dense{Dense: d}, x, b, krylov.LSQROptions{Damp: damp, ATol: 1e-14, BTol: 1e-14})
			if err != nil || far(x, want) > 1e-8 {
				t.Errorf("%d×%d, damp %v: %v, %+v, error %v", m, n, damp, err, s, far(x, want))
				continue
			}
			if stop := m <= n && damp == 0; stop != (s.Stop == krylov.StopConsistent) {
				t.Errorf("%d×%d, damp %v: %v", m, n, damp, s.Stop)
			}
			r := mat.NewVecDense(m, nil)
			r.MulVec(d, mat.NewVecDense(n, x))
			r.SubVec(mat.NewVecDense(m, b), r)
			nx := mat.Norm(mat.NewVecDense(n, x), 2)
			residual := math.Hypot(mat.Norm(r, 2), damp*nx)
			if math.Abs(s.Residual-residual) > 1e-8*mat.Norm(mat.NewVecDense(m, b), 2) || math.Abs(s.NormX-nx) > 1e-6*nx {
				t.Errorf("%d×%d, damp %v: residual %v, norm of x %v; %+v", m, n, damp, residual, nx, s)
			}
		}
	}
}

// leastSquares returns the x that minimises ‖b − A·x‖² + damp²·‖x‖², of least norm.
func leastSquares(t *testing.T, a *mat.Dense, b []float64, damp float64) []float64 {
	m, n := a.Dims()
	all := mat.NewDense(m+n, n, nil)
	all.Slice(0, m, 0, n).(*mat.Dense).Copy(a)
	for j := range n {
		all.Set(m+j, j, damp)
	}
	var svd mat.SVD
	if !svd.Factorize(all, mat.SVDThin) {
		t.Fatal("no SVD")
	}
	rhs := mat.NewDense(m+n, 1, nil)
	for i, v := range b {
		rhs.Set(i, 0, v)
	}
	var x mat.Dense
	svd.SolveTo(&x, rhs, svd.Rank(1e-12))
	return mat.Col(nil, 0, &x)
}

func TestLSQRFails(t *testing.T) {
	one := func(d *mat.Dense, b []float64, opt krylov.LSQROptions) (krylov.LSQRResult, error) {
		_, n := d.Dims()
		return krylov.LSQR(t.Context(), &dense{Dense: d}, make([]float64, n), b, opt)
	}
	b := vector(30, 5)
	_, err := one(random(30, 20, 6), b, krylov.LSQROptions{MaxIterations: 3})
	if ce, ok := errors.AsType[*krylov.ConvergenceError](err); !ok || ce.Iterations != 3 || ce.Residual <= 0 {
		t.Error(err)
	}
	graded := random(30, 20, 6)
	for i := range 30 {
		for j := range 20 {
			graded.Set(i, j, graded.At(i, j)*math.Pow(10, -float64(j)/2))
		}
	}
	s, err := one(graded, b, krylov.LSQROptions{ConditionLimit: 100, ATol: 1e-15, BTol: 1e-15})
	if _, ok := errors.AsType[*krylov.ConvergenceError](err); !ok || s.Condition < 100 {
		t.Error(err, s)
	}
	bad := random(30, 20, 6)
	bad.Set(3, 4, math.Inf(-1))
	if _, err = one(bad, b, krylov.LSQROptions{}); err == nil {
		t.Error("infinity")
	} else if _, ok := errors.AsType[*krylov.NonFiniteError](err); !ok {
		t.Error(err)
	}
	if _, err = one(random(2, 2, 6), []float64{1, math.NaN()}, krylov.LSQROptions{}); err == nil {
		t.Error("NaN")
	}
	if _, err := one(random(3, 2, 7), make([]float64, 2), krylov.LSQROptions{}); err == nil {
		t.Error("b of another length")
	}
	for _, opt := range []krylov.LSQROptions{{Damp: -1}, {ATol: math.NaN()}, {BTol: math.Inf(1)}, {ConditionLimit: -1}, {MaxIterations: -1}} {
		if _, err := one(random(2, 2, 6), make([]float64, 2), opt); err == nil {
			t.Errorf("%+v", opt)
		}
	}
	// Zero b, and a b that A cannot reach.
	if s, err := one(random(3, 2, 7), make([]float64, 3), krylov.LSQROptions{}); err != nil || s.Stop != krylov.StopZero {
		t.Error(s, err)
	}
	flat := mat.NewDense(2, 1, []float64{1, 0})
	if s, err := one(flat, []float64{0, 1}, krylov.LSQROptions{}); err != nil || s.Stop != krylov.StopZero || s.Residual != 1 {
		t.Error(s, err)
	}
}

// TestSparse: both methods on a sparse matrix, the five-point stencil of a square.
func TestSparse(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2, Float: true})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	const side = 40
	var is, js []int
	var vs []float64
	for i := range side {
		for j := range side {
			for _, d := range [][3]int{{0, 0, 4}, {1, 0, -1}, {-1, 0, -1}, {0, 1, -1}, {0, -1, -1}} {
				if k, l := i+d[0], j+d[1]; k >= 0 && k < side && l >= 0 && l < side {
					is, js, vs = append(is, i*side+j), append(js, k*side+l), append(vs, float64(d[2]))
				}
			}
		}
	}
	a, err := csr.FromCOO(rt, side*side, side*side, is, js, vs)
	if err != nil {
		t.Fatal(err)
	}
	want, b := vector(side*side, 1), make([]float64, side*side)
	if err := a.MulVecTo(t.Context(), b, false, want); err != nil {
		t.Fatal(err)
	}
	x := make([]float64, side*side)
	if s, err := krylov.CG(t.Context(), a, x, b, krylov.CGOptions{}); err != nil || far(x, want) > 1e-7 || s.Iterations > 200 {
		t.Error(s, err, far(x, want))
	}
	if s, err := krylov.LSQR(t.Context(), a, x, b, krylov.LSQROptions{}); err != nil || far(x, want) > 1e-6 {
		t.Error(s, err, far(x, want))
	}
}

// TestOverlap: x and b are two vectors.
func TestOverlap(t *testing.T) {
	v := []float64{1, 2}
	one := &dense{Dense: mat.NewDense(2, 2, []float64{2, 0, 0, 3})}
	overlaps := map[string]func(){"LSQR": func() { krylov.LSQR(t.Context(), one, v, v, krylov.LSQROptions{}) }}
	for name, solve := range square {
		overlaps[name] = func() { solve(t.Context(), one, v, v, settings{}) }
	}
	for name, solve := range overlaps {
		func() {
			defer func() {
				if got := recover(); got != krylov.ErrOverlap {
					t.Errorf("%s: %v", name, got)
				}
			}()
			solve()
		}()
	}
}

// TestNothingSaid: a result beside an error says nothing that it does not know.
func TestNothingSaid(t *testing.T) {
	if s := (krylov.LSQRResult{}).Stop; s != krylov.StopNone || s.String() != "no solution" {
		t.Errorf("the zero Stop is %v", s)
	}
	fails := errors.New("no product")
	a := &dense{Dense: definite(2, 6), at: 1, do: func() error { return fails }}
	some, none := []float64{1, 2}, make([]float64, 2)
	for name, b := range map[string][]float64{"shape": {1}, "NaN": {1, math.NaN()}, "operator": some} {
		a.products = 0
		c, err := krylov.CG(t.Context(), a, none, b, krylov.CGOptions{})
		if err == nil || c.Residual == 0 {
			t.Errorf("CG, %s: %v beside %+v", name, err, c)
		}
		a.products = 0
		s, err := krylov.LSQR(t.Context(), a, none, b, krylov.LSQROptions{})
		if err == nil || s.Residual == 0 || s.Stop != krylov.StopNone {
			t.Errorf("LSQR, %s: %v beside %+v", name, err, s)
		}
	}
	s, err := krylov.LSQR(t.Context(), &dense{Dense: definite(9, 6)}, make([]float64, 9), vector(9, 1), krylov.LSQROptions{MaxIterations: 1})
	if err == nil || s.Stop != krylov.StopNone {
		t.Errorf("after the last iteration: %v beside %v", s.Stop, err)
	}
}
