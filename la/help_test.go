package la_test

import (
	"context"
	"testing"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestHelpBits: with tiles so large that workers without a task help with those of
// others, the bits are the same on any number of workers.
func TestHelpBits(t *testing.T) {
	const n, nb = 1040, 640
	a, spd, b := deviceProblems(t, n)
	want := make(map[string]*mat.Dense)
	for _, workers := range []int{1, 2, 4} {
		r := &trace.Recorder{}
		e := engineOf(t, la.Options{Workers: workers, Float: true, NB: nb, Direct: -1, Deterministic: true, Trace: r})
		same := func(name string, compute func(dst *mat.Dense) error) {
			t.Helper()
			got := mat.NewDense(n, n, nil)
			if err := compute(got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if want[name] == nil {
				want[name] = got
			} else if !mat.Equal(got, want[name]) {
				t.Errorf("%s on %d workers: other bits than on one", name, workers)
			}
		}
		same("gemm", func(dst *mat.Dense) error { return la.Gemm(t.Context(), e, blas.NoTrans, blas.Trans, 1, a, b, 0, dst) })
		same("cholesky", func(dst *mat.Dense) error {
			f := la.NewCholesky[float64](e)
			return inTurn(f.Factorize(spd), func() error { return f.SolveTo(dst, b) })
		})
		same("lu", func(dst *mat.Dense) error {
			f := la.NewLU[float64](e)
			return inTurn(f.Factorize(a), func() error { return f.SolveTo(dst, false, b) })
		})
		same("qr", func(dst *mat.Dense) error {
			f := la.NewQR[float64](e)
			return inTurn(f.Factorize(a), func() error { return f.SolveTo(dst, false, b) })
		})
		one := mat.NewDense(nb, nb, nil) // one task, and nothing else to do
		shares := 0
		for try := 0; try < 20 && shares == 0 && (try == 0 || workers > 1); try++ { // a helper may not get a core in time
			if err := la.Gemm(t.Context(), e, blas.NoTrans, blas.Trans, 1, a.Slice(0, nb, 0, n).(*mat.Dense), b.Slice(0, nb, 0, n).(*mat.Dense), 0, one); err != nil {
				t.Fatal(err)
			}
			shares = len(r.Recording().Shares)
		}
		if (shares > 0) != (workers > 1) {
			t.Errorf("%d workers helped %d times", workers, shares)
		}
	}
}

// TestHelpBesideDevice computes everything on a device and on cores, in tiles so
// large that cores with nothing to do share those that come to others.
func TestHelpBesideDevice(t *testing.T) {
	const n, nb = 840, 640
	a, spd, b := deviceProblems(t, n)
	all, _ := simulated(t, 1, nb, 20)
	e := engineOf(t, la.Options{Accelerators: all, Workers: 3, Float: true, NB: nb, Direct: -1, Policy: dispatch.EarliestFinish})
	if err := everything(context.Background(), e, a, spd, b); err != nil {
		t.Fatal(err)
	}
	if launches := all[0].(*cuda.Accelerator).Stats().Launches; launches == 0 {
		t.Error("nothing ran on the device")
	}
}
