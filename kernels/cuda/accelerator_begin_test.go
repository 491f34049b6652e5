package cuda_test

import (
	"testing"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// TestAcceleratorNotBegun: a value that both sides have, and that a call was to write, is as it
// was on both when the call cannot begin.
func TestAcceleratorNotBegun(t *testing.T) {
	record := 0 // the call of Record that marks the beginning of the second call
	for range 2 {
		sim := cuda.SimOptions{Memory: 2 << 20}
		if record > 0 {
			sim.Faults = []cuda.Fault{{Op: "Record", N: record}}
		}
		a, d := newAccelerator(t, sim, cuda.Options{})
		h := &host{t: t, a: a, faults: record > 0}
		x, y, z := newMatrix(8, 8, 3, 1), newMatrix(8, 8, 3, 2), newMatrix(8, 8, 3, 3)
		h.launch((&mix{}).launch(1, x, y), 1)
		h.fetch(y, versions.Reads)
		record = d.Stats().Calls["Record"] + 1
		h.launch((&mix{fresh: true}).launch(1, x, y), 1)
		if want := len(sim.Faults); h.failed != want {
			t.Fatalf("%d calls failed, want %d", h.failed, want)
		}
		h.launch((&mix{}).launch(1, y, z), 1)
		h.drain()
		h.fetch(z, versions.Reads)
		h.fetch(y, versions.Reads)
		closed(t, a, true)
	}
}
