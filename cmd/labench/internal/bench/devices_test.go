package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/kernels/cuda"
)

// TestDevices runs operations beside simulated devices, and on these alone.
func TestDevices(t *testing.T) {
	for _, op := range []string{"gemm", "cholesky", "lu", "qr", "solve"} {
		s := Spec{Problem: Problem{Op: op, N: 96, NB: 32}, Local: Local{Workers: 2, Devices: "sim:2", DevicesOnly: true}, Repeat: 1, Verify: true, NoPeak: true}
		r, err := Run(context.Background(), s)
		if err != nil || !r.Passed {
			t.Fatalf("%s: %v, %s", op, err, r.Failure)
		}
		if r.Workers != 2 || !slices.Equal(r.Devices, []string{"sim0", "sim1"}) || r.Sched != dispatch.EarliestFinish.String() {
			t.Errorf("%s: %d workers, devices %v, policy %s", op, r.Workers, r.Devices, r.Sched)
		}
		on, off := 0, 0
		for v := range r.Versions {
			if strings.HasSuffix(v, "/cuda") {
				on++
			} else if strings.HasPrefix(v, "gemm") {
				off++
			}
		}
		if on == 0 || off > 0 {
			t.Errorf("%s: versions %v", op, r.Versions)
		}
	}
	r, err := Run(context.Background(), Spec{Problem: Problem{Op: "gemm", N: 64, NB: 32}, Local: Local{Devices: "sim", ByPriority: true}, Repeat: 1, NoPeak: true})
	if err != nil || r.Sched != dispatch.Priority.String() {
		t.Errorf("got %v, policy %s", err, r.Sched)
	}
	_, err = Run(context.Background(), Spec{Problem: Problem{Op: "gemm", N: 64}, Local: Local{Devices: "gpu"}})
	if invalid := (*InvalidError)(nil); !errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
	_, err = Run(context.Background(), Spec{Problem: Problem{Op: "gemm", N: 64}, Local: Local{DevicesOnly: true}})
	if invalid := (*InvalidError)(nil); !errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
	_, err = Run(context.Background(), Spec{Problem: Problem{Op: "gemm", N: 64}, Local: Local{Devices: "cuda9999"}})
	if none := (*cuda.NoDeviceError)(nil); !errors.As(err, &none) || none.Device != "cuda9999" {
		t.Errorf("got %v", err)
	}
}
