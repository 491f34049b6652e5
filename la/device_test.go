package la_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"
)

// TestFactorizationsOnDevice solves systems with all operations that have a
// version for devices on a simulated one, and the panel of LU on the CPU.
func TestFactorizationsOnDevice(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	d, err := cuda.NewSimulated(cuda.SimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := cuda.NewAccelerator(d, cuda.Options{Memory: 2 << 20, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := la.NewEngine(la.Options{NB: 48, Direct: -1, Accelerators: []offload.Accelerator{a}, Only: []string{"cuda"}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 333
	rnd := rand.New(rand.NewPCG(1, 1))
	normal := func(m, n int) *mat.Dense {
		x := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				x.Set(i, j, rnd.NormFloat64())
			}
		}
		return x
	}
	x, b := normal(n, n), normal(n, 5)
	spd := mat.NewSymDense(n, nil)
	spd.SymOuterK(1, x)

	used := 0
	check := func(what string, a mat.Matrix, err error, solve func(s *mat.Dense) error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var s, r mat.Dense
		if err := solve(&s); err != nil {
			t.Fatalf("%s: solving: %v", what, err)
		}
		r.Mul(a, &s)
		r.Sub(&r, b)
		if res := mat.Norm(&r, 1) / (mat.Norm(a, 1) * mat.Norm(&s, 1) * 0x1p-53 * n); !(res < 30) {
			t.Errorf("%s: scaled residual %v", what, res)
		}
		calls := d.Stats().Calls
		now := calls["Gemm"]
		if now == used {
			t.Errorf("%s: the device has multiplied nothing", what)
		}
		used = now
	}
	lu := la.NewLU[float64](e)
	check("LU", x, lu.Factorize(x), func(s *mat.Dense) error { return lu.SolveTo(s, false, b) })
	qr := la.NewQR[float64](e)
	check("QR", x, qr.Factorize(x), func(s *mat.Dense) error { return qr.SolveTo(s, false, b) })
	chol := la.NewCholesky[float64](e)
	check("Cholesky", spd, chol.Factorize(spd), func(s *mat.Dense) error { return chol.SolveTo(s, b) })
	for _, op := range []string{"Trsm", "Trmm", "Syrk", "Potrf", "Geam", "CopyVectors", "Geqrf", "Larft"} {
		if d.Stats().Calls[op] == 0 {
			t.Errorf("%s was not called", op)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
