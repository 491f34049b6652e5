package la_test

import (
	"context"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
)

// TestAcceleratorBatches multiplies in many small tiles on a device of which a
// launch takes its time: products go together there, but not with an engine that
// is to be deterministic.
func TestAcceleratorBatches(t *testing.T) {
	const n, nb, products = 160, 16, 10 * 10 * 10
	x, y := generatedDense(t, matgen.Random, n, 1), generatedDense(t, matgen.Random, n, 2)
	var want mat.Dense
	want.Mul(x, y)
	for _, deterministic := range []bool{false, true} {
		d, err := cuda.NewSimulated(cuda.SimOptions{Memory: 16 << 20, Launch: 100 * time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		a, err := cuda.NewAccelerator(d, cuda.Options{Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
		opt := la.Options{Workers: 1, NB: nb, Direct: -1, Accelerators: []offload.Accelerator{a}, Only: []string{"cuda"}, Deterministic: deterministic}
		e := engineOf(t, opt)
		got := mat.NewDense(n, n, nil)
		if err := la.Gemm[float64](context.Background(), e, blas.NoTrans, blas.NoTrans, 1, x, y, 0, got); err != nil {
			t.Fatal(err)
		}
		if worst := farApart(got, &want); !(worst <= 1e-12*n) {
			t.Errorf("off by %g", worst)
		}
		c, s := d.Stats().Calls, a.Stats()
		calls := c["Gemm"] + c["GemmBatched"]
		t.Logf("deterministic=%v: %d calls of the device for %d products, %d together", deterministic, calls, s.Launches, c["GemmBatched"])
		if s.Launches != products || deterministic != (calls == products) || !deterministic && calls > products/2 {
			t.Errorf("deterministic=%v: %v for %d products", deterministic, c, s.Launches)
		}
	}
}
