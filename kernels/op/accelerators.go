package op

import "github.com/tessera-la/tessera/kernels/cuda"

// OpenAccelerators opens the accelerators that names asks for, on which the
// versions "cuda" run: "none", "auto" for all real ones there are, "sim" or
// "sim:2" for simulated ones, or real ones by number, as in "cuda0,cuda1". The
// caller closes them. The error is a *[cuda.RequestError] for other words, a
// *[cuda.NoDeviceError] if there is no such device, or what the driver says; that
// "auto" finds none is no error.
func OpenAccelerators(names string) ([]*cuda.Accelerator, error) {
	r, err := cuda.ParseRequest(names)
	if err != nil {
		return nil, err
	}
	return cuda.OpenAccelerators(r, cuda.Options{})
}
