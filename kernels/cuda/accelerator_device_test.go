//go:build cuda && linux

package cuda_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/kernels/cuda"
)

// TestDeviceAccelerator runs random programs with little memory on an
// accelerator of a real device.
func TestDeviceAccelerator(t *testing.T) {
	for seed := range uint64(6) {
		all, err := cuda.Devices()
		if none := (*cuda.UnavailableError)(nil); errors.As(err, &none) && len(all) == 0 {
			t.Skipf("no device to test: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range all[1:] {
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		}
		a, err := cuda.NewAccelerator(all[0], cuda.Options{Memory: int64(3+seed) * 16 * 16 * 8, Streams: 1 + int(seed%3),
			Movers: 1 + int(seed%2), Stage: 1 << 12, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		h := &host{t: t, a: a}
		values := matrices(9)
		h.program(rand.New(rand.NewPCG(seed, 7)), 80, values)
		if err := a.Flush(1); err != nil {
			t.Error(err)
		}
		for i, v := range values {
			if err := v.check(); err != nil {
				t.Errorf("seed %d: value %d: %v", seed, i, err)
			}
		}
		closed(t, a, false)
	}
}
