//go:build !cuda || !linux

package cuda

import (
	"errors"
	"runtime"
)

// Devices opens the machine's CUDA devices. If there are none, the error is an
// *[UnavailableError] that says why. If only some of them can be used, it returns
// these, and an error for the others. The caller closes the devices. Devices needs a
// build with the tag cuda, for Linux.
func Devices() ([]Device, error) {
	why := "it was built without the tag cuda"
	if runtime.GOOS != "linux" {
		why = "devices can be used on Linux only, and this is " + runtime.GOOS
	}
	return nil, &UnavailableError{NoSupport, errors.New(why)}
}
