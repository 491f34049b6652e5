package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A word on a command line becomes an accelerator in these steps:
//
//	"sim,cuda0" ── ParseRequest ──► Request ── OpenDevices ──► []Device
//	                                        ── OpenAccelerators ──► []*Accelerator
//
// Devices have the driver's numbers, which CUDA_VISIBLE_DEVICES can change.
//
// Programs pass the word to engine.OpenAccelerators. A program that asks for a device by number gets
// that device or an error. "auto" takes the devices that there are; if there are none, the
// program works on cores.

// NoDeviceError says why a device that was asked for is missing. No device has been opened
// then.
type NoDeviceError struct {
	Device string // "cuda0"
	Err    error  // an *[UnavailableError], or how many there are
}

func (e *NoDeviceError) Error() string {
	return fmt.Sprintf("cuda: no device %s: %s", e.Device, strings.TrimPrefix(e.Err.Error(), "cuda: "))
}

// Unwrap returns why.
func (e *NoDeviceError) Unwrap() error { return e.Err }

// OpenDevices opens the devices that r asks for, the simulated ones first. If one
// cannot be opened, it closes the others again. The error is a *NoDeviceError, or the
// driver's. It is no error if Auto finds no device.
func OpenDevices(r Request) (all []Device, err error) {
	defer func() {
		if err != nil { // all or nothing
			for _, d := range all {
				err = errors.Join(err, d.Close())
			}
			all = nil
		}
	}()
	for i := range r.Simulated {
		d, err := NewSimulated(SimOptions{Ordinal: i})
		if err != nil {
			return all, err
		}
		all = append(all, d)
	}
	if !r.Auto && len(r.Ordinals) == 0 {
		return all, nil
	}
	// Devices returns those that it can open together with an error for the others.
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
	// Errors of devices that r does not ask for do not matter.
	missing := err
	err = nil
	for _, d := range real {
		if n := d.Info().Ordinal; r.Auto || slices.Contains(r.Ordinals, n) {
			all = append(all, d)
		} else if closed := d.Close(); err == nil {
			err = closed
		}
	}
	// The error is for the first device that r asks for and that is missing. The reason is
	// the error of Devices, or the number of devices if it had none.
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
// [OpenDevices] does, with opt but for the name: "sim0" or "cuda0". The caller closes
// them, and their devices with them. After an error none is left open.
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
			// Devices before i belong to accelerators, which close them.
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

// Request says which accelerators to open. The zero value asks for none.
type Request struct {
	// Auto asks for every real device. It is no error if there is none.
	Auto bool
	// Simulated is the number of simulated devices. They are slow, and compute on the
	// host; they serve to try programs for devices.
	Simulated int
	// Ordinals are real devices by their numbers: cuda0, cuda1.
	Ordinals []int
}

// maxSimulated bounds Request.Simulated.
const maxSimulated = 16

// RequestError is a word that asks for no device.
type RequestError struct{ Word string }

func (e *RequestError) Error() string {
	return fmt.Sprintf("cuda: %q names no device; want none, auto, sim, sim:2 to sim:%d, or real ones by number, as in cuda0,cuda1", e.Word, maxSimulated)
}

// ParseRequest reads the word of a command line: "none" or nothing, "auto", or a list of
// "sim", "sim:2" and "cuda0". The error is a *RequestError. A device may not be named
// twice, and numbers have no leading zeros. [Request.String] is the inverse.
func ParseRequest(s string) (r Request, err error) {
	switch strings.TrimSpace(s) {
	case "", "none":
		return r, nil
	case "auto":
		return Request{Auto: true}, nil
	}
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		bad := &RequestError{word}
		if kind, n, counted := strings.Cut(word, ":"); kind == "sim" && r.Simulated == 0 {
			r.Simulated = 1
			if counted {
				r.Simulated, err = strconv.Atoi(n)
			}
			if err != nil || r.Simulated < 1 || r.Simulated > maxSimulated {
				return Request{}, bad
			}
			continue
		}
		number, is := strings.CutPrefix(word, "cuda")
		n, err := strconv.Atoi(number)
		if !is || err != nil || n < 0 || strconv.Itoa(n) != number || slices.Contains(r.Ordinals, n) {
			return Request{}, bad
		}
		r.Ordinals = append(r.Ordinals, n)
	}
	return r, nil
}

// String returns the word that [ParseRequest] reads as r.
func (r Request) String() string {
	if r.Auto {
		return "auto"
	}
	var words []string
	switch {
	case r.Simulated == 1:
		words = append(words, "sim")
	case r.Simulated > 1:
		words = append(words, fmt.Sprintf("sim:%d", r.Simulated))
	}
	for _, n := range r.Ordinals {
		words = append(words, fmt.Sprintf("cuda%d", n))
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ",")
}
