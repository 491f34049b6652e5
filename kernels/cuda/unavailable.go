package cuda

import "fmt"

// Missing is what a program lacks to use the devices of [Devices].
type Missing uint8

// What may be missing.
const (
	NoSupport   Missing = iota // the build has no tag cuda, or is not for Linux
	NoDriver                   // libcuda
	NoDevice                   // a device that the driver knows
	NoLibraries                // cuBLAS and cuSOLVER that fit the driver
	NoAccess                   // a device that lets this process in
)

func (m Missing) String() string {
	switch m {
	case NoSupport:
		return "no support for CUDA in this program"
	case NoDriver:
		return "no driver"
	case NoDevice:
		return "no device"
	case NoLibraries:
		return "no cuBLAS and cuSOLVER"
	case NoAccess:
		return "no access"
	}
	return fmt.Sprintf("Missing(%d)", uint8(m))
}

// UnavailableError says why there are no devices.
type UnavailableError struct {
	Missing Missing
	Err     error // what the system said
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("cuda: %v: %v", e.Missing, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }
