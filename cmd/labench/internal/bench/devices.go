package bench

import (
	"errors"

	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/versions"
)

// openDevices opens the accelerators of s and sets them in opt. It returns their names, and a function that
// closes them; the caller closes the engine first.
func openDevices(s Spec, opt *la.Options) (closeAll func() error, names []string, err error) {
	all, err := engine.OpenAccelerators(s.Devices)
	if err != nil {
		return nil, nil, err
	}
	opt.Accelerators = all
	for _, a := range all {
		names = append(names, a.Name())
	}
	if s.DevicesOnly && len(all) > 0 {
		for _, op := range op.NewTable().All() {
			if op.Version("cuda") != nil {
				opt.Fixed = append(opt.Fixed, versions.Pin{Op: op.OpName(), Version: "cuda"})
			}
		}
	}
	return func() error {
		var errs []error
		for _, a := range all {
			errs = append(errs, a.Close())
		}
		return errors.Join(errs...)
	}, names, nil
}
