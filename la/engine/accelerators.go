package engine

import (
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/kernels/op"
)

// OpenAccelerators opens accelerators for [Options.Accelerators]. names is "auto" for every
// device; "cuda0,cuda1" for some of them; "sim" or "sim:2" for simulated devices, with which
// programs can be tried; "none" or "" for none. The caller closes each of them, after the engine.
//
// The error is a *cuda.RequestError for other names, a *cuda.NoDeviceError if a named device does
// not exist, or the driver's error. It is no error if "auto" finds no device.
//
//	devices, err := engine.OpenAccelerators("auto")
//	…
//	e, err := engine.New(engine.Options{Accelerators: devices})
func OpenAccelerators(names string) ([]offload.Accelerator, error) {
	opened, err := op.OpenAccelerators(names)
	var all []offload.Accelerator
	for _, a := range opened {
		all = append(all, a)
	}
	return all, err
}
