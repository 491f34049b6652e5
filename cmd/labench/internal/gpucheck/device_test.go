//go:build cuda && linux

package gpucheck

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/kernels/cuda"
)

// TestDeviceCheck runs the whole check, with small sizes, on the first device.
func TestDeviceCheck(t *testing.T) {
	r, err := Run(t.Context(), Options{Device: "auto", Small: true})
	if none := (*cuda.NoDeviceError)(nil); errors.As(err, &none) {
		t.Skipf("no device to test: %v", err)
	}
	if err != nil || r.Wrong() != "" || r.Simulated || len(r.Copies) == 0 || len(r.Tiles) == 0 || len(r.Whole) == 0 {
		t.Errorf("%v, %q: %+v", err, r.Wrong(), r)
	}
	for _, w := range r.Whole {
		if !w.Verified {
			t.Errorf("%+v", w)
		}
	}
}
