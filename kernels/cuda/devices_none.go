//go:build !cuda

package cuda

// Devices opens all devices of this machine, in the order of their numbers. The
// caller closes them. The error is a *NoDeviceError if there is none: this build
// knows of none.
func Devices() ([]Device, error) {
	return nil, &NoDeviceError{Reason: "this program was built without the tag cuda"}
}
