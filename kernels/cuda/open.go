package cuda

import (
	"errors"
	"fmt"
	"slices"
)

// NoDeviceError says why there is not the device that was asked for.
type NoDeviceError struct {
	Device string // "cuda0"
	Err    error  // an *[UnavailableError], or how many there are
}

func (e *NoDeviceError) Error() string { return fmt.Sprintf("cuda: no device %s: %v", e.Device, e.Err) }

// Unwrap returns why.
func (e *NoDeviceError) Unwrap() error { return e.Err }

// OpenDevices opens the devices that r asks for, the simulated ones first. What
// has been opened is closed again if one cannot be. The error is a
// *NoDeviceError, or what the driver says; that Auto finds none is no error.
func OpenDevices(r Request) (all []Device, err error) {
	defer func() {
		if err != nil {
			for _, d := range all {
				err = errors.Join(err, d.Close())
			}
			all = nil
		}
	}()
	for i := range r.Simulated {
		d, err := NewSimulated(SimOptions{Ordinal: i, Unwatched: true})
		if err != nil {
			return all, err
		}
		all = append(all, d)
	}
	if !r.Auto && len(r.Ordinals) == 0 {
		return all, nil
	}
	real, err := Devices()
	if none := (*UnavailableError)(nil); r.Auto && errors.As(err, &none) {
		err = nil // the rest of them, or none
	}
	if err != nil && len(real) == 0 {
		if len(r.Ordinals) > 0 {
			err = &NoDeviceError{fmt.Sprintf("cuda%d", r.Ordinals[0]), err}
		}
		return all, err
	}
	// Of others than those asked for an error is of no interest.
	missing := err
	err = nil
	for _, d := range real {
		if n := d.Info().Ordinal; r.Auto || slices.Contains(r.Ordinals, n) {
			all = append(all, d)
		} else if closed := d.Close(); err == nil {
			err = closed
		}
	}
	for _, n := range r.Ordinals {
		if !slices.ContainsFunc(real, func(d Device) bool { return d.Info().Ordinal == n }) && err == nil {
			if missing == nil {
				missing = fmt.Errorf("there are %d", len(real))
			}
			err = &NoDeviceError{fmt.Sprintf("cuda%d", n), missing}
		}
	}
	return all, err
}

// OpenAccelerators opens the accelerators that r asks for, on devices as
// [OpenDevices] does, with opt but for the name. The caller closes them.
func OpenAccelerators(r Request, opt Options) (all []*Accelerator, err error) {
	devices, err := OpenDevices(r)
	if err != nil {
		return nil, err
	}
	for i, d := range devices {
		opt.Name = fmt.Sprintf("cuda%d", d.Info().Ordinal)
		if i < r.Simulated {
			opt.Name = fmt.Sprintf("sim%d", d.Info().Ordinal)
		}
		a, err := NewAccelerator(d, opt)
		if err != nil {
			for _, d := range devices[i:] {
				err = errors.Join(err, d.Close())
			}
			for _, a := range all {
				err = errors.Join(err, a.Close())
			}
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}
