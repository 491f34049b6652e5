package cuda

import (
	"errors"
	"fmt"
	"slices"
)

// NoDeviceError says why there is no device, or not the one asked for.
type NoDeviceError struct {
	Device string // "cuda0"; empty if there is none at all
	Reason string // "this program was built without the tag cuda"
}

func (e *NoDeviceError) Error() string {
	if e.Device == "" {
		return "cuda: no device: " + e.Reason
	}
	return fmt.Sprintf("cuda: no device %s: %s", e.Device, e.Reason)
}

// OpenDevices opens the devices that r asks for, the simulated ones first. What
// has been opened is closed again if one cannot be. The error is a
// *NoDeviceError, or what the driver says.
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
	if none := (*NoDeviceError)(nil); r.Auto && errors.As(err, &none) {
		return all, nil
	}
	if err != nil {
		if len(r.Ordinals) > 0 {
			return all, &NoDeviceError{fmt.Sprintf("cuda%d", r.Ordinals[0]), reason(err)}
		}
		return all, err
	}
	for _, d := range real {
		if n := d.Info().Ordinal; r.Auto || slices.Contains(r.Ordinals, n) {
			all = append(all, d)
		} else if closed := d.Close(); err == nil {
			err = closed
		}
	}
	for _, n := range r.Ordinals {
		if !slices.ContainsFunc(real, func(d Device) bool { return d.Info().Ordinal == n }) && err == nil {
			err = &NoDeviceError{fmt.Sprintf("cuda%d", n), fmt.Sprintf("there are %d", len(real))}
		}
	}
	return all, err
}

// reason returns what an error of Devices says after its beginning.
func reason(err error) string {
	if none := (*NoDeviceError)(nil); errors.As(err, &none) {
		return none.Reason
	}
	return err.Error()
}
