//go:build cuda && linux

package op_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/cuda"
)

// TestDeviceBatches compares what goes together on a real device with what goes
// alone; the library may use other kernels for it.
func TestDeviceBatches(t *testing.T) {
	all, err := cuda.Devices()
	if none := (*cuda.UnavailableError)(nil); errors.As(err, &none) && len(all) == 0 {
		t.Skipf("no device to test: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		a, err := cuda.NewAccelerator(d, cuda.Options{Memory: 8 << 20, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		alone, together := smallCalls(), smallCalls()
		for _, l := range alone {
			if err := a.Launch(l); err != nil {
				t.Fatal(err)
			}
		}
		if errs := inBatches(t, a, together); errs != nil {
			t.Error(errs)
		}
		for _, l := range ended(a, len(alone)+len(together)) {
			if l.Err != nil {
				t.Error(l.Err)
			}
		}
		if err := a.Flush(1); err != nil {
			t.Fatal(err)
		}
		for i, l := range together {
			last := len(l.Call.Args) - 1
			x, y := l.Call.Args[last].(*kernels.Tile[float64]), alone[i].Call.Args[last].(*kernels.Tile[float64])
			for k := range x.Data {
				if d := math.Abs(x.Data[k] - y.Data[k]); !(d <= 1e-12*(1+math.Abs(y.Data[k]))) {
					t.Fatalf("call %d, element %d: %v together and %v alone", i, k, x.Data[k], y.Data[k])
				}
			}
		}
		if s := a.Stats(); s.Batches != 4 {
			t.Errorf("%d batches, want 4", s.Batches)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
