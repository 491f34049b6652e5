package op

import "github.com/tessera-la/tessera/kernels/cuda"

// OpenAccelerators opens the accelerators on which the versions "cuda" run. names is "none";
// "auto" for all real devices; "cuda0,cuda1" for some of them; or "sim" or "sim:2" for simulated
// ones. The caller closes them.
//
// The error is a *[cuda.RequestError] for other names, a *[cuda.NoDeviceError] if a named device
// does not exist, or the driver's error. It is no error if "auto" finds no device.
func OpenAccelerators(names string) ([]*cuda.Accelerator, error) {
	r, err := cuda.ParseRequest(names)
	if err != nil {
		return nil, err
	}
	return cuda.OpenAccelerators(r, cuda.Options{})
}
