//go:build cuda && linux

package op_test

import (
	"errors"
	"testing"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/kernels/kerneltest"
	"github.com/tessera-la/tessera/kernels/op"
	"go.uber.org/goleak"
)

// TestDeviceCUDA runs the suites on the versions for devices, on the real ones.
func TestDeviceCUDA(t *testing.T) {
	defer goleak.VerifyNone(t)
	all, err := cuda.Devices()
	if none := (*cuda.UnavailableError)(nil); errors.As(err, &none) && len(all) == 0 {
		t.Skipf("no device to test: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range all {
		a, err := cuda.NewAccelerator(d, cuda.Options{Memory: 64 << 20, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			kerneltest.On(t, op.NewTable(), a)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
