//go:build !cuda || !linux

package cuda

import "errors"

// Devices opens the machine's CUDA devices, of which there may be none: then
// the error is an *[UnavailableError] that says why. If only some of them can be
// used, it returns these, and an error for the others. The caller closes
// them. It needs a build with the tag cuda, for Linux.
func Devices() ([]Device, error) {
	return nil, &UnavailableError{NoSupport, errors.New("it was built without the tag cuda, or not for Linux")}
}
