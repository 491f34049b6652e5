package cuda_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/versions"
)

// TestAcceleratorHome: what a version says must be at home is there when its call
// has ended; or the call has failed, and the value is lost.
func TestAcceleratorHome(t *testing.T) {
	// The first copy out of a call is that of its integers.
	for name, test := range map[string]struct {
		faults []cuda.Fault
		lost   bool
	}{
		"well":             {},
		"copied again":     {faults: []cuda.Fault{{Op: "CopyOut", N: 2}, {Op: "CopyOut", N: 3}}},
		"not copied":       {faults: []cuda.Fault{{Op: "CopyOut", N: 2}, {Op: "CopyOut", N: 3}, {Op: "CopyOut", N: 4}}, lost: true},
		"lost by the copy": {faults: []cuda.Fault{{Op: "CopyOut", N: 2, Lost: true}}, lost: true},
		"lost in the copy": {faults: []cuda.Fault{{Op: "CopyOut", N: 2, Late: true}}, lost: true},
		"lost by then":     {faults: []cuda.Fault{{Op: "Gemm", N: 1, Late: true}}, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			opt := cuda.Options{Memory: 16 * 2048, Movers: 1, Poison: true}
			a, _ := newAccelerator(t, cuda.SimOptions{Memory: 4 << 20, Faults: test.faults, Latency: 2 * time.Millisecond}, opt)
			x, y := newMatrix(16, 16, 2, 1), newMatrix(16, 16, 3, 2)
			p := &mix{}
			l := p.launch(1, x, y)
			l.Version.Home = []int{1}
			if err := a.Launch(l); err != nil {
				t.Fatal(err)
			}
			var ended []*versions.Launch
			for begin := time.Now(); len(ended) == 0; ended = a.Ended(ended, time.Second) {
				if time.Since(begin) > 20*time.Second {
					t.Fatal("the call has not ended")
				}
			}
			p.expect(l.Call.Args)
			if test.lost {
				var d *cuda.DeviceError
				if !errors.As(l.Err, &d) || !d.Lost || a.Lost() == nil {
					t.Errorf("got %v, and %v of the device", l.Err, a.Lost())
				}
				var lost *cuda.LostError
				if err := a.Fetch(y, versions.Reads); name != "lost by then" && !errors.As(err, &lost) {
					t.Errorf("fetched: %v", err)
				}
			} else {
				if l.Err != nil {
					t.Error(l.Err)
				}
				if err := y.check(); err != nil {
					t.Error(err)
				}
				if back := a.Back(y); back != 0 {
					t.Errorf("it is expected to take %v to bring back what is there", back)
				}
			}
			closed(t, a, test.lost)
		})
	}
}
