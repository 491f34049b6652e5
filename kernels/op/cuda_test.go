package op_test

import (
	"testing"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/kernels/op"
	"go.uber.org/goleak"
)

// TestCUDA runs the suites on the versions for devices, on a simulated one that
// has room for little more than the operands of a call.
func TestCUDA(t *testing.T) {
	defer goleak.VerifyNone(t)
	d, err := cuda.NewSimulated(cuda.SimOptions{Memory: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	a, err := cuda.NewAccelerator(d, cuda.Options{Memory: 16 << 20, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	kerneltest.On(t, op.NewTable(), a)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if s := a.Stats(); s.Launches == 0 {
		t.Error("nothing was launched")
	}
}

// TestCUDAVersions: what the documentation says is there, for both types, and
// nothing that workers on the CPU could take.
func TestCUDAVersions(t *testing.T) {
	want := map[string]bool{"gemm": true, "syrk": true, "trsm": true, "trmm": true, "potrf": true,
		"getrf": true, "lacpy": true, "laswp": true, "geqrt": true, "tsqrt": true, "ttqrt": true, "unmqr": true, "tsmqr": true, "ttmqr": true,
		"tntleaf": true, "sy2sbmm": true, "ormsy2sb": true}
	for _, op := range op.NewTable().All() {
		v := op.Version("cuda")
		if (v != nil) != want[op.Name] {
			t.Errorf("%s: version %v", op.OpName(), v)
		}
		if v != nil && v.Constraints.Kind != "cuda" {
			t.Errorf("%s: %+v", op.OpName(), v.Constraints)
		}
	}
}
