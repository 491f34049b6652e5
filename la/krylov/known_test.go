package krylov_test

import (
	"testing"

	"github.com/tessera-la/tessera/la/krylov"
	"gonum.org/v1/gonum/mat"
)

// TestKnownIterations: numbers of iterations that theorems say, with a tolerance far above rounding.
func TestKnownIterations(t *testing.T) {
	const n = 60
	diagonal := func(values ...float64) *mat.Dense {
		d := mat.NewDense(n, n, nil)
		for i := range n {
			d.Set(i, i, values[i%len(values)])
		}
		return d
	}
	// As many as there are different eigenvalues, whatever n is.
	for name, c := range map[string]struct {
		a    *mat.Dense
		most int
	}{
		"CG": {diagonal(1, 2, 3, 10, 50), 5}, "MINRES": {diagonal(1, -2, 3, -10, 50), 5}, "GMRES": {diagonal(1, -2, 3, -10, 50), 5}, "BiCGSTAB": {diagonal(1, 2, 3, 10, 50), 5},
	} {
		k, _, err := square[name](t.Context(), &dense{Dense: c.a}, make([]float64, n), vector(n, 1), settings{tolerance: 1e-9})
		if err != nil || k != c.most {
			t.Errorf("%s with %d eigenvalues: %d iterations, %v", name, c.most, k, err)
		}
	}
	// I and a matrix of rank 2: three.
	u, v := random(n, 2, 1), random(2, n, 2)
	low := mat.NewDense(n, n, nil)
	low.Mul(u, v)
	k, _, err := square["GMRES"](t.Context(), &dense{Dense: shifted(low, -40)}, make([]float64, n), vector(n, 1), settings{tolerance: 1e-9})
	if err != nil || k != 3 {
		t.Errorf("I + rank 2: %d iterations, %v", k, err)
	}
	// Murphy, Golub and Wathen, A note on preconditioning for indefinite linear systems, SIAM J. Sci. Comput. 21,
	// 2000: with the diagonal blocks A and B·A⁻¹·Bᵀ a saddle point takes three.
	const m = 15
	a, b := definite(n, 3), random(m, n, 4)
	var ai, s, si mat.Dense
	if err := ai.Inverse(a); err != nil {
		t.Fatal(err)
	}
	s.Product(b, &ai, b.T())
	if err := si.Inverse(&s); err != nil {
		t.Fatal(err)
	}
	saddle, inv := mat.NewDense(n+m, n+m, nil), mat.NewDense(n+m, n+m, nil)
	saddle.Slice(0, n, 0, n).(*mat.Dense).Copy(a)
	saddle.Slice(n, n+m, 0, n).(*mat.Dense).Copy(b)
	saddle.Slice(0, n, n, n+m).(*mat.Dense).Copy(b.T())
	inv.Slice(0, n, 0, n).(*mat.Dense).Copy(&ai)
	inv.Slice(n, n+m, n, n+m).(*mat.Dense).Copy(&si)
	for _, name := range []string{"MINRES", "GMRES"} {
		k, _, err := square[name](t.Context(), &dense{Dense: saddle}, make([]float64, n+m), vector(n+m, 5), settings{tolerance: 1e-7, m: &inverse{Dense: inv}})
		if err != nil || k != 3 {
			t.Errorf("%s of a saddle point: %d iterations, %v", name, k, err)
		}
	}
	// Without restarts the residual never grows, and MINRES has that of GMRES.
	var residuals [2][]float64
	for i, name := range []string{"MINRES", "GMRES"} {
		observe := func(_ int, r float64) { residuals[i] = append(residuals[i], r) }
		if _, _, err := square[name](t.Context(), &dense{Dense: shifted(chain(40), 4.3)}, make([]float64, 40), vector(40, 1), settings{tolerance: 1e-3, observe: observe}); err != nil {
			t.Fatal(err)
		}
	}
	for k, r := range residuals[0][:min(25, len(residuals[0]))] {
		if d := r - residuals[1][k]; d > 1e-9 || d < -1e-9 || k > 0 && r > residuals[0][k-1] {
			t.Errorf("iteration %d: %v and %v", k+1, r, residuals[1][k])
		}
	}
	// A Jordan block: GMRES takes n.
	jordan := diagonal(1)
	for i := 1; i < n; i++ {
		jordan.Set(i-1, i, 1)
	}
	e := make([]float64, n)
	e[n-1] = 1
	r, err := krylov.GMRES(t.Context(), &dense{Dense: jordan}, make([]float64, n), e, krylov.GMRESOptions{Restart: n, Tolerance: 1e-12})
	if err != nil || r.Iterations != n {
		t.Errorf("a Jordan block: %+v, %v", r, err)
	}
}
