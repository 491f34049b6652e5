//go:build cuda && linux

package cuda

import (
	"fmt"
	"reflect"

	"github.com/tessera-la/tessera/kernels/cuda/internal/nvidia"
)

// driverError turns an error of gorgonia.org/cu, whose type is not exported,
// into one of package nvidia.
func driverError(err error) error {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return nvidia.Code{Library: nvidia.Driver, Value: int(v.Int())}
	}
	return err
}

// failed returns the *DeviceError for an error of a call, nil for none, and
// keeps it if it means that the device is lost. Errors that are one already
// are returned as they are.
func (d *real) failed(op, stream string, err error) error {
	if err == nil {
		return nil
	}
	err = driverError(err)
	code, ok := err.(nvidia.Code)
	if !ok {
		return err
	}
	e := &DeviceError{Device: d.name, Op: op, Stream: stream, Code: code.Value, Reason: code.Error(), Lost: code.Lost()}
	if e.Lost {
		d.lost.CompareAndSwap(nil, e)
	}
	return e
}

// failedCall is for calls of cuBLAS and cuSOLVER, which have codes of their
// own for an error of the device: it asks the driver what that was.
func (s *realStream) failedCall(op string, err error) error {
	if err == nil {
		return nil
	}
	if code, ok := err.(nvidia.Code); ok && code.Library != nvidia.Driver {
		asked := driverError(s.d.locked(s.s.Query))
		if under, ok := asked.(nvidia.Code); ok && under.Lost() {
			err = under
		}
	}
	return s.d.failed(op, s.name, err)
}

// invalid returns an error for arguments that are not given to the driver.
func (d *real) invalid(op, stream, format string, a ...any) error {
	return &DeviceError{Device: d.name, Op: op, Stream: stream, Code: codeInvalid, Reason: fmt.Sprintf(format, a...)}
}
