//go:build cuda && linux

package la_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/kernels/cuda"
	"github.com/tessera-la/tessera/la"
)

// TestDeviceAccelerators computes everything on hosts and the real devices with
// little room.
func TestDeviceAccelerators(t *testing.T) {
	devices, err := cuda.Devices()
	if none := (*cuda.UnavailableError)(nil); errors.As(err, &none) && len(devices) == 0 {
		t.Skipf("no device to test: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const n, nb = 100, 16
	var all []offload.Accelerator
	for _, d := range devices {
		a, err := cuda.NewAccelerator(d, cuda.Options{Memory: 12 * nb * nb * 8, Movers: 1, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, a)
	}
	a, spd, b := deviceProblems(t, n)
	for name, opt := range map[string]la.Options{
		"chosen":        {},
		"devices":       {Only: []string{"cuda"}},
		"deterministic": {Deterministic: true, Only: []string{"cuda"}},
	} {
		t.Run(name, func(t *testing.T) {
			opt.Accelerators, opt.Workers, opt.NB, opt.Direct = all, 2, nb, -1
			if err := everything(context.Background(), engineOf(t, opt), a, spd, b); err != nil {
				t.Fatal(err)
			}
			if all[0].(*cuda.Accelerator).Stats().Launches == 0 {
				t.Error("nothing ran on a device")
			}
		})
	}
}
