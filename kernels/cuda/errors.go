package cuda

import (
	"fmt"

	"github.com/tessera-la/tessera/internal/words"
)

// Each kind of error has a type, so that callers know what to do:
//
//	UnavailableError    there is no device: work on cores
//	NotStoredError      no device takes a value of this type: run the call on cores
//	TooLargeError       the call can never have room: run it on cores
//	OutOfMemoryError    there is no room now
//	BatchError          the calls cannot be one: launch them one by one
//	LostError           a value is gone: run the task that made it again
//	DeviceError         an error of the driver; if Lost is set, the device is unusable

// DeviceError is an error of a driver or of a library on a device.
type DeviceError struct {
	Device string // "cuda0"
	Op     string // the call: "cuMemAlloc", "cublasDgemm_v2"
	Stream string // "compute"; empty if it belongs to none
	Code   int    // the library's
	Reason string // the library's name for the code
	Lost   bool   // the device is gone
}

func (e *DeviceError) Error() string {
	where := e.Device
	if e.Stream != "" {
		where += ", stream " + e.Stream
	}
	msg := fmt.Sprintf("cuda: %s on %s: %s (%d)", e.Op, where, e.Reason, e.Code)
	if e.Lost {
		msg += "; the device is lost"
	}
	return msg
}

// OutOfMemoryError says that a device has no room for an allocation. Free may be more
// than Want, as the free memory may be in several pieces.
type OutOfMemoryError struct {
	Device     string
	Want, Free int64 // bytes
}

func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf("cuda: no room for %d bytes on %s, %d are free", e.Want, e.Device, e.Free)
}

// TooLargeError says that the operands of a call can never be in a device's memory at
// once. Waiting does not help; the runtime gives the task to a worker on cores.
type TooLargeError struct {
	Device     string
	Want, Have int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("cuda: a call needs %d bytes at once, %s keeps at most %d", e.Want, e.Device, e.Have)
}

// LostError says that a value is gone with the only device that had it. Values that the
// host had as well are not lost.
type LostError struct {
	Device string
	Err    error // how the device was lost
}

func (e *LostError) Error() string {
	return fmt.Sprintf("cuda: a value that only %s had is lost: %v", e.Device, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// NotStoredError says that a value is neither a [versions.Stored], which can be
// copied to a device, nor another [versions.Value], which stays with the host.
type NotStoredError struct {
	Value string // its type
}

func (e *NotStoredError) Error() string {
	return fmt.Sprintf("cuda: an operand of type %s cannot be copied to a device", e.Value)
}

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

var missing = words.Of[Missing]{"no support for CUDA in this program", "no driver", "no device",
	"no cuBLAS and cuSOLVER", "no access"}

func (m Missing) String() string { return missing.Name(m) }

// UnavailableError says why there are no devices. Err is for people; programs look at
// Missing.
type UnavailableError struct {
	Missing Missing
	Err     error // what the system said
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("cuda: %v: %v", e.Missing, e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }
